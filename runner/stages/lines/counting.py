"""Count what each line of a case's kernel costs, by running a few of its blocks on the checked CPU device."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from runner.device import Binary, Device
from runner.device.limits import Limits
from runner.errors import LaunchTimeout
from runner.kernel.case import Case
from runner.kernel.inputs import contents
from runner.stages.checked import builds
from runner.stages.lines.costs import BRANCH, DIGITS, GLOBAL, SHARED, LineCost
from runner.sweep.trial import Contents, reset, upload

if TYPE_CHECKING:
    from runner.device.checked.counting import InstructionCost
    from runner.device.checked.device import CheckedDevice

FEW = 3  # blocks that are run: the first, the middle one, the last
LIMIT_S = 2.0  # time limit of a counting launch


def count(
    device: Device, heartbeat: Callable[[str], Any], case: Case, binary: Binary, limit_s: float
) -> list[dict[str, Any]]:
    """Count a case's lines in a worker of the pool.

    Args:
        device: The worker's checked device.
        heartbeat: Tells the pool which phase begins.
        case: The case.
        binary: Its kernel, compiled for the checked device.
        limit_s: Time limit of a launch, in seconds.

    Returns:
        The fields of each `LineCost`.

    Raises:
        CaseError: The device refuses the launch, or it takes longer than `limit_s`.
    """
    heartbeat("inputs")
    inputs = contents(case)
    heartbeat("checking")
    instructions, blocks = counted(cast("CheckedDevice", device), case, binary, inputs, limit_s)
    return [asdict(line) for line in summed(instructions, blocks)]


def of_case(case: Case) -> tuple[list[InstructionCost], list[LineCost]]:
    """Count the costs of a case's instructions and lines in this process, without a sweep."""
    from runner.device.checked.device import CheckedDevice  # noqa: PLC0415  (cached costs need no device)

    binary = builds.compiler(Limits()).compile(case.source())
    device = CheckedDevice(threads=1)  # one thread, so that atomics run in a fixed order
    try:
        instructions, blocks = counted(device, case, binary, contents(case))
    finally:
        device.close()
    return instructions, list(summed(instructions, blocks))


_with_first_blocks: set[str] = set()  # digests of kernels in which a block waits for the blocks before it


def counted(
    device: CheckedDevice, case: Case, binary: Binary, inputs: Contents, limit_s: float = LIMIT_S
) -> tuple[list[InstructionCost], int]:
    """Count the costs of each instruction.

    The first, the middle and the last block run. If that times out because a block waits for the blocks before it, the
    first blocks run instead.

    Returns:
        The costs, and the number of blocks that ran.
    """
    program = device.load(case.source(), binary)
    with ExitStack() as stack:
        launch, placed = upload(device, program, case, inputs, stack)

        def run(choose: Callable[[int], list[int]]) -> list[InstructionCost]:
            reset(case, launch, placed)
            return device.count(launch, choose, limit_s)

        blocks = len(_spread(math.prod(case.grid)))
        if binary.digest not in _with_first_blocks:
            try:
                return run(_spread), blocks
            except LaunchTimeout:
                _with_first_blocks.add(binary.digest)
        return run(lambda number: list(range(min(number, FEW)))), blocks


def _spread(number: int) -> list[int]:
    """Up to `FEW` of a number of blocks: the first, the middle one, the last."""
    return sorted({0, number // 2, number - 1})


def summed(instructions: Iterable[InstructionCost], blocks: int) -> Iterator[LineCost]:
    """Sum the costs of instructions by line, memory and kind."""
    by_line: dict[tuple[str, int, str, str], list[InstructionCost]] = {}
    for one in instructions:
        by_line.setdefault((one.file, one.line, one.memory, one.kind), []).append(one)
    for (file, line, memory, kind), group in sorted(by_line.items()):
        requests = sum(one.requests for one in group)

        def average(name: str, group: list[InstructionCost] = group, requests: int = requests) -> float:
            total: float = sum(getattr(one, name) / one.counted * one.requests for one in group)
            return round(total / requests, DIGITS)

        actual, ideal, lanes = average("actual"), average("ideal"), average("lanes")
        if kind == BRANCH:
            diverged = round(actual * requests)
            yield LineCost(file, line, memory, kind, blocks, requests, lanes, divergent_branches=diverged)
            continue
        units = {GLOBAL: (actual, ideal, None, None), SHARED: (None, None, actual, ideal)}[memory]
        yield LineCost(file, line, memory, kind, blocks, requests, lanes, average("bytes"), *units)
