"""Compiling a sweep: every distinct variant once, on all cores, before anything is measured."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from runner.config import Planned
from runner.device import Binary, Compiler, Source
from runner.errors import CompileError
from runner.progress import SweepProgress

Compiled = Binary | CompileError


def compile_all(plan: Sequence[Planned], compiler: Compiler, progress: SweepProgress) -> dict[int, Compiled]:
    """Compile what a plan needs.

    Args:
        plan: Cases that can be run.
        compiler: Of their device.
        progress: Told of each variant.

    Returns:
        What came of it, by the number of the job; cases that share a variant share it.

    Raises:
        OSError: if there is no room left to compile in, which is not the kernels' fault.
    """
    variants: dict[Source, list[int]] = {}
    for planned in plan:
        variants.setdefault(planned.case.source(), []).append(planned.job)
    progress.stage("compiling", len(variants))
    compiled: dict[int, Compiled] = {}
    pool = ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0)))
    with compiler.many(len(variants)):
        try:
            futures = {pool.submit(_attempted(compiler, s)): s for s in variants}
            for future in as_completed(futures):
                source = futures[future]
                compiled.update(dict.fromkeys(variants[source], future.result()))
                progress.now(source.path.name)
                progress.step()
        finally:
            pool.shutdown(cancel_futures=True)
    return compiled


FULL = (errno.ENOSPC, errno.EDQUOT)


def _raise_if_full(error: BaseException | None, said: str) -> None:
    """Tell a full disk from a kernel's fault: ours has its number, a compiler says it in words."""
    for number in FULL:
        if (isinstance(error, OSError) and error.errno == number) or os.strerror(number) in said:
            raise OSError(
                number, os.strerror(number), "the cache of compiled kernels, or the folder for temporary files"
            )


def _attempted(compiler: Compiler, source: Source) -> Callable[[], Compiled]:
    def compile_one() -> Compiled:
        try:
            return compiler.compile(source)
        except CompileError as e:
            _raise_if_full(e.__cause__, f"{e}\n{e.log}")
            return e
        except OSError as e:  # such as a cache that cannot be written
            _raise_if_full(e, "")
            return CompileError(f"{source.path.name}: {e}")
        except Exception as e:  # noqa: BLE001  (whatever it is, it is this kernel's row, and the sweep goes on)
            return CompileError(f"{source.path.name}: {type(e).__name__}: {e}")

    return compile_one
