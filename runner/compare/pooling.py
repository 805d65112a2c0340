"""One side of a comparison that was measured several times: the rounds of all its runs together.

`A1,A2 B1,B2`, measured in the order A B B A, is free of a device that becomes steadily slower meanwhile.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace

from runner.compare.joining import join
from runner.compare.loading import Row, Run
from runner.errors import Mistake
from runner.report.text import absent

LAUNCH = ("binary", "grid", "block", "shared_dynamic")
"""Columns in which a case is equal, beside its parameters, wherever the same is launched."""


def pooled(runs: Sequence[Run]) -> Run:
    """Several runs as one. A case is right if it is in all of them that have it; its time is the mean of theirs.

    Raises:
        Mistake: if they are not the same, measured several times.
    """
    first, *others = runs
    rows = list(first.rows)
    for other in others:
        joined = join(replace(first, rows=rows), other)
        further = {id(pair.base): pair.other for pair in joined.common}
        rows = [_together(first, row, other, further[id(row)]) if id(row) in further else row for row in rows]
        rows += joined.only_other
    name = first.name if not others else f"{first.name} ({len(runs)} runs)"
    return replace(first, name=name, rows=rows)


def _together(first: Run, row: Row, other: Run, again: Row) -> Row:
    if row["status"] != "ok" or again["status"] != "ok":
        return again if row["status"] == "ok" else row
    changed = [name for name in LAUNCH if not absent(row[name]) and str(row[name]) != str(again[name])]
    if changed or row["device"] != again["device"]:
        what = "machine code" if changed == ["binary"] else (changed or ["device"])[0]
        raise Mistake(
            f"{other.name} is not {first.name} measured again, as both sides of a comma must be: {row['kernel']} (case "
            f"{row['case']}) has another {what}"
        )
    measured = (*row["measured"], *again["measured"])
    weights = [max(1, len(side["measured"])) for side in (row, again)]
    together = {
        name: statistics.fmean([row[name], again[name]], weights)
        for name in ("median_us", "q1_us", "q3_us")
        if not absent(row[name]) and not absent(again[name])
    }
    return {**row, **together, "min_us": min(row["min_us"], again["min_us"]), "measured": measured}
