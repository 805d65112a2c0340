"""A trial: a launch of a case with one set of inputs. Upload, poison the outputs, and check what the launch wrote.

A case has two trials with different inputs, where its fill allows it, and timed launches alternate between them. So a
kernel that caches its answer, or does nothing, is detected (docs/trust.md).
"""

from __future__ import annotations

import dataclasses
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.bounds.expected import ExpectedArray
from runner.bounds.power import Power
from runner.bounds.rounding import is_float, is_half
from runner.device import (
    NULL,
    Array,
    Binary,
    Device,
    Inside,
    Launch,
    LaunchDiagnostics,
    Pointers,
    Program,
    Role,
    Value,
    View,
)
from runner.device.batch import Batch, table
from runner.errors import CaseError, OutOfMemory, UsageError
from runner.kernel.arrays import part_types, with_parts
from runner.kernel.branches import TIES_HINT, explain_by_ties
from runner.kernel.case import ArraySpec, Case, LaunchSpec, MemorySpec, PointerSpec, ScalarSpec
from runner.kernel.check import CheckResult, check, poison_byte, power
from runner.kernel.inputs import contents, second_contents
from runner.kernel.reference import Expected, expect, missing_names

Contents = Mapping[str, NDArray[Any]]

MAKING = "making inputs and reference"  # a step of a case, in which those of several cases are shared
WRITTEN = (Role.OUT, Role.INOUT)
VERIFYING_S = 2.0  # seconds for which a round compares all outputs that differ from accepted ones ...
VERIFIED_LATER = 1 / 16  # ... and the share of them, chosen at random, that it compares afterwards


class WrongLater(CaseError):
    """A launch after the first one was wrong."""

    status = "mismatch"

    def __init__(self, found: CheckResult) -> None:
        super().__init__(f"correct at the first launch, wrong later: {found.reason}")
        self.mismatches = found.mismatches


