"""Run a sweep: plan, compile everything, then check and measure in rounds, all cases in each.

Every case becomes a row, whatever happens to it, and its row is on disk before the next case ends.
"""

from __future__ import annotations

import dataclasses
import functools
import random
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from importlib import import_module
from typing import Any

from runner import atomic, interruption, sources
from runner.config import Job
from runner.device import Binary, DeviceInfo
from runner.device.opening import compiler_for
from runner.errors import CompileError, DeviceUnavailable
from runner.folder import RunFolder
from runner.progress import SweepProgress
from runner.samples import append_hot, append_round
from runner.settings import Protocol
from runner.sweep import device_record, previous_rows, results
from runner.sweep.compile import Compilation, Compiled, Prefetch, reason_to_skip
from runner.sweep.ledger import Ledger
from runner.sweep.outcome import Outcome, Task
from runner.sweep.plan import described, write
from runner.sweep.times import times
from runner.sweep.worker import Worker


def run(
    plan: Sequence[Job],
    folder: RunFolder,
    progress: SweepProgress,
    launcher: str,
    prefetch: Prefetch | None = None,
) -> None:
    """Run all cases of a plan.

    Args:
        plan: What to run; a case that appears twice is run once.
        folder: Where everything goes; each case's result.json is written before the next case ends.
        progress: Shows every step.
        launcher: Of Hydra; stands in each row, as cases that were launched alone were not measured side by side.
        prefetch: What was begun while the plan was made; the caller closes it.

    Raises:
        UsageError: if the folder holds rows of another sweep; nothing was changed then.
        DeviceUnavailable: if the only device that was asked for is not there.
        KeyboardInterrupt: passed on, after the cases that were not reached have `not_run` rows.
    """
    told = described(plan, launcher)
    waiting = [job for job in plan if "same_as" not in told[job.number]]
    ledger = Ledger(folder, launcher, previous_rows.rows(waiting, folder))
    write(folder, told)
    sources.keep(folder, waiting)
    groups = measured_alike([job for job in waiting if not ledger.finished(job)])
    try:
        for group in groups:
            try:
                _run_group(group, folder, progress, ledger, prefetch)
            except DeviceUnavailable as e:
                if len(groups) == 1 and ledger.empty:
                    raise  # nothing was run: the user's mistake, not a failed sweep
                ledger.mark_not_run(str(e), group)
    except KeyboardInterrupt:
        ledger.mark_not_run("interrupted before this case was reached", waiting)
        raise
    finally:
        ledger.write()


def measured_alike(plan: Sequence[Job]) -> list[list[Job]]:
    """Group the jobs by device, compiler and timing."""
    groups: dict[tuple[Any, ...], list[Job]] = {}
    for job in plan:
        groups.setdefault((*job.device.key, job.compiler, str(job.timing)), []).append(job)
    return list(groups.values())


def _run_group(
    group: list[Job], folder: RunFolder, progress: SweepProgress, ledger: Ledger, prefetch: Prefetch | None
) -> None:
    progress.stage("opening the device", 1)
    begun = prefetch if prefetch and prefetch.ready_for(group[0]) else None
    worker = begun.hand_over() if begun else Worker(group[0].device)
    ahead = _import_ahead()
    try:
        info = worker.info
        ledger.opened(group, info.kind)
        with ExitStack() as stack:
            compilation = begun.compilation if begun else None
            if compilation is None:
                compilation = Compilation(compiler_for(group[0].device, info, group[0].compiler), len(group))
            stack.callback(compilation.close)
            device_record.note(folder, device_record.entry(info, group[0], compilation.compiler))
            for job in group:
                if reason := reason_to_skip(job.case, info):
                    ledger.unfinished(job, "skipped", reason)
            runnable = [job for job in group if not ledger.finished(job)]
            interruption.check()
            compiled = compilation.finish(runnable, progress)
        binaries = _binaries(runnable, compiled, folder, ledger)
        worker = _run_rounds([p for p in runnable if p.number in binaries], binaries, worker, folder, progress, ledger)
    except BaseException:
        worker.kill()  # it may be in the middle of a launch
        raise
    finally:
        ahead.set()
    threading.Thread(target=worker.close, name="closing").start()  # the report need not wait for it


def _import_ahead() -> threading.Event:
    """Import what the results and the report need while the device is opened and measured; ends early if set."""
    enough = threading.Event()

    def work() -> None:
        for name in ("pandas", "matplotlib.figure"):
            if not enough.is_set():
                with suppress(ImportError):  # whoever needs it will say so
                    import_module(name)

    threading.Thread(target=work, name="imports").start()
    return enough


