"""The ranked chart of the report's first screen as a figure of matplotlib. The page draws it in HTML."""

from __future__ import annotations

import itertools

from matplotlib.figure import Figure

from runner.report.figures import drawing
from runner.report.figures.chart import (
    COLOURS,
    CRIMSON,
    DASHES,
    INK,
    PALE,
    Axis,
    Bars,
    Chart,
    Look,
    Mark,
    Note,
    Panel,
    Rule,
    Whiskers,
)
from runner.report.ranked import DOUBTS, Bar, RankedChart

GREY = "#b9b9c0"
LINE = 0.36  # inches for a bar
ROOM = 1.0  # inches for the axis and the legend
WORDS = 1.35  # the axis ends there: the words beside the longest bar need room


def draw(ranked: RankedChart) -> Figure:
    """Draw a ranked chart, the best case on top."""
    return drawing.for_notebook(ranked.heading, as_chart(ranked))


def as_chart(ranked: RankedChart) -> Chart:
    """A ranked chart as data. Its lengths are fractions of its width, so the values stand beside the bars."""
    bars = ranked.bars
    at = [float(n) for n in range(len(bars))]
    ends = [max(bar.length, bar.high) for bar in bars]
    uncertain = [n for n, bar in enumerate(bars) if bar.high > bar.low]
    marks: list[Mark] = [Bars(at, [bar.length for bar in bars], [_colour(bar) for bar in bars])]
    whiskers = [bars[n] for n in uncertain]
    lows, highs = [bar.low for bar in whiskers], [bar.high for bar in whiskers]
    marks.append(Whiskers([at[n] for n in uncertain], lows, highs, [INK], across=True))
    for rule, dash in zip(ranked.rules, itertools.cycle(DASHES[1:])):
        look = Look(CRIMSON if rule.kind == "baseline" else PALE, dash=dash)
        marks.append(Rule(rule.at, look, rule.label, upright=True))
    for place, bar, end in zip(at, bars, ends, strict=True):
        marks.append(Note(end, place, " | ".join(filter(None, (bar.value, bar.gain))), right=6))
    heads = " | ".join(filter(None, (ranked.value_head, ranked.gain_head)))
    names = [(place, _name(bar)) for place, bar in zip(at, bars, strict=True)]
    x = Axis(heads, 0.0, WORDS, ticks=(), bare=True)
    panel = Panel("", x, Axis("", len(bars) - 0.4, -0.6, ticks=names, bare=True), marks)
    return Chart([panel], height=ROOM + LINE * len(bars), legend="below" if ranked.rules else "", legend_columns=1)


def _name(bar: Bar) -> str:
    return "\n".join(filter(None, (bar.name, bar.details)))


def _colour(bar: Bar) -> str:
    return GREY if bar.standing in DOUBTS else COLOURS[0]
