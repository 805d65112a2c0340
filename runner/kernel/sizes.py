"""Other sizes of a case for the same binary, as most defects show at the ends of blocks and tiles.

A kernel that is correct at one size, typically a power of two, may be wrong at all others ("The Correctness Illusion",
arXiv 2606.20128). So `other_sizes` varies each integer that the kernel takes at run time, alone and together, around
the edges of warps and blocks. Constraints are black boxes that are evaluated: where they refuse an edge, the nearest
value that they allow replaces it, found by the spacing of the allowed values.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from runner.errors import UsageError
from runner.kernel.case import Case, known_values
from runner.kernel.computed import affected, settle
from runner.kernel.declaration import (
    Canonical,
    Kernel,
    Kind,
    Loop,
    Parameter,
    ScalarArgument,
    Step,
    each_step,
    pair,
    value_text,
    variables,
)
from runner.kernel.expression import Expression
from runner.kernel.resolve import make

CONSTRAINT_HINT = "if the kernel is not meant for this size, say so under 'constraints'"
VALUES_HINT = "if it is not meant for these, say so under 'constraints'"

EDGES = 1, 31, 63, 65, 997, 1023, 1025  # values of one parameter, besides one below and above a block
MIXED_EDGES = 31, 65, 33  # values of several parameters together
PASSED_EDGES = 31, 1  # values of a number that changes neither an array nor the grid, besides its own - 1
MAX_SIZES = 14  # of a case
NEAR, FIRST = 0.75, 0.5  # another value of a real number: this times its own, or in place of 0
MAX_SINGLE = 10  # sizes with one parameter changed

BASE = 128  # approximate value of the other parameters of a large case while one is varied ...
SLOW_BASE = 32  # ... and of a slow case
SMALL_WORK = 1 << 16  # elements and threads of a case whose other parameters keep their values
MAX_WORK = 1 << 20  # elements of all arrays, and threads, at another size ...
MAX_WORK_BELOW = 1 << 22  # ... and at the size just below the case's own
LARGE = 1 << 30, 1 << 18, 1 << 14, 1 << 9  # the largest value tried is just below one of these and its own
SLOWEST_MS = 500.0  # duration of a launch up to which a large size is tried

MAX_DISTANCE = 4  # from an edge to the allowed value that replaces it
MAX_LINEAR = 256  # values that are tried one by one on the way down to the next allowed one
MAX_EVALUATIONS = 1000  # of the constraints of a case

Point = tuple[int, ...]  # a value per axis


@dataclass(frozen=True)
class OtherSizes:
    """Cases of other sizes, or the reason why there are none; and a case of other scalars."""

    cases: tuple[Case, ...]
    reason: str = ""
    scalars: tuple[Case, ...] = ()  # one, or none if no scalar may have another value


@dataclass(frozen=True)
class Axis:
    """An integer that a kernel takes at run time: a parameter, or the rows or columns of a size in two dimensions."""

    name: str
    parameter: str
    own: int  # the case's value
    extent: bool  # whether a shape or a grid depends on it; otherwise it is only an argument


def other_sizes(case: Case, launch_ms: float) -> OtherSizes:
    """At most `MAX_SIZES` other sizes for a case's binary; its launch takes about `launch_ms` milliseconds.

    A further case has other values of scalars, such as a factor: the kernel may ignore one, and have its value as a
    constant.
    """
    if case.hazard:
        return OtherSizes((), "the kernel breaks a rule of CUDA on purpose")
    axes, compiled = _axes(case)
    rules, slow = _Rules(case, axes), launch_ms >= SLOWEST_MS
    base = tuple(axis.own for axis in axes)
    if slow or _work(case) > SMALL_WORK:
        base = _move(rules, base, [(i, SLOW_BASE if slow else BASE) for i in rules.extents])
    cases, reason = _sized(case, rules, base, compiled, slow=slow)
    return OtherSizes(cases, reason, _other_scalars(case, rules.values(base)))


def _sized(
    case: Case, rules: _Rules, base: Point, compiled: Sequence[str], *, slow: bool
) -> tuple[tuple[Case, ...], str]:
    axes = rules.axes
    if not axes:
        return (), _in_macros(compiled) if compiled else "the kernel takes no size at run time"
    own = tuple(axis.own for axis in axes)
    largest = None if slow else _largest(case, rules, own)
    points = (point for point in dict.fromkeys(_points(rules, base)) if point != own)
    small = (_case_at(case, rules, point, MAX_WORK) for point in points)
    found = {other.id: other for other in small if other is not None}
    if largest is not None:
        found.pop(largest.id, None)
        found = {**dict(itertools.islice(found.items(), MAX_SIZES - 1)), largest.id: largest}
    if found:
        return tuple(itertools.islice(found.values(), MAX_SIZES)), ""
    if rules.compiled:
        return (), _in_macros([*compiled, *rules.in_macros])
    return (), f"the constraints allow no other small values of {_quoted([a.name for a in axes])}"


def _other_scalars(case: Case, base: Mapping[str, Canonical]) -> tuple[Case, ...]:
    """The case at the values `base`, with another value of each scalar for which one is certainly meant.

    These are real numbers, truth values, and parameters whose YAML lists what is allowed. An integer may be an offset,
    so no greater value than its own is tried; `_axes` has the smaller ones.
    """
    kernel, values = case.kernel, dict(case.parameters)
    scalars = (n for a in kernel.arguments if isinstance(a, ScalarArgument) for n in a.values)
    passed = _names(n for n in scalars if isinstance(n, Expression))
    changed: dict[str, Canonical] = {}
    found: tuple[Case, ...] = ()
    for p in kernel.parameters:
        if p.name not in passed & case.independent.keys():
            continue
        for value in _other_values(p, values[p.name]):
            other, same = _made(case, {**base, **changed, p.name: value}, MAX_WORK_BELOW)
            if other and same:
                changed[p.name], found = value, (other,)
                break
    return found


def _other_values(parameter: Parameter, own: Canonical) -> list[Canonical]:
    """Values to try in place of a scalar's own, the likeliest first."""
    if parameter.kind is Kind.BOOLEAN:
        return [not own]
    if parameter.kind not in (Kind.REAL, Kind.NUMBER, Kind.INTEGER) or isinstance(own, str):
        return []
    if parameter.allowed:
        return [value for value in parameter.allowed if value != own]
    return [] if parameter.kind is Kind.INTEGER else [own * NEAR if own else FIRST]


