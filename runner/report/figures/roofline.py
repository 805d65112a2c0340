"""The roofline of each GPU and precision: the performance of cases, and the limits of memory and arithmetic.

Williams, Waterman, Patterson: Roofline, an insightful visual performance model. CACM 52 (2009).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runner.display.text import absent, count, one_line, rough, sentences, slug
from runner.record.runs import section
from runner.report import profiled
from runner.report.figures import chart
from runner.report.figures.chart import PALE, Axis, Chart, Look
from runner.report.figures.figure import Figure, Results, Row
from runner.stages.profile import ceilings, counters

MAX_NAMES = 12
DASHED = (0, (4, 3))
PRECISION = {"float16x2": "float16", "bfloat16x2": "bfloat16", "uint32": "int32"}
"""By dtype: the precision whose ceiling applies."""


@dataclass(frozen=True)
class RooflinePoint:
    """A case in the roofline."""

    row: Row
    intensity: float  # operations per byte of DRAM traffic
    gflops: float  # 1e9 operations per second
    counted: bool  # whether the hardware counted operations and bytes, instead of the YAML declaring them


@dataclass(frozen=True)
class Roof:
    """The ceilings of a GPU in one precision."""

    gbps: float  # DRAM bandwidth in GB/s
    gflops: float | None  # 1e9 operations per second; None if unknown

    def at(self, intensity: float) -> float:
        """The highest performance at an intensity (operations per byte), in 1e9 operations per second."""
        return min(self.gbps * intensity, math.inf if self.gflops is None else self.gflops)


def figures(results: Results) -> list[Figure]:
    """Choose a figure for each GPU and precision with measured ceilings."""
    counted = {row["row"]: record for row, record in profiled.cases(results.run, counters.NAME)}
    groups: dict[tuple[str, str], tuple[list[RooflinePoint], dict[str, Any]]] = {}
    for row, record in profiled.cases(results.run, ceilings.NAME):
        precision = PRECISION.get(str(row["dtype"]), str(row["dtype"]) or "int32")
        values = profiled.numbers(section(counted.get(row["row"], {}), "metrics"))
        if point := _point(row, values, precision):
            groups.setdefault((str(row["gpu"]), precision), ([], section(record, "ceilings")))[0].append(point)
    several, chosen = len({gpu for gpu, _ in groups}) > 1, []
    for (gpu, precision), (points, known) in groups.items():
        gbps, gflops = profiled.numbers(known.get("gbps")), section(known, "gflops")
        roofs = {
            word: Roof(gbps[word], profiled.numbers(gflops.get(word)).get(precision))
            for word in ("measured", "theoretical")
            if gbps.get(word)
        }
        if "measured" in roofs:
            title = f"Roofline, {precision}{f', {one_line(gpu, 40)}' if several else ''}"
            caption = _caption(points, precision, roofs["measured"])
            rows = [
                {
                    **results.identity(point.row),
                    "operations_per_byte": point.intensity,
                    "gflops": point.gflops,
                    "reachable_gflops": roofs["measured"].at(point.intensity),
                    "from": "counted" if point.counted else "declared",
                }
                for point in points
            ]
            picture = _chart(points, roofs, results.looks)
            stem = f"roofline-{slug(precision)}"
            chosen.append(Figure("why", stem, title, caption, table=rows, chart=picture))
    return chosen


def _chart(points: list[RooflinePoint], roofs: dict[str, Roof], looks: Mapping[str, Look]) -> Chart:
    """The roofs, and the cases below them; of each kernel the fastest has its name."""
    measured, theoretical = roofs["measured"], roofs.get("theoretical")
    ridge = (measured.gflops or 0) / measured.gbps
    intensities = [*(point.intensity for point in points), *([ridge] if ridge else [])]
    low, high = min(intensities) / 3, max(intensities) * 3
    marks = [_roof(theoretical, low, high, Look(PALE, dash=DASHED, width=1.0))] if theoretical else []
    marks.append(_roof(measured, low, high, Look(PALE, width=1.8)))
    for point in points:
        kernel = looks[str(point.row["kernel"])]
        look = Look(kernel.colour, kernel.marker or "o", "", hollow=point.counted)
        marks.append(chart.Line([point.intensity], [point.gflops], look))
    end = 2.2 * max(roof.at(high) for roof in roofs.values())
    x = Axis("operations per byte of DRAM", low, high, log=True)
    y = Axis("operations per second, 10^9", min(point.gflops for point in points) / 2.5, end, log=True)
    return Chart([chart.Panel("", x, y, [*marks, *_names(points, looks), _ceilings(roofs)])], 1, 4.2)


def _names(points: list[RooflinePoint], looks: Mapping[str, Look]) -> Iterator[chart.Note]:
    """The names of the kernels, one below the other where their points are near each other."""
    fastest: dict[str, RooflinePoint] = {}
    for point in sorted(points, key=lambda point: -point.gflops):
        fastest.setdefault(str(point.row["kernel"]), point)
    last: dict[int, float] = {}  # the lowest name so far, by place
    for kernel, point in list(fastest.items())[:MAX_NAMES]:
        place = round(math.log2(point.intensity))
        wanted = math.log10(point.gflops)
        y = min(wanted, min(last.get(place + n, math.inf) for n in (-1, 0, 1)) - 0.085)
        last[place] = y
        colour, target = looks[kernel].colour, (point.intensity * 1.12, 10**y)
        leader, name = y < wanted - 0.05, one_line(kernel, 30)
        yield chart.Note(point.intensity, point.gflops, name, colour=colour, size=8, target=target, leader=leader)


def _ceilings(roofs: dict[str, Roof]) -> chart.Note:
    """The numbers of the roofs, in the corner that no case reaches."""
    gbps = [f"{rough(roof.gbps)} {word}" for word, roof in roofs.items()]
    gflops = [f"{rough(roof.gflops)} {word}" for word, roof in roofs.items() if roof.gflops]
    lines = [f"DRAM, GB/s: {', '.join(gbps)}"]
    lines += [f"multiply-adds, 10^9 operations/s: {', '.join(gflops)}"] if gflops else []
    return chart.Note(0.012, 0.985, "\n".join(lines), colour=PALE, size=8, vertical="top", pin="corner")


def _point(row: Row, values: dict[str, float], precision: str) -> RooflinePoint | None:
    """Locate a case by the YAML's declared operations and bytes, else by counted ones; `None` if both are unknown."""
    declared = [row["operations"], row["bytes_read"], row["bytes_written"]]
    moved = sum(float(n) for n in declared[1:] if not absent(n))
    operations, by_hardware = (0.0 if absent(declared[0]) else float(declared[0])), False
    if not operations or not moved:
        operations = counters.operations(values, precision) or 0.0
        moved = values.get("dram__bytes_read.sum", 0.0) + values.get("dram__bytes_write.sum", 0.0)
        by_hardware = True
    if not operations or not moved:
        return None
    return RooflinePoint(row, operations / moved, operations / row["median_us"] / 1e3, by_hardware)


def _caption(points: list[RooflinePoint], precision: str, roof: Roof) -> str:
    hollow = count(sum(point.counted for point in points), "case")
    return sentences(
        "Solid: measured in this sweep, with a copy and with a kernel that only multiplies and adds.",
        "Dashed: theoretical, from bus width, clock, and multiply-adds per clock (CUDA C++ Programming Guide).",
        f"There is no ceiling for {precision} arithmetic." if roof.gflops is None else "",
        f"Hollow: {hollow} with counted operations and bytes."
        if any(point.counted for point in points)
        else "Operations and bytes as declared.",
        "The fastest case of each kernel has a label.",
    )


def _roof(roof: Roof, low: float, high: float, look: Look) -> chart.Line:
    corner = [roof.gflops / roof.gbps] if roof.gflops and low < roof.gflops / roof.gbps < high else []
    xs = [low, *corner, high]
    return chart.Line(xs, [roof.at(x) for x in xs], look)
