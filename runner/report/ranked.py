"""The ranked chart: the best case of each kernel, or the variants of a single kernel, the fastest first. No HTML here.

ranking of a GPU's cases ─timed─▶ RankedChart ◀─`counted`─ counted memory work of a run without a GPU
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from runner.display.text import (
    absent,
    as_sentence,
    described,
    exact,
    limited,
    listed,
    one_line,
    rough,
    sentences,
    size_of,
    value_of,
)
from runner.kernel.metrics import Criterion
from runner.record.ranking import Ranking, best_beside, best_of, differing_peers, first_baseline, ranker, ratio
from runner.record.run import PEERS, Run
from runner.report import bottlenecks
from runner.report.tables import limits

Row = dict[str, Any]
Standing = Literal["first", "tied", "undecided", "behind"]

MAX_BARS = 12
MAX_OTHERS = 3  # kernels without a bar that are named
TWICE = 2.0  # from here on a ratio is told as a multiple, not in percent
SAME_BYTES = 1.01  # cases whose bytes differ by more share no ceiling

NOT_PLACES = ("kernel", "size", "device", "dtype", "seed")
"""Parameters that do not tell the bars of a chart apart, or that are their names."""

DOUBTS = {"tied": ", too little to tell them apart", "undecided": ", undecided: it may be chance"}
"""What is said of a case that is behind, by its standing."""


@dataclass(frozen=True)
class Bar:
    """A case. Lengths are fractions of the chart's width."""

    row: int  # in results.csv
    name: str  # its kernel; empty if the chart has one kernel only
    details: str  # the values of the other parameters that vary
    length: float
    low: float  # ends of the interval; both are `length` if it is unknown
    high: float
    value: str  # with unit
    gain: str  # against the chart's baseline, or behind the fastest
    standing: Standing
    reason: str  # what limits it; empty if unknown


@dataclass(frozen=True)
class Rule:
    """A line through all bars: the baseline, or a ceiling."""

    at: float  # fraction of the chart's width
    label: str
    kind: Literal["baseline", "peak", "ceiling"]


@dataclass(frozen=True)
class RankedChart:
    """The bars, the best first."""

    heading: str
    bars: Sequence[Bar]
    rules: Sequence[Rule]
    value_head: str
    gain_head: str
    reason_head: str
    note: str  # how to read it
    more: int  # cases that are not drawn


def peers(run: Run) -> list[str]:
    """The columns that separate the groups of comparable cases in this run."""
    return [name for name in differing_peers(run) if name != "device"]


def group_of(row: Row, peers: Sequence[str]) -> str:
    """The group of a case in words, such as `finish host`."""
    return ", ".join(f"{name} {one_line(str(row[name]), 40)}" for name in peers if not absent(row[name]))


def lead(run: Run, ranking: Ranking, names: Sequence[str]) -> str:
    """By how much the fastest case leads over its first baseline and over the next; empty if there is neither."""
    first, (best, *others) = ranking.fastest, _entries(run, ranking)
    base, parts = _baseline(run, ranking), list[str]()
    if base is not None and base is not first:
        over = ratio(base, first)
        name = one_line(str(base["kernel"]), 60)
        parts.append(f"{over.times:.2f}x as fast as the baseline {name} ({over.low:.2f}x to {over.high:.2f}x)")
    if others and not (parts and base is not None and others[0]["row"] == base["row"]):
        after = others[0]
        times, doubt = float(after["cost"]) / float(best["cost"]), DOUBTS.get(_standing(after, ranking), "")
        behind = f"is {times:.2f}x slower" if times >= TWICE else f"is behind by {100 * (times - 1):.1f} %"
        differing = [name for name in names if value_of(name, after) != value_of(name, best)]
        if after["kernel"] == best["kernel"] and differing:
            following = (
                f"with {listed([f'{name} {one_line(value_of(name, after), 40)}' for name in differing])} instead"
            )
        else:
            following = described(after, list(names))
        parts.append(f"the next, {following}, {behind}{doubt}")
    return as_sentence("; ".join(parts))


def distances(run: Run, ranking: Ranking) -> str:
    """How fast each kernel is relative to the baseline, if `lead` leaves that open; empty without a baseline."""
    base = _baseline(run, ranking)
    if base is None:
        return ""
    told = (base["kernel"], ranking.fastest["kernel"])
    others = [row for row in _entries(run, ranking) if row["kernel"] not in told]
    if not others:
        return ""
    rank, words = ranker(run), []
    for row in others:
        pair = rank([base, row])
        doubt = " (tied)" if pair.tied else " (undecided)" if pair.undecided else ""
        words.append(f"{one_line(str(row['kernel']), 60)} {ratio(base, row).times:.2f}x{doubt}")
    size = size_of(ranking.fastest)
    where = f" at {size}" if size else ""
    name = one_line(str(base["kernel"]), 60)
    return f"Speed relative to the baseline {name}{where}: {listed(limited(words, MAX_OTHERS))}."


