"""The further inputs of the check: exact numbers, numbers of one sign, and numbers that reach the reference's branches.

Exact inputs are small numbers whose sums and products are exact, so that rounding cannot hide a defect. The error of a
sum of a million random floats may exceed one of them, in the worst order of additions; a sum of a million quarters has
one value in every order. They lie within the range of the fill that they replace, so every kernel that accepts the fill
accepts them.

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

from runner.bounds.rounding import Arithmetic
from runner.device import Role
from runner.errors import UsageError
from runner.kernel.branches import Branches, Reached, Side, constants, indices
from runner.kernel.case import ArraySpec, Case
from runner.kernel.check import CheckResult
from runner.kernel.declaration import pair
from runner.kernel.inputs import Choice, Chosen, changed, contents
from runner.kernel.recipes import Fill, Number, Recipe, drawn, holding
from runner.kernel.reference import Expected
from runner.kernel.resolve import make
from runner.kernel.ties import opaque

# By the number of elements: the number of further inputs without and with branches. Several are needed, as a wrong
# element may be multiplied by 0 or not be selected. Each costs the host as much as the check of the case's own inputs.
MOST = ((1 << 18, 4, 6), (1 << 23, 2, 3), (1 << 62, 1, 2))
SEARCHED = 1 << 12  # elements of the case whose branches are searched
LARGEST_SEARCHED = 1 << 18  # the same if its size is fixed
TRIED, LEAST_TRIED, WORK = 200, 20, 1 << 22  # evaluations of a search; fewer if they have more elements than that
VALUES = 256  # candidates for one array
TOLD = 2  # branches in a note
SHOWN = 4  # values in a reason
# The fill that replaces a float array's own.
EXACT = {"random": "exact_signed", "c_rand": "exact_positive", "random_bytes": "exact_positive"}
BYTES = ("c_rand", "random_bytes")
SPREAD = 4.0  # standard deviations that count as the range of a normal fill
MIXED, POSITIVE, NEGATIVE, HIGH, LOW = 0, 1, -1, 2, -2  # the signs of a set; the last two beyond 1 and -1


@dataclass(frozen=True)
class InputSet:
    """Fills and seeds that replace those of some arrays, or of members of their structures."""

    label: str  # "exact inputs (seed 1)"
    chosen: tuple[tuple[str, Chosen], ...]  # by the name of the array or member
    beyond: str = ""  # the numbers beyond the range of the array's own fill, for messages

    def contents(self, case: Case, inputs: Mapping[str, NDArray[Any]], *, keep: bool = True) -> dict[str, NDArray[Any]]:
        """The inputs with these contents in place of the case's own; arrays made from them follow.

        Args:
            case: The case.
            inputs: Its own contents, by name.
            keep: Whether to cache the new contents.
        """
        return {**inputs, **changed(case, self._choice(case), keep=keep)}

    def _choice(self, case: Case) -> Choice:
        chosen = dict(self.chosen)
        return lambda a: chosen.get(a.name) or (a.fill, case.seed)  # type: ignore[return-value]


@dataclass(frozen=True)
class Further:
    """The further inputs of a case, and a note on branches that no input reaches."""

    sets: tuple[InputSet, ...]
    note: str = ""


def wanted(case: Case, first: CheckResult) -> bool:
    """Whether further inputs may show a defect that passed the first check.

    That is so if floats had bounds, or if the reference selects elements, as a function may.
    """
    return not first.exact or isinstance(case.kernel.reference, str) or _selects(case) or bool(equal_sets(case))


def usable(expected: Expected) -> bool:
    """Whether all outputs of the reference are finite."""
    return all(np.isfinite(np.asarray(e.values, np.float64)).all() for e in expected.outputs.values())


def further(case: Case) -> Further:
    """The further inputs of a case, cached for cases that differ only in what the reference does not read."""
    key = _key(case)
    if key not in _found:
        if len(_found) >= KEPT:
            _found.clear()
        _found[key] = _chosen_for(case)
    return _found[key]


KEPT = 1024
_found: dict[Any, Further] = {}


def _key(case: Case) -> Any:
    kernel = case.kernel
    names = {n for _, e in kernel.expressions for n in e.names}
    values = tuple((n, v) for n, v in case.variables.items() if n in names)
    return kernel.yaml, kernel.name, kernel.reference, values, case.arrays(), case.seed


def _selects(case: Case) -> bool:
    return any(e.selects for _, e in case.kernel.expressions)


def _chosen_for(case: Case) -> Further:
    elements = _elements(case)
    plain, most = next((p, m) for limit, p, m in MOST if elements <= limit)
    columns = [c for a in case.arrays() for c in a.columns() if _replaceable(c)]
    floats = any(c.dtype.is_float and _exact(c) for c in columns)
    sided = any(_signed(c) for c in columns)
    function = isinstance(case.kernel.reference, str)
    turns = range(1, plain + 1) if floats else range(0)
    if function:
        few = (1, 2, 3, 4)[:plain] if plain != MOST[1][1] else (1, 2, 4)
        chosen = [t for t in few if floats or (sided and t % 2 == 0)]
        return Further(tuple(exact_set(case, t, sided=True) for t in chosen))
    equal = equal_sets(case)
    if not _selects(case):
        return Further((*(exact_set(case, t, sided=False) for t in turns), *equal))
    try:
        found = _Search(case, plain, most, floats=floats, sided=sided).sets()
        return dataclasses.replace(found, sets=(*found.sets, *equal))
    except UsageError:  # no small size: numbers of one sign at least
        order = (*((1,) if floats else ()), *((4, 2) if sided else ()), *turns[1:])
        return Further((*(exact_set(case, t, sided=True) for t in list(dict.fromkeys(order))[:most]), *equal))


def equal_sets(case: Case) -> tuple[InputSet, ...]:
    """Integers that are all the largest or all the smallest, so that a sum or counter with too few bits overflows.

    Empty for long arrays, and if the reference divides, as a range's ends may not be meant as divisors.
    """
    if isinstance(case.kernel.reference, str) or any(e.divides for _, e in case.kernel.expressions):
        return ()
    if sum(math.prod(a.shape) for a in case.arrays()) > MOST[0][0]:
        return ()
    columns = [c for a in case.arrays() for c in a.columns() if not c.dtype.is_float and not _sorted(c) and _span(c)]
    if not columns:
        return ()
    ends = {c.name: (int(span[0]), int(span[1]) - 1) for c in columns if (span := _span(c))}
    return tuple(
        InputSet(f"equal ones (the {words} of each range)", tuple(
            (name, (Recipe("constant", "", (of[at],)), case.seed)) for name, of in ends.items()
        ))
        for at, words in ((1, "largest"), (0, "smallest"))
    )  # fmt: skip


def exact_set(case: Case, turn: int, *, sided: bool, distinct: bool = False) -> InputSet:
    """Exact numbers in one of four variants (`turn`): the second is all positive, the last all negative.

    Long arrays get numbers of one sign only with `sided`, as sums of one sign are exact up to fewer terms.
    """
    side = {2: POSITIVE, 0: NEGATIVE}.get(turn % 4, MIXED)
    return _set(
        case, f"exact ones (seed {turn})", turn, lambda a: _filled(a, turn, side, sided=sided, distinct=distinct)
    )


def without_ties(case: Case) -> InputSet:
    """Numbers that are distinct within each row of an array, if the type has enough of them."""
    return dataclasses.replace(exact_set(case, 5, sided=True, distinct=True), label="numbers without equal ones")


def _set(case: Case, label: str, turn: int, fill: Callable[[ArraySpec], Fill], beyond: str = "") -> InputSet:
    columns = [c for a in case.arrays() for c in a.columns() if _replaceable(c)]
    chosen = ((c.name, (found, case.seed + (turn << 32))) for c in columns if (found := fill(c)))
    return InputSet(label, tuple(chosen), beyond)


def _replaceable(a: ArraySpec) -> bool:
    """Whether the check may refill an array, or a member of its structure."""
    if not a.refill or a.role not in (Role.IN, Role.INOUT):
        return False
    if _span(a):
        return True
    return isinstance(a.fill, Recipe) and a.fill.seeded and not a.dtype.is_float


def _span(a: ArraySpec) -> tuple[float, float] | None:
    """The range of an array's fill, without its end; `None` if not every number of a range is a valid element."""
    if not a.refill or a.role not in (Role.IN, Role.INOUT) or a.dtype.numpy == np.bool_:
        return None
    if a.dtype.is_float:
        whole: tuple[float, float] = (-1.0, 1.0)
    else:
        limits = np.iinfo(a.dtype.numpy)
        whole = (int(limits.min), int(limits.max) + 1)
    if isinstance(a.fill, str):
        return whole if a.fill == "random" else (0, 256) if a.fill in BYTES else None
    if not isinstance(a.fill, Recipe) or a.fill.kind not in ("range", "sorted", "normal"):
        return None
    first, end = a.fill.numbers or ((0.0, 1.0) if a.fill.kind == "normal" else whole)
    if a.fill.kind == "normal":
        first, end = first - SPREAD * end, first + SPREAD * end  # type: ignore[operator]
        if not a.dtype.is_float:
            first, end = max(first, whole[0]), min(end, whole[1])
    return (first, end) if 0 < end - first < math.inf else None  # type: ignore[operator,return-value]


