"""Which case of one run is which case of another: by its id, which says nothing of device or timing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runner.compare.loading import Row, Run, values
from runner.errors import UsageError
from runner.report.text import listed, one_line

MOST_VALUES = 8


@dataclass(frozen=True)
class Pair:
    """A case that two runs have: its row in each."""

    base: Row
    other: Row


@dataclass(frozen=True)
class Joined:
    """The cases of two runs, each in the order of its table.

    Attributes:
        common: Those that both have.
        doubtful: Likewise, but a run has several rows of the case: measured in several ways, or on several GPUs.
        only_base: Those that only the base has.
        only_other: Those that only the other run has.
    """

    common: list[Pair]
    doubtful: list[Pair]
    only_base: list[Row]
    only_other: list[Row]


def join(base: Run, other: Run) -> Joined:
    """Which cases both runs have, and which only one.

    A case is the same on a device of the same kind; where the runs have no kind in common, on any.

    Raises:
        UsageError: if there is no common case.
    """
    by_kind = bool(base.kinds & other.kinds) or not (base.kinds and other.kinds)
    left, right = _keyed(base, by_kind=by_kind), _keyed(other, by_kind=by_kind)
    common = [key for key in left if key in right]
    if not common:
        raise UsageError(_nothing_in_common(base, other))
    clear = {key for key in common if len(left[key]) == len(right[key]) == 1}
    return Joined(
        common=[Pair(left[key][0], right[key][0]) for key in common if key in clear],
        doubtful=[Pair(left[key][0], right[key][0]) for key in common if key not in clear],
        only_base=[row for key, rows in left.items() if key not in right for row in rows],
        only_other=[row for key, rows in right.items() if key not in left for row in rows],
    )


def _keyed(run: Run, *, by_kind: bool) -> dict[tuple[str, str], list[Row]]:
    """The rows by case and kind of device."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in run.rows:
        found.setdefault((str(row["case"]), str(row["device"]) if by_kind else ""), []).append(row)
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
