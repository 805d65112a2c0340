"""The ranked chart of a run without a GPU: cases by their counted memory work. No HTML here.

The CPU device knows which addresses every warp accesses, so it counts what the memory of a GPU would have to move. This
predicts memory work, not time: a GPU may be limited by something else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runner.device.kinds import is_gpu
from runner.display.text import absent, count, described, four_digits, one_line, size_of, value_of
from runner.record.ranking import first_baseline
from runner.record.run import PEERS, Run, size_key
from runner.report import bottlenecks
from runner.report.figures.figure import group
from runner.report.ranked import MAX_BARS, NOT_PLACES, Bar, RankedChart, Rule, above
from runner.stages.lines import costs as lines
from runner.stages.lines.costs import GLOBAL, SHARED, LineCost

Row = dict[str, Any]

BRANCHES = ""  # the memory of a branch's costs
SECTOR = 32  # bytes (CUDA C++ Best Practices Guide, Coalesced Access to Global Memory)
SAME = 1.01  # works that differ by less are equal: they are scaled from a few blocks
COUNTS = ("sectors of global memory", "wavefronts of shared memory", "divergent branches")
CLEAR = 1.5  # a smaller ratio is told in percent
NOT_TIME = "Counts predict memory work, not time."


@dataclass(frozen=True)
class Work:
    """The memory work of a case's launch, scaled from the blocks that were counted to all."""

    row: Row
    sectors: float  # of 32 bytes that its accesses of global memory move
    wavefronts: float  # passes over the banks that its accesses of shared memory take
    divergent: float  # branches whose lanes diverged
    ideal_sectors: float = 0.0  # that the same bytes would need if they were adjacent
    blocks: int = 0  # that were counted

    @property
    def counts(self) -> tuple[float, float, float]:
        """Its counts in the order of `COUNTS`."""
        return self.sectors, self.wavefronts, self.divergent

    @property
    def traffic(self) -> str:
        """The bytes of its sectors, in a unit that suits."""
        return in_bytes(SECTOR * self.sectors)

    @property
    def also(self) -> str:
        """Its counts besides the sectors, in words; empty without any."""
        pairs = list(zip(self.counts, COUNTS, strict=True))[1:]
        return ", ".join(f"{_rough(number)} {noun}" for number, noun in pairs if number >= 1)


