"""The fastest cases of a run and their ties, speed-ups over baselines, and the steps of a ladder.

The fastest case is compared with each other case by the rule of `runner.statistics`. All cases of a device were
measured in turns in one sweep, so they share its processes, and their rounds together give the spread between rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from runner.display.text import absent, size_of
from runner.kernel.metrics import Criterion
from runner.record.noise import DeviceNoise, read_device_noise
from runner.record.run import PEERS, Run, read, size_key
from runner.record.runs import section
from runner.statistics import ASSUMED, MAX_TIE, NORMAL, THRESHOLD, Side, Spread, decide, pooled

Row = dict[str, Any]

LOOSE = frozenset(("width", "mask", "unroll"))
"""Parameters that a baseline may lack, as may those that kernels declare. All others must be equal."""

MIN_LADDER = 3  # length of a ladder: kernels of which each is the baseline of the next

IDLE = ("skipped", "not_run")  # statuses of cases that were never launched

TIME = Criterion()


@dataclass(frozen=True)
class Ranking:
    """A ranking of `among` comparable cases. Tied ones are slower than the fastest by at most `margin`, a fraction.

    Undecided cases may be tied or slower. Both lists are sorted by time.
    """

    fastest: Row
    tied: tuple[Row, ...]
    undecided: tuple[Row, ...]
    margin: float
    among: int


@dataclass(frozen=True)
class Ratio:
    """The speed-up of a case: the median of its baseline divided by its own median.

    `row` and `baseline_row` are row numbers in results.csv. `low` and `high` are the ratios of the interval ends that
    are least and most favourable to the case.
    """

    row: int
    baseline_row: int
    times: float
    low: float
    high: float


@dataclass(frozen=True)
class Step:
    """A kernel and its baseline `before`, with the fastest case of each by size. A ladder's first has no baseline."""

    kernel: str
    before: str
    fastest: dict[str, Row]
    against: dict[str, Row]


def noise(rows: Iterable[Row], device: Mapping[str, Any], by: Criterion = TIME) -> DeviceNoise:
    """The noise of a sweep on one device, given its timed cases and the device's entry in environment.json."""
    spread = pooled(
        Spread(_spread(row, by), _rounds(row) - 1) for row in rows if not absent(row["round_spread_percent"])
    )
    return replace(read_device_noise(device), spread=spread or Spread(ASSUMED, float("inf")))


def rank(rows: Iterable[Row], device_noise: DeviceNoise, by: Criterion = TIME) -> Ranking:
    """Rank comparable cases, at least one, that one GPU timed in one sweep with this noise."""
    best, *others = sorted(rows, key=lambda row: (_cost(row, by), row["row"]))
    pairs = [(_side(best, by), _side(row, by)) for row in others]
    # The fastest is selected from all cases, so every pair of cases counts as a comparison.
    comparisons = len(others) * (len(others) + 1) // 2
    at_best = device_noise.at(best["median_us"])
    if not by.is_time:
        us = float(best["median_us"])
        at_best = at_best.of_metric(by.elasticity(best, us), _cost(best, by) / us)
    decisions = decide(pairs, [at_best] * len(pairs), side_by_side=True, comparisons=comparisons)
    tied, undecided = (
        tuple(row for row, d in zip(others, decisions, strict=True) if d.word == word) for word in ("tied", "undecided")
    )
    margin = max((min(d.threshold, MAX_TIE) for d in decisions if d.word == "tied"), default=THRESHOLD)
    return Ranking(best, tied, undecided, margin, len(others) + 1)


def ranker(run: Run, by: Criterion = TIME) -> Callable[[Sequence[Row]], Ranking]:
    """A function that ranks comparable, measured cases of a run, given the noise of their device."""
    by_device = {
        str(device): noise(run.part(rows).rows, section(run.devices, str(device)), by)
        for device, rows in run.measured.frame.groupby("device")
    }
    return lambda rows: rank(rows, by_device[str(rows[0]["device"])], by)


