"""What a run found: the fastest cases and their ties, speed-ups, the steps of a ladder, and the verdict in sentences.

Times are compared by the rule of `runner.statistics`: the fastest with each other case. All cases of a device took
turns in one sweep, so they share its processes, and together they show the spread between rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from runner.device.kinds import RECORDING, caution
from runner.display.text import absent, count, described, listed, one_line, rough, size_of
from runner.kernel.metrics import Criterion
from runner.record.noise import DeviceNoise, of_device
from runner.record.run import PEERS, Run, read, size_key
from runner.record.runs import section
from runner.report import gpus, races, searched
from runner.statistics import ASSUMED, THRESHOLD, WIDEST_TIE, Side, Spread, decide, pooled

Row = dict[str, Any]
Level = Literal["good", "bad", "partial", "none"]

NORMAL = 1.96  # standard errors on either side of a median's interval

LOOSE = frozenset(("width", "mask", "unroll"))
"""Parameters that a baseline may not read, besides those that kernels declare. All others must be equal."""

LADDER = 3  # so many kernels, each the baseline of the next, are a ladder

WORDS: dict[Level, str] = {"good": "Passed", "bad": "Failed", "partial": "Not finished", "none": "Nothing ran"}
"""The level for those who see no colours."""

IDLE = ("skipped", "not_run")  # statuses of cases that were never launched
NAMED = 6  # tied cases, or kernels, that a sentence names
REASONS = 3  # that a sentence gives


TIME = Criterion()


@dataclass(frozen=True)
class Ranking:
    """A ranking of `among` comparable cases. The tied ones are slower than the fastest by at most the margin.

    Undecided cases may be tied or slower. Both are sorted by time; the margin is a fraction.
    """

    fastest: Row
    tied: tuple[Row, ...]
    undecided: tuple[Row, ...]
    margin: float
    among: int


@dataclass(frozen=True)
class Ratio:
    """The median of the baseline divided by that of the case: above 1 the case is faster.

    `row` and `baseline_row` are numbers of cases in results.csv. `low` and `high` are the ratios of the interval ends
    that are least and most favourable to the case.
    """

    row: int
    baseline_row: int
    times: float
    low: float
    high: float


@dataclass(frozen=True)
class Step:
    """A kernel and its baseline, which is empty for the first of a ladder: of each, the fastest case by size."""

    kernel: str
    before: str
    fastest: dict[str, Row]
    against: dict[str, Row]


@dataclass(frozen=True)
class Problem:
    """Cases that share a status and a reason, by their row numbers; not `failed` if they were never launched."""

    status: str
    reason: str
    rows: tuple[int, ...]
    failed: bool


@dataclass(frozen=True)
class Verdict:
    """What a reader should know first."""

    level: Level
    headline: str  # how many cases match, and the fastest
    further: tuple[str, ...]  # the tied cases by name, and the fastest of each further group of comparable cases
    cautions: tuple[str, ...]  # why some of the times should not be trusted, and what an emulation leaves open
    problems: tuple[Problem, ...]  # failures first, then the cases that were not launched


def noise(rows: Iterable[Row], device: Mapping[str, Any], by: Criterion = TIME) -> DeviceNoise:
    """The noise of a sweep on one device: from all its timed cases, and its section of environment.json."""
    spread = pooled(
        Spread(_spread(row, by), _rounds(row) - 1) for row in rows if not absent(row["round_spread_percent"])
    )
    return replace(of_device(device), spread=spread or Spread(ASSUMED, float("inf")))


def rank(rows: Iterable[Row], known: DeviceNoise, by: Criterion = TIME) -> Ranking:
    """Rank comparable cases, at least one, all of them timed on one GPU in a sweep of this noise."""
    best, *others = sorted(rows, key=lambda row: (_cost(row, by), row["row"]))
    pairs = [(_side(best, by), _side(row, by)) for row in others]
    # The fastest is the least of all cases, so every pair of them counts as compared.
    comparisons = len(others) * (len(others) + 1) // 2
    at_best = known.at(best["median_us"])
    if not by.is_time:
        us = float(best["median_us"])
        at_best = at_best.of_metric(by.elasticity(best, us), _cost(best, by) / us)
    found = decide(pairs, [at_best] * len(pairs), side_by_side=True, comparisons=comparisons)
    tied = [(row, min(d.threshold, WIDEST_TIE)) for row, d in zip(others, found, strict=True) if d.word == "tied"]
    undecided = tuple(row for row, d in zip(others, found, strict=True) if d.word == "undecided")
    margin = max((m for _, m in tied), default=THRESHOLD)
    return Ranking(best, tuple(row for row, _ in tied), undecided, margin, len(others) + 1)


def ranker(run: Run, by: Criterion = TIME) -> Callable[[Sequence[Row]], Ranking]:
    """A function that ranks comparable, measured cases of a run, given the noise of their device."""
    devices = run.devices
    known = {
        str(device): noise(run.of(rows).rows, section(devices, str(device)), by)
        for device, rows in run.measured.frame.groupby("device")
    }
    return lambda rows: rank(rows, known[str(rows[0]["device"])], by)


def fastest(run: Run) -> list[Ranking]:
    """The ranking of every size within every group of peers, in the order of results.csv, sizes ascending."""
    of_noise = ranker(run, run.criterion)
    return [
        of_noise(run.of(same_size).rows)
        for _, peers in run.ranked.frame.groupby(PEERS, dropna=False, sort=False)
        for _, same_size in peers.groupby(["size", "rows", "cols"], dropna=False)
    ]


def best_jobs(folder: Path) -> tuple[frozenset[int], frozenset[int]]:
    """The jobs of a folder's fastest cases, and of those that cannot be told from them, in all rankings."""
    rankings = fastest(read(folder))
    tied = (row for one in rankings for row in (*one.tied, *one.undecided))
    return frozenset(int(one.fastest["job"]) for one in rankings), frozenset(int(row["job"]) for row in tied)


