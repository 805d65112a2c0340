"""Extra inputs of the check: exact numbers, numbers of one sign, and numbers that reach the reference's branches.

Exact inputs are small numbers whose sums and products are exact, so that rounding cannot hide a defect. The error of a
sum of a million random floats may exceed one of them, in the worst order of additions; a sum of a million quarters has
one value in every order.

A defect in a branch shows only for inputs that take it: a maximum that starts at 0, the upper limit of `clip`, a tie of
`rint`. So the reference is evaluated to see which branches the inputs reach (`runner.kernel.branches`). For the others
a small search tries numbers derived from the reference's constants, with the case at a small size.
"""

from __future__ import annotations

import bisect
import dataclasses
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.errors import UsageError
from runner.kernel.branches import Branches, Reached, Side, computes_with_indices, constants, index_arrays
from runner.kernel.case import Case
from runner.kernel.check import CheckResult
from runner.kernel.declaration import pair
from runner.kernel.extra_fills import BYTES, HIGH, LOW, MIXED, NEGATIVE, POSITIVE, Column
from runner.kernel.inputs import SeededFill, changed_contents, contents, own_fills
from runner.kernel.recipes import Fill, Number, Recipe, holding
from runner.kernel.reference import Expected
from runner.kernel.resolve import make

# By the number of elements: the number of extra inputs without and with branches. Several are needed, as a wrong
# element may be multiplied by 0 or not be selected. Each costs the host as much as the check of the case's own inputs.
MAX_SETS = ((1 << 18, 4, 6), (1 << 23, 2, 3), (1 << 62, 1, 2))
SEARCHED_ELEMENTS = 1 << 12  # of the case whose branches are searched
MAX_SEARCHED_ELEMENTS = 1 << 18  # the same if its size is fixed
MAX_TRIES, MIN_TRIES, TRIED_ELEMENTS = 200, 20, 1 << 22  # evaluations of a search; fewer for many elements
MAX_CANDIDATES = 256  # for one array
MAX_NOTED = 2  # branches in a note
MAX_LISTED = 4  # values in a reason
MAX_CACHED = 1024  # cases
MAX_DIVISORS, DIVISOR_RANGE = 8, 4096  # limits of the divisors of a size that are tried

Value = tuple[str, Number]  # a column's name, and a number to put into it


@dataclass(frozen=True)
class InputSet:
    """Fills and seeds that replace those of some arrays, or of members of their structures."""

    label: str  # "exact inputs (seed 1)"
    fills: tuple[tuple[str, SeededFill], ...]  # by the name of the array or member
    beyond: str = ""  # the numbers beyond the range of the array's own fill, for messages

    def contents(self, case: Case, inputs: Mapping[str, NDArray[Any]], *, keep: bool = True) -> dict[str, NDArray[Any]]:
        """The case's inputs with these contents in their place (cached if to `keep`); arrays made from them follow."""
        fills = dict(self.fills)
        own = own_fills(case)
        return {**inputs, **changed_contents(case, lambda a: fills.get(a.name) or own(a), keep=keep)}


@dataclass(frozen=True)
class ExtraInputs:
    """The extra inputs of a case, and a note on branches that no input reaches."""

    sets: tuple[InputSet, ...]
    note: str = ""


def needs_extra_inputs(case: Case, first: CheckResult) -> bool:
    """Whether extra inputs may show a defect: floats had bounds, or the reference selects elements (a function may)."""
    return not first.exact or isinstance(case.kernel.reference, str) or _selects(case) or bool(_equal_sets(case))


def is_finite(expected: Expected) -> bool:
    """Whether all outputs of the reference are finite."""
    return all(np.isfinite(np.asarray(e.values, np.float64)).all() for e in expected.outputs.values())


_cache: dict[Any, ExtraInputs] = {}


def extra_inputs(case: Case) -> ExtraInputs:
    """The extra inputs of a case, cached for cases that differ only in what the reference does not read."""
    kernel = case.kernel
    names = {n for _, e in kernel.expressions for n in e.names}
    values = tuple((n, v) for n, v in case.variables.items() if n in names)
    key = kernel.yaml, kernel.name, kernel.reference, values, case.arrays(), case.seed
    if key not in _cache:
        if len(_cache) >= MAX_CACHED:
            _cache.clear()
        _cache[key] = _choose_extra_inputs(case)
    return _cache[key]


