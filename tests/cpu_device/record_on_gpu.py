"""Record what a real GPU computes, for the CPU device to be compared with (test_cpu_language.py).

    python tests/cpu_device/record_on_gpu.py tests/cpu_device/recorded/h200.npz

Needs PyCUDA and nvcc. The file holds one array a launch and output, and the machine's versions.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from conformance_launches import KERNELS, ConformanceLaunch, Out, launches


def smallest(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same integers in the smallest type that holds them all; floats as they are."""
    if values.dtype.kind == "f":
        return values
    low, high = int(values.min()), int(values.max())
    kinds = ("int8", "int16", "int32", "int64") if low < 0 else ("uint8", "uint16", "uint32", "uint64")
    for kind in kinds:
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return values.astype(kind)
    return values


def run(driver: Any, module: Any, launch: ConformanceLaunch) -> dict[str, np.ndarray[Any, Any]]:
    """Launch once; give the outputs by name."""
    passed, buffers, outputs = [], [], []
    for argument in launch.arguments:
        if isinstance(argument, np.generic):
            passed.append(argument)
            continue
        content = np.ascontiguousarray(argument.array() if isinstance(argument, Out) else argument)
        buffer = driver.mem_alloc(content.nbytes)
        driver.memcpy_htod(buffer, content)
        buffers.append(buffer)
        passed.append(buffer)
        if isinstance(argument, Out):
            outputs.append((buffer, content))
    module.get_function(launch.function)(*passed, grid=launch.grid, block=launch.block)
    driver.Context.synchronize()
    recorded = {}
    for number, (buffer, content) in enumerate(outputs):
        driver.memcpy_dtoh(content, buffer)
        recorded[f"{launch.name}/{number}"] = smallest(content)
    for buffer in buffers:
        buffer.free()
    return recorded


def main() -> None:
    """Record all launches."""
    from pycuda import compiler, driver  # noqa: PLC0415  # only where there is a GPU

    target = Path(sys.argv[1])
    driver.init()
    gpu = driver.Device(0)
    context = gpu.retain_primary_context()
    context.push()
    try:
        arch = "sm_{}{}".format(*gpu.compute_capability())
        modules: dict[str, Any] = {}
        recorded: dict[str, np.ndarray[Any, Any]] = {}
        for launch in launches():
            if launch.file not in modules:
                text = (KERNELS / launch.file).read_text()
                cubin = compiler.compile(text, no_extern_c=True, arch=arch, include_dirs=[str(KERNELS)])
                modules[launch.file] = driver.module_from_buffer(cubin)
            recorded.update(run(driver, modules[launch.file], launch))
            print(launch.name, flush=True)  # noqa: T201
        nvcc = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=True).stdout
        about = {
            "gpu": gpu.name(),
            "arch": arch,
            "driver": driver.get_driver_version(),
            "nvcc": next((line for line in nvcc.splitlines() if "release" in line), nvcc.strip()),
        }
        recorded["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
        target.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(target, **recorded)  # type: ignore[arg-type]
        print(f"{target}: {target.stat().st_size} bytes, {about}")  # noqa: T201
        modules.clear()
    finally:
        context.pop()


if __name__ == "__main__":
    main()
