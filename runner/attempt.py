"""One case on one device: place, launch, check, measure, check again. A wrong kernel has no speed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner import measure
from runner.case import ArraySpec, Case, ScalarSpec
from runner.check import POISON, Verdict, check
from runner.device import Array, Binary, Device, Findings, Launch, Program, Resources, Role, Source
from runner.errors import CaseError, Mistake
from runner.fill import remembered
from runner.reference import Expected, expect

Beat = Callable[[str], Any]


@dataclass(frozen=True)
class Task:
    """What the worker is told: specifications, no arrays.

    Attributes:
        case: What to run.
        source: The variant that was compiled.
        binary: What came of it.
        samples: Timed launches.
        warmup_ms: Launching before the first of them.
        time_limit_s: For a launch, after which it counts as endless.
    """

    case: Case
    source: Source
    binary: Binary
    samples: int
    warmup_ms: float
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
        note: What is worth knowing of a row that is ok.
        printed: What the kernel printed.
        resources: Registers and the like; `None` if the kernel was never loaded.
        samples: Microseconds, one a launch; empty unless ok.
    """

    status: str
    reason: str = ""
    value: int | float | None = None
    reference: int | float | None = None
    reference_us: float | None = None
    mismatches: int | None = None
    undefined_reads: int | None = None
    note: str = ""
    printed: str = ""
    resources: Resources | None = None
    samples: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))


def attempt(device: Device, task: Task, beat: Beat) -> Outcome:
    """Run one case. What goes wrong with the case is an outcome, never an exception.

    Args:
        device: Open, and usable.
        task: What to run.
        beat: Told at each step; the parent knows from it that the worker is alive.
    """
    resources = None
    try:
        with ExitStack() as stack:
            beat("loading")
            program = device.load(task.source, task.binary)
            resources = program.resources
            shared = (resources.shared_bytes or 0) + task.case.shared
            if shared > device.info.shared_limit:
                limit = device.info.shared_limit
                return Outcome(
                    "skipped", f"{shared} bytes of shared memory a block, {limit} are there", resources=resources
                )
            beat("inputs")
            inputs = {a.name: _content(a, task.case.seed) for a in task.case.arrays()}
            launch, arrays = _place(device, program, task.case, inputs, stack)
            return _run(device, task, launch, arrays, inputs, beat)
    except CaseError as e:
        return Outcome(e.status, str(e), resources=resources)
    except Mistake as e:  # in a reference, where it shows only with these very arrays
        return Outcome("crashed", str(e), resources=resources)


def _run(
    device: Device,
    task: Task,
    launch: Launch,
    arrays: Mapping[str, Array],
    inputs: Mapping[str, NDArray[Any]],
    beat: Beat,
) -> Outcome:
    case = task.case
    beat("reference")
    expected = expect(case.kernel.reference, case.kernel.yaml.parent, inputs, case.variables, case.grid)
    beat("checking")
    _poison(launch)
    started = time.perf_counter()
    findings = device.launch(launch, task.time_limit_s)
    spent_ms = (time.perf_counter() - started) * 1000
    verdict, value = _judge(case, arrays, expected)
    if not verdict.ok:
        return _outcome("mismatch", verdict, value, expected, findings, launch)
    _poison(launch)
    samples = measure.collect(
        lambda count: device.sample(launch, count, task.time_limit_s), task.samples, task.warmup_ms, spent_ms, beat
    )
    beat("checking again")
    again, value = _judge(case, arrays, expected)
    if not again.ok:
        told = Verdict(again.mismatches, again.compared, f"right at the first launch, wrong later: {again.reason}")
        return _outcome("mismatch", told, value, expected, findings, launch)
    return _outcome("ok", verdict, value, expected, findings, launch, samples)


def _outcome(
    status: str,
    verdict: Verdict,
    value: int | float | None,
    expected: Expected,
    findings: Findings,
    launch: Launch,
    samples: NDArray[np.float64] | None = None,
) -> Outcome:
    return Outcome(
        status=status,
        reason=verdict.reason,
        value=value,
        reference=expected.value,
        reference_us=None if expected.seconds is None else expected.seconds * 1e6,
        mismatches=verdict.mismatches,
        undefined_reads=findings.undefined_reads,
        note=findings.first,
        printed=findings.printed,
        resources=launch.program.resources,
        samples=np.empty(0) if samples is None else samples,
    )


def _content(spec: ArraySpec, seed: int) -> NDArray[Any]:
    if spec.role in (Role.IN, Role.INOUT):
        return remembered(spec.fill, spec.shape, spec.dtype, seed, spec.name)
    return np.zeros(spec.shape, spec.dtype.numpy)


def _place(
    device: Device, program: Program, case: Case, inputs: Mapping[str, NDArray[Any]], stack: ExitStack
) -> tuple[Launch, dict[str, Array]]:
    arrays: dict[str, Array] = {}
    arguments: list[Array | np.generic] = []
    for spec in case.arrays():
        if spec.constant:
            device.set_constant(program, spec.name, inputs[spec.name])
    for argument in case.arguments():
        if isinstance(argument, ScalarSpec):
            arguments.append(argument.dtype.numpy.type(argument.value))
            continue
        placed = device.place(argument.name, inputs[argument.name], argument.role, argument.offset)
        stack.callback(placed.free)
        arrays[argument.name] = placed
        arguments.append(placed)
    return Launch(program, case.grid, case.block, case.shared, tuple(arguments)), arrays


def _poison(launch: Launch) -> None:
    """So that an element which the kernel does not write is seen, and last time's answer is not taken for this one."""
    for array in launch.arrays(Role.OUT, Role.SCRATCH):
        array.fill_bytes(POISON)
    for array in launch.arrays(Role.INOUT):
        array.restore()


def _judge(case: Case, arrays: Mapping[str, Array], expected: Expected) -> tuple[Verdict, int | float | None]:
    roles = {a.name: a.role for a in case.kernel.arrays}
    actual = {n: a.read() for n, a in arrays.items() if roles[n] in (Role.OUT, Role.INOUT)}
    verdict = check(actual, expected.outputs, case.count("depth"))
    if case.kernel.value is None:
        return verdict, None
    return verdict, np.asarray(case.kernel.value({**case.variables, **actual}).value).item()
