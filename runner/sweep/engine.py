"""A list of cases, run: plan, compile all, then check and measure in rounds, all cases in each.

Whatever becomes of a case, it becomes a row, and the row is on disk before the next case ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from runner import atomic, interruption, sources
from runner.config import Job
from runner.device import Binary
from runner.device.opening import compiler_for
from runner.errors import CompileError, DeviceUnavailable
from runner.folder import RunFolder
from runner.progress import SweepProgress
from runner.sweep import device_record, previous_rows
from runner.sweep.compilation import Compilation, Compiled
from runner.sweep.ledger import Ledger
from runner.sweep.plan import described, write
from runner.sweep.prefetch import Prefetch, reason_to_skip
from runner.sweep.rounds import run_rounds
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
        plan: What to run; a case that stands in it twice is run once.
        folder: Where everything goes; each case's result.json is there before the next case ends.
        progress: Told of every step.
        launcher: Of Hydra; stands in each row, as cases that were launched alone were not measured beside each other.
        prefetch: What was begun while the plan was made; the caller ends it.

    Raises:
        DeviceUnavailable: if a device that was asked for is not there.
        KeyboardInterrupt: passed on, after what was not reached has been written down as `not_run`.
    """
    told = described(plan, launcher)
    waiting = [p for p in plan if "same_as" not in told[p.number]]
    ledger = Ledger(folder, launcher, waiting, previous_rows.rows(waiting, folder))
    write(folder, told)
    sources.keep(folder, waiting)
    groups = measured_alike([p for p in waiting if not ledger.finished(p)])
    try:
        for group in groups:
            try:
                _run_group(group, folder, progress, ledger, prefetch)
            except DeviceUnavailable as e:
                if len(groups) == 1 and ledger.empty:
                    raise  # nothing was run: a mistake, not a failed sweep
                ledger.mark_not_run(str(e), group)
    except KeyboardInterrupt:
        ledger.mark_not_run("interrupted before this case was reached", waiting)
        raise
    finally:
        ledger.write()


def measured_alike(plan: Sequence[Job]) -> list[list[Job]]:
    """The cases by what they are run on, and how they are measured."""
    groups: dict[tuple[Any, ...], list[Job]] = {}
    for planned in plan:
        groups.setdefault((*planned.device.key, planned.compiler, str(planned.timing)), []).append(planned)
    return list(groups.values())


def _run_group(
    group: list[Job], folder: RunFolder, progress: SweepProgress, ledger: Ledger, prefetch: Prefetch | None
) -> None:
    progress.stage("opening the device", 1)
    begun = prefetch if prefetch and prefetch.fits(group[0]) and prefetch.worker.alive else None
    worker = begun.worker if begun else Worker(group[0].device)
    try:
        info = worker.info
        ledger.opened(group, info.kind)
        with ExitStack() as stack:
            compilation = begun.compilation if begun else None
            if compilation is None:
                compilation = Compilation(compiler_for(group[0].device, info, group[0].compiler), len(group))
            stack.callback(compilation.close)
            device_record.note(folder, device_record.entry(info, group[0], compilation.compiler))
            for planned in group:
                if reason := reason_to_skip(planned.case, info):
                    ledger.unfinished(planned, "skipped", reason)
            runnable = [p for p in group if not ledger.finished(p)]
            interruption.check()
            compiled = compilation.finish(runnable, progress)
        binaries = _binaries(runnable, compiled, folder, ledger)
        worker = run_rounds([p for p in runnable if p.number in binaries], binaries, worker, folder, progress, ledger)
    except BaseException:
        worker.kill()  # it may be in the middle of a launch
        raise
    worker.close()


def _binaries(
    plan: Sequence[Job], compiled: dict[int, Compiled], folder: RunFolder, ledger: Ledger
) -> dict[int, Binary]:
    """What can be loaded, by job; what the compiler refused is a row already."""
    binaries = {}
    for planned in plan:
        came = compiled[planned.number]
        # The compiler was given whole paths; which folders they lie in is nobody's business.
        own = f"{planned.case.kernel.source.parent}/"
        if came.log:
            atomic.write_text(folder.compile_log(planned.number), came.log.replace(own, "") + "\n")
        if isinstance(came, CompileError):
            ledger.unfinished(planned, came.status, str(came).replace(own, ""))
        else:
            binaries[planned.number] = came
    return binaries
