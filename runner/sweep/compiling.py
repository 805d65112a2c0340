"""Compile each variant of a plan once, on all cores, and give the reason why a case cannot be compiled or run."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed

from runner.device import Binary, Compiler, DeviceInfo, Requirements, Source, options
from runner.device.kinds import backend
from runner.display.terminal import SweepProgress
from runner.errors import CompileError, CompileLimit
from runner.jobs.job import Job
from runner.kernel.case import Case

Compiled = Binary | CompileError

DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


def is_fast(job: Job) -> bool:
    """Whether the case is compiled with fast math, which is less accurate."""
    return job.device.fast_math or options.is_fast(" ".join(job.case.options))


class Compilation:
    """Compiles sources with one compiler, on all cores, each source once."""

    def __init__(self, compiler: Compiler) -> None:
        self.compiler = compiler
        self._threads = ThreadPoolExecutor(len(os.sched_getaffinity(0)), "compiling")
        self._started: dict[Source, Future[Compiled]] = {}

    def start(self, source: Source) -> Future[Compiled]:
        """Start to compile a source, unless that was done before."""
        if source not in self._started:
            self._started[source] = self._threads.submit(compiled, self.compiler, source)
        return self._started[source]

    def finish(self, plan: Sequence[Job], progress: SweepProgress) -> dict[int, Compiled]:
        """Compile the variants of a plan. Cases that share a variant share its result.

        Returns:
            A binary or a `CompileError` for each job, by the job's number.

        Raises:
            OSError: The disk is full.
        """
        jobs: dict[Source, list[int]] = {}
        for job in plan:
            jobs.setdefault(job.case.source(), []).append(job.number)
        progress.stage("compiling", len(jobs))
        found: dict[int, Compiled] = {}
        try:
            sources = {self.start(source): source for source in jobs}
            told: set[str] = set()
            for future in as_completed(sources):
                name, result = sources[future].path.name, future.result()
                found.update(dict.fromkeys(jobs[sources[future]], result))
                progress.show_step(name)
                progress.step()
                if isinstance(result, Binary) and result.omitted and name not in told:  # of all variants once
                    told.add(name)
                    progress.say(f"{name}: {result.omitted}")
        except BaseException:
            self.stop()
            raise
        return found

    def stop(self) -> None:
        """Abort what is being compiled, and compile nothing more."""
        self.compiler.stop()
        self._threads.shutdown(cancel_futures=True)


def reason_to_skip(case: Case, info: DeviceInfo) -> str:
    """Why the case cannot be run on this device; empty if it can be."""
    if case.excluded:
        return case.excluded
    kernel, cache = case.kernel, str(case.variables["cache"])
    wanted = Requirements(kernel.name, kernel.min_arch, kernel.gpu_only, kernel.opaque, case.hazard, cache)
    return backend(info.kind).refuses(info, wanted)


def _raise_if_full(error: BaseException | None, text: str) -> None:
    """Raise an `OSError` if a full disk caused the failure: an error of ours has its errno, a compiler prints it."""
    for number in DISK_FULL:
        if (isinstance(error, OSError) and error.errno == number) or os.strerror(number) in text:
            raise OSError(
                number, os.strerror(number), "the cache of compiled kernels, or the folder for temporary files"
            )


def compiled(compiler: Compiler, source: Source) -> Compiled:
    """Compile a source. Every failure is returned as a `CompileError`, except a full disk, which raises `OSError`."""
    try:
        return compiler.compile(source)
    except CompileLimit as e:  # the compiler's own limit, even if it prints that a disk is full
        return e
    except CompileError as e:
        _raise_if_full(e.__cause__, f"{e}\n{e.log}")
        return e
    except OSError as e:  # such as a read-only cache
        _raise_if_full(e, "")
        return CompileError(f"{source.path.name}: {e}")
    except Exception as e:  # noqa: BLE001  (any error becomes this kernel's row, and the sweep continues)
        return CompileError(f"{source.path.name}: {type(e).__name__}: {e}")
