"""Other sizes of a case for the same binary, as most defects show at the ends of blocks and tiles.

A kernel that is right at one size, typically a power of two, may be wrong at all others ("The Correctness Illusion",
arXiv 2606.20128). So `others` varies each integer that the kernel takes at run time, alone and together, around the
edges of warps and blocks. Constraints are black boxes that are evaluated: where they refuse an edge, the nearest value
that they allow replaces it, found by the spacing of the allowed values.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from runner.errors import UsageError
from runner.kernel.case import Case, known_values
from runner.kernel.declaration import Canonical, Kernel, Kind, Loop, ScalarArgument, Step, pair, variables, written
from runner.kernel.expression import Expression
from runner.kernel.resolve import make

UNMEANT = "if the kernel is not meant for this size, say so under 'constraints'"

EDGES = 1, 31, 63, 65, 997, 1023, 1025  # values of one parameter, besides one below and above a block
MIXED = 31, 65, 33  # values of several parameters together
PASSED = 31, 1  # values of a number that changes neither an array nor the grid, besides its own - 1
MOST = 14  # sizes of a case
MOST_ALONE = 10  # sizes with one parameter changed

BASE = 128  # approximate value of the other parameters of a large case while one is varied ...
SLOW_BASE = 32  # ... and of a slow case
SMALL = 1 << 16  # elements and threads of a case whose other parameters keep their values
MOST_ELEMENTS = 1 << 20  # elements of all arrays, and threads, at another size ...
MOST_BELOW = 1 << 22  # ... and at the size just below the case's own
LARGE = 1 << 30, 1 << 18, 1 << 14, 1 << 9  # the largest value tried is just below one of these and its own
SLOWEST_MS = 500.0  # duration of a launch up to which a large size is tried

NEAR = 4  # largest distance from an edge to the allowed value that replaces it
LINEAR = 256  # values that are tried one by one on the way down to the next allowed one
MOST_EVALUATED = 1000  # evaluations of the constraints of a case

Point = tuple[int, ...]  # a value per axis


@dataclass(frozen=True)
class Others:
    """Cases of other sizes, or the reason why there are none."""

    cases: tuple[Case, ...]
    reason: str = ""


@dataclass(frozen=True)
class Axis:
    """An integer that a kernel takes at run time: a parameter, or the rows or columns of a size in two dimensions."""

    name: str
    parameter: str
    own: int  # the case's value
    extent: bool  # whether a shape or a grid depends on it; otherwise it is only an argument


def others(case: Case, launch_ms: float) -> Others:
    """Find at most `MOST` other sizes at which the case's binary can be launched.

    Args:
        case: A case that can run.
        launch_ms: The approximate duration of its launch, in milliseconds.
    """
    if case.hazard:
        return Others((), "the kernel breaks a rule of CUDA on purpose")
    axes, compiled = _axes(case)
    if not axes:
        return Others((), _depends(compiled) if compiled else "the kernel takes no size at run time")
    rules, slow = _Rules(case, axes), launch_ms >= SLOWEST_MS
    own = tuple(axis.own for axis in axes)
    last = None if slow else _largest(case, rules, own)
    base = own if not slow and _work(case) <= SMALL else _reduced(rules, own, SLOW_BASE if slow else BASE)
    points = (point for point in dict.fromkeys(_points(rules, base)) if point != own)
    small = (_made(case, rules, point, MOST_ELEMENTS) for point in points)
    found = {one.id: one for one in small if one is not None}
    if last is not None:
        found.pop(last.id, None)
        found = {**dict(itertools.islice(found.items(), MOST - 1)), last.id: last}
    if found:
        return Others(tuple(itertools.islice(found.values(), MOST)))
    if rules.compiled:
        return Others((), _depends(compiled + rules.in_macros))
    return Others((), f"the constraints allow no other small {_quoted([a.name for a in axes])}")


def changed(case: Case, other: Case) -> str:
    """The parameters in which `other` differs from the case, such as `size=31, width=65`."""
    kinds, before = {p.name: p.kind for p in case.kernel.parameters}, dict(case.parameters)
    return ", ".join(f"{n}={written(kinds[n], v)}" for n, v in other.parameters if v != before[n])


def _depends(names: Sequence[str]) -> str:
    return f"a macro depends on {_quoted(names) if names else 'the grid'}"


def _quoted(names: Sequence[str]) -> str:
    words = [f"'{name}'" for name in dict.fromkeys(names)]
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _axes(case: Case) -> tuple[list[Axis], list[str]]:
    """The axes of a case, and the names of sizes that are compiled in.

    A parameter that the kernel never receives may describe a constant in its source, such as a stencil's radius in the
    shape of its input, or the elements per thread in the grid. It keeps its value and is not an axis.
    """
    kernel, values = case.kernel, dict(case.parameters)
    shapes, grids, passed = _names(_shapes(kernel)), _names(_grids(kernel)), _names(_passed(kernel))
    extents = shapes | grids
    macros = {e.full.strip() for e in _compiled(kernel)}
    axes, compiled = [], []
    for p in kernel.parameters:
        if p.kind not in (Kind.SIZE, Kind.INTEGER):
            continue
        value, parts = values[p.name], {"rows", "cols"} if p.kind is Kind.SIZE else set[str]()
        two = isinstance(value, str)
        own = dict(zip(("rows", "cols"), pair(value), strict=True)) if two else {p.name: int(value)}
        for name, n in own.items():
            same = {p.name, name} if two else {p.name, *parts}
            if same & macros:
                compiled += [p.name] * bool(p.kind is Kind.SIZE or same & extents)
            elif n >= 1 and same & (passed | (extents if p.kind is Kind.SIZE else shapes & grids)):
                axes.append(Axis(name, p.name, n, bool(same & extents)))
    return axes, [name for name in compiled if name in kernel.sizes] or compiled


def _shapes(kernel: Kernel) -> Iterator[Expression]:
    yield from (n for array in kernel.arrays for n in array.shape)


def _grids(kernel: Kernel) -> Iterator[Expression]:
    """The expressions of grids and of the number of launches."""
    yield from kernel.grid
    for step in _steps(kernel.launches):
        yield from (*step.grid, *step.block) if isinstance(step, Step) else (end for _, end in step.counts)


def _passed(kernel: Kernel) -> Iterator[Expression]:
    """The expressions of scalar arguments, and of the ends of loops of launches."""
    yield from (end for step in _steps(kernel.launches) if isinstance(step, Loop) for _, end in step.counts)
    for argument in kernel.arguments:
        if isinstance(argument, ScalarArgument):
            numbers = argument.value if isinstance(argument.value, tuple) else (argument.value,)
            yield from (n for n in numbers if isinstance(n, Expression))


def _steps(steps: Iterable[Step | Loop]) -> Iterator[Step | Loop]:
    for step in steps:
        yield step
        if isinstance(step, Loop):
            yield from _steps(step.steps)


def _compiled(kernel: Kernel) -> Iterator[Expression]:
    """The expressions and parameters of macros and template arguments."""
    yield from (e for _, e in kernel.macros)
    launched = (step.function for step in _steps(kernel.launches) if isinstance(step, Step))
    yield from (piece for name in (kernel.function, *launched) for piece in name if isinstance(piece, Expression))


def _names(expressions: Iterable[Expression]) -> frozenset[str]:
    return frozenset[str]().union(*(e.names for e in expressions))


class _Rules:
    """The points that the constraints of a kernel and the macros of a binary allow."""

    def __init__(self, case: Case, axes: Sequence[Axis]) -> None:
        self.axes, self._left = axes, MOST_EVALUATED
        self.block = max(case.block[0] * case.block[1], 2)
        self.compiled = False  # whether a macro refused what the constraints allow
        self._answers: dict[Point, bool] = {}
        self._kinds = {p.name: p.kind for p in case.kernel.parameters}
        self._allowed = {p.name: p.allowed for p in case.kernel.parameters if p.allowed}
        self._known = known_values(case.kernel, dict(case.parameters))
        varied = {n for p in {a.parameter for a in axes} for n in (p, *variables(p, self._kinds[p], 1))}
        self._constraints = [c.require for c in case.kernel.constraints if c.require.names & varied]
        macros = [e for e in _compiled(case.kernel) if e.names & varied]
        self.in_macros = [a.name for a in axes if any({a.name, a.parameter} & e.names for e in macros)]
        self._macros = [(e, e(self._known)) for e in macros if e.names <= self._known.keys()]  # the grid comes later

    def values(self, point: Point) -> dict[str, Canonical]:
        """The parameters at a point, in the form of a request."""
        found: dict[str, Canonical] = {}
        for axis, n in zip(self.axes, point, strict=True):
            before = found.get(axis.parameter)
            rows = f"{n}x" if axis.name == "rows" and axis.parameter != "rows" else ""
            found[axis.parameter] = rows or (n if before is None else f"{before}{n}")
        return found

    def allow(self, point: Point) -> bool:
        """Whether a point satisfies the constraints and leaves each macro's value unchanged."""
        if point not in self._answers and self._left:
            self._left -= 1
            self._answers[point] = min(point) >= 1 and self._allows(point)
        return self._answers.get(point, False)

    def _allows(self, point: Point) -> bool:
        values = self.values(point)
        if any(value not in self._allowed.get(name, (value,)) for name, value in values.items()):
            return False
        known = dict(self._known)
        for name, value in values.items():
            known.update(variables(name, self._kinds[name], value))
        try:
            if not all(require(known) for require in self._constraints):
                return False
            self.compiled |= (changes := any(macro(known) != own for macro, own in self._macros))
        except UsageError:  # an expression that has no value there
            return False
        return not changes

    def line(self, point: Point, at: int) -> _Line:
        """The line through a point along one axis."""
        axis = self.axes[at]
        return _Line(lambda n: self.allow((*point[:at], n, *point[at + 1 :])), axis.own, axis.extent)


