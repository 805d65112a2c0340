"""The seam between the experiment and the hardware.

Two small protocols. A `Compiler` turns a `Source` into a `Binary`; it runs in the parent process, on several threads,
and never touches the device. A `Device` lives in the worker process: it loads binaries, places arrays, launches, and
times launches. It knows nothing of statistics, of files, or of what the numbers are for.

`runner.device.cuda` (PyCUDA) and `runner.device.cpu` (our own SIMT execution on the host) implement both.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from runner.device.compiling import Binary, Compiler, Source
from runner.device.records import DeviceInfo, GpuState, LaunchDiagnostics, Resources, Timed

__all__ = [
    "Array",
    "Binary",
    "Compiler",
    "Device",
    "DeviceInfo",
    "Dim3",
    "GpuState",
    "Launch",
    "LaunchDiagnostics",
    "Program",
    "Resources",
    "Role",
    "Source",
    "Timed",
]

Dim3 = tuple[int, int, int]


class Role(enum.StrEnum):
    """What a kernel may do with an array, and what happens to the array around a launch."""

    IN = "in"  # read only; on the CPU device a write is a hazard
    OUT = "out"  # written by the kernel; poisoned before a check
    INOUT = "inout"  # changed in place; restored from its initial content before each launch
    STATE = "state"  # zeroed once; the kernel leaves it ready for its next launch
    SCRATCH = "scratch"  # contents mean nothing to anyone but the kernel


class Program(Protocol):
    """A kernel loaded on a device."""

    @property
    def resources(self) -> Resources:
        """What it takes on the device."""
        ...


class Array(Protocol):
    """An array on a device."""

    @property
    def role(self) -> Role:
        """What the kernel may do with it."""
        ...

    def read(self) -> NDArray[Any]:
        """Copy the content back, shaped as it was placed."""
        ...

    def fill_bytes(self, value: int) -> None:
        """Set every byte to `value` (0 to 255): poison, or zero."""
        ...

    def restore(self) -> None:
        """Bring back the content with which the array was placed."""
        ...

    def overrun(self) -> str:
        """Where the kernel wrote outside the array, in words; empty if it did not, or was stopped doing so."""
        ...

    def free(self) -> None:
        """Give the memory back. The array is dead afterwards."""
        ...


@dataclass(frozen=True)
class Launch:
    """One kernel launch, all that a device needs to make it.

    Attributes:
        program: What `Device.load` gave.
        grid: Blocks in x, y, z.
        block: Threads of a block in x, y, z.
        shared: Dynamic shared memory a block, in bytes.
        arguments: Arrays, and NumPy scalars of the kernel's own parameter types, in order.
        cache: What the multiprocessor's on-chip memory should rather be: none (no preference), shared, l1 or equal
            (CUDA C++ Programming Guide, cudaFuncSetCacheConfig). Only devices that have one are asked for another.
    """

    program: Program
    grid: Dim3
    block: Dim3
    shared: int
    arguments: tuple[Array | np.generic, ...]
    cache: str = "none"

    def arrays(self, *roles: Role) -> list[Array]:
        """The arrays among the arguments that have one of `roles`."""
        return [a for a in self.arguments if not isinstance(a, np.generic) and a.role in roles]


class Device(Protocol):
    """A place to run kernels; opened in the worker process, used by one thread."""

    @property
    def info(self) -> DeviceInfo:
        """What is known of the device."""
        ...

    @property
    def usable(self) -> bool:
        """Whether another launch can be made; a faulted CUDA context cannot."""
        ...

    def load(self, source: Source, binary: Binary) -> Program:
        """Make the kernel ready to launch."""
        ...

    def set_constant(self, program: Any, name: str, value: NDArray[Any]) -> None:
        """Write a `__constant__` or `__device__` array of the program (`Source.constants` names it)."""
        ...

    def place(self, name: str, value: NDArray[Any], role: Role, offset: int = 0) -> Array:
        """Copy an array to the device.

        Args:
            name: The kernel's name for it; messages use it.
            value: The content, of any shape; C-contiguous.
            role: What the kernel may do with it.
            offset: Elements to leave before the pointer that the kernel gets (halo, deliberate misalignment).

        Raises:
            OutOfMemory: if it does not fit.
        """
        ...

    def launch(self, launch: Launch, time_limit: float) -> LaunchDiagnostics:
        """Launch once and wait for the end.

        Args:
            launch: What to launch.
            time_limit: Seconds after which the kernel counts as endless, where the device can stop it itself.

        Raises:
            LaunchError: or one of its children, with the reason.
        """
        ...

    def active_blocks(self, launch: Launch) -> int | None:
        """How many of the launch's blocks fit on a multiprocessor at once; `None` where there is none."""
        ...

    def sample(self, launch: Launch, count: int, time_limit: float) -> Timed:
        """Time `count` launches one by one, each with `inout` arrays restored and, on a GPU, a flushed L2 cache.

        Args:
            launch: What to launch.
            count: How often.
            time_limit: Seconds after which the launches count as endless, one by one or together.
        """
        ...

    def batch(self, launch: Launch, count: int, time_limit: float) -> float:
        """Make `count` launches one behind the other, with nothing restored or flushed.

        Returns:
            Microseconds that they took together.
        """
        ...

    def conditions(self) -> GpuState | None:
        """What the device is like now; `None` where nobody can say."""
        ...

    def forget_spoilt_inputs(self) -> bool:
        """Give up copies of inputs that were kept for further cases if a kernel wrote to them; whether one did."""
        ...

    def close(self) -> None:
        """Leave the device as it was found."""
        ...
