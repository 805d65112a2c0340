"""Compiles what a plan needs, once for each variant and on all cores; what cannot be compiled or run has a reason."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from runner.device import Binary, Compiler, DeviceInfo, Requirements, Source, options
from runner.device.kinds import backend
from runner.display.terminal import SweepProgress
from runner.errors import CompileError, CompileLimit
from runner.jobs.job import Job
from runner.kernel.case import Case

Compiled = Binary | CompileError

DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


def is_fast(job: Job) -> bool:
    """Whether the compiler is told to use fast functions, which compute less exactly."""
    return job.device.fast_math or options.is_fast(" ".join(job.case.options))


def compile_all(compiler: Compiler, plan: Sequence[Job], progress: SweepProgress) -> dict[int, Compiled]:
    """Compile what a plan needs; cases that share a variant share its result.

    Gives the results by the number of the job. A full disk is not the kernels' fault, and raises an `OSError`.
    """
    jobs: dict[Source, list[int]] = {}
    for job in plan:
        jobs.setdefault(job.case.source(), []).append(job.number)
    progress.stage("compiling", len(jobs))
    found: dict[int, Compiled] = {}
    pool = ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0)))
    try:
        sources = {pool.submit(compiled, compiler, source): source for source in jobs}
        for future in as_completed(sources):
            found.update(dict.fromkeys(jobs[sources[future]], future.result()))
            progress.now(sources[future].path.name)
            progress.step()
    except BaseException:
        compiler.stop()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
    return found


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


def compiled(compiler: Compiler, source: Source) -> Compiled:
    """Compile a source; whatever goes wrong is the kernel's `CompileError`, but for a full disk, an `OSError`."""
    try:
        return compiler.compile(source)
    except CompileLimit as e:  # what is full is not the disk
        return e
    except CompileError as e:
        _raise_if_full(e.__cause__, f"{e}\n{e.log}")
        return e
    except OSError as e:  # such as a cache that cannot be written
        _raise_if_full(e, "")
        return CompileError(f"{source.path.name}: {e}")
    except Exception as e:  # noqa: BLE001  (any error becomes this kernel's row, and the sweep goes on)
        return CompileError(f"{source.path.name}: {type(e).__name__}: {e}")
