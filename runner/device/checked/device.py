"""`CheckedDevice`: launches on the host with every memory access checked."""

from __future__ import annotations

import ctypes
import dataclasses
import math
import subprocess
from collections.abc import Callable, Sequence

from runner.device import Inside, Launch, LaunchDiagnostics, Role
from runner.device.checked.counting import InstructionCost, read_costs
from runner.device.checked.findings import Found, read_findings
from runner.device.cpu.build import find_toolchain
from runner.device.cpu.device import CpuDevice, Prepared, Way, in_sequence
from runner.device.cpu.memory import GuardedArray
from runner.device.cpu.program import CheckedArray, CheckedRequest, LaunchReport, Outcome
from runner.device.kinds import CHECKED
from runner.errors import DeviceUnavailable, Finding, Hazard, join_findings

MOST_PAIRS = 64  # racing pairs of lines, after which the launch ends
ROOM = 1 << 22  # bytes of a launch's report

_WITHOUT_CONTENT = (Role.OUT, Role.SCRATCH)


class CheckedDevice(CpuDevice):
    """The CPU device with checked accesses. Raises DeviceUnavailable if the compiler cannot instrument them.

    A case is launched in `schedules` orders of blocks, warps and lanes. Timed launches are not checked.
    """

    kind = CHECKED

    def __init__(self, threads: int = 0, schedules: int = 3, *, ignore_same_value: bool = False) -> None:
        super().__init__(threads)
        _require_instrumentation()
        self.info = dataclasses.replace(self.info, name=f"checked {self.info.name}", schedules=schedules)
        self._ignore_same_value = ignore_same_value
        self._out = ctypes.create_string_buffer(ROOM)

    def launch(self, launch: Launch, time_limit: float) -> LaunchDiagnostics:
        """Launch once. Raises Hazard with all findings after the launch has ended."""
        way = self._way(launch, time_limit)
        each = [_Watched(one, way, self._out, (one is launch, one is launch.all[-1])) for one in launch.all]
        ended = ""
        try:
            report = in_sequence(each, way).run()
        except Hazard as e:
            ended = str(e)
        findings = tuple(f for one in each for f in one.findings if not (f.same_value and self._ignore_same_value))
        if ended or findings:
            raise Hazard(join_findings([*filter(None, [ended]), *(f.text for f in findings)]), findings)
        return self._diagnostics(report)

    def count(self, launch: Launch, choose: Callable[[int], Sequence[int]], time_limit: float) -> list[InstructionCost]:
        """Count the cost of each instruction, in the blocks of each launch that `choose` selects by their number.

        Only accesses outside of arrays are checked: they raise Hazard.
        """
        found: list[InstructionCost] = []
        for one in launch.all:
            counting = _Watched(one, self._way(launch, time_limit), self._out, (True, True))
            counting.count_in(choose(math.prod(one.grid)))
            try:
                counting.run()
            except Hazard as e:
                raise Hazard(join_findings([*filter(None, [str(e)]), *(f.text for f in counting.findings)])) from None
            found += read_costs(counting.program, counting.text)
        return found


class _Watched(Prepared):
    """A launch whose accesses are checked."""

    def __init__(self, launch: Launch, way: Way, out: ctypes.Array[ctypes.c_char], ends: tuple[bool, bool]) -> None:
        """`ends`: whether the launch is the first, and whether it is the last one of a sequence."""
        super().__init__(launch, way)
        self.findings: tuple[Finding, ...] = ()
        self.text = ""  # the launch's report
        self._out = out
        inside = [a.array for a in launch.arguments if isinstance(a, Inside)]
        arrays = {id(a): a for a in (*self.arrays, *inside) if isinstance(a, GuardedArray)}
        self._found = Found(self.program, launch, way.order)
        watched: list[CheckedArray] = []
        for array in arrays.values():
            self._found.arrays.append((array.name, array.dtype.itemsize, array.size))
            watched.append(_guarded(array))
        elements = {v.pointer: v for v in launch.variables}
        guarded = self.program.guarded()
        for name, address, size in self.program.variables():
            variable = elements.get(address)
            item = getattr(getattr(variable, "dtype", None), "itemsize", 1)
            if variable is None:
                self._found.untyped.add(len(watched))
            self._found.arrays.append((name, item, size // item))
            content = variable is None or variable.role not in _WITHOUT_CONTENT
            constant = name in self.program.constants
            places = (address, size, address, *guarded[address])
            watched.append(CheckedArray(*places, item, constant, content, 1, constant))
        shared = [CheckedArray(v.begin, v.size, element_bytes=bool(v.name)) for v in self.program.shared_variables]
        self._found.shared += [(v.name, v.size) for v in self.program.shared_variables]
        self._kept = ((CheckedArray * len(watched))(*watched), (CheckedArray * len(shared))(*shared))
        parts = self._kept[0], len(watched), self._kept[1], len(shared)
        self._checked = CheckedRequest(*parts, ctypes.addressof(out), ROOM, 0, *ends, MOST_PAIRS)
        self.request.checked = ctypes.pointer(self._checked)

    def count_in(self, blocks: Sequence[int]) -> None:
        """Run only these blocks, and count the cost of each instruction."""
        self._blocks = (ctypes.c_uint64 * len(blocks))(*blocks)
        self._checked.counts, self._checked.blocks, self._checked.block_count = 1, self._blocks, len(blocks)

    def run(self) -> LaunchReport:
        """Launch, store the report, and raise the error that occurred."""
        try:
            report = super().run()
        finally:
            self.text = ctypes.string_at(self._out, min(self._checked.out_bytes, ROOM)).decode()
            self.findings = read_findings(self._found, self.text)
        if report.outcome == Outcome.FOUND:
            raise Hazard("")
        return report


def _guarded(array: GuardedArray) -> CheckedArray:
    content = array.role not in _WITHOUT_CONTENT
    nbytes, item = array.size * array.dtype.itemsize, array.dtype.itemsize
    return CheckedArray(array.begin, nbytes, array.origin, *array.guards, item, array.role is Role.IN, content, 0)


def _require_instrumentation() -> None:
    tools = find_toolchain()
    command = [*tools.command, "-fsanitize=thread", "-S", "-x", "c++", "-", "-o", "-"]
    text = "int read(int* a) { return *a; }\n"
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if "__tsan_read4" not in done.stdout:
        raise DeviceUnavailable(
            f"device={CHECKED}: the C++ compiler '{' '.join(tools.command)}' cannot instrument memory accesses "
            "(-fsanitize=thread): install g++ or clang++, or set CXX"
        )
