"""The stage that counts what each line costs, once verdicts and times are on disk."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from runner.device.kinds import is_gpu
from runner.errors import CompileError, DeviceUnavailable
from runner.jobs.job import Job
from runner.jobs.settings import LINES_ALL, LINES_DEFAULT, LINES_NONE
from runner.kernel import metrics
from runner.record.folder import RunFolder
from runner.stages.checked import builds
from runner.stages.checked.pool import Pool
from runner.stages.lines import costs
from runner.stages.lines.columns import COLUMNS
from runner.stages.lines.costs import LineCost
from runner.stages.lines.counting import LIMIT_S, count
from runner.sweep.stage import Bench, Stage

MAX_MEMORY = 1 / 8  # of the host's memory, for the arrays of a GPU case, and of all cases that are counted at once

Row = dict[str, Any]


@dataclass(frozen=True)
class Counted:
    """The costs of a case's lines, or the reason why they could not be counted."""

    lines: tuple[LineCost, ...] = ()
    reason: str = ""


class LineCosts(Stage):
    """Counts the lines of the fastest correct case of each kernel; in a search, of its best cases; or of all cases.

    It writes N/lines.json, lines.csv and columns such as `global_load_sectors`. It never launches on the measured
    device and never changes a status. By default the cases of a GPU share the time of the bench, and those for which it
    does not suffice are left out; without a GPU the counts rank the cases, so they have all the time that they need.
    So do those whose counters of Nsight Compute are asked for: both together say what limits a kernel.
    """

    def lacks(self, job: Job, row: Row, folder: RunFolder) -> bool:
        """Whether a case's lines are still to be counted. A record with a reason counts as done.

        Of `fastest`, the answer is yes for each case while nothing is counted, because one row cannot tell.
        """
        if not is_counted(job) or row["status"] != "ok" or _is_by_the_way(job):
            return False
        return not folder.has(folder.line_costs(job.number) if job.lines == LINES_ALL else folder.lines)

    def run(self, bench: Bench) -> None:
        """Count the missing cases in the pool, except those that the cache has."""
        ledger, folder = bench.ledger, bench.folder
        correct = [
            (job, row) for job in ledger.jobs if is_counted(job) and (row := ledger.row(job)) and row["status"] == "ok"
        ]
        fastest = _fastest(correct)
        rows = [
            (job, row)
            for job, row in correct
            if (job.lines == LINES_ALL or job.number in fastest) and not _is_done(folder, job, row)
        ]
        if not rows:
            if not folder.has(folder.lines):  # the program was killed before it wrote the table
                self.gather(folder)
            return
        folder.lines.unlink(missing_ok=True)  # without the table, readers use the records, which are complete
        try:
            _Counting(rows, bench).run()
        finally:
            self.gather(folder)

    def gather(self, folder: RunFolder) -> None:
        """Write lines.csv."""
        costs.write(folder)


def is_counted(job: Job) -> bool:
    """Whether a job's lines are to be counted. A case that breaks a rule on purpose might not terminate."""
    wanted = job.lines == LINES_ALL or (job.lines != LINES_NONE and not job.look)
    return wanted and not job.case.kernel.opaque and not job.case.hazard


def _is_by_the_way(job: Job) -> bool:
    """Whether nobody asked for a job's lines or counters, so that lines are counted only if time is left."""
    return job.lines == LINES_DEFAULT and not job.profile.metrics


def _is_done(folder: RunFolder, job: Job, row: Row) -> bool:
    """Whether a case has its record, and its row the averages, which a row that was measured again lacks."""
    if not folder.has(folder.line_costs(job.number)):
        return False
    record = folder.json(folder.line_costs(job.number))
    counted = isinstance(record, dict) and bool(record.get("lines"))
    return not counted or any(row.get(column.name) is not None for column in COLUMNS)


def _fastest(cases: Sequence[tuple[Job, Row]]) -> set[int]:
    """The job of each kernel's fastest case at its largest size; without times, of its first case at that size."""
    by_kernel: dict[str, list[tuple[Job, Row]]] = {}
    for job, row in cases:
        by_kernel.setdefault(job.case.kernel.name, []).append((job, row))

    def rank(case: tuple[Job, Row]) -> tuple[float, float, int]:
        job, row = case
        return -job.case.problem_size, float(row.get("median_us") or 0), job.number

    return {min(group, key=rank)[0].number for group in by_kernel.values()}


