"""`profile=sanitizer`: run compute-sanitizer over one launch of each case, in a separate process.

Each tool launches all cases in one process. compute-sanitizer does not say which launch an error belongs to, so the
cases of a kernel that it names are launched again, each in a process of its own.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from runner.errors import Finding, Place, join_findings
from runner.jobs.job import Job
from runner.kernel.sizes import format_changed_parameters, reduced
from runner.stages.profile.counters import functions
from runner.stages.profile.launch import compile_jobs
from runner.stages.profile.stage import ProfileStage, Row, StageResult, Tools
from runner.stages.profile.watched import OUTPUT, ToolRun, watch, watch_all

NAME = "sanitizer"

REDUCED = frozenset({"racecheck"})  # tools that take seconds for a million threads; what they find is within a block
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
    message: str  # the record's first line, without positions
    lines: tuple[int, ...]  # source lines, in the record's order
    files: tuple[str, ...] = ()  # names of their files
    threads: tuple[Place, ...] = ()  # in the record's order
    block: Place | None = None  # the record's first block
    near: str = ""  # what is wrong with the address: misaligned, or its distance from an array
    count: int = 1  # how often it happened


def parse_sanitizer_log(text: str, kernels: Collection[str]) -> list[Record]:
    """Parse compute-sanitizer's log. Records of functions that are not among `kernels` are skipped."""
    records = []
    for lines in _records(text):
        joined = " ".join(lines)
        names = [function.rpartition(":")[2] for line in lines for function in _FUNCTION.findall(line)]
        kernel = next((name for name in names if name in kernels), "")
        if not kernel:
            kernel = next((name for name in kernels if re.search(rf"\b{name}\b", joined)), "")
        if kernel:
            places = dict.fromkeys((file, int(number)) for line in lines for file, number in _LINE.findall(line))
            near, hazards = _NEAR.search(joined), _HAZARDS.search(joined)
            where = f"{near[1]} an allocation of {near[2]} bytes" if near else ""
            records.append(
                Record(
                    kernel,
                    re.split(r" at | between ", lines[0])[0].strip(),
                    tuple(line for _, line in places),
                    tuple(file for file, _ in places),
                    tuple(_place(numbers) for numbers in _THREAD.findall(joined)),
                    next(map(_place, _BLOCK.findall(joined)), None),
                    f"misaligned, {where}" if " is misaligned" in joined else where,
                    int(hazards[1]) if hazards else 1,
                )
            )
    return records


def findings(records: Sequence[Record], tool: str) -> list[Finding]:
    """Merge records of the same kind at the same lines into one finding, with its first thread."""
    groups: dict[tuple[str, frozenset[tuple[str, int]]], list[Record]] = {}
    for record in records:
        if not record.message.startswith(("Warning", "Info", "Unused")):
            places = frozenset(zip(record.files, record.lines, strict=True))
            groups.setdefault((_kind(record, tool), places), []).append(record)
    return [_finding(kind, sorted(group, key=lambda r: not r.threads), tool) for (kind, _), group in groups.items()]


class Sanitizer(ProfileStage):
    """Runs compute-sanitizer's tools over each case and turns findings into hazards."""

    name = setting = NAME
    by_kernel = True
    statuses = ("ok", "mismatch", "launch_error", "crashed", "timeout")  # of the cases that were launched

    def steps(self, jobs: Sequence[Job]) -> int:
        """One for each launch under a tool."""
        return sum(len(job.profile.sanitizer) for job in jobs)

    def measure(self, jobs: Sequence[Job], tools: Tools) -> Iterator[tuple[Job, StageResult]]:
        """Run each tool over all cases, then yield the findings of each case."""
        if shutil.which("compute-sanitizer") is None:
            tools.say("no sanitizer: compute-sanitizer is not on the PATH; it comes with the CUDA toolkit")
            return
        tools.progress.show_step("compiling with line numbers")
        compile_jobs(jobs, tools.info(), lines=True)  # a compiler that runs under a tool may crash
        found: dict[int, list[Finding]] = {job.number: [] for job in jobs}
        failed: dict[int, list[str]] = {job.number: [] for job in jobs}
        for tool in jobs[0].profile.sanitizer:
            tools.progress.show_step(tool)
            for job, run in self._alone(tool, jobs, tools):
                if run.broken:
                    tools.say(f"no sanitizer: {tool}: {run.reason}")
                    return
                at = format_changed_parameters(job.case, reduced(job.case)) if tool in REDUCED else ""
                own = findings(parse_sanitizer_log(run.output, functions(job.case)), tool)
                found[job.number] += [replace(one, text=f"{one.text}, at {at}") for one in own] if at else own
                if run.failed is job:
                    failed[job.number].append(f"{tool}: {run.reason}")
        for job in jobs:
            by_key = {finding.key: finding for finding in reversed(found[job.number])}
            kept = tuple(reversed(by_key.values()))
            record: dict[str, object] = {"tools": jobs[0].profile.sanitizer, "findings": len(kept)}
            if failed[job.number] and not kept:
                record["reason"] = f"the launch failed under {'; '.join(failed[job.number])}"
            yield job, StageResult(record, _hazard(tools, job, kept))

    def _alone(self, tool: str, jobs: Sequence[Job], tools: Tools) -> Iterator[tuple[Job, ToolRun]]:
        """Yield each case with errors, and a run of the tool that launched only this case."""
        options = ["--checked", *(["--reduced"] if tool in REDUCED else [])]
        for run in watch_all(command(tool), jobs, tools, *options):
            if run.broken:
                yield jobs[0], run
            launched = [*run.done, *([run.failed] if run.failed else [])]
            kernels = {name for job in launched for name in functions(job.case)}
            named = {record.kernel for record in parse_sanitizer_log(run.output, kernels)}
            suspects = [job for job in launched if job is run.failed or named.intersection(functions(job.case))]
            for job in suspects:
                if len(launched) > 1:
                    tools.progress.step(-(job in run.done))  # its second launch is not another step
                    yield job, watch(command(tool), [job], tools, *options)
                else:
                    yield job, run


