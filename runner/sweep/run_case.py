"""One case on one device, for one round: upload, launch, verify, measure, verify again. A wrong kernel has no speed."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.device import Array, Binary, Device, Launch, LaunchDiagnostics, Order, Program, Role
from runner.errors import CaseError, Hazard, LaunchTimeout, UsageError
from runner.kernel.arrays import cached_fill, is_float
from runner.kernel.case import Case, ScalarSpec
from runner.kernel.check import POISON, POISON_FLOAT, CheckResult, check
from runner.kernel.lanes import MOST_RECEIVED, exchange_of, received
from runner.kernel.reference import Expected, expect
from runner.statistics import unthrottled
from runner.sweep import measure
from runner.sweep.task import Outcome, Task

Heartbeat = Callable[[str], Any]

# Launches in another order: a random one only if a launch takes less than this, and none much longer than the first.
RANDOM_BELOW_S = 1.0
LEAST_LIMIT_S = 5.0
SLOWER = 20.0

# After a fault, or beside a kernel that still runs, giving memory back would fail or wait. The arrays are kept from
# the garbage collector until the process ends.
_abandoned: list[ExitStack] = []


def run_case(device: Device, task: Task, heartbeat: Heartbeat) -> Outcome:
    """Run one case on an open device. An error of the case becomes its outcome, never an exception.

    The heartbeat is called at each step, so that the parent knows that the worker is alive.
    """
    stack = ExitStack()
    try:
        outcome = _load_and_run(device, task, stack, heartbeat)
        if outcome.status == "mismatch" and device.usable and device.forget_spoilt_inputs():
            # An earlier case overwrote inputs that the device keeps. This case is run again with fresh ones.
            stack.close()
            outcome = _load_and_run(device, task, stack, heartbeat)
    except CaseError as e:
        outcome = Outcome(e.status, str(e))
    except MemoryError as e:
        outcome = Outcome("out_of_memory", f"the host's memory does not hold the arrays: {e}")
    except Exception as e:  # noqa: BLE001  (an error in a reference, or a bug of the runner: the sweep goes on)
        what = str(e) if isinstance(e, UsageError) else f"{type(e).__name__}: {e}"
        outcome = Outcome("crashed", what, usable=device.survives_errors)
    if device.usable and outcome.usable:
        stack.close()
        return outcome
    _abandoned.append(stack.pop_all())
    return dataclasses.replace(outcome, usable=False)


def _load_and_run(device: Device, task: Task, stack: ExitStack, heartbeat: Heartbeat) -> Outcome:
    case = task.case
    heartbeat("loading")
    program = device.load(task.source, task.binary)
    stack.callback(id, program)  # keeps it alive
    resources = program.resources
    shared = (resources.shared_bytes or 0) + case.shared
    if shared > device.info.shared_limit:
        reason = f"{shared} bytes of shared memory per block are needed, the device has {device.info.shared_limit}"
        return Outcome("skipped", reason, resources=resources)
    needed = sum(math.prod(a.shape) * a.dtype.itemsize for a in case.arrays())
    if needed > device.info.memory_bytes:
        reason = f"the arrays need {needed} bytes, the device has {device.info.memory_bytes}"
        return Outcome("out_of_memory", reason, resources=resources)
    heartbeat("inputs")
    inputs = contents(case)
    launch, arrays = upload(device, program, case, inputs, stack)
    return _run(device, task, launch, arrays, inputs, heartbeat)


def _run(
    device: Device,
    task: Task,
    launch: Launch,
    arrays: Mapping[str, Array],
    inputs: Mapping[str, NDArray[Any]],
    heartbeat: Heartbeat,
) -> Outcome:
    case, limit = task.case, task.time_limit_s
    heartbeat("reference")
    expected = expect(case, inputs)
    _require_outputs(case, expected)
    poison(case, arrays)
    heartbeat("checking")
    started = time.perf_counter()
    diagnostics = device.launch(launch, limit)
    spent_ms = (time.perf_counter() - started) * 1000
    heartbeat("comparing")
    first, value = _verify(case, arrays, expected)
    observed = _observed_sources(case, arrays, inputs)
    outcome = Outcome(
        status="ok" if first.ok else "mismatch",
        reason=first.reason,
        value=value,
        reference=expected.value,
        reference_us=None if expected.seconds is None else expected.seconds * 1e6,
        mismatches=first.mismatches,
        undefined_reads=diagnostics.undefined_reads,
        received=observed,
        note=diagnostics.first or _note_for(case, observed),
        printed=diagnostics.printed,
        resources=launch.program.resources,
    )
    if device.info.emulated:
        outcome = _other_orders(device, task, launch, arrays, expected, outcome, spent_ms / 1000, heartbeat)
    if outcome.status != "ok":
        return outcome
    measured = measure.measure(
        lambda count: device.sample(launch, count, limit), device.conditions, task.protocol, spent_ms, heartbeat
    )
    heartbeat("comparing")
    later, value = _verify(case, arrays, expected)  # what the timed launches left
    if task.protocol.hot and later.ok:
        cold_us = float(np.median(unthrottled(measured.samples)["us"]))
        hot_us = measure.hot(lambda n: device.batch(launch, n, limit), cold_us, heartbeat)
        measured = dataclasses.replace(measured, hot_us=hot_us)
    if later.ok:  # whether a launch still writes every element
        poison(case, arrays)
        heartbeat("checking")
        device.launch(launch, limit)
        heartbeat("comparing")
        later, value = _verify(case, arrays, expected)
    if not later.ok:
        reason = f"right at the first launch, wrong later: {later.reason}"
        return dataclasses.replace(outcome, status="mismatch", reason=reason, value=value, mismatches=later.mismatches)
    return dataclasses.replace(outcome, value=value, active_blocks=device.active_blocks(launch), measured=measured)


def _other_orders(
    device: Device,
    task: Task,
    launch: Launch,
    arrays: Mapping[str, Array],
    expected: Expected,
    outcome: Outcome,
    spent_s: float,
    heartbeat: Heartbeat,
) -> Outcome:
    """Whether the result depends on the order in which lanes, warps and blocks run, which CUDA leaves open.

    A result that is right in each order is no hazard, even if its floats are rounded differently. A wrong one that
    is right in reverse is.
    """
    right = outcome.status == "ok"
    limit = min(task.time_limit_s, max(LEAST_LIMIT_S, SLOWER * spent_s))

    def result_in(order: Order) -> CheckResult:
        heartbeat("checking")
        poison(task.case, arrays)
        device.launch(dataclasses.replace(launch, order=order), limit)
        return _verify(task.case, arrays, expected)[0]

    for order in (Order.REVERSE, Order.RANDOM) if right and spent_s < RANDOM_BELOW_S else (Order.REVERSE,):
        reason, mismatches = "", outcome.mismatches
        try:
            other = result_in(order)
            if other.ok == right:
                continue
            # A kernel may also count its launches, or be wrong once in a while: that is no matter of the order.
            again = [result_in(o) for o in (Order.USUAL, Order.USUAL, order)]
            if [r.ok for r in again] == [right, right, not right]:
                wrong = again[2] if right else again[0]
                one, another = ("right", "wrong") if right else ("wrong", "right")
                reason, mismatches = f"{one} in order, {another} {order.words}: {wrong.reason}", wrong.mismatches
            elif right:
                wrong = next((r for r in (other, *again) if not r.ok), other)
                reason, mismatches = f"right at the first launch, wrong later: {wrong.reason}", wrong.mismatches
                return dataclasses.replace(outcome, status="mismatch", reason=reason, mismatches=mismatches)
        except LaunchTimeout as e:
            if right and limit < task.time_limit_s:
                reason = f"right in order after {spent_s:.2g} s, but {order.words} {e}"
        except Hazard as e:
            reason = f"right in order, but {order.words} {e}" if right else ""
        if reason:
            reason = f"the result depends on the order in which lanes, warps and blocks run: {reason}"
            return dataclasses.replace(outcome, status="hazard", reason=reason, mismatches=mismatches)
    return outcome


def _require_outputs(case: Case, expected: Expected) -> None:
    """Require every output in the reference, and no other array: a kernel that writes nothing must not pass."""
    out = {a.name for a in case.kernel.arrays if a.role is Role.OUT}
    possible = out | {a.name for a in case.kernel.arrays if a.role is Role.INOUT}
    given = set(expected.outputs)
    if not given or not out <= given <= possible:
        raise UsageError(
            f"the reference gives {', '.join(sorted(given)) or 'nothing'}; {', '.join(sorted(out or possible))} "
            "is expected"
        )


def _verify(case: Case, arrays: Mapping[str, Array], expected: Expected) -> tuple[CheckResult, int | float | None]:
    """The verdict on the outputs, and the one number that sums them up; `None` if the kernel declares none."""
    roles = {a.name: a.role for a in case.kernel.arrays}
    actual = {n: a.read() for n, a in arrays.items() if roles[n] in (Role.OUT, Role.INOUT)}
    verdict = check(actual, expected.outputs, case.count("depth"))
    if overrun := next((f"the kernel wrote outside '{n}', {o}" for n, a in arrays.items() if (o := a.overrun())), ""):
        reason = f"{overrun}; {verdict.reason}" if verdict.reason else overrun
        verdict = CheckResult(max(verdict.mismatches, 1), verdict.compared, reason)
    if case.kernel.value is None:
        return verdict, None
    # Integers wrap in their own type; floats are added up in double precision, as the host would.
    wide = {n: a.astype(np.float64) if is_float(a.dtype) else a for n, a in actual.items()}
    return verdict, np.asarray(case.kernel.value({**case.variables, **wide}).value).item()


def _observed_sources(
    case: Case, arrays: Mapping[str, Array], inputs: Mapping[str, NDArray[Any]]
) -> tuple[int | None, ...]:
    """Which input element each output element of a shuffle's first block holds; empty if that is ambiguous."""
    if case.kernel.shuffle is None:
        return ()
    rule = exchange_of(case.kernel.shuffle.operation, case.kernel.shuffle.argument(case.variables), case.variables)
    given = inputs["in"][: len(rule.source)]
    sources = received(given, arrays["out"].read()[: min(len(given), MOST_RECEIVED)])
    # A thread beyond the last element holds 0, which may also be the value of an element: its source is unknown.
    beyond = rule.source[: len(sources)] >= len(inputs["in"])
    return tuple(None if b else i for i, b in zip(sources, beyond[: len(sources)], strict=True))


