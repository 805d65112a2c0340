"""A launch of a case with inputs of its own: upload, poison, and the check of what the launch left.

A case has two trials whose inputs differ where the fill allows it, and the timed launches take turns between them. So a
kernel that answers from memory, or does nothing, leaves an answer that is wrong, or none (docs/trust.md).
"""

from __future__ import annotations

import dataclasses
import random
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.device import Array, Binary, Device, Launch, LaunchDiagnostics, Program, Role
from runner.errors import CaseError, OutOfMemory, UsageError
from runner.kernel.arrays import cached_fill, is_float
from runner.kernel.case import ArraySpec, Case, ScalarSpec
from runner.kernel.check import POISON, POISON_FLOAT, CheckResult, check
from runner.kernel.reference import Expected, expect

Contents = Mapping[str, NDArray[Any]]

WRITTEN = (Role.OUT, Role.INOUT)
SEEDED = {"random": "random", "c_rand": "random_bytes"}  # fills, and the one for the second trial
MOST_INPUTS = 256 << 20  # bytes of inputs for a second trial: its reference and its inputs take the host's time
VERIFYING_S = 2.0  # a round compares all outputs that differ from those accepted before for that long, ...
VERIFIED_LATER = 1 / 16  # ... and this share of them afterwards, at random


class WrongLater(CaseError):
    """A launch left another answer than the first one, and a wrong one."""

    status = "mismatch"

    def __init__(self, found: CheckResult) -> None:
        super().__init__(f"right at the first launch, wrong later: {found.reason}")
        self.mismatches = found.mismatches


class Trial:
    """One launch of a case.

    Attributes:
        launch: What to launch.
        arrays: Its arrays by name; constants are not among them.
        inputs: All arrays' contents before a launch.
        expected: What the launch should leave.
        unchecked: Launches whose outputs were not compared, as that took too long.
    """

    def __init__(
        self, case: Case, launch: Launch, arrays: Mapping[str, Array], inputs: Contents, expected: Expected
    ) -> None:
        _require_outputs(case, expected)
        self.case, self.launch, self.arrays, self.inputs, self.expected = case, launch, arrays, inputs, expected
        self._given = self._digest(Role.IN)
        self._accepted: set[tuple[int, ...]] = set()
        self._verifying_s = 0.0
        self.unchecked = 0

    def prepare(self) -> None:
        """Bring everything that a launch could remember back to what it was before the first one."""
        poison(self.case, self.arrays)
        for array in self.launch.arrays(Role.STATE):
            array.fill_bytes(0)
        self.launch.program.reset()

    def blank(self) -> None:
        """Set the outputs to zero: a kernel that recognizes the poison does not take them for poisoned."""
        for array in self.launch.arrays(Role.OUT):
            array.fill_bytes(0)

    def restore(self) -> None:
        """Restore what a launch changes in place."""
        for array in self.launch.arrays(Role.INOUT):
            array.restore()

    def verify(self) -> tuple[CheckResult, int | float | None]:
        """The verdict on the outputs, and the one number that sums them up; `None` if the kernel declares none."""
        case, roles = self.case, {a.name: a.role for a in self.case.kernel.arrays}
        actual = {n: a.read() for n, a in self.arrays.items() if roles[n] in WRITTEN}
        verdict = check(actual, self.expected.outputs, case.count("depth"), case.kernel.tolerance)
        if outside := next((f"outside '{n}', {o}" for n, a in self.arrays.items() if (o := a.overrun())), ""):
            verdict = _also_wrong(verdict, f"the kernel wrote {outside}")
        if verdict.ok:
            self._accepted.add(self._digest(*WRITTEN))
        if case.kernel.value is None:
            return verdict, None
        # Integers wrap in their own type; floats are added up in double precision, as the host would.
        wide = {n: a.astype(np.float64) if is_float(a.dtype) else a for n, a in actual.items()}
        return verdict, np.asarray(case.kernel.value({**case.variables, **wide}).value).item()

    def accept(self) -> None:
        """Check what a timed launch left: by a hash if it is what another one left, or else element by element.

        Atomics on floats leave other digits each time. Comparing all of them may take long, so that only some are
        compared once that took two seconds. The kernel cannot know which.

        Raises:
            WrongLater: if it is wrong.
        """
        if self._digest(*WRITTEN) in self._accepted:
            return
        if self._verifying_s > VERIFYING_S and random.random() > VERIFIED_LATER:  # noqa: S311
            self.unchecked += 1
            return
        started = time.monotonic()
        verdict, _ = self.verify()
        self._verifying_s += time.monotonic() - started
        if not verdict.ok:
            raise WrongLater(verdict)

    def require_inputs_unchanged(self) -> None:
        """Require that no launch wrote to an input.

        Raises:
            WrongLater: if one did.
        """
        if self._digest(Role.IN) != self._given:
            raise WrongLater(CheckResult(1, 1, "a launch wrote to an array of the role 'in'"))

    def _digest(self, *roles: Role) -> tuple[int, ...]:
        return tuple(a.digest() for a in self.launch.arrays(*roles))