def headline_groups(run: Run) -> list[Ranking]:
    """The fastest case at the largest size of each group of peers, the group with most cases first."""
    # A launch of a single block that only shuffles takes as long as any launch does.
    rankable = run.frame[(run.frame["shuffle"] == "") | (run.frame["grid"] != "1")]
    # Sizes ascend, so the ranking of the largest remains.
    largest = list({tuple(one.fastest[name] for name in PEERS): one for one in fastest(run.of(rankable))}.values())
    compared = [one for one in largest if one.among > 1]
    # A case that is compared with nothing is not the fastest. The table has its time.
    return sorted(compared or (largest if len(largest) == 1 else []), key=lambda one: -one.among)


def differing_peers(run: Run) -> list[str]:
    """The columns that separate groups of peers in this run."""
    rows = run.ranked.frame
    return [name for name in PEERS if len(rows[name].unique()) > 1]


def ratios(run: Run) -> dict[int, Ratio]:
    """The ratio of every measured case that has one, by its row: against the baseline with the same parameters."""
    rows = run.measured.rows
    loose = [name for name in run.parameters if name in LOOSE or name in run.own_parameters]
    firm = [name for name in (*run.parameters, "rows", "cols", "place") if name not in loose and name != "kernel"]

    def key(row: Row, kernel: str) -> tuple[Any, ...]:
        return (str(row[kernel]), *(None if absent(row[name]) else row[name] for name in firm))

    candidates: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        candidates.setdefault(key(row, "kernel"), []).append(row)
    found: dict[int, Ratio] = {}
    for row in rows:
        near = candidates.get(key(row, "baseline"), [])
        same = [b for b in near if all(absent(b[n]) or (not absent(row[n]) and b[n] == row[n]) for n in loose)]
        if len(same) == 1 and same[0]["row"] != row["row"]:  # of several, none is picked
            found[row["row"]] = ratio(same[0], row)
    return found


