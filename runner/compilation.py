"""Compiling a sweep: every distinct variant once, on all cores, before anything is measured."""

from __future__ import annotations

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
    """
    variants: dict[Source, list[int]] = {}
    for planned in plan:
        variants.setdefault(planned.case.source(), []).append(planned.job)
    progress.stage("compiling", len(variants))
    compiled: dict[int, Compiled] = {}
    pool = ThreadPoolExecutor(max_workers=os.cpu_count() or 1)
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


def _attempted(compiler: Compiler, source: Source) -> Callable[[], Compiled]:
    def compile_one() -> Compiled:
        try:
            return compiler.compile(source)
        except CompileError as e:
            return e
        except OSError as e:  # such as a cache that cannot be written
            return CompileError(f"{source.path.name}: {e}")

    return compile_one