def _signed(a: ArraySpec) -> bool:
    """Whether the range of its fill has numbers on both sides of 0."""
    span = _span(a)
    return span is not None and span[0] < 0 < span[1]


def _sorted(a: ArraySpec) -> bool:
    return isinstance(a.fill, Recipe) and a.fill.kind == "sorted"


def _levels(a: ArraySpec) -> int:
    """Magnitudes of exact numbers: 4 (quarters), 2 or 1; fewer in long arrays, so that sums of squares stay exact."""
    count = math.prod(a.shape) * a.dtype.numbers
    return next((n for n in (4, 2) if count * 0.7 * n * n <= Arithmetic(a.dtype.numpy).digits), 1)


def _exact(a: ArraySpec) -> Fill:
    """The fill of exact numbers of both signs within the range of a float array's own, or an empty text."""
    kind, levels = a.fill if isinstance(a.fill, str) else "", _levels(a)
    if isinstance(a.fill, Recipe) and a.fill.kind in ("normal", "range"):
        first, end = _near(a)
        if not (first <= -1 and end > 1) and not (first <= 1 and end > 3):
            return drawn(first, end, _step(first, end, levels), 1) if end > first else ""
        kind = "random" if first <= -1 else "c_rand"
    if kind not in EXACT:
        return ""
    return f"{EXACT[kind]}_{levels if EXACT[kind] == 'exact_signed' else min(levels, 3)}"