def timed(run: Run, ranking: Ranking) -> RankedChart:
    """The chart of the cases that a ranking compares, by time or by what the run ranks them by."""
    entries, by = _entries(run, ranking), run.criterion
    several = len({row["kernel"] for row in entries}) > 1
    shown, base = entries[:MAX_BARS], _baseline(run, ranking) if several else None
    reasons = bottlenecks.reasons(run, shown)
    is_why = any(reasons.values())
    limit = "percent_peak" if bottlenecks.exceed_a_copy(shown) else "percent_copy"
    ends = {row["row"]: _interval(row, by) for row in shown}
    marks = _ceilings(run, ranking, shown) if by.is_time else {}
    values = {row["row"]: _value(row, by, float(row["median_us"])) for row in shown}
    name = one_line(str(base["kernel"]), 40) if base else ""
    if base:
        marks[f"baseline {name}"] = _value(base, by, base["median_us"])
    width = 1.02 * max([*values.values(), *(high for _, high in ends.values()), *marks.values()])
    names = [name for name in run.measured.varying if name not in NOT_PLACES]
    same = "" if several else _same_in_all(names, shown)
    names = [name for name in names if several or len({value_of(name, row) for row in shown}) > 1 or len(shown) == 1]
    gain = _gains(run, ranking, base)
    bars = [
        Bar(
            row=row["row"],
            name=one_line(str(row["kernel"]), 60) if several else "",
            details=", ".join(f"{name} {one_line(v, 40)}" for name in names if (v := value_of(name, row))),
            length=values[row["row"]] / width,
            low=ends[row["row"]][0] / width,
            high=ends[row["row"]][1] / width,
            value=f"{exact(values[row['row']])}{' µs' if by.is_time else ''}",
            gain=gain(row),
            standing=_standing(row, ranking),
            reason=bottlenecks.in_brief(reasons[row["row"]]) or share(row, limit, by, "reaches " if is_why else ""),
        )
        for row in shown
    ]
    size, kernel = size_of(ranking.fastest), one_line(str(ranking.fastest["kernel"]), 60)
    what = "The best case of each kernel" if several else f"The variants of {kernel}"
    rules = [Rule(at / width, label, _kind(label)) for label, at in marks.items()]
    word = "median time" if by.is_time else f"{by.name}{f', {by.unit}' if by.unit else ''} ({by.better} is better)"
    is_grey = any(bar.standing in DOUBTS for bar in bars)
    grey = "Grey: this measurement cannot tell the case from the fastest one." if is_grey else ""
    note = sentences(grey, "Thin line: 95 % interval.", _others(run, entries))
    against = f"speed-up over {name}" if base else "behind the fastest"
    copy = "the peak bandwidth" if limit == "percent_peak" else "a copy's bandwidth"
    limits_head = "what limits it" if is_why else f"share of {copy}" if by.is_bandwidth else ""
    group = group_of(ranking.fastest, peers(run))
    heading = f"{what}{f' at {size}' if size else ''}{same}{f' ({group})' if group else ''}"
    return RankedChart(heading, bars, rules, word, against, limits_head, note, len(entries) - len(shown))


def _entries(run: Run, ranking: Ranking) -> list[Row]:
    """The cases of a ranking, the fastest first; of several kernels only the fastest case of each."""
    first = ranking.fastest

    def alike(row: Row) -> bool:
        return all(_same(row[name], first[name]) for name in (*PEERS, "size", "rows", "cols"))

    ordered = sorted(filter(alike, run.ranked.rows), key=lambda row: (row["cost"], row["row"]))
    kernels: dict[str, Row] = {}
    for row in ordered:
        kernels.setdefault(str(row["kernel"]), row)
    return list(kernels.values()) if len(kernels) > 1 else ordered


def _same_in_all(names: Sequence[str], rows: Sequence[Row]) -> str:
    """What several bars have in common though it varies in the run, each behind a comma."""
    values = {name: {value_of(name, row) for row in rows} for name in names}
    same = [f"{name} {one_line(v, 40)}" for name, (v, *more) in values.items() if v and not more and len(rows) > 1]
    return f", {', '.join(same)}" if same else ""


def _others(run: Run, entries: Sequence[Row]) -> str:
    """Which ranked kernels have no bar, because their cases are no match for these ones; empty if all have one."""
    shown, apart = {row["kernel"] for row in entries}, peers(run)
    others: dict[str, str] = {}
    for row in run.ranked.rows:
        if row["kernel"] not in shown:
            others.setdefault(one_line(str(row["kernel"]), 60), group_of(row, apart) or size_of(row))
    names = limited([f"{name} ({why})" if why else name for name, why in others.items()], MAX_OTHERS)
    return f"Not comparable with these: {listed(names)}." if names else ""


