"""What is known of a GPU."""

from __future__ import annotations

import itertools

import numpy as np
from pycuda import compiler as pycuda_compiler
from pycuda import driver

from runner.device import DeviceInfo
from runner.device.cuda.compiler import find_nvcc

COPY_BYTES = 1 << 28  # far larger than any L2


def describe(gpu: driver.Device, stream: driver.Stream) -> DeviceInfo:
    """What the driver knows of the GPU, and the copy bandwidth that it reaches now."""
    attribute = driver.device_attribute
    get = gpu.get_attribute
    major, minor = gpu.compute_capability()
    # Double data rate: two transfers a clock (CUDA C++ Best Practices Guide, "Theoretical Bandwidth Calculation").
    clock_khz, bus_bits = get(attribute.MEMORY_CLOCK_RATE), get(attribute.GLOBAL_MEMORY_BUS_WIDTH)
    peak = 2 * clock_khz * 1e3 * bus_bits / 8 / 1e9
    driver_version = driver.get_driver_version()
    details = {
        "multiprocessors": get(attribute.MULTIPROCESSOR_COUNT),
        "clock_mhz": get(attribute.CLOCK_RATE) / 1000,
        "memory_clock_mhz": clock_khz / 1000,
        "memory_bus_bits": bus_bits,
        "ecc": bool(get(attribute.ECC_ENABLED)),
        "copy_gbps": _copy_gbps(stream),
    }
    versions = {
        "cuda_driver": f"{driver_version // 1000}.{driver_version % 1000 // 10}",
        "cuda_headers": ".".join(map(str, driver.get_version())),
        **_nvidia_driver(),
        **_toolkit(),
    }
    return DeviceInfo(
        kind="cuda",
        name=gpu.name(),
        arch=f"sm_{major}{minor}",
        peak_gbps=peak or None,  # integrated GPUs report no memory clock
        l2_bytes=get(attribute.L2_CACHE_SIZE),
        shared_limit=get(attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        memory_bytes=gpu.total_memory(),
        versions=versions,
        details=details,
    )


def _copy_gbps(stream: driver.Stream) -> float | None:
    """Read + write bandwidth of a device-to-device copy: the median of ten."""
    try:
        source, target = driver.mem_alloc(COPY_BYTES), driver.mem_alloc(COPY_BYTES)
    except driver.MemoryError:
        return None
    events = [driver.Event() for _ in range(12)]
    for event in events:
        driver.memcpy_dtod_async(target, source, COPY_BYTES, stream)
        event.record(stream)
    stream.synchronize()
    times = [a.time_till(b) for a, b in itertools.pairwise(events[1:])]
    source.free()
    target.free()
    return 2 * COPY_BYTES / float(np.median(times)) / 1e6


def _nvidia_driver() -> dict[str, str]:
    try:
        import pynvml  # noqa: PLC0415  (a help, not a need)

        pynvml.nvmlInit()
        return {"nvidia_driver": str(pynvml.nvmlSystemGetDriverVersion())}
    except Exception:  # noqa: BLE001  (NVML is not everywhere where CUDA is, and raises classes of its own)
        return {}


def _toolkit() -> dict[str, str]:
    nvcc = find_nvcc()
    if nvcc is None:
        return {}
    lines = pycuda_compiler.get_nvcc_version(nvcc).splitlines()
    return {"nvcc": next((line.strip() for line in lines if "release" in line), lines[0] if lines else "")}
