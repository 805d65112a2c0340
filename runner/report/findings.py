"""The findings of a run in sentences: the verdict, the fastest cases and their ties, their limits, the problems.

Also how much the GPUs of a sweep differ, and how many variants the check for races covered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from runner.device.kinds import RECORDING, caution
from runner.display.text import absent, count, described, limited, listed, one_line, rough, size_of
from runner.kernel.metrics import Criterion
from runner.record import gpus
from runner.record.ranking import IDLE, Ranking, differing_peers, headline_groups
from runner.record.run import PEERS, Run
from runner.record.runs import section
from runner.report import searched
from runner.report.missing import command
from runner.stages.races.variants import APART, POSTPONED
from runner.statistics import THRESHOLD

Row = dict[str, Any]

Level = Literal["good", "bad", "partial", "none"]

LEVEL_NAMES: dict[Level, str] = {"good": "Passed", "bad": "Failed", "partial": "Not finished", "none": "Nothing ran"}

MAX_NAMES = 6  # tied cases, or kernels, in a sentence
MAX_REASONS, MAX_RACE_REASONS = 3, 2  # in a sentence

RACES = "Races, uninitialized and out-of-bounds accesses"
RACE_FOUND = "checked CPU device"  # part of the reason of a row with a race or another of these findings
OWN_SIZE = "its own size"  # in `races_at`


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
    headline: str  # how many cases match, and the fastest
    further: tuple[str, ...]  # the tied cases, and the fastest of each further group of comparable cases
    cautions: tuple[str, ...]  # which times not to trust, and what an emulation does not check
    problems: tuple[Problem, ...]  # failures first, then the cases that were not launched


def judge(run: Run) -> Verdict:
    """Judge a run."""
    names = [name for name in run.measured.varying if name not in ("size", "device", "dtype", "seed")]
    peers = [name for name in differing_peers(run) if name != "device"]
    by, ceilings = run.criterion, run.part(run.frame[run.frame["ceiling"] == "True"]).measured
    further: list[str] = []
    headline = _matches(run)
    for number, ranking in enumerate(headline_groups(run)):
        first, *more = _speeds(ranking, names, peers, by)
        (further if number else headline).append(first)
        further += ([] if number else more) + _ceiling(ranking, ceilings, names, by)
    further += [*searched.sentences(run), *gpu_sentences(run.gpus)]
    return Verdict(level(run), " ".join(headline), tuple(further), _cautions(run), _problems(run))


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


def _speeds(ranking: Ranking, names: list[str], peers: list[str], by: Criterion) -> list[str]:
    """The fastest case of a group of peers and its ties, in one or two sentences."""
    row, size = ranking.fastest, size_of(ranking.fastest)
    group = ", ".join(f"{name} {one_line(str(row[name]), 40)}" for name in peers if not absent(row[name]))
    where = (f" at {size}" if size else "") + (f" ({group})" if group else "")
    if ranking.among == 1:
        return [f"{described(row, names)}{where} takes {_speed(row, by)}."]
    best = "Fastest" if by.is_time else f"Best {by.name}"
    parts = ((ranking.tied, f"tied within {100 * ranking.margin:.1f} %"), (ranking.undecided, "undecided"))
    near = [f"{count(len(p), 'more case')} {'is' if len(p) == 1 else 'are'} {word}" for p, word in parts if p]
    first = f"{best}{where}: {described(row, names)} ({_speed(row, by)})." + (f" {'; '.join(near)}." if near else "")
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
    speed = f"{described(row, names)} ({_speed(row, by)})"
    return [f"Ceiling at {size_of(row)}: {speed}, which does less and is not ranked."]


def _speed(row: Row, by: Criterion) -> str:
    """Format time, ranking criterion, bandwidth and share of the limits."""
    limits = [("percent_peak", "the peak"), ("percent_copy", "a copy")]
    shares = [f"{row[name]:.0f} % of {limit}" for name, limit in limits if not absent(row[name])]
    bandwidth = [] if absent(row["gbps"]) else [f"{rough(row['gbps'])} GB/s", *shares]
    value = None if by.is_time or by.name == "gbps" else by.value(row, row["median_us"])
    ranked = [] if value is None else [f"{rough(value)} {by.unit or by.name}"]
    return ", ".join([f"{rough(row['median_us'])} µs", *ranked, *bandwidth])


def _matches(run: Run) -> list[str]:
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


def _cautions(run: Run) -> tuple[str, ...]:
    measured, devices = run.measured.frame, run.devices
    floors = [section(devices, kind).get("empty_kernel_us") for kind in devices]
    empty = [f": an empty kernel takes {rough(floor)} µs" for floor in floors if isinstance(floor, int | float)]
    flags = {
        "timer_limited": f"most of the time is launch overhead{''.join(empty[:1])}",
        "host_bound": "the host queued launches too slowly, so these times include host overhead",
        "throttled": "the GPU was throttled despite pauses; clock_reasons says why",
    }
    numbers = {name: int((measured[name] == "True").sum()) for name in flags}
    flagged = [f"In {count(n, 'case')} {flags[name]} ({name})." for name, n in numbers.items() if n]
    lack = run.lack_rounds
    has = "has" if lack == 1 else "have"
    fewer = [f"{count(lack, 'case')} {has} fewer rounds than planned, because the run has not ended."] * bool(lack)
    launched = run.frame[~run.frame["status"].isin((*IDLE, "compile_error"))]
    races = {kind: races_sentence(run, kind) for kind in sorted(set(run.frame["device"]))}
    checked = {kind: _checked(run, kind, races[kind]) for kind in sorted(set(launched["device"]))}
    unchecked = [sentence for kind, sentence in races.items() if not checked.get(kind)]
    return (*fewer, *flagged, *filter(None, [*unchecked, *checked.values()]), *_sizes_not_tried(run))


def _checked(run: Run, kind: str, races: str) -> str:
    """What a run without a GPU has checked; empty for a GPU."""
    correct = run.frame[(run.frame["device"] == kind) & (run.frame["status"] == "ok")]

    def share(column: str, what: str) -> str:
        number = int((correct[column].fillna(0) > 0).sum())
        return "" if not number else what if number == len(correct) else f"{what}: {number} of {len(correct)} cases"

    sizes, orders = share("size_launches", "at other sizes"), share("order_launches", "in other orders of threads")
    return caution(kind, sizes, orders, races)


def _sizes_not_tried(run: Run) -> list[str]:
    """One sentence on the kernels that were not tried at other sizes, and why; an empty list if all were."""
    lacking = run.frame[(run.frame["status"] == "ok") & (run.frame["sizes_not_tried"] != "")]
    parts = []
    for reason, rows in lacking.groupby("sizes_not_tried", sort=False):
        kernels = [one_line(str(kernel), 60) for kernel in dict.fromkeys(rows["kernel"])]
        parts.append(f"{listed(limited(kernels, MAX_NAMES))} ({one_line(str(reason), 120)})")
    further = [f"{count(len(parts) - MAX_REASONS, 'more reason')}"] if len(parts) > MAX_REASONS else []
    return [f"Other sizes were not tried for {'; '.join([*parts[:MAX_REASONS], *further])}."] if parts else []


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


def races_sentence(run: Run, kind: str) -> str:
    """Describe the check for races of the cases on a kind of device, such as `cpu`; empty if none was requested."""
    rows = [row for row in run.rows if row["device"] == kind]
    if not any(row["races_at"] or row["races_skipped"] for row in rows):
        return ""
    unasked = "a search looks at its winners only" if run.search else "not asked for"
    names = [name for name in run.parameters if name not in (*APART, "device")]
    variants: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        requested = row["races_at"] or row["races_skipped"]
        if requested or row["status"] == "ok":
            known = row if requested else {**row, "races_skipped": unasked}
            variants.setdefault(tuple(str(row[name]) for name in names), []).append(known)
    checked = [group for group in variants.values() if all(row["races_at"] for row in group)]
    if not checked:
        return f"{RACES} were not looked for: {_skipped_reasons(run.path, variants.values())}."
    number = sum(any(RACE_FOUND in str(row["reason"]) for row in group) for group in checked)
    small = " at small sizes" if any(row["races_at"] != OWN_SIZE for group in checked for row in group) else ""
    others = [group for group in variants.values() if group not in checked]
    more = f" Not in the others: {_skipped_reasons(run.path, others)}." if others else ""
    total = f"{len(checked):,} of {count(len(variants), 'variant')}"
    return f"{RACES}: looked for in {total}{small}, {f'found in {number:,}' if number else 'none found'}.{more}"


def _skipped_reasons(folder: Path, variants: Iterable[list[Row]]) -> str:
    """Why variants of a run were not checked, the most frequent reasons first, and what to do."""
    reasons = Counter(str(next(row["races_skipped"] for row in rows if not row["races_at"])) for rows in variants)
    first = reasons.most_common(MAX_RACE_REASONS)
    words = [f"{reason}{f' ({number:,})' if len(reasons) > 1 else ''}" for reason, number in first]
    more = reasons.total() - sum(number for _, number in first)
    words += [f"and {more:,} more, see races_skipped"] if more else []
    advice = f"; `{command(folder, 'races')}` looks for them" if set(POSTPONED) & set(reasons) else ""
    return one_line("; ".join(words), 400) + advice
