"""Join the cases of two runs, and combine several runs of the same sweep into one side of the comparison."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from runner.compare.runs import Row, Run, values
from runner.errors import UsageError
from runner.report.text import absent, listed, one_line
from runner.report.verdict import IDLE

LAUNCH = ("binary", "grid", "block", "shared_dynamic")  # equal wherever the same is launched, beside the parameters
MOST_VALUES = 8


@dataclass(frozen=True)
class Pair:
    """The rows of a case in two runs; empty if a run lacks the case."""

    base: Row
    other: Row

    @property
    def same_code(self) -> bool:
        """Whether both runs launched the same machine code in the same way."""
        known = self.base and self.other and not absent(self.base["binary"])
        return bool(known) and all(str(self.base[n]) == str(self.other[n]) for n in LAUNCH)


@dataclass(frozen=True)
class Joined:
    """The cases of two runs, each in the order of its table.

    Attributes:
        common: Cases that both have.
        doubtful: Cases that both have, one of them several times: timed in several ways, or on several GPUs.
        only_base: Cases that only the base has.
        only_other: Cases that only the other run has.
    """

    common: list[Pair]
    doubtful: list[Pair]
    only_base: list[Row]
    only_other: list[Row]


def join(base: Run, other: Run) -> Joined:
    """Find the cases that both runs have, and those that only one has.

    A case has its id, which covers kernel, parameters and seed, and its kind of device. If the runs have no kind of
    device in common, the id alone counts.

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


def pooled(parts: Sequence[Run]) -> Run:
    """Combine several runs of the same sweep into one. A case that failed in one of them failed.

    `A1,A2 B1,B2`, measured in the order A B B A, is free of a steady drift of the device.

    Raises:
        UsageError: if they are not runs of the same.
    """
    first, *others = parts
    rows = list(first.rows)
    for other in others:
        _refuse_other_surroundings(first, other)
        joined = join(replace(first, rows=rows), other)
        again = {id(pair.base): pair.other for pair in joined.common}
        rows = [_together(first, row, other, again[id(row)]) if id(row) in again else row for row in rows]
        rows += joined.only_other
    name = first.name if not others else f"{first.name} ({len(parts)} runs)"
    return replace(first, name=name, rows=rows)


def _keyed(run: Run, *, by_kind: bool) -> dict[tuple[str, str], list[Row]]:
    found: dict[tuple[str, str], list[Row]] = {}
    for row in run.rows:
        found.setdefault((str(row["case"]), str(row["device"]) if by_kind else ""), []).append(row)
    return found


def _nothing_in_common(base: Run, other: Run) -> str:
    apart = [n for n in base.parameters if not set(values(base.rows, n)) & set(values(other.rows, n))]
    why = f"no common {listed(apart)}" if apart else "each value occurs in both, but no case has all of them"
    sentence = f"{other.name} and {base.name} have no case in common, so there is nothing to compare: {why}."
    names = [name for name in base.parameters if any(values(run.rows, name) not in ([], [""]) for run in (base, other))]
    return "\n".join([sentence, *(f"  {run.name}: {_axes(run, names)}" for run in (base, other))])


def _axes(run: Run, names: Sequence[str]) -> str:
    axes = []
    for name in names:
        found = [one_line(value, 40) or "none" for value in values(run.rows, name)]
        more = [f"and {len(found) - MOST_VALUES} more"] if len(found) > MOST_VALUES else []
        axes.append(f"{name} {', '.join([*found[:MOST_VALUES], *more])}")
    return "; ".join(axes) if run.rows else "no cases at all"


def _refuse_other_surroundings(first: Run, other: Run) -> None:
    for kind in sorted(first.kinds & other.kinds):
        was, now = first.surroundings(kind), other.surroundings(kind)
        changed = next((name for name in (*was, *now) if was.get(name) != now.get(name)), None)
        if changed:
            was_now = f"{was.get(changed, 'not known')} and {now.get(changed, 'not known')}"
            raise _not_the_same(first, other, f"{changed.removeprefix('devices.')} is {was_now}")


def _together(first: Run, row: Row, other: Run, again: Row) -> Row:
    """Combine two rows of a case. A failed row outweighs a right row, which outweighs one that was not run."""
    if row["status"] != "ok" or again["status"] != "ok":
        return max(row, again, key=lambda r: (r["status"] not in IDLE, r["status"] != "ok"))
    changed = [name for name in LAUNCH if not absent(row[name]) and str(row[name]) != str(again[name])]
    if changed:
        what = "machine code" if changed == ["binary"] else changed[0]
        raise _not_the_same(first, other, f"{row['kernel']} (case {row['case']}) has another {what}")
    weights = [max(1, len(r["measured"])) for r in (row, again)]
    together = {
        name: statistics.fmean([row[name], again[name]], weights)
        for name in ("median_us", "q1_us", "q3_us")
        if not absent(row[name]) and not absent(again[name])
    }
    measured = (*row["measured"], *again["measured"])
    return {**row, **together, "min_us": min(row["min_us"], again["min_us"]), "measured": measured}


def _not_the_same(first: Run, other: Run, why: str) -> UsageError:
    return UsageError(f"{other.name} is not {first.name} measured again, as runs of one side must be: {why}")
