"""What is known of a GPU."""

from __future__ import annotations

import dataclasses

from pycuda import compiler as pycuda_compiler
from pycuda import driver

from runner.device import DeviceInfo
from runner.device.cuda.floor import TimingOverhead
from runner.device.cuda.nvcc import find_nvcc


def describe(gpu: driver.Device, floor: TimingOverhead, nvidia_driver: str) -> DeviceInfo:
    """What the driver knows of the GPU, and what was measured on it when it was opened."""
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
        "threads_per_multiprocessor": get(attribute.MAX_THREADS_PER_MULTIPROCESSOR),
        **dataclasses.asdict(floor),
    }
    versions = {
        "cuda_driver": f"{driver_version // 1000}.{driver_version % 1000 // 10}",
        "cuda_headers": ".".join(map(str, driver.get_version())),
        **({"nvidia_driver": nvidia_driver} if nvidia_driver else {}),
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


def _toolkit() -> dict[str, str]:
    nvcc = find_nvcc()
    if nvcc is None:
        return {}
    lines = pycuda_compiler.get_nvcc_version(nvcc).splitlines()
    return {"nvcc": next((line.strip() for line in lines if "release" in line), lines[0] if lines else "")}
