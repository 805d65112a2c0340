"""The ranked chart of the report's first screen as a figure of matplotlib. The page draws it in HTML."""

from __future__ import annotations

from matplotlib.figure import Figure

from runner.report.figures import drawing
from runner.report.figures.chart import (
    COLOURS,
    CRIMSON,
    INK,
    PALE,
    Axis,
    Bars,
    Chart,
    Look,
    Note,
    Panel,
    Rule,
    Whiskers,
)
from runner.report.ranked import DOUBTS, Bar, RankedChart

GREY = "#b9b9c0"
LINE = 0.36  # inches for a bar
ROOM = 1.0  # inches for the axis and the legend


def draw(ranked: RankedChart) -> Figure:
    """Draw a ranked chart, the best case on top."""
    return drawing.for_notebook(ranked.heading, as_chart(ranked))


def as_chart(ranked: RankedChart) -> Chart:
    """A ranked chart as data. Its lengths are fractions of its width, so the values stand beside the bars."""
    bars = ranked.bars
    at = [float(n) for n in range(len(bars))]
    ends = [max(bar.length, bar.high) for bar in bars]
    uncertain = [n for n, bar in enumerate(bars) if bar.high > bar.low]
    panel = Panel(
        "",
        Axis(f"{ranked.value_head} | {ranked.gain_head}", 0.0, 1.35, ticks=(), bare=True),
        Axis("", len(bars) - 0.4, -0.6, ticks=[(n, _name(bar)) for n, bar in zip(at, bars, strict=True)], bare=True),
        [
            Bars(at, [bar.length for bar in bars], [_colour(bar) for bar in bars]),
            Whiskers(
                [at[n] for n in uncertain],
                [bars[n].low for n in uncertain],
                [bars[n].high for n in uncertain],
                [INK],
                across=True,
            ),
            *(Rule(rule.at, Look(CRIMSON if rule.kind == "baseline" else PALE, dash="--"), rule.label, upright=True)
              for rule in ranked.rules),
            *(
                Note(end, n, " | ".join(filter(None, (bar.value, bar.gain))), right=6, vertical="center")
                for n, bar, end in zip(at, bars, ends, strict=True)
            ),
        ],
    )  # fmt: skip
    return Chart([panel], height=ROOM + LINE * len(bars), legend="below" if ranked.rules else "", legend_columns=1)


def _name(bar: Bar) -> str:
    return "\n".join(filter(None, (bar.name, bar.details)))


def _colour(bar: Bar) -> str:
    return GREY if bar.standing in DOUBTS else COLOURS[0]