def ratio(base: Row, row: Row) -> Ratio:
    """The ratio of two timed cases."""
    (base_low, base_high), (low, high) = _interval(base), _interval(row)
    return Ratio(row["row"], base["row"], base["median_us"] / row["median_us"], base_low / high, base_high / low)


def ladder(run: Run) -> list[str]:
    """The kernels of a run in the order of their steps, each behind its baseline; empty if they form no ladder."""
    before = _steps_before(run)
    next_steps: dict[str, list[str]] = {str(kernel): [] for kernel in run.frame["kernel"]}
    for kernel, baseline in before.items():
        next_steps[baseline].append(kernel)
    # Kernels in a circle have no first.
    lines = [_line(kernel, next_steps) for kernel in next_steps if kernel not in before]
    return [kernel for line, height in lines if height >= LADDER for kernel in line]


def best_of(run: Run) -> dict[tuple[str, str, str, str], dict[str, Row]]:
    """The best case of each device, place, dtype and kernel by size, sizes ascending."""
    best: dict[tuple[str, str, str, str], dict[str, Row]] = {}
    costed = (row for row in run.measured.rows if not absent(row["cost"]))
    for row in sorted(costed, key=lambda row: (*size_key(row), row["cost"], row["row"])):
        best.setdefault((row["device"], row["place"], row["dtype"], row["kernel"]), {}).setdefault(size_of(row), row)
    return best


def steps(run: Run) -> list[Step]:
    """Best against best: the fastest case of each kernel at each size, and that of its baseline.

    The kernels of a ladder come first, in its order, then the others that have a baseline in the run.
    """
    before, best, line = _steps_before(run), best_of(run), ladder(run)
    groups = dict.fromkeys(key[:3] for key in best)
    return [
        Step(kernel, before.get(kernel, ""), best[*group, kernel], best.get((*group, before.get(kernel, "")), {}))
        for group in groups
        for kernel in (*line, *(kernel for kernel in before if kernel not in line))
        if (*group, kernel) in best
    ]


def judge(run: Run) -> Verdict:
    """The verdict on a run."""
    right = int((run.frame["status"] == "ok").sum())
    shown = [name for name in run.measured.varying if name not in ("size", "device", "dtype", "seed")]
    apart = [name for name in differing_peers(run) if name != "device"]
    by, ceilings = run.criterion, run.of(run.frame[run.frame["ceiling"] == "True"]).measured
    further: list[str] = []
    headline = _matches(run, right)
    for number, one in enumerate(headline_groups(run)):
        first, *more = _speeds(one, shown, apart, by)
        (further if number else headline).append(first)
        further += ([] if number else more) + _ceiling(one, ceilings, shown, by)
    further += searched.sentences(run)
    further += gpus.sentences(run.gpus)
    return Verdict(level(run), " ".join(headline), tuple(further), _cautions(run), _problems(run))


def level(run: Run) -> Level:
    """The verdict on a run in a word."""
    statuses = set(run.frame["status"])
    if statuses - {"ok", *IDLE}:
        return "bad"
    if "ok" not in statuses:
        return "none"
    return "partial" if incomplete(run) else "good"


def incomplete(run: Run) -> bool:
    """Whether cases, or rounds of them, were not reached."""
    return "not_run" in set(run.frame["status"]) or run.unfinished


def _spread(row: Row, by: Criterion) -> float:
    """The standard deviation between the rounds, as a fraction of what the case is ranked by."""
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
    """The baseline of each kernel that has another kernel of the run as its baseline."""
    pairs = zip(run.frame["kernel"], run.frame["baseline"], strict=True)
    kernels = set(run.frame["kernel"])
    return {str(kernel): str(base) for kernel, base in pairs if base in kernels and base != kernel}