class Trial:
    """One launch of a case: its arrays on the device, its inputs and its expected outputs.

    Attributes:
        launch: The launch, or several in a row.
        arrays: The arrays on the device by name; constants are not among them.
        inputs: The content of every array by name, in its declared shape.
        expected: The reference's outputs with their bounds.
        unchecked: Number of launches whose outputs were not compared, since comparing took too long.
    """

    def __init__(
        self, case: Case, launch: Launch, arrays: Mapping[str, Array], inputs: Contents, expected: Expected
    ) -> None:
        _require_outputs(case, expected)
        self.case, self.launch, self.arrays, self.inputs, self.expected = case, launch, arrays, inputs, expected
        self._input_digest = self._digest(Role.IN)
        self._accepted: set[tuple[int, ...]] = set()
        self._verifying_s = 0.0
        self._shapes: dict[str, tuple[tuple[int, ...], np.dtype[Any]]] = {}  # of the outputs
        self._powers: tuple[Expected, Mapping[str, Power]] | None = None
        self.unchecked = 0

    def prepare(self) -> None:
        """Reset all state that a launch could have changed."""
        reset(self.case, self.launch, self.arrays)

    def blank(self) -> None:
        """Set the outputs to zero, so that a kernel cannot recognize the poison."""
        for array in self.launch.arrays(Role.OUT):
            array.fill_bytes(0)

    def restore(self) -> None:
        """Restore the arrays that a launch changes in place."""
        for array in self.launch.arrays(Role.INOUT):
            array.restore()

    def verify(self, *, with_power: bool = True) -> tuple[CheckResult, int | float | None]:
        """Check what the launch wrote.

        Args:
            with_power: Whether a right verdict is to have the power of the check, which takes as long as the check.

        Returns:
            The verdict on the outputs, and the kernel's `value` of them; `None` if the kernel declares no value.
        """
        case, roles = self.case, {a.name: a.role for a in self.case.kernel.arrays}
        actual = {n: a.read() for n, a in self.arrays.items() if roles.get(n) in WRITTEN}
        actual = with_parts(actual, {a.name: a.dtype for a in case.arrays()})
        verdict = self._judge(actual, with_power=with_power)
        if not verdict.ok and (tied := explain_by_ties(case, self.inputs, actual, self.expected.outputs)):
            verdict = dataclasses.replace(verdict, reason=f"{verdict.reason}; {tied}; {TIES_HINT}", tied=tied)
        if outside := next((f"outside '{n}', {o}" for n, a in self.arrays.items() if (o := a.overrun())), ""):
            reason = "; ".join(filter(None, (f"the kernel wrote {outside}", verdict.reason)))
            verdict = dataclasses.replace(verdict, mismatches=max(verdict.mismatches, 1), reason=reason)
        if verdict.ok:
            self._accepted.add(self._digest(*WRITTEN))
        if case.kernel.no_output and verdict.ok:
            verdict = dataclasses.replace(verdict, note=f"no output is compared: {case.kernel.no_output}")
        if case.kernel.value is None:
            return verdict, None
        # Integers wrap in their own type; floats are summed in double precision.
        wide = {n: a.astype(np.float64) if is_float(a.dtype) else a for n, a in actual.items()}
        value = np.asarray(case.kernel.value({**case.variables, **wide}).value)
        if value.size != 1:
            what = f"{case.kernel.value.where}: '{case.kernel.value.text}'"
            raise UsageError(f"{what} gives {value.size:,} numbers, expected one")
        return verdict, value.item()

    def _judge(self, actual: Contents, *, with_power: bool) -> CheckResult:
        """The verdict on outputs, by the narrowest bounds that they satisfy, with the power of the check."""
        rules = self.case.count("depth"), self.case.kernel.tolerance
        expected = self.expected
        verdict = check(actual, expected.outputs, *rules)
        while not verdict.ok and expected.looser:
            expected = expected.looser()
            verdict = check(actual, expected.outputs, *rules)
        if verdict.ok:
            if expected is not self.expected:
                self.expected = expected  # later launches of the kernel round in the same way
            return dataclasses.replace(verdict, power=self._power(actual)) if with_power else verdict
        if self.expected.narrow and self._is_explained_by(self.expected.narrow().outputs, actual):
            half = next(a.dtype.name for a in self.case.arrays() if is_half(a.dtype.numpy))
            reason = f"{verdict.reason}; sums in {half} explain it: if the kernel is meant to add in {half}, write "
            return dataclasses.replace(verdict, reason=f"{reason}'compute: {half}' in the YAML")
        return verdict

    def _is_explained_by(self, outputs: Mapping[str, ExpectedArray], actual: Contents) -> bool:
        """Whether the outputs satisfy other bounds that are narrow enough to be evidence."""
        rules = self.case.count("depth"), self.case.kernel.tolerance
        shapes = {name: (a.shape, a.dtype) for name, a in actual.items()}
        weak = any(p.is_weak for p in power(shapes, outputs, *rules).values())
        return not weak and check(actual, outputs, *rules).ok

    def stored(self, name: str, values: NDArray[Any]) -> NDArray[Any]:
        """Values of an output in the shape and type that a kernel stores. Call it after `verify`.

        Args:
            name: The output.
            values: Its values, any shape with as many elements as the output.
        """
        shape, dtype = self._shapes[name]
        return np.asarray(values).reshape(shape).astype(dtype)

    def _power(self, actual: Contents) -> Mapping[str, Power]:
        """The power of this trial's check, by output."""
        if self._powers is None or self._powers[0] is not self.expected:
            self._shapes = {name: (a.shape, a.dtype) for name, a in actual.items()}
            found = power(self._shapes, self.expected.outputs, self.case.count("depth"), self.case.kernel.tolerance)
            self._powers = self.expected, found
        return self._powers[1]

    def accept(self) -> None:
        """Check the outputs of a timed launch: by hash against accepted outputs, or else element by element.

        Float atomics give other digits in each launch. After two seconds of comparing, only a random 1/16 of the
        launches with new outputs is compared.

        Raises:
            WrongLater: The outputs are wrong.
        """
        if self._digest(*WRITTEN) in self._accepted:
            return
        if self._verifying_s > VERIFYING_S and random.random() > VERIFIED_LATER:  # noqa: S311
            self.unchecked += 1
            return
        started = time.monotonic()
        verdict, _ = self.verify(with_power=False)
        self._verifying_s += time.monotonic() - started
        if not verdict.ok:
            raise WrongLater(verdict)

    def require_inputs_unchanged(self) -> None:
        """Require that no launch wrote to an input.

        Raises:
            WrongLater: A launch did.
        """
        if self._digest(Role.IN) != self._input_digest:
            raise WrongLater(CheckResult(1, 1, "a launch wrote to an array of the role 'in'"))

    def _digest(self, *roles: Role) -> tuple[int, ...]:
        return tuple(a.digest() for a in self.launch.arrays(*roles))