def reduced(case: Case) -> Case:
    """The case at its largest other size, if it has more than `MAX_WORK` elements or threads and another size."""
    if _work(case) <= MAX_WORK:
        return case
    return max(other_sizes(case, 0.0).cases, key=_work, default=case)


def format_changed_parameters(case: Case, other: Case) -> str:
    """The parameters in which `other` differs from the case, such as `size=31, width=65`."""
    kinds, before = {p.name: p.kind for p in case.kernel.parameters}, dict(case.parameters)
    return ", ".join(f"{n}={value_text(kinds[n], v)}" for n, v in other.parameters if v != before[n])


def _in_macros(names: Sequence[str]) -> str:
    return f"a macro depends on {_quoted(names) if names else 'the grid'}"


def _quoted(names: Sequence[str]) -> str:
    *words, last = [f"'{name}'" for name in dict.fromkeys(names)]
    return " and ".join(filter(None, (", ".join(words), last)))


def _axes(case: Case) -> tuple[list[Axis], list[str]]:
    """The axes of a case, and the names of sizes that are compiled in.

    A parameter that the kernel never receives may describe a constant in its source, such as a stencil's radius in the
    shape of its input, or the elements per thread in the grid. It keeps its value and is not an axis.
    """
    kernel, values = case.kernel, dict(case.parameters)
    steps = list(each_step(kernel.launches))
    ends = [step.end for step in steps if isinstance(step, Loop)]
    launched = [e for step in steps if isinstance(step, Step) for e in (*step.grid, *step.block)]
    scalars = [n for a in kernel.arguments if isinstance(a, ScalarArgument) for n in a.values]
    shapes = _names(n for array in kernel.arrays for n in array.shape)
    grids = _names([*kernel.grid, *ends, *launched])
    passed = _names([*ends, *(n for n in scalars if isinstance(n, Expression))])
    extents = shapes | grids
    macros = {e.full.strip() for e in _compiled(kernel)}
    axes, compiled = [], []
    for p in kernel.parameters:
        if p.kind not in (Kind.SIZE, Kind.INTEGER) or p.name not in case.independent:
            continue
        value, is_size = values[p.name], p.kind is Kind.SIZE
        two = isinstance(value, str)
        own = dict(zip(("rows", "cols"), pair(value), strict=True)) if two else {p.name: int(value)}
        for name, n in own.items():
            same = {p.name, name} if two else {p.name, "rows", "cols"} if is_size else {p.name}
            same |= affected(kernel.parameters, same, case.independent)
            if same & macros:
                compiled += [p.name] * bool(is_size or same & extents)
            elif n >= 1 and same & (passed | (extents if is_size else shapes & grids)):
                axes.append(Axis(name, p.name, n, bool(same & extents)))
    return axes, [name for name in compiled if name in kernel.sizes] or compiled


