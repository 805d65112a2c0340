"""The tables of docs/ladder.md: at each size of a sweep one of what came out, and one of what was counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ladder.counters import NOTICED, WAITS, Counted
from ladder.limits import Limit
from ladder.steps import TO_THE_HOST, Ladder, Row, Step, Sweep, best, climbed, power, size_of
from runner.report.traffic import PAIRS

TIMES = ("step", "configuration", "us", "against the step before", "GB/s", "% of peak", "% of the limit")
CAUSES = (
    *("step", "registers", "occupancy %", "KiB in flight", "instructions an element"),
    *("sectors ld/st", "wavefronts ld/st", "L1 hits %", "a warp waits for, %"),
)

LARGEST_BLOCK = 1024  # up to which numbers are written as such


def table(
    ladder: Ladder,
    sweep: Sweep,
    size: str,
    names: Sequence[str],
    axes: Sequence[str],
    previous: Mapping[str, str],
    most: Limit,
    counted: Mapping[str, Counted],
) -> Iterator[str]:
    """The lines of one size's tables, and what must be said between them."""
    steps = climbed(sweep, size, [n for n in names if n not in ladder.copies], previous)
    copies = [(name, row) for name in ladder.copies if name in names and (row := best(sweep, name, size))]
    yield f"The limit is {most.us:,.2f} us: {most.words}.\n"
    yield from _lines(TIMES, _times(steps, copies, axes, most))
    if any(step.row["finish"] == "host" for step in steps):
        yield f"\n\\* {TO_THE_HOST}."
    there = {step.kernel for step in steps} | {name for name, _ in copies}
    if missing := [f"{name} ({_why_not(sweep, name, size)})" for name in names if name not in there]:
        yield f"\nWithout a time at this size: {'; '.join(missing)}."
    yield "\nWhat the GPU counted in one launch of each:\n"
    rows = [*((step.kernel, step.row) for step in steps), *copies]
    yield from _lines(CAUSES, [_causes(name, row, counted[row["case"]]) for name, row in rows])


def _lines(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table, without the columns in which no row has anything."""
    kept = [at for at, _ in enumerate(heads) if any(row[at] for row in rows)]
    yield f"| {' | '.join(heads[at] for at in kept)} |"
    yield f"|{'---|' * len(kept)}"
    yield from (f"| {' | '.join(row[at] for at in kept)} |" for row in rows)


def _times(
    steps: Sequence[Step], copies: Sequence[tuple[str, Row]], axes: Sequence[str], most: Limit
) -> list[tuple[str, ...]]:
    rows, above = [], ""
    for step in steps:
        star = r" \*" if step.row["finish"] == "host" else ""
        rows.append((f"[{step.kernel}](#{step.kernel.lower()}){star}", step.row, _gain(step, above)))
        above = step.kernel
    rows += [(f"{name} (a copy)", row, "") for name, row in copies]
    return [
        (
            name,
            configuration(row, axes),
            f"{row['median_us']:,.2f}",
            gain,
            _whole(row["gbps"]),
            "" if row["percent_peak"] is None else f"{row['percent_peak']:.1f}",
            f"{100 * most.us / row['median_us']:.1f}",
        )
        for name, row, gain in rows
    ]


def _causes(name: str, row: Row, counted: Counted) -> tuple[str, ...]:
    flight = row["bytes_in_flight"]
    return (
        name,
        _whole(row["registers"]),
        _whole(row["occupancy_percent"]),
        _whole(flight / 1024 if flight else None),
        f"{counted.instructions / row['size']:.1f}",
        *(_loads_and_stores(counted, PAIRS[head]) for head in ("sectors ld/st", "wavefronts ld/st")),
        _whole(100 * counted.l1_hits if counted.l1_hits and counted.l1_hits >= NOTICED else None),
        ", ".join(f"{what} {100 * counted.waits[what]:.0f}" for what in WAITS if counted.waits[what] >= NOTICED),
    )


def _loads_and_stores(counted: Counted, columns: Iterable[str]) -> str:
    """`4/1`; a dash for what the kernel does not do, empty where it does neither."""
    values = [counted.requests[column] for column in columns]
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