def trials(device: Device, program: Program, case: Case, stack: ExitStack, *, fast: bool) -> Iterator[Trial]:
    """The trials of a case: two if their inputs can differ, are not too large, and fit into memory; otherwise one.

    Args:
        device: The open device.
        program: The loaded kernel.
        case: The case.
        stack: Closing it frees the device memory.
        fast: Whether the kernel was compiled with `-use_fast_math`.

    Yields:
        The trials. They share their output arrays, which are poisoned before each launch.

    Raises:
        UsageError: The reference lacks an output, or gives an array that is not an output.
        OutOfMemory: The arrays of the first trial do not fit.
    """
    inputs = contents(case)
    first = Trial(case, *upload(device, program, case, inputs, stack), inputs, expect(case, inputs, fast=fast))
    yield first
    if others := second_contents(case):
        inputs = {**inputs, **others}
        shared = {n: a for n, a in first.arrays.items() if n not in others}
        with suppress(OutOfMemory):
            launch, arrays = upload(device, program, case, inputs, stack, shared)
            yield Trial(case, launch, arrays, inputs, expect(case, inputs, fast=fast))


def make_inputs(device: Device, heartbeat: Callable[[str], Any], case: Case, fast: bool) -> None:  # noqa: FBT001
    """Make a case's inputs and expected outputs, which its trials then find in the caches of this process.

    `fast` is that of `trials`.
    """
    if case.nbytes > device.info.memory_bytes:
        return  # the case will be refused
    heartbeat(MAKING)
    expect(case, inputs := contents(case), fast=fast)
    if others := second_contents(case):
        expect(case, {**inputs, **others}, fast=fast)


def _require_outputs(case: Case, expected: Expected) -> None:
    """Require that the reference gives exactly the outputs, so that a kernel that writes nothing cannot pass."""
    given = set(expected.outputs)
    written = [a for a in case.arrays() if a.role in WRITTEN]
    out = [n for a in written if a.role is Role.OUT for n in missing_names(a.name, a.dtype, given)]
    possible = {n for a in written for n in part_types(a.name, a.dtype)}
    if not case.kernel.no_output and (not given or out or not given <= possible):
        wanted = ", ".join(sorted(out) or sorted(a.name for a in written))
        raise UsageError(f"the reference gives {', '.join(sorted(given)) or 'nothing'}; expected {wanted}")


def set_constants(device: Device, program: Program, case: Case, inputs: Contents) -> None:
    """Write the kernel's `__constant__` arrays."""
    for spec in case.arrays():
        if spec.constant and spec.role not in WRITTEN:
            for one in _declaring(case, program, spec.name):
                device.set_constant(one, spec.name, inputs[spec.name])


def _declaring(case: Case, program: Program, name: str) -> list[Program]:
    """The programs, one for each source, that have a `__constant__` or `__device__` array."""
    programs = (program, *program.others)
    return [one for one, part in zip(programs, case.source().parts, strict=True) if name in part.constants]


def upload(
    device: Device,
    program: Program,
    case: Case,
    inputs: Contents,
    stack: ExitStack,
    shared: Mapping[str, Array] | None = None,
) -> tuple[Launch, dict[str, Array]]:
    """Copy the inputs of a case to the device.

    Args:
        device: The open device.
        program: The loaded kernel.
        case: The case.
        inputs: The content of each array by name, in its declared shape.
        stack: Closing it frees the device memory.
        shared: Arrays that are on the device already, by name.

    Returns:
        The launch, and the arrays on the device by name; constants are not among them.
    """
    set_constants(device, program, case, inputs)
    arrays: dict[str, Array] = {}
    variables = []
    for spec in case.arrays():
        if not spec.constant:
            arrays[spec.name] = (shared or {}).get(spec.name) or _place(device, spec, inputs[spec.name], stack)
            if not spec.passed:
                variables.append(arrays[spec.name])
        elif spec.role in WRITTEN:
            owner, *_ = _declaring(case, program, spec.name)
            arrays[spec.name] = device.variable(owner, spec.name, inputs[spec.name], spec.role)
            variables.append(arrays[spec.name])
    objects: dict[str, View | Pointers] = {**_views(device, case, arrays, stack)}
    objects |= _pointers(device, case, arrays, stack)
    cache, sizes = str(case.variables["cache"]), {a.name: a.dtype.itemsize for a in case.arrays()}
    parts = (program, *program.others)
    functions = {(one.part, one.function) for one in case.launches}
    programs = {(part, name): parts[part].sibling(name) if name else parts[part] for part, name in functions}

    def launch(one: LaunchSpec | MemorySpec) -> Launch:
        if isinstance(one, MemorySpec):
            given = arrays[one.origin.name] if one.origin else Value(one.pattern, 1, "")
            written = arrays[one.array.name], given, np.uint64(one.array.nbytes)
            return Launch(device.memory, (1, 1, 1), (1, 1, 1), 0, written)
        passed = tuple(objects.get(a.name) or _argument(a, arrays, sizes) for a in one.arguments)
        return Launch(programs[one.part, one.function], one.grid, one.block, one.shared, passed, cache)

    first, *others = map(launch, case.steps)
    whole = dataclasses.replace(first, variables=tuple(variables), next_launches=tuple(others), loaded=program)
    return whole, arrays


