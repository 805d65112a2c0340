"""The value of a store as text in the YAML's language of references, with an axis for each of its threads and loops.

Loads that cover an array in order become the array itself; other loads become a slice or `take`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from runner.importer import terms
from runner.importer.axes import Lengths, equal, free, row_major, say
from runner.importer.symbols import Unclear, uncast
from runner.importer.term_text import number_text
from runner.importer.terms import UNKNOWN, Term

_LEVELS = {"|": 2, "^": 3, "&": 4, "<": 1, "<=": 1, ">": 1, ">=": 1, "==": 1, "!=": 1, "<<": 5, ">>": 5, "+": 6, "-": 6,
           "*": 7, "/": 7, "//": 7, "%": 7, "**": 9}  # fmt: skip
_SUM, _PRODUCT, _UNARY, _POWER, ATOM = 6, 7, 8, 9, 10
_REDUCTIONS = {"+": "sum", "*": "prod", "maximum": "max", "minimum": "min"}

Text = tuple[str, int]  # an expression, and how tightly its last operator binds


def bracketed(text: Text, least: int) -> str:
    """An expression as an operand of an operator of a level."""
    return f"({text[0]})" if text[1] < least else text[0]


@dataclass(frozen=True)
class Arrays:
    """What the texts of one reference share; each text adds to what it finds."""

    shapes: Mapping[str, tuple[str, ...]]  # shapes that the YAML gives arrays
    allocated: Collection[str]  # arrays whose number of elements the file tells
    elements: dict[str, Term]  # numbers of elements
    views: dict[str, set[tuple[str, ...]]]  # the shapes in which each array is used; ("",) for single elements
    reads: set[str]  # arrays whose elements are read

    def needs(self, name: str, end: Term) -> None:
        """Make an array whose length only its reads tell at least so long."""
        beyond = terms.polynomial(("-", end, self.elements[name])) if name in self.elements else {}
        if name not in self.allocated and all(factor >= 0 for factor in beyond.values()):
            self.elements[name] = terms.term_of(terms.polynomial(end))

    def viewed(self, name: str, dims: tuple[str, ...]) -> str:
        """An array with some lengths."""
        self.views.setdefault(name, set()).add(dims)
        return name if len(dims) == 1 or self.shapes.get(name) == dims else f"reshape({name}, {', '.join(dims)})"


@dataclass(frozen=True)
class ArrayText:
    """Writes values with some axes, outermost first."""

    arrays: Arrays
    names: tuple[Term, ...]
    lengths: Lengths
    in_branch: bool = False  # whether the text is a branch of `where`, which NumPy computes for all elements

    def whole(self, value: Term) -> Text:
        """A value that has the length of every axis."""
        value = uncast(value)
        text, dims = self.text(value), ", ".join(say(self.lengths[a]) for a in self.names)
        if not self.names:
            return f"reshape({text[0]}, 1)", ATOM
        if not free(value):
            return f"full({text[0]}, {dims})", ATOM
        if free(value) >= set(self.names):
            return text
        return f"{bracketed(text, _SUM)} + full(0, {dims})", _SUM

    def text(self, term: Term) -> Text:
        """A value, whose axes are broadcast. Raises Unclear if the language cannot say it."""
        write = self._BY_KIND.get(term[0])
        if write is not None:
            return write(self, term)
        if term[0] not in _LEVELS:
            raise Unclear(f"{term[0]} has no form in a reference")
        operator, own = term[0], _LEVELS[term[0]]
        left, right = self.text(term[1]), self.text(term[2])
        if operator == "**":
            return f"{bracketed(left, ATOM)} ** {bracketed(right, _POWER)}", _POWER
        return f"{bracketed(left, max(own, 2))} {operator} {bracketed(right, own + 1)}", own

    def _branch(self) -> ArrayText:
        return ArrayText(self.arrays, self.names, self.lengths, in_branch=True)

    def _number(self, term: Term) -> Text:
        return number_text(term[1]), ATOM if term[1] >= 0 else _UNARY

    def _name(self, term: Term) -> Text:
        return term[1], ATOM

    def _cast(self, term: Term) -> Text:
        return self.text(term[2])

    def _negative(self, term: Term) -> Text:
        return f"-{bracketed(self.text(term[1]), _POWER)}", _UNARY

    def _not(self, term: Term) -> Text:
        return f"{bracketed(self.text(term[1]), 2)} == 0", 1

    def _where(self, term: Term) -> Text:
        if UNKNOWN in term[2:]:
            raise Unclear("a variable has no value in a branch")
        yes, no = (self._branch().text(t)[0] for t in term[2:])
        return f"where({self.text(term[1])[0]}, {yes}, {no})", ATOM

    def _both(self, term: Term) -> Text:
        sign = term[0][0]
        return f" {sign} ".join(bracketed(self._branch().text(t), 5) for t in term[1:]), _LEVELS[sign]

    def _extreme(self, term: Term) -> Text:
        return f"{term[0]}({self.text(term[1])[0]}, {self.text(term[2])[0]})", ATOM

    def _call(self, term: Term) -> Text:
        if len(term) != 3:
            raise Unclear(f"{term[1]} has no form in a reference")
        return f"{term[1]}({self.text(term[2])[0]})", ATOM

    def _axis(self, axis: Term) -> Text:
        if axis not in self.names:
            raise Unclear("a value depends on a thread that does not store it")
        behind = len(self.names) - self.names.index(axis) - 1  # NumPy adds the axes in front
        text = f"arange({say(self.lengths[axis])})"
        return f"reshape({text}, {say(self.lengths[axis])}{', 1' * behind})" if behind else text, ATOM

    def _load(self, load: Term) -> Text:
        _, name, place = load
        self.arrays.reads.add(name)
        if not free(place) <= set(self.names):
            raise Unclear("a value depends on a thread that does not store it")
        if not free(place) and not any(t[0] == "load" for t in terms.leaves(place)):
            self.arrays.viewed(name, ("",))
            return f"{name}[{say(place)}]", ATOM
        try:
            order, total = row_major(place, self.lengths)
        except Unclear:
            return self._taken(name, place), ATOM
        if not equal(self.arrays.elements.setdefault(name, total), total):
            return self._taken(name, place), ATOM
        return self._view(name, order), ATOM

    def _view(self, name: str, order: Sequence[Term]) -> str:
        """An array that is read in order, with its axes where the expression has them."""
        used = [a for a in self.names if a in order]
        text = self._ordered(name, order, used)
        last = self.names[self.names.index(used[0]) :]
        if list(last) == used:
            return text
        return f"reshape({text}, {', '.join(say(self.lengths[a]) if a in used else '1' for a in last)})"

    def _ordered(self, name: str, order: Sequence[Term], wanted: Sequence[Term]) -> str:
        text = self.arrays.viewed(name, tuple(say(self.lengths[a]) for a in order))
        if list(order) == list(wanted):
            return text
        if len(order) > 2:
            raise Unclear(f"it reads {name} in another order of its axes")
        return f"transpose({text})"

    def _taken(self, name: str, place: Term) -> str:
        """Elements at any places: a slice if they follow each other, else `take`."""
        self.arrays.viewed(name, ("",))
        rest = terms.polynomial(place)
        if len(self.names) == 1 and rest.get(self.names) == 1 and not self.in_branch:
            begin = terms.term_of({a: f for a, f in rest.items() if a != self.names})
            if not any(t[0] in ("axis", "load") for t in terms.leaves(begin)):
                first, end = "" if terms.value(begin) == 0 else say(begin), ("+", begin, self.lengths[self.names[0]])
                self.arrays.needs(name, end)
                return f"{name}[{first}:{say(end)}]"
        index, _ = self.text(terms.term_of(rest))
        if self.in_branch:  # elements for which the other branch is taken may be outside
            if name not in self.arrays.elements:
                raise Unclear(f"the size of {name} is not known")
            index = f"clip({index}, 0, {say(('-', self.arrays.elements[name], terms.number(1)))})"
        return f"take({name}, {index}, axis=0)"

    def _reduce(self, term: Term) -> Text:
        _, operator, axis, inner = term
        inner = uncast(inner)
        if operator == "+" and not self.in_branch and (product := self._product(axis, inner)):
            return product, _PRODUCT
        if axis not in free(inner):
            raise Unclear("a loop adds the same value in each turn")
        deeper = ArrayText(self.arrays, (*self.names, axis), self.lengths, self.in_branch)
        return f"{_REDUCTIONS[operator]}({deeper.text(inner)[0]}, axis={len(self.names)})", ATOM

    def _product(self, axis: Term, inner: Term) -> str:
        """A sum of products of two arrays as `a @ b`; empty if it is none."""
        if inner[0] != "*" or not 1 <= len(self.names) <= 2:
            return ""
        loads = [uncast(t) for t in inner[1:]]
        if any(t[0] != "load" or not free(t) <= {*self.names, axis} for t in loads):
            return ""
        try:
            ordered = [(t[1], *row_major(t[2], self.lengths)) for t in loads]
        except Unclear:
            return ""
        if not all(equal(self.arrays.elements.setdefault(name, n), n) for name, _, n in ordered):
            return ""
        first, last = [self.names[0], axis], [axis, *self.names[1:]]
        for (a, a_order, _), (b, b_order, _) in (ordered, ordered[::-1]):
            if set(a_order) == set(first) and set(b_order) == set(last):
                self.arrays.reads.update((a, b))
                return f"{self._ordered(a, a_order, first)} @ {self._ordered(b, b_order, last)}"
        return ""

    _BY_KIND: ClassVar[Mapping[str, Callable[[ArrayText, Term], Text]]] = {
        "number": _number, "name": _name, "cast": _cast, "negative": _negative,
        "not": _not, "?": _where, "&&": _both, "||": _both,
        "maximum": _extreme, "minimum": _extreme, "call": _call, "axis": _axis,
        "load": _load, "reduce": _reduce,
    }  # fmt: skip
