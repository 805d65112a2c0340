"""The bottlenecks of the fast cases in words, by rules with thresholds, each with its source.

A case gets the first rule of `BOUNDS` that holds, and all of `REMARKS` that hold. A rule whose numbers are missing does
not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runner.display.text import absent, described, size_of
from runner.record.ranking import best_of, headline_groups
from runner.record.run import PEERS, Run
from runner.record.runs import section
from runner.report import profiled
from runner.stages.lines import costs as lines
from runner.stages.lines.costs import BRANCH, GLOBAL, SHARED, LineCost
from runner.stages.profile import ceilings, counters

MOST_CASES = 10  # per ranking

HIGH, LOW = 80.0, 60.0  # percent
WASTED, FULL, WAITING = 10.0, 1.0, 30.0  # percent, waves, percent
MOVED = 1.25

NCU = "Nsight Compute 2025.3, rule {}"
SPEED_OF_LIGHT = NCU.format("SOLBottleneck")


@dataclass(frozen=True)
class CaseFacts:
    """The numbers of a case that rules use; an unknown number is `None`."""

    row: Mapping[str, Any]  # of results.csv
    reached: float | None  # declared bytes per second, in percent of `of`
    dram: float | None  # DRAM throughput under ncu, in percent of `of`
    of: str  # `a copy` on this GPU, or `the peak` if no copy was measured
    waits: Sequence[tuple[str, float]]  # warp states and their fraction of the time, the longest first
    costs: Sequence[LineCost]  # of its lines

    def __getitem__(self, name: str) -> float | None:
        return None if absent(self.row.get(name)) else float(self.row[name])

    @property
    def moved(self) -> float | None:
        """DRAM bytes moved per declared byte."""
        moved, declared = (self["ncu_dram_read"], self["ncu_dram_written"]), (self["bytes_read"], self["bytes_written"])
        total = sum(n or 0.0 for n in declared)
        return sum(n or 0.0 for n in moved) / total if total and None not in moved else None


@dataclass(frozen=True)
class BottleneckRule:
    """A rule with a threshold."""

    name: str
    when: str  # the condition, in words
    source: str  # of the threshold
    says: Callable[[CaseFacts], str]  # a phrase; empty if the rule does not hold


def _launch(case: CaseFacts) -> str:
    return "launch-bound: less than twice an empty kernel's time" if str(case.row["timer_limited"]) == "True" else ""


def _memory(case: CaseFacts) -> str:
    memory = case["ncu_memory_percent"]
    if case.reached is not None and case.reached >= HIGH:
        return f"memory-bound at {case.reached:.0f} % of {case.of}"
    if case.dram is not None and case.dram >= HIGH:
        return f"memory-bound: DRAM works at {case.dram:.0f} % of {case.of}"
    if memory is not None and memory >= HIGH and memory >= (case["ncu_sm_percent"] or 0.0):
        return f"memory-bound: the busiest cache works at {memory:.0f} % of its peak"
    return ""


def _compute(case: CaseFacts) -> str:
    busiest = case["ncu_sm_percent"]
    if busiest is None or busiest < HIGH:
        return ""
    pipes = {name: case[f"ncu_{name}_percent"] for name in ("fma", "fp64", "tensor")}
    busy = [f"{name} pipe {share:.0f} %" for name, share in pipes.items() if share is not None and share >= LOW]
    return f"compute-bound: the SM's busiest part works at {busiest:.0f} %" + (f" ({', '.join(busy)})" if busy else "")


def _latency(case: CaseFacts) -> str:
    memory, busiest = case["ncu_memory_percent"], case["ncu_sm_percent"]
    if memory is None or busiest is None or max(memory, busiest, case.reached or 0.0, case.dram or 0.0) >= LOW:
        return ""
    words = f"latency-bound: memory works at {memory:.0f} % and the SM at {busiest:.0f} % of their peak"
    if (warps := case["ncu_warps_percent"]) is not None:
        words += f"; {warps:.0f} % of warps active"
    reason, share = next((one for one in case.waits if one[0] != "selected"), ("", 0.0))
    if 100 * share >= WAITING:
        words += f", which wait for {reason} {100 * share:.0f} % of the time"
    return words


BOUNDS = (
    BottleneckRule("launch-bound", "less than 2 x an empty kernel", "`timer_limited` in docs/results.md", _launch),
    BottleneckRule("memory-bound", f"{HIGH:.0f} % of a copy, or a cache at {HIGH:.0f} % of its peak",
                   SPEED_OF_LIGHT, _memory),
    BottleneckRule("compute-bound", f"the SM's busiest part at {HIGH:.0f} % of its peak", SPEED_OF_LIGHT, _compute),
    BottleneckRule("latency-bound", f"memory and SM below {LOW:.0f} %; names a stall of {WAITING:.0f} %",
                   f"{SPEED_OF_LIGHT}, and rule CPIStall", _latency),
)  # fmt: skip
"""What bounds a case: the first rule that holds. Between the thresholds no rule holds."""


def _grid(case: CaseFacts) -> str:
    waves = case["waves"]
    return f"its blocks fill {100 * waves:.0f} % of the GPU" if waves is not None and waves < FULL else ""


def _waste(case: CaseFacts) -> str:
    return f"DRAM moves {case.moved:.1f} times the declared bytes" if case.moved and case.moved >= MOVED else ""


def _worst(case: CaseFacts, memory: str, what: str) -> str:
    """The line with the largest excess, if the excess of all lines is at least `WASTED` percent."""
    if case.reached is not None and case.reached >= HIGH:
        return ""  # the case is memory-bound already
    costs = [cost for cost in case.costs if cost.memory == memory and cost.kind != BRANCH]
    total = sum(cost.actual * cost.requests for cost in costs)
    if not total or 100 * sum(cost.excess for cost in costs) < WASTED * total:
        return ""
    one = max(costs, key=lambda cost: cost.excess)
    return f"{what} on line {one.line} of {one.file} ({one.actual:.4g} {one.unit} per request, at best {one.ideal:.4g})"


REMARKS = (
    BottleneckRule("small grid", "less than one wave of blocks", SPEED_OF_LIGHT, _grid),
    BottleneckRule("more traffic", f"{MOVED:g} x the declared bytes", "none: a choice of this project", _waste),
    BottleneckRule("bank conflicts", f"{WASTED:.0f} % of the wavefronts, unless memory-bound",
                   NCU.format("SharedMemoryConflicts"), lambda case: _worst(case, SHARED, "bank conflicts")),
    BottleneckRule("scattered accesses", f"{WASTED:.0f} % of the sectors, unless memory-bound",
                   NCU.format("UncoalescedGlobalAccess") + ", which has no threshold",
                   lambda case: _worst(case, GLOBAL, "scattered accesses")),
)  # fmt: skip
"""Further remarks on a case: all rules that hold."""


def judge(case: CaseFacts) -> str:
    """Describe a case's bottlenecks; empty if no rule holds."""
    bound = next(filter(None, (rule.says(case) for rule in BOUNDS)), "")
    return "; ".join(filter(None, [bound, *(rule.says(case) for rule in REMARKS)]))


