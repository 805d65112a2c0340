"""The findings of a run in sentences: the verdict, the fastest cases and their ties, their limits, the problems.

Also how much the GPUs of a sweep differ. `checks` says what was checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from runner.device.kinds import RECORDING
from runner.display.text import absent, count, described, limited, listed, one_line, rough, sentences, size_of
from runner.kernel.metrics import Criterion
from runner.record import gpus
from runner.record.ranking import IDLE, Ranking, headline_groups
from runner.record.run import PEERS, Run
from runner.record.runs import section
from runner.report import checks, counted, ranked, searched
from runner.report.bottlenecks import MOST
from runner.statistics import THRESHOLD

Row = dict[str, Any]

Level = Literal["good", "bad", "partial", "none"]

LEVEL_NAMES: dict[Level, str] = {"good": "Passed", "bad": "Failed", "partial": "Not finished", "none": "Nothing ran"}

MAX_NAMES = 6  # tied cases, or kernels, in a sentence


@dataclass(frozen=True)
class Problem:
    """Cases with the same status and reason."""

    status: str
    reason: str
    rows: tuple[Row, ...]
    failed: bool  # false if they were never launched


@dataclass(frozen=True)
class Verdict:
    """The verdict on a run: the first part of every report."""

    level: Level
    headline: str  # how many cases match, the fastest, and by how much
    further: tuple[str, ...]  # the tied cases, and the fastest of each further group of comparable cases
    cautions: tuple[str, ...]  # which times not to trust, and what an emulation does not check
    problems: tuple[Problem, ...]  # failures first, then the cases that were not launched
    brief_cautions: tuple[str, ...] = ()  # the same as `cautions`, with one line for what was checked


def judge(run: Run) -> Verdict:
    """Judge a run."""
    names = telling(run)
    by, ceilings = run.criterion, run.part(run.frame[run.frame["ceiling"] == "True"]).measured
    further: list[str] = []
    headline = matches(run)
    for number, ranking in enumerate(headline_groups(run)):
        first, *more = speeds(ranking, names, ranked.peers(run), by)
        first = sentences(first, ranked.lead(run, ranking, names))
        (further if number else headline).append(first)
        if not number:
            further += [*more, *filter(None, [ranked.distances(run, ranking)])]
        further += _ceiling(ranking, ceilings, names, by)
    works = counted.works(run)
    headline += [counted.sentence(run, works)] if len(works) > 1 else []
    further += [*searched.sentences(run), *gpu_sentences(run.gpus)]
    doubts, whole, brief = cautions(run), checks.sentences(run), checks.in_brief(run)
    problems = _problems(run)
    return Verdict(level(run), " ".join(headline), tuple(further), (*doubts, *whole), problems, (*doubts, *brief))


def telling(run: Run) -> list[str]:
    """The parameters that tell the cases in sentences apart; a size is always said."""
    shown = run.measured if len(run.measured.frame) else run
    return [name for name in shown.varying if name not in ("size", "device", "dtype", "seed")]


def level(run: Run) -> Level:
    """The level of a run: `bad` if a case failed, `none` if none is ok, `partial` if some were not reached."""
    statuses = set(run.frame["status"])
    if statuses - {"ok", *IDLE}:
        return "bad"
    if "ok" not in statuses:
        return "none"
    return "partial" if incomplete(run) else "good"


def incomplete(run: Run) -> bool:
    """Whether cases or rounds were not reached."""
    return "not_run" in set(run.frame["status"]) or run.unfinished


def speeds(ranking: Ranking, names: list[str], peers: list[str], by: Criterion) -> list[str]:
    """The fastest case of a group of peers and its ties, in one or two sentences."""
    row, size = ranking.fastest, size_of(ranking.fastest)
    group = ranked.group_of(row, peers)
    where = (f" at {size}" if size else "") + (f" ({group})" if group else "")
    if ranking.among == 1:
        return [f"{described(row, names)}{where} takes {speed(row, by)}."]
    best = "Fastest" if by.is_time else f"Best {by.name}"
    parts = ((ranking.tied, f"tied within {100 * ranking.margin:.1f} %"), (ranking.undecided, "undecided"))
    near = [f"{count(len(p), 'more case')} {'is' if len(p) == 1 else 'are'} {word}" for p, word in parts if p]
    first = f"{best}{where}: {described(row, names)} ({speed(row, by)})." + (f" {'; '.join(near)}." if near else "")
    tied = [described(row, names) for row in ranking.tied]
    if not tied or len(set(tied[:MAX_NAMES])) < len(tied[:MAX_NAMES]):  # the names of cases that differ in the seed
        return [first]
    tied = limited(tied, MAX_NAMES)
    return [first, f"Tied with it, because this measurement cannot tell them apart: {'; '.join(tied)}."]


def _ceiling(ranking: Ranking, ceilings: Run, names: list[str], by: Criterion) -> list[str]:
    """A sentence on the fastest ceiling kernel of the same work as a ranking."""

    def work(row: Row) -> list[str]:
        return [size_of(row), *(str(row[name]) for name in PEERS)]

    rows = [row for row in ceilings.rows if work(row) == work(ranking.fastest)]
    if not rows:
        return []
    row = min(rows, key=lambda row: float(row["median_us"]))
    return [
        f"Ceiling at {size_of(row)}: {described(row, names)} ({speed(row, by)}), which does less and is not ranked."
    ]


def speed(row: Row, by: Criterion) -> str:
    """Format time, ranking criterion, bandwidth and share of the limits."""
    limits = [("percent_peak", "the peak"), ("percent_copy", "a copy")]
    # A kernel that hardly writes may exceed a copy, which is no limit for it then.
    shares = [f"{row[name]:.0f} % of {limit}" for name, limit in limits if not absent(row[name]) and row[name] <= MOST]
    value = None if by.is_bandwidth else by.value(row, row["median_us"])
    ranked = [] if value is None else [f"{rough(value)} {by.unit or by.name}"]
    bandwidth = [] if absent(row["gbps"]) else [f"{rough(row['gbps'])} GB/s", *([] if ranked else shares)]
    return ", ".join([f"{rough(row['median_us'])} µs", *ranked, *bandwidth])


def matches(run: Run) -> list[str]:
    """How many cases match their reference, and the statuses of the others, in sentences."""
    statuses = run.frame["status"].value_counts(sort=False)
    others = [_format_status_count(str(status), number) for status, number in statuses.items() if status != "ok"]
    if run.frame.empty:
        return ["The run has no cases."]
    if set(statuses.index) <= set(IDLE):
        return [f"{listed(others)}."]
    correct, total = run.frame["status"] == "ok", len(run.frame)
    number, tail = int(correct.sum()), f"; {', '.join(others)}" if others else ""
    if (run.frame["device"] == RECORDING).all():  # another tuner may not have compared results
        return [
            f"{number:,} of {count(total, 'case')} {'is' if number == 1 else 'are'} correct in the recording{tail}."
        ]
    undefined = int((correct & (run.frame["undefined_reads"].fillna(0) > 0)).sum())
    matching = count(undefined, "matching case")
    reads = [f"In {matching} lanes read undefined values, which are not compared."] if undefined else []
    noun = "case matches" if total == 1 else "cases match"
    return [f"{number:,} of {total:,} {noun} the CPU reference{tail}.", *reads]


def _format_status_count(status: str, number: int) -> str:
    """Format a number of cases with a status: `1 hazard`, `2 mismatches`, `3 skipped`."""
    word = status.replace("_", " ")
    ending = "es" if status == "mismatch" else "s" if word.endswith(("error", "hazard", "timeout")) else ""
    return f"{number:,} {word}{ending if number > 1 else ''}"


def _problems(run: Run) -> tuple[Problem, ...]:
    groups = run.frame[run.frame["status"] != "ok"].groupby(["status", "reason"], sort=False)
    problems = [
        Problem(str(status), str(reason), tuple(run.part(rows).rows), failed=status not in IDLE)
        for (status, reason), rows in groups
    ]
    return tuple(sorted(problems, key=lambda problem: not problem.failed))


def cautions(run: Run) -> tuple[str, ...]:
    """Which times not to trust, and why."""
    measured, devices = run.measured.frame, run.devices
    floors = [section(devices, kind).get("empty_kernel_us") for kind in devices]
    empty = [f": an empty kernel takes {rough(floor)} µs" for floor in floors if isinstance(floor, int | float)]
    flags = {
        "timer_limited": f"most of the time is launch overhead{''.join(empty[:1])}",
        "host_bound": "the host queued launches too slowly, so the time includes host overhead",
        "throttled": "the GPU was throttled despite pauses; clock_reasons says why",
    }
    first = {ranking.fastest["row"] for ranking in headline_groups(run)[:1]}
    several = measured["kernel"].nunique() > 1
    flagged = []
    for name, words in flags.items():
        rows = [row for row in run.measured.rows if str(row[name]) == "True"]
        kernels = dict.fromkeys(one_line(str(row["kernel"]), 60) for row in rows)
        whose = f" of {listed(limited(list(kernels), MAX_NAMES))}" if several else ""
        best = len(measured) > 1 and first & {row["row"] for row in rows}
        cases = f"{count(len(rows), 'case')}{whose}{', the fastest among them,' if best else ''}"
        flagged += [f"In {cases} {words} ({name})."] * bool(rows)
    flagged += _far_baselines(run.measured)
    lack = run.lack_rounds
    has = "has" if lack == 1 else "have"
    fewer = [f"{count(lack, 'case')} {has} fewer rounds than planned, because the run has not ended."] * bool(lack)
    return *fewer, *flagged


def _far_baselines(measured: Run) -> list[str]:
    """Which kernels name a baseline of the run that no case of theirs is compared with, and why."""
    peers = measured.frame[["kernel", "baseline", *PEERS]].astype(str).drop_duplicates()
    found = []
    for kernel, baseline in peers[["kernel", "baseline"]].drop_duplicates().itertuples(index=False):
        own, theirs = (peers[peers["kernel"] == name] for name in (kernel, baseline))
        if theirs.empty or not own.merge(theirs, on=PEERS).empty:
            continue
        differing = [name for name in PEERS if not set(own[name]) & set(theirs[name])] or PEERS
        values = [(name, one_line(own[name].iloc[0], 40), one_line(theirs[name].iloc[0], 40)) for name in differing]
        why = listed([f"{name} {mine}, not {other}" for name, mine, other in values])
        names = f"{one_line(str(kernel), 60)} is not compared with its baseline {one_line(str(baseline), 60)}"
        found.append(f"{names}: it has the {why}.")
    return found


def gpu_sentences(environment: Mapping[str, Any]) -> list[str]:
    """Describe each GPU model with several GPUs: how much they differ, and how their cases are ranked."""
    sentences = []
    for name, alike in gpus.by_model(environment).items():
        number = len({gpu.uuid for gpu in alike})
        if number < 2:
            continue
        times, percent = [gpu.us for gpu in alike], 100 * gpus.spread(alike)
        drift = 100 * max(abs(gpu.drift) for gpu in alike)
        sentences.append(
            f"{count(number, 'GPU')} of the model {name}: the reference case {alike[0].case} takes {rough(min(times))} "
            f"to {rough(max(times))} µs on them, a spread of {percent:.2f} %; on one GPU, from the first round to the "
            f"last, it changes by at most {drift:.2f} %. {_how_ranked(environment, alike)}"
        )
    return sentences


def _how_ranked(environment: Mapping[str, Any], alike: Sequence[gpus.Gpu]) -> str:
    if not section(environment, "launcher").get("replicate"):
        return "Cases are ranked within one GPU."
    if gpus.spread(alike) > THRESHOLD:
        return f"That is more than {100 * THRESHOLD:g} %, so each GPU's cases are ranked on their own."
    return "Each GPU measured all cases: a time is the mean over the GPUs, and its interval includes their difference."
