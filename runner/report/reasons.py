"""Why the fast cases take the time that they take, in words: rules with thresholds, each with its source.

A case gets the first rule of `BOUNDS` whose numbers are there and carry it, and the remarks of `REMARKS`. Numbers that
carry nothing give no words.
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

MOST_CASES = 10  # of each ranking

HIGH, LOW = 80.0, 60.0  # percent
WASTED, FULL, WAITING = 10.0, 1.0, 30.0  # percent, waves, percent
MOVED = 1.25

NCU = "Nsight Compute 2025.3, rule {}"
SPEED_OF_LIGHT = NCU.format("SOLBottleneck")


@dataclass(frozen=True)
class Known:
    """What is known of a case; a number that is not known is `None`."""

    row: Mapping[str, Any]  # of results.csv
    reached: float | None  # its declared bytes a second, in percent of a copy on this GPU
    dram: float | None  # throughput under ncu, in percent of the same copy; of its peak where no copy was measured
    of: str  # what `reached` and `dram` are shares of, in words
    waits: Sequence[tuple[str, float]]  # what its warps waited for, and which part of the time, the longest first
    costs: Sequence[LineCost]  # what its lines cost

    def __getitem__(self, name: str) -> float | None:
        return None if absent(self.row.get(name)) else float(self.row[name])

    @property
    def moved(self) -> float | None:
        """DRAM bytes that were moved for each that is declared."""
        moved, declared = (self["ncu_dram_read"], self["ncu_dram_written"]), (self["bytes_read"], self["bytes_written"])
        whole = sum(n or 0.0 for n in declared)
        return sum(n or 0.0 for n in moved) / whole if whole and None not in moved else None


@dataclass(frozen=True)
class Rule:
    """A rule: its name, when it holds, where that comes from, and what it says; empty where it does not hold."""

    name: str
    when: str
    source: str
    says: Callable[[Known], str]


def _launch(case: Known) -> str:
    return "launch-bound: less than twice an empty kernel's time" if str(case.row["timer_limited"]) == "True" else ""


def _memory(case: Known) -> str:
    whole = case["ncu_memory_percent"]
    if case.reached is not None and case.reached >= HIGH:
        return f"memory-bound at {case.reached:.0f} % of {case.of}"
    if case.dram is not None and case.dram >= HIGH:
        return f"memory-bound: DRAM works at {case.dram:.0f} % of {case.of}"
    if whole is not None and whole >= HIGH and whole >= (case["ncu_sm_percent"] or 0.0):
        return f"memory-bound: the busiest cache works at {whole:.0f} % of its peak"
    return ""


def _compute(case: Known) -> str:
    busiest = case["ncu_sm_percent"]
    if busiest is None or busiest < HIGH:
        return ""
    pipes = {name: case[f"ncu_{name}_percent"] for name in ("fma", "fp64", "tensor")}
    busy = [f"{name} pipe {share:.0f} %" for name, share in pipes.items() if share is not None and share >= LOW]
    return f"compute-bound: the SM's busiest part works at {busiest:.0f} %" + (f" ({', '.join(busy)})" if busy else "")


def _latency(case: Known) -> str:
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
    Rule("launch-bound", "less than 2 x an empty kernel", "`timer_limited` in docs/results.md", _launch),
    Rule("memory-bound", f"{HIGH:.0f} % of a copy, or a cache at {HIGH:.0f} % of its peak", SPEED_OF_LIGHT, _memory),
    Rule("compute-bound", f"the SM's busiest part at {HIGH:.0f} % of its peak", SPEED_OF_LIGHT, _compute),
    Rule("latency-bound", f"memory and SM below {LOW:.0f} %; names a stall of {WAITING:.0f} %",
         f"{SPEED_OF_LIGHT}, and rule CPIStall", _latency),
)  # fmt: skip
"""What bounds a case: the first that holds. Between the thresholds there is no verdict."""


def _grid(case: Known) -> str:
    waves = case["waves"]
    return f"its blocks fill {100 * waves:.0f} % of the GPU" if waves is not None and waves < FULL else ""


def _waste(case: Known) -> str:
    return f"DRAM moves {case.moved:.1f} times the declared bytes" if case.moved and case.moved >= MOVED else ""


def _worst(case: Known, memory: str, what: str) -> str:
    """The line with most units beyond the ideal, if those of all lines are a tenth of the units or more."""
    if case.reached is not None and case.reached >= HIGH:
        return ""  # nothing could be gained
    costs = [cost for cost in case.costs if cost.memory == memory and cost.kind != BRANCH]
    whole = sum(cost.actual * cost.requests for cost in costs)
    if not whole or 100 * sum(cost.excess for cost in costs) < WASTED * whole:
        return ""
    one = max(costs, key=lambda cost: cost.excess)
    return f"{what} on line {one.line} of {one.file} ({one.actual:.4g} {one.unit} per request, at best {one.ideal:.4g})"


REMARKS = (
    Rule("small grid", "less than one wave of blocks", SPEED_OF_LIGHT, _grid),
    Rule("more traffic", f"{MOVED:g} x the declared bytes", "none: a choice of this project", _waste),
    Rule("bank conflicts", f"{WASTED:.0f} % of the wavefronts, unless memory-bound",
         NCU.format("SharedMemoryConflicts"), lambda case: _worst(case, SHARED, "bank conflicts")),
    Rule("scattered accesses", f"{WASTED:.0f} % of the sectors, unless memory-bound",
         NCU.format("UncoalescedGlobalAccess") + ", which has no threshold",
         lambda case: _worst(case, GLOBAL, "scattered accesses")),
)  # fmt: skip
"""What else the numbers say of a case: all that hold."""


def judge(case: Known) -> str:
    """The words on a case; empty if the numbers carry none."""
    bound = next(filter(None, (rule.says(case) for rule in BOUNDS)), "")
    return "; ".join(filter(None, [bound, *(rule.says(case) for rule in REMARKS)]))


def sentences(run: Run) -> list[tuple[int, str]]:
    """Rows and sentences: of each ranking the fastest case, those tied with it, and each other kernel's fastest."""
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
    """Whether a case is of the same ranking, and of a kernel that none of the first is."""
    same = all(row[name] == first[0][name] for name in PEERS)
    return same and row["kernel"] not in {one["kernel"] for one in first} and str(row["ceiling"]) != "True"


def _known(
    row: Mapping[str, Any], limits: Mapping[str, Any], waits: Sequence[tuple[str, float]], costs: Sequence[LineCost]
) -> Known:
    def number(name: str) -> float | None:
        return None if absent(row.get(name)) else float(row[name])

    gbps = profiled.numbers(limits.get("gbps"))
    share = gbps["measured"] / gbps["theoretical"] if len(gbps) > 1 and gbps["theoretical"] else None
    if share is None and number("percent_copy") and number("percent_peak"):
        share = float(row["percent_peak"]) / float(row["percent_copy"])
    dram = number("ncu_dram_percent")
    reached = number("percent_copy") if share else number("percent_peak")
    counted = None if dram is None else dram / share if share else dram
    return Known(row, reached, counted, "a copy" if share else "the peak", waits, costs)
