"""`CheckedDevice`: launches on the host with every memory access checked."""

from __future__ import annotations

import ctypes
import dataclasses
import math
import subprocess
from collections.abc import Callable, Sequence

from runner.device import Launch, LaunchDiagnostics, Role
from runner.device.checked.counting import InstructionCost, read_costs, shares
from runner.device.checked.findings import ReportContext, read_findings
from runner.device.cpu.build import find_toolchain
from runner.device.cpu.device import CpuDevice, PreparedCall, PreparedLaunch, PreparedSequence
from runner.device.cpu.interface import CheckedArray, CheckedRequest, LaunchReport, Outcome
from runner.device.cpu.program import Variable
from runner.device.kinds import CHECKED
from runner.errors import DeviceUnavailable, Finding, Hazard, join_findings

MAX_PAIRS = 64  # racing pairs of lines, after which the launch ends
REPORT_BYTES = 1 << 22  # of a launch

_WITHOUT_CONTENT = (Role.OUT, Role.SCRATCH)


class CheckedDevice(CpuDevice):
    """The CPU device with checked accesses. Raises DeviceUnavailable if the compiler cannot instrument them.

    A case is launched in `schedules` orders of blocks, warps and lanes. Timed launches are not checked.
    """

    kind = CHECKED

    def __init__(self, threads: int = 0, schedules: int = 3, *, ignore_same_value: bool = False) -> None:
        super().__init__(threads)
        tools = find_toolchain()
        command = [*tools.command, "-fsanitize=thread", "-S", "-x", "c++", "-", "-o", "-"]
        text = "int read(int* a) { return *a; }\n"
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        if "__tsan_read4" not in done.stdout:
            raise DeviceUnavailable(
                f"device={CHECKED}: the C++ compiler '{' '.join(tools.command)}' cannot instrument memory accesses "
                "(-fsanitize=thread): install g++ or clang++, or set CXX"
            )
        self.info = dataclasses.replace(self.info, name=f"checked {self.info.name}", schedules=schedules)
        self._ignore_same_value = ignore_same_value
        self.report = ctypes.create_string_buffer(REPORT_BYTES)

    def launch(self, launch: Launch, time_limit: float) -> LaunchDiagnostics:
        """Launch once. Raises Hazard with all findings after the launch has ended."""
        launches: list[_CheckedLaunch] = []
        sequence: list[PreparedLaunch | PreparedCall] = []
        filled: set[int] = set()  # arrays that a memset or a copy has initialized
        *_, last = (part for part in launch.sequence if part.program is not self.memory)
        for part in launch.sequence:
            if part.program is self.memory:
                sequence.append(PreparedCall(part))
                filled.add(id(part.arguments[0]))
                continue
            ends = {"is_first": not launches, "is_last": part is last}
            launches.append(_CheckedLaunch(self, part, launch.order, time_limit, filled=frozenset(filled), **ends))
            sequence.append(launches[-1])
        error = ""
        try:
            report = self._run(PreparedSequence(sequence, self.printed))
        except Hazard as e:
            error = str(e)
        findings = tuple(f for c in launches for f in c.findings if not (f.same_value and self._ignore_same_value))
        if error or findings:
            raise Hazard(join_findings([*filter(None, [error]), *(f.text for f in findings)]), findings)
        return self._diagnostics(report)

    def count(self, launch: Launch, choose: Callable[[int], Sequence[int]], time_limit: float) -> list[InstructionCost]:
        """Count the cost of each instruction, in the blocks of each launch that `choose` selects by their number.

        Only accesses outside of arrays are checked: they raise Hazard.
        """
        costs: list[InstructionCost] = []
        for part in launch.sequence:
            if part.program is self.memory:
                PreparedCall(part).run()
                continue
            number = math.prod(part.grid)
            for blocks, share in shares(choose(number), number):
                counting = _CheckedLaunch(self, part, launch.order, time_limit)
                counting.count_in(blocks)
                try:
                    counting.run()
                except Hazard as e:
                    found = [*filter(None, [str(e)]), *(f.text for f in counting.findings)]
                    raise Hazard(join_findings(found)) from None
                costs += read_costs(counting.program, counting.text, share)
        return costs


class _CheckedLaunch(PreparedLaunch):
    """A launch whose accesses are checked."""

    def __init__(
        self,
        device: CheckedDevice,
        launch: Launch,
        order: int,
        time_limit: float,
        *,
        is_first: bool = True,  # of a sequence
        is_last: bool = True,
        filled: frozenset[int] = frozenset(),  # ids of arrays that have content, whatever their role
    ) -> None:
        super().__init__(device, launch, order, time_limit)
        self.findings: tuple[Finding, ...] = ()
        self.text = ""  # the launch's report
        self._report_buffer = device.report
        self._context = context = ReportContext(self.program, launch, order)
        checked: list[CheckedArray] = []
        for array in {id(a): a for a in self.arrays}.values():
            item, content = array.dtype.itemsize, array.role not in _WITHOUT_CONTENT or id(array) in filled
            context.arrays.append((array.name, item, array.size))
            extent = (array.begin, array.size * item, array.origin, *array.guards, item)
            checked.append(CheckedArray(*extent, array.role is Role.IN, content, 0))
        written = {v.pointer: v for v in launch.variables if isinstance(v, Variable)}
        guarded = self.program.guarded()
        for name, address, size in self.program.variables:
            variable = written.get(address)
            item = variable.dtype.itemsize if variable else 1
            if variable is None:
                context.untyped.add(len(checked))
            context.arrays.append((name, item, size // item))
            content = variable is None or variable.role not in _WITHOUT_CONTENT
            constant = name in self.program.constants
            extent = (address, size, address, *guarded[address], item)
            checked.append(CheckedArray(*extent, constant, content, 1, constant))
        shared = [CheckedArray(v.value, v.size, element_bytes=bool(v.name)) for v in self.program.shared_variables]
        context.shared += [(v.name, v.size) for v in self.program.shared_variables]
        self._arrays = ((CheckedArray * len(checked))(*checked), (CheckedArray * len(shared))(*shared))
        arrays = self._arrays[0], len(checked), self._arrays[1], len(shared)
        report = ctypes.addressof(device.report), REPORT_BYTES, 0
        self._checked = CheckedRequest(*arrays, *report, is_first, is_last, MAX_PAIRS)
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
            self.text = ctypes.string_at(self._report_buffer, min(self._checked.out_bytes, REPORT_BYTES)).decode()
            self.findings = read_findings(self._context, self.text)
        if report.outcome == Outcome.FOUND:
            raise Hazard("")
        return report
