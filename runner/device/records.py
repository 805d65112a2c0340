"""What a device tells, as plain records: of itself, of a kernel, of a launch, of its state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.device import kinds


@dataclass(frozen=True)
class Resources:
    """What one compiled kernel takes, a thread or a block. `None`: this device cannot say."""

    registers: int | None
    shared_bytes: int | None  # static shared memory a block
    local_bytes: int | None  # local memory (spills, indexed arrays) a thread


@dataclass(frozen=True)
class DeviceInfo:
    """What is known of an open device.

    Attributes:
        kind: `cuda` or `cpu`; the column `device`.
        name: For people, such as `NVIDIA H200`.
        arch: What kernels are compiled for, such as `sm_90` or `x86_64`.
        peak_gbps: Theoretical memory bandwidth in 10^9 bytes a second; `None` where it means nothing.
        l2_bytes: Size of the last-level cache that a cold sample flushes; 0 where none is flushed.
        shared_limit: Largest static + dynamic shared memory of a block, in bytes.
        memory_bytes: Total memory.
        versions: Driver, toolkit, compiler and the like, by name.
        details: Clocks, bus width, multiprocessors, threads and the like, by name.
    """

    kind: str
    name: str
    arch: str
    peak_gbps: float | None
    l2_bytes: int
    shared_limit: int
    memory_bytes: int
    versions: dict[str, str] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def emulated(self) -> bool:
        """Whether its times say nothing about a GPU."""
        return kinds.is_emulated(self.kind)

    @property
    def label(self) -> str:
        """What people call this kind of device."""
        return kinds.label(self.kind)


@dataclass(frozen=True)
class LaunchDiagnostics:
    """What a device noticed during a launch that is no error by itself.

    Attributes:
        undefined_reads: How often a lane read a lane that is not in the mask, or has exited. `None`: cannot say.
        first: The first such read, in words.
        printed: What the kernel printed.
    """

    undefined_reads: int | None = None
    first: str = ""
    printed: str = ""


@dataclass(frozen=True)
class Timed:
    """Launches that were timed one by one.

    Attributes:
        us: Microseconds of each launch alone, shape (n,).
        enqueue_us: Microseconds that the host took to queue each of them; zeros where nothing is queued.
    """

    us: NDArray[np.float64]
    enqueue_us: NDArray[np.float64]


@dataclass(frozen=True)
class GpuState:
    """What a GPU is like at a moment (NVML).

    Attributes:
        sm_mhz: Clock of the multiprocessors.
        temperature_c: Of the GPU; `None` where it is not told.
        power_w: What it draws; likewise.
        reasons: Why its clocks are lower than they could be, in NVML's words.
        throttled: Whether it runs so much slower that its times are not to be believed.
    """

    sm_mhz: int
    temperature_c: int | None
    power_w: float | None
    reasons: tuple[str, ...]
    throttled: bool