def command(tool: str) -> list[str]:
    """Build the compute-sanitizer command line, to be followed by the command to check."""
    options = ["--destroy-on-device-error", "kernel", "--show-backtrace", "no", "--print-limit", "1000"]
    options += ["--target-processes", "all", "--log-file", OUTPUT]
    return ["compute-sanitizer", "--tool", tool, *options, *OPTIONS.get(tool, ())]


def _hazard(tools: Tools, job: Job, found: tuple[Finding, ...]) -> Row:
    """Write a case's findings to its hazards.json, and return the columns that they change."""
    if not found:
        return {}
    tools.folder.write_json(tools.folder.hazards(job.number), [asdict(finding) for finding in found])
    before = tools.rows[job.number]
    also = f"; without the sanitizer: {before['status']}: {before['reason']}" if before.get("reason") else ""
    return {"status": "hazard", "reason": join_findings([finding.text for finding in found]) + also}


def _records(text: str) -> Iterator[list[str]]:
    """Split a log into the lines of each record, without the bar. A record begins with a word such as `Error`."""
    record: list[str] = []
    for line in (*text.splitlines(), _BAR):  # an empty line ends the last record
        if not line.startswith(_BAR):
            continue
        content = line.removeprefix(_BAR)
        starts = _STARTS.match(content.strip()) and not content.startswith("     ")
        ends = not content.strip() or "SUMMARY" in content
        if record and (starts or ends):
            yield record
        if starts or ends:
            record = [content.strip()] if starts else []
        elif record:
            record.append(content.strip())


def _kind(record: Record, tool: str) -> str:
    other = "misaligned" if "isaligned" in f"{record.message} {record.near}" else "outside"
    return {"racecheck": "race", "initcheck": "unwritten", "synccheck": "barrier"}.get(tool, other)


def _finding(kind: str, group: Sequence[Record], tool: str) -> Finding:
    first = group[0]
    places = [f"{Path(file).name}:{line}" for file, line in zip(first.files, first.lines, strict=True)]
    line, other = (*places, "", "")[:2]
    block, threads = first.block or _NOWHERE, (*first.threads, _NOWHERE, _NOWHERE)
    two_threads = kind == "race" and len(first.threads) > 1
    message = first.message.removeprefix("Error: ").removesuffix(" detected").replace(" detected. ", ": ").rstrip(".")
    text = f"{line or first.kernel}: {message[:1].lower()}{message[1:]}"
    if other:
        text += f" with {other}"
    if first.near:
        text += f", {first.near}"
    if first.threads:
        text += f"; block {_numbers(block)}, thread {_numbers(threads[0])}"
        text += f" and thread {_numbers(threads[1])}" if two_threads else ""
    count = max(sum(r.count for r in group if not r.threads), sum(1 for r in group if r.threads), 1)
    text += f" ({count} times, {tool})" if count > 1 else f" ({tool})"
    space = "shared" if "__shared__" in first.message or kind in ("race", "barrier") else "global"
    others = (block, threads[1]) if two_threads else (None, None)
    return Finding(kind, text, line, other, "", space, 0, count, block, threads[0], *others)


def _place(numbers: Sequence[str]) -> Place:
    x, y, z = map(int, numbers)
    return x, y, z


def _numbers(place: Place) -> str:
    return str(place[0]) if place[1:] == (0, 0) else str(place)
