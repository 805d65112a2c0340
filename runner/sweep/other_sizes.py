"""Check a right kernel at other sizes before it is timed, with the same binary (`runner.kernel.sizes`)."""

from __future__ import annotations

import dataclasses
from contextlib import ExitStack

from runner.device import Program, Source
from runner.errors import Hazard, LaunchError, NotResident, OutOfMemory, UsageError
from runner.kernel.case import Case
from runner.kernel.check import CheckResult
from runner.kernel.sizes import CONSTRAINT_HINT, SLOWEST_MS, VALUES_HINT, format_changed_parameters, other_sizes
from runner.sweep.further_checks import Work
from runner.sweep.trial import trials

NOT_ASKED = "timing.check_sizes=false"

_correct: dict[tuple[str, str], CheckResult] = {}  # right verdicts of this process, by case id and binary
_done: dict[tuple[str, Source], tuple[int, str]] = {}  # by case id and variant: right sizes, and why there are none


def check_other_sizes(work: Work, program: Program, verdict: CheckResult, launch_ms: float) -> CheckResult:
    """Check a case at other sizes, once per process, and record in `work.further` how many were right or why none.

    Args:
        work: The task, whose case was right.
        program: The case's program, which the other sizes share.
        verdict: The verdict on the case. It is returned if the other sizes are right.
        launch_ms: Approximate time of a launch of the case, in milliseconds.

    Raises:
        LaunchError: A launch at another size failed.
    """
    task = work.task
    key = (task.case.id, task.source)
    if not task.protocol.check_sizes:
        work.further.sizes_not_tried = NOT_ASKED
        return verdict
    if key not in _done:
        sizes = task.sizes if task.sizes and launch_ms < SLOWEST_MS else other_sizes(task.case, launch_ms)
        right, reason = 0, sizes.reason
        for case in (*sizes.cases, *sizes.scalars):
            where = format_changed_parameters(task.case, case)
            found = _verdict_at(work, program, case, where)
            if isinstance(found, str):
                reason = reason or f"{where}: {found}"
            elif found.ok:
                right += case in sizes.cases
            else:
                wrong = f"correct at this size, wrong at {where}: {found.reason}; {CONSTRAINT_HINT}"
                if case in sizes.scalars:
                    wrong = f"correct at these values, wrong at {where}: {found.reason}; {VALUES_HINT}"
                return dataclasses.replace(found, reason=wrong)
        _done[key] = right, "" if right else reason
    work.further.size_launches, work.further.sizes_not_tried = _done[key]
    return verdict


def _verdict_at(work: Work, program: Program, case: Case, where: str) -> CheckResult | str:
    """The verdict at another size, or why it has none. A binary that was correct at this size is not launched again."""
    key = (case.id, work.task.binary.digest)
    if key in _correct:
        return _correct[key]
    memory = work.stack.enter_context(ExitStack())  # after a fault, the case's stack frees it
    try:
        trial = next(trials(work.device, program, case, memory, fast=work.task.fast_math))
        found = work.launch(trial, with_power=False)
    except (UsageError, OutOfMemory, NotResident) as e:  # the reference fails at this size, or the grid is too large
        memory.close()
        return str(e)
    except Hazard as e:
        raise Hazard(f"at {where}: {e}; {CONSTRAINT_HINT}", e.findings) from None
    except LaunchError as e:
        raise type(e)(f"at {where}: {e}; {CONSTRAINT_HINT}") from None
    memory.close()
    if found.ok and found.undecided >= found.compared:
        return "no element could be compared"
    if found.ok:
        _correct[key] = found
    return found
