"""Compiling a sweep: every distinct variant once, on all cores, before anything is measured."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import ExitStack

from runner.config import Job
from runner.device import Binary, Compiler, Source
from runner.errors import CompileError
from runner.progress import SweepProgress

Compiled = Binary | CompileError


class Compilation:
    """Every distinct variant of a sweep, compiled once; can be begun while further cases are still being planned."""

    def __init__(self, compiler: Compiler, count: int) -> None:
        """Be ready.

        Args:
            compiler: Of the device.
            count: How many variants there may be.
        """
        self.compiler = compiler
        self._stack = ExitStack()
        self._stack.enter_context(compiler.many(count))
        self._pool = ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0)))
        self._stack.callback(self._pool.shutdown, cancel_futures=True)
        self._begun: dict[Source, Future[Compiled]] = {}

    def begin(self, source: Source) -> Future[Compiled]:
        """Compile a variant, if that was not begun yet."""
        if source not in self._begun:
            self._begun[source] = self._pool.submit(_attempted(self.compiler, source))
        return self._begun[source]

    def finish(self, plan: Sequence[Job], progress: SweepProgress) -> dict[int, Compiled]:
        """Compile what a plan needs, and wait for it.

        Args:
            plan: Cases that can be run.
            progress: Told of each variant.

        Returns:
            What came of it, by the number of the job; cases that share a variant share it.

        Raises:
            OSError: if there is no room left to compile in, which is not the kernels' fault.
        """
        jobs: dict[Source, list[int]] = {}
        for planned in plan:
            jobs.setdefault(planned.case.source(), []).append(planned.number)
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
        """Give back what compiling took; what was not begun is left."""
        self._stack.close()


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