def _line(kernel: str, next_steps: dict[str, list[str]]) -> tuple[list[str], int]:
    """A kernel with all steps behind it, short branches first, and how many steps the longest has."""
    branches = sorted((_line(step, next_steps) for step in next_steps[kernel]), key=lambda branch: branch[1])
    height = 1 + max((height for _, height in branches), default=0)
    return [kernel, *(step for line, _ in branches for step in line)], height


def _speeds(one: Ranking, shown: list[str], apart: list[str], by: Criterion) -> list[str]:
    """The fastest case of a group of peers and its ties, in one or two sentences."""
    row, size = one.fastest, size_of(one.fastest)
    group = ", ".join(f"{name} {one_line(str(row[name]), 40)}" for name in apart if not absent(row[name]))
    where = (f" at {size}" if size else "") + (f" ({group})" if group else "")
    if one.among == 1:
        return [f"{described(row, shown)}{where} takes {_speed(row, by)}."]
    best = "Fastest" if by.is_time else f"Best {by.name}"
    parts = ((one.tied, f"tied within {100 * one.margin:.1f} %"), (one.undecided, "undecided"))
    near = [f"{count(len(p), 'more case')} {'is' if len(p) == 1 else 'are'} {word}" for p, word in parts if p]
    first = f"{best}{where}: {described(row, shown)} ({_speed(row, by)})." + (f" {'; '.join(near)}." if near else "")
    names = [described(tied, shown) for tied in one.tied[:NAMED]]
    more = [f"{len(one.tied) - NAMED} more"] if len(one.tied) > NAMED else []
    if not names or len(set(names)) < len(names):  # cases of different seeds have one name
        return [first]
    return [first, f"Tied with it, because this measurement cannot tell them apart: {'; '.join(names + more)}."]


def _ceiling(one: Ranking, ceilings: Run, shown: list[str], by: Criterion) -> list[str]:
    """The fastest ceiling of the same work as a ranking's, in a sentence."""

    def work(row: Row) -> list[str]:
        return [size_of(row), *(str(row[name]) for name in PEERS)]

    alike = sorted((row for row in ceilings.rows if work(row) == work(one.fastest)), key=lambda row: row["median_us"])
    if not alike:
        return []
    row = alike[0]
    return [
        f"Ceiling at {size_of(row)}: {described(row, shown)} ({_speed(row, by)}), which does less and is not ranked."
    ]


def _speed(row: Row, by: Criterion) -> str:
    """Time, bandwidth and share of the limits; what cases are ranked by behind the time."""
    limits = [("percent_peak", "the peak"), ("percent_copy", "a copy")]
    shares = [f"{row[name]:.0f} % of {limit}" for name, limit in limits if not absent(row[name])]
    bandwidth = [] if absent(row["gbps"]) else [f"{rough(row['gbps'])} GB/s", *shares]
    value = None if by.is_time or by.name == "gbps" else by.value(row, row["median_us"])
    ranked = [] if value is None else [f"{rough(value)} {by.unit or by.name}"]
    return ", ".join([f"{rough(row['median_us'])} µs", *ranked, *bandwidth])


def _matches(run: Run, right: int) -> list[str]:
    statuses = run.frame["status"].value_counts(sort=False)
    others = [_counted(str(status), number) for status, number in statuses.items() if status != "ok"]
    if run.frame.empty:
        return ["The run has no cases."]
    if set(statuses.index) <= set(IDLE):
        return [f"{listed(others)}."]
    noun = "case matches" if len(run.frame) == 1 else "cases match"
    tail = f"; {', '.join(others)}" if others else ""
    undefined = int(((run.frame["status"] == "ok") & (run.frame["undefined_reads"].fillna(0) > 0)).sum())
    matching = count(undefined, "matching case")
    reads = [f"In {matching} lanes read undefined values, which are not compared."] if undefined else []
    if (run.frame["device"] == RECORDING).all():  # the other tuner may have compared nothing
        are = "is" if right == 1 else "are"
        return [f"{right:,} of {count(len(run.frame), 'case')} {are} correct in the recording{tail}."]
    return [f"{right:,} of {len(run.frame):,} {noun} the CPU reference{tail}.", *reads]


