"""The space of a search: the values of each parameter, and which combinations are legal.

A constraint becomes a table over the few parameters that it names. So legal combinations can be counted, by eliminating
one parameter after the other, and drawn at random, without listing them all.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.errors import UsageError
from runner.kernel.case import known_values
from runner.kernel.computed import affected, settle
from runner.kernel.declaration import Canonical, Constraint, Kernel, Kind, canonical, threads
from runner.kernel.resolve import MAX_BLOCK_Z, MAX_THREADS
from runner.record.searched import Point

MAX_EXPONENT = 8  # higher powers of two count as this one
MAX_VALUES = 10_000  # per parameter
MAX_ENTRIES = 250_000  # of a constraint's table; a larger constraint is tested point by point
MAX_LISTED = 100_000  # a space of at most this many legal combinations is listed
DRAWN = 65_536  # combinations per draw
DRAWS = 200  # draws before giving up
Table = tuple[tuple[int, ...], NDArray[np.bool_]]


@dataclass(frozen=True)
class Axis:
    """A parameter that the search varies."""

    name: str
    values: tuple[Any, ...]  # canonical; numbers ascending, others in the order given

    @functools.cached_property
    def features(self) -> NDArray[np.float64]:
        """Coordinates of the values for the model, each from 0 to 1; shape (values, features).

        The first feature is a value's position, logarithmic if the values range over a factor of 8 or more. The second,
        for integers, is the largest power of two that divides the value: 32, 64 and 128 threads are closer to each
        other than to 96.
        """
        count = len(self.values)
        rank = np.linspace(0.0, 1.0, count)
        numbers = [v for v in self.values if isinstance(v, int | float) and not isinstance(v, bool)]
        if len(numbers) < count or count < 2:
            return rank[:, None]
        x = np.array(numbers, np.float64)
        if x.min() > 0 and x.max() / x.min() >= 8:
            x = np.log(x)
        columns = [0.5 * (x - x.min()) / (x.max() - x.min()) + 0.5 * rank]
        if all(isinstance(v, int) for v in numbers):
            twos = [(v & -v).bit_length() - 1 if v else MAX_EXPONENT for v in map(int, numbers)]
            exponents = np.minimum(twos, MAX_EXPONENT)
            if count > 2 and (np.diff(exponents) < 0).any():
                columns.append((exponents - exponents.min()) / np.ptp(exponents))
        return np.column_stack(columns)


@dataclass(frozen=True)
class Space:
    """The combinations of some axes that all tables allow."""

    axes: tuple[Axis, ...]
    tables: tuple[Table, ...] = ()  # numbers of axes, and whether each combination of their values is legal

    @functools.cached_property
    def size(self) -> int:
        """Number of combinations, legal or not."""
        return math.prod(len(axis.values) for axis in self.axes)

    @functools.cached_property
    def count(self) -> int:
        """Number of legal combinations."""
        operands: list[Any] = []
        for numbers, table in self.tables:
            operands += [table.astype(np.float64), list(numbers)]
        for number, axis in enumerate(self.axes):
            operands += [np.ones(len(axis.values)), [number]]
        return round(float(np.einsum(*operands, [], optimize="greedy")))

    @functools.cached_property
    def listed(self) -> tuple[Point, ...] | None:
        """All legal points; `None` if there are more than `MAX_LISTED`."""
        if self.count > MAX_LISTED:
            return None
        points = np.zeros((1, 0), np.int64)
        for number, axis in enumerate(self.axes):
            values = np.arange(len(axis.values))
            points = np.column_stack([np.repeat(points, len(values), axis=0), np.tile(values, len(points))])
            points = points[_allowed_points(points, [t for t in self.tables if max(t[0]) == number])]
        return tuple(map(tuple, points.tolist()))

    def legal(self, point: Point) -> bool:
        """Whether a combination is legal."""
        return all(table[tuple(point[n] for n in numbers)] for numbers, table in self.tables)

    def draw(self, random: np.random.Generator, number: int, without: Iterable[Point] = ()) -> list[Point]:
        """Draw different legal points with equal probability.

        Returns:
            The points; fewer than `number` if the space is exhausted or legal points are too rare.
        """
        if number < 1:
            return []
        taken = set(without)
        if self.listed is not None:
            free = [p for p in self.listed if p not in taken]
            chosen = random.choice(len(free), min(number, len(free)), replace=False) if free else ()
            return [free[i] for i in chosen]
        points: dict[Point, None] = {}
        rows = min(DRAWN, 64 + 2 * number * self.size // max(1, self.count))
        for _ in range(DRAWS):
            drawn = np.column_stack([random.integers(0, len(axis.values), rows) for axis in self.axes])
            for row in drawn[_allowed_points(drawn, self.tables)].tolist():
                if (point := tuple(row)) not in taken:
                    points[point] = None
                if len(points) == number:
                    return list(points)
        return list(points)

    def neighbours(self, point: Point) -> Iterator[Point]:
        """Yield the legal points that differ in one parameter."""
        for number, axis in enumerate(self.axes):
            for value in range(len(axis.values)):
                if value != point[number]:
                    near = (*point[:number], value, *point[number + 1 :])
                    if self.legal(near):
                        yield near

    def values(self, point: Point) -> dict[str, Any]:
        """Look up the values of a point by parameter."""
        return {axis.name: axis.values[i] for axis, i in zip(self.axes, point, strict=True)}

    def places(self, points: Sequence[Point]) -> NDArray[np.float64]:
        """Coordinates of points for the model, each from 0 to 1; shape (points, features)."""
        array = np.array(points, np.int64).reshape(len(points), len(self.axes))
        return np.hstack([axis.features[array[:, n]] for n, axis in enumerate(self.axes)])


def _allowed_points(points: NDArray[np.int64], tables: Iterable[Table]) -> NDArray[np.bool_]:
    allowed = np.ones(len(points), np.bool_)
    for numbers, table in tables:
        allowed &= table[tuple(points[:, n] for n in numbers)]
    return allowed


def kernel_space(kernel: Kernel, fixed: Mapping[str, Any], varied: Mapping[str, Sequence[Any]]) -> Space:
    """Build the space of a kernel's parameters.

    Args:
        kernel: The kernel, which has the constraints.
        fixed: Canonical values of the parameters that are not varied.
        varied: Values of the varied parameters, as written by the user.

    Raises:
        UsageError: No parameter is varied, the kernel lacks a parameter, or no combination is legal.
    """
    own = {p.name: p for p in kernel.parameters}
    if not varied:
        raise UsageError("hydra/sweeper=search: no parameter has several values; write block=64,128 or a key 'search'")
    if unknown := [name for name in varied if name not in own]:
        raise UsageError(f"search: kernel {kernel.name} has no parameter '{unknown[0]}'; available: {', '.join(own)}")
    axes = [
        Axis(name, _ordered([canonical(name, own[name].kind, v) for v in values])) for name, values in varied.items()
    ]
    tables: list[Table] = []
    for number, axis in enumerate(axes):
        allowed = [_allowed(own[axis.name], value) for value in axis.values]
        if not any(allowed):
            choices = ", ".join(map(str, own[axis.name].allowed)) or f"blocks of 1 to {MAX_THREADS} threads"
            raise UsageError(
                f"search: {axis.name}: none of its values is allowed for kernel {kernel.name}; allowed: {choices}"
            )
        tables.append(((number,), np.array(allowed)))
    base = {axis.name: axis.values[0] for axis in axes} | dict(fixed)
    tables += [table for constraint in kernel.constraints if (table := _table(kernel, constraint, axes, base))]
    space = Space(tuple(axes), tuple(tables))
    if not space.count:
        raise UsageError(
            f"search: none of the {space.size:,} combinations satisfies the constraints of kernel {kernel.name}; "
            f"allow more values of {', '.join(axis.name for axis in axes)}"
        )
    return space


def _table(kernel: Kernel, constraint: Constraint, axes: Sequence[Axis], base: Mapping[str, Canonical]) -> Table | None:
    """Evaluate a constraint for all values of the axes on which it depends; `base` has the given values.

    `None` if the table would have more than `MAX_ENTRIES`, or if the constraint names no axis.
    """
    own = {p.name: p for p in kernel.parameters}
    depends = [affected(kernel.parameters, _names(own[axis.name]), base) for axis in axes]
    numbers = [n for n, names in enumerate(depends) if names & constraint.require.names]
    shape = [len(axes[n].values) for n in numbers]
    if math.prod(shape) > MAX_ENTRIES:
        return None
    table = np.zeros(shape, np.bool_)
    for indices in np.ndindex(*shape):
        values = {axes[n].name: axes[n].values[i] for n, i in zip(numbers, indices, strict=True)}
        settled, _ = settle(kernel.parameters, {**base, **values})
        table[indices] = bool(constraint.require(known_values(kernel, settled)))
    if not table.any():
        raise UsageError(
            f"search: no combination meets the constraint '{constraint.require.full}' of kernel {kernel.name}: "
            f"{constraint.reason}"
        )
    return (tuple(numbers), table) if numbers else None


def _ordered(values: Sequence[Canonical]) -> tuple[Canonical, ...]:
    unique = list(dict.fromkeys(values))
    if len(unique) > MAX_VALUES:
        raise UsageError(f"search: a parameter has {len(unique):,} values; at most {MAX_VALUES:,} are searched")
    if all(isinstance(v, int | float) and not isinstance(v, bool) for v in unique):
        unique.sort(key=float)
    return tuple(unique)


def _names(parameter: Any) -> frozenset[str]:
    """The names by which expressions refer to a parameter."""
    name = parameter.name
    if parameter.kind is Kind.BLOCK:
        return frozenset((name, *(f"{name}_{axis}" for axis in "xyz")))
    return frozenset((name, "rows", "cols")) if parameter.kind is Kind.SIZE else frozenset((name,))


def _allowed(parameter: Any, value: Canonical) -> bool:
    if parameter.allowed and value not in parameter.allowed:
        return False
    if parameter.kind is not Kind.BLOCK:
        return True
    block = threads(value)
    return min(block) >= 1 and math.prod(block) <= MAX_THREADS and block[2] <= MAX_BLOCK_Z
