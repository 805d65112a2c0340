"""A GPU's properties, its state from NVML, and the overhead of timing, measured when the GPU is opened.

A time near that overhead reflects the method rather than the kernel.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from pycuda import driver

from runner.device import DeviceInfo, GpuState
from runner.device.cuda.compiler import find_nvcc, version_of
from runner.device.kinds import CUDA
from runner.errors import CompileError

COPY_BYTES = 1 << 28  # far larger than any L2
SPIN_UP_S = 0.1  # seconds of work before timing, as an idle GPU's clocks are low
SAMPLES = 50

# The names are those of NVML's nvmlClocksEventReasons.
REASONS = {
    0x0000000000000004: "sw_power_cap",
    0x0000000000000008: "hw_slowdown",
    0x0000000000000010: "sync_boost",
    0x0000000000000020: "sw_thermal_slowdown",
    0x0000000000000040: "hw_thermal_slowdown",
    0x0000000000000080: "hw_power_brake",
}
SEVERE = frozenset(("hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake"))
LOW_CLOCK = 0.75  # fraction of the highest clock below which times are not reliable (nvbench's threshold)

# An empty kernel in PTX, which the driver compiles without nvcc.
EMPTY = b"""
.version 6.0
.target sm_50
.address_size 64
.visible .entry empty() { ret; }
\0"""


def describe(gpu: driver.Device, overhead: dict[str, float | None], nvml: Nvml) -> DeviceInfo:
    """The GPU's properties from the driver and NVML, and the measured overhead."""
    attribute = driver.device_attribute
    get = gpu.get_attribute
    major, minor = gpu.compute_capability()
    # Double data rate: two transfers per clock (CUDA C++ Best Practices Guide, "Theoretical Bandwidth Calculation").
    clock_khz, bus_bits = get(attribute.MEMORY_CLOCK_RATE), get(attribute.GLOBAL_MEMORY_BUS_WIDTH)
    peak = 2 * clock_khz * 1e3 * bus_bits / 8 / 1e9
    driver_version = driver.get_driver_version()
    nvidia_driver = nvml.driver_version()
    details = {
        "uuid": nvml.uuid() or gpu.pci_bus_id(),
        "multiprocessors": get(attribute.MULTIPROCESSOR_COUNT),
        "clock_mhz": get(attribute.CLOCK_RATE) / 1000,
        "memory_clock_mhz": clock_khz / 1000,
        "memory_bus_bits": bus_bits,
        "ecc": bool(get(attribute.ECC_ENABLED)),
        "threads_per_multiprocessor": get(attribute.MAX_THREADS_PER_MULTIPROCESSOR),
        **overhead,
    }
    versions = {
        "cuda_driver": f"{driver_version // 1000}.{driver_version % 1000 // 10}",
        "cuda_headers": ".".join(map(str, driver.get_version())),
        **({"nvidia_driver": nvidia_driver} if nvidia_driver else {}),
        **_toolkit(),
    }
    return DeviceInfo(
        kind=CUDA,
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
    if (nvcc := find_nvcc()) is None:
        return {}
    try:
        lines = version_of(nvcc).splitlines()
    except CompileError as e:
        lines = [str(e)]
    return {"nvcc": next((line.strip() for line in lines if "release" in line), lines[0] if lines else "")}


def measure_overhead(stream: driver.Stream, flush: Callable[[], None]) -> dict[str, float | None]:
    """Measure the overhead of timing on a stream, in microseconds by name; `flush` queues the overwriting of L2."""
    function = driver.module_from_buffer(EMPTY).get_function("empty")
    function.prepare([])
    deadline = time.monotonic() + SPIN_UP_S
    while time.monotonic() < deadline:
        _time_between(stream, flush, lambda: None)
    empty = _time_between(stream, flush, lambda: function.prepared_async_call((1, 1), (1, 1, 1), stream))
    nothing = _time_between(stream, flush, lambda: None)
    flushes = _time_between(stream, lambda: None, flush)
    steps = np.diff(np.unique(np.concatenate([empty, nothing, flushes]).round(4)))
    return {
        "empty_kernel_us": float(np.median(empty)),  # a launch of an empty kernel, measured like a sample
        "event_pair_us": float(np.median(nothing)),  # two consecutive events
        "event_tick_us": round(float(steps.min()), 4) if len(steps) else 0.0,  # the smallest step between two times
        "flush_us": float(np.median(flushes)),  # overwriting the L2 cache
        "copy_gbps": copy_gbps(stream),
    }


def _time_between(
    stream: driver.Stream, before: Callable[[], None], work: Callable[[], None]
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Microseconds of `work`, queued behind `before`, timed as `CudaDevice.sample` times a launch."""
    start, end = driver.Event(), driver.Event()
    times = []
    for _ in range(SAMPLES):
        before()
        start.record(stream)
        work()
        end.record(stream)
        end.synchronize()
        times.append(start.time_till(end) * 1000.0)
    return np.array(times)


def copy_gbps(stream: driver.Stream) -> float | None:
    """The read + write bandwidth of a device-to-device copy in GB/s, the median of ten; `None` if memory is short."""
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


class Nvml:
    """NVML's view of one GPU, found by its PCI bus id. Without NVML the state is unknown."""

    def __init__(self, bus_id: str) -> None:
        self._handle: Any = None
        self._max_mhz = 0
        try:
            import pynvml  # noqa: PLC0415  (optional)

            pynvml.nvmlInit()
            self._nvml: Any = pynvml
            self._handle = pynvml.nvmlDeviceGetHandleByPciBusId(bus_id.encode())
            clock = pynvml.nvmlDeviceGetMaxClockInfo(self._handle, pynvml.NVML_CLOCK_SM)
            self._max_mhz = int(clock)  # read once: it takes 1 ms
        except Exception:  # noqa: BLE001  (NVML may be missing, and raises its own classes)
            return

    def driver_version(self) -> str:
        """The version of the driver; empty if unknown."""
        return str(self._query(lambda n, _: n.nvmlSystemGetDriverVersion()) or "")

    def uuid(self) -> str:
        """The UUID of the GPU or of this process's MIG instance; empty if unknown."""
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").partition(",")[0]
        return visible if visible.startswith("MIG-") else str(self._query(lambda n, h: n.nvmlDeviceGetUUID(h)) or "")

    def processes(self) -> int:
        """The number of processes that compute on the GPU; 0 if unknown."""
        return len(self._query(lambda n, h: n.nvmlDeviceGetComputeRunningProcesses(h)) or ())

    def joules(self) -> float | None:
        """The board's energy in joules since the driver was loaded; `None` if unknown or shared by MIG instances."""
        if self.uuid().startswith("MIG-"):
            return None
        millijoules = self._query(lambda n, h: n.nvmlDeviceGetTotalEnergyConsumption(h))
        return None if millijoules is None else millijoules / 1000.0

    def conditions(self) -> GpuState | None:
        """The GPU's current state; `None` if unknown."""
        clock = self._query(lambda n, h: n.nvmlDeviceGetClockInfo(h, n.NVML_CLOCK_SM))
        if clock is None:
            return None
        bits = self._query(lambda n, h: n.nvmlDeviceGetCurrentClocksEventReasons(h))
        if bits is None:  # its name in drivers before R535
            bits = self._query(lambda n, h: n.nvmlDeviceGetCurrentClocksThrottleReasons(h))
        reasons = tuple(name for bit, name in REASONS.items() if (bits or 0) & bit)
        low = clock < LOW_CLOCK * self._max_mhz
        slow = low if bits is None else bool(SEVERE & set(reasons)) or (low and bool(reasons))
        milliwatts = self._query(lambda n, h: n.nvmlDeviceGetPowerUsage(h))
        return GpuState(
            sm_mhz=int(clock),
            temperature_c=self._query(lambda n, h: n.nvmlDeviceGetTemperature(h, n.NVML_TEMPERATURE_GPU)),
            power_w=None if milliwatts is None else milliwatts / 1000.0,
            reasons=reasons,
            throttled=slow,
        )

    def _query(self, question: Callable[[Any, Any], Any]) -> Any:
        if self._handle is None:
            return None
        try:
            return question(self._nvml, self._handle)
        except Exception:  # noqa: BLE001  (this GPU or driver does not answer it)
            return None
