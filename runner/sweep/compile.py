"""Compiling a sweep: every distinct variant once, on all cores, before anything is measured.

`Prefetch` opens the device and begins to compile while the rest of the sweep is still being read.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import ExitStack

from runner.config import Job
from runner.device import Binary, Compiler, DeviceInfo, Requirements, Source
from runner.device.kinds import backend, compiler_for
from runner.errors import CompileError, DeviceUnavailable
from runner.kernel.case import Case
from runner.sweep.worker import Worker
from runner.terminal import SweepProgress

Compiled = Binary | CompileError

DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


class Compilation:
    """Compiles every distinct variant of a sweep once; can begin while further cases are still being planned."""

    def __init__(self, job: Job, info: DeviceInfo, count: int) -> None:
        """Start the threads for up to `count` variants; the job names the compiler of the open device."""
        self.compiler = compiler_for(job.device, info, job.compiler)
        self._stack = ExitStack()
        self._stack.enter_context(self.compiler.many(count))
        self._pool = ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0)))
        self._stack.callback(self._pool.shutdown, cancel_futures=True)
        self._begun: dict[Source, Future[Compiled]] = {}

    def begin(self, source: Source) -> Future[Compiled]:
        """Compile a variant, unless that was begun already."""
        if source not in self._begun:
            self._begun[source] = self._pool.submit(_compile, self.compiler, source)
        return self._begun[source]

    def finish(self, plan: Sequence[Job], progress: SweepProgress) -> dict[int, Compiled]:
        """Compile what a plan needs, and wait for it; cases that share a variant share its result.

        Gives the results by the number of the job. A full disk is not the kernels' fault, and raises an `OSError`.
        """
        jobs: dict[Source, list[int]] = {}
        for job in plan:
            jobs.setdefault(job.case.source(), []).append(job.number)
        progress.stage("compiling", len(jobs))
        sources = {self.begin(source): source for source in jobs}
        compiled: dict[int, Compiled] = {}
        for future in as_completed(sources):
            source = sources[future]
            compiled.update(dict.fromkeys(jobs[source], future.result()))
            progress.now(source.path.name)
            progress.step()
        return compiled

    def close(self) -> None:
        """Stop the threads; what was not begun is not compiled."""
        self._stack.close()


class Prefetch:
    """The worker and the compilation for all jobs that have the first job's device and compiler."""

    def __init__(self, first: Job, count: int, started: Worker | None = None) -> None:
        """Open the first job's device, unless the started worker has it; there may be `count` jobs."""
        self._first = first
        self._count = count
        self._waiting: list[Job] = []
        if started and not started.takes(first.device):
            started.kill()
            started = None
        self.worker = started or Worker(first.device)
        self.compilation: Compilation | None = None
        self._owned = True

    def ready_for(self, job: Job) -> bool:
        """Whether the worker can still be handed over, and has this job's device and compiler."""
        return self._owned and self._fits(job) and self.worker.alive

    def hand_over(self) -> Worker:
        """The worker, which the caller closes from now on."""
        self._owned = False
        return self.worker

    def _fits(self, job: Job) -> bool:
        return (job.device, job.compiler) == (self._first.device, self._first.compiler)

    def submit(self, job: Job) -> None:
        """Compile a job's variant as soon as the device is open; the engine reports errors."""
        if self._fits(job):
            self._waiting.append(job)
        if not self.worker.opened:
            return
        try:
            info = self.worker.info
            if self.compilation is None:
                self.compilation = Compilation(self._first, info, self._count)
        except (DeviceUnavailable, CompileError):
            return
        while self._waiting:
            case = self._waiting.pop().case
            if not reason_to_skip(case, info):
                self.compilation.begin(case.source())

    def close(self) -> None:
        """Stop the compilation, and the worker unless it was handed over."""
        if self.compilation:
            self.compilation.close()
        if self._owned:
            self.worker.kill()


def reason_to_skip(case: Case, info: DeviceInfo) -> str:
    """Why the case cannot be run on this device; empty if it can."""
    if case.excluded:
        return case.excluded
    kernel, cache = case.kernel, str(case.variables["cache"])
    wanted = Requirements(kernel.name, kernel.min_arch, kernel.gpu_only, case.hazard, cache)
    return backend(info.kind).refuses(info, wanted)


def _raise_if_full(error: BaseException | None, text: str) -> None:
    """Tell a full disk from a kernel's fault: an error of ours has the number, a compiler says it in words."""
    for number in DISK_FULL:
        if (isinstance(error, OSError) and error.errno == number) or os.strerror(number) in text:
            raise OSError(
                number, os.strerror(number), "the cache of compiled kernels, or the folder for temporary files"
            )


def _compile(compiler: Compiler, source: Source) -> Compiled:
    try:
        return compiler.compile(source)
    except CompileError as e:
        _raise_if_full(e.__cause__, f"{e}\n{e.log}")
        return e
    except OSError as e:  # such as a cache that cannot be written
        _raise_if_full(e, "")
        return CompileError(f"{source.path.name}: {e}")
    except Exception as e:  # noqa: BLE001  (any error becomes this kernel's row, and the sweep goes on)
        return CompileError(f"{source.path.name}: {type(e).__name__}: {e}")