def _near(a: ArraySpec) -> tuple[float, float]:
    """The range of a float array's fill; of a normal one, one standard deviation around its mean."""
    span = _span(a) or (0.0, 0.0)
    if isinstance(a.fill, Recipe) and a.fill.kind == "normal":
        middle, spread = (span[0] + span[1]) / 2, (span[1] - span[0]) / 2 / SPREAD
        return middle - spread, middle + spread
    return span


def _step(first: float, end: float, levels: int) -> float:
    """A power of two with 2 to 4 multiples in the range per level."""
    return float(2.0 ** math.floor(math.log2((end - first) / levels / 2)))


def _filled(a: ArraySpec, turn: int, side: int, *, sided: bool, distinct: bool = False) -> Fill:
    """The fill of an array in a turn, with numbers on one side of 0 if allowed; empty if it keeps its own."""
    both = _signed(a)
    if distinct and (found := _distinct(a, turn, side if both else MIXED)):
        return found
    if side and both:
        if _sorted(a):
            return _half(a, side)
        if not a.dtype.is_float:
            return _one_sign(a, turn, side)
        if isinstance(exact := _exact(a), str):
            if exact and exact.endswith("_4"):
                return exact  # its turns include one of each sign
            return _one_sign(a, turn, side) if exact and sided else exact
        if sided or _levels(a) == 4:
            return _one_sign(a, turn, side)
    if a.dtype.is_float:
        exact = _exact(a)
        return dataclasses.replace(exact, numbers=(*exact.numbers[:3], turn, 0)) if isinstance(exact, Recipe) else exact
    return a.fill if a.fill == "random" or isinstance(a.fill, Recipe) else ""