def _binaries(
    plan: Sequence[Job], compiled: dict[int, Compiled], folder: RunFolder, ledger: Ledger
) -> dict[int, Binary]:
    """The binaries by job; a job whose kernel does not compile gets its row here."""
    binaries = {}
    for job in plan:
        result = compiled[job.number]
        # The compiler was given absolute paths; the folders in them are private.
        own = f"{job.case.kernel.source.parent}/"
        if result.log:
            atomic.write_text(folder.compile_log(job.number), result.log.replace(own, "") + "\n")
        if isinstance(result, CompileError):
            ledger.unfinished(job, result.status, str(result).replace(own, ""))
        else:
            binaries[job.number] = result
    return binaries


def _run_rounds(
    plan: Sequence[Job],
    binaries: Mapping[int, Binary],
    worker: Worker,
    folder: RunFolder,
    progress: SweepProgress,
    ledger: Ledger,
) -> Worker:
    """Measure a group in rounds: all cases in each, in another order each time, so that drift hits all alike.

    Args:
        plan: The jobs; what the ledger has already is not measured again.
        binaries: By job.
        worker: With the device open; one that ends is replaced.
        folder: Of the sweep.
        progress: Shows each case.
        ledger: Gets the rows, each while the next case runs.

    Returns:
        The worker that is alive at the end.
    """
    if not plan:
        return worker
    protocol = plan[0].timing.protocol(worker.info.kind)
    used = False
    for number in range(1, protocol.rounds + 1):
        waiting = [job for job in _shuffled(plan, protocol.order_seed, number) if ledger.wants(job, number)]
        which = f" (round {number} of {protocol.rounds})" if protocol.rounds > 1 else ""
        progress.stage(f"running on {worker.info.name}{which}", len(waiting))
        if protocol.fresh_process and used and waiting:
            worker.close()
        outcomes = _Outcomes(number, which, binaries, folder, progress, ledger)
        try:
            for job in waiting:
                interruption.check()
                worker, used = _revived(worker), True
                task = _task(job, binaries[job.number], protocol)
                outcome = worker.run(task, functools.partial(_show, progress, job.case.label), outcomes.enter)
                outcomes.add(job, outcome, worker.info)
        except BaseException:
            worker.kill()  # it may be in the middle of a launch, and the caller knows only its own worker
            raise
        finally:
            outcomes.enter()
    return worker


def _show(progress: SweepProgress, label: str, step: str) -> None:
    progress.now(f"{label}: {step}")


def _task(job: Job, binary: Binary, protocol: Protocol) -> Task:
    return Task(job.case, job.case.source(), binary, protocol, job.device.time_limit_s)


def _shuffled(plan: Sequence[Job], seed: int, number: int) -> list[Job]:
    """The order of a round: the same in every run of the sweep, but another one in every round."""
    ordered = sorted(plan, key=lambda job: job.number)
    random.Random(f"{seed} {number}").shuffle(ordered)  # noqa: S311  (not for cryptography)
    return ordered


def _revived(worker: Worker) -> Worker:
    if worker.alive:
        return worker
    worker.kill()
    return Worker(worker.config)


class _Outcomes:
    """The outcomes of a round. They are written to disk while the next case runs, so that the GPU does not wait."""

    def __init__(
        self,
        number: int,
        which: str,
        binaries: Mapping[int, Binary],
        folder: RunFolder,
        progress: SweepProgress,
        ledger: Ledger,
    ) -> None:
        self._number, self._which, self._binaries = number, which, binaries
        self._folder, self._progress, self._ledger = folder, progress, ledger
        self._waiting: deque[tuple[Job, Outcome, DeviceInfo]] = deque()

    def add(self, job: Job, outcome: Outcome, info: DeviceInfo) -> None:
        """Take an outcome that is not on disk yet."""
        self._waiting.append((job, outcome, info))

    def enter(self) -> None:
        """Write the waiting outcomes as rows and samples."""
        while self._waiting:
            job, outcome, info = self._waiting[0]
            self._enter(job, outcome, info)
            self._waiting.popleft()  # last: an interrupted write is repeated at the end
            if outcome.printed:
                self._progress.say(outcome.printed.rstrip("\n"))
            self._progress.step()
            self._progress.row(f"{job.case.label}{self._which}", self._ledger.row(job) or {})

    def _enter(self, job: Job, outcome: Outcome, info: DeviceInfo) -> None:
        before, number = self._ledger.row(job), self._number
        if outcome.measured is None and before:
            rounds = f"right in {number - 1} round{'s' * (number > 2)}, not in the next"
            outcome = dataclasses.replace(outcome, reason=f"{rounds}: {outcome.reason}")
        fresh = results.finished(job, info, self._ledger.launcher, outcome, self._binaries[job.number])
        if outcome.measured is None:
            self._ledger.add(job, fresh)
            return
        case = job.case
        samples = append_round(self._folder.samples(case.id, job.number), outcome.measured.samples, number)
        hot_us = append_hot(self._folder.hot_samples(case.id, job.number), outcome.measured.hot_us, number)
        row = before or fresh
        self._ledger.add(job, {**row, **times(case, info, outcome.measured, samples, hot_us, row)})