class _Counting:
    """Counts the cases of a sweep in parallel."""

    def __init__(self, rows: Sequence[tuple[Job, Row]], bench: Bench) -> None:
        self._waiting, self._bench = deque(rows), bench
        self._pool = bench.shared(Pool)
        self._is_ready = self._pool.is_ready(rows[0][0].device.compile_limits)
        self._running: dict[Future[Counted], tuple[Job, Row]] = {}
        self._reported: set[str] = set()  # kernels and reasons that a message has named

    def run(self) -> None:
        progress = self._bench.progress
        progress.stage("counting what lines cost", len(self._waiting))
        self._pool.run(
            self._begin,
            self._running,
            self._remaining_s,
            self._take,
            lambda case: progress.show_step(case[0].case.label),
        )

    def _remaining_s(self, case: tuple[Job, Row]) -> float:
        """The time that is left for a case. Without a GPU its counts rank it, so they have all that they need."""
        job, row = case
        if not _is_by_the_way(job) or (self._is_ready and not is_gpu(str(row["device"]))):
            return math.inf
        return self._bench.remaining_s if self._is_ready else 0.0

    def _begin(self) -> bool:
        """Start cases while workers, memory and time are left. Returns whether any is running."""
        while self._waiting and len(self._running) < self._pool.size:
            job, row = case = self._waiting[0]
            remaining_s = self._remaining_s(case)
            if remaining_s <= 0:
                self._bench.progress.step()
            elif reason := _too_large(job, row):
                self._take(case, Counted(reason=reason))
            elif counted := _parsed(builds.cached_result("lines", job.case)):
                self._take(case, counted)
            elif not self._pool.can_start(remaining_s):
                self._bench.progress.step()
            elif self._running and _bytes(job, *(other for other, _ in self._running.values())) > _max_bytes():
                break
            else:
                self._running[self._pool.start(_count, job)] = case
            self._waiting.popleft()
        return bool(self._running)

    def _take(self, case: tuple[Job, Row], counted: Counted) -> None:
        """Write a case's costs to its record and its row."""
        job, row = case
        kernel, reason = job.case.kernel.name, counted.reason
        costs.keep(self._bench.folder, job.number, job.case.id, kernel, counted.lines, reason)
        if reason:
            if not {kernel, reason} & self._reported:
                self._bench.progress.say(f"the cost of lines is not counted: {kernel}: {reason}")
            self._reported.update((kernel, reason))
        else:
            new = {**row, **costs.averages(counted.lines)}
            self._bench.ledger.add(job, {**new, **metrics.row_values(job.metrics, job.case.variables, new)})
        self._bench.progress.step()


def _count(pool: Pool, job: Job) -> Counted:
    """Compile and count a case; runs in a thread of the pool."""
    case, limit_s = job.case, min(LIMIT_S, job.device.time_limit_s)
    try:
        binary = pool.compiled(case, job.device.compile_limits)
    except (CompileError, DeviceUnavailable, OSError) as error:
        return Counted(reason=str(error).partition("\n")[0])
    answer = pool.call(job.device, count, case, binary, limit_s, limit_s=limit_s)
    if (counted := _parsed(answer.value)) is None:
        return Counted(reason=f"{case.label}: {answer.reason}")
    builds.cache_result("lines", case, binary=binary, result=answer.value)
    return counted


def _parsed(value: Any) -> Counted | None:
    """Parse the costs in an answer or a cached result; `None` if the form is unknown, as of another version."""
    if not isinstance(value, list) or not all(isinstance(line, Mapping) for line in value):
        return None
    try:
        return Counted(tuple(LineCost(**line) for line in value))
    except TypeError:
        return None


def _too_large(job: Job, row: Row) -> str:
    """Why a GPU case needs too much of the host's memory; empty if it does not."""
    if is_gpu(str(row["device"])) and _bytes(job) > _max_bytes():
        return f"{job.case.label}: the arrays need {_bytes(job)} bytes of the host's memory"
    return ""


def _bytes(*jobs: Job) -> int:
    return sum(job.case.nbytes for job in jobs)


def _max_bytes() -> float:
    return MAX_MEMORY * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
