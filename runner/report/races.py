"""A sentence on the check for races: how many variants of a run were checked, and the findings."""

from __future__ import annotations

from collections import Counter
from typing import Any

from runner.display.text import count, one_line
from runner.record.run import Run
from runner.stages.races.variants import APART

Row = dict[str, Any]

WHAT = "Races, uninitialized and out-of-bounds accesses"
FOUND = "checked CPU device"  # part of the reason of a row with a finding
OWN = "its own size"
REASONS = 2  # most reasons in the sentence
LIMIT = "of the sweep's time"  # part of the reason of a variant that was not reached


def sentence(run: Run, kind: str) -> str:
    """Describe the check of the cases on one kind of device; empty if no check was requested.

    Args:
        run: The run.
        kind: The kind of device, such as `cpu`.
    """
    known = [r for r in run.rows if r["device"] == kind]
    if not any(r["races_at"] or r["races_skipped"] for r in known):
        return ""
    other = "a search looks at its winners only" if run.search else "not asked for"
    rows = [
        r if r["races_at"] or r["races_skipped"] else {**r, "races_skipped": other}
        for r in known
        if r["races_at"] or r["races_skipped"] or r["status"] == "ok"
    ]
    names = [name for name in run.parameters if name not in (*APART, "device")]
    variants: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        variants.setdefault(tuple(str(row[name]) for name in names), []).append(row)
    looked = [group for group in variants.values() if all(row["races_at"] for row in group)]
    if not looked:
        return f"{WHAT} were not looked for: {_reasons(variants.values())}."
    found = sum(any(FOUND in str(row["reason"]) for row in group) for group in looked)
    small = " at small sizes" if any(row["races_at"] != OWN for group in looked for row in group) else ""
    left = [group for group in variants.values() if group not in looked]
    more = f" Not in the others: {_reasons(left)}." if left else ""
    total = f"{len(looked):,} of {count(len(variants), 'variant')}"
    return f"{WHAT}: looked for in {total}{small}, {f'found in {found:,}' if found else 'none found'}.{more}"


def _reasons(groups: Any) -> str:
    """Why variants were not checked, the most frequent reasons first."""
    told = Counter(str(next(row["races_skipped"] for row in group if not row["races_at"])) for group in groups)
    words = [f"{reason}{f' ({number:,})' if len(told) > 1 else ''}" for reason, number in told.most_common(REASONS)]
    more = sum(told.values()) - sum(number for _, number in told.most_common(REASONS))
    words += [f"and {more:,} more, see races_skipped"] if more else []
    how = "; racecheck=all looks in all" if any(LIMIT in reason for reason in told) else ""
    return one_line("; ".join(words), 400) + how
