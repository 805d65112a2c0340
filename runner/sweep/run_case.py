"""The worker process. It runs one case after another for one round each: upload, launch, verify, measure, verify.

Only a case that passes all checks is timed.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import fcntl
import itertools
import os
import random
import resource
import signal
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from runner.device import Device, Launch, Program, Role, Timed
from runner.device.config import DeviceConfig
from runner.device.kinds import open_device
from runner.errors import CaseError, DeviceUnavailable, Hazard, UsageError
from runner.kernel.case import Case
from runner.kernel.lanes import MOST_RECEIVED, exchange_of, received
from runner.statistics import unthrottled
from runner.sweep import measure, sandbox
from runner.sweep.further_checks import (
    Work,
    check_further_inputs,
    check_on_zeroed_outputs,
    check_other_orders,
    hazard_in_all_schedules,
    implausible,
    with_cause,
)
from runner.sweep.measure import Round
from runner.sweep.other_sizes import check_other_sizes
from runner.sweep.pipe import SECRET, Pipe
from runner.sweep.proof import undetected, why_unproven
from runner.sweep.trial import MAKING, Trial, WrongLater, set_constants, trials
from runner.sweep.worker import Answer, Call, Outcome, Task

UNPREPARED_LAUNCHES = 4  # without a reset, after the timed ones; two on the CPU device, and if one takes over SLOW_MS
SLOW_MS = 200.0
DESCRIPTORS = 1 << 16
PR_SET_PDEATHSIG = 1  # linux/prctl.h

# After a fault, or while a kernel still runs, freeing device memory would fail or block. The arrays are kept alive here
# until the process ends.
_abandoned: list[ExitStack] = []


def serve(descriptor: int) -> None:
    """Run the worker process: open the device, then run tasks until the parent sends None or closes the pipe.

    Args:
        descriptor: The inherited descriptor of the worker's end of the pipe.
    """
    with contextlib.suppress(OSError, AttributeError):  # not Linux: the process ends at its next answer
        # End when the parent ends: during a launch this process does not read the pipe.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    try:
        pipe = _open_pipe(descriptor)
        config = pipe.receive()
        assert isinstance(config, DeviceConfig)  # noqa: S101  (for mypy)
        device = open_device(config)
        if config.sandbox:
            sandbox.limit(memory=not device.info.is_gpu)
    except DeviceUnavailable as e:
        with contextlib.suppress(OSError):
            pipe.send(e)
        return
    except (EOFError, ConnectionError):
        return  # the parent is gone
    try:
        pipe.send(device.info)
        while isinstance(asked := pipe.receive(), Task | Call):
            told = run_case(device, asked, pipe.send) if isinstance(asked, Task) else _call(device, asked, pipe.send)
            pipe.send(told)
            if not told.usable:
                pipe.close()
                os._exit(1)  # a kernel may still run, and an orderly exit would wait for it
    except (EOFError, ConnectionError):
        return  # the parent is gone
    finally:
        device.close()
        pipe.close()


def _open_pipe(descriptor: int) -> Pipe:
    """The worker's end of the pipe, on a random high descriptor, so that a buggy kernel does not write to it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = min(hard, DESCRIPTORS) if hard > 0 else DESCRIPTORS
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    at = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, random.SystemRandom().randrange(most // 2, most * 7 // 8))
    os.close(descriptor)
    end = socket.socket(fileno=at)
    if len(secret := end.recv(SECRET, socket.MSG_WAITALL)) < SECRET:
        raise EOFError
    return Pipe(end, secret)


def run_case(device: Device, task: Task, heartbeat: Callable[[str], Any]) -> Outcome:
    """Run one case on an open device. Any error becomes the outcome; this function does not raise.

    Args:
        device: The open device.
        task: The case, its binary and its protocol.
        heartbeat: Called with the name of each step, so that the parent knows that the worker is alive.
    """
    stack = ExitStack()
    work = Work(device, task, stack, heartbeat)
    try:
        outcome = _load_and_run(work)
        if outcome.status == "mismatch" and device.usable and device.forget_spoilt_inputs():
            # An earlier case overwrote inputs that the device caches. Run this case again with fresh inputs.
            stack.close()
            outcome = _load_and_run(Work(device, task, stack, heartbeat))
    except CaseError as e:
        outcome = Outcome(e.status, str(e), findings=e.findings if isinstance(e, Hazard) else ())
    except MemoryError as e:
        outcome = Outcome("out_of_memory", f"the arrays do not fit into the host's memory: {e}")
    except Exception as e:  # noqa: BLE001  (an error in a reference, or a bug of the runner: the sweep continues)
        what = str(e) if isinstance(e, UsageError) else f"{type(e).__name__}: {e}"
        outcome = Outcome("crashed", what, usable=device.survives_errors)
    if device.usable and outcome.usable:
        stack.close()
        return outcome
    _abandoned.append(stack.pop_all())
    return dataclasses.replace(outcome, usable=False)


def _call(device: Device, call: Call, heartbeat: Callable[[str], Any]) -> Answer:
    """Call a function on an open device. An error becomes the answer's reason."""
    try:
        return Answer(call.function(device, heartbeat, *call.given))
    except Exception as e:  # noqa: BLE001  (an error of the case, or a bug of the runner: the sweep goes on)
        what = str(e) if isinstance(e, CaseError | UsageError) else f"{type(e).__name__}: {e}"
        return Answer(reason=what, usable=device.usable and device.survives_errors)


def _load_and_run(work: Work) -> Outcome:
    device, case = work.device, work.task.case
    work.heartbeat("loading")
    program = device.load(work.task.source, work.task.binary)
    work.stack.callback(id, program)  # keeps it alive
    resources = program.resources
    shared = (resources.shared_bytes or 0) + case.shared
    if shared > device.info.shared_limit:
        reason = f"{shared} bytes of shared memory per block are needed, the device has {device.info.shared_limit}"
        return Outcome("skipped", reason, resources=resources)
    needed = sum(array.reserved for array in case.arrays())
    if needed > device.info.memory_bytes:
        reason = f"the arrays need {needed} bytes, the device has {device.info.memory_bytes}"
        return Outcome("out_of_memory", reason, resources=resources)
    return _run(work, program)


def _run(work: Work, program: Program) -> Outcome:
    device, task, heartbeat = work.device, work.task, work.heartbeat
    case, limit = task.case, task.time_limit_s
    heartbeat(MAKING)
    found = trials(device, program, case, work.stack, fast=task.fast_math)
    first = next(found)
    first.prepare()
    heartbeat("checking")
    started = time.perf_counter()
    try:
        diagnostics = device.launch(first.launch, limit)
    except Hazard as e:
        raise hazard_in_all_schedules(work, first, e, limit) from None
    spent_ms = (time.perf_counter() - started) * 1000
    heartbeat("comparing")
    verdict, value = first.verify()
    verdict = with_cause(verdict, diagnostics)
    observed, expected = _observed_sources(first), first.expected
    if verdict.added:
        verdict = check_on_zeroed_outputs(work, first, verdict)
    verdict = check_further_inputs(work, first, verdict)
    unproven = why_unproven(case, verdict.power) if verdict.ok else ""
    if verdict.ok and not unproven:
        verdict = check_other_sizes(work, program, verdict, spent_ms)
    set_constants(device, program, case, first.inputs)  # those checks have constants of their own
    outcome = Outcome(
        status="unproven" if unproven else "ok" if verdict.ok else "mismatch",
        reason=unproven or verdict.reason,
        value=value,
        reference=expected.value,
        reference_us=None if expected.seconds is None else expected.seconds * 1e6,
        mismatches=verdict.mismatches,
        error_ulp=verdict.error_ulp,
        allowed_error=max((power.allowed for power in verdict.power.values()), default=None),
        undetected=tuple(undetected(first, verdict.power, fast=task.fast_math)) if verdict.ok else (),
        undefined_reads=diagnostics.undefined_reads,
        received=observed,
        note=diagnostics.first_undefined_read or _note_for(case, observed) or verdict.note,
        printed=diagnostics.printed,
        resources=program.resources,
    )
    try:
        if not device.info.is_gpu and not unproven:
            outcome = check_other_orders(work, first, outcome, spent_ms / 1000)
        if outcome.status != "ok":
            return outcome
        heartbeat(MAKING)
        measured = _measure(work, [first, *found], spent_ms)
    except WrongLater as e:
        return dataclasses.replace(outcome, status=e.status, reason=str(e), mismatches=e.mismatches)
    if reason := implausible(case, device.info, float(np.median(unthrottled(measured.samples)["us"]))):
        return dataclasses.replace(outcome, status="implausible", reason=reason)
    active = device.active_blocks(first.launch)
    return dataclasses.replace(outcome, active_blocks=active, measured=measured, further=work.further)


def _measure(work: Work, turns: Sequence[Trial], spent_ms: float) -> Round:
    """Measure a case whose first launch was right.

    Raises:
        WrongLater: A later launch was wrong.
    """
    device, task, heartbeat = work.device, work.task, work.heartbeat
    limit, trial_of = task.time_limit_s, {id(trial.launch): trial for trial in turns}

    def in_turn(count: int) -> list[Launch]:
        return [turns[i % len(turns)].launch for i in range(count)]

    def sample(count: int) -> Timed:
        return device.sample(
            in_turn(count),
            limit,
            lambda launch: trial_of[id(launch)].prepare(),
            lambda launch: trial_of[id(launch)].accept(),
        )

    def batch(count: int) -> float:
        launches = in_turn(count)
        us = device.batch(launches, limit)
        if not launches[-1].arrays(Role.INOUT):  # nothing was restored in between
            trial_of[id(launches[-1])].accept()
        return us

    if device.info.is_gpu or task.protocol.min_samples > 1:
        measured = measure.measure(sample, device.conditions, task.protocol, spent_ms, heartbeat)
    else:  # a time that says nothing about a GPU is worth no launch of its own
        measured = measure.from_first_launch(spent_ms)
    if task.protocol.hot:
        cold_us = float(np.median(unthrottled(measured.samples)["us"]))
        measured = dataclasses.replace(measured, hot_us=measure.measure_hot(batch, cold_us, heartbeat))
    # Check that a launch leaves its state ready for the next one, and overwrites the outputs of an earlier launch.
    launches = UNPREPARED_LAUNCHES if device.info.is_gpu and spent_ms < SLOW_MS else 2
    for number, trial in enumerate(itertools.islice(itertools.cycle(turns), launches)):
        if number == 0 or len(turns) == 1:  # otherwise the outputs hold the other trial's answer
            trial.blank()
        trial.restore()
        heartbeat("checking")
        device.launch(trial.launch, limit)
        heartbeat("comparing")
        trial.accept()
    for trial in turns:
        trial.require_inputs_unchanged()
    checked = len(measured.samples) + launches - sum(trial.unchecked for trial in turns)
    return dataclasses.replace(measured, checked=max(0, checked), input_sets=len(turns))


def _observed_sources(trial: Trial) -> tuple[int | None, ...]:
    """The index of the input element that each output element of a shuffle's first block holds; empty if ambiguous."""
    case, arrays, inputs = trial.case, trial.arrays, trial.inputs
    if case.kernel.shuffle is None:
        return ()
    rule = exchange_of(case.kernel.shuffle.operation, case.kernel.shuffle.argument(case.variables), case.variables)
    given = inputs["in"][: len(rule.source)]
    sources = received(given, arrays["out"].read()[: min(len(given), MOST_RECEIVED)])
    # A thread beyond the last element holds 0, which may also be the value of an element: its source is unknown.
    beyond = rule.source[: len(sources)] >= len(inputs["in"])
    return tuple(None if b else i for i, b in zip(sources, beyond[: len(sources)], strict=True))


def _note_for(case: Case, sources: tuple[int | None, ...]) -> str:
    if case.hazard:
        return f"the hazard that its YAML declares was not found: {case.hazard}"
    if case.kernel.shuffle and not sources:
        return "the sources of the shuffle are ambiguous: two elements of the first block are equal"
    return ""
