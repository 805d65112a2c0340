"""What Nsight Compute counted of the cases that the ladders show; tools/count_ladder.py writes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ncu import REQUESTS, ratio

from ladder.files import Row, rows
from ladder.steps import size_of
from runner.kernel.lanes import WARP

FILE = "counters.csv"

INSTRUCTIONS = "smsp__inst_executed.sum"
LOADED = REQUESTS["global_load_sectors"][0]
HIT = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum"

STALLED = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
IN_ALL = "smsp__average_warp_latency_per_inst_issued.ratio"
WAITS = {
    "memory": ("long_scoreboard", "lg_throttle"),
    "shared memory": ("short_scoreboard", "mio_throttle"),
    "barrier": ("barrier",),
    "fence": ("membar",),
    "stores": ("drain",),
    "instructions": ("no_instruction", "branch_resolving", "imc_miss"),
    "arithmetic": ("math_pipe_throttle", "wait"),
}
"""What a warp waits for, and the stall reasons of Nsight Compute that say so."""

METRICS = (
    INSTRUCTIONS,
    HIT,
    IN_ALL,
    *(metric for pair in REQUESTS.values() for metric in pair),
    *(STALLED.format(reason) for reasons in WAITS.values() for reason in reasons),
)


NOTICED = 0.05
"""Shares below that are not told."""


@dataclass(frozen=True)
class Counted:
    """A case, as counted in one launch.

    Attributes:
        instructions: Of warps, times the 32 threads of a warp.
        requests: By column of results.csv, wavefronts or sectors a request; `None` where there was no request.
        l1_hits: Share of the sectors of global loads that the L1 cache had; `None` without loads.
        waits: Share of its time that a warp waits for each of `WAITS`.
    """

    instructions: float
    requests: Mapping[str, float | None]
    l1_hits: float | None
    waits: Mapping[str, float]


def read(path: Path, shown: Iterable[Row]) -> dict[str, Counted]:
    """What was counted, by case.

    Args:
        path: Of the file.
        shown: The rows of sweeps whose cases must be there.

    Raises:
        ValueError: if the file is missing or torn, a case is missing there, or other machine code was counted than was
            measured; one sentence.
    """
    table = {row["case"]: row for row in rows(path, ("case", "binary", "kernel", *METRICS), METRICS)}
    for row in shown:
        which = f"case {row['case']}, the fastest of {row['kernel']} at {size_of(row)}"
        if row["case"] not in table:
            raise ValueError(f"{path.name}: there is no {which}")
        if table[row["case"]]["binary"] != row["binary"]:
            other = f"{table[row['case']]['binary']}, and {row['binary']} was measured"
            raise ValueError(f"{path.name}: {which}: the machine code that was counted is {other}")
    return {case: _counted(path, row) for case, row in table.items()}


def _counted(path: Path, row: Row) -> Counted:
    if empty := [metric for metric in METRICS if row[metric] is None]:
        raise ValueError(f"{path.name}: case {row['case']} of {row['kernel']} has no {empty[0]}")
    if not row[IN_ALL]:
        raise ValueError(f"{path.name}: case {row['case']} of {row['kernel']}: {IN_ALL} is 0")
    return Counted(
        row[INSTRUCTIONS] * WARP,
        {column: ratio(row[counted], row[requests]) for column, (counted, requests) in REQUESTS.items()},
        ratio(row[HIT], row[LOADED]),
        {what: sum(row[STALLED.format(r)] for r in reasons) / row[IN_ALL] for what, reasons in WAITS.items()},
    )