class _Line:
    """The allowed values of one axis below the case's own, with the other axes fixed."""

    def __init__(self, allows: Callable[[int], bool], own: int, extent: bool) -> None:  # noqa: FBT001
        self._allows, self._own, self._extent = allows, own, extent

    @functools.cached_property
    def _top(self) -> int:
        return self._own if self._allows(self._own) else self._lower(self._own)

    @functools.cached_property
    def step(self) -> int:
        """The distance of the two largest values; 0 if fewer are found."""
        return self._top - lower if (lower := self._lower(self._top)) else 0

    def _lower(self, n: int) -> int:
        """The next allowed value below; 0 if none is found."""
        return next((n - d for d in _distances(self._own) if d < n and self._allows(n - d)), 0)

    def near(self, edge: int) -> int:
        """The allowed value nearest to an edge, below the own one; 0 if none is found."""
        beside = (edge + sign * d for d in range(1, NEAR + 1) for sign in (1, -1))
        at = itertools.chain([edge], beside, self._on_steps(edge))
        return next((n for n in at if 1 <= n < self._own and self._allows(n)), 0)

    def _on_steps(self, edge: int) -> Iterator[int]:
        if self.step and edge <= self._top:
            above = self._top - (self._top - edge) // self.step * self.step
            yield from (above, above - self.step)

    def values(self, edges: Iterable[int], most: int) -> list[int]:
        """Values near edges, in the order of the edges; multiples of the step if few are allowed; else values above."""
        found = list(dict.fromkeys(n for edge in edges if edge < self._own and (n := self.near(edge))))
        if len(found) < most and self.step > 1:
            first = self._top % self.step or self.step
            small = (first + self.step * k for k in (0, 1, 2, 4, 6))
            found = list(dict.fromkeys([*found, *(n for n in small if n < self._own and self._allows(n))]))
        return found[:most] or self._above()[:most]

    def _above(self) -> list[int]:
        """Two values above the case's own, if that is the smallest and the axis is an extent."""
        if not self._extent:
            return []
        step = next((d for d in _distances(self._own) if self._allows(self._own + d)), 0)
        return [n for n in (self._own + step, self._own + 2 * step) if step and self._allows(n)]


