"""What a right launch is checked for besides: exact inputs, other orders of its threads; and its time.

Each may turn a right verdict into a wrong one, which says where the kernel is wrong.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from runner.bounds.power import Power, together
from runner.device import Device, DeviceInfo, Order, Role
from runner.errors import Hazard, LaunchError, LaunchTimeout, OutOfMemory, UsageError, told
from runner.kernel.case import Case
from runner.kernel.check import CheckResult
from runner.kernel.declaration import Kernel
from runner.kernel.further import further, usable, wanted, without_ties
from runner.kernel.reference import expect
from runner.sweep.trial import Trial, WrongLater, upload
from runner.sweep.worker import Outcome, Task, Tried

# Launches in another order: a random one only if a launch takes less than this, and none much longer than the first.
RANDOM_BELOW_S = 0.1
LEAST_LIMIT_S = 5.0
SLOWER = 20.0

# Cases and binaries that were right for the further inputs: how many there were, the note, and what they let through.
_right_further: dict[tuple[Kernel, str, str], tuple[int, str, Mapping[str, Power]]] = {}


@dataclass(frozen=True)
class Work:
    """A task on an open device."""

    device: Device
    task: Task
    stack: ExitStack  # closing it gives the memory back
    heartbeat: Callable[[str], Any]  # called with the name of each step
    tried: Tried = field(default_factory=Tried)  # what was launched besides; the checks count here

    def launch(self, trial: Trial, *, limit: float | None = None, order: int | None = None) -> CheckResult:
        """The verdict on a further launch, perhaps in another order of its threads; it may take `limit` seconds."""
        launch = trial.launch if order is None else dataclasses.replace(trial.launch, order=order)
        trial.prepare()
        self.heartbeat("checking")
        self.device.launch(launch, limit or self.task.time_limit_s)
        self.heartbeat("comparing")
        return trial.verify()[0]


def with_further_inputs(work: Work, first: Trial, verdict: CheckResult) -> CheckResult:
    """Check again with further inputs, once in a process, and count those that were launched.

    They are numbers for which sums are exact, and numbers that reach each branch of the reference. A launch that was
    wrong is not checked again.
    """
    task, case = work.task, work.task.case
    if not verdict.ok or not wanted(case, verdict):
        return verdict
    known = (case.kernel, case.id, task.binary.digest)
    if known in _right_further:
        count, note, power = _right_further[known]
        note = _joined(verdict.note, note)
        work.tried.input_launches += count
        return dataclasses.replace(verdict, undecided=0, note=note, power=power)
    work.heartbeat("inputs and reference")
    chosen = further(case)
    count, notes, sets = 0, [chosen.note], list(chosen.sets)
    for one in sets:
        try:
            work.heartbeat("inputs and reference")
            other = one.contents(case, first.inputs)
            expected = expect(case, other, fast=task.fast_math, random_signs=True)
            if not usable(expected):
                continue
            memory = work.stack.enter_context(ExitStack())
            uploaded = upload(work.device, first.launch.program, case, other, memory)
            trial = Trial(case, *uploaded, other, expected)
        except (UsageError, OutOfMemory) as e:
            note = _joined(verdict.note, f"checked for {count + 1} input{'s' if count else ''}: {e}")
            return dataclasses.replace(verdict, note=note)
        found = work.launch(trial)
        memory.close()
        if not found.ok and found.tied:
            if len(notes) == 1:
                notes.append(f"some further inputs show nothing: {found.tied}")
                sets.append(without_ties(case))
            continue
        count += 1
        work.tried.input_launches += 1
        if not found.ok:
            where = f"wrong for {one.label}"
            if one.beyond:
                where += f" (beyond its fill: {one.beyond}; refill: false keeps an array's contents)"
            reason = f"right for the measured inputs, {where}: {found.reason}"
            return dataclasses.replace(found, reason=reason)
        power = together(verdict.power, found.power)
        verdict = dataclasses.replace(verdict, undecided=min(verdict.undecided, found.undecided), power=power)
    note = _joined(*dict.fromkeys(notes))
    _right_further[known] = count, note, verdict.power
    return dataclasses.replace(verdict, note=_joined(verdict.note, note))


def _joined(*notes: str) -> str:
    """Several notes, of which some may be empty, as one."""
    return "; ".join(filter(None, notes))


def onto_zeros(work: Work, trial: Trial, verdict: CheckResult) -> CheckResult:
    """A mismatch that says whether the answer is right where the outputs are zero before the launch, not poisoned."""
    trial.prepare()
    trial.blank()
    work.heartbeat("checking")
    try:
        work.device.launch(trial.launch, work.task.time_limit_s)
    except LaunchError:
        return verdict
    if not trial.verify()[0].ok:
        return verdict
    names = " and ".join(verdict.added)
    hint = f"right where {names} held zeros before the launch; if the kernel adds to {names}, use role: inout"
    return dataclasses.replace(verdict, reason=f"{verdict.reason}; {hint} and fill: zeros")


def in_all_schedules(work: Work, trial: Trial, error: Hazard, limit: float, after: int = 0) -> Hazard:
    """The findings of a launch, with those that further schedules add to them."""
    found = {f.key: f for f in error.findings}
    for order in range(after + 1, work.device.info.schedules) if found else ():
        trial.prepare()
        work.heartbeat("checking")
        try:
            work.device.launch(dataclasses.replace(trial.launch, order=order), limit)
        except Hazard as e:
            found = {**{f.key: f for f in e.findings}, **found}
        except LaunchTimeout:
            continue
    more = [f.text for f in found.values() if f not in error.findings]
    return Hazard(told([str(error), *more]), tuple(found.values())) if more else error


def _other_orders(device: Device, *, also_random: bool) -> Sequence[int]:
    if device.info.schedules:
        return range(1, device.info.schedules)
    return (Order.REVERSE, Order.RANDOM) if also_random else (Order.REVERSE,)


def in_other_orders(work: Work, trial: Trial, outcome: Outcome, spent_s: float) -> Outcome:
    """Whether the result depends on the order in which lanes, warps and blocks run, which CUDA leaves open.

    A result that is right in each order is no hazard, even if its floats are rounded differently. A wrong one that
    is right in reverse is. A `WrongLater` if it is wrong now and then in any order.
    """
    right = outcome.status == "ok"
    limit = min(work.task.time_limit_s, max(LEAST_LIMIT_S, SLOWER * spent_s))
    for order in _other_orders(work.device, also_random=right and spent_s < RANDOM_BELOW_S):
        reason, mismatches, words = "", outcome.mismatches, Order(min(order, Order.RANDOM)).words
        try:
            other = work.launch(trial, limit=limit, order=order)
            if other.ok == right:
                work.tried.order_launches += 1
                continue
            # A kernel may also count its launches, or be wrong once in a while: that is no matter of the order.
            again = [work.launch(trial, limit=limit, order=o) for o in (Order.USUAL, Order.USUAL, order)]
            if [r.ok for r in again] == [right, right, not right]:
                wrong = again[2] if right else again[0]
                one, another = ("right", "wrong") if right else ("wrong", "right")
                reason, mismatches = f"{one} in order, {another} {words}: {wrong.reason}", wrong.mismatches
            elif right:
                raise WrongLater(next((r for r in (other, *again) if not r.ok), other))
        except LaunchTimeout as e:
            if right and limit < work.task.time_limit_s:
                reason = f"right in order after {spent_s:.2g} s, but {words} {e}"
        except Hazard as e:
            if e.findings:
                all_of_it = in_all_schedules(work, trial, e, limit, order)
                return dataclasses.replace(outcome, status="hazard", reason=str(all_of_it), findings=all_of_it.findings)
            reason = f"right in order, but {words} {e}" if right else ""
        if reason:
            reason = f"the result depends on the order in which lanes, warps and blocks run: {reason}"
            return dataclasses.replace(outcome, status="hazard", reason=reason, mismatches=mismatches)
    return outcome


TOLERANCE = 1.05  # of the peak: clocks may be a little above what the driver reports
EMPTY_SHARE = 0.8  # of the time of an empty kernel
L2_BYTES_PER_CLOCK = 64  # that a multiprocessor can take from the L2 cache


def implausible(case: Case, info: DeviceInfo, median_us: float) -> str:
    """Why a time cannot be right; empty if it can be.

    After the flush, inputs come from DRAM, each element at least once; of the outputs, as much as L2 holds may stay
    there. All bytes that the YAML declares pass between L2 and the multiprocessors, at most 64 a clock for each.
    Bytes that are not declared do not count.
    """
    peak = info.peak_gbps
    if not info.is_gpu or not peak:
        return ""
    empty = info.details.get("empty_kernel_us")
    if empty and median_us < EMPTY_SHARE * empty:
        return f"{median_us:.2f} us is less than an empty kernel takes ({empty:.2f} us)"
    read, written = case.count("bytes_read") or 0, case.count("bytes_written") or 0
    sizes = {role: sum(a.nbytes for a in case.arrays() if a.role in (role, Role.INOUT)) for role in (Role.IN, Role.OUT)}
    from_dram = min(read, sizes[Role.IN]) + max(0, min(written, sizes[Role.OUT]) - info.l2_bytes)
    limits = [("the DRAM", from_dram, peak)]
    per_us = info.details.get("clock_mhz", 0) * info.details.get("multiprocessors", 0)  # clocks, of all of them
    if per_us:
        limits.append(("the L2 cache", read + written, per_us * L2_BYTES_PER_CLOCK / 1e3))
    for what, count, gbps in limits:
        if count > TOLERANCE * gbps * 1e3 * median_us:
            return (
                f"{count} bytes in {median_us:.2f} us are {count / median_us / 1e3:.0f} GB/s, more than {what} can "
                f"give ({gbps:.0f} GB/s): the kernel does not move what its YAML declares under 'bytes'"
            )
    return ""
