"""The cost of each instruction of a launch, counted by native/checked/line_costs.h, at its source line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runner.device.cpu.fault_text import source_lines
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
    share: float  # the number of the grid's blocks for which each block that was run stands
    first: tuple[int | None, ...]  # the lanes' byte offsets in the array in the first request; empty for a branch


def shares(blocks: Sequence[int], number: int) -> list[tuple[Sequence[int], float]]:
    """Blocks to run together, of a grid of `number` blocks, with the number of blocks for which each of them stands.

    The last block may have less to do than the others, so it stands for itself only.
    """
    if len(blocks) > 1 and blocks[-1] == number - 1:
        inner = blocks[:-1]
        return [(inner, (number - 1) / len(inner)), (blocks[-1:], 1.0)]
    return [(blocks, number / len(blocks))]


def read_costs(program: CpuProgram, text: str, share: float) -> list[InstructionCost]:
    """Parse a launch's report; instructions without a line of the user's code are left out."""
    rows = [list(map(int, line.split("\t")[1:])) for line in text.splitlines() if line.startswith("cost\t")]
    lines = source_lines(program, [program.code_begin + code for code in sorted({row[0] for row in rows})])
    costs = []
    for code, space, traffic, *numbers in rows:
        file, _, line = lines.get(program.code_begin + code, "").rpartition(":")
        kind = _KINDS[traffic]
        if file and numbers[1]:
            memory = "" if kind == "branch" else _MEMORY[space]
            fields: list[Any] = [*numbers[:7], share, tuple(None if offset < 0 else offset for offset in numbers[7:])]
            costs.append(InstructionCost(file, int(line), memory, kind, *fields))
    return costs
