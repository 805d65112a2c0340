"""The fastest case for each GPU and size, with its parameters and the macros that it was compiled with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runner.display.text import absent, plain
from runner.errors import UsageError
from runner.kernel.declaration import NEUTRAL
from runner.kernel.resolve import make
from runner.record import stored_sweep
from runner.record.ranking import Ranking, fastest
from runner.record.run import Run
from runner.record.runs import MALFORMED, section

Row = Mapping[str, Any]

SIZES = ("size", "rows", "cols")
GROUPS = ("family", "dtype", "finish")  # with the GPU and the size, what winners are told apart by
_NOT_TUNED = frozenset(("kernel", "device", "seed", "fill", *SIZES, *GROUPS))  # what is run, not how
_BLOCK = ("block_x", "block_y", "block_z")
NUMBERS = ("median_us", "ci_low_us", "ci_high_us", "gbps")
_UUID = re.compile(r" [0-9a-f]{8}$")  # at the end of a GPU's name, where a run has several


@dataclass(frozen=True)
class Winner:
    """The fastest case of a GPU, a size and a group."""

    gpu: str  # the name of its model
    kernel: str
    group: Mapping[str, str]  # the values of `GROUPS`
    size: Mapping[str, int]  # those of `SIZES` that the kernel has
    parameters: Mapping[str, str]  # the others, such as `block_x`
    macros: Mapping[str, str]  # as compiled, in order; empty if the run has no sources
    numbers: Mapping[str, float]  # those of `NUMBERS` that were measured
    tied: int  # cases that this measurement cannot tell from it
    undecided: int  # cases that may be tied
    among: int  # cases that were ranked

    @property
    def elements(self) -> int:
        """The number of elements."""
        return self.size.get("size") or self.size.get("rows", 1) * self.size.get("cols", 1)


def winners(run: Run) -> list[Winner]:
    """The winners of a run, by GPU and group, sizes ascending. Of GPUs of one model the faster case counts.

    Raises:
        UsageError: No case was timed on a GPU.
    """
    found: dict[tuple[Any, ...], Winner] = {}
    for ranking in fastest(run):
        one = _winner(run, ranking)
        key = (one.gpu, *one.group.values(), *one.size.items())
        if key not in found or one.numbers["median_us"] < found[key].numbers["median_us"]:
            found[key] = one
    if not found:
        why = "the times of the CPU device are emulated" if run.has_emulated_times else "no case is correct and timed"
        raise UsageError(f"{run.path}: there is no winner: {why}; export a run on a GPU, or --format t4")
    return sorted(found.values(), key=lambda one: (one.gpu, *one.group.values(), one.elements, *one.size.values()))


def _winner(run: Run, ranking: Ranking) -> Winner:
    row = ranking.fastest
    return Winner(
        gpu=_gpu(run, row),
        kernel=str(row["kernel"]),
        group={name: "" if absent(row[name]) else str(row[name]) for name in GROUPS},
        size={name: int(row[name]) for name in SIZES if not absent(row[name])},
        parameters=_parameters(run, row),
        macros=_macros(run, row),
        numbers={name: float(row[name]) for name in NUMBERS if name in row and not absent(row[name])},
        tied=len(ranking.tied),
        undecided=len(ranking.undecided),
        among=ranking.among,
    )


def _gpu(run: Run, row: Row) -> str:
    name = "" if absent(row["gpu"]) else _UUID.sub("", str(row["gpu"]))
    return plain(name or str(section(run.devices, str(row["device"])).get("name") or row["device"]))


def _parameters(run: Run, row: Row) -> dict[str, str]:
    """The values that were tuned. A block is written as its extents."""
    names = [name for name in run.parameters if name not in _NOT_TUNED]
    every = [each for name in names for each in (_BLOCK if name == "block" else (name,))]
    present = {name: str(row[name]) for name in every if name in row and not absent(row[name])}
    return {name: value for name, value in present.items() if NEUTRAL.get(name) != value}


def _macros(run: Run, row: Row) -> dict[str, str]:
    """The macros of a case, from the stored kernel; empty if the folder lacks what they follow from."""
    if absent(row["job"]):
        return {}
    try:
        record = run.folder.record(int(row["job"]))
        if record is None:
            return {}
        kernel = stored_sweep.kernel_of(run.folder, str(row["kernel"]))
        return dict(make(kernel, record["parameters"], int(record["seed"])).source().macros)
    except (OSError, UsageError, *MALFORMED):
        return {}