def _half(a: ArraySpec, side: int) -> Fill:
    """A sorted array with numbers of one sign."""
    first, end = _span(a) or (0.0, 0.0)
    least: Number = end / 1024 if a.dtype.is_float else 1
    return Recipe("sorted", "", (first, 0) if side < 0 else (least, end))


def _one_sign(a: ArraySpec, turn: int, side: int) -> Fill:
    """Exact numbers on one side of 0 within the range of the fill; above 1 for `HIGH`, below -1 for `LOW`."""
    first, end = _span(a) or (0.0, 0.0)
    if not a.dtype.is_float:
        least = abs(side)
        if a.fill == "random":
            least = 2
        return drawn(first, 1 - least, 1, turn) if side < 0 else drawn(least, end, 1, turn)
    if abs(side) == HIGH:
        return drawn(max(first, -4), -1, 0.25, turn) if side < 0 else drawn(1.25, min(end, 4), 0.25, turn)
    closed = first <= -1 and (end > 1 or a.fill == "random")
    first, end = (-1.0, 1.25) if closed else _near(a)
    step = 0.25 if closed else _step(first, end, 4)
    if side < 0:
        return drawn(first, min(end, step / 2), step, turn) if first < 0 else ""
    return drawn(max(first, step / 2), end, step, turn) if end > 0 else ""


def _outside(a: ArraySpec, turn: int, side: int) -> Fill:
    """Numbers above 1 or below -1 for a fill whose range excludes them."""
    step, end = (0.25, 3.25) if a.dtype.is_float else (1, 8)
    least = 1.25 if a.dtype.is_float else 2
    return drawn(-end, step - least, step, turn) if side < 0 else drawn(least, end, step, turn)


def _distinct(a: ArraySpec, turn: int, side: int) -> Fill:
    """Exact numbers that are distinct within each row; empty if the type has too few."""
    span = _near(a) if a.dtype.is_float else _span(a)
    if span is None or _sorted(a):
        return ""
    first, end = span
    count = math.prod(a.dtype.host_shape(a.shape))
    if not a.dtype.is_float:
        first, end = max(first, -(2**30)), min(end, 2**30)
        low, high = (first, 0) if side < 0 else (1, end) if side > 0 else (first, end)
        return drawn(low, high, 1, turn, distinct=True) if high > low else ""
    low, high = (first, 0.0) if side < 0 else (0.0, end) if side > 0 else (first, end)
    digits = min(count, Arithmetic(a.dtype.numpy).digits * (high - low) / 2 / max(abs(first), abs(end)))
    step = 2.0 ** math.floor(math.log2((high - low) / max(digits, 1)))
    return drawn(low + step * (side > 0), high, step, turn, distinct=True)


