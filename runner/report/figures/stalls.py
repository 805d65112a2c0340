"""The figure of stalls: what the warps of a case waited for, one bar per case."""

from __future__ import annotations

from dataclasses import dataclass

from runner.display.text import count, described, one_line
from runner.report import profiled
from runner.report.figures import chart
from runner.report.figures.chart import COLOURS, INK, Axis, Chart
from runner.report.figures.figure import ChartFigure, Results, Row, rows_axis
from runner.stages.profile.counters import NAME, stalls

MAX_BARS, MAX_REASONS = 24, 7
MIN_NUMBERED = 7.0  # percent of a bar; narrower parts have no number
OTHERS, GREY = "others", "#b8b8bf"
LIGHT_COLOURS = ("#e69f00", "#56b4e9", "#cc79a7", GREY)  # on which text is black

# Kernel Profiling Guide of Nsight Compute, "Warp Scheduler States".
MEANING = {
    "barrier": "another warp of the block at a barrier",
    "branch_resolving": "a branch target",
    "dispatch_stall": "the dispatcher",
    "drain": "stores at the kernel's end",
    "gmma": "a matrix multiply-add of the warp group",
    "imc_miss": "constant memory",
    "lg_throttle": "the queue for local and global memory",
    "long_scoreboard": "data from global, local or texture memory",
    "math_pipe_throttle": "a busy arithmetic pipe",
    "membar": "a memory fence",
    "mio_throttle": "the queue for shared memory and special functions",
    "misc": "other hardware reasons",
    "no_instruction": "the next instruction",
    "not_selected": "another warp that was ready, too",
    "selected": "nothing: it issued an instruction",
    "short_scoreboard": "data from shared memory or special functions",
    "sleeping": "nanosleep",
    "tex_throttle": "the queue of the texture unit",
    "wait": "a fixed latency of the instruction before",
}


@dataclass(frozen=True)
class Stalls(ChartFigure):
    """A bar for each case: the shares of the reasons."""

    section = "why"
    bars: list[tuple[Row, str, dict[str, float]]]  # the case, its name, and its shares by reason
    reasons: list[str]
    results: Results

    def rows(self) -> list[Row]:
        """One row per case, with the share of each reason."""
        return [{**self.results.identity(row), **shares} for row, _, shares in self.bars]

    def as_chart(self) -> Chart:
        """The bars: the largest size on top, and of each size the fastest case first."""
        left, marks = [0.0] * len(self.bars), list[chart.Mark]()
        places = range(len(self.bars))
        for reason, colour in zip([*self.reasons, OTHERS], [*COLOURS[: len(self.reasons)], GREY], strict=True):
            widths = [100 * self._share(shares, reason) for _, _, shares in self.bars]
            marks.append(chart.Bars(places, widths, [colour], left, label=reason))
            ink = INK if colour in LIGHT_COLOURS else "white"
            marks += [
                chart.Note(start + width / 2, place, f"{width:.0f}", colour=ink, size=8, align="center")
                for place, width, start in zip(places, widths, left, strict=True)
                if width >= MIN_NUMBERED
            ]
            left = [start + width for start, width in zip(left, widths, strict=True)]
        y = rows_axis(one_line(name, 44) for _, name, _ in self.bars)
        panel = chart.Panel("", Axis("% of the time of active warps", 0, 100), y, marks)
        return Chart([panel], 1, 1.1 + 0.27 * len(self.bars), legend="left")

    def _share(self, shares: dict[str, float], reason: str) -> float:
        return shares.get(reason, 0.0) if reason != OTHERS else 1 - sum(shares.get(name, 0.0) for name in self.reasons)


def figures(results: Results) -> list[Stalls]:
    """Choose the figure of a run with ncu's counters."""
    names = [name for name in results.run.varying if name not in ("dtype", "seed", "device")]
    bars = [
        (row, described(row, names), shares)
        for row, record in profiled.cases(results.run, NAME)
        if (shares := dict(stalls(profiled.numbers(record.get("metrics")))))
    ]
    if not bars:
        return []
    bars.sort(key=lambda bar: (-(bar[0]["size"] if isinstance(bar[0]["size"], int) else 0), bar[0]["median_us"]))
    drawn, left_out = bars[:MAX_BARS], len(bars) - MAX_BARS
    sums = {reason: sum(shares.get(reason, 0.0) for _, _, shares in drawn) for reason in MEANING}
    reasons = sorted(filter(sums.get, sums), key=lambda reason: -sums[reason])[:MAX_REASONS]
    words = "; ".join(f"{reason}: {MEANING[reason]}" for reason in reasons)
    more = f" Not drawn: {count(left_out, 'case')} of smaller sizes, or slower." if left_out > 0 else ""
    caption = f"What active warps waited for, counted by Nsight Compute. {words}.{more}"
    return [Stalls("stalls", "Where the time goes", caption, drawn, reasons, results)]