def _note_for(case: Case, sources: tuple[int | None, ...]) -> str:
    """The note on a case in which the device found nothing."""
    if case.hazard:
        return f"the hazard that its YAML declares was not found: {case.hazard}"
    if case.kernel.shuffle and not sources:
        return "the sources of the shuffle are ambiguous: two elements of the first block are equal"
    return ""


def contents(case: Case) -> dict[str, NDArray[Any]]:
    """The arrays' contents before the first launch, by name."""
    return {
        a.name: cached_fill(a.fill, a.shape, a.dtype, case.seed, a.name)
        if a.role in (Role.IN, Role.INOUT)
        else np.zeros(a.dtype.host_shape(a.shape), a.dtype.numpy)
        for a in case.arrays()
    }


def upload(
    device: Device, program: Program, case: Case, inputs: Mapping[str, NDArray[Any]], stack: ExitStack
) -> tuple[Launch, dict[str, Array]]:
    """Copy the arrays' contents to the device; closing the stack gives their memory back.

    Returns:
        The launch, and the arrays among its arguments by name; constants are not among them.
    """
    arrays: dict[str, Array] = {}
    arguments: list[Array | np.generic] = []
    for spec in case.arrays():
        if spec.constant:
            device.set_constant(program, spec.name, inputs[spec.name])
    for argument in case.arguments():
        if isinstance(argument, ScalarSpec):
            arguments.append(argument.dtype.numpy.type(argument.value))
            continue
        numbers = argument.dtype.numbers  # of an element
        before = argument.offset * numbers, argument.lead * numbers
        array = device.place(argument.name, inputs[argument.name], argument.role, *before)
        stack.callback(array.free)
        arrays[argument.name] = array
        arguments.append(array)
    cache = str(case.variables["cache"])
    return Launch(program, case.grid, case.block, case.shared, tuple(arguments), cache), arrays


def poison(case: Case, arrays: Mapping[str, Array]) -> None:
    """Poison the outputs so that unwritten or stale elements are caught."""
    for spec in case.arrays():
        if spec.name not in arrays:
            continue
        if spec.role in (Role.OUT, Role.SCRATCH):
            arrays[spec.name].fill_bytes(POISON_FLOAT if spec.dtype.is_float else POISON)
        elif spec.role is Role.INOUT:
            arrays[spec.name].restore()


def launch_once(
    device: Device, case: Case, binary: Binary, time_limit: float = 60.0
) -> tuple[dict[str, NDArray[Any]], LaunchDiagnostics]:
    """Launch a case once, without checking or timing it; `binary` is the compiled `case.source()`.

    Returns:
        The arrays that the kernel writes, by name, and what the device noticed.

    Raises:
        LaunchError: or one of its children, with the reason.
    """
    program = device.load(case.source(), binary)
    with ExitStack() as stack:
        launch, arrays = upload(device, program, case, contents(case), stack)
        poison(case, arrays)
        diagnostics = device.launch(launch, time_limit)
        return {n: a.read() for n, a in arrays.items() if a.role in (Role.OUT, Role.INOUT)}, diagnostics