def trials(device: Device, program: Program, case: Case, stack: ExitStack, *, fast: bool) -> Iterator[Trial]:
    """The trials of a case: one, or two if their inputs can differ, are not too large, and fit into the memory.

    Both write to the same arrays, which are poisoned before each launch. Closing the stack gives their memory back.
    `fast` says whether the kernel was compiled with `-use_fast_math`.
    """
    inputs = contents(case)
    first = Trial(case, *upload(device, program, case, inputs, stack), inputs, expect(case, inputs, fast=fast))
    yield first
    others = {spec.name: other for spec in case.arrays() if (other := _other_inputs(spec, case.seed + 1)) is not None}
    if others:
        inputs = {**inputs, **others}
        shared = {n: a for n, a in first.arrays.items() if n not in others}
        with suppress(OutOfMemory):
            launch, arrays = upload(device, program, case, inputs, stack, shared)
            yield Trial(case, launch, arrays, inputs, expect(case, inputs, fast=fast))


def _other_inputs(spec: ArraySpec, seed: int) -> NDArray[Any] | None:
    """Other contents of an input; `None` if it has none, as its fill is the same for every seed."""
    if spec.role not in (Role.IN, Role.INOUT) or spec.constant or not spec.refill:
        return None
    if spec.fill not in SEEDED or spec.nbytes > MOST_INPUTS:
        return None
    return cached_fill(SEEDED[str(spec.fill)], spec.shape, spec.dtype, seed, spec.name)


def _also_wrong(verdict: CheckResult, reason: str) -> CheckResult:
    reason = f"{reason}; {verdict.reason}" if verdict.reason else reason
    return dataclasses.replace(verdict, mismatches=max(verdict.mismatches, 1), reason=reason)


def _require_outputs(case: Case, expected: Expected) -> None:
    """Require every output in the reference, and no other array: a kernel that writes nothing must not pass."""
    out = {a.name for a in case.kernel.arrays if a.role is Role.OUT}
    possible = out | {a.name for a in case.kernel.arrays if a.role is Role.INOUT}
    given = set(expected.outputs)
    if not given or not out <= given <= possible:
        wanted = ", ".join(sorted(out or possible))
        raise UsageError(f"the reference gives {', '.join(sorted(given)) or 'nothing'}; expected {wanted}")


def contents(case: Case) -> dict[str, NDArray[Any]]:
    """The arrays' contents before the first launch, by name."""
    return {
        a.name: cached_fill(a.fill, a.shape, a.dtype, case.seed, a.name)
        if a.role in (Role.IN, Role.INOUT)
        else np.zeros(a.dtype.host_shape(a.shape), a.dtype.numpy)
        for a in case.arrays()
    }


def set_constants(device: Device, program: Program, case: Case, inputs: Contents) -> None:
    """Write the kernel's `__constant__` arrays."""
    for spec in case.arrays():
        if spec.constant:
            device.set_constant(program, spec.name, inputs[spec.name])


def upload(
    device: Device,
    program: Program,
    case: Case,
    inputs: Contents,
    stack: ExitStack,
    shared: Mapping[str, Array] | None = None,
) -> tuple[Launch, dict[str, Array]]:
    """Copy the arrays' contents to the device; those in `shared` are there. Closing the stack gives the memory back.

    Gives the launch, and the arrays among its arguments by name; constants are not among them.
    """
    arrays: dict[str, Array] = {}
    arguments: list[Array | np.generic] = []
    set_constants(device, program, case, inputs)
    for argument in case.arguments():
        if isinstance(argument, ScalarSpec):
            arguments.append(argument.dtype.numpy.type(argument.value))
            continue
        array = (shared or {}).get(argument.name)
        if array is None:
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

    Gives the arrays that the kernel writes, by name, and what the device noticed.
    """
    program = device.load(case.source(), binary)
    with ExitStack() as stack:
        launch, arrays = upload(device, program, case, contents(case), stack)
        poison(case, arrays)
        diagnostics = device.launch(launch, time_limit)
        return {n: a.read() for n, a in arrays.items() if a.role in (Role.OUT, Role.INOUT)}, diagnostics
