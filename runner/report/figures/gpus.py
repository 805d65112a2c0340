"""The figure of a sweep's GPUs: the reference case on each GPU, from the first round to the last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runner.display.text import count, one_line
from runner.record.gpus import Gpu, gpus, short
from runner.report.figures import chart
from runner.report.figures.chart import COLOURS, PALE, Axis, Chart, Look
from runner.report.figures.figure import ChartFigure, Results, Row

MOST = 32  # GPUs per model: half of them the fastest, half the slowest


@dataclass(frozen=True)
class Reference(ChartFigure):
    """A panel for each model, in it a line for each GPU and shard, by how much slower it is than the fastest round."""

    section = "gpus"
    models: list[list[Gpu]]

    def rows(self) -> list[Row]:
        """One row per round."""
        return [
            {"gpu": short(f"{gpu.name} {gpu.uuid}"), "reference case": gpu.case, "round": n, "median_us": us}
            for model in self.models
            for gpu in model
            for n, us in enumerate(gpu.rounds_us, 1)
        ]

    def as_chart(self) -> Chart:
        """The panels below one another."""
        most = max(len(model) for model in self.models)
        labels = ("mean", "first round", "last round")
        return Chart([_panel(m) for m in self.models], 1, 0.3 * most + 1.0, legend="beside", legend_labels=labels)


def _panel(model: Sequence[Gpu]) -> chart.Panel:
    least, marks, most = min(us for gpu in model for us in gpu.rounds_us), list[chart.Mark](), 0.1
    for place, gpu in enumerate(model):
        above = [100 * (us / least - 1) for us in gpu.rounds_us]
        most = max(most, *above)
        mean = Look(COLOURS[1], "D", "", size=10, hollow=True)
        first, last = Look(COLOURS[0], "o", "", hollow=True), Look(COLOURS[0], "o", "")
        marks += [
            chart.Line(above, [place] * len(above), Look(PALE, "|", "", size=7)),
            chart.Line([100 * (gpu.us / least - 1)], [place], mean, "mean"),
            chart.Line(above[:1], [place], first, "first round"),
            chart.Line(above[-1:], [place], last, "last round"),
        ]
    names = [(place, short(gpu.uuid)) for place, gpu in enumerate(model)]
    x = Axis("slower than the fastest round (%)", -0.04 * most, 1.05 * most)
    y = Axis("", len(model) - 0.4, -0.6, ticks=names, bare=True)
    return chart.Panel(one_line(f"{model[0].name}: {model[0].case}", 90), x, y, marks)


def figures(results: Results) -> list[Reference]:
    """Choose the figure of a run on several GPUs."""
    found = gpus(results.run.gpus)
    if len({gpu.uuid for gpu in found}) < 2:
        return []
    models: dict[tuple[str, str], list[Gpu]] = {}
    for gpu in sorted(found, key=lambda gpu: gpu.us):
        models.setdefault((gpu.name, gpu.case), []).append(gpu)
    drawn = [own if len(own) <= MOST else [*own[: MOST // 2], *own[-MOST // 2 :]] for own in models.values()]
    left = len(found) - sum(map(len, drawn))
    notes = f" Not drawn: {count(left, 'GPU')} between the fastest and the slowest." if left else ""
    caption = f"Each row is a GPU during its shard, each mark the median of a round.{notes}"
    return [Reference("gpus", "The reference case on each GPU", caption, drawn)]