def exact_set(case: Case, variant: int, *, sided: bool, distinct: bool = False) -> InputSet:
    """Exact numbers in one of four variants (`variant` modulo 4): 2 is all positive, 0 all negative.

    Long arrays get numbers of one sign only with `sided`, as sums of one sign are exact up to fewer terms.
    """
    side = {2: POSITIVE, 0: NEGATIVE}.get(variant % 4, MIXED)
    label = f"further ones with exact results (seed {variant})"
    return _input_set(case, label, variant, lambda c: c.filled(variant, side, sided=sided, distinct=distinct))


def without_ties(case: Case) -> InputSet:
    """Numbers that are distinct within each row of an array, if the type has enough of them."""
    return dataclasses.replace(exact_set(case, 5, sided=True, distinct=True), label="numbers without equal ones")


def _input_set(case: Case, label: str, variant: int, choose: Callable[[Column], Fill], beyond: str = "") -> InputSet:
    fills = ((c.name, (fill, case.seed + (variant << 32))) for c in _columns(case) if (fill := choose(c)))
    return InputSet(label, tuple(fills), beyond)


def _columns(case: Case) -> list[Column]:
    """The arrays, and the members of structures, that the check may refill."""
    columns = (Column(spec) for a in case.arrays() for spec in a.leaf_arrays())
    return [c for c in columns if c.is_refillable]


def _selects(case: Case) -> bool:
    return any(e.selects for _, e in case.kernel.expressions)


def _choose_extra_inputs(case: Case) -> ExtraInputs:
    elements, columns = _elements(case), _columns(case)
    usual, most = next((usual, most) for limit, usual, most in MAX_SETS if elements <= limit)
    floats = any(c.is_float and c.exact for c in columns)
    sided = any(c.is_signed for c in columns)
    variants: Iterable[int] = range(1, usual + 1) if floats else ()
    if isinstance(case.kernel.reference, str):
        variants = (1, 2, 4) if usual == MAX_SETS[1][1] else range(1, usual + 1)
        variants = [t for t in variants if floats or (sided and t % 2 == 0)]
        return ExtraInputs(tuple(exact_set(case, t, sided=True) for t in variants))
    equal, selects = _equal_sets(case), _selects(case)
    if selects:
        try:
            found = _Search(case, usual, most, floats=floats, sided=sided).run()
            return dataclasses.replace(found, sets=(*found.sets, *equal))
        except UsageError:  # no small size: numbers of one sign at least
            order = (*((1,) if floats else ()), *((4, 2) if sided else ()), *variants)
            variants = list(dict.fromkeys(order))[:most]
    return ExtraInputs((*(exact_set(case, t, sided=selects) for t in variants), *equal))


def _equal_sets(case: Case) -> tuple[InputSet, ...]:
    """Integers that are all the largest or all the smallest, so that a sum or counter with too few bits overflows.

    Empty for long arrays, and if the reference divides, as a range's ends may not be meant as divisors.
    """
    divides = any(e.divides for _, e in case.kernel.expressions)
    if isinstance(case.kernel.reference, str) or divides or _elements(case) > MAX_SETS[0][0]:
        return ()
    ends = {c.name: c.fill_range for c in _columns(case) if c.fill_range and not c.is_float and not c.is_sorted}
    numbers = (("largest", {n: int(end) - 1 for n, (_, end) in ends.items()}),
               ("smallest", {n: int(first) for n, (first, _) in ends.items()}))  # fmt: skip
    return tuple(
        InputSet(
            f"equal ones (the {word} of each range)",
            tuple((name, (Recipe("constant", "", (number,)), case.seed)) for name, number in by_name.items()),
        )
        for word, by_name in numbers
        if by_name
    )


