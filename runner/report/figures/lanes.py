"""Lane pictures: which lane's register each lane received, as measured.

A kernel of several cases has a figure of its own, one step for each case: a butterfly, a tree, a scan. Kernels of one
or two cases share a figure, a tour. The CPU device's pictures are as true of a GPU as a GPU's own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from runner.device.kinds import label
from runner.report.figures.figure import Figure, Row, Run
from runner.report.figures.lane_steps import NAMED, Step, read
from runner.report.figures.lane_svg import Labelled, lines, picture
from runner.report.table import records
from runner.report.text import count, listed, one_line, slug

MOST_STEPS, MOST_LINES = 8, 18
FEW, MOST_TOUR = 2, 10
"""A kernel with more than FEW steps has a figure of its own; a tour of more than MOST_TOUR would be no picture."""


@dataclass(frozen=True)
class Lanes(Figure):
    """Steps below one another.

    Attributes:
        steps: In the order of the run.
        notes: What is the same in all steps, and what is not drawn.
    """

    section = "lanes"
    steps: tuple[Step, ...]
    notes: str

    def rows(self) -> list[Row]:
        """A row for each element."""
        return [
            {
                "kernel": step.kernel,
                "shuffle": step.name,
                **step.values,
                "element": element.index,
                "lane": element.lane,
                "received": element.got,
                "by_the_rule": element.source,
                "fate": element.fate,
            }
            for step in self.steps
            for element in step.elements
        ]

    def draw(self) -> bytes:
        """Draw the steps, each named by what tells it from the others."""
        differing = [name for name in NAMED if len({step.values[name] for step in self.steps}) > 1]
        tour = len({step.kernel for step in self.steps}) > 1
        labelled = []
        for step in self.steps:
            told = [f"{name} {step.values[name]}" for name in differing if step.values[name]]
            names = [*([one_line(step.kernel, 26)] if tour else []), step.name, *told]
            labelled.append(Labelled(step, tuple(names), "" if step.status == "ok" else step.status))
        return picture(self.title, self.notes, labelled)


def figures(run: Run) -> list[Lanes]:
    """The lane pictures of a run, in its order. Devices never share one."""
    if "received" not in run.frame.columns:
        return []
    steps = [step for row in records(run.frame[run.frame["received"] != ""]) if (step := read(row))]
    devices = dict.fromkeys(step.device for step in steps)
    return [
        plot
        for device in devices
        for plot in _of_device(
            [step for step in steps if step.device == device], f"-{slug(device)}" * (len(devices) > 1)
        )
    ]


def stacked(rows: Iterable[Mapping[str, Any]], title: str = "") -> bytes:
    """The lane picture of some rows as SVG, one step for each row, without a run folder.

    Args:
        rows: Dictionaries with the columns of results.csv, as text or typed: `kernel`, `shuffle`, `received`, `block`,
            and where the kernel reads them `width`, `mask`, `per_thread`, `first`, `second`; `device` for the title.
            Rows without `shuffle` or `received` are ignored.
        title: Replaces the one that is made from the rows.

    Raises:
        ValueError: If no row can be drawn.
    """
    steps = [step for row in rows if (step := read(row))]
    if not steps:
        raise ValueError("none of the rows has a shuffle and what each element received")
    return _figure(steps, "lanes", title).draw()


def _of_device(steps: list[Step], suffix: str) -> list[Lanes]:
    by_kernel: dict[str, list[Step]] = {}
    for step in steps:
        by_kernel.setdefault(step.kernel, []).append(step)
    few = [kernel for kernel, own in by_kernel.items() if len(_distinct(own)) <= FEW]
    toured = [step for step in steps if step.kernel in few]
    if len(few) < 2 or len(_distinct(toured)) > MOST_TOUR:
        few = []
    alone = {kernel: own for kernel, own in by_kernel.items() if kernel not in few}
    return [
        *([_figure(toured, f"lanes{suffix}")] if few else []),
        *(_figure(own, f"lanes-{slug(kernel) or 'kernel'}{suffix}") for kernel, own in alone.items()),
    ]


def _figure(steps: list[Step], stem: str, title: str = "") -> Lanes:
    kernels = list(dict.fromkeys(step.kernel for step in steps))
    distinct = _distinct(steps)
    drawn = _chosen(distinct, MOST_STEPS if len(kernels) == 1 else MOST_TOUR)
    values = {name: list(dict.fromkeys(step.values[name] for step in drawn)) for name in NAMED}
    same = ", ".join(f"{name} {found[0]}" for name, found in values.items() if len(found) == 1 and found[0])
    devices = [f"on {label(device)}" for device in dict.fromkeys(step.device for step in drawn) if device]
    who = one_line(kernels[0], 40) if len(kernels) == 1 else "Shuffles"
    twins = len(steps) - len(distinct)
    notes = [
        f"{listed(list(dict.fromkeys(step.intrinsic for step in drawn)))}, one launch for each step.",
        f"Same in all steps: {same}." if same else "",
        f"Drawn: {len(drawn)} of {count(len(steps), 'case')}; "
        + (f"{count(twins, 'case')} moved the same as another." if twins else "results.csv has the rest.")
        if len(drawn) < len(steps)
        else "",
    ]
    told = [f"{step.kernel} {step.name}{''.join(f'; {words}' for words in step.remarks())}" for step in drawn]
    return Lanes(
        stem=stem,
        title=title or f"{who}: which lane's register each lane received ({' '.join(['measured', *devices])})",
        caption=f"Steps: {', '.join(told)}. The column `received` of results.csv has all of them.",
        steps=tuple(drawn),
        notes=" ".join(note for note in notes if note),
    )


def _distinct(steps: list[Step]) -> list[Step]:
    """The steps that look unlike all earlier ones. Size, dtype and seed change nothing that is drawn."""
    looks: dict[tuple[Any, ...], Step] = {}
    for step in steps:
        told = tuple(value for name, value in step.values.items() if name not in ("size", "dtype"))
        looks.setdefault((step.kernel, step.name, told, step.elements, step.status), step)
    return list(looks.values())


def _chosen(steps: list[Step], most: int) -> list[Step]:
    """As many steps as a figure takes: first those that break the rule, then one of each name, then the rest."""
    seen: dict[tuple[str, str], int] = {}
    ranks = []
    for place, step in enumerate(steps):
        repeats = seen[step.kernel, step.name] = seen.get((step.kernel, step.name), -1) + 1
        ranks.append((not step.those("wrong"), repeats, place))
    places = [place for _, _, place in sorted(ranks)[:most]]
    height = itertools.accumulate(len(lines(steps[place])[0]) for place in places)
    return [steps[place] for place in sorted(p for p, n in zip(places, height, strict=True) if n <= MOST_LINES)]
