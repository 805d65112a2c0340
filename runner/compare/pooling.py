"""One side of a comparison that was measured several times: the rounds of all its runs together.

`A1,A2 B1,B2`, measured in the order A B B A, is free of a device that becomes steadily slower meanwhile.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace

from runner.compare.joining import join
from runner.compare.kinds import surroundings
from runner.compare.loading import Row, Run
from runner.errors import UsageError
from runner.report.text import absent
from runner.report.verdict import IDLE

LAUNCH = ("binary", "grid", "block", "shared_dynamic")
"""Columns in which a case is equal, beside its parameters, wherever the same is launched."""


def pooled(runs: Sequence[Run]) -> Run:
    """Several runs as one. A case that failed in one of them failed; its time is the mean of theirs.

    Raises:
        UsageError: if they are not the same, measured several times.
    """
    first, *others = runs
    rows = list(first.rows)
    for other in others:
        _refuse_other_surroundings(first, other)
        joined = join(replace(first, rows=rows), other)
        further = {id(pair.base): pair.other for pair in joined.common}
        rows = [_together(first, row, other, further[id(row)]) if id(row) in further else row for row in rows]
        rows += joined.only_other
    name = first.name if not others else f"{first.name} ({len(runs)} runs)"
    return replace(first, name=name, rows=rows)


def _refuse_other_surroundings(first: Run, other: Run) -> None:
    for kind in sorted(first.kinds & other.kinds):
        was, now = (surroundings(run.environment, kind) for run in (first, other))
        changed = [name for name in dict.fromkeys((*was, *now)) if was.get(name) != now.get(name)]
        if changed:
            what = changed[0].removeprefix("devices.")
            told = f"{what} is {was.get(changed[0], 'not known')} and {now.get(changed[0], 'not known')}"
            raise UsageError(f"{other.name} is not {first.name} measured again, as runs of one side must be: {told}")


def _together(first: Run, row: Row, other: Run, again: Row) -> Row:
    """A case of which there are two rows: what failed outweighs what is right, and that what was not run."""
    if row["status"] != "ok" or again["status"] != "ok":
        return max(row, again, key=lambda r: (r["status"] not in IDLE, r["status"] != "ok"))
    changed = [name for name in LAUNCH if not absent(row[name]) and str(row[name]) != str(again[name])]
    if changed:
        what = "machine code" if changed == ["binary"] else changed[0]
        told = f"{row['kernel']} (case {row['case']}) has another {what}"
        raise UsageError(f"{other.name} is not {first.name} measured again, as runs of one side must be: {told}")
    weights = [max(1, len(r["measured"])) for r in (row, again)]
    together = {
        name: statistics.fmean([row[name], again[name]], weights)
        for name in ("median_us", "q1_us", "q3_us")
        if not absent(row[name]) and not absent(again[name])
    }
    measured = (*row["measured"], *again["measured"])
    return {**row, **together, "min_us": min(row["min_us"], again["min_us"]), "measured": measured}