class _Search:
    """The search for extra inputs of a case whose reference has branches."""

    def __init__(self, case: Case, usual: int, most: int, *, floats: bool, sided: bool) -> None:
        self.case, self.usual, self.most, self.floats, self.sided = case, usual, most, floats, sided
        self.small, self.branches = _smaller(case)
        self.own = contents(self.small)
        self.tries = max(MIN_TRIES, min(MAX_TRIES, TRIED_ELEMENTS // max(_elements(self.small), 1)))
        self.reached = set(self.branches(self.own).sides)
        self.hides_indices = computes_with_indices(case)  # then the order of equal keys changes the result
        self.constants = constants(case)
        self.no_index = index_arrays(case)
        self.columns = [c for c in _columns(case) if c.fill_range]

    def run(self) -> ExtraInputs:
        """The input sets, and the note on branches that remain unreached."""
        numbers = (1, 2, 3, 4) if self.floats else (2, 4) if self.sided else ()
        variants = {t: exact_set(self.case, t, sided=True, distinct=self.hides_indices) for t in numbers}
        tried = {t: found for t, s in variants.items() if (found := self._try(s))}
        chosen = list(tried)
        large = self.most < MAX_SETS[0][2]
        if large:  # one for sums, and what the branches need
            adds = any(e.adds for _, e in self.case.kernel.expressions)
            chosen = chosen[:1] if self.floats and adds else []
        for t in chosen:
            self.reached |= tried[t].sides
        others = [variants[t] for t in tried if t not in chosen]
        more = [s for s in (*others, *self._signs()) if self._missing(start=True) and self._gains(s, start=True)]
        if self._missing(start=False):
            more[:0] = self._special()
        sets = [variants[t] for t in chosen]
        if large and self.floats:
            others = [s for s in variants.values() if s not in (*sets, *more)]
            sets += others[: max(0, self.usual - len(sets) - len(more))]
        if len(sets) + len(more) > self.most and 3 in chosen:
            sets.remove(variants[3])
        kept = (*sets, *more)[: self.most]
        return ExtraInputs(kept, self._note(kept))

    def _try(self, s: InputSet) -> Reached | None:
        """Evaluate the reference for a set; `None` if that fails, is not finite, or depends on the order of ties."""
        if self.tries <= 0:
            return None
        self.tries -= 1
        try:
            found = self.branches(s.contents(self.small, self.own, keep=False))
        except UsageError:
            return None
        return found if found.finite and not (self.hides_indices and found.tied) else None

    def _missing(self, *, start: bool) -> set[Side]:
        """The sides that are not reached yet; for the largest arrays only those that a note would mention."""
        every = self.branches.possible - self.reached
        largest = self.most == MAX_SETS[-1][2]
        return {s for s in every if s.start == start and (s.note or s.start or not largest)}

    def _gains(self, s: InputSet, *, start: bool) -> bool:
        """Whether a set reaches missing sides, which then count as reached."""
        found = self._try(s)
        if found is None or found.sides.isdisjoint(self._missing(start=start)):
            return False
        self.reached |= found.sides
        return True

    def _signs(self) -> Iterator[InputSet]:
        """Sets in which all numbers of an array are beyond 1 or -1, or arrays have different signs."""
        names = [c.name for c in self.columns if c.is_signed and not c.is_sorted and c.name not in self.no_index]
        same = [(HIGH,) * len(names), (LOW,) * len(names)] if names else []
        mixed = list(itertools.product((HIGH, LOW), repeat=len(names)))[1:-1] if 1 < len(names) <= 3 else []
        for number, pattern in enumerate((*same, *mixed)):
            sides = dict(zip(names, pattern, strict=True))
            variant = 5 + 2 * number  # the extremes are at the other ends than in the second and the fourth variant

            def choose(c: Column, variant: int = variant, sides: Mapping[str, int] = sides) -> Fill:
                if c.name not in sides:
                    return c.filled(variant, MIXED, sided=True, distinct=self.hides_indices)
                return c.one_sign(variant, sides[c.name]) or c.outside(variant, sides[c.name])

            texts = {n: f"'{n}' {'above 1' if side == HIGH else 'below -1'}" for n, side in sides.items()}
            beyond = (texts[c.name] for c in self.columns if c.name in sides and not c.one_sign(variant, sides[c.name]))
            yield _input_set(self.case, f"those with {', '.join(texts.values())}", variant, choose, ", ".join(beyond))

    def _special(self) -> list[InputSet]:
        """Sets with single values, or with numbers of another scale, that reach missing sides."""
        before = set(self.reached)
        inside = self._minimal_values([(c.name, v) for c in self.columns for v in self._values(c, beyond=False)], [])
        outside: list[Value] = []
        if any(s.beyond for s in self._missing(start=False)):
            tried = [(c.name, v) for c in self.columns if self._may_leave(c) for v in self._values(c, beyond=True)]
            # Near ones first, and before them sixteenths, with which sums stay exact.
            tried.sort(key=lambda value: (value[1] % 0.0625 != 0, abs(value[1])))
            outside = self._minimal_values(tried, inside)
        self.reached = before
        sets = (
            self._holding(values, beyond) for values, beyond in (([*inside, *outside], outside), (inside, [])) if values
        )
        found = list(itertools.islice((s for s in sets if self._gains(s, start=False)), 1))
        if any(s.note for s in self._missing(start=False)):
            found += itertools.islice((s for s in self._scaled() if self._gains(s, start=False)), 1)
        return found

    def _may_leave(self, c: Column) -> bool:
        """Whether an array may have numbers beyond the range of its fill; not integers, which may be indices."""
        return not c.is_sorted and c.name not in self.no_index and (c.is_float or c.is_signed)

    def _values(self, c: Column, *, beyond: bool) -> list[Number]:
        """Candidates from the reference's constants, in or `beyond` the range of an array's fill; simple ones first."""
        first, end = c.fill_range or (0, 0)
        rounded = (c.rounded(value) for value in _candidates(self.constants) if not c.is_sorted)
        found = (
            number
            for number in rounded
            if number is not None and (first <= number < end and (c.fill not in BYTES or number % 1 == 0)) != beyond
        )
        return list(dict.fromkeys(found))[:MAX_CANDIDATES]

    def _holding(self, values: Iterable[Value], beyond: Iterable[Value] = ()) -> InputSet:
        """The exact numbers of the first variant, with these values among them."""
        of, leaving = _by_name(values), _by_name(beyond)

        def choose(c: Column) -> Fill:
            base = c.filled(1, MIXED, sided=True) or c.fill
            return holding(base, of[c.name]) if c.name in of else base

        label, text = (", ".join(f"{_listed(v)} in '{n}'" for n, v in each.items()) for each in (of, leaving))
        return _input_set(self.case, f"those that hold {label}", 5, choose, text)

    def _minimal_values(self, values: list[Value], held: list[Value]) -> list[Value]:
        """A small subset of the values that, with those already held, takes the same missing sides."""

        def reach(some: list[Value]) -> frozenset[Side]:
            found = self._try(self._holding([*held, *some])) if some else None
            return found.sides if found else frozenset()

        values = self._finite(values, held)
        chosen: list[Value] = []
        reachable = reach(values) & self._missing(start=False)
        for side in sorted(reachable, key=lambda s: (s.node, s.name)):
            if side in self.reached:
                continue
            last = bisect.bisect_left(range(1, len(values)), x=True, key=lambda n: side in reach(values[:n]))
            for some in ([values[last]], values[: last + 1]):
                found = reach([*chosen, *some])
                if side in found:
                    chosen += [v for v in some if v not in chosen]
                    self.reached |= found
                    break
        return chosen

    def _finite(self, values: list[Value], held: list[Value]) -> list[Value]:
        """The values for which the reference is finite."""
        if not values or self._try(self._holding([*held, *values])):
            return values
        half = len(values) // 2
        return [*self._finite(values[:half], held), *self._finite(values[half:], held)] if half else []

    def _scaled(self) -> Iterator[InputSet]:
        """Sets that scale all numbers of an array up or down, for conditions on sums."""
        columns = [c for c in self.columns if not c.is_sorted]
        groups = [columns, *([c] for c in columns if len(columns) > 1)]
        for size, sign, group in itertools.product((1, 16, 256, 4096, 1 / 16), (1, -1), groups):
            scaled = {c.name: c.scaled(sign * size, may_leave=self._may_leave(c)) for c in group}
            fills = {n: found for n, found in scaled.items() if found}
            beyond = ", ".join(repr(n) for n, (_, leaves) in fills.items() if leaves)

            def choose(c: Column, fills: Mapping[str, tuple[Fill, bool]] = fills) -> Fill:
                return fills[c.name][0] if c.name in fills else c.filled(1, MIXED, sided=True)

            if fills:
                label = f"those with numbers about {sign * size:g} in {', '.join(map(repr, fills))}"
                yield _input_set(self.case, label, 5, choose, beyond)

    def _note(self, sets: Iterable[InputSet]) -> str:
        """The note on branches that no input reaches, at the case's own size either."""
        reached = set(self.branches(self.own).sides)
        for s in sets:
            reached |= self.branches(s.contents(self.small, self.own, keep=False)).sides
        notes = {s.note for s in self.branches.possible - reached if s.note}
        if notes and self.small is not self.case:
            whole = Branches(self.case)
            notes &= {s.note for s in whole.possible - whole(contents(self.case)).sides}
        more = f", and {len(notes) - MAX_NOTED} more" if len(notes) > MAX_NOTED else ""
        return "; ".join(sorted(notes)[:MAX_NOTED]) + more


def _by_name(values: Iterable[Value]) -> dict[str, list[Number]]:
    found: dict[str, list[Number]] = {}
    for name, value in values:
        found.setdefault(name, []).append(value)
    return found


def _listed(values: Sequence[Number]) -> str:
    more = f" and {len(values) - MAX_LISTED} more" if len(values) > MAX_LISTED else ""
    return ", ".join(f"{v:.9g}" for v in values[:MAX_LISTED]) + more


def _candidates(numbers: Collection[float]) -> Iterator[float]:
    """Numbers that may reach a side of a branch, derived from the reference's constants."""
    few = [n for n in numbers if n and math.isfinite(n)][:10]
    simple = [0.0, *(s * n for n in (0.5, 1.0, 1.5, 2.5) for s in (1, -1))]
    own = [s * n for n in few for s in (1, -1)]
    yield from simple
    yield from own
    for c in few:  # just above and below each, and beyond
        yield from (s * (c + d) for d in (1.0, -1.0, 0.25, -0.25, 0.5) for s in (1, -1))
        yield from (s * c * f for f in (2.0, 1.25, 0.75, 4.0) for s in (1, -1))
    for c, t in itertools.product(few, (*simple, *own)):
        yield from (t / c, t * c, t + c, t - c, c - t)
    for c, d, t in itertools.product(few, few, simple):  # of a * x + b
        yield from ((t - d) / c, (t + d) / c)


def _smaller(case: Case) -> tuple[Case, Branches]:
    """The case at a size that is quick to evaluate. Raises UsageError if it has no such size."""
    elements = _elements(case)
    for most in (SEARCHED_ELEMENTS, SEARCHED_ELEMENTS << 3, MAX_SEARCHED_ELEMENTS):
        if elements <= most:
            return case, Branches(case)
        sizes = [name for name in case.kernel.sizes if name in case.independent]
        for values in _divided(case.independent, sizes, -(-elements // most)):
            try:
                other = make(case.kernel, values, case.seed)
                if other.excluded or _elements(other) > MAX_SEARCHED_ELEMENTS:
                    continue
                branches = Branches(other)
                branches(contents(other))  # the reference may not be defined there
            except UsageError:
                continue
            return other, branches
    raise UsageError("the case has no size at which its branches could be searched")


def _elements(case: Case) -> int:
    return sum(math.prod(a.shape) for a in case.arrays())


def _divided(values: dict[str, Any], sizes: Sequence[str], by: int) -> Iterator[dict[str, Any]]:
    """The parameters with smaller sizes: fewer rows, fewer columns, or both, of one size or of all.

    They are divided by a power of two first, then by divisors of the size, which keep it a multiple of a block or tile.
    """
    power = 1 << max(by - 1, 1).bit_length()
    for names in ([*sizes], *([n] for n in sizes if len(sizes) > 1)):
        numbers = [values[n] for n in names if isinstance(values[n], int)]
        possible = range(by // 2 + 1, min(16 * by, by + DIVISOR_RANGE)) if numbers else ()
        divisors = [d for d in possible if numbers[0] % d == 0][:MAX_DIVISORS]
        for factor in (power, *divisors):
            root = 1 << (factor.bit_length() // 2)
            pairs = ((factor, 1), (1, factor), (root, root)) if len(numbers) < len(names) else ((factor, 1),)
            for by_rows, by_cols in pairs:
                yield {**values, **{n: _divided_size(values[n], factor, by_rows, by_cols) for n in names}}


def _divided_size(size: Any, factor: int, by_rows: int, by_cols: int) -> Any:
    """Divide a number of elements by a factor, or rows and columns each by theirs."""
    if isinstance(size, int):
        return max(size // factor, 1)
    rows, cols = pair(str(size))
    return f"{max(rows // by_rows, 1)}x{max(cols // by_cols, 1)}"