def _compiled(kernel: Kernel) -> Iterator[Expression]:
    """The expressions and parameters of macros and template arguments."""
    yield from (e for _, e in kernel.macros)
    functions = (step.function for step in each_step(kernel.launches) if isinstance(step, Step))
    yield from (piece for name in (kernel.function, *functions) for piece in name if isinstance(piece, Expression))


def _names(expressions: Iterable[Expression]) -> frozenset[str]:
    return frozenset[str]().union(*(e.names for e in expressions))


class _Rules:
    """The points that the constraints of a kernel and the macros of a binary allow."""

    def __init__(self, case: Case, axes: Sequence[Axis]) -> None:
        self.axes, self._remaining = axes, MAX_EVALUATIONS
        self.extents = [i for i, axis in enumerate(axes) if axis.extent]
        self.block = max(case.block[0] * case.block[1], 2)
        self.compiled = False  # whether a macro refused what the constraints allow
        self._answers: dict[Point, bool] = {}
        self._kinds = {p.name: p.kind for p in case.kernel.parameters}
        self._allowed = {p.name: p.allowed for p in case.kernel.parameters if p.allowed}
        self._case, self._known = case, known_values(case.kernel, dict(case.parameters))
        varied = {n for p in {a.parameter for a in axes} for n in (p, *variables(p, self._kinds[p], 1))}
        varied |= affected(case.kernel.parameters, varied, case.independent)
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
        if point not in self._answers and self._remaining:
            self._remaining -= 1
            self._answers[point] = min(point) >= 1 and self._allows(point)
        return self._answers.get(point, False)

    def _allows(self, point: Point) -> bool:
        values = self.values(point)
        if any(value not in self._allowed.get(name, (value,)) for name, value in values.items()):
            return False
        try:
            known = self._known_at(values)
            if not all(require(known) for require in self._constraints):
                return False
            self.compiled |= (changes := any(macro(known) != own for macro, own in self._macros))
        except UsageError:  # an expression that has no value there
            return False
        return not changes

    def _known_at(self, values: Mapping[str, Canonical]) -> dict[str, Canonical]:
        """The values of all names in expressions."""
        parameters, independent = self._case.kernel.parameters, self._case.independent
        if len(independent) < len(parameters):  # some values follow
            return known_values(self._case.kernel, settle(parameters, {**independent, **values})[0])
        known = dict(self._known)
        for name, value in values.items():
            known.update(variables(name, self._kinds[name], value))
        return known

    def line(self, point: Point, at: int) -> _Line:
        """The line through a point along one axis."""
        axis = self.axes[at]
        return _Line(lambda n: self.allow(_with(point, at, n)), axis.own, axis.extent)


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
        beside = (edge + sign * d for d in range(1, MAX_DISTANCE + 1) for sign in (1, -1))
        candidates = itertools.chain([edge], beside, self._on_steps(edge))
        return next((n for n in candidates if 1 <= n < self._own and self._allows(n)), 0)

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
        if found or not self._extent:
            return found[:most]
        # The own value is the smallest: two values above it.
        step = next((d for d in _distances(self._own) if self._allows(self._own + d)), 0)
        above = (self._own + step, self._own + 2 * step)
        return [n for n in above if step and self._allows(n)][:most]