def sentences(run: Run) -> list[tuple[int, str]]:
    """Describe the fastest case of each ranking, those tied with it, and the fastest case of each other kernel.

    Returns:
        Row numbers and sentences; empty without ncu's counters.
    """
    counted = {row["row"]: record for row, record in profiled.cases(run, counters.NAME)}
    if not counted:
        return []
    limits = {row["row"]: section(record, "ceilings") for row, record in profiled.cases(run, ceilings.NAME)}
    costs, names = lines.read(run.folder), [name for name in run.varying if name != "size"]
    found = []
    best = best_of(run)
    for ranking in headline_groups(run):
        first = [ranking.fastest, *ranking.tied]
        at = size_of(ranking.fastest)
        others = [by_size[at] for by_size in best.values() if at in by_size and _alike(by_size[at], first)]
        for row in [*first, *sorted(others, key=lambda row: float(row["cost"]))][:MOST_CASES]:
            if row["row"] not in counted:
                continue
            waits = counters.stalls(profiled.numbers(counted[row["row"]].get("metrics")))
            known = _known(row, limits.get(row["row"], {}), waits, costs.get(str(row["case"]), []))
            if words := judge(known):
                found.append((row["row"], f"{described(row, names)}{f' at {at}' if at else ''}: {words}."))
    return found


def _alike(row: Mapping[str, Any], first: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a case belongs to the same ranking, but to another kernel, which is not a ceiling."""
    same = all(row[name] == first[0][name] for name in PEERS)
    return same and row["kernel"] not in {one["kernel"] for one in first} and str(row["ceiling"]) != "True"


def _known(
    row: Mapping[str, Any], limits: Mapping[str, Any], waits: Sequence[tuple[str, float]], costs: Sequence[LineCost]
) -> CaseFacts:
    def number(name: str) -> float | None:
        return None if absent(row.get(name)) else float(row[name])

    gbps = profiled.numbers(limits.get("gbps"))
    share = gbps["measured"] / gbps["theoretical"] if len(gbps) > 1 and gbps["theoretical"] else None
    if share is None and number("percent_copy") and number("percent_peak"):
        share = float(row["percent_peak"]) / float(row["percent_copy"])
    dram = number("ncu_dram_percent")
    reached = number("percent_copy") if share else number("percent_peak")
    counted = None if dram is None else dram / share if share else dram
    return CaseFacts(row, reached, counted, "a copy" if share else "the peak", waits, costs)
