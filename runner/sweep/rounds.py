"""Measure the jobs of one device in rounds. Each round measures every case."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import random
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress

from runner import interruption
from runner.device import Binary, Compiler, DeviceInfo
from runner.display.terminal import SweepProgress
from runner.errors import CompileError
from runner.jobs.job import Job
from runner.kernel.sizes import OtherSizes, other_sizes
from runner.sweep import case_row, compiling, pace
from runner.sweep.ledger import Rows
from runner.sweep.pace import Pace, Times
from runner.sweep.pool import Slot
from runner.sweep.trial import make_inputs
from runner.sweep.worker import Outcome, Task, Worker

TRIES = 3  # attempts at a case if its binary is deleted from the cache during the sweep
UNLOADED = ("launch_error", "crashed")  # statuses that a deleted binary may cause
EVERY_S = 1.0  # seconds between two estimates of the time left


class Share:
    """The jobs that one slot measures, which have device, compiler and timing in common."""

    def __init__(self, slot: Slot, jobs: Sequence[Job], rows: Rows, beside: Rows, progress: SweepProgress) -> None:
        """Prepare a share.

        Args:
            slot: The device, which is open.
            jobs: The jobs that enter `rows`.
            rows: The rows of the sweep.
            beside: The jobs and rows of cases that this slot measures too, so that slots can be compared.
            progress: Where rows and messages go.
        """
        self.slot, self.jobs, self.rows, self.beside, self.progress = slot, jobs, rows, beside, progress
        self.reference: Job | None = None  # among `jobs` or `beside`: the case by which GPUs are compared
        self._config = jobs[0].device
        self.info = slot.worker(self._config).info
        self.binaries: dict[int, Binary] = {}  # by job
        self._waiting: deque[tuple[Job, Outcome, DeviceInfo, Times]] = deque()  # not yet on disk
        self._sizes: dict[int, OtherSizes] = {}  # of the case behind the one that is running, by job
        self._sized: set[int] = set()  # the jobs whose other sizes were found; the worker checks them once
        self._rounds_left: dict[int, int] = {}  # rounds left to measure, by job
        self._pace = Pace()
        self._warned = slot.number > 0  # whether the user was warned of a long sweep; the first slot speaks for all
        self._since = self._estimated = 0.0
        self._beside_numbers = {job.number for job in beside.jobs}

    def runnable(self) -> list[Job]:
        """Mark the jobs that this device cannot run as skipped; returns the unfinished others."""
        jobs = [*self.jobs, *self.beside.jobs]
        for job in jobs:
            self._rows_of(job).opened([job], self.info.kind)
            if reason := compiling.reason_to_skip(job.case, self.info):
                self._rows_of(job).mark(job, "skipped", reason)
        return [job for job in jobs if self._rows_of(job).unfinished([job])]

    def start_inputs(self, runnable: Sequence[Job]) -> None:
        """Let the worker make the inputs and the reference of the first case, while the kernels are compiled."""
        start_inputs(self.slot.worker(self._config), runnable, self.info)

    def take_binaries(self, compiled: Mapping[int, compiling.Compiled]) -> None:
        """Keep the binaries of this share's jobs. A job whose kernel does not compile gets its row here."""
        for job in (*self.jobs, *self.beside.jobs):
            if job.number in compiled:
                self._take_binary(job, compiled[job.number])

    def _rows_of(self, job: Job) -> Rows:
        return self.beside if job.number in self._beside_numbers else self.rows

    def _take_binary(self, job: Job, compiled: compiling.Compiled) -> None:
        rows = self._rows_of(job)
        # The compiler's messages contain absolute paths, whose folders are private.
        folders = [f"{source.parent}/" for source in job.case.kernel.sources]

        def public(text: str) -> str:
            return functools.reduce(lambda text, folder: text.replace(folder, ""), folders, text)

        if compiled.log:
            rows.folder.write(rows.folder.compile_log(job.number), public(compiled.log) + "\n")
        if isinstance(compiled, CompileError):
            rows.mark(job, compiled.status, public(str(compiled)))
        else:
            self.binaries[job.number] = compiled
            before = rows.row(job) or {"gpu": self.info.gpu, "binary": compiled.name}
            if (before.get("gpu") or "", before.get("binary")) != (self.info.gpu, compiled.name):
                rows.restart(job)  # another GPU or another binary measured its first rounds

    @property
    def measurements(self) -> int:
        """The number of measurements to take: cases times their missing rounds."""
        jobs = [job for job in (*self.jobs, *self.beside.jobs) if job.number in self.binaries]
        rounds = range(1, self._rounds + 1)
        self._rounds_left = {
            job.number: sum(self._rows_of(job).lacks_round(job, number) for number in rounds) for job in jobs
        }
        return sum(self._rounds_left.values())

    @property
    def _rounds(self) -> int:
        return self.jobs[0].protocol(self.info.kind).rounds

    def measure(self, compiler: Compiler, prefix: str = "") -> None:
        """Measure all cases in each round, in a new order each time, so that drift affects all cases equally.

        `prefix` precedes the name of each stage of the progress display, such as `part 1 of 2, `.

        Raises:
            DeviceUnavailable: The device was lost.
            OSError: The disk is full.
        """
        total = self.measurements
        plan = [job for job in (*self.jobs, *self.beside.jobs) if job.number in self.binaries]
        protocol, used = self.jobs[0].protocol(self.info.kind), False
        self._since = time.monotonic()
        for number in range(1, protocol.rounds + 1):
            waiting = [
                job
                for job in _shuffled(plan, protocol.order_seed, number)
                if self._rows_of(job).lacks_round(job, number)
            ]
            round_label = f" (round {number} of {protocol.rounds})" if protocol.rounds > 1 else ""
            stage = f"round {number} of {protocol.rounds}" if protocol.rounds > 1 else "running"
            self.progress.stage(f"{prefix}{stage}", total, total - sum(self._rounds_left.values()))
            self._estimate()
            if protocol.fresh_process and used and waiting:
                self.slot.close()
            try:
                for job, following in itertools.zip_longest(waiting, waiting[1:]):
                    interruption.check()
                    used = True
                    self._run_case(job, following, number, round_label, compiler)
            except BaseException:
                self.slot.kill()  # so that `_write_waiting` below does not wait for it
                raise
            finally:
                self._write_waiting(number, round_label)

    def _run_case(self, job: Job, following: Job | None, number: int, round_label: str, compiler: Compiler) -> None:
        times = Times()
        for _ in range(TRIES):
            outcome = self._run_once(job, following, number, round_label, times)
            if outcome.status not in UNLOADED or not self._built_again(job, compiler):
                break
        times.step("")
        self._waiting.append((job, outcome, self.info, times))

    def _built_again(self, job: Job, compiler: Compiler) -> bool:
        """Compile a case again if its binary was deleted from the cache; whether that was so."""
        again = compiling.compiled(compiler, job.case.source())
        if isinstance(again, CompileError):
            return False
        self.binaries[job.number] = again
        return not again.cached

    def _run_once(self, job: Job, following: Job | None, number: int, round_label: str, times: Times) -> Outcome:
        def show(step: str) -> None:
            times.step(step)
            self.progress.show_step(f"{job.case.label}: {step}")

        worker = self.slot.idle_worker(self._config)
        outcome = worker.run(
            Task(
                job.case,
                job.case.source(),
                self.binaries[job.number],
                job.protocol(self.info.kind),
                job.device.time_limit_s,
                _is_fast(job, self.info),
                self._sizes.pop(job.number, None),
            ),
            show,
            lambda: self._work_meanwhile(following, number, round_label),
        )
        self.slot.require_running()
        self.info = worker.info
        return outcome

    def _work_meanwhile(self, following: Job | None, number: int, round_label: str) -> None:
        """While the worker is busy, write the last outcome and find the sizes at which the next case is checked."""
        self._write_waiting(number, round_label)
        if following and following.protocol(self.info.kind).check_sizes and following.number not in self._sized:
            self._sized.add(following.number)
            with suppress(Exception):  # the worker meets the same error and reports it
                self._sizes[following.number] = other_sizes(following.case, 0.0)

    def _write_waiting(self, number: int, round_label: str) -> None:
        """Write the waiting outcomes to disk while the next case runs, so that the GPU does not idle."""
        while self._waiting:
            job, outcome, info, times = self._waiting[0]
            rows = self._rows_of(job)
            before = (rows.row(job) or {}).get("wall_s") or 0.0
            found = case_row.RoundResult(outcome, info, self.binaries[job.number], number)
            row = case_row.after_round(job, found, rows.row(job), rows.folder, rows.launcher)
            row["wall_s"] = before + times.seconds
            rows.add(job, row)
            self._waiting.popleft()  # after writing: an interrupted write is repeated at the end
            if outcome.findings:
                rows.folder.write_json(
                    rows.folder.hazards(job.number), [dataclasses.asdict(f) for f in outcome.findings]
                )
            if outcome.printed:
                self.progress.say(outcome.printed.rstrip("\n"))
            self._pace.add(job, times.seconds, times.making_s)
            steps = 1 if outcome.measured else self._rounds_left[job.number]  # a failed case is not measured again
            self._rounds_left[job.number] -= steps
            self.progress.step(steps)
            self._estimate()
            if rows is self.rows:
                self.progress.row(f"{job.case.label}{round_label}", row)

    def _estimate(self) -> None:
        """Estimate the time left, at most once a second; warn once if the sweep takes more than two minutes."""
        now = time.monotonic()
        if self._pace.measured > pace.MIN_MEASUREMENTS and now - self._estimated < EVERY_S:
            return
        self._estimated = now
        self.progress.set_remaining(self._pace.remaining_s(self._rounds_left))
        if not self._warned and (words := self._pace.warning(self._rounds_left, now - self._since)):
            self._warned = True
            self.progress.say(words)


def start_inputs(worker: Worker, runnable: Sequence[Job], info: DeviceInfo) -> None:
    """Let an idle worker make the inputs and the reference of the case that the first round begins with."""
    seed = runnable[0].protocol(info.kind).order_seed if runnable else 0
    for first in _shuffled(runnable, seed, 1)[:1]:
        worker.start_call(make_inputs, first.case, _is_fast(first, info))


def _is_fast(job: Job, info: DeviceInfo) -> bool:
    return compiling.is_fast(job) and info.is_gpu


def _shuffled(plan: Sequence[Job], seed: int, number: int) -> list[Job]:
    """The order of a round. It differs between rounds and is the same in every run of the sweep."""
    ordered = sorted(plan, key=lambda job: job.number)
    random.Random(f"{seed} {number}").shuffle(ordered)  # noqa: S311  (not for cryptography)
    return ordered
