"""The figure of stalls: what the warps of a case waited for, one bar per case."""

from __future__ import annotations

from runner.display.text import count, described, one_line
from runner.report import profiled
from runner.report.figures import chart
from runner.report.figures.chart import COLOURS, INK, Axis, Chart
from runner.report.figures.figure import Figure, Results, rows_axis
from runner.stages.profile.counters import NAME, STALLS, stalls

MAX_BARS, MAX_REASONS = 24, 7
MIN_NUMBERED = 7.0  # percent of a bar; narrower parts have no number
OTHERS, GREY = "others", "#b8b8bf"
LIGHT_COLOURS = ("#e69f00", "#56b4e9", "#cc79a7", GREY)  # on which text is black


def figures(results: Results) -> list[Figure]:
    """Choose the figure of a run with ncu's counters: a bar for each case, with the shares of the reasons."""
    names = [name for name in results.run.varying if name not in ("dtype", "seed", "device")]
    bars = [
        (row, described(row, names), shares)
        for row, record in profiled.cases(results.run, NAME)
        if (shares := dict(stalls(profiled.numbers(record.get("metrics")))))
    ]
    if not bars:
        return []
    # The largest size on top, and of each size the fastest case first.
    bars.sort(key=lambda bar: (-(bar[0]["size"] if isinstance(bar[0]["size"], int) else 0), bar[0]["median_us"]))
    drawn, left_out = bars[:MAX_BARS], len(bars) - MAX_BARS
    sums = {reason: sum(shares.get(reason, 0.0) for _, _, shares in drawn) for reason in STALLS}
    reasons = sorted(filter(sums.get, sums), key=lambda reason: -sums[reason])[:MAX_REASONS]
    words = "; ".join(f"{reason}: {STALLS[reason]}" for reason in reasons)
    more = f" Not drawn: {count(left_out, 'case')} of smaller sizes, or slower." if left_out > 0 else ""
    caption = f"What active warps waited for, counted by Nsight Compute. {words}.{more}"
    rows = [{**results.identity(row), **shares} for row, _, shares in drawn]
    y = rows_axis(one_line(name, 44) for _, name, _ in drawn)
    marks = _bars([shares for *_, shares in drawn], reasons)
    panel = chart.Panel("", Axis("% of the time of active warps", 0, 100), y, marks)
    picture = Chart([panel], 1, 1.1 + 0.27 * len(drawn), legend="left")
    return [Figure("why", "stalls", "Where the time goes", caption, table=rows, chart=picture)]


def _bars(cases: list[dict[str, float]], reasons: list[str]) -> list[chart.Mark]:
    left, marks, places = [0.0] * len(cases), list[chart.Mark](), range(len(cases))
    others = [1 - sum(shares.get(reason, 0.0) for reason in reasons) for shares in cases]
    for reason, colour in zip([*reasons, OTHERS], [*COLOURS[: len(reasons)], GREY], strict=True):
        shown = others if reason == OTHERS else [shares.get(reason, 0.0) for shares in cases]
        widths = [100 * share for share in shown]
        marks.append(chart.Bars(places, widths, [colour], left, label=reason))
        ink = INK if colour in LIGHT_COLOURS else "white"
        marks += [
            chart.Note(start + width / 2, place, f"{width:.0f}", colour=ink, size=8, align="center")
            for place, width, start in zip(places, widths, left, strict=True)
            if width >= MIN_NUMBERED
        ]
        left = [start + width for start, width in zip(left, widths, strict=True)]
    return marks
