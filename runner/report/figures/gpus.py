"""The figure of a sweep's GPUs: the reference case on each GPU, from the first round to the last."""

from __future__ import annotations

from collections.abc import Sequence

from runner.display.text import count, one_line
from runner.record.gpus import Gpu, gpus, short
from runner.report.figures import chart
from runner.report.figures.chart import COLOURS, PALE, Axis, Chart, Look
from runner.report.figures.figure import Figure, Results, group, rows_axis

MAX_GPUS = 32  # per model: half of them the fastest, half the slowest


def _panel(model: Sequence[Gpu]) -> chart.Panel:
    """By how much each GPU is slower than the fastest round."""
    fastest, marks, high = min(us for gpu in model for us in gpu.rounds_us), list[chart.Mark](), 0.1
    mean = Look(COLOURS[1], "D", "", size=10, hollow=True)
    first, last = Look(COLOURS[0], "o", "", hollow=True), Look(COLOURS[0], "o", "")
    for place, gpu in enumerate(model):
        above = [100 * (us / fastest - 1) for us in gpu.rounds_us]
        high = max(high, *above)
        marks += [
            chart.Line(above, [place] * len(above), Look(PALE, "|", "", size=7)),
            chart.Line([100 * (gpu.us / fastest - 1)], [place], mean, "mean"),
            chart.Line(above[:1], [place], first, "first round"),
            chart.Line(above[-1:], [place], last, "last round"),
        ]
    x = Axis("slower than the fastest round (%)", -0.04 * high, 1.05 * high)
    y = rows_axis(short(gpu.uuid) for gpu in model)
    return chart.Panel(one_line(f"{model[0].name}: {model[0].case}", 90), x, y, marks)


def figures(results: Results) -> list[Figure]:
    """Choose the figure of a run on several GPUs: a panel for each model, in it a line for each GPU and shard."""
    measured = gpus(results.run.gpus)
    if len({gpu.uuid for gpu in measured}) < 2:
        return []
    models = group(sorted(measured, key=lambda gpu: gpu.us), lambda gpu: (gpu.name, gpu.case)).values()
    half = MAX_GPUS // 2
    drawn = [model if len(model) <= MAX_GPUS else [*model[:half], *model[-half:]] for model in models]
    left_out = len(measured) - sum(map(len, drawn))
    more = f" Not drawn: {count(left_out, 'GPU')} between the fastest and the slowest." if left_out else ""
    caption = f"Each row is a GPU during its shard, each mark the median of a round.{more}"
    rows = [
        {"gpu": short(f"{gpu.name} {gpu.uuid}"), "reference case": gpu.case, "round": n, "median_us": us}
        for model in drawn
        for gpu in model
        for n, us in enumerate(gpu.rounds_us, 1)
    ]
    height, labels = 0.3 * max(map(len, drawn)) + 1.0, ("mean", "first round", "last round")
    panels = Chart(list(map(_panel, drawn)), 1, height, legend="beside", legend_labels=labels)
    return [Figure("gpus", "gpus", "The reference case on each GPU", caption, table=rows, chart=panels)]
