"""The tables of docs/ladder.md: at each size of a sweep one of what came out, and one of what was counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ladder.counters import NOTICED, WAITS, Counted
from ladder.limits import Limit
from ladder.steps import TO_THE_HOST, Row, Step, Sweep, power, size_of
from runner.report.text import PAIRS

TIMES = ("step", "configuration", "us", "against the step before", "GB/s", "% of the limit")
REQUESTED = ("sectors ld/st", "wavefronts ld/st")
WAITING = "a warp waits for, %"
CAUSES = (
    *("step", "registers", "occupancy %", "KiB in flight", "instructions an element"),
    *(*REQUESTED, "L1 hits %", WAITING),
)

LARGEST_BLOCK = 1024  # up to which numbers are written as such


@dataclass(frozen=True)
class Climb:
    """A ladder at one size of a sweep.

    Attributes:
        sweep: Where it was measured.
        size: As `size_of` writes it.
        steps: Those that have a time there.
        copies: Beside them, by name.
        limit: Of all.
    """

    sweep: Sweep
    size: str
    steps: Sequence[Step]
    copies: Sequence[tuple[str, Row]]
    limit: Limit

    @property
    def rows(self) -> list[tuple[str, Row]]:
        """Steps, then copies."""
        return [*((step.kernel, step.row) for step in self.steps), *self.copies]


def times(climb: Climb, axes: Sequence[str]) -> Iterator[str]:
    """What came out: the lines of a table, and what the star in it means."""
    yield f"The limit is {climb.limit.us:,.2f} us: {climb.limit.words}.\n"
    rows, above = [], ""
    for step in climb.steps:
        star = "" if step.whole else r" \*"
        rows.append((f"[{step.kernel}](#{step.kernel.lower()}){star}", step.row, _gain(step, above)))
        above = step.kernel
    rows += [(f"{name} (a copy)", row, "") for name, row in climb.copies]
    yield from _lines(
        TIMES,
        [
            (
                name,
                configuration(row, axes),
                f"{row['median_us']:,.2f}",
                gain,
                _whole(row["gbps"]),
                f"{100 * climb.limit.us / row['median_us']:.1f}",
            )
            for name, row, gain in rows
        ],
    )
    if not all(step.whole for step in climb.steps):
        yield f"\n\\* {TO_THE_HOST}."


def missing(climb: Climb, names: Sequence[str]) -> Iterator[str]:
    """Which of the ladder's kernels have no time there, and why."""
    there = {name for name, _ in climb.rows}
    if told := [f"{name} ({_why_not(climb.sweep, name, climb.size)})" for name in names if name not in there]:
        yield f"\nWithout a time at this size: {'; '.join(told)}."


def causes(climb: Climb, counted: Mapping[str, Counted]) -> Iterator[str]:
    """What the steps did: the lines of a table."""
    told = [(name, *cells(row, counted[row["case"]]).values()) for name, row in climb.rows]
    yield from _lines(CAUSES, told)


def cells(row: Row, counted: Counted) -> dict[str, str]:
    """What a case did, by the heads of the table, without the step's name."""
    flight = row["bytes_in_flight"]
    told = (
        _whole(row["registers"]),
        _whole(row["occupancy_percent"]),
        _whole(flight / 1024 if flight else None),
        f"{counted.instructions / row['size']:.1f}",
        *(_loads_and_stores([counted.requests[name] for name in PAIRS[head]]) for head in REQUESTED),
        _whole(None if counted.l1_hits is None else 100 * counted.l1_hits),
        ", ".join(f"{what} {100 * counted.waits[what]:.0f}" for what in WAITS if counted.waits[what] >= NOTICED),
    )
    return dict(zip(CAUSES[1:], told, strict=True))


def _lines(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table, without the columns in which no row has anything."""
    kept = [at for at, _ in enumerate(heads) if any(row[at] for row in rows)]
    yield f"| {' | '.join(heads[at] for at in kept)} |"
    yield f"|{'---|' * len(kept)}"
    yield from (f"| {' | '.join(row[at] for at in kept)} |" for row in rows)


def _loads_and_stores(values: Sequence[float | None]) -> str:
    """`4/1`; a dash for what the kernel does not do, empty where it does neither."""
    return "" if values == [None, None] else "/".join("–" if v is None else f"{v:.3g}" for v in values)  # noqa: RUF001


def _gain(step: Step, above: str) -> str:
    """How many times as fast; with the name of what it is against, where that is not the row above."""
    if step.gain is None or step.against is None:
        return ""
    before = step.against["kernel"]
    return f"{step.gain:.3f}x" + (f" {before}'s" if before != above else "")


def configuration(row: Row, axes: Sequence[str]) -> str:
    """What the kernel reads of the swept parameters: `block 256, unroll 8`."""
    return ", ".join(f"{name} {_written(str(row[name]))}" for name in axes if row.get(name) not in (None, ""))


def _written(text: str) -> str:
    return power(int(text)) if text.isdecimal() and int(text) > LARGEST_BLOCK else text


def _whole(number: float | None) -> str:
    return "" if number is None else f"{number:,.0f}"


def _why_not(sweep: Sweep, name: str, size: str) -> str:
    """The reason that is most its own: one that other kernels of the sweep share tells less."""
    of_size = [r for r in sweep.rows if r["kernel"] == name and size_of(r) == size and r["reason"]]
    heard = Counter(_beginning(r["reason"]) for r in sweep.rows if r["reason"])
    row = min(of_size, key=lambda r: heard[_beginning(r["reason"])], default=None)
    return f"{row['status']}: {row['reason']}" if row else "no case of it in the sweep"


def _beginning(reason: str) -> str:
    """A reason without the values behind it."""
    return reason.partition(" (")[0]
