"""What a right launch is checked for besides: exact inputs, other sizes, other orders of its threads.

Each may turn a right verdict into a wrong one, which says where the kernel is wrong.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from runner.device import Device, Order, Program
from runner.errors import Hazard, LaunchError, LaunchTimeout, NotResident, OutOfMemory, UsageError, told
from runner.kernel import further
from runner.kernel.check import CheckResult
from runner.kernel.declaration import Kind
from runner.kernel.reference import expect
from runner.sweep.sizes import other_sizes
from runner.sweep.trial import Trial, WrongLater, trials, upload
from runner.sweep.worker import Outcome, Task

Heartbeat = Callable[[str], Any]

UNMEANT = "if the kernel is not meant for this size, say so under 'constraints'"

# Launches in another order: a random one only if a launch takes less than this, and none much longer than the first.
RANDOM_BELOW_S = 0.1
LEAST_LIMIT_S = 5.0
SLOWER = 20.0

_right_further: set[tuple[str, str]] = set()  # cases and binaries that were right for the further inputs
_right_sizes: set[tuple[str, str]] = set()  # cases of other sizes, and binaries, that were right


def with_exact_inputs(
    device: Device, task: Task, first: Trial, verdict: CheckResult, stack: ExitStack, heartbeat: Heartbeat
) -> CheckResult:
    """Check again with inputs for which sums are exact, once in a process."""
    case, program = task.case, first.launch.program
    if (case.id, task.binary.digest) in _right_further:
        return dataclasses.replace(verdict, undecided=0)
    for seed in further.seeds(case):
        other = further.contents(case, first.inputs, seed)
        if not other:
            return verdict
        try:
            heartbeat("inputs and reference")
            expected = expect(case, other, fast=task.fast_math, random_signs=True)
            if not further.usable(expected):
                continue
            memory = stack.enter_context(ExitStack())
            trial = Trial(case, *upload(device, program, case, other, memory), other, expected)
        except (UsageError, OutOfMemory) as e:
            note = "; ".join(filter(None, (verdict.note, f"checked for one input: {e}")))
            return dataclasses.replace(verdict, note=note)
        trial.prepare()
        heartbeat("checking")
        device.launch(trial.launch, task.time_limit_s)
        heartbeat("comparing")
        found, _ = trial.verify()
        memory.close()
        if not found.ok:
            reason = f"right for the measured inputs, wrong for exact ones (seed {seed}): {found.reason}"
            return dataclasses.replace(found, reason=reason)
        verdict = dataclasses.replace(verdict, undecided=min(verdict.undecided, found.undecided))
    _right_further.add((case.id, task.binary.digest))
    return verdict


def at_other_sizes(
    device: Device,
    task: Task,
    program: Program,
    verdict: CheckResult,
    spent_ms: float,
    stack: ExitStack,
    heartbeat: Heartbeat,
) -> CheckResult:
    """Check at other sizes, each once in a process."""
    for case in other_sizes(task.case, spent_ms):
        if (case.id, task.binary.digest) in _right_sizes:
            continue
        where = next(f"{p.name}={case.chosen[p.name]}" for p in case.kernel.parameters if p.kind is Kind.SIZE)
        try:
            memory = stack.enter_context(ExitStack())
            trial = next(trials(device, program, case, memory, fast=task.fast_math))
            trial.prepare()
            heartbeat("checking")
            device.launch(trial.launch, task.time_limit_s)
            found, _ = trial.verify()
            memory.close()
        except (UsageError, OutOfMemory, NotResident):  # there is no reference there, or the grid is too large
            continue
        except LaunchError as e:
            raise type(e)(f"at {where}: {e}; {UNMEANT}") from None
        if not found.ok:
            return dataclasses.replace(found, reason=f"right at this size, wrong at {where}: {found.reason}; {UNMEANT}")
        _right_sizes.add((case.id, task.binary.digest))
    return verdict


def in_all_schedules(
    device: Device, trial: Trial, error: Hazard, limit: float, heartbeat: Heartbeat, after: int = 0
) -> Hazard:
    """The findings of a launch, with those that further schedules add to them."""
    found = {f.key: f for f in error.findings}
    for order in range(after + 1, device.info.schedules) if found else ():
        trial.prepare()
        heartbeat("checking")
        try:
            device.launch(dataclasses.replace(trial.launch, order=order), limit)
        except Hazard as e:
            found = {**{f.key: f for f in e.findings}, **found}
        except LaunchTimeout:
            continue
    more = [f.text for f in found.values() if f not in error.findings]
    return Hazard(told([str(error), *more]), tuple(found.values())) if more else error


def _result_in(device: Device, trial: Trial, limit: float, heartbeat: Heartbeat, order: int) -> CheckResult:
    heartbeat("checking")
    trial.prepare()
    device.launch(dataclasses.replace(trial.launch, order=order), limit)
    return trial.verify()[0]


def _other_orders(device: Device, *, also_random: bool) -> Sequence[int]:
    if device.info.schedules:
        return range(1, device.info.schedules)
    return (Order.REVERSE, Order.RANDOM) if also_random else (Order.REVERSE,)


def in_other_orders(
    device: Device, task: Task, trial: Trial, outcome: Outcome, spent_s: float, heartbeat: Heartbeat
) -> Outcome:
    """Whether the result depends on the order in which lanes, warps and blocks run, which CUDA leaves open.

    A result that is right in each order is no hazard, even if its floats are rounded differently. A wrong one that
    is right in reverse is. A `WrongLater` if it is wrong now and then in any order.
    """
    right = outcome.status == "ok"
    limit = min(task.time_limit_s, max(LEAST_LIMIT_S, SLOWER * spent_s))

    result_in = functools.partial(_result_in, device, trial, limit, heartbeat)
    for order in _other_orders(device, also_random=right and spent_s < RANDOM_BELOW_S):
        reason, mismatches, words = "", outcome.mismatches, Order(min(order, Order.RANDOM)).words
        try:
            other = result_in(order)
            if other.ok == right:
                continue
            # A kernel may also count its launches, or be wrong once in a while: that is no matter of the order.
            again = [result_in(o) for o in (Order.USUAL, Order.USUAL, order)]
            if [r.ok for r in again] == [right, right, not right]:
                wrong = again[2] if right else again[0]
                one, another = ("right", "wrong") if right else ("wrong", "right")
                reason, mismatches = f"{one} in order, {another} {words}: {wrong.reason}", wrong.mismatches
            elif right:
                raise WrongLater(next((r for r in (other, *again) if not r.ok), other))
        except LaunchTimeout as e:
            if right and limit < task.time_limit_s:
                reason = f"right in order after {spent_s:.2g} s, but {words} {e}"
        except Hazard as e:
            if e.findings:
                all_of_it = in_all_schedules(device, trial, e, limit, heartbeat, order)
                return dataclasses.replace(outcome, status="hazard", reason=str(all_of_it), findings=all_of_it.findings)
            reason = f"right in order, but {words} {e}" if right else ""
        if reason:
            reason = f"the result depends on the order in which lanes, warps and blocks run: {reason}"
            return dataclasses.replace(outcome, status="hazard", reason=reason, mismatches=mismatches)
    return outcome
