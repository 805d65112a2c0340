"""The figure of a sweep's GPUs: the reference case on each GPU, from the first round to the last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runner.display.text import count, one_line
from runner.record.gpus import Gpu, gpus, short
from runner.report.figures.figure import COLOURS, PALE, Figure, Results, Row, plain, sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

MOST = 32  # GPUs per model: half of them the fastest, half the slowest


@dataclass(frozen=True)
class Reference(Figure):
    """How much slower each round is than the fastest: one panel per GPU model, one line per GPU and shard."""

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

    def draw(self) -> Drawing:
        """Draw the panels below one another."""
        most = max(len(model) for model in self.models)
        figure, every = sheet(self.title, len(self.models), 1, 0.3 * most + 1.0)
        for axes, model in zip(every, self.models, strict=True):
            least = min(us for gpu in model for us in gpu.rounds_us)
            for place, gpu in enumerate(model):
                above = [100 * (us / least - 1) for us in gpu.rounds_us]
                axes.plot(above, [place] * len(above), "|", color=PALE, markersize=7)
                mean: dict[str, Any] = {
                    "color": COLOURS[1],
                    "markerfacecolor": "white",
                    "markersize": 10,
                    "label": "mean",
                }
                axes.plot(100 * (gpu.us / least - 1), place, "D", **mean)
                axes.plot(above[:1], [place], "o", color=COLOURS[0], markerfacecolor="white", label="first round")
                axes.plot(above[-1:], [place], "o", color=COLOURS[0], label="last round")
            axes.set_title(one_line(f"{model[0].name}: {model[0].case}", 90))
            axes.set_yticks(range(len(model)), [short(gpu.uuid) for gpu in model])
            axes.set_ylim(len(model) - 0.4, -0.6)
            axes.set_xlim(left=-0.04 * max(axes.get_xlim()[1], 0.1))
            axes.xaxis.set_major_formatter(plain)
            axes.set_xlabel("slower than the fastest round (%)")
            axes.grid(visible=False, axis="y")
        handles, labels = every[0].get_legend_handles_labels()
        figure.legend(handles[:3], labels[:3], loc="outside right upper")
        return figure


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
