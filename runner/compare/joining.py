"""Which case of one run is which case of another: by its id, which says nothing of device or timing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from runner.compare.loading import Row, Run, values
from runner.errors import Mistake
from runner.report.text import listed, one_line

MOST_VALUES = 8


@dataclass(frozen=True)
class Pair:
    """A case that two runs have: its row in each."""

    base: Row
    other: Row


@dataclass(frozen=True)
class Joined:
    """The cases of two runs, each in the order of its table."""

    common: list[Pair]
    only_base: list[Row]
    only_other: list[Row]


def join(base: Run, other: Run) -> Joined:
    """Which cases both runs have, and which only one.

    A case is the same on a device of the same kind; where the runs have no kind in common, on any.

    Raises:
        Mistake: if there is no common case.
    """
    by_kind = bool(base.kinds & other.kinds) or not (base.kinds and other.kinds)
    left, right = _keyed(base, by_kind=by_kind), _keyed(other, by_kind=by_kind)
    common = [Pair(row, right[key]) for key, row in left.items() if key in right]
    if not common:
        raise Mistake(_nothing_in_common(base, other))
    only_base = [row for key, row in left.items() if key not in right]
    return Joined(common, only_base, [row for key, row in right.items() if key not in left])


def _keyed(run: Run, *, by_kind: bool) -> dict[tuple[str, str, int], Row]:
    """The rows by case and kind of device; of a case on two devices of one kind, the first and the second differ."""
    seen: Counter[tuple[str, str]] = Counter()
    found = {}
    for row in run.rows:
        key = str(row["case"]), str(row["device"]) if by_kind else ""
        found[(*key, seen[key])] = row
        seen[key] += 1
    return found


def _nothing_in_common(base: Run, other: Run) -> str:
    apart = [n for n in base.parameters if not set(values(base.rows, n)) & set(values(other.rows, n))]
    why = f"no common {listed(apart)}" if apart else "each value occurs in both, but no case has all of them"
    sentence = f"{other.name} and {base.name} have no case in common, so there is nothing to compare: {why}."
    named = [name for name in base.parameters if any(values(run.rows, name) not in ([], [""]) for run in (base, other))]
    return "\n".join([sentence, *(f"  {run.name}: {_axes(run, named)}" for run in (base, other))])


def _axes(run: Run, names: Sequence[str]) -> str:
    told = []
    for name in names:
        found = [one_line(value, 40) or "none" for value in values(run.rows, name)]
        more = [f"and {len(found) - MOST_VALUES} more"] if len(found) > MOST_VALUES else []
        told.append(f"{name} {', '.join([*found[:MOST_VALUES], *more])}")
    return "; ".join(told) if run.rows else "no cases at all"
