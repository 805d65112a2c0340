"""A list of cases, run: plan, compile all, then check and measure one after the other.

Whatever becomes of a case, it becomes a row, and the row is on disk before the next case starts.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from runner import atomic, environment, results, sources
from runner.attempt import Outcome, Task
from runner.config import Planned
from runner.device import Binary, Compiler, DeviceInfo, Source
from runner.device.opening import compiler_for
from runner.errors import CompileError, DeviceUnavailable
from runner.folder import RunFolder, read_json, write_json, write_samples
from runner.plan import distinct, gather
from runner.progress import SweepProgress
from runner.results import Row
from runner.worker import Worker

Compiled = Binary | CompileError


def run(plan: Sequence[Planned], folder: RunFolder, progress: SweepProgress, launcher: str) -> None:
    """Run all cases of a plan.

    Args:
        plan: What to run; a case that stands in it twice is run once.
        folder: Where everything goes; each case's result.json is there before the next case starts.
        progress: Told of every step.
        launcher: Of Hydra; stands in each row, as cases that were launched alone were not measured beside each other.

    Raises:
        DeviceUnavailable: if a device that was asked for is not there.
        KeyboardInterrupt: passed on, after what was not reached has been written down as `not_run`.
    """
    table = _Table(folder, launcher)
    waiting = distinct(plan, folder, launcher)
    table.expect(waiting)
    gather(folder)
    sources.keep(folder, waiting)
    groups = _by_device(waiting)
    try:
        for group in groups:
            try:
                _run_on_one_device(group, folder, progress, table)
            except DeviceUnavailable as e:
                if len(groups) == 1 and table.empty:
                    raise  # nothing was run: a mistake, not a failed sweep
                table.put_off(str(e), group)
    except KeyboardInterrupt:
        table.put_off("interrupted before this case was reached", waiting)
        raise
    finally:
        table.write()


class _Table:
    """The rows so far, kept whole on disk."""

    def __init__(self, folder: RunFolder, launcher: str) -> None:
        self._folder = folder
        self.launcher = launcher
        self._waiting: dict[int, Planned] = {}
        self._rows: dict[int, Row] = {}
        self._due = 0.0  # when the table may be written again
        self._kinds: dict[int, str] = {}  # of the devices that were opened: `auto` is none

    def expect(self, plan: Sequence[Planned]) -> None:
        self._waiting.update({p.job: p for p in plan})

    def add(self, planned: Planned, row: Row) -> None:
        write_json(self._folder.result(planned.job), row)
        self._waiting.pop(planned.job, None)
        self._rows[planned.job] = row
        if time.monotonic() >= self._due:
            self.write()

    def opened(self, group: Sequence[Planned], kind: str) -> None:
        self._kinds.update({p.job: kind for p in group})

    @property
    def empty(self) -> bool:
        return not self._rows

    def put_off(self, reason: str, plan: Sequence[Planned]) -> None:
        for planned in [p for p in plan if p.job in self._waiting]:
            kind = self._kinds.get(planned.job, planned.device.kind)
            self.add(planned, results.unfinished(planned, kind, self.launcher, "not_run", reason))

    def write(self) -> None:
        """Rebuild results.csv; of a long table not after each row, so that writing never takes more than a tenth."""
        if self.empty:
            return
        started = time.monotonic()
        own = [self._rows[job] for job in sorted(self._rows)]
        # A stock launcher runs each job in an engine of its own; the table is of them all.
        results.write(self._folder, own if self.launcher == "batch" else results.collect(self._folder))
        self._due = time.monotonic() + 9 * (time.monotonic() - started)


def _by_device(plan: Sequence[Planned]) -> list[list[Planned]]:
    groups: dict[tuple[Any, ...], list[Planned]] = {}
    for planned in plan:
        groups.setdefault(planned.device.key, []).append(planned)
    return list(groups.values())


def _run_on_one_device(group: list[Planned], folder: RunFolder, progress: SweepProgress, table: _Table) -> None:
    progress.stage("opening the device", 1)
    worker = Worker(group[0].device)
    try:
        info = worker.info
        table.opened(group, info.kind)
        _record(folder, info, group[0])
        runnable = []
        for planned in group:
            if reason := _skipped(planned, info):
                table.add(planned, results.unfinished(planned, info.kind, table.launcher, "skipped", reason))
            else:
                runnable.append(planned)
        compiled = _compile(runnable, compiler_for(group[0].device, info), progress)
        progress.stage(f"running on {info.name}", len(runnable))
        for planned in runnable:
            worker = _revived(worker)
            row = _measure(planned, compiled[planned.job], worker, folder, progress, table.launcher)
            table.add(planned, row)
            progress.step()
            progress.row(planned.case.label, row)
    except BaseException:
        worker.kill()  # it may be in the middle of a launch
        raise
    worker.close()


def _skipped(planned: Planned, info: DeviceInfo) -> str:
    """Why the case cannot be run on this device; empty if it can."""
    case, kernel = planned.case, planned.case.kernel
    if case.excluded:
        return case.excluded
    if info.kind == "cuda" and int(info.arch.removeprefix("sm_")) < kernel.min_arch:
        return f"{kernel.name} needs sm_{kernel.min_arch}, this GPU is {info.arch}"
    if info.kind == "cuda" and case.hazard:
        return f"a counterexample, undefined on a GPU: {case.hazard}; device=cpu shows it"
    if info.kind == "cpu" and case.variables["cache"] != "none":
        return f"cache={case.variables['cache']}: the CPU device has no on-chip memory to divide up"
    return ""


def _revived(worker: Worker) -> Worker:
    if worker.alive:
        return worker
    worker.kill()
    return Worker(worker.config)


def _record(folder: RunFolder, info: DeviceInfo, planned: Planned) -> None:
    """Add an opened device, and how it is timed, to environment.json."""
    known = read_json(folder.environment) or {}
    timing = {"samples": planned.timing.samples(info.kind), "warmup_ms": planned.timing.warmup_ms}
    known.setdefault("devices", {})[info.kind] = {**environment.device(info), "timing": timing}
    write_json(folder.environment, known)


def _compile(plan: list[Planned], compiler: Compiler, progress: SweepProgress) -> dict[int, Compiled]:
    """Every distinct variant once, on all cores, before anything is measured."""
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


def _measure(
    planned: Planned, compiled: Compiled, worker: Worker, folder: RunFolder, progress: SweepProgress, launcher: str
) -> Row:
    """One case, to its row."""
    case, info = planned.case, worker.info
    if isinstance(compiled, CompileError):
        # The compiler was given whole paths; which folders they lie in is nobody's business.
        own = f"{case.kernel.source.parent}/"
        atomic.write_text(folder.compile_log(planned.job), compiled.log.replace(own, "") + "\n")
        return results.unfinished(planned, info.kind, launcher, compiled.status, str(compiled).replace(own, ""))
    if compiled.log:
        atomic.write_text(folder.compile_log(planned.job), compiled.log + "\n")
    task = Task(
        case=case,
        source=case.source(),
        binary=compiled,
        samples=planned.timing.samples(info.kind),
        warmup_ms=planned.timing.warmup_ms,
        time_limit_s=planned.device.time_limit_s,
    )
    outcome = worker.run(task, lambda step: progress.now(f"{case.label}: {step}"))
    _keep(folder, planned, outcome, progress)
    return results.finished(planned, info, launcher, outcome, compiled)


def _keep(folder: RunFolder, planned: Planned, outcome: Outcome, progress: SweepProgress) -> None:
    if len(outcome.samples):
        write_samples(folder.samples(planned.case.id, planned.job), outcome.samples)
    if outcome.printed:
        progress.say(outcome.printed.rstrip("\n"))
