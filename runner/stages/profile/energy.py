"""`profile.energy=true`: measure the energy of a launch in batches of back-to-back launches, after the timed rounds.

Each pass runs one batch of every case, in a random order of its own. So a GPU that gets warmer affects all cases
equally, and the interval shows it.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

from runner import interruption
from runner.device import Binary, Device, Energy
from runner.device.kinds import compiler_for
from runner.display.terminal import duration
from runner.errors import CompileError, DeviceUnavailable
from runner.jobs.job import Job
from runner.kernel.case import Case
from runner.kernel.inputs import contents
from runner.stages.profile.stage import ProfileStage, Row, StageResult, Tools
from runner.statistics import mean_interval
from runner.sweep.trial import upload
from runner.sweep.worker import PATIENCE_S, Worker

NAME = "energy"
BATCHES = 5
BATCH_S = 2.0
TURN_S = 4.0  # a batch with its overhead: inputs, warm-up launches, waiting for the counter's next update


class BoardEnergy(ProfileStage):
    """Measures the energy of each correct case, by NVML's counter of the whole board."""

    name = setting = NAME

    def steps(self, jobs: Sequence[Job]) -> int:
        """One for each batch."""
        return len(jobs) * BATCHES

    def measure(self, jobs: Sequence[Job], tools: Tools) -> Iterator[tuple[Job, StageResult]]:
        """Measure in a worker of its own, in `BATCHES` passes over the cases."""
        seconds = duration(len(jobs) * BATCHES * TURN_S)
        tools.progress.say(f"energy: {BATCHES} batches of {BATCH_S:g} s for each case take about {seconds}")
        reported: set[str] = set()
        measured: dict[int, list[Energy]] = {job.number: [] for job in jobs}
        worker = Worker(jobs[0].device, tools.environment)
        try:
            compiler = compiler_for(jobs[0].device, worker.info, jobs[0].compiler)
            binaries = {job.number: compiler.compile(job.case.source()) for job in jobs}
            remaining = list(jobs)
            for number, job in _turns(remaining, jobs[0].timing.order_seed):
                interruption.check()
                if not worker.alive:
                    worker.kill()
                    worker = Worker(jobs[0].device, tools.environment)
                tools.progress.show_step(f"{job.case.label}: batch {number} of {BATCHES}")
                limit_s = job.device.time_limit_s
                answer = worker.call(batch, job.case, binaries[job.number], limit_s, BATCH_S, limit=PATIENCE_S)
                if isinstance(answer.value, dict):
                    measured[job.number].append(Energy(**answer.value))
                    tools.progress.step()
                    if number == BATCHES:
                        yield job, _result(measured[job.number], tools.rows[job.number])
                    continue
                reason = answer.value or answer.reason
                remaining.remove(job)
                tools.progress.step(BATCHES - number + 1)
                if reason not in reported:
                    tools.say(f"no energy of {job.case.label}: {reason}")
                reported.add(reason)
                yield job, StageResult({"reason": reason})
            if not all(energy.exclusive for batches in measured.values() for energy in batches):
                tools.say(
                    "another process used the GPU during the energy measurement, so the joules include its energy"
                )
            worker.close()
        except (DeviceUnavailable, CompileError) as e:
            tools.say(f"no energy: {e}")
        finally:
            worker.kill()


def batch(
    device: Device, heartbeat: Callable[[str], Any], case: Case, binary: Binary, time_limit_s: float, seconds: float
) -> dict[str, Any] | str:
    """Measure one batch of a case for `seconds`; runs in the worker, whose parent gets the heartbeat.

    Returns:
        The fields of `runner.device.Energy`, or the reason why the energy is unknown.

    Raises:
        CaseError: The launch failed, although it succeeded in the timed rounds.
    """
    heartbeat("inputs")
    with ExitStack() as stack:
        launch, _ = upload(device, device.load(case.source(), binary), case, contents(case), stack)
        heartbeat("checking")
        device.launch(launch, time_limit_s)
        heartbeat("energy")
        energy = device.energy(launch, seconds, time_limit_s)
    return energy if isinstance(energy, str) else dataclasses.asdict(energy)


def _turns(jobs: list[Job], seed: int) -> Iterator[tuple[int, Job]]:
    """Yield the number of a pass and a job of it, each pass in a random order. Callers may remove jobs from `jobs`."""
    for number in range(1, BATCHES + 1):
        random.Random(f"{seed} {number}").shuffle(jobs)  # noqa: S311  (an order)
        yield from ((number, job) for job in list(jobs))


def _result(batches: Sequence[Energy], row: Row) -> StageResult:
    """Average a case's batches into columns."""
    joules, half = mean_interval([energy.joules for energy in batches])
    moved = sum(row.get(name) or 0 for name in ("bytes_read", "bytes_written"))
    columns: dict[str, Any] = {
        "joules": joules,
        "joules_ci": half,
        "gbps_per_watt": moved / joules / 1e9 if moved else None,
        "energy_us": mean_interval([energy.us for energy in batches])[0],
        "energy_w": mean_interval([energy.watts for energy in batches])[0],
        "idle_w": batches[0].idle_w,
    }
    return StageResult({"batches": [dataclasses.asdict(energy) for energy in batches]}, columns)
