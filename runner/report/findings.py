"""The findings of a run in sentences: the verdict, the fastest cases and their ties, their limits, the problems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from runner.device.kinds import RECORDING, caution
from runner.display.text import absent, count, described, listed, one_line, rough, size_of
from runner.kernel.metrics import Criterion
from runner.record.ranking import IDLE, Ranking, differing_peers, headline_groups
from runner.record.run import PEERS, Run
from runner.record.runs import section
from runner.report import gpus, races, searched

Row = dict[str, Any]

Level = Literal["good", "bad", "partial", "none"]

WORDS: dict[Level, str] = {"good": "Passed", "bad": "Failed", "partial": "Not finished", "none": "Nothing ran"}
"""The level in words."""

NAMED = 6  # most tied cases, or kernels, in a sentence

REASONS = 3  # most reasons in a sentence


@dataclass(frozen=True)
class Problem:
    """Cases with the same status and reason."""

    status: str
    reason: str
    rows: tuple[int, ...]  # row numbers
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
    right = int((run.frame["status"] == "ok").sum())
    shown = [name for name in run.measured.varying if name not in ("size", "device", "dtype", "seed")]
    apart = [name for name in differing_peers(run) if name != "device"]
    by, ceilings = run.criterion, run.with_frame(run.frame[run.frame["ceiling"] == "True"]).measured
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
    if not names or len(set(names)) < len(names):  # cases that differ in the seed have the same name
        return [first]
    return [first, f"Tied with it, because this measurement cannot tell them apart: {'; '.join(names + more)}."]


def _ceiling(one: Ranking, ceilings: Run, shown: list[str], by: Criterion) -> list[str]:
    """A sentence on the fastest ceiling kernel of the same work as a ranking."""

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
    """Format time, ranking criterion, bandwidth and share of the limits."""
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
    if (run.frame["device"] == RECORDING).all():  # another tuner may not have compared results
        are = "is" if right == 1 else "are"
        return [f"{right:,} of {count(len(run.frame), 'case')} {are} correct in the recording{tail}."]
    return [f"{right:,} of {len(run.frame):,} {noun} the CPU reference{tail}.", *reads]


def _counted(status: str, number: int) -> str:
    """Format a number of cases with a status: `1 hazard`, `2 mismatches`, `3 skipped`."""
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
    """What a run without a GPU has checked; empty for a GPU."""
    right = run.frame[(run.frame["device"] == kind) & (run.frame["status"] == "ok")]

    def words(column: str, what: str) -> str:
        number = int((right[column].fillna(0) > 0).sum())
        return "" if not number else what if number == len(right) else f"{what}: {number} of {len(right)} cases"

    sizes, orders = words("size_launches", "at other sizes"), words("order_launches", "in other orders of threads")
    return caution(kind, sizes, orders, looked)


def _not_tried(run: Run) -> list[str]:
    """One sentence on the kernels that were not tried at other sizes, and why; an empty list if all were."""
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