def _distances(n: int) -> Iterator[int]:
    """Distances to try for the next allowed value: small ones, then divisors, as constraints demand multiples."""
    yield from range(1, LINEAR + 1)
    small = [d for d in range(1, min(math.isqrt(n), 1 << 16) + 1) if n % d == 0]
    yield from sorted({d for s in small for d in (s, n // s) if d > LINEAR})


def _points(rules: _Rules, base: Point) -> Iterator[Point]:
    """Points around edges: each axis alone, then all extents together.

    The other axes have the base's values; a single axis is varied from the case's own value.
    """
    block = rules.block
    extents = [i for i, axis in enumerate(rules.axes) if axis.extent]
    if len(extents) == 1:
        edges, most = sorted({*EDGES, block - 1, block + 1}), MOST_ALONE - 1
    else:
        edges, most = [31, block + 1, 1, 1025, block - 1, 65], max(1, MOST_ALONE // max(len(extents), 1))
    for i in extents:
        yield from (_with(base, i, n) for n in rules.line(base, i).values(edges, most))
    for i, axis in enumerate(rules.axes):
        if not axis.extent:
            yield from (_with(base, i, n) for n in rules.line(base, i).values((axis.own - 1, *PASSED), len(PASSED)))
    if len(extents) > 1:
        yield _near(rules, base, [(i, 1) for i in extents])
        for edges in ([*MIXED], [block + 1, *MIXED]):
            yield from _together(rules, base, list(zip(extents, itertools.cycle(edges), strict=False)))


def _reduced(rules: _Rules, own: Point, edge: int) -> Point:
    """A small point, with the values of the axes that are not varied."""
    return _near(rules, own, [(i, edge) for i, axis in enumerate(rules.axes) if axis.extent])


def _together(rules: _Rules, base: Point, wanted: list[tuple[int, int]]) -> Iterator[Point]:
    """A point at an edge of each axis: exactly, with one axis near its edge, or with all of them near."""
    for free in (None, *range(len(wanted))):
        point = base
        for number, (i, edge) in enumerate(wanted):
            if number != free:
                point = _with(point, i, min(edge, rules.axes[i].own))
        if free is not None:
            point = _with(point, wanted[free][0], rules.line(point, wanted[free][0]).near(wanted[free][1]))
        if rules.allow(point):
            yield point
            return
    yield _near(rules, base, wanted)


def _near(rules: _Rules, point: Point, wanted: Iterable[tuple[int, int]]) -> Point:
    """Move one axis after the other near its edge, as far as the constraints allow."""
    for i, edge in wanted:
        if edge < point[i] and (n := rules.line(point, i).near(edge)):
            point = _with(point, i, n)
    return point


def _largest(case: Case, rules: _Rules, own: Point) -> Case | None:
    """The next smaller size in all extents; a still smaller one for a large case."""
    extents = [(i, axis.own) for i, axis in enumerate(rules.axes) if axis.extent]
    for most in LARGE:
        point = own
        for i, n in extents:
            if below := rules.line(point, i).near(min(n, most) - 1):
                point = _with(point, i, below)
        if point != own and (found := _made(case, rules, point, MOST_BELOW)):
            return found
    return None


def _with(point: Point, at: int, n: int) -> Point:
    return (*point[:at], n, *point[at + 1 :])


def _made(case: Case, rules: _Rules, point: Point, most: int) -> Case | None:
    """The case at a point; `None` if it cannot run, is too large, or needs another binary."""
    if not rules.allow(point):
        return None
    try:
        other = make(case.kernel, {**dict(case.parameters), **rules.values(point)}, case.seed)
        if other.excluded or other.hazard or _work(other) > most:
            return None
        same = other.source() == case.source()
    except UsageError:  # an expression that has no value there
        return None
    rules.compiled |= not same
    return other if same else None


def _work(case: Case) -> int:
    """The elements of all arrays or the threads of a launch, whichever are more."""
    elements = sum(math.prod(a.shape) for a in case.arrays())
    return max(elements, *(math.prod(one.grid) * math.prod(one.block) for one in case.launches[:1]))