class _Search:
    """The search for further inputs of a case whose reference has branches."""

    def __init__(self, case: Case, usual: int, most: int, *, floats: bool, sided: bool) -> None:
        self.usual = usual
        self.case, self.most, self.floats, self.sided = case, most, floats, sided
        self.small, self.branches = _smaller(case)
        self.own = contents(self.small)
        self.tries = max(LEAST_TRIED, min(TRIED, WORK // max(_elements(self.small), 1)))
        self.reached = set(self.branches(self.own).sides)
        self.opaque = opaque(case)  # whether the order of equal keys changes the result
        self.constants = constants(case)
        self.no_index = indices(case)
        self.columns = [c for a in case.arrays() for c in a.columns() if _span(c)]
        self.adds = any(e.adds for _, e in case.kernel.expressions)

    def sets(self) -> Further:
        """The input sets, and the note on branches that remain unreached."""
        turns = {t: exact_set(self.case, t, sided=True, distinct=self.opaque) for t in self._turns()}
        known = {t: found for t, s in turns.items() if (found := self._try(s))}
        chosen = [t for t in (1, 2, 3, 4) if t in known]
        large = self.most < MOST[0][2]
        if large:  # one for sums, and what the branches need
            chosen = chosen[:1] if self.floats and self.adds else []
        for t in chosen:
            self.reached |= known[t].sides
        others = [turns[t] for t in known if t not in chosen]
        more = [s for s in (*others, *self._signs()) if self._missing(start=True) and self._gains(s, start=True)]
        if self._missing(start=False):
            more[:0] = self._special()
        sets = [turns[t] for t in chosen]
        if large and self.floats:
            others = [s for s in turns.values() if s not in (*sets, *more)]
            sets += others[: max(0, self.usual - len(sets) - len(more))]
        if len(sets) + len(more) > self.most and 3 in chosen:
            sets.remove(turns[3])
        kept = (*sets, *more)[: self.most]
        return Further(kept, self._note(kept))

    def _turns(self) -> Sequence[int]:
        return (1, 2, 3, 4) if self.floats else (2, 4) if self.sided else ()

    def _try(self, s: InputSet) -> Reached | None:
        """Evaluate the reference for a set; `None` if that fails, is not finite, or depends on the order of ties."""
        if self.tries <= 0:
            return None
        self.tries -= 1
        try:
            found = self.branches(s.contents(self.small, self.own, keep=False))
        except UsageError:
            return None
        return found if found.finite and not (self.opaque and found.tied) else None

    def _missing(self, *, start: bool) -> set[Side]:
        """The sides that are not reached yet; for the largest arrays only those that a note would mention."""
        every = self.branches.possible - self.reached
        large = self.most == MOST[-1][2]
        return {s for s in every if s.start == start and (s.told or s.start or not large)}

    def _gains(self, s: InputSet, *, start: bool) -> bool:
        found = self._try(s)
        gained = found is not None and bool(found.sides & self._missing(start=start))
        if found and gained:
            self.reached |= found.sides
        return gained

    def _signs(self) -> Iterator[InputSet]:
        """Sets in which all numbers of an array are beyond 1 or -1, or arrays have different signs."""
        names = [c.name for c in self.columns if _signed(c) and not _sorted(c) and c.name not in self.no_index]
        plain = [(HIGH,) * len(names), (LOW,) * len(names)] if names else []
        mixed = list(itertools.product((HIGH, LOW), repeat=len(names)))[1:-1] if 1 < len(names) <= 3 else []
        words = {HIGH: "above 1", LOW: "below -1"}
        for number, pattern in enumerate((*plain, *mixed)):
            sides = dict(zip(names, pattern, strict=True))
            # The extremes are at the other ends than in the second and the fourth turn.
            turn = 5 + 2 * number
            beyond = [c.name for c in self.columns if c.name in sides and not _one_sign(c, turn, sides[c.name])]

            def fill(a: ArraySpec, turn: int = turn, sides: Mapping[str, int] = sides) -> Fill:
                if a.name not in sides:
                    return _filled(a, turn, MIXED, sided=True, distinct=self.opaque)
                return _one_sign(a, turn, sides[a.name]) or _outside(a, turn, sides[a.name])

            label = ", ".join(f"'{n}' {words[s]}" for n, s in sides.items())
            told = ", ".join(f"'{n}' {words[sides[n]]}" for n in beyond)
            yield _set(self.case, f"those with {label}", turn, fill, told)

    def _special(self) -> list[InputSet]:
        """Sets with single values, or with numbers of another scale, that reach missing sides."""
        before = set(self.reached)
        inside = self._needed([(c.name, v) for c in self.columns for v in self._values(c, beyond=False)], [])
        outside = []
        if any(s.beyond for s in self._missing(start=False)):
            tried = [(c.name, v) for c in self.columns if self._may_leave(c) for v in self._values(c, beyond=True)]
            # Near ones first, and before them sixteenths, with which sums stay exact.
            outside = self._needed(sorted(tried, key=lambda each: (each[1] % 0.0625 != 0, abs(each[1]))), inside)
        found = []
        self.reached = before
        for values, beyond in (([*inside, *outside], outside), (inside, [])):
            if values and self._gains(s := self._holding(values, beyond), start=False):
                found.append(s)
                break
        if any(s.told for s in self._missing(start=False)):
            found += [s for s in self._scaled() if self._gains(s, start=False)][:1]
        return found

    def _may_leave(self, a: ArraySpec) -> bool:
        """Whether an array may have numbers beyond the range of its fill; not integers, which may be indices."""
        return not _sorted(a) and a.name not in self.no_index and (a.dtype.is_float or _signed(a))

    def _values(self, a: ArraySpec, *, beyond: bool) -> list[Number]:
        """Candidates from the reference's constants, in or `beyond` the range of an array's fill; simple ones first."""
        if _sorted(a):
            return []
        first, end = _span(a) or (0, 0)
        found: dict[Number, None] = {}
        for value in _candidates(self.constants):
            number = _held(a, value)
            if number is not None and (first <= number < end and (a.fill not in BYTES or number % 1 == 0)) != beyond:
                found[number] = None
        return list(found)[:VALUES]

    def _holding(self, values: Iterable[tuple[str, Number]], beyond: Collection[tuple[str, Number]]) -> InputSet:
        of, leaving = _by_name(values), _by_name(beyond)

        def fill(a: ArraySpec) -> Fill:
            base = _filled(a, 1, MIXED, sided=True) or a.fill
            return holding(base, of[a.name]) if a.name in of else base  # type: ignore[arg-type,return-value]

        label, told = (", ".join(f"{_listed(v)} in '{n}'" for n, v in each.items()) for each in (of, leaving))
        return _set(self.case, f"those that hold {label}", 5, fill, told)

    def _needed(
        self, values: list[tuple[str, Number]], with_these: list[tuple[str, Number]]
    ) -> list[tuple[str, Number]]:
        """A small subset of the values that covers the same missing branch outcomes."""

        def reach(these: list[tuple[str, Number]]) -> frozenset[Side]:
            found = self._try(self._holding([*with_these, *these], ())) if these else None
            return found.sides if found else frozenset()

        values = self._finite(values, with_these)
        missing = self._missing(start=False)
        reachable = reach(values) & missing
        chosen: list[tuple[str, Number]] = []
        for side in sorted(reachable, key=lambda s: (s.node, s.name)):
            if side in self.reached:
                continue
            at = bisect.bisect_left(range(1, len(values)), x=True, key=lambda n: side in reach(values[:n]))
            for some in ([values[at]], values[: at + 1]):
                found = reach([*chosen, *some])
                if side in found:
                    chosen += [v for v in some if v not in chosen]
                    self.reached |= found
                    break
        return chosen

    def _finite(
        self, values: list[tuple[str, Number]], with_these: list[tuple[str, Number]]
    ) -> list[tuple[str, Number]]:
        """The values for which the reference is finite."""
        if not values or self._try(self._holding([*with_these, *values], ())):
            return values
        if len(values) == 1:
            return []
        half = len(values) // 2
        return [*self._finite(values[:half], with_these), *self._finite(values[half:], with_these)]

    def _scaled(self) -> Iterator[InputSet]:
        """Sets that scale all numbers of an array up or down, for conditions on sums."""
        columns = [c for c in self.columns if not _sorted(c)]
        for scale, sign in itertools.product((1, 16, 256, 4096, 1 / 16), (1, -1)):
            for only in (None, *(c.name for c in columns)) if len(columns) > 1 else (None,):
                wanted_of = {c.name: self._up_to(c, sign * scale) for c in columns if only in (None, c.name)}
                fills = {n: found for n, found in wanted_of.items() if found}
                beyond = ", ".join(repr(n) for n, (_, leaves) in fills.items() if leaves)

                def fill(a: ArraySpec, fills: Mapping[str, tuple[Fill, bool]] = fills) -> Fill:
                    return fills[a.name][0] if a.name in fills else _filled(a, 1, MIXED, sided=True)

                if fills:
                    label = f"those with numbers about {sign * scale:g} in {', '.join(map(repr, fills))}"
                    yield _set(self.case, label, 5, fill, beyond)

    def _up_to(self, a: ArraySpec, scale: float) -> tuple[Fill, bool] | None:
        """A fill of numbers around `scale`, and whether they leave the range of the own fill; `None` if not allowed."""
        whole = not a.dtype.is_float or a.fill in BYTES
        first, end = _span(a) or (0, 0)
        step = max(1, int(abs(scale))) if whole else abs(scale) / 4
        low, high = (step, 4.5 * step) if scale > 0 else (-4 * step, -step / 2)
        leaves = not first <= low <= high <= end
        if (leaves and not self._may_leave(a)) or _held(a, 4 * step) is None or _held(a, low) is None:
            return None
        return drawn(low, high, step, 5), leaves

    def _note(self, sets: Iterable[InputSet]) -> str:
        """The note on branches that no input reaches, at the case's own size either."""
        reached = set(self.branches(self.own).sides)
        for s in sets:
            reached |= self.branches(s.contents(self.small, self.own, keep=False)).sides
        told = {s.told for s in self.branches.possible - reached if s.told}
        if told and self.small is not self.case:
            whole = Branches(self.case)
            told &= {s.told for s in whole.possible - whole(contents(self.case)).sides}
        listed = sorted(told)
        more = f", and {len(listed) - TOLD} more" if len(listed) > TOLD else ""
        return "; ".join(listed[:TOLD]) + more


def _by_name(values: Iterable[tuple[str, Number]]) -> dict[str, list[Number]]:
    found: dict[str, list[Number]] = {}
    for name, value in values:
        found.setdefault(name, []).append(value)
    return found


def _listed(values: Sequence[Number]) -> str:
    more = f" and {len(values) - SHOWN} more" if len(values) > SHOWN else ""
    return ", ".join(f"{v:.9g}" for v in values[:SHOWN]) + more


def _candidates(numbers: Sequence[float]) -> Iterator[float]:
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


def _held(a: ArraySpec, value: float) -> Number | None:
    """A number rounded to the array's type; `None` if the type cannot hold it."""
    if not a.dtype.holds(value):
        return None
    return float(a.dtype.numpy.type(value)) if a.dtype.is_float else int(value)


def _smaller(case: Case) -> tuple[Case, Branches]:
    """The case at a size that is quick to evaluate. Raises UsageError if it has no such size."""
    elements = _elements(case)
    for most in (SEARCHED, SEARCHED << 3, LARGEST_SEARCHED):
        if elements <= most:
            return case, Branches(case)
        for values in _divided(dict(case.parameters), case.kernel.sizes, -(-elements // most)):
            try:
                other = make(case.kernel, values, case.seed)
                if other.excluded or _elements(other) > LARGEST_SEARCHED:
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
        possible = range(by // 2 + 1, min(16 * by, by + NEAR)) if numbers else ()
        divisors = [d for d in possible if numbers[0] % d == 0][:DIVISORS]
        pairs = len(numbers) < len(names)
        for factor, across in itertools.product((power, *divisors), (False, True, None) if pairs else (False,)):
            yield {**values, **{n: _part(values[n], factor, across) for n in names}}


DIVISORS, NEAR = 8, 4096  # limits of the divisors that are tried


def _part(size: Any, factor: int, across: bool | None) -> Any:  # noqa: FBT001
    """Divide a size: its rows, its columns if `across`, or both if that is `None`."""
    if isinstance(size, int):
        return max(size // factor, 1)
    rows, cols = pair(str(size))
    root = 1 << (factor.bit_length() // 2)
    down, over = {False: (factor, 1), True: (1, factor), None: (root, root)}[across]
    return f"{max(rows // down, 1)}x{max(cols // over, 1)}"