def _place(device: Device, spec: ArraySpec, content: NDArray[Any], stack: ExitStack) -> Array:
    numbers = spec.dtype.numbers  # of an element
    array: Array
    if spec.split:
        array = Batch(device.place, spec.name, content, spec.role)
    elif spec.image:
        array = device.image(spec.name, content, spec.role, numbers, spec.image)
    else:
        array = device.place(spec.name, content, spec.role, spec.offset * numbers, spec.lead * numbers)
    stack.callback(array.free)
    return array


def _views(device: Device, case: Case, arrays: Mapping[str, Array], stack: ExitStack) -> dict[str, View]:
    """The texture objects among the arguments, by name."""
    channels = {a.name: a.dtype.numbers for a in case.arrays()}
    found: dict[str, View] = {}
    for a in (a for one in case.launches for a in one.arguments):
        if isinstance(a, PointerSpec) and a.texture and a.name not in found:
            found[a.name] = device.view(a.name, arrays[a.array], channels[a.array], a.texture)
            stack.callback(device.release, found[a.name])
    return found


def _pointers(device: Device, case: Case, arrays: Mapping[str, Array], stack: ExitStack) -> dict[str, Pointers]:
    """The arrays of pointers among the arguments, by name."""
    found = {name: Pointers(a.table, a.parts) for name, a in arrays.items() if isinstance(a, Batch)}
    for a in (a for one in case.launches for a in one.arguments):
        if isinstance(a, PointerSpec) and a.arrays and a.name not in found:
            pointed = [arrays[name] if name else None for name in a.arrays]
            addresses = table(device.place, a.name, pointed)
            stack.callback(addresses.free)
            found[a.name] = Pointers(addresses, tuple(filter(None, pointed)))
    return found


def _argument(
    argument: ArraySpec | ScalarSpec | PointerSpec, arrays: Mapping[str, Array], sizes: Mapping[str, int]
) -> Array | np.generic | Value | Inside:
    if isinstance(argument, ArraySpec):
        return arrays[argument.name]
    if isinstance(argument, ScalarSpec):
        return _scalar_argument(argument, arrays)
    return Inside(arrays[argument.array], argument.index * sizes[argument.array]) if argument.array else NULL


def _scalar_argument(scalar: ScalarSpec, arrays: Mapping[str, Array]) -> np.generic | Value:
    dtype = scalar.dtype
    if dtype.is_whole and dtype.numbers == 1:
        number: np.generic = dtype.numpy.type(scalar.numbers[0])
        return number
    pointed = [arrays[n.array] for n in scalar.numbers if isinstance(n, PointerSpec) and n.array]
    numbers = [(arrays[n.array].pointer if n.array else 0) if isinstance(n, PointerSpec) else n for n in scalar.numbers]
    whole = tuple(part for a in pointed for part in ((a.table, *a.parts) if isinstance(a, Batch) else (a,)))
    return Value(dtype.packed(numbers), dtype.c_alignment, dtype.c_name, whole)


def reset(case: Case, launch: Launch, arrays: Mapping[str, Array]) -> None:
    """Poison the outputs, restore the arrays that a launch changes in place, and zero the state arrays."""
    for program in (launch.module, *launch.module.others):
        program.reset()  # before poisoning: outputs may be variables of the program
    poison(case, arrays)
    for array in launch.arrays(Role.STATE):
        array.fill_bytes(0)


def poison(case: Case, arrays: Mapping[str, Array]) -> None:
    """Poison the outputs so that unwritten or stale elements are detected."""
    for spec in case.arrays():
        if spec.name not in arrays:
            continue
        if spec.role in (Role.OUT, Role.SCRATCH):
            arrays[spec.name].fill_bytes(poison_byte(spec.dtype))
        elif spec.role is Role.INOUT:
            arrays[spec.name].restore()


def launch_once(device: Device, case: Case, binary: Binary) -> tuple[dict[str, NDArray[Any]], LaunchDiagnostics]:
    """Launch a case once, without checking or timing it.

    Args:
        device: The open device.
        case: The case.
        binary: The compiled `case.source()`.

    Returns:
        The arrays that the kernel writes, by name, and the device's diagnostics.
    """
    program = device.load(case.source(), binary)
    with ExitStack() as stack:
        launch, arrays = upload(device, program, case, contents(case), stack)
        poison(case, arrays)
        diagnostics = device.launch(launch, 60.0)
        return {n: a.read() for n, a in arrays.items() if a.role in WRITTEN}, diagnostics
