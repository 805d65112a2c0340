"""`CpuDevice`: launches on the host."""

from __future__ import annotations

import ctypes
import math
import os
import platform
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.device import (
    Around,
    Binary,
    DeviceInfo,
    Inside,
    Launch,
    LaunchDiagnostics,
    Role,
    Source,
    Surface,
    Texture,
    Timed,
    View,
)
from runner.device.cpu.build import find_toolchain
from runner.device.cpu.memory import GuardedArray, GuardedImage, view
from runner.device.cpu.program import CpuProgram, Fault, LaunchReport, LaunchRequest, Outcome, Variable
from runner.device.cpu.translate import PARAMETERS, WRAPPER, is_ours
from runner.device.kinds import CPU, processor
from runner.errors import CompileError, DeviceUnavailable, Hazard, LaunchError, LaunchTimeout, NotResident

SHARED_LIMIT = 232448  # bytes per block on sm_90
MAX_THREADS = 1024
MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_BLOCK = (1024, 1024, 64)
PRINTED_BYTES = 64 << 10
STACK_KIB = 64  # FiberPool::stack_bytes
MOST_RESIDENT_THREADS = 16384  # of a cooperative launch: FiberPool::most
MOST_RESIDENT_BLOCKS = 512  # of a cooperative launch, as each needs its own shared memory