def fastest(run: Run) -> list[Ranking]:
    """The ranking of each size in each group of peers: groups in the order of results.csv, sizes ascending."""
    rank_rows = ranker(run, run.criterion)
    return [
        rank_rows(run.part(same_size).rows)
        for _, peers in run.ranked.frame.groupby(PEERS, dropna=False, sort=False)
        for _, same_size in peers.groupby(["size", "rows", "cols"], dropna=False)
    ]


def best_jobs(folder: Path) -> tuple[frozenset[int], frozenset[int]]:
    """The jobs of a folder's fastest cases, and the jobs of cases tied or undecided with them, of all rankings."""
    rankings = fastest(read(folder))
    tied = (row for ranking in rankings for row in (*ranking.tied, *ranking.undecided))
    return frozenset(int(r.fastest["job"]) for r in rankings), frozenset(int(row["job"]) for row in tied)


def headline_groups(run: Run) -> list[Ranking]:
    """The ranking at the largest size of each group of peers, the group with most cases first."""
    # A launch of one block that only shuffles measures the launch overhead.
    rankable = run.part(run.frame[(run.frame["shuffle"] == "") | (run.frame["grid"] != "1")])
    # Sizes ascend, so the ranking of the largest remains.
    largest = list({tuple(ranking.fastest[name] for name in PEERS): ranking for ranking in fastest(rankable)}.values())
    compared = [ranking for ranking in largest if ranking.among > 1]
    # Calling a case the fastest needs a second one to compare it with.
    return sorted(compared or (largest if len(largest) == 1 else []), key=lambda ranking: -ranking.among)


def differing_peers(run: Run) -> list[str]:
    """The columns that separate groups of peers in this run."""
    return [name for name in PEERS if run.ranked.frame[name].nunique(dropna=False) > 1]


def ratios(run: Run) -> dict[int, Ratio]:
    """The ratios of measured cases to their baselines with the same parameters, by row number.

    A case without exactly one such baseline has no ratio.
    """
    rows = run.measured.rows
    loose = [name for name in run.parameters if name in LOOSE or name in run.own_parameters]
    firm = [name for name in (*run.parameters, "rows", "cols", "place") if name not in loose and name != "kernel"]

    def key(row: Row, kernel: str) -> tuple[Any, ...]:
        return (str(row[kernel]), *(None if absent(row[name]) else row[name] for name in firm))

    candidates: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        candidates.setdefault(key(row, "kernel"), []).append(row)
    by_row: dict[int, Ratio] = {}
    for row in rows:
        near = candidates.get(key(row, "baseline"), [])
        same = [b for b in near if all(absent(b[n]) or (not absent(row[n]) and b[n] == row[n]) for n in loose)]
        if len(same) == 1 and same[0]["row"] != row["row"]:
            by_row[row["row"]] = ratio(same[0], row)
    return by_row


def ratio(base: Row, row: Row) -> Ratio:
    """The ratio of a timed case to a timed baseline."""
    (base_low, base_high), (low, high) = _interval(base), _interval(row)
    return Ratio(row["row"], base["row"], base["median_us"] / row["median_us"], base_low / high, base_high / low)


def ladder(run: Run) -> list[str]:
    """The kernels of a run's ladders in order, each after its baseline; empty if the run has no ladder."""
    before = _steps_before(run)
    next_steps: dict[str, list[str]] = {str(kernel): [] for kernel in run.frame["kernel"]}
    for kernel, baseline in before.items():
        next_steps[baseline].append(kernel)
    # Kernels whose baselines form a cycle have no first one, so they are in no ladder.
    ladders = [_ladder(kernel, next_steps) for kernel in next_steps if kernel not in before]
    return [kernel for kernels, height in ladders if height >= MIN_LADDER for kernel in kernels]


def best_of(run: Run) -> dict[tuple[str, str, str, str], dict[str, Row]]:
    """The best case of each device, place, dtype and kernel by size, sizes ascending."""
    best: dict[tuple[str, str, str, str], dict[str, Row]] = {}
    costed = (row for row in run.measured.rows if not absent(row["cost"]))
    for row in sorted(costed, key=lambda row: (*size_key(row), row["cost"], row["row"])):
        best.setdefault((row["device"], row["place"], row["dtype"], row["kernel"]), {}).setdefault(size_of(row), row)
    return best


