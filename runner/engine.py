"""A list of cases, run: plan, compile all, then check and measure in rounds, all cases in each.

Whatever becomes of a case, it becomes a row, and the row is on disk before the next case starts.
"""

from __future__ import annotations

import dataclasses
import functools
import random
from collections.abc import Sequence
from typing import Any

from runner import atomic, environment, results, sources
from runner.attempt import Outcome, Task
from runner.compilation import Compiled, compile_all
from runner.config import Planned
from runner.device import Binary, Compiler, DeviceInfo
from runner.device.opening import compiler_for
from runner.errors import CompileError, DeviceUnavailable
from runner.folder import RunFolder, read_json, write_json
from runner.ledger import Ledger
from runner.plan import distinct, gather
from runner.progress import SweepProgress
from runner.samples import append_hot, append_round
from runner.settings import Protocol
from runner.times import times
from runner.worker import Worker


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
    waiting = distinct(plan, folder, launcher)
    ledger = Ledger(folder, launcher, waiting, {})
    gather(folder)
    sources.keep(folder, waiting)
    groups = _measured_alike(waiting)
    try:
        for group in groups:
            try:
                _run_group(group, folder, progress, ledger)
            except DeviceUnavailable as e:
                if len(groups) == 1 and ledger.empty:
                    raise  # nothing was run: a mistake, not a failed sweep
                ledger.put_off(str(e), group)
    except KeyboardInterrupt:
        ledger.put_off("interrupted before this case was reached", waiting)
        raise
    finally:
        ledger.write()


def _measured_alike(plan: Sequence[Planned]) -> list[list[Planned]]:
    """The cases by what they are run on, and how they are measured."""
    groups: dict[tuple[Any, ...], list[Planned]] = {}
    for planned in plan:
        groups.setdefault((*planned.device.key, planned.compiler, str(planned.timing)), []).append(planned)
    return list(groups.values())


def _run_group(group: list[Planned], folder: RunFolder, progress: SweepProgress, ledger: Ledger) -> None:
    progress.stage("opening the device", 1)
    worker = Worker(group[0].device)
    try:
        info = worker.info
        ledger.opened(group, info.kind)
        compiler = compiler_for(group[0].device, info, group[0].compiler)
        _record(folder, info, group[0], compiler)
        for planned in group:
            if reason := _skipped(planned, info):
                ledger.unfinished(planned, "skipped", reason)
        runnable = [p for p in group if ledger.row(p) is None]
        compiled = compile_all(runnable, compiler, progress)
        binaries = _binaries(runnable, compiled, folder, ledger)
        worker = _run_rounds([p for p in runnable if p.job in binaries], binaries, worker, folder, progress, ledger)
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


def _record(folder: RunFolder, info: DeviceInfo, planned: Planned, compiler: Compiler) -> None:
    """Add an opened device, what compiles for it, and how it is timed, to environment.json."""
    known = read_json(folder.environment) or {}
    try:
        toolchain = compiler.identity
    except CompileError as e:
        toolchain = str(e)
    timing = dataclasses.asdict(planned.timing.protocol(info.kind))
    known.setdefault("devices", {})[info.kind] = {
        **environment.device(info),
        "toolchain": toolchain,
        "timing": timing,
    }
    write_json(folder.environment, known)


def _binaries(
    plan: Sequence[Planned], compiled: dict[int, Compiled], folder: RunFolder, ledger: Ledger
) -> dict[int, Binary]:
    """What can be loaded, by job; what the compiler refused is a row already."""
    binaries = {}
    for planned in plan:
        came = compiled[planned.job]
        # The compiler was given whole paths; which folders they lie in is nobody's business.
        own = f"{planned.case.kernel.source.parent}/"
        if came.log:
            atomic.write_text(folder.compile_log(planned.job), came.log.replace(own, "") + "\n")
        if isinstance(came, CompileError):
            ledger.unfinished(planned, came.status, str(came).replace(own, ""))
        else:
            binaries[planned.job] = came
    return binaries


def _run_rounds(
    plan: Sequence[Planned],
    binaries: dict[int, Binary],
    worker: Worker,
    folder: RunFolder,
    progress: SweepProgress,
    ledger: Ledger,
) -> Worker:
    """Measure all cases of a group in each round, in an order of its own: drift hits all alike.

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
        for planned in waiting:
            worker, used = _revived(worker), True
            told = functools.partial(_tell, progress, planned.case.label)
            outcome = worker.run(_task(planned, binaries[planned.job], protocol), told)
            _enter(planned, number, outcome, binaries[planned.job], worker.info, folder, ledger)
            if outcome.printed:
                progress.say(outcome.printed.rstrip("\n"))
            progress.step()
            progress.row(f"{planned.case.label}{which}", ledger.row(planned) or {})
    return worker


def _task(planned: Planned, binary: Binary, protocol: Protocol) -> Task:
    return Task(planned.case, planned.case.source(), binary, protocol, planned.device.time_limit_s)


def _tell(progress: SweepProgress, label: str, step: str) -> None:
    progress.now(f"{label}: {step}")


def _shuffled(plan: Sequence[Planned], seed: int, number: int) -> list[Planned]:
    """The order of a round: the same in every run of the sweep, another one in every round."""
    ordered = sorted(plan, key=lambda p: p.job)
    random.Random(f"{seed} {number}").shuffle(ordered)  # noqa: S311  (an order is no secret)
    return ordered


def _revived(worker: Worker) -> Worker:
    if worker.alive:
        return worker
    worker.kill()
    return Worker(worker.config)


def _enter(
    planned: Planned,
    number: int,
    outcome: Outcome,
    binary: Binary,
    info: DeviceInfo,
    folder: RunFolder,
    ledger: Ledger,
) -> None:
    """Put what came of a round into the case's row, and its samples beside it."""
    earlier = ledger.row(planned)
    if outcome.measured is None:
        if earlier:
            outcome = dataclasses.replace(
                outcome, reason=f"right in {number - 1} rounds, not in the next: {outcome.reason}"
            )
        ledger.add(planned, results.finished(planned, info, ledger.launcher, outcome, binary))
        return
    samples = append_round(folder.samples(planned.case.id, planned.job), outcome.measured.samples, number)
    hot_us = append_hot(folder.hot_samples(planned.case.id, planned.job), outcome.measured.hot_us, number)
    row = earlier or results.finished(planned, info, ledger.launcher, outcome, binary)
    ledger.add(planned, {**row, **times(planned.case, info, outcome.measured, samples, hot_us, row)})
