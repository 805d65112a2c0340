"""Why the fast cases take the time that they take, in words: rules with thresholds, each with its source.

A case gets the first rule of `BOUNDS` whose numbers are there and carry it, and the remarks of `REMARKS`. Numbers that
carry nothing give no words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from runner import lines
from runner.folder import RunFolder
from runner.lines import GLOBAL, SHARED, LineCost
from runner.profiling import ceilings, counters
from runner.report import profiled
from runner.report.findings import headline_groups
from runner.report.table import varying
from runner.report.text import absent, described, size_of
from runner.runs import section

MOST_CASES = 6
"""Of each ranking: the fastest and those tied with it."""

HIGH, LOW = 80.0, 60.0  # percent
WASTE, CONFLICT, FULL = 1.25, 2.0, 1.0

SPEED_OF_LIGHT = "Nsight Compute, rule of the section GPU Speed Of Light Throughput"
PRACTICES = "CUDA C++ Best Practices Guide"


@dataclass(frozen=True)
class Known:
    """What is known of a case; a number that is not known is `None`.

    Attributes:
        row: Its row of results.csv.
        reached: Its declared bytes a second, in percent of a copy on this GPU.
        dram: The DRAM's throughput under ncu, in percent of the same copy; of its peak where no copy was measured.
        sm: The throughput of the SM's busiest part, in percent of its peak.
        costs: What its lines cost.
    """

    row: Mapping[str, Any]
    reached: float | None
    dram: float | None
    of: str
    sm: float | None
    costs: Sequence[LineCost]

    def __getitem__(self, name: str) -> float | None:
        return None if absent(self.row.get(name)) else float(self.row[name])

    @property
    def waste(self) -> float | None:
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
    return "launch-bound: less than twice an empty kernel" if str(case.row["timer_limited"]) == "True" else ""


def _memory(case: Known) -> str:
    if case.reached is not None and case.reached >= HIGH:
        return f"memory-bound at {case.reached:.0f} % of {case.of}"
    if case.dram is not None and case.dram >= HIGH:
        return f"memory-bound: DRAM works at {case.dram:.0f} % of {case.of}"
    return ""


def _compute(case: Known) -> str:
    if case.sm is None or case.sm < HIGH:
        return ""
    pipes = {name: case[f"ncu_{name}_percent"] for name in ("fma", "fp64", "tensor")}
    busy = [f"{name} pipe {share:.0f} %" for name, share in pipes.items() if share is not None and share >= LOW]
    return f"compute-bound: the SM's busiest part works at {case.sm:.0f} %" + (f" ({', '.join(busy)})" if busy else "")


def _latency(case: Known) -> str:
    if case.dram is None or case.sm is None or max(case.dram, case.sm, case.reached or 0.0) >= LOW:
        return ""
    words = f"latency-bound: DRAM works at {case.dram:.0f} %, the SM at {case.sm:.0f} %"
    if (warps := case["ncu_warps_percent"]) is not None:
        words += f"; {warps:.0f} % of the warps that fit are active"
    top = str(case.row.get("ncu_stalls") or "").partition(",")[0]
    return f"{words}, waiting mostly for {top}" if top else words


BOUNDS = (
    Rule("launch-bound", "`median_us` below 2 x an empty kernel", "`timer_limited` in docs/results.md", _launch),
    Rule("memory-bound", f"DRAM at {HIGH:.0f} % of what a copy reaches, or more", SPEED_OF_LIGHT, _memory),
    Rule("compute-bound", f"the SM's busiest part at {HIGH:.0f} % of its peak, or more", SPEED_OF_LIGHT, _compute),
    Rule("latency-bound", f"both below {LOW:.0f} %", SPEED_OF_LIGHT, _latency),
)
"""What bounds a case: the first that holds. Between the thresholds there is no verdict."""


def _grid(case: Known) -> str:
    waves = case["waves"]
    return f"its blocks fill {100 * waves:.0f} % of the GPU" if waves is not None and waves < FULL else ""


def _waste(case: Known) -> str:
    return f"DRAM moves {case.waste:.1f} times the declared bytes" if case.waste and case.waste >= WASTE else ""


def _conflicts(case: Known) -> str:
    return _worst(case, SHARED, "bank conflicts")


def _uncoalesced(case: Known) -> str:
    return _worst(case, GLOBAL, "scattered accesses")


def _worst(case: Known, memory: str, what: str) -> str:
    """The line with most units beyond the ideal."""
    if case.reached is not None and case.reached >= HIGH:
        return ""  # they cost nothing that could be gained
    found = [c for c in case.costs if c.memory == memory and c.ideal and c.actual >= CONFLICT * c.ideal]
    if not found:
        return ""
    one = max(found, key=lambda cost: cost.excess)
    return f"{what} on line {one.line} of {one.file} ({one.actual:.4g} {one.unit} a request, {one.ideal:.4g} at best)"


REMARKS = (
    Rule("small grid", "less than one wave of blocks", f"{PRACTICES}, Thread and Block Heuristics", _grid),
    Rule("wasted traffic", f"{WASTE:g} x the declared bytes, or more", "this project: caches round up", _waste),
    Rule("bank conflicts", f"{CONFLICT:g} x the ideal wavefronts of a line, or more, and not memory-bound",
         f"{PRACTICES}, Shared Memory and Memory Banks", _conflicts),
    Rule("scattered accesses", f"{CONFLICT:g} x the ideal sectors of a line, or more, and not memory-bound",
         f"{PRACTICES}, Coalesced Access to Global Memory", _uncoalesced),
)  # fmt: skip
"""What else the numbers say of a case: all that hold."""


def judge(case: Known) -> str:
    """The words on a case; empty if the numbers carry none."""
    bound = next(filter(None, (rule.says(case) for rule in BOUNDS)), "")
    return "; ".join(filter(None, [bound, *(rule.says(case) for rule in REMARKS)]))


def sentences(path: Path, frame: pd.DataFrame) -> list[tuple[int, str]]:
    """For each fast case of a profiled run its row and its sentence: the fastest of each ranking, and the tied ones."""
    counted = {row["row"] for row, _ in profiled.cases(path, frame, counters.NAME)}
    if not counted:
        return []
    limits = {row["row"]: section(record, "ceilings") for row, record in profiled.cases(path, frame, ceilings.NAME)}
    costs, names = lines.read(RunFolder(path)), [name for name in varying(frame) if name != "size"]
    found = []
    for ranking in headline_groups(frame):
        for row in (ranking.fastest, *ranking.tied)[:MOST_CASES]:
            known = _known(row, limits.get(row["row"], {}), costs.get(str(row["case"]), []))
            if row["row"] in counted and (words := judge(known)):
                at = f" at {size_of(row)}" if size_of(row) else ""
                found.append((row["row"], f"{described(row, names)}{at}: {words}."))
    return found


def _known(row: Mapping[str, Any], limits: Mapping[str, Any], costs: Sequence[LineCost]) -> Known:
    def number(name: str) -> float | None:
        return None if absent(row.get(name)) else float(row[name])

    gbps = profiled.numbers(limits.get("gbps"))
    share = gbps["measured"] / gbps["theoretical"] if len(gbps) > 1 and gbps["theoretical"] else None
    if share is None and number("percent_copy") and number("percent_peak"):
        share = float(row["percent_peak"]) / float(row["percent_copy"])
    dram = number("ncu_dram_percent")
    reached = number("percent_copy") if share else number("percent_peak")
    counted = None if dram is None else dram / share if share else dram
    return Known(row, reached, counted, "a copy" if share else "the peak", number("ncu_sm_percent"), costs)


def of_rules() -> Iterator[tuple[str, str, str]]:
    """The rules as a table: name, when it holds, source."""
    yield from ((rule.name, rule.when, rule.source) for rule in (*BOUNDS, *REMARKS))
