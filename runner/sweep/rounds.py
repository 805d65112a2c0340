"""Measuring in rounds: all cases in each, in an order of its own, so that drift hits all alike."""

from __future__ import annotations

import dataclasses
import functools
import random
from collections import deque
from collections.abc import Mapping, Sequence

from runner import interruption
from runner.config import Job
from runner.device import Binary, DeviceInfo
from runner.folder import RunFolder
from runner.progress import SweepProgress
from runner.samples import append_hot, append_round
from runner.settings import Protocol
from runner.sweep import results
from runner.sweep.attempt import Outcome, Task
from runner.sweep.ledger import Ledger
from runner.sweep.times import times
from runner.sweep.worker import Worker


def run_rounds(
    plan: Sequence[Job],
    binaries: Mapping[int, Binary],
    worker: Worker,
    folder: RunFolder,
    progress: SweepProgress,
    ledger: Ledger,
) -> Worker:
    """Measure cases that are measured alike.

    Args:
        plan: The cases; what the ledger has of them already is not measured again.
        binaries: By job.
        worker: With the device open; one that ends is replaced.
        folder: Of the sweep.
        progress: Told of each case.
        ledger: Gets the rows, each while the next case runs.

    Returns:
        The worker that is alive at the end.
    """
    if not plan:
        return worker
    protocol = plan[0].timing.protocol(worker.info.kind)
    used = False
    for number in range(1, protocol.rounds + 1):
        waiting = [p for p in _shuffled(plan, protocol.order_seed, number) if ledger.wants(p, number)]
        which = f" (round {number} of {protocol.rounds})" if protocol.rounds > 1 else ""
        progress.stage(f"running on {worker.info.name}{which}", len(waiting))
        if protocol.fresh_process and used and waiting:
            worker.close()
        outcomes = _Outcomes(number, which, binaries, folder, progress, ledger)
        try:
            for planned in waiting:
                interruption.check()
                worker, used = _revived(worker), True
                told = functools.partial(_tell, progress, planned.case.label)
                outcome = worker.run(_task(planned, binaries[planned.number], protocol), told, outcomes.enter)
                outcomes.add(planned, outcome, worker.info)
        except BaseException:
            worker.kill()  # it may be in the middle of a launch, and the caller knows only the one that it gave
            raise
        finally:
            outcomes.enter()
    return worker


def _task(planned: Job, binary: Binary, protocol: Protocol) -> Task:
    return Task(planned.case, planned.case.source(), binary, protocol, planned.device.time_limit_s)


def _tell(progress: SweepProgress, label: str, step: str) -> None:
    progress.now(f"{label}: {step}")


def _shuffled(plan: Sequence[Job], seed: int, number: int) -> list[Job]:
    """The order of a round: the same in every run of the sweep, another one in every round."""
    ordered = sorted(plan, key=lambda p: p.number)
    random.Random(f"{seed} {number}").shuffle(ordered)  # noqa: S311  (an order is no secret)
    return ordered


def _revived(worker: Worker) -> Worker:
    if worker.alive:
        return worker
    worker.kill()
    return Worker(worker.config)


class _Outcomes:
    """What came of a round's cases: put on disk while the next one runs, so that the GPU does not wait for it."""

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

    def add(self, planned: Job, outcome: Outcome, info: DeviceInfo) -> None:
        """Take an outcome that is not on disk yet."""
        self._waiting.append((planned, outcome, info))

    def enter(self) -> None:
        """Put what waits into rows and samples."""
        while self._waiting:
            planned, outcome, info = self._waiting[0]
            self._enter(planned, outcome, info)
            self._waiting.popleft()  # only now: what is interrupted here is done again in the end
            if outcome.printed:
                self._progress.say(outcome.printed.rstrip("\n"))
            self._progress.step()
            self._progress.row(f"{planned.case.label}{self._which}", self._ledger.row(planned) or {})

    def _enter(self, planned: Job, outcome: Outcome, info: DeviceInfo) -> None:
        earlier, binary, number = self._ledger.row(planned), self._binaries[planned.number], self._number
        if outcome.measured is None:
            if earlier:
                before = f"right in {number - 1} round{'s' * (number > 2)}, not in the next"
                outcome = dataclasses.replace(outcome, reason=f"{before}: {outcome.reason}")
            self._ledger.add(planned, results.finished(planned, info, self._ledger.launcher, outcome, binary))
            return
        case, job = planned.case, planned.number
        samples = append_round(self._folder.samples(case.id, job), outcome.measured.samples, number)
        hot_us = append_hot(self._folder.hot_samples(case.id, job), outcome.measured.hot_us, number)
        row = earlier or results.finished(planned, info, self._ledger.launcher, outcome, binary)
        self._ledger.add(planned, {**row, **times(case, info, outcome.measured, samples, hot_us, row)})
