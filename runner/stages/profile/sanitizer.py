"""`profile=sanitizer`: run compute-sanitizer over one launch of each case, in a separate process.

Each tool launches all cases in one process. compute-sanitizer does not say which launch an error belongs to, so the
cases of a kernel that it names are launched again, each in a process of its own.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from runner.errors import Finding, Place, join_findings
from runner.jobs.job import Job
from runner.stages.profile.counters import functions
from runner.stages.profile.stage import ProfileStage, Row, StageResult, Tools
from runner.stages.profile.watched import OUTPUT, ToolRun, watch, watch_all

NAME = "sanitizer"
STATUSES = ("ok", "mismatch", "launch_error", "crashed", "timeout")

OPTIONS = {"initcheck": ("--check-api-memory-access", "no"), "racecheck": ("--racecheck-report", "all")}

_BAR = "========="
_FUNCTION = re.compile(r"\bat (?:void )?([\w:]+)")
_LINE = re.compile(r" in \S*?([^\s/]+\.cuh?):(\d+)")
_STARTS = re.compile(
    r"(Error|Warning|Info|Invalid|Uninitialized|Barrier|Race|Misaligned|Fatal|Unused|Divergent|Host|Program hit)\b"
)
_THREAD = re.compile(r"[Tt]hread \((\d+),(\d+),(\d+)\)")
_BLOCK = re.compile(r"block \((\d+),(\d+),(\d+)\)")
_NEAR = re.compile(r"is ([\d,]+ bytes (?:before|after)|inside) the nearest allocation at \w+ of size ([\d,]+) bytes")
_HAZARDS = re.compile(r"\[(\d+) hazards?\]")
_NOWHERE = (0, 0, 0)


@dataclass(frozen=True)
class Record:
    """One error record of compute-sanitizer."""

    kernel: str  # the function in which it happened
    words: str  # the record's first line, without positions
    lines: tuple[int, ...]  # source lines, in the record's order
    files: tuple[str, ...] = ()  # names of their files
    threads: tuple[Place, ...] = ()  # in the record's order
    block: Place | None = None  # the record's first block
    near: str = ""  # what is wrong with the address: misaligned, or its distance from an array
    count: int = 1  # how often it happened


def sanitizer_records(text: str, kernels: Collection[str]) -> list[Record]:
    """Parse compute-sanitizer's log.

    Args:
        text: The log.
        kernels: Names of functions; records of other functions are skipped.
    """
    found = []
    for record in _records(text):
        named = [function.rpartition(":")[2] for line in record for function in _FUNCTION.findall(line)]
        kernel = next((name for name in named if name in kernels), "")
        joined = " ".join(record)
        if not kernel:
            kernel = next((name for name in kernels if re.search(rf"\b{name}\b", joined)), "")
        if kernel:
            places = dict.fromkeys((file, int(number)) for line in record for file, number in _LINE.findall(line))
            words = re.split(r" at | between ", record[0])[0].strip()
            near = _NEAR.search(joined)
            where = f"{near[1]} an allocation of {near[2]} bytes" if near else ""
            hazards = _HAZARDS.search(joined)
            found.append(
                Record(
                    kernel,
                    words,
                    tuple(line for _, line in places),
                    tuple(file for file, _ in places),
                    tuple(_place(numbers) for numbers in _THREAD.findall(joined)),
                    next(map(_place, _BLOCK.findall(joined)), None),
                    f"misaligned, {where}" if " is misaligned" in joined else where,
                    int(hazards[1]) if hazards else 1,
                )
            )
    return found


def findings(records: Sequence[Record], tool: str) -> list[Finding]:
    """Merge records of the same kind at the same lines into one finding, with its first thread."""
    groups: dict[tuple[str, frozenset[tuple[str, int]]], list[Record]] = {}
    for one in records:
        if not one.words.startswith(("Warning", "Info", "Unused")):
            groups.setdefault((_kind(one, tool), frozenset(zip(one.files, one.lines, strict=True))), []).append(one)
    return [_finding(kind, sorted(group, key=lambda one: not one.threads), tool) for (kind, _), group in groups.items()]


class Sanitizer(ProfileStage):
    """Runs compute-sanitizer's tools over each case and turns findings into hazards."""

    name = NAME

    def wants(self, job: Job, row: Row) -> bool:
        """Select the cases that were launched, including those that mismatch, crash or time out."""
        return bool(job.profile.sanitizer) and row["status"] in STATUSES

    def measure(self, jobs: Sequence[Job], tools: Tools) -> Iterator[tuple[Job, StageResult]]:
        """Run each tool over all cases, then yield the findings of each case."""
        if shutil.which("compute-sanitizer") is None:
            tools.say("no sanitizer: compute-sanitizer is not on the PATH; it comes with the CUDA toolkit")
            return
        found: dict[int, list[Finding]] = {job.number: [] for job in jobs}
        failed: dict[int, list[str]] = {job.number: [] for job in jobs}
        for tool in jobs[0].profile.sanitizer:
            tools.progress.stage(f"profiling ({tool})", len(jobs))
            for job, seen in self._alone(tool, jobs, tools):
                if seen.broken:
                    tools.say(f"no sanitizer: {tool}: {seen.reason}")
                    return
                found[job.number] += findings(sanitizer_records(seen.output, functions(job.case)), tool)
                if seen.failed is job:
                    failed[job.number].append(f"{tool}: {seen.reason}")
        tools.progress.stage("profiling (sanitizer)", len(jobs))
        for job in jobs:
            own = {one.key: one for one in reversed(found[job.number])}
            kept = tuple(reversed(own.values()))
            record: dict[str, object] = {"tools": jobs[0].profile.sanitizer, "findings": len(kept)}
            if failed[job.number] and not kept:
                record["reason"] = f"the launch failed under {'; '.join(failed[job.number])}"
            yield job, StageResult(record, _hazard(tools, job, kept))

    def _alone(self, tool: str, jobs: Sequence[Job], tools: Tools) -> Iterator[tuple[Job, ToolRun]]:
        """Yield each case with errors, and a run of the tool that launched only this case."""
        for seen in watch_all(command(tool), jobs, tools, "--checked"):
            if seen.broken:
                yield jobs[0], seen
            launched = [*seen.done, *([seen.failed] if seen.failed else [])]
            kernels = {name for job in launched for name in functions(job.case)}
            named = {one.kernel for one in sanitizer_records(seen.output, kernels)}
            suspects = [job for job in launched if job is seen.failed or named.intersection(functions(job.case))]
            if len(launched) == 1 or not suspects:
                yield from ((job, seen) for job in suspects)
                continue
            for job in suspects:
                yield job, watch(command(tool), [job], tools, "--checked")


