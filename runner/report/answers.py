"""The first screen of a report: the answers to what a reader asks first. No HTML here.

Is it right? The verdict says so. Then: which case is the fastest, by how much, why, and how sure is that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runner.device.kinds import is_gpu
from runner.display.text import absent, as_sentence, count, described, exact, size_of
from runner.record.ranking import Ranking, headline_groups
from runner.record.run import Run
from runner.report import bottlenecks, checks, counted, findings, ranked, searched
from runner.report.missing import command

Row = dict[str, Any]

MAX_OTHERS = 3  # further groups of comparable cases
NO_TIMES = "The CPU device has no times that say anything about a GPU."


@dataclass(frozen=True)
class Answer:
    """A question in a few words, and its answer."""

    question: str
    sentences: Sequence[str]
    command: str = ""  # that tells more
    about: str = ""  # what the command tells


@dataclass(frozen=True)
class FirstScreen:
    """What a reader sees first."""

    matches: str  # how many cases are right
    answers: Sequence[Answer]
    chart: ranked.RankedChart | None


def first_screen(run: Run) -> FirstScreen:
    """The answers of a run, and its ranked chart if it has several comparable cases."""
    groups, works = headline_groups(run), counted.works(run)
    chart: ranked.RankedChart | None = None
    if groups:
        answers = _timed(run, groups[0])
        chart = ranked.timed(run, groups[0]) if groups[0].among > 1 else None
    else:
        answers = _counted(run, works) if "ok" in set(run.frame["status"]) else []
        chart = counted.chart(run, works)
    sure = [*(_certainty(groups[0]) if groups else []), *checks.in_brief(run)]
    answers += [Answer("How sure", sure)] if sure else []
    names = findings.telling(run)
    rest, peers = groups[1:], ranked.peers(run)
    others = [findings.speeds(other, names, peers, run.criterion)[0] for other in rest[:MAX_OTHERS]]
    others += [f"{len(rest) - MAX_OTHERS} more in the table of the fastest."] if len(rest) > MAX_OTHERS else []
    others += [*searched.sentences(run), *findings.gpu_sentences(run.gpus), *findings.cautions(run)]
    answers += [Answer("Also", others)] if others else []
    return FirstScreen(" ".join(findings.matches(run)), answers, chart)


def _timed(run: Run, ranking: Ranking) -> list[Answer]:
    """Answers from the times of a GPU."""
    row, by, names = ranking.fastest, run.criterion, findings.telling(run)
    best = "Time" if ranking.among == 1 else "Fastest" if by.is_time else "Best"
    best += " that passed" if findings.level(run) == "bad" and ranking.among > 1 else ""
    names = [*names, *(["block"] if ranking.among == 1 and "block" not in names else [])]
    size, where = size_of(row), ranked.group_of(row, ranked.peers(run))
    place = f"{f' at {size}' if size else ''}{f' ({where})' if where else ''}"
    tied = len(ranking.tied)
    near = f"{count(tied, 'more case')} {'is' if tied == 1 else 'are'} tied with it." if tied else ""
    answers = [Answer(best, [f"{described(row, names)}{place}: {findings.speed(row, by)}.", *filter(None, [near])])]
    if much := ranked.lead(run, ranking, names):
        answers.append(Answer("By how much", [much]))
    why = bottlenecks.reasons(run, [row])[row["row"]]
    has_counters = not absent(row["ncu_sm_percent"])
    ask = "" if has_counters or not is_gpu(str(row["device"])) or run.search else command(run.path, *_uncounted(run))
    if why and (bottlenecks.names_a_bound(why) or has_counters):
        return [*answers, Answer("Why", [as_sentence(why)], ask, "More counts:")]
    reached = ranked.share(row, "percent_peak" if bottlenecks.exceed_a_copy([row]) else "percent_copy", by)
    unknown = "no rule of docs/profile.md names a limit" if has_counters else "what it waits for was not counted"
    said = as_sentence("; ".join(filter(None, [why or (reached and f"it {reached}"), unknown])))
    return [*answers, Answer("Why", [said], ask, "To count it:")]


def _uncounted(run: Run) -> list[str]:
    """The words of `runner profile` that count what a fast case waits for, and its lines if that is missing."""
    return ["ncu", *([] if run.folder.has(run.folder.lines) else ["lines"])]


def _counted(run: Run, works: Sequence[counted.Work]) -> list[Answer]:
    """Answers from counted memory work, in a run without a GPU."""
    if not works:
        if all(map(is_gpu, run.frame["device"])):
            return []
        is_known = any(row["status"] == "ok" and not is_gpu(str(row["device"])) for row in run.rows)
        ask = command(run.path, "lines") if is_known and not run.search else ""
        return [Answer("Speed", [NO_TIMES], ask, "To rank by memory work:")]
    least, *others = works
    size, names = size_of(least.row), findings.telling(run)
    where = f" at {size}" if size else ""
    also = f", {least.also}" if least.also else ""
    first = f"{described(least.row, names)}{where}: {least.traffic} of global memory traffic{also}."
    answers = [Answer("Least memory work" if others else "Memory work", [first, counted.NOT_TIME])]
    if much := as_sentence("; ".join(counted.leads(works, names))):
        answers.append(Answer("By how much", [much]))
    why = bottlenecks.reasons(run, [least.row])[least.row["row"]]
    ideal = counted.in_bytes(counted.SECTOR * least.ideal_sectors)
    ideally = (
        f"its traffic is ideal: adjacent accesses have {ideal}, too"
        if ideal == least.traffic
        else f"no line exceeds its ideal by much: {least.traffic}, where adjacent accesses would have {ideal}"
    )
    return [*answers, Answer("Why", [as_sentence(why or ideally)])]


def _certainty(ranking: Ranking) -> list[str]:
    """What is known of the error of the fastest time, and how many cases are as good."""
    row, words = ranking.fastest, []
    if not absent(row["ci_low_us"]) and not absent(row["ci_high_us"]):
        words.append(f"95 % interval {exact(row['ci_low_us'])} to {exact(row['ci_high_us'])} µs")
    if not absent(row["round_spread_percent"]) and not absent(row["rounds"]) and row["rounds"] > 1:
        spread = row["round_spread_percent"]
        words.append(f"{row['rounds']} rounds {f'differ by {spread:.2g} %' if spread else 'agree'}")
    undecided = len(ranking.undecided)
    words += [f"{count(undecided, 'more case')} may be tied with it (undecided)"] if undecided else []
    return [as_sentence("; ".join(words))] if words else []