def _distances(n: int) -> Iterator[int]:
    """Distances to try for the next allowed value: small ones, then divisors, as constraints demand multiples."""
    yield from range(1, MAX_LINEAR + 1)
    small = [d for d in range(1, min(math.isqrt(n), 1 << 16) + 1) if n % d == 0]
    yield from sorted({d for s in small for d in (s, n // s) if d > MAX_LINEAR})


def _points(rules: _Rules, base: Point) -> Iterator[Point]:
    """Points around edges: each axis alone, with the base's values of the others, then all extents together."""
    block, extents = rules.block, rules.extents
    if len(extents) == 1:
        edges, most = sorted({*EDGES, block - 1, block + 1}), MAX_SINGLE - 1
    else:
        edges, most = [31, block + 1, 1, 1025, block - 1, 65], max(1, MAX_SINGLE // max(len(extents), 1))
    for i in extents:
        yield from (_with(base, i, n) for n in rules.line(base, i).values(edges, most))
    for i, axis in enumerate(rules.axes):
        if not axis.extent:
            edges, most = [axis.own - 1, *PASSED_EDGES], len(PASSED_EDGES)
            yield from (_with(base, i, n) for n in rules.line(base, i).values(edges, most))
    if len(extents) > 1:
        yield _move(rules, base, [(i, 1) for i in extents])
        for mixed in (MIXED_EDGES, (block + 1, *MIXED_EDGES)):
            yield from _together(rules, base, list(zip(extents, itertools.cycle(mixed), strict=False)))


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
    yield _move(rules, base, wanted)


def _move(rules: _Rules, point: Point, wanted: Iterable[tuple[int, int]]) -> Point:
    """Move one axis after the other near its edge, as far as the constraints allow."""
    for i, edge in wanted:
        if edge < point[i] and (n := rules.line(point, i).near(edge)):
            point = _with(point, i, n)
    return point


def _largest(case: Case, rules: _Rules, own: Point) -> Case | None:
    """The next smaller size in all extents; a still smaller one for a large case."""
    for most in LARGE:
        point = own
        for i in rules.extents:
            if below := rules.line(point, i).near(min(own[i], most) - 1):
                point = _with(point, i, below)
        if point != own and (found := _case_at(case, rules, point, MAX_WORK_BELOW)):
            return found
    return None


def _with(point: Point, at: int, n: int) -> Point:
    return (*point[:at], n, *point[at + 1 :])


def _case_at(case: Case, rules: _Rules, point: Point, most: int) -> Case | None:
    """The case at a point; `None` if it cannot run, is too large, or needs another binary."""
    other, same = _made(case, rules.values(point), most) if rules.allow(point) else (None, True)
    rules.compiled |= not same
    return other if same else None


def _made(case: Case, values: Mapping[str, Canonical], most: int) -> tuple[Case | None, bool]:
    """The case with other values, and whether it has the same binary; `None` if it cannot run or is too large."""
    try:
        other = make(case.kernel, {**case.independent, **values}, case.seed)
        if other.excluded or other.hazard or _work(other) > most:
            return None, True
        return other, other.source() == case.source()
    except UsageError:  # an expression that has no value there
        return None, True


def _work(case: Case) -> int:
    """The elements of all arrays or the threads of a launch, whichever are more."""
    elements = sum(math.prod(a.shape) for a in case.arrays())
    return max(elements, *(math.prod(launch.grid) * math.prod(launch.block) for launch in case.launches[:1]))
