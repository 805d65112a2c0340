"""The figure of raw samples: the cases with the widest spread, in measurement order, with their distribution."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from runner.display.text import absent, count, described, exact, listed, sentences, slug
from runner.record import samples
from runner.record.folder import RunFolder
from runner.report.figures import chart
from runner.report.figures.chart import COLOURS, CRIMSON, INK, MARKERS, PALE, Axis, Chart, Look
from runner.report.figures.figure import Figure, Results, Row
from runner.statistics import Samples

WIDE_QUARTILES_PERCENT, WIDE_ROUNDS_PERCENT = 5.0, 2.0
"""A spread above one of these is wide: of the quartiles, in percent of the median, and of the rounds."""

MAX_CASES, MIN_SAMPLES = 4, 10

MAX_POINTS, FAR_IQR = 250, 8
"""Most samples drawn as points; a sample more interquartile ranges above q3 than this is drawn at the edge."""


@dataclass(frozen=True)
class RawSamples(Figure):
    """All samples of a case, in the order of taking."""

    samples: Samples

    def rows(self) -> list[Row]:
        """One row per sample. They are made when the figure is drawn, since there may be millions."""
        names = ("sample", *(self.samples.dtype.names or ()))
        return [dict(zip(names, (n, *sample), strict=True)) for n, sample in enumerate(self.samples.tolist())]


def figures(results: Results) -> list[Figure]:
    """Choose the cases with the widest spread whose samples can be read, the widest first."""
    wide = sorted((row for row in results.run.measured.rows if _width(row) > 1), key=_width, reverse=True)
    readable = ((row, taken) for row in wide if (taken := _read(results.run.folder, row)) is not None)
    first = enumerate(itertools.islice(readable, MAX_CASES), 1)
    return [_figure(row, taken, results.run.varying, place, len(wide)) for place, (row, taken) in first]


def _spreads(row: Row) -> tuple[float, float]:
    """The spread of the quartiles and of the rounds, in percent of the median; 0 if unknown."""
    rounds, known = row["round_spread_percent"], not absent(row["q1_us"]) and not absent(row["q3_us"])
    quartiles = 100 * float(row["q3_us"] - row["q1_us"]) / float(row["median_us"]) if known else 0.0
    return quartiles, 0.0 if absent(rounds) else float(rounds)


def _width(row: Row) -> float:
    quartiles, rounds = _spreads(row)
    return max(quartiles / WIDE_QUARTILES_PERCENT, rounds / WIDE_ROUNDS_PERCENT)


def _read(folder: RunFolder, row: Row) -> Samples | None:
    """Read the samples of a case; `None` if they are missing, torn, too few, or of another version."""
    job = str(row.get("job", ""))
    if not job.isdecimal() or slug(str(row["case"])) != row["case"]:
        return None
    taken = samples.read(folder, folder.samples(row["case"], int(job)))
    return taken if taken is not None and len(taken) >= MIN_SAMPLES else None


def _figure(row: Row, taken: Samples, names: list[str], place: int, wide: int) -> Figure:
    us, throttled = taken["us"], int(taken["throttled"].sum())
    high = _upper_end(us)  # samples beyond it are drawn at the edge
    far = us[us > high]
    evenly = np.linspace(0, len(us) - 1, min(MAX_POINTS, len(us))).round().astype(np.int64)
    shown = np.union1d(evenly, np.flatnonzero((us > high) | taken["throttled"])[:MAX_POINTS])
    quartiles, rounds = _spreads(row)
    reasons = [f"quartiles {quartiles:.1f} % of the median apart"] * (quartiles > WIDE_QUARTILES_PERCENT)
    reasons += [f"rounds differ by {rounds:.1f} %"] * (rounds > WIDE_ROUNDS_PERCENT)
    drawn = f"; {MAX_CASES} are drawn" if wide > MAX_CASES else ""
    longest = f"the longest {exact(far.max())} µs" if len(far) else ""
    caption = sentences(
        f"Wide spread: {listed(reasons)}.",
        f"{count(len(taken), 'sample')}.",
        f"Points: {len(shown):,} of them, evenly picked; the histogram counts all." if len(shown) < len(us) else "",
        f"Crosses: {count(throttled, 'sample')} of a throttled GPU." if throttled else "",
        f"Triangles at the upper edge: {count(len(far), 'sample')} further up, {longest}." if longest else "",
        f"Number {place} of {wide:,} such cases, the widest first{drawn}." if wide > 1 else "",
    )
    stem, title = f"samples-{row['case']}-{row['job']}", f"Samples of {described(row, names)}"
    return RawSamples("raw", stem, title, caption, taken, chart=_chart(row, taken, high, shown))


def _chart(row: Row, taken: Samples, high: float, shown: NDArray[np.int64]) -> Chart:
    """The samples, and their distribution beside them on the same scale."""
    us = taken["us"]
    low = us.min() - (high - us.min()) * 0.04
    counts, edges = np.histogram(us[us <= high], bins=24, range=(low, high))
    known = {name: row[f"{name}_us"] for name in ("q1", "median", "q3") if not absent(row[f"{name}_us"])}
    quartiles = [chart.Shade(known["q1"], known["q3"], COLOURS[0])] if len(known) == 3 else []
    median = chart.Rule(row["median_us"], Look(INK, width=1.2))
    x, beside = Axis("sample, in the order of taking", -0.01 * len(us), 1.01 * len(us)), 1.05 * max(counts)
    y = Axis("µs of one launch", low, high, max_ticks=6)
    histogram = chart.Histogram(counts.tolist(), edges.tolist(), "#8a8a8a")
    title = "\n".join(f"{name} {exact(value)} µs" for name, value in known.items())
    marks: list[chart.Mark] = [*quartiles, histogram, median]
    end = Axis("samples", 0, beside, max_ticks=3)
    panels = [
        chart.Panel("", x, y, [*quartiles, *_points(taken, high, shown), median]),
        chart.Panel(title, end, replace(y, label=""), marks),
    ]
    return Chart(panels, 2, 3.2, share_y=True, widths=(4, 1))


def _points(taken: Samples, high: float, shown: NDArray[np.int64]) -> Iterator[chart.Mark]:
    """The samples, with a colour, a marker and a number for each round.

    Samples of a throttled GPU are crosses; outliers are triangles at the edge.
    """
    numbers, points = np.unique(taken["round"]), taken[shown]
    clipped, throttled, far = np.minimum(points["us"], high), points["throttled"], points["us"] > high

    def line(which: NDArray[np.bool_], look: Look, *, beyond: bool = False) -> chart.Line:
        return chart.Line(shown[which].tolist(), clipped[which].tolist(), look, beyond=beyond)

    for place, number in enumerate(numbers):
        look = Look(COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)], "", size=3)
        yield line(~throttled & ~far & (points["round"] == number), look)
        places = np.flatnonzero(taken["round"] == number)
        if place and len(numbers) <= 40:
            yield chart.Rule(places[0] - 0.5, Look("#bdbdc4", width=0.7), upright=True)
        if len(numbers) > 1 and place % (1 + len(numbers) // 11) == 0:
            word = f"round {number}" if len(numbers) < 7 else str(number)
            yield chart.Note(float(places.mean()), high, word, 0, -7, PALE, 7.5, "center", "top")
    yield line(throttled, Look(CRIMSON, "x", ""))
    yield line(far & ~throttled, Look(INK, "^", ""), beyond=True)


def _upper_end(us: NDArray[np.float64]) -> float:
    """The upper end of the axis in µs: above all samples except outliers."""
    q1, q3 = np.percentile(us, [25, 75])
    far = float(q3 + FAR_IQR * (q3 - q1)) if q3 > q1 else float(us.max())
    low, high = float(us.min()), float(us[us <= far].max())
    return high + 0.14 * (high - low or high)  # room for the names of the rounds
