"""Compile, check and measure the jobs that share a device, in rounds. Each round measures every case."""

from __future__ import annotations

import dataclasses
import random
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module

from runner import interruption
from runner.device import Binary, Compiler, DeviceInfo
from runner.device.kinds import compiler_for, is_gpu
from runner.display.terminal import SweepProgress
from runner.errors import CompileError
from runner.jobs.job import Job
from runner.record import environment
from runner.record.folder import RunFolder
from runner.sweep import case_row, compiling, pace
from runner.sweep.ledger import Ledger
from runner.sweep.pace import Pace
from runner.sweep.worker import Outcome, Task, Worker

TRIES = 3  # attempts at a case if its binary is deleted from the cache during the sweep
UNLOADED = ("launch_error", "crashed")  # statuses that a deleted binary may cause
EVERY_S = 1.0  # seconds between two estimates of the time left


class Group:
    """The jobs of a sweep that share device, compiler and timing."""

    def __init__(
        self, jobs: Sequence[Job], folder: RunFolder, progress: SweepProgress, ledger: Ledger, worker: Worker, part: str
    ) -> None:
        """`part` precedes the name of each stage of the progress display, such as `part 1 of 2, `."""
        self._part = part
        self._jobs, self._folder, self._progress, self._ledger, self._worker = jobs, folder, progress, ledger, worker
        self._binaries: dict[int, Binary] = {}  # by job
        self._waiting: deque[tuple[Job, Outcome, DeviceInfo, float]] = deque()  # not yet on disk; the float is seconds
        self._todo: dict[int, int] = {}  # rounds left to measure, by job
        self._pace = Pace()
        self._warned = False  # whether the user was warned of a long sweep
        self._since = self._estimated = 0.0

    def run(self) -> tuple[DeviceInfo, Compiler]:
        """Open the device, compile and measure all rounds.

        Returns:
            The opened device and its compiler.

        Raises:
            DeviceUnavailable: The device cannot be opened.
            UsageError: A resumed sweep has another device or toolchain.
            OSError: The disk is full.
        """
        self._progress.stage("opening the device", 1)
        first = self._jobs[0]
        # A single case has few figures, and a run on the CPU device has none.
        ahead = _import_ahead(figures=len(self._jobs) > 1 and is_gpu(first.device.kind))
        try:
            info = self._worker.info
            self._ledger.opened(self._jobs, info.kind)
            compiler = compiler_for(first.device, info, first.compiler)
            entry = environment.device(info, first, compiler)
            environment.note_device(self._folder, entry)
            if not info.is_gpu and any(job.case.options for job in self._jobs):
                self._progress.say(f"compile_options are for a GPU's compiler: {info.label} ignores them")
            for job in self._jobs:
                if reason := compiling.reason_to_skip(job.case, info):
                    self._ledger.mark(job, "skipped", reason)
            runnable = self._ledger.unfinished(self._jobs)
            interruption.check()
            compiled = compiling.compile_all(compiler, runnable, self._progress)
            for job in runnable:
                self._take_binary(job, compiled[job.number])
            if self._binaries:
                self._run_rounds([job for job in runnable if job.number in self._binaries], compiler)
        except BaseException:
            self._worker.kill()  # a launch may be in progress
            raise
        finally:
            ahead.set()
        threading.Thread(target=self._worker.close, name="closing").start()  # the report does not wait for it
        return info, compiler

    def _take_binary(self, job: Job, compiled: compiling.Compiled) -> None:
        """Keep a job's binary. A job whose kernel does not compile gets its row here."""
        # The compiler's messages contain absolute paths, whose folders are private.
        own = f"{job.case.kernel.source.parent}/"
        if compiled.log:
            self._folder.write(self._folder.compile_log(job.number), compiled.log.replace(own, "") + "\n")
        if isinstance(compiled, CompileError):
            self._ledger.mark(job, compiled.status, str(compiled).replace(own, ""))
        else:
            self._binaries[job.number] = compiled
            before = self._ledger.row(job) or {"gpu": self._worker.info.gpu, "binary": compiled.name}
            if (before.get("gpu") or "", before.get("binary")) != (self._worker.info.gpu, compiled.name):
                self._ledger.restart(job)  # another GPU or another binary measured its first rounds

    def _run_rounds(self, plan: Sequence[Job], compiler: Compiler) -> None:
        """Measure all cases in each round, in a new order each time, so that drift affects all cases equally."""
        protocol = plan[0].protocol(self._worker.info.kind)
        used, rounds = False, protocol.rounds
        self._todo = {j.number: sum(self._ledger.wants(j, n) for n in range(1, rounds + 1)) for j in plan}
        total = sum(self._todo.values())
        self._since = time.monotonic()
        for number in range(1, rounds + 1):
            waiting = [job for job in _shuffled(plan, protocol.order_seed, number) if self._ledger.wants(job, number)]
            which = f" (round {number} of {rounds})" if rounds > 1 else ""
            stage = f"round {number} of {rounds}" if rounds > 1 else "running"
            self._progress.stage(f"{self._part}{stage}", total, total - sum(self._todo.values()))
            self._estimate()
            if protocol.fresh_process and used and waiting:
                self._worker.close()
            try:
                for job in waiting:
                    interruption.check()
                    used = True
                    self._run_case(job, number, which, compiler)
            except BaseException:
                self._worker.kill()  # so that `_enter` below does not wait for it
                raise
            finally:
                self._enter(number, which)

    def _run_case(self, job: Job, number: int, which: str, compiler: Compiler) -> None:
        started = time.monotonic()
        for _ in range(TRIES):
            outcome = self._run_once(job, number, which)
            if outcome.status not in UNLOADED or not self._built_again(job, compiler):
                break
        self._waiting.append((job, outcome, self._worker.info, time.monotonic() - started))

    def _built_again(self, job: Job, compiler: Compiler) -> bool:
        """Compile a case again if its binary was deleted from the cache; whether that was so."""
        again = compiling.compiled(compiler, job.case.source())
        if isinstance(again, CompileError):
            return False
        self._binaries[job.number] = again
        return not again.cached

    def _run_once(self, job: Job, number: int, which: str) -> Outcome:
        if not self._worker.alive:
            self._worker.kill()
            self._worker = self._worker.again()
        return self._worker.run(
            Task(
                job.case,
                job.case.source(),
                self._binaries[job.number],
                job.protocol(self._worker.info.kind),
                job.device.time_limit_s,
                compiling.is_fast(job) and self._worker.info.is_gpu,
            ),
            lambda step: self._progress.now(f"{job.case.label}: {step}"),
            lambda: self._enter(number, which),
        )

    def _enter(self, number: int, which: str) -> None:
        """Write the waiting outcomes to disk while the next case runs, so that the GPU does not idle."""
        while self._waiting:
            job, outcome, info, seconds = self._waiting[0]
            before = (self._ledger.row(job) or {}).get("wall_s") or 0.0
            found = case_row.Found(outcome, info, self._binaries[job.number], number)
            row = case_row.after_round(job, found, self._ledger.row(job), self._folder, self._ledger.launcher)
            row["wall_s"] = before + seconds
            self._ledger.add(job, row)
            self._waiting.popleft()  # after writing: an interrupted write is repeated at the end
            if outcome.findings:
                self._folder.write_json(
                    self._folder.hazards(job.number), [dataclasses.asdict(f) for f in outcome.findings]
                )
            if outcome.printed:
                self._progress.say(outcome.printed.rstrip("\n"))
            self._pace.took(job, seconds)
            steps = 1 if outcome.measured else self._todo[job.number]  # a failed case is not measured again
            self._todo[job.number] -= steps
            self._progress.step(steps)
            self._estimate()
            self._progress.row(f"{job.case.label}{which}", row)

    def _estimate(self) -> None:
        """Estimate the time left, at most once a second; warn once if the sweep takes more than two minutes."""
        now = time.monotonic()
        if self._pace.measured > pace.FEW and now - self._estimated < EVERY_S:
            return
        self._estimated = now
        self._progress.left(self._pace.left(self._todo))
        if not self._warned and (words := self._pace.warning(self._todo, now - self._since)):
            self._warned = True
            self._progress.say(words)


def _import_ahead(*, figures: bool) -> threading.Event:
    """Import the modules of the results and the report in a thread. Setting the returned event ends it early."""
    enough = threading.Event()
    modules = ("pandas", "matplotlib.figure") if figures else ("pandas",)

    def work() -> None:
        for name in modules:
            if not enough.is_set():
                with suppress(ImportError):  # the module that needs it reports the error
                    import_module(name)
        if not enough.is_set():
            import_module("pandas").Series(["text"])  # triggers further imports

    threading.Thread(target=work, name="imports").start()
    return enough


def _shuffled(plan: Sequence[Job], seed: int, number: int) -> list[Job]:
    """The order of a round. It differs between rounds and is the same in every run of the sweep."""
    ordered = sorted(plan, key=lambda job: job.number)
    random.Random(f"{seed} {number}").shuffle(ordered)  # noqa: S311  (not for cryptography)
    return ordered