def _same(one: Any, other: Any) -> bool:
    return (absent(one) and absent(other)) or bool(one == other)


def _baseline(run: Run, ranking: Ranking) -> Row | None:
    """The fastest case, at the ranking's size, of the kernel that ends the chain of baselines from the fastest case's.

    It is the fastest case itself if its kernel is the baseline of others. If the fastest case has nothing to do with a
    baseline, such as a second library, it is the baseline of the fastest case that has one.
    """
    first = ranking.fastest
    beside = best_beside(first, best_of(run)).items()
    best = {kernel: row for kernel, row in beside if row["family"] == first["family"]}
    row = first_baseline(first, best)
    if row is not first or any(r["baseline"] == first["kernel"] for r in best.values() if r is not first):
        return row
    others = sorted(best.values(), key=lambda row: float(row["cost"]))
    return next((base for other in others if (base := first_baseline(other, best)) is not other), None)


def above(ratio: float) -> str:
    """How much more than the least: in percent, from twice as much on as a multiple."""
    return f"{ratio:.2f}x" if ratio >= TWICE else f"{100 * (ratio - 1):+.1f} %"


def _standing(row: Row, ranking: Ranking) -> Standing:
    number = row["row"]
    if number == ranking.fastest["row"]:
        return "first"
    if number in {tied["row"] for tied in ranking.tied}:
        return "tied"
    return "undecided" if number in {near["row"] for near in ranking.undecided} else "behind"


def _gains(run: Run, ranking: Ranking, base: Row | None) -> Callable[[Row], str]:
    """How to say what a case gains: a speed-up over the baseline, or without one how far it is behind the fastest."""
    rank, cost = ranker(run), float(ranking.fastest["cost"])

    def gain(row: Row) -> str:
        if base is None:
            standing, much = _standing(row, ranking), above(float(row["cost"]) / cost).removeprefix("+")
            return "fastest" if standing == "first" else f"{much}, {standing}" if standing in DOUBTS else much
        if row["row"] == base["row"]:
            return "baseline"
        pair = rank([base, row])
        word = ", like it" if pair.tied else ", unsure" if pair.undecided else ""
        word = f", {standing}" if (standing := _standing(row, ranking)) in DOUBTS else word
        return f"{ratio(base, row).times:.2f}x{word}"

    return gain


def _ceilings(run: Run, ranking: Ranking, rows: Sequence[Row]) -> dict[str, float]:
    """Times in microseconds that bound these cases, by label: of a copy, at the peak, of kernels that do less."""
    marks = {}
    moved = [
        float(row["bytes_read"] or 0) + float(row["bytes_written"] or 0) for row in rows if not absent(row["gbps"])
    ]
    if len(moved) == len(rows) and max(moved) <= SAME_BYTES * min(moved):
        words = {"peak": "the peak bandwidth", "copy": "the bandwidth of a copy, which reads and writes"}
        marks = {
            f"as many bytes at {words[name]}, {rough(gbps)} GB/s": moved[0] / gbps / 1000
            for name, gbps in limits(list(rows)).items()
        }
    first = ranking.fastest
    for row in run.measured.rows:
        same = all(_same(row[name], first[name]) for name in (*PEERS, "size", "rows", "cols"))
        if same and row["ceiling"] == "True":
            label = f"{one_line(str(row['kernel']), 40)}, declared a ceiling, as it does less"
            marks[label] = min(float(row["median_us"]), marks.get(label, float("inf")))
    return marks


def _kind(label: str) -> Literal["baseline", "peak", "ceiling"]:
    return "baseline" if label.startswith("baseline") else "peak" if " at the peak " in label else "ceiling"


def _value(row: Row, by: Criterion, us: float) -> float:
    value = by.value(row, us)
    return float(us) if value is None else value


def _interval(row: Row, by: Criterion) -> tuple[float, float]:
    ends = [row[name] for name in ("ci_low_us", "ci_high_us")]
    low, high = sorted(_value(row, by, row["median_us"] if absent(end) or end <= 0 else end) for end in ends)
    return low, high


def share(row: Row, limit: str, by: Criterion, verb: str = "reaches ") -> str:
    """The share of the bandwidth that a case reaches, after a verb; empty if it is unknown, or not what ranks."""
    limit = "percent_peak" if absent(row[limit]) else limit
    word = "the peak bandwidth" if limit == "percent_peak" else "the bandwidth of a copy"
    return "" if absent(row[limit]) or not by.is_bandwidth else f"{verb}{row[limit]:.0f} % of {word}"