def command(tool: str) -> list[str]:
    """Build the compute-sanitizer command line, to be followed by the command to check."""
    options = ["--destroy-on-device-error", "kernel", "--show-backtrace", "no", "--print-limit", "1000"]
    options += ["--target-processes", "all", "--log-file", OUTPUT]
    return ["compute-sanitizer", "--tool", tool, *options, *OPTIONS.get(tool, ())]


def _hazard(tools: Tools, job: Job, found: tuple[Finding, ...]) -> Row:
    """Write a case's findings to its hazards.json, and return the columns that they change."""
    if not found:
        return {}
    tools.folder.write_json(tools.folder.hazards(job.number), [asdict(one) for one in found])
    before = tools.rows[job.number]
    also = f"; without the sanitizer: {before['status']}: {before['reason']}" if before.get("reason") else ""
    return {"status": "hazard", "reason": join_findings([one.text for one in found]) + also}


def _records(text: str) -> Iterator[list[str]]:
    """Split a log into the lines of each record, without the bar. A record begins with a word such as `Error`."""
    record: list[str] = []
    for line in text.splitlines():
        if not line.startswith(_BAR):
            continue
        words = line.removeprefix(_BAR)
        if _STARTS.match(words.strip()) and not words.startswith("     "):
            if record:
                yield record
            record = [words.strip()]
        elif not words.strip() or "SUMMARY" in words:
            if record:
                yield record
            record = []
        elif record:
            record.append(words.strip())
    if record:
        yield record


def _kind(one: Record, tool: str) -> str:
    if tool == "racecheck":
        return "race"
    if tool == "initcheck":
        return "unwritten"
    if tool == "synccheck":
        return "barrier"
    return "misaligned" if "isaligned" in f"{one.words} {one.near}" else "outside"


def _finding(kind: str, group: Sequence[Record], tool: str) -> Finding:
    one = group[0]
    places = [f"{Path(file).name}:{line}" for file, line in zip(one.files, one.lines, strict=True)]
    line, other = (*places, "", "")[:2]
    block, threads = one.block or _NOWHERE, (*one.threads, _NOWHERE, _NOWHERE)
    words = one.words.removeprefix("Error: ").removesuffix(" detected").replace(" detected. ", ": ").rstrip(".")
    text = f"{line or one.kernel}: {words[:1].lower()}{words[1:]}"
    if other:
        text += f" with {other}"
    if one.near:
        text += f", {one.near}"
    if one.threads:
        text += f"; block {_words(block)}, thread {_words(threads[0])}"
        text += f" and thread {_words(threads[1])}" if kind == "race" and len(one.threads) > 1 else ""
    count = max(sum(each.count for each in group if not each.threads), sum(1 for each in group if each.threads), 1)
    text += f" ({count} times, {tool})" if count > 1 else f" ({tool})"
    space = "shared" if "__shared__" in one.words or kind in ("race", "barrier") else "global"
    others = (block, threads[1]) if kind == "race" and len(one.threads) > 1 else (None, None)
    return Finding(kind, text, line, other, "", space, 0, count, block, threads[0], *others)


def _place(numbers: Sequence[str]) -> Place:
    x, y, z = map(int, numbers)
    return x, y, z


def _words(place: Place) -> str:
    return str(place[0]) if place[1:] == (0, 0) else str(place)
