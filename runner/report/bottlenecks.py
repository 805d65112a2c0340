"""The bottlenecks of the fast cases in words, by rules with thresholds, each with its source.

A case gets the first rule of `BOUNDS` that holds, and all of `REMARKS` that hold. A rule whose numbers are missing does
not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from runner.display.text import absent, described, size_of
from runner.record.ranking import best_of, headline_groups
from runner.record.run import PEERS, Run
from runner.record.runs import section
from runner.report import profiled
from runner.stages.lines import costs as lines
from runner.stages.lines.costs import BRANCH, GLOBAL, SHARED, LineCost
from runner.stages.profile import ceilings, counters

Row = dict[str, Any]

MAX_CASES = 10  # per ranking

HIGH, LOW = 80.0, 60.0  # percent
MIN_WASTED, MAX_SMALL_GRID, MIN_STALL = 10.0, 1.0, 30.0  # percent, waves, percent
LAUNCH_BOUND = "launch-bound: less than twice an empty kernel's time"
MOST = 100.0  # percent of a limit
MIN_TRAFFIC = 1.25  # DRAM bytes moved per declared byte

NCU = "Nsight Compute 2025.3, rule {}"
SPEED_OF_LIGHT = NCU.format("SOLBottleneck")


@dataclass(frozen=True)
class CaseFacts:
    """The numbers of a case that rules use; an unknown number is `None`."""

    row: Row  # of results.csv
    reached: float | None  # declared bytes per second, in percent of `limit`
    dram: float | None  # DRAM throughput under ncu, in percent of `limit`
    limit: str  # `a copy` on this GPU, or `the peak` if no copy was measured
    stalls: Sequence[tuple[str, float]]  # warp states and their fraction of the time, the longest first
    costs: Sequence[LineCost]  # of its lines

    def __getitem__(self, name: str) -> float | None:
        return None if absent(self.row.get(name)) else float(self.row[name])


@dataclass(frozen=True)
class BottleneckRule:
    """A rule with a threshold."""

    name: str
    when: str  # the condition, in words
    source: str  # of the threshold
    describe: Callable[[CaseFacts], str]  # a phrase; empty if the rule does not hold


def _memory(case: CaseFacts) -> str:
    memory = case["ncu_memory_percent"]
    if case.reached is not None and case.reached >= HIGH:
        return f"memory-bound at {case.reached:.0f} % of {case.limit}"
    if case.dram is not None and case.dram >= HIGH:
        return f"memory-bound: DRAM works at {case.dram:.0f} % of {case.limit}"
    if memory is not None and memory >= HIGH and memory >= (case["ncu_sm_percent"] or 0.0):
        return f"memory-bound: the busiest cache works at {memory:.0f} % of its peak"
    return ""


def _compute(case: CaseFacts) -> str:
    sm = case["ncu_sm_percent"]
    if sm is None or sm < HIGH:
        return ""
    pipes = {name: case[f"ncu_{name}_percent"] for name in ("fma", "fp64", "tensor")}
    busy = [f"{name} pipe {share:.0f} %" for name, share in pipes.items() if share is not None and share >= LOW]
    return f"compute-bound: the SM's busiest part works at {sm:.0f} %" + (f" ({', '.join(busy)})" if busy else "")


def _latency(case: CaseFacts) -> str:
    memory, sm, warps = case["ncu_memory_percent"], case["ncu_sm_percent"], case["ncu_warps_percent"]
    if memory is None or sm is None or max(memory, sm, case.reached or 0.0, case.dram or 0.0) >= LOW:
        return ""
    reason, share = next((stall for stall in case.stalls if stall[0] != "selected"), ("", 0.0))
    return "".join((
        f"latency-bound: memory works at {memory:.0f} % and the SM at {sm:.0f} % of their peak",
        "" if warps is None else f"; {warps:.0f} % of warps active",
        f", which wait {100 * share:.0f} % of the time for {_meaning(reason)}" if 100 * share >= MIN_STALL else "",
    ))  # fmt: skip


def _meaning(reason: str) -> str:
    """A warp state in words, with the name that Nsight Compute gives it."""
    return f"{counters.STALLS[reason]} ({reason})"


BOUNDS = (
    BottleneckRule("launch-bound", "less than 2 x an empty kernel", "`timer_limited` in docs/results.md",
                   lambda case: LAUNCH_BOUND if str(case.row["timer_limited"]) == "True" else ""),
    BottleneckRule("memory-bound", f"{HIGH:.0f} % of a copy, or a cache at {HIGH:.0f} % of its peak",
                   SPEED_OF_LIGHT, _memory),
    BottleneckRule("compute-bound", f"the SM's busiest part at {HIGH:.0f} % of its peak", SPEED_OF_LIGHT, _compute),
    BottleneckRule("latency-bound", f"memory and SM below {LOW:.0f} %; names a stall of {MIN_STALL:.0f} %",
                   f"{SPEED_OF_LIGHT}, and rule CPIStall", _latency),
)  # fmt: skip
"""What bounds a case: the first rule that holds. Between the thresholds no rule holds."""


def _grid(case: CaseFacts) -> str:
    waves = case["waves"]
    return f"its blocks fill {100 * waves:.0f} % of the GPU" if waves is not None and waves < MAX_SMALL_GRID else ""


def _traffic(case: CaseFacts) -> str:
    moved = case["ncu_dram_read"], case["ncu_dram_written"]
    declared = sum(case[name] or 0.0 for name in ("bytes_read", "bytes_written"))
    times = sum(n or 0.0 for n in moved) / declared if declared and None not in moved else 0.0
    return f"DRAM moves {times:.1f} times the declared bytes" if times >= MIN_TRAFFIC else ""


def _worst_line(case: CaseFacts, memory: str, what: str) -> str:
    """The line with the largest excess, if the excess of all lines is at least `MIN_WASTED` percent."""
    if case.reached is not None and case.reached >= HIGH:
        return ""  # the case is memory-bound already
    costs = [cost for cost in case.costs if cost.memory == memory and cost.kind != BRANCH]
    total = sum(cost.actual * cost.requests for cost in costs)
    if not total or 100 * sum(cost.excess for cost in costs) < MIN_WASTED * total:
        return ""
    worst = max(costs, key=lambda cost: cost.excess)
    numbers = f"{worst.actual:.4g} {worst.unit} per request, at best {worst.ideal:.4g}"
    return f"{what} on line {worst.line} of {worst.file} ({numbers})"


REMARKS = (
    BottleneckRule("small grid", "less than one wave of blocks", SPEED_OF_LIGHT, _grid),
    BottleneckRule("more traffic", f"{MIN_TRAFFIC:g} x the declared bytes", "none: a choice of this project", _traffic),
    BottleneckRule("bank conflicts", f"{MIN_WASTED:.0f} % of the wavefronts, unless memory-bound",
                   NCU.format("SharedMemoryConflicts"), lambda case: _worst_line(case, SHARED, "bank conflicts")),
    BottleneckRule("uncoalesced accesses", f"{MIN_WASTED:.0f} % of the sectors, unless memory-bound",
                   NCU.format("UncoalescedGlobalAccess") + ", which has no threshold",
                   lambda case: _worst_line(case, GLOBAL, "uncoalesced accesses")),
)  # fmt: skip
"""Further remarks on a case: all rules that hold."""


def judge(case: CaseFacts) -> str:
    """Describe a case's bottlenecks; empty if no rule holds."""
    bound = next(filter(None, (rule.describe(case) for rule in BOUNDS)), "")
    return "; ".join(filter(None, [bound, *(rule.describe(case) for rule in REMARKS)]))


