"""Count what each line of a case's kernel costs, by running a few of its blocks on the checked CPU device."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from runner.device import Binary, Device
from runner.errors import LaunchTimeout
from runner.kernel.case import Case
from runner.kernel.inputs import contents
from runner.stages.lines.costs import BRANCH, DIGITS, GLOBAL, SHARED, LineCost
from runner.sweep.trial import Contents, reset, upload

if TYPE_CHECKING:
    from runner.device.checked.counting import InstructionCost
    from runner.device.checked.device import CheckedDevice

MAX_BLOCKS = 3  # that are run: the first, the middle one, the last
LIMIT_S = 2.0  # time limit of a counting launch


def count(
    device: Device, heartbeat: Callable[[str], Any], case: Case, binary: Binary, limit_s: float
) -> list[dict[str, Any]]:
    """Count a case's lines in a worker of the pool, whose parent gets the heartbeat.

    Returns:
        The fields of each `LineCost`.

    Raises:
        CaseError: The device refuses the launch, or it takes longer than `limit_s`.
    """
    heartbeat("inputs")
    inputs = contents(case)
    heartbeat("checking")
    instructions, blocks = count_instructions(cast("CheckedDevice", device), case, binary, inputs, limit_s)
    return [asdict(line) for line in by_line(instructions, blocks)]


_waiting_kernels: set[str] = set()  # digests of kernels in which a block waits for the blocks before it


def count_instructions(
    device: CheckedDevice, case: Case, binary: Binary, inputs: Contents, limit_s: float = LIMIT_S
) -> tuple[list[InstructionCost], int]:
    """Count the costs of each instruction in the first, the middle and the last block.

    If that times out because a block waits for the blocks before it, the first blocks run instead. Returns the costs,
    and the number of blocks that ran.
    """
    program = device.load(case.source(), binary)
    with ExitStack() as stack:
        launch, placed = upload(device, program, case, inputs, stack)

        def run(choose: Callable[[int], list[int]]) -> list[InstructionCost]:
            reset(case, launch, placed)
            return device.count(launch, choose, limit_s)

        blocks = len(_spread(math.prod(case.grid)))
        if binary.digest not in _waiting_kernels:
            try:
                return run(_spread), blocks
            except LaunchTimeout:
                _waiting_kernels.add(binary.digest)
        return run(lambda number: list(range(min(number, MAX_BLOCKS)))), blocks


def _spread(number: int) -> list[int]:
    """Up to `MAX_BLOCKS` of a number of blocks: the first, the middle one, the last."""
    return sorted({0, number // 2, number - 1})


def by_line(instructions: Iterable[InstructionCost], blocks: int) -> Iterator[LineCost]:
    """Sum the costs of instructions by line, memory and kind."""
    groups: dict[tuple[str, int, str, str], list[InstructionCost]] = {}
    for cost in instructions:
        groups.setdefault((cost.file, cost.line, cost.memory, cost.kind), []).append(cost)
    for (file, line, memory, kind), group in sorted(groups.items()):
        requests = sum(cost.requests for cost in group)
        of_grid = round(sum(cost.requests * cost.share for cost in group))
        names = ("actual", "ideal", "lanes", "bytes")
        totals = (sum(getattr(cost, name) / cost.counted * cost.requests for cost in group) for name in names)
        actual, ideal, lanes, size = (round(total / requests, DIGITS) for total in totals)
        if kind == BRANCH:
            diverged = round(actual * requests)
            yield LineCost(
                file, line, memory, kind, blocks, requests, lanes, divergent_branches=diverged, grid_requests=of_grid
            )
            continue
        units = {GLOBAL: (actual, ideal, None, None), SHARED: (None, None, actual, ideal)}[memory]
        yield LineCost(file, line, memory, kind, blocks, requests, lanes, size, *units, grid_requests=of_grid)
