"""`CpuDevice`: launches on the host."""

from __future__ import annotations

import ctypes
import math
import os
import platform
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.device import Binary, DeviceInfo, Launch, LaunchDiagnostics, Role, Source, Timed
from runner.device.cpu import explain, toolchain
from runner.device.cpu.memory import GuardedArray
from runner.device.cpu.program import CpuProgram, LaunchReport, LaunchRequest, Outcome
from runner.device.kinds import CPU
from runner.device.opening import processor
from runner.errors import CompileError, DeviceUnavailable, Hazard, LaunchError, LaunchTimeout

SHARED_LIMIT = 232448  # bytes per block on sm_90
MAX_THREADS = 1024
MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_BLOCK = (1024, 1024, 64)
PRINTED_BYTES = 64 << 10


class CpuDevice:
    """The host's CPU as a CUDA device.

    Args:
        threads: OS threads that run blocks; 0 for one per core. One thread makes float atomics repeatable.

    Raises:
        DeviceUnavailable: if there is no working C++ compiler, so that no kernel could be compiled.
    """

    usable = True  # a failed launch leaves nothing behind
    survives_errors = True

    def __init__(self, threads: int = 0) -> None:
        self._threads = threads if threads > 0 else len(os.sched_getaffinity(0))
        self._printed = ctypes.create_string_buffer(PRINTED_BYTES)
        try:
            compiler = toolchain.find().version
        except CompileError as e:
            raise DeviceUnavailable(f"device=cpu: {e}") from None
        cpu = processor()
        self.info = DeviceInfo(
            kind=CPU,
            name=f"CPU device ({self._threads} thread{'s' * (self._threads != 1)}, {cpu})",
            arch=platform.machine(),
            peak_gbps=None,
            l2_bytes=0,
            shared_limit=SHARED_LIMIT,
            memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            versions={"compiler": compiler},
            details={"threads": self._threads, "cpu": cpu},
        )

    def load(self, source: Source, binary: Binary) -> CpuProgram:
        """Make the kernel ready to launch."""
        return CpuProgram(source, binary)

    def set_constant(self, program: CpuProgram, name: str, value: NDArray[Any]) -> None:
        """Write a `__constant__` or `__device__` variable of the program."""
        program.set_constant(name, value)

    def place(self, name: str, value: NDArray[Any], role: Role, offset: int = 0, lead: int = 0) -> GuardedArray:
        """Copy an array to memory between guard pages."""
        return GuardedArray(name, value, role, offset, lead)

    def launch(self, launch: Launch, time_limit: float) -> LaunchDiagnostics:
        """Launch once.

        Raises:
            Hazard: if the kernel breaks one of CUDA's rules.
            LaunchTimeout: if it does not end.
            LaunchError: if the shape or the arguments do not fit the kernel or the device.
        """
        report = self._prepared(launch, time_limit).run()
        kept = min(report.printed_bytes, PRINTED_BYTES - 1)
        text = self._printed.raw[:kept].decode(errors="replace")
        if dropped := report.printed_bytes - kept:
            text += f"\n[{dropped} more bytes dropped]\n"
        return LaunchDiagnostics(report.undefined_reads, report.first_undefined_read.decode(errors="replace"), text)

    def active_blocks(self, launch: Launch) -> None:
        """None: there are no multiprocessors."""

    def sample(self, launch: Launch, count: int, time_limit: float) -> Timed:
        """Time `count` launches one by one, without the time for restoring `inout` arrays."""
        prepared = self._prepared(launch, time_limit)
        changed = launch.arrays(Role.INOUT)
        samples = np.empty(count, np.float64)
        for i in range(count):
            for array in changed:
                array.restore()
            samples[i] = prepared.run().seconds * 1e6
        return Timed(samples, np.zeros(count))

    def batch(self, launch: Launch, count: int, time_limit: float) -> float:
        """Make `count` launches back to back."""
        prepared = self._prepared(launch, time_limit)
        return float(sum(prepared.run().seconds for _ in range(count))) * 1e6

    def conditions(self) -> None:
        """None: the host's clocks are unknown."""

    def forget_spoilt_inputs(self) -> bool:
        """No inputs are kept."""
        return False

    def close(self) -> None:
        """Nothing to do: arrays are freed one by one, and idle threads cost nothing."""

    def _prepared(self, launch: Launch, time_limit: float) -> _Prepared:
        return _Prepared(launch, self._threads, time_limit, self._printed)


class _Prepared:
    """A checked launch in the form that the runtime library takes; it can be run repeatedly."""

    def __init__(self, launch: Launch, threads: int, time_limit: float, printed: ctypes.Array[ctypes.c_char]) -> None:
        program = launch.program
        assert isinstance(program, CpuProgram)  # noqa: S101  (launches are made from what this device loaded)
        _check_shape(program, launch)
        self._program = program
        self._arrays = [argument for argument in launch.arguments if isinstance(argument, GuardedArray)]
        self._values = program.pack(launch.arguments)  # kept alive here
        self._pointers = (ctypes.c_void_p * max(1, len(self._values)))(*map(ctypes.addressof, self._values))
        self._request = LaunchRequest(
            kernel=program.kernel,
            shared_anchor=program.shared_anchor if program.resources.shared_bytes != 0 else None,
            arguments=self._pointers,
            grid=launch.grid,
            block=launch.block,
            dynamic_shared=launch.shared,
            code_begin=program.code_begin,
            code_end=program.code_end,
            printed=ctypes.addressof(printed),
            printed_capacity=PRINTED_BYTES,
            time_limit=time_limit,
            os_threads=threads,
            order=launch.order,
            zones=program.zones,
            zone_count=len(program.zones),
        )
        self._report = LaunchReport()

    def run(self) -> LaunchReport:
        """Launch, and raise the error that occurred."""
        request, report = self._request, self._report
        self._program.run(ctypes.byref(request), ctypes.byref(report))
        if report.outcome == Outcome.VIOLATION:
            raise Hazard(report.message.decode(errors="replace"))
        if report.outcome == Outcome.TIMEOUT:
            raise LaunchTimeout(explain.timeout(self._program, report.fault, request.time_limit))
        if report.outcome == Outcome.FAULT:
            raise Hazard(explain.fault(self._program, report.fault, self._arrays, request.dynamic_shared))
        for array in self._arrays:
            array.check_canaries()
        return report


def _check_shape(program: CpuProgram, launch: Launch) -> None:
    """Refuse the shapes that a GPU refuses."""
    name = program.function
    for what, given, allowed in (("grid", launch.grid, MAX_GRID), ("block", launch.block, MAX_BLOCK)):
        if any(not 1 <= part <= limit for part, limit in zip(given, allowed, strict=True)):
            raise LaunchError(f"{name}: {what} {given} is not between (1, 1, 1) and {allowed}")
    if (threads := math.prod(launch.block)) > MAX_THREADS:
        raise LaunchError(f"{name}: block {launch.block} has {threads} threads, {MAX_THREADS} are allowed")
    static = program.resources.shared_bytes or 0
    if launch.shared < 0 or static + launch.shared > SHARED_LIMIT:
        raise LaunchError(
            f"{name}: {static} + {launch.shared} bytes of static and dynamic shared memory a block, "
            f"{SHARED_LIMIT} are allowed"
        )
