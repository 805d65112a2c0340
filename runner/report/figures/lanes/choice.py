"""Which lane pictures a run gets, and which of its cases are their steps. Pure: no drawing here.

A kernel of several cases has a figure, one step a case: a butterfly, a tree, a scan. Kernels of one or two cases stand
together in one figure, a tour.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from runner.report.figures.lanes.layout import chunks
from runner.report.figures.lanes.steps import TOLD, Step, read
from runner.report.table import records
from runner.report.text import count, listed, one_line, slug

MOST_STEPS, MOST_LINES = 8, 18
FEW, MOST_TOUR = 2, 10
"""A kernel with more than FEW steps has a figure of its own; a tour of more than MOST_TOUR would be no picture."""


@dataclass(frozen=True)
class LanePlot:
    """One figure of steps.

    Attributes:
        stem: the file's name without its ending.
        title: what is shown.
        steps: from top to bottom, in the order of the run.
        differing: the words of `TOLD` that tell the steps apart.
        tour: whether the steps are those of several kernels.
        notes: what is the same in all steps, and what is not drawn.
    """

    stem: str
    title: str
    steps: tuple[Step, ...]
    differing: tuple[str, ...]
    tour: bool
    notes: str

    @property
    def place(self) -> Literal["lanes"]:
        """The part of the page that it belongs to."""
        return "lanes"

    @property
    def emulated(self) -> bool:
        """No: which lane was read is as true on the CPU device as on a GPU."""
        return False

    @property
    def reading(self) -> str:
        """The figure in words, for those who cannot see it."""
        told = [f"{step.kernel} {step.name}{''.join(f'; {words}' for words in remarks(step))}" for step in self.steps]
        return f"{self.notes} Steps: {', '.join(told)}. results.csv has every map, in the column received."


def lane_plots(frame: pd.DataFrame) -> list[LanePlot]:
    """The lane pictures of a run, in its order."""
    if "received" not in frame.columns or not (frame["received"] != "").any():
        return []
    steps = [step for row in records(frame[frame["received"] != ""]) if (step := read(row))]
    devices = list(dict.fromkeys(step.device for step in steps))
    plots = []
    for device in devices:
        suffix = f"-{slug(device)}" if len(devices) > 1 else ""
        plots += _of_device([step for step in steps if step.device == device], suffix)
    return plots


def stacked(rows: Iterable[Mapping[str, Any]], title: str = "") -> LanePlot:
    """All given rows in one figure, whatever their kernels.

    Raises:
        ValueError: if none of the rows holds a measured map.
    """
    steps = [step for number, row in enumerate(rows) if (step := read(row, number))]
    if not steps:
        raise ValueError("none of the rows has a shuffle and what each element received")
    plot = _plot(steps, "lanes")
    return LanePlot(plot.stem, title or plot.title, plot.steps, plot.differing, plot.tour, plot.notes)


def remarks(step: Step) -> list[str]:
    """What must be said of a step in words: what is undefined, and what breaks the rule."""
    words = []
    noun = "lane" if step.per_thread == 1 else "element"
    if undefined := step.those("undefined"):
        there = step.threads * step.per_thread
        why = [
            *(["outside the mask"] if any(element.source < there for element in undefined) else []),
            *(["that the block does not have"] if any(element.source >= there for element in undefined) else []),
        ]
        words.append(f"undefined: {count(len(undefined), noun)} asked for a lane {' or '.join(why)}")
    if beyond := step.those("beyond"):
        words.append(f"{count(len(beyond), noun)} received the 0 of a lane beyond the last element")
    if wrong := step.those("wrong"):
        first = wrong[0]
        held = "no element of the input" if first.got is None else f"element {first.got}"
        verb = "differs" if len(wrong) == 1 else "differ"
        words.append(
            f"{count(len(wrong), 'element')} {verb} from CUDA's rule: "
            f"element {first.index} holds {held}, not element {first.source}"
        )
    return words


def _of_device(steps: list[Step], suffix: str) -> list[LanePlot]:
    by_kernel: dict[str, list[Step]] = {}
    for step in steps:
        by_kernel.setdefault(step.kernel, []).append(step)
    few = [kernel for kernel, own in by_kernel.items() if len(_distinct(own)) <= FEW]
    toured = [step for step in steps if step.kernel in few]
    if len(few) < 2 or len(_distinct(toured)) > MOST_TOUR:
        few = []
    plots = [_plot(toured, f"lanes{suffix}")] if few else []
    for kernel, own in by_kernel.items():
        if kernel not in few:
            plots.append(_plot(own, f"lanes-{slug(kernel) or 'kernel'}{suffix}"))
    return plots


def _plot(steps: list[Step], stem: str) -> LanePlot:
    kernels = list(dict.fromkeys(step.kernel for step in steps))
    distinct = _distinct(steps)
    drawn = _chosen(distinct, MOST_STEPS if len(kernels) == 1 else MOST_TOUR)
    values = {name: list(dict.fromkeys(step.value(name) for step in drawn)) for name in TOLD}
    differing = tuple(name for name in TOLD if len(values[name]) > 1)
    same = [f"{name} {values[name][0]}" for name in TOLD if len(values[name]) == 1 and values[name][0]]
    devices = list(dict.fromkeys({"cpu": "CPU device", "cuda": "GPU"}.get(s.device, s.device) for s in drawn))
    who = one_line(kernels[0], 40) if len(kernels) == 1 else "Shuffles"
    measured = ", ".join(["measured", *(device for device in devices if device)])
    told = f"The same in all steps: {', '.join(same)}." if len(drawn) > 1 else f"{', '.join(same).capitalize()}."
    notes = [
        f"{listed(list(dict.fromkeys(step.intrinsic for step in drawn)))}, one launch a step.",
        told if same else "",
        _left_out(len(steps), len(distinct), len(drawn)),
    ]
    title = f"{who}: which lane's register each lane received ({measured})"
    return LanePlot(stem, title, tuple(drawn), differing, len(kernels) > 1, " ".join(note for note in notes if note))


def _left_out(cases: int, distinct: int, drawn: int) -> str:
    if cases == drawn:
        return ""
    told = f"Drawn: {drawn} of {count(cases, 'case')}"
    same = cases - distinct
    return f"{told}; {count(same, 'case')} moved the same as another." if same else f"{told}; results.csv has the rest."


def _distinct(steps: list[Step]) -> list[Step]:
    """The steps of which no earlier one looks the same; size, dtype and seed change nothing that is drawn."""
    looks: dict[tuple[Any, ...], Step] = {}
    for step in steps:
        told = tuple(step.value(name) for name in TOLD if name not in ("size", "dtype"))
        looks.setdefault((step.kernel, step.name, told, step.elements, step.status), step)
    return list(looks.values())


def _chosen(steps: list[Step], most: int) -> list[Step]:
    """As many as a figure takes: first those that break the rule, then one of each name, then the rest."""
    seen: dict[tuple[str, str], int] = {}
    ranks = []
    for place, step in enumerate(steps):
        repeats = seen[step.kernel, step.name] = seen.get((step.kernel, step.name), -1) + 1
        ranks.append((not step.those("wrong"), repeats, place))
    places = [place for _, _, place in sorted(ranks)[:most]]
    lines = list(itertools.accumulate(len(chunks(steps[place])[0]) for place in places))
    return [steps[place] for place in sorted(p for p, sum_ in zip(places, lines, strict=True) if sum_ <= MOST_LINES)]