def best_beside(row: Row, best: Mapping[tuple[str, str, str, str], Mapping[str, Row]]) -> dict[str, Row]:
    """The best case of each kernel on a case's device, with its dtype, at its size; `best` is that of `best_of`."""
    where, size = (row["device"], row["place"], row["dtype"]), size_of(row)
    return {key[3]: rows[size] for key, rows in best.items() if key[:3] == where and size in rows}


def first_baseline(row: Row, best: Mapping[str, Row]) -> Row:
    """The case at the end of the chain of baselines that starts with a case; the case itself if it has none.

    A ceiling ends the chain before it: it does less, so that nothing is a speed-up over it.
    `best` has the best case of each kernel that may be compared with it.
    """
    found, seen = row, {str(row["kernel"])}
    while (before := str(found["baseline"])) in best and before not in seen and best[before]["ceiling"] != "True":
        found = best[before]
        seen.add(before)
    return found


def steps(run: Run) -> list[Step]:
    """The fastest case of each kernel at each size, with the fastest case of its baseline.

    The kernels of ladders come first, in order, then other kernels with a baseline in the run.
    """
    before, best, kernels = _steps_before(run), best_of(run), ladder(run)
    groups = dict.fromkeys(key[:3] for key in best)
    return [
        Step(kernel, before.get(kernel, ""), best[*group, kernel], best.get((*group, before.get(kernel, "")), {}))
        for group in groups
        for kernel in (*kernels, *(kernel for kernel in before if kernel not in kernels))
        if (*group, kernel) in best
    ]


def _spread(row: Row, by: Criterion) -> float:
    """The standard deviation between the rounds, as a fraction of the value that the case is ranked by."""
    spread, us = float(row["round_spread_percent"]) / 100.0, float(row["median_us"])
    if by.is_time:
        return spread
    low, cost, high = (by.cost(row, us * share) for share in (1.0 - spread, 1.0, 1.0 + spread))
    return abs(high - low) / (2.0 * cost) if min(low, cost, high) > 0 else spread


def _cost(row: Row, by: Criterion) -> float:
    return by.cost(row, float(row["median_us"]))


def _side(row: Row, by: Criterion) -> Side:
    median, low, high = _cost(row, by), row["ci_low_us"], row["ci_high_us"]
    if not absent(low) and not absent(high) and low > 0:
        low, high = sorted((by.cost(row, low), by.cost(row, high)))
    error = 0.0 if absent(low) or absent(high) else (high - low) / (2.0 * NORMAL * median)
    return Side(median, _rounds(row), None, median, median, median, fresh=True, error=error)


def _rounds(row: Row) -> int:
    return 1 if absent(row["rounds"]) else max(1, int(row["rounds"]))


def _interval(row: Row) -> tuple[float, float]:
    low, high = row["ci_low_us"], row["ci_high_us"]
    if absent(low) or absent(high) or low <= 0:
        return row["median_us"], row["median_us"]
    return low, high


def _steps_before(run: Run) -> dict[str, str]:
    """The baseline of each kernel, if it is another kernel of the run."""
    pairs = zip(run.frame["kernel"], run.frame["baseline"], strict=True)
    kernels = set(run.frame["kernel"])
    return {str(kernel): str(base) for kernel, base in pairs if base in kernels and base != kernel}


def _ladder(kernel: str, next_steps: dict[str, list[str]]) -> tuple[list[str], int]:
    """A kernel and all kernels that build on it, short branches first, and the length of the longest branch."""
    branches = sorted((_ladder(step, next_steps) for step in next_steps[kernel]), key=lambda branch: branch[1])
    height = 1 + max((height for _, height in branches), default=0)
    return [kernel, *(step for steps, _ in branches for step in steps)], height
