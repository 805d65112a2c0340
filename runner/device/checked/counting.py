"""The cost of each instruction of a launch, counted by native/checked/line_costs.h, at its source line."""

from __future__ import annotations

from dataclasses import dataclass

from runner.device.cpu.device import lines_of
from runner.device.cpu.program import CpuProgram

_MEMORY = ("global", "shared")  # simt::checked::Space
_KINDS = ("load", "store", "atomic", "branch")  # simt::checked::Traffic


@dataclass(frozen=True)
class InstructionCost:
    """The cost of one instruction in the blocks that were run."""

    file: str
    line: int
    memory: str  # global or shared; empty for a branch
    kind: str  # load, store, atomic or branch
    requests: int  # of warps
    counted: int  # requests whose lanes were examined; the following numbers cover only these
    lanes: int
    bytes: int  # requested by the lanes
    actual: int  # sectors or wavefronts; of a branch: how often it diverged
    ideal: int
    first_bytes: int  # bytes per lane in the first request
    first: tuple[int | None, ...]  # the lanes' byte offsets in the array in the first request; empty for a branch


def read_costs(program: CpuProgram, text: str) -> list[InstructionCost]:
    """Parse a launch's report; instructions without a line of the user's code are left out."""
    rows = [list(map(int, line.split("\t")[1:])) for line in text.splitlines() if line.startswith("cost\t")]
    lines = lines_of(program, [program.code_begin + code for code in sorted({row[0] for row in rows})])
    found = []
    for code, space, traffic, *numbers in rows:
        file, _, line = lines.get(program.code_begin + code, "").rpartition(":")
        kind = _KINDS[traffic]
        if file and numbers[1]:
            memory = "" if kind == "branch" else _MEMORY[space]
            first = tuple(None if at < 0 else at for at in numbers[7:])
            requests, counted, lanes, size, actual, ideal, bytes_each = numbers[:7]
            numbers_of = (requests, counted, lanes, size, actual, ideal, bytes_each)
            found.append(InstructionCost(file, int(line), memory, kind, *numbers_of, first))
    return found
