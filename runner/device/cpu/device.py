"""`CpuDevice`: launches on the host."""

from __future__ import annotations

import ctypes
import math
import os
import platform
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.device import (
    Binary,
    Device,
    DeviceInfo,
    Form,
    Inside,
    Launch,
    LaunchCallback,
    LaunchDiagnostics,
    Pointers,
    Source,
    Texture,
    Timed,
    Value,
    View,
    parts,
)
from runner.device.calls import PythonProgram
from runner.device.cpu.build import find_toolchain
from runner.device.cpu.fault_text import HEAP_FULL, fault_cause, fault_message
from runner.device.cpu.interface import LaunchReport, LaunchRequest, Outcome
from runner.device.cpu.memory import GuardedArray, GuardedImage, HostMemory, host_view, view
from runner.device.cpu.program import CpuProgram, Variable
from runner.device.kinds import CPU, processor
from runner.errors import CompileError, DeviceUnavailable, Hazard, LaunchError, LaunchTimeout, NotResident

SHARED_LIMIT = 232448  # bytes per block on sm_90
MAX_THREADS = 1024
MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_BLOCK = (1024, 1024, 64)
PRINTED_BYTES = 64 << 10
MAX_RESIDENT_THREADS = 16384  # of a cooperative launch: FiberPool::most
MAX_RESIDENT_BLOCKS = 512  # of a cooperative launch, as each needs its own shared memory


class CpuDevice(Device):
    """The host's CPU as a CUDA device. Raises DeviceUnavailable without a working C++ compiler.

    OS threads run the blocks, by default one thread per core. A single thread makes float atomics deterministic.
    """

    kind = CPU
    usable = True  # a failed launch leaves nothing behind, but one that took too long may
    survives_errors = True
    memory = HostMemory()

    def __init__(self, threads: int = 0) -> None:
        self.threads = threads if threads > 0 else len(os.sched_getaffinity(0))
        self.printed = ctypes.create_string_buffer(PRINTED_BYTES)
        try:
            compiler = find_toolchain().version
        except CompileError as e:
            raise DeviceUnavailable(f"device={self.kind}: {e}") from None
        cpu = processor()
        self.info = DeviceInfo(
            kind=self.kind,
            name=f"CPU device ({self.threads} thread{'s' * (self.threads != 1)}, {cpu})",
            arch=platform.machine(),
            peak_gbps=None,
            l2_bytes=0,
            shared_limit=SHARED_LIMIT,
            memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            versions={"compiler": compiler},
            details={"threads": self.threads, "cpu": cpu},
        )

    def load(self, source: Source, binary: Binary) -> CpuProgram | PythonProgram:
        """Make the kernel ready to launch."""
        if source.form is Form.PYTHON:
            return PythonProgram(source, host_view, None)
        return parts.loaded(source, binary, CpuProgram)  # type: ignore[no-any-return]

    def set_constant(self, program: CpuProgram, name: str, value: NDArray[Any]) -> None:
        """Write a `__constant__` or `__device__` variable of the program."""
        program.set_constant(name, value)

    place = staticmethod(GuardedArray)
    image = staticmethod(GuardedImage)
    variable = staticmethod(Variable)

    def view(self, name: str, array: GuardedArray, channels: int, texture: Texture) -> View:  # noqa: ARG002
        """A texture object of an array."""
        return view(array, channels, texture)

    def release(self, view: View) -> None:
        """Do nothing, as the object is a plain description."""

    def launch(self, launch: Launch, time_limit: float) -> LaunchDiagnostics:
        """Launch once. Raises Hazard if the kernel breaks one of CUDA's rules."""
        return self._diagnostics(self._run(self._prepare(launch, time_limit)))

    def _run(self, prepared: PreparedSequence) -> LaunchReport:
        try:
            return prepared.run()
        except LaunchTimeout:
            self.usable = False  # a thread that was ended may have held a lock of the C library
            raise

    def _diagnostics(self, report: LaunchReport) -> LaunchDiagnostics:
        printed = min(report.printed_bytes, PRINTED_BYTES - 1)
        text = self.printed.raw[:printed].decode(errors="replace")
        if dropped := report.printed_bytes - printed:
            text += f"\n[{dropped} more bytes dropped]\n"
        undefined = report.first_undefined_read.decode(errors="replace")
        null = f"malloc() or new returned null: {HEAP_FULL}" if report.heap_was_full else ""
        return LaunchDiagnostics(report.undefined_reads, undefined, text, null)

    def sample(
        self, launches: Sequence[Launch], time_limit: float, prepare: LaunchCallback, accept: LaunchCallback
    ) -> Timed:
        """Time launches one by one."""
        prepared = {id(launch): self._prepare(launch, time_limit) for launch in launches}
        samples = np.empty(len(launches), np.float64)
        for i, launch in enumerate(launches):
            prepare(launch)
            samples[i] = self._run(prepared[id(launch)]).seconds * 1e6
            accept(launch)
        return Timed(samples, np.zeros(len(launches)))

    def batch(self, launches: Sequence[Launch], time_limit: float) -> float:
        """Time launches back to back."""
        return float(self.sample(launches, time_limit, lambda _: None, lambda _: None).us.sum())

    def close(self) -> None:
        """Do nothing: arrays are freed one by one, and idle threads cost nothing."""

    def _prepare(self, launch: Launch, time_limit: float) -> PreparedSequence:
        launches = [
            PreparedCall(part)
            if isinstance(part.program, PythonProgram | HostMemory)
            else PreparedLaunch(self, part, launch.order, time_limit)
            for part in launch.sequence
        ]
        return PreparedSequence(launches, self.printed)


