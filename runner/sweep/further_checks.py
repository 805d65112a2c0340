"""Further checks after a right launch: further inputs, other orders of threads, and the plausibility of the time.

Each can turn a right verdict into a wrong one. The reason then says for which input or order the kernel is wrong.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from runner.bounds.power import Power, together
from runner.device import Device, DeviceInfo, LaunchDiagnostics, Order, Role
from runner.errors import Hazard, LaunchError, LaunchTimeout, OutOfMemory, UsageError, join_findings
from runner.kernel.branches import computes_with_indices
from runner.kernel.case import Case
from runner.kernel.check import CheckResult
from runner.kernel.declaration import Kernel
from runner.kernel.extra_inputs import extra_inputs, is_finite, needs_extra_inputs, without_ties
from runner.kernel.reference import expect
from runner.sweep.trial import MAKING, WRITTEN, Trial, WrongLater, upload
from runner.sweep.worker import FurtherLaunches, Outcome, Task

RANDOM_BELOW_S = 0.1  # a random order is tried only if a launch takes less than this
MIN_LIMIT_S = 5.0  # time limit of a launch in another order: at least this, ...
LIMIT_FACTOR = 20.0  # ... and this multiple of the first launch
UNTRIED = "checked for 1 input: in all further ones keys are equal, and the reference computes with their indices"
CHOICE_HINT = (
    "; if the reference chooses among equal numbers that it computes, set refill: false for the arrays that it reads"
)

# The further inputs of cases and binaries that were right: number of launches, note, and power of the checks.
_checked: dict[tuple[Kernel, str, str], tuple[int, str, Mapping[str, Power]]] = {}


@dataclass(frozen=True)
class Work:
    """A task on an open device."""

    device: Device
    task: Task
    stack: ExitStack  # closing it frees the device's memory
    heartbeat: Callable[[str], Any]  # called with the name of each step
    further: FurtherLaunches = field(default_factory=FurtherLaunches)  # counts the launches of the further checks

    def launch(
        self, trial: Trial, *, limit: float | None = None, order: int | None = None, with_power: bool = True
    ) -> CheckResult:
        """Launch a trial once more and check it.

        Args:
            trial: The trial.
            limit: Time limit in seconds; by default the task's.
            order: The order of threads, an `Order` or a schedule; by default the launch's own.
            with_power: As for `Trial.verify`.
        """
        launch = trial.launch if order is None else dataclasses.replace(trial.launch, order=order)
        trial.prepare()
        self.heartbeat("checking")
        diagnostics = self.device.launch(launch, limit or self.task.time_limit_s)
        self.heartbeat("comparing")
        return with_cause(trial.verify(with_power=with_power)[0], diagnostics)


def with_cause(result: CheckResult, diagnostics: LaunchDiagnostics) -> CheckResult:
    """The result; the reason of a wrong one says if `malloc` had no room."""
    if result.ok or not diagnostics.allocated_null:
        return result
    return dataclasses.replace(result, reason=f"{result.reason}; {diagnostics.allocated_null}")


def check_further_inputs(work: Work, first: Trial, verdict: CheckResult) -> CheckResult:
    """Check a right case with further inputs, once per process, and count the launches in `work.further`.

    The inputs are numbers whose sums are exact, and numbers that reach each branch of the reference.

    Args:
        work: The task.
        first: The first trial, which supplies the contents of arrays that are not refilled.
        verdict: The verdict on the first trial. A wrong one is returned unchanged.
    """
    task, case = work.task, work.task.case
    if not verdict.ok or not needs_extra_inputs(case, verdict):
        return verdict
    known = (case.kernel, case.id, task.binary.digest)
    if known in _checked:
        count, note, power = _checked[known]
        note = _join_notes(verdict.note, note)
        work.further.input_launches += count
        return dataclasses.replace(verdict, undecided=0, note=note, power=power)
    work.heartbeat(MAKING)
    chosen = extra_inputs(case)
    count, notes, sets = 0, [chosen.note], list(chosen.sets)
    for one in sets:
        try:
            work.heartbeat(MAKING)
            other = one.contents(case, first.inputs)
            expected = expect(case, other, fast=task.fast_math, random_signs=True)
            if not is_finite(expected):
                continue
            memory = work.stack.enter_context(ExitStack())
            uploaded = upload(work.device, first.launch.module, case, other, memory)
            trial = Trial(case, *uploaded, other, expected)
        except (UsageError, OutOfMemory) as e:
            note = _join_notes(verdict.note, f"checked for {count + 1} input{'s' if count else ''}: {e}")
            return dataclasses.replace(verdict, note=note)
        found = work.launch(trial)
        memory.close()
        if not found.ok and found.tied:
            if len(notes) == 1:
                notes.append(f"some further inputs show nothing: {found.tied}")
                sets.append(without_ties(case))
            continue
        count += 1
        work.further.input_launches += 1
        if not found.ok:
            where = f"wrong for {one.label}"
            if one.beyond:
                where += (
                    f" (outside the range of the declared fill: {one.beyond}; if such values cannot occur, set "
                    "refill: false for the array in the kernel's YAML)"
                )
            hint = CHOICE_HINT if isinstance(case.kernel.reference, str) and _gives_integers(case) else ""
            reason = f"correct for the measured inputs, {where}: {found.reason}{hint}"
            return dataclasses.replace(found, reason=reason)
        power = together(verdict.power, found.power)
        verdict = dataclasses.replace(verdict, undecided=min(verdict.undecided, found.undecided), power=power)
    note = _join_notes(*dict.fromkeys(notes), UNTRIED if not count and computes_with_indices(case) else "")
    _checked[known] = count, note, verdict.power
    return dataclasses.replace(verdict, note=_join_notes(verdict.note, note))


def _gives_integers(case: Case) -> bool:
    return any(a.role in WRITTEN and a.dtype.number.lstrip("u").startswith("int") for a in case.arrays())


def _join_notes(*notes: str) -> str:
    """Join the notes that are not empty."""
    return "; ".join(filter(None, notes))


def check_on_zeroed_outputs(work: Work, trial: Trial, verdict: CheckResult) -> CheckResult:
    """Launch a wrong case onto zeroed outputs; if it is then right, its reason gains a hint that the kernel adds."""
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
    hint = f"correct where {names} held zeros before the launch; if the kernel adds to {names}, use role: inout"
    return dataclasses.replace(verdict, reason=f"{verdict.reason}; {hint} and fill: zeros")


def hazard_in_all_schedules(work: Work, trial: Trial, error: Hazard, limit: float, after: int = 0) -> Hazard:
    """Launch in the schedules behind `after`, and add their findings to those of a hazard. `limit` is in seconds."""
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
    return Hazard(join_findings([str(error), *more]), tuple(found.values())) if more else error


def _other_orders(device: Device, *, also_random: bool) -> Sequence[int]:
    if device.info.schedules:
        return range(1, device.info.schedules)
    return (Order.REVERSE, Order.RANDOM) if also_random else (Order.REVERSE,)


def check_other_orders(work: Work, trial: Trial, outcome: Outcome, spent_s: float) -> Outcome:
    """Check whether the result depends on the order in which lanes, warps and blocks run, which CUDA leaves undefined.

    A result that is right in every order is fine, even if its floats round differently. A result that is right in one
    order and wrong in another is a hazard.

    Args:
        work: The task.
        trial: The trial of `outcome`.
        outcome: The outcome of the launch in the usual order.
        spent_s: Time of that launch in seconds.

    Raises:
        WrongLater: The result is sometimes wrong, regardless of the order.
    """
    right = outcome.status == "ok"
    limit = max(MIN_LIMIT_S, min(work.task.time_limit_s, LIMIT_FACTOR * spent_s))
    for order in _other_orders(work.device, also_random=right and spent_s < RANDOM_BELOW_S):
        reason, mismatches, words = "", outcome.mismatches, Order(min(order, Order.RANDOM)).description
        try:
            other = work.launch(trial, limit=limit, order=order)
            if other.ok == right:
                work.further.order_launches += 1
                continue
            # Repeat: a kernel that counts its launches, or fails at random, does not depend on the order.
            again = [work.launch(trial, limit=limit, order=o) for o in (Order.USUAL, Order.USUAL, order)]
            if [r.ok for r in again] == [right, right, not right]:
                wrong = again[2] if right else again[0]
                one, another = ("correct", "wrong") if right else ("wrong", "correct")
                reason, mismatches = f"{one} in order, {another} {words}: {wrong.reason}", wrong.mismatches
            elif right:
                raise WrongLater(next((r for r in (other, *again) if not r.ok), other))
        except LaunchTimeout as e:
            if right and limit >= LIMIT_FACTOR * spent_s:
                reason = f"correct in order after {spent_s:.2g} s, but {words} {e}"
        except Hazard as e:
            if e.findings:
                all_of_it = hazard_in_all_schedules(work, trial, e, limit, order)
                return dataclasses.replace(outcome, status="hazard", reason=str(all_of_it), findings=all_of_it.findings)
            reason = f"correct in order, but {words} {e}" if right else ""
        if reason:
            undefined = "; lanes read undefined values, which differ in each order" if outcome.undefined_reads else ""
            reason = f"the result depends on the order in which lanes, warps and blocks run: {reason}{undefined}"
            return dataclasses.replace(outcome, status="hazard", reason=reason, mismatches=mismatches)
    return outcome


TOLERANCE = 1.05  # multiple of the peak: clocks may slightly exceed what the driver reports
EMPTY_SHARE = 0.8  # share of an empty kernel's time, below which a time is implausible
L2_BYTES_PER_CLOCK = 64  # bytes per clock between the L2 cache and a multiprocessor


def implausible(case: Case, info: DeviceInfo, median_us: float) -> str:
    """Why a median time in microseconds is physically impossible; empty if it is plausible.

    After the flush, inputs come from DRAM, each element at least once; outputs may stay in L2 up to its capacity. All
    bytes that the YAML declares pass between L2 and the multiprocessors, at most 64 per clock and multiprocessor.
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
    per_us = info.details.get("clock_mhz", 0) * info.details.get("multiprocessors", 0)  # clocks of all multiprocessors
    if per_us:
        limits.append(("the L2 cache", read + written, per_us * L2_BYTES_PER_CLOCK / 1e3))
    for what, count, gbps in limits:
        if count > TOLERANCE * gbps * 1e3 * median_us:
            return (
                f"{count} bytes in {median_us:.2f} us are {count / median_us / 1e3:.0f} GB/s, more than {what} can "
                f"give ({gbps:.0f} GB/s): the kernel does not move what its YAML declares under 'bytes'"
            )
    return ""