class CpuDevice:
    """The host's CPU as a CUDA device. Raises DeviceUnavailable without a working C++ compiler.

    OS threads run the blocks, by default one thread per core. A single thread makes float atomics deterministic.
    """

    kind = CPU
    usable = True  # a failed launch leaves nothing behind
    survives_errors = True

    def __init__(self, threads: int = 0) -> None:
        self._threads = threads if threads > 0 else len(os.sched_getaffinity(0))
        self._printed = ctypes.create_string_buffer(PRINTED_BYTES)
        try:
            compiler = find_toolchain().version
        except CompileError as e:
            raise DeviceUnavailable(f"device={self.kind}: {e}") from None
        cpu = processor()
        self.info = DeviceInfo(
            kind=self.kind,
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

    def image(self, name: str, value: NDArray[Any], role: Role, channels: int, how: Texture | Surface) -> GuardedImage:
        """Copy an array to memory, described for a texture or surface object."""
        return GuardedImage(name, value, role, channels, how)

    def view(self, name: str, array: GuardedArray, channels: int, how: Texture) -> View:  # noqa: ARG002
        """A texture object of an array."""
        return view(array, channels, how)

    def release(self, view: View) -> None:
        """Do nothing, as the object is a plain description."""

    def variable(self, program: CpuProgram, name: str, value: NDArray[Any], role: Role) -> Variable:
        """A `__device__` array of the program that the kernel writes."""
        return Variable(program, name, value, role)

    def launch(self, launch: Launch, time_limit: float) -> LaunchDiagnostics:
        """Launch once. Raises Hazard if the kernel breaks one of CUDA's rules."""
        return self._diagnostics(self._prepared(launch, time_limit).run())

    def _diagnostics(self, report: LaunchReport) -> LaunchDiagnostics:
        kept = min(report.printed_bytes, PRINTED_BYTES - 1)
        text = self._printed.raw[:kept].decode(errors="replace")
        if dropped := report.printed_bytes - kept:
            text += f"\n[{dropped} more bytes dropped]\n"
        return LaunchDiagnostics(report.undefined_reads, report.first_undefined_read.decode(errors="replace"), text)

    def active_blocks(self, launch: Launch) -> None:
        """Always `None`, as the host has no multiprocessors."""

    def sample(self, launches: Sequence[Launch], time_limit: float, prepare: Around, accept: Around) -> Timed:
        """Time launches one by one."""
        prepared = {id(launch): self._prepared(launch, time_limit) for launch in launches}
        samples = np.empty(len(launches), np.float64)
        for i, launch in enumerate(launches):
            prepare(launch)
            samples[i] = prepared[id(launch)].run().seconds * 1e6
            accept(launch)
        return Timed(samples, np.zeros(len(launches)))

    def batch(self, launches: Sequence[Launch], time_limit: float) -> float:
        """Time launches back to back."""
        prepared = {id(launch): self._prepared(launch, time_limit) for launch in launches}
        return float(sum(prepared[id(launch)].run().seconds for launch in launches)) * 1e6

    def energy(self, launch: Launch, seconds: float, time_limit: float) -> str:
        """Always the reason why an emulation's energy is not measured."""
        _ = launch, seconds, time_limit
        return f"{self.info.label} has no energy counter"

    def conditions(self) -> None:
        """Always `None`, as the host's clocks are not read."""

    def forget_spoilt_inputs(self) -> bool:
        """Always false, as no inputs are cached."""
        return False

    def close(self) -> None:
        """Do nothing: arrays are freed one by one, and idle threads cost nothing."""

    def _prepared(self, launch: Launch, time_limit: float) -> Prepared | InSequence:
        way = self._way(launch, time_limit)
        return in_sequence([Prepared(one, way) for one in launch.all], way)

    def _way(self, launch: Launch, time_limit: float) -> Way:
        return Way(launch.order, self._threads, time_limit, self._printed)


@dataclass(frozen=True)
class Way:
    """The options of a launch."""

    order: int
    threads: int  # OS threads
    time_limit: float
    printed: ctypes.Array[ctypes.c_char]  # buffer for the kernel's printf


class Prepared:
    """A validated launch in the runtime library's format; it can be run repeatedly."""

    def __init__(self, launch: Launch, way: Way) -> None:
        program = launch.program
        assert isinstance(program, CpuProgram)  # noqa: S101  (launches are made from what this device loaded)
        _check_shape(program, launch)
        self.program, self.launch = program, launch
        passed = [a.array if isinstance(a, Inside | View) else a for a in launch.arguments]
        self.arrays = [argument for argument in passed if isinstance(argument, GuardedArray)]
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
            printed=ctypes.addressof(way.printed),
            printed_capacity=PRINTED_BYTES,
            time_limit=way.time_limit,
            os_threads=way.threads,
            cooperative=program.cooperative,
            order=way.order,
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
        if report.outcome == Outcome.TIMEOUT:
            what = f"still running after the time limit of {request.time_limit:g} s"
            raise LaunchTimeout(_sentence(self.program, report.fault, what))
        if report.outcome == Outcome.FAULT:
            what = _what_faulted(report.fault, self.arrays, request.dynamic_shared)
            raise Hazard(_sentence(self.program, report.fault, what))
        for array in self.arrays:
            array.check_canaries()
        return report


def in_sequence(launches: Sequence[Prepared], way: Way) -> Prepared | InSequence:
    """Prepare one launch, or several as one."""
    return InSequence(launches, way.printed) if len(launches) > 1 else launches[0]


class InSequence:
    """Launches in order, with a joint report."""

    def __init__(self, launches: Sequence[Prepared], printed: ctypes.Array[ctypes.c_char]) -> None:
        self._launches, self._printed = launches, printed

    def run(self) -> LaunchReport:
        """Launch them, and raise the first error that occurred."""
        total, text = LaunchReport(), b""
        for launch in self._launches:
            report = launch.run()
            if report.undefined_reads and not total.undefined_reads:
                total.first_undefined_read = report.first_undefined_read
            total.seconds += report.seconds
            total.undefined_reads += report.undefined_reads
            total.printed_bytes += report.printed_bytes
            text += self._printed.raw[: min(report.printed_bytes, PRINTED_BYTES - 1)]
        self._printed.raw = text[: PRINTED_BYTES - 1]
        return total


def _check_shape(program: CpuProgram, launch: Launch) -> None:
    name = program.function
    for what, given, allowed in (("grid", launch.grid, MAX_GRID), ("block", launch.block, MAX_BLOCK)):
        if any(not 1 <= part <= limit for part, limit in zip(given, allowed, strict=True)):
            raise LaunchError(f"{name}: {what} {given} is not between (1, 1, 1) and {allowed}")
    if (threads := math.prod(launch.block)) > MAX_THREADS:
        raise LaunchError(f"{name}: block {launch.block} has {threads} threads, {MAX_THREADS} are allowed")
    blocks = math.prod(launch.grid)
    if program.cooperative and (blocks > MOST_RESIDENT_BLOCKS or blocks * threads > MOST_RESIDENT_THREADS):
        raise NotResident(
            f"a cooperative launch of {blocks} blocks of {threads} threads: the CPU device holds at most "
            f"{MOST_RESIDENT_BLOCKS} blocks and {MOST_RESIDENT_THREADS} threads at once"
        )
    static = program.resources.shared_bytes or 0
    if launch.shared < 0 or static + launch.shared > SHARED_LIMIT:
        raise LaunchError(
            f"{name}: {static} + {launch.shared} bytes of static and dynamic shared memory a block, "
            f"{SHARED_LIMIT} are allowed"
        )


def lines_of(program: CpuProgram, addresses: Sequence[int]) -> dict[int, str]:
    """`file.cu:12` by address: the innermost line of the user's code for instructions or calls.

    Addresses without such a line are missing.
    """
    tool = shutil.which("addr2line") or shutil.which("llvm-addr2line")
    if not addresses or tool is None:
        return {}
    asked = "".join(f"{address - program.base:#x}\n" for address in addresses)
    command = [tool, "-a", "-i", "-e", str(program.binary)]
    said = subprocess.run(command, input=asked, capture_output=True, text=True, check=False)
    found: dict[int, str] = {}
    address = 0
    for location in said.stdout.splitlines():
        if location.startswith("0x"):
            address = int(location, 16) + program.base
            continue
        file, _, line = location.split(" ")[0].rpartition(":")
        ours = is_ours(file) or Path(file).name in (WRAPPER, PARAMETERS)
        if line.isdigit() and int(line) and not ours and not file.startswith("/usr/"):
            found.setdefault(address, f"{Path(file).name}:{line}")
    return found


def _sentence(program: CpuProgram, at: Fault, what: str) -> str:
    """A sentence with the line of a fault, the event, and the thread."""
    lines = lines_of(program, [address for address in at.code_addresses if address])
    line = next((lines[address] for address in at.code_addresses if address in lines), None)
    if line is None and at.last_line:
        line = f"{Path(at.last_file.decode(errors='replace')).name}:{at.last_line}"
    elif line is None and program.definition_line:
        line = f"{program.path.name}:{program.definition_line}"
    block, thread = ",".join(map(str, at.block)), ",".join(map(str, at.thread))
    return f"{line or program.path.name}: {what}; block ({block}), thread ({thread}) [warp {at.warp}, lane {at.lane}]"


def _what_faulted(at: Fault, arrays: Sequence[GuardedArray], shared: int) -> str:
    if at.signal == signal.SIGFPE:
        return "integer division by zero (or of the smallest integer by -1): its result is undefined on a GPU"
    if at.signal in (signal.SIGILL, signal.SIGTRAP):
        return "the kernel reached code that the compiler considers unreachable (undefined behaviour in C++)"
    if at.in_stack_guard:
        return f"local variables need more than {STACK_KIB} KiB of stack"
    if at.is_unaddressed:
        return "misaligned access to a vector type, or an invalid pointer"
    verb = "write" if at.is_write else "read"
    if at.in_shared_guard:
        return f"out-of-bounds {verb} of dynamic shared memory: byte {at.shared_offset} of {shared}"
    for array in arrays:
        if array.covers(at.data_address):
            element = (at.data_address - array.begin) // array.dtype.itemsize
            if 0 <= element < array.size:
                return f"write to read-only input '{array.name}', element {element}"
            return (
                f"out-of-bounds {verb} of '{array.name}': index {element}, but '{array.name}' has {array.size} elements"
            )
    return f"memory fault: {verb} at {at.data_address:#x}, in no array of the kernel"