class PreparedLaunch:
    """A validated launch in the runtime library's format; it can be run repeatedly."""

    def __init__(self, device: CpuDevice, launch: Launch, order: int, time_limit: float) -> None:
        program = launch.program
        assert isinstance(program, CpuProgram)  # noqa: S101  (launches are made from what this device loaded)
        _check_shape(program, launch)
        self.program, self.launch = program, launch
        self.arrays = _arrays(launch)
        self._values = program.pack(launch.arguments)  # kept alive here
        self._pointers = (ctypes.c_void_p * max(1, len(self._values)))(*map(ctypes.addressof, self._values))
        # Pointers to dynamic shared memory at file scope are thread-local, too.
        needs_static = program.resources.shared_bytes or program.cooperative or launch.shared
        self.request = LaunchRequest(
            kernel=program.kernel,
            shared_anchor=program.shared_anchor if needs_static else None,
            arguments=self._pointers,
            grid=launch.grid,
            block=launch.block,
            dynamic_shared=launch.shared,
            code_begin=program.code_begin,
            code_end=program.code_end,
            printed=ctypes.addressof(device.printed),
            printed_capacity=PRINTED_BYTES,
            time_limit=time_limit,
            os_threads=device.threads,
            cooperative=program.cooperative,
            order=order,
            zones=program.zones,
            zone_count=len(program.zones),
        )
        self._report = LaunchReport()

    def run(self) -> LaunchReport:
        """Launch, and raise the error that occurred."""
        request, report = self.request, self._report
        self.program.run(ctypes.byref(request), ctypes.byref(report))
        if report.outcome == Outcome.VIOLATION:
            raise Hazard(report.message.decode(errors="replace"))
        if report.outcome == Outcome.REFUSED:
            raise LaunchError(report.message.decode(errors="replace"))
        if report.outcome == Outcome.TIMEOUT:
            cause = f"still running after the time limit of {request.time_limit:g} s"
            raise LaunchTimeout(fault_message(self.program, report.fault, cause))
        if report.outcome == Outcome.FAULT:
            cause = fault_cause(report, self.arrays, request.dynamic_shared)
            raise Hazard(fault_message(self.program, report.fault, cause))
        for array in self.arrays:
            array.check_canaries()
        return report


class PreparedCall:
    """A call of a Python function, a memset or a copy; it can be run repeatedly. Its arrays are in this process."""

    def __init__(self, launch: Launch) -> None:
        assert isinstance(launch.program, PythonProgram | HostMemory)  # noqa: S101  (made from what was loaded)
        self._queue = launch.program.queue(launch)
        self._arrays = _arrays(launch)

    def run(self) -> LaunchReport:
        """Call it, and raise the error that occurred."""
        report, started = LaunchReport(), time.perf_counter()
        self._queue()
        report.seconds = time.perf_counter() - started
        for array in self._arrays:
            array.check_canaries()
        return report


class PreparedSequence:
    """Launches in order, with a joint report."""

    def __init__(self, launches: Sequence[PreparedLaunch | PreparedCall], printed: ctypes.Array[ctypes.c_char]) -> None:
        self._launches, self._printed = launches, printed

    def run(self) -> LaunchReport:
        """Launch them, and raise the first error that occurred."""
        if len(self._launches) == 1:
            return self._launches[0].run()
        total, text = LaunchReport(), b""
        for launch in self._launches:
            report = launch.run()
            if report.undefined_reads and not total.undefined_reads:
                total.first_undefined_read = report.first_undefined_read
            total.heap_was_full |= report.heap_was_full
            total.seconds += report.seconds
            total.undefined_reads += report.undefined_reads
            total.printed_bytes += report.printed_bytes
            text += self._printed.raw[: min(report.printed_bytes, PRINTED_BYTES - 1)]
        self._printed.raw = text[: PRINTED_BYTES - 1]
        return total


def _arrays(launch: Launch) -> list[GuardedArray]:
    """The arrays that the launch passes, and those that it passes pointers to."""
    passed = [a.array if isinstance(a, Inside | View) else a for a in launch.arguments]
    pointed = [array for a in launch.arguments if isinstance(a, Pointers | Value) for array in a.arrays]
    tables = [a.table for a in launch.arguments if isinstance(a, Pointers)]
    return [argument for argument in (*passed, *pointed, *tables) if isinstance(argument, GuardedArray)]


def _check_shape(program: CpuProgram, launch: Launch) -> None:
    name = program.function
    for kind, extent, limits in (("grid", launch.grid, MAX_GRID), ("block", launch.block, MAX_BLOCK)):
        if any(not 1 <= size <= limit for size, limit in zip(extent, limits, strict=True)):
            raise LaunchError(f"{name}: {kind} {extent} is not between (1, 1, 1) and {limits}")
    if (threads := math.prod(launch.block)) > MAX_THREADS:
        raise LaunchError(f"{name}: block {launch.block} has {threads} threads, {MAX_THREADS} are allowed")
    if any(extent % blocks for extent, blocks in zip(launch.grid, program.cluster, strict=False)):
        raise LaunchError(f"{name}: grid {launch.grid} is not a multiple of the clusters {program.cluster}")
    blocks = math.prod(launch.grid)
    if program.cooperative and (blocks > MAX_RESIDENT_BLOCKS or blocks * threads > MAX_RESIDENT_THREADS):
        raise NotResident(
            f"a cooperative launch of {blocks} blocks of {threads} threads: the CPU device holds at most "
            f"{MAX_RESIDENT_BLOCKS} blocks and {MAX_RESIDENT_THREADS} threads at once"
        )
    static = program.resources.shared_bytes or 0
    if launch.shared < 0 or static + launch.shared > SHARED_LIMIT:
        raise LaunchError(
            f"{name}: {static} + {launch.shared} bytes of static and dynamic shared memory a block, "
            f"{SHARED_LIMIT} are allowed"
        )