def _counted(status: str, number: int) -> str:
    """A number of cases with a status: `1 hazard`, `2 mismatches`, `3 skipped`."""
    word = status.replace("_", " ")
    ending = "es" if status == "mismatch" else "s" if word.endswith(("error", "hazard", "timeout")) else ""
    return f"{number:,} {word}{ending if number > 1 else ''}"


def _problems(run: Run) -> tuple[Problem, ...]:
    groups = run.frame[run.frame["status"] != "ok"].groupby(["status", "reason"], sort=False)
    found = [
        Problem(str(status), str(reason), tuple(int(row) for row in rows.index), failed=status not in IDLE)
        for (status, reason), rows in groups
    ]
    return tuple(sorted(found, key=lambda problem: not problem.failed))


def _cautions(run: Run) -> tuple[str, ...]:
    right, devices = run.measured.frame, run.devices
    floors = [section(devices, kind).get("empty_kernel_us") for kind in devices]
    empty = [f": an empty kernel takes {rough(floor)} µs" for floor in floors if isinstance(floor, int | float)]
    flags = {
        "timer_limited": f"most of the time is launch overhead{''.join(empty[:1])}",
        "host_bound": "the host queued launches too slowly, so these times include host overhead",
        "throttled": "the GPU was throttled despite pauses; clock_reasons says why",
    }
    numbers = {name: int((right[name] == "True").sum()) for name in flags}
    words = [f"In {count(n, 'case')} {flags[name]} ({name})." for name, n in numbers.items() if n]
    lack = run.lack_rounds
    fewer = [f"{count(lack, 'case')} with fewer rounds than planned: the run has not ended."] * bool(lack)
    launched = run.frame[~run.frame["status"].isin((*IDLE, "compile_error"))]
    kinds = sorted(set(run.frame["device"]))
    looked = {kind: races.sentence(run, kind) for kind in kinds}
    checked = {kind: _checked(run, kind, looked[kind]) for kind in sorted(set(launched["device"]))}
    further = [looked[kind] for kind in kinds if not checked.get(kind)]
    return (*fewer, *words, *filter(None, [*further, *checked.values()]), *_not_tried(run))


def _checked(run: Run, kind: str, looked: str) -> str:
    """What a run without a GPU has checked, as far as right cases were launched for it; empty for a GPU."""
    right = run.frame[(run.frame["device"] == kind) & (run.frame["status"] == "ok")]

    def words(column: str, what: str) -> str:
        number = int((right[column].fillna(0) > 0).sum())
        return "" if not number else what if number == len(right) else f"{what}: {number} of {len(right)} cases"

    sizes, orders = words("size_launches", "at other sizes"), words("order_launches", "in other orders of threads")
    return caution(kind, sizes, orders, looked)


def _not_tried(run: Run) -> list[str]:
    """The kernels that were not tried at other sizes, and why, in one sentence; empty if there are none."""
    lacking = run.frame[(run.frame["status"] == "ok") & (run.frame["sizes_not_tried"] != "")]
    groups = {
        str(reason): list(dict.fromkeys(rows["kernel"]))
        for reason, rows in lacking.groupby("sizes_not_tried", sort=False)
    }
    parts = []
    for reason, kernels in groups.items():
        names = [one_line(str(kernel), 60) for kernel in kernels[:NAMED]]
        more = [f"{len(kernels) - NAMED} more"] if len(kernels) > NAMED else []
        parts.append(f"{listed([*names, *more])} ({one_line(reason, 120)})")
    further = [f"{count(len(parts) - REASONS, 'more reason')}"] if len(parts) > REASONS else []
    return [f"Other sizes were not tried for {'; '.join([*parts[:REASONS], *further])}."] if parts else []
