"""The tables of docs/ladder.md: one a size of a sweep, a row a step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ladder.limits import Limit
from ladder.steps import Ladder, Row, Step, Sweep, best, climbed, power, size_of
from runner.report.traffic import pair

HEADS = (
    *("step", "configuration", "us", "against the step before", "registers", "occupancy %", "KiB in flight"),
    *("sectors ld/st", "wavefronts ld/st", "GB/s", "% of peak", "% of the limit"),
)

LARGEST_BLOCK = 1024  # up to which numbers are written as such
TO_THE_HOST = "leaves partial sums to the host, whose work is not in the time"


def table(
    ladder: Ladder,
    sweep: Sweep,
    size: str,
    names: Sequence[str],
    axes: Sequence[str],
    previous: Mapping[str, str],
    most: Limit,
) -> Iterator[str]:
    """The lines of one size's table, and what must be said below it."""
    steps = climbed(sweep, size, [n for n in names if n not in ladder.copies], previous)
    copies = [(name, row) for name in ladder.copies if name in names and (row := best(sweep, name, size))]
    yield f"The limit is {most.us:,.2f} us: {most.words}.\n"
    yield f"| {' | '.join(HEADS)} |"
    yield f"|{'---|' * len(HEADS)}"
    above = ""
    for step in steps:
        star = r" \*" if step.row["finish"] == "host" else ""
        yield _line(f"[{step.kernel}](#{step.kernel.lower()}){star}", step.row, axes, _gain(step, above), most)
        above = step.kernel
    for name, row in copies:
        yield _line(f"{name} (a copy)", row, axes, "", most)
    if any(step.row["finish"] == "host" for step in steps):
        yield f"\n\\* {TO_THE_HOST}."
    there = {step.kernel for step in steps} | {name for name, _ in copies}
    if missing := [f"{name} ({_why_not(sweep, name, size)})" for name in names if name not in there]:
        yield f"\nWithout a time at this size: {'; '.join(missing)}."


def _line(name: str, row: Row, axes: Sequence[str], gain: str, most: Limit) -> str:
    flight = row["bytes_in_flight"]
    cells = (
        name,
        configuration(row, axes),
        f"{row['median_us']:,.2f}",
        gain,
        _whole(row["registers"]),
        _whole(row["occupancy_percent"]),
        _whole(flight / 1024 if flight else None),
        pair(row, "sectors ld/st"),
        pair(row, "wavefronts ld/st"),
        _whole(row["gbps"]),
        "" if row["percent_peak"] is None else f"{row['percent_peak']:.1f}",
        f"{100 * most.us / row['median_us']:.1f}",
    )
    return f"| {' | '.join(cells)} |"


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
