"""One case on one device, for one round: place, launch, check, measure, check again. A wrong kernel has no speed."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.device import Array, Binary, Device, Launch, LaunchDiagnostics, Resources, Source
from runner.errors import CaseError, UsageError
from runner.kernel.case import Case
from runner.kernel.check import Verdict
from runner.kernel.reference import Expected, expect
from runner.settings import Protocol
from runner.statistics import unthrottled
from runner.sweep import measure
from runner.sweep.judging import judge, moved, remark, require_outputs
from runner.sweep.measure import Round
from runner.sweep.placing import contents, place, poison

Beat = Callable[[str], Any]


@dataclass(frozen=True)
class Task:
    """What the worker is told: specifications, no arrays.

    Attributes:
        case: What to run.
        source: The variant that was compiled.
        binary: What came of it.
        protocol: How it is measured.
        time_limit_s: For a launch, after which it counts as endless.
    """

    case: Case
    source: Source
    binary: Binary
    protocol: Protocol
    time_limit_s: float


@dataclass(frozen=True)
class Outcome:
    """What the worker answers.

    Attributes:
        status: The word of the row: ok, mismatch, skipped, or what went wrong.
        reason: Why it is not ok.
        value: The one number that sums the outputs up, as the device's outputs give it.
        reference: The same number, from the host.
        reference_us: How long the host took for it.
        mismatches: Elements that differ; `None` if nothing was compared.
        undefined_reads: As the device counted them.
        received: Of a shuffle: which element of the input each one of the first block's output holds, as measured.
        note: What is worth knowing of a row that is ok.
        printed: What the kernel printed.
        resources: Registers and the like; `None` if the kernel was never loaded.
        active_blocks: How many of its blocks fit on a multiprocessor at once; `None` if nobody can say.
        measured: `None` unless ok.
        usable: Whether the device can take another case; if not, its process ends.
    """

    status: str
    reason: str = ""
    value: int | float | None = None
    reference: int | float | None = None
    reference_us: float | None = None
    mismatches: int | None = None
    undefined_reads: int | None = None
    received: tuple[int | None, ...] = ()
    note: str = ""
    printed: str = ""
    resources: Resources | None = None
    active_blocks: int | None = None
    measured: Round | None = None
    usable: bool = True


# After a fault, or beside a kernel that still runs, giving memory back would fail or wait. What was placed is kept from
# the garbage collector until the process ends.
_abandoned: list[ExitStack] = []


def attempt(device: Device, task: Task, beat: Beat) -> Outcome:
    """Run one case. What goes wrong with the case is an outcome, never an exception.

    Args:
        device: Open, and usable.
        task: What to run.
        beat: Told at each step; the parent knows from it that the worker is alive.
    """
    placed = ExitStack()
    try:
        outcome = _attempt(device, task, placed, beat)
        if outcome.status == "mismatch" and device.usable and device.forget_spoilt_inputs():
            # An earlier case wrote to the inputs that were kept on the device; this one is not to pay for it.
            placed.close()
            outcome = _attempt(device, task, placed, beat)
    except CaseError as e:
        outcome = Outcome(e.status, str(e))
    except MemoryError as e:
        outcome = Outcome("out_of_memory", f"the host's memory does not hold the arrays: {e}")
    except Exception as e:  # noqa: BLE001  (a mistake in a reference, or a fault of ours: the sweep goes on)
        what = str(e) if isinstance(e, UsageError) else f"{type(e).__name__}: {e}"
        outcome = Outcome("crashed", what, usable=device.info.kind == "cpu")
    if device.usable and outcome.usable:
        placed.close()
        return outcome
    _abandoned.append(placed.pop_all())
    return dataclasses.replace(outcome, usable=False)


def _attempt(device: Device, task: Task, placed: ExitStack, beat: Beat) -> Outcome:
    case = task.case
    beat("loading")
    program = device.load(task.source, task.binary)
    placed.callback(id, program)  # holds it
    resources = program.resources
    shared = (resources.shared_bytes or 0) + case.shared
    if shared > device.info.shared_limit:
        reason = f"{shared} bytes of shared memory a block, {device.info.shared_limit} are there"
        return Outcome("skipped", reason, resources=resources)
    needed = sum(math.prod(a.shape) * a.dtype.itemsize for a in case.arrays())
    if needed > device.info.memory_bytes:
        reason = f"the arrays need {needed} bytes, the device has {device.info.memory_bytes}"
        return Outcome("out_of_memory", reason, resources=resources)
    beat("inputs")
    inputs = contents(case)
    launch, arrays = place(device, program, case, inputs, placed)
    return _run(device, task, launch, arrays, inputs, beat)


def _run(
    device: Device,
    task: Task,
    launch: Launch,
    arrays: Mapping[str, Array],
    inputs: Mapping[str, NDArray[Any]],
    beat: Beat,
) -> Outcome:
    case, limit = task.case, task.time_limit_s
    beat("reference")
    expected = expect(case.kernel.reference, case.kernel.yaml.parent, inputs, case.variables, case.grid)
    require_outputs(case, expected)
    poison(case, arrays)
    beat("checking")
    started = time.perf_counter()
    findings = device.launch(launch, limit)
    spent_ms = (time.perf_counter() - started) * 1000
    beat("comparing")
    verdict, value = judge(case, arrays, expected)
    sources = moved(case, arrays, inputs)
    findings = dataclasses.replace(findings, first=findings.first or remark(case, sources))
    if not verdict.ok:
        return _outcome("mismatch", verdict, value, expected, findings, launch, sources)
    measured = measure.measure(
        lambda count: device.sample(launch, count, limit), device.conditions, task.protocol, spent_ms, beat
    )
    beat("comparing")
    later, value = judge(case, arrays, expected)  # what the timed launches left
    if task.protocol.hot and later.ok:
        cold_us = float(np.median(unthrottled(measured.samples)["us"]))
        hot_us = measure.hot(lambda n: device.batch(launch, n, limit), cold_us, beat)
        measured = dataclasses.replace(measured, hot_us=hot_us)
    if later.ok:  # and whether a launch still writes all of it
        poison(case, arrays)
        beat("checking")
        device.launch(launch, limit)
        beat("comparing")
        later, value = judge(case, arrays, expected)
    if not later.ok:
        told = Verdict(later.mismatches, later.compared, f"right at the first launch, wrong later: {later.reason}")
        return _outcome("mismatch", told, value, expected, findings, launch, sources)
    outcome = _outcome("ok", verdict, value, expected, findings, launch, sources)
    return dataclasses.replace(outcome, active_blocks=device.active_blocks(launch), measured=measured)


def _outcome(
    status: str,
    verdict: Verdict,
    value: int | float | None,
    expected: Expected,
    findings: LaunchDiagnostics,
    launch: Launch,
    sources: tuple[int | None, ...],
) -> Outcome:
    return Outcome(
        status=status,
        reason=verdict.reason,
        value=value,
        reference=expected.value,
        reference_us=None if expected.seconds is None else expected.seconds * 1e6,
        mismatches=verdict.mismatches,
        undefined_reads=findings.undefined_reads,
        received=sources,
        note=findings.first,
        printed=findings.printed,
        resources=launch.program.resources,
    )