def in_brief(reasons: str) -> str:
    """The most useful of a case's bottlenecks in words: that which names a line, otherwise the first."""
    parts = reasons.split("; ")
    return next((part for part in parts if " on line " in part), parts[0])


def names_a_bound(reasons: str) -> bool:
    """Whether a case's bottlenecks in words name what bounds it, and not remarks alone."""
    return reasons.startswith(tuple(rule.name for rule in BOUNDS))


def sentences(run: Run) -> list[tuple[int, str]]:
    """Describe the fastest case of each ranking, those tied with it, and the fastest of each other kernel.

    Returns row numbers and sentences; an empty list without the counters of ncu.
    """
    counted = {row["row"] for row, _ in profiled.cases(run, counters.NAME)}
    if not counted:
        return []
    names, best, chosen = [name for name in run.varying if name != "size"], best_of(run), list[Row]()
    for ranking in headline_groups(run):
        first, size = [ranking.fastest, *ranking.tied], size_of(ranking.fastest)
        others = [rows[size] for rows in best.values() if size in rows and _is_other_kernel(rows[size], first)]
        rows = [*first, *sorted(others, key=lambda row: float(row["cost"]))][:MAX_CASES]
        chosen += [row for row in rows if row["row"] in counted]
    words = reasons(run, chosen)
    where = {row["row"]: f" at {size}" if (size := size_of(row)) else "" for row in chosen}
    return [
        (row["row"], f"{described(row, names)}{where[row['row']]}: {words[row['row']]}.")
        for row in chosen
        if words[row["row"]]
    ]


def reasons(run: Run, rows: Sequence[Row]) -> dict[int, str]:
    """What limits each of these cases, by row number, from what is known of it; empty if no rule holds."""
    counted = {row["row"]: record for row, record in profiled.cases(run, counters.NAME)}
    limits = {row["row"]: section(record, "ceilings") for row, record in profiled.cases(run, ceilings.NAME)}
    costs = lines.read(run.folder)
    by_copy = not exceed_a_copy(rows)

    def reason(row: Row) -> str:
        stalls = counters.stalls(profiled.numbers(counted.get(row["row"], {}).get("metrics")))
        facts = _facts(row, limits.get(row["row"], {}), stalls, costs.get(str(row["case"]), []), by_copy=by_copy)
        return judge(facts)

    return {row["row"]: reason(row) for row in rows}


def exceed_a_copy(rows: Sequence[Row]) -> bool:
    """Whether a case is quicker than a copy of as many bytes, as one that hardly writes may be.

    Then the peak is the limit of all of them, so that their shares can be compared.
    """
    return any(not absent(row["percent_copy"]) and row["percent_copy"] > MOST for row in rows)


def _is_other_kernel(row: Row, first: Sequence[Row]) -> bool:
    """Whether a case belongs to the same ranking, but to another kernel, which is not a ceiling."""
    same = all(row[name] == first[0][name] for name in PEERS)
    return same and row["kernel"] not in {rival["kernel"] for rival in first} and str(row["ceiling"]) != "True"


def _facts(
    row: Row,
    limits: Mapping[str, Any],
    stalls: Sequence[tuple[str, float]],
    costs: Sequence[LineCost],
    *,
    by_copy: bool,
) -> CaseFacts:
    case = CaseFacts(row, None, None, "", stalls, costs)
    copy, peak, dram = case["percent_copy"], case["percent_peak"], case["ncu_dram_percent"]
    gbps = profiled.numbers(limits.get("gbps"))
    share = gbps["measured"] / gbps["theoretical"] if len(gbps) > 1 and gbps["theoretical"] else None
    if share is None and copy and peak:
        share = peak / copy
    share = share if by_copy else None
    dram = dram / share if share and dram is not None else dram
    return replace(case, reached=copy if share else peak, dram=dram, limit="a copy" if share else "the peak")
