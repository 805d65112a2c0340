"""A case's arrays on a device: made, uploaded, poisoned; and a single launch of a case."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.device import Array, Binary, Device, Launch, LaunchDiagnostics, Program, Role
from runner.kernel.arrays import cached_fill
from runner.kernel.case import ArraySpec, Case, ScalarSpec
from runner.kernel.check import POISON, POISON_FLOAT


def contents(case: Case) -> dict[str, NDArray[Any]]:
    """The arrays' contents before the first launch, by name."""
    return {a.name: _content(a, case.seed) for a in case.arrays()}


def _content(spec: ArraySpec, seed: int) -> NDArray[Any]:
    if spec.role in (Role.IN, Role.INOUT):
        return cached_fill(spec.fill, spec.shape, spec.dtype, seed, spec.name)
    return np.zeros(spec.dtype.host_shape(spec.shape), spec.dtype.numpy)


def upload(
    device: Device, program: Program, case: Case, inputs: Mapping[str, NDArray[Any]], stack: ExitStack
) -> tuple[Launch, dict[str, Array]]:
    """Copy the arrays to the device.

    Args:
        device: The target.
        program: The kernel, loaded there.
        case: What is to be launched.
        inputs: As `contents` gives them.
        stack: Gives the arrays' memory back when it is closed.

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
        array = device.place(argument.name, inputs[argument.name], argument.role, argument.offset)
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
    """Launch a case once, without checking or timing it.

    Args:
        device: Open, and usable.
        case: What to launch; not an excluded one.
        binary: The compiled `case.source()`.
        time_limit: Seconds after which it counts as endless.

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