def in_bytes(number: float) -> str:
    """A number of bytes: `64 MiB`."""
    exponent = min(4, int(math.log2(max(1.0, number)) // 10))
    return f"{four_digits(float(f'{number / 1024**exponent:.3g}'))} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[exponent]}"


def works(run: Run) -> list[Work]:
    """The works of comparable cases at the largest size, the least first; of several kernels each one's least.

    Of several groups of peers the one with most kernels counts. Ceilings are not ranked. Empty on a GPU, and without
    counted lines.
    """
    costs = lines.read(run.folder)
    correct = [
        row for row in run.rows if row["status"] == "ok" and not is_gpu(str(row["device"])) and row["ceiling"] != "True"
    ]
    known = [_work(row, costs[str(row["case"])]) for row in correct if str(row["case"]) in costs]
    groups = group(known, lambda work: (*(str(work.row[name]) for name in PEERS), size_key(work.row)))
    if not groups:
        return []
    _, chosen = max(groups.items(), key=lambda item: (item[0][-1], len({work.row["kernel"] for work in item[1]})))
    ordered = sorted(chosen, key=_order)
    kernels: dict[str, Work] = {}
    for work in ordered:
        kernels.setdefault(str(work.row["kernel"]), work)
    return list(kernels.values()) if len(kernels) > 1 else ordered


def sentence(run: Run, ranked: Sequence[Work]) -> str:
    """Which case has the least memory work, and by how much; empty if there are not two."""
    if len(ranked) < 2:
        return ""
    least, names = ranked[0], _names(run, ranked)
    size = size_of(least.row)
    first = f"{described(least.row, names)}, {least.traffic} of global memory traffic"
    return f"Least memory work{f' at {size}' if size else ''}: {first}; {leads(ranked, names)[0]}."


def leads(ranked: Sequence[Work], names: list[str]) -> list[str]:
    """How much less work the first has: than the baseline, or without one than the last; and than the next."""
    least, *others = ranked
    if not others:
        return []
    base, words = baseline(ranked), list[str]()
    if base is not None and base is not least:
        words.append(f"{versus(least, base)} the baseline {one_line(str(base.row['kernel']), 60)}")
    elif len(others) > 1:
        words.append(f"{versus(least, others[-1])} the worst, {described(others[-1].row, names)}")
    return [*words, f"{versus(least, others[0])} the next, {described(others[0].row, names)}"]


def baseline(ranked: Sequence[Work]) -> Work | None:
    """The work of the kernel that ends the chain of baselines from the least work's kernel; `None` without one."""
    least, by_kernel = ranked[0], {str(work.row["kernel"]): work for work in reversed(ranked)}
    found = first_baseline(least.row, {kernel: work.row for kernel, work in by_kernel.items()})
    named = any(str(other.row["baseline"]) == least.row["kernel"] for other in ranked[1:])
    return by_kernel[str(found["kernel"])] if found is not least.row or named else None


def versus(work: Work, other: Work) -> str:
    """The work of a case against that of another, in words that a name follows."""
    for own, its, noun in zip(work.counts, other.counts, COUNTS, strict=True):
        if max(own, its) > SAME * min(own, its):
            if not min(own, its):
                return f"{'no' if own < its else 'more'} {noun}, unlike"
            fewer, times = "fewer" if own < its else "more", max(own, its) / min(own, its)
            much = f"{times:.3g}x" if times >= CLEAR else f"{100 * abs(own / its - 1):.2g} %"
            return f"{much} {fewer} {noun} than"
    return "as much memory work as"


def chart(run: Run, ranked: Sequence[Work]) -> RankedChart | None:
    """The chart of these works; `None` if there are fewer than two."""
    if len(ranked) < 2:
        return None
    several = len({work.row["kernel"] for work in ranked}) > 1
    shown, base, names = ranked[:MAX_BARS], baseline(ranked) if several else None, _names(run, ranked)
    reasons = bottlenecks.reasons(run, [work.row for work in shown])
    least, drawn = ranked[0], [*shown, *([base] if base else [])]
    by = next((n for n in range(len(COUNTS)) if _differ([work.counts[n] for work in drawn])), 0)
    width = 1.02 * max(work.counts[by] for work in drawn) or 1.0

    def gain(work: Work) -> str:
        if work is (base or least):
            return "baseline" if base else "least"
        own, its = work.counts[by], (base or least).counts[by]
        if not min(own, its):
            return ""
        if base:
            return f"{its / own:.2f}x less" if its >= own else f"{own / its:.2f}x as much"
        return above(own / its)

    bars = [
        Bar(
            row=work.row["row"],
            name=one_line(str(work.row["kernel"]), 60) if several else "",
            details=", ".join(f"{n} {one_line(v, 40)}" for n in names if (v := value_of(n, work.row))),
            length=work.counts[by] / width,
            low=work.counts[by] / width,
            high=work.counts[by] / width,
            value=work.traffic if by == 0 else _rough(work.counts[by]),
            gain=gain(work),
            standing="first" if work is least else "tied" if _order(work) == _order(least) else "behind",
            reason="; ".join(filter(None, [work.also, bottlenecks.in_brief(reasons[work.row["row"]])])),
        )
        for work in shown
    ]
    size = size_of(least.row)
    what = "Counted memory work of each kernel" if several else f"Counted memory work of {least.row['kernel']}"
    name = one_line(str(base.row["kernel"]), 40) if base else ""
    rules = [Rule(base.counts[by] / width, f"baseline {name}", "baseline")] if base else []
    equal = "" if by == 0 else f"All move {least.traffic} to and from global memory. "
    where = f"{count(least.blocks, 'block')} of a case"
    note = (
        f"{equal}{NOT_TIME} The CPU device counted the addresses in {where} and scaled the counts to the grid. "
        f"A sector has {SECTOR} bytes."
    )
    against = f"against {name}" if base else "above the least"
    value_head = "global memory traffic" if by == 0 else COUNTS[by]
    heading = f"{what}{f' at {size}' if size else ''}"
    return RankedChart(heading, bars, rules, value_head, against, "also counted", note, len(ranked) - len(shown))


def _work(row: Row, costs: Sequence[LineCost]) -> Work:
    """The work of all blocks, from the blocks that were counted."""
    sides = str(row["grid"]).split("x") if not absent(row["grid"]) else ["1"]
    grid = math.prod(int(side) for side in sides if side.isdecimal())

    def total(memory: str, kind: str = "actual") -> float:
        own = [cost for cost in costs if cost.memory == memory]
        requests = [cost.grid_requests or cost.requests * grid / max(1, cost.blocks) for cost in own]
        return sum(float(getattr(cost, kind)) * number for cost, number in zip(own, requests, strict=True))

    blocks = max((cost.blocks for cost in costs), default=0)
    return Work(row, total(GLOBAL), total(SHARED), total(BRANCHES), total(GLOBAL, "ideal"), blocks)


def _differ(counts: Sequence[float]) -> bool:
    return max(counts) > SAME * min(counts)


def _order(work: Work) -> tuple[float, ...]:
    """The sort key: global memory first, as it is the slowest, then shared memory, then divergence."""
    return tuple(round(math.log(1.0 + number) / math.log(SAME)) for number in work.counts)


def _names(run: Run, ranked: Sequence[Work]) -> list[str]:
    varying = [name for name in run.varying if name not in NOT_PLACES]
    return [name for name in varying if len({value_of(name, work.row) for work in ranked} - {""}) > 1]


def _rough(number: float) -> str:
    for power, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= power:
            return f"{number / power:.3g} {letter}"
    return f"{number:.3g}"
