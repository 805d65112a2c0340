"""The value of an expression of a function that is followed: a number as a term, or a pointer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from runner.importer import terms
from runner.importer.program import returned
from runner.importer.symbols import Found, Pointer, Setting, State, Unclear, Value, in_grid
from runner.importer.terms import UNKNOWN, Term

MOST_STEPS = 40_000  # terms of one function, with those of the functions that it calls
DEEPEST_CALL = 8
_INTEGERS = re.compile(r"(u?int\d*(_t)?|unsigned|signed|long|short|char|size_t|ptrdiff_t|uint|bool|auto)\b")
_MATH = frozenset(
    "sqrt rsqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos asin acos atan".split()
    + "sinh tanh erf erfc floor ceil rint".split()
)
_LOADS = frozenset("__ldg __ldca __ldcg __ldcs __ldcv __ldlu".split())  # with a cache hint
_LIMITS: Mapping[str, float] = {
    "FLT_MAX": 3.4028234663852886e38, "DBL_MAX": 1.7976931348623157e308, "M_PI": 3.141592653589793, "warpSize": 32,
}  # fmt: skip
_BUILT_IN = {"threadIdx": "t", "blockIdx": "b"}


def is_integer_type(kind: str) -> bool:
    """Whether a C++ type holds integers."""
    return _INTEGERS.match(kind) is not None


@dataclass
class Values:
    """Finds the values of expressions; it reads what `found` has, and changes nothing of it."""

    setting: Setting
    found: Found
    steps: int = 0

    def value(self, term: Term, state: State) -> Value:
        """A pointer or a number. Raises Unclear for an expression of another form."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise Unclear("it is too long")
        if term[0] in terms.BINARY:
            return self._binary(term, state)
        evaluate = self._BY_KIND.get(term[0])
        if evaluate is None:
            raise Unclear("it has an expression of another form")
        return evaluate(self, term, state)

    def number(self, term: Term, state: State) -> Term:
        """A number."""
        value = self.value(term, state)
        if isinstance(value, Pointer):
            raise Unclear(f"it uses an address of {value.array}")
        return value

    def element(self, term: Term, state: State) -> Pointer:
        """The pointer to an element, such as `a[i]` or `*(a + i)`."""
        match term:
            case ("index", base, place):
                pointer = self.value(base, state)
                if isinstance(pointer, Pointer):
                    return replace(pointer, offset=("+", pointer.offset, self.number(place, state)))
            case ("content", inner):
                pointer = self.value(inner, state)
                if isinstance(pointer, Pointer):
                    return pointer
            case ("member", inner, part):
                pointer = self._whole(inner, state)
                if f"{pointer.array}.{part}" in self.setting.parts:
                    return replace(pointer, array=f"{pointer.array}.{part}")
                raise Unclear(f"it uses the member {part}")
        raise Unclear("it uses elements of what is not an array of its caller")

    def _whole(self, term: Term, state: State) -> Pointer:
        """The pointer to the structure whose member an expression names: `a[i].x`, `p->x`, or a copy of an element."""
        if term[0] == "name":
            value = self.value(term, state)
            if isinstance(value, Pointer):
                return value
            if value[0] == "load":
                return Pointer(value[1], value[2])
            raise Unclear("it uses a member of what is not an array of its caller")
        return self.element(term, state)

    def joined(self, operator: str, left: Term, right: Term) -> Term:
        """The value of a binary operator; a division of integers is `//`."""
        is_real = self.setting.is_real(left) or self.setting.is_real(right)
        if operator == "/" and not is_real:
            operator = "//"
        known = terms.calculated(operator, terms.value(left), terms.value(right))
        if known is not None:
            return terms.number(known)
        term = (operator, left, right)
        return in_grid(term, self.setting.block) if operator == "+" and not is_real else term

    def converted(self, kind: str, inner: Term) -> Term:
        """A number as another type. Raises Unclear if it would be rounded."""
        if is_integer_type(kind) and kind != "bool":
            if self.setting.is_real(inner):
                raise Unclear("it converts a real number to an integer")
            return inner
        if kind == "bool" or not (terms.is_real_type(kind) or kind in self.setting.types):
            raise Unclear(f"it converts to {kind}")
        return inner if self.setting.is_real(inner) else ("cast", "float", inner)

    def _same(self, term: Term, _state: State) -> Value:
        return term

    def _name(self, term: Term, state: State) -> Value:
        text = term[1]
        held = state.names.get(text) or self.setting.known.get(text, UNKNOWN)
        if held == UNKNOWN and text in _LIMITS:
            return terms.number(_LIMITS[text])
        if held == UNKNOWN:
            raise Unclear(f"{text} has no known value")
        return held

    def _member(self, term: Term, state: State) -> Value:
        match term:
            case (_, ("name", ("threadIdx" | "blockIdx") as text), ("x" | "y" | "z") as axis):
                return ("axis", _BUILT_IN[text] + axis)
            case (_, ("name", "blockDim"), ("x" | "y" | "z") as axis):
                return self.setting.block if axis == "x" else terms.name(f"block_{axis}")
            case (_, ("name", "gridDim"), ("x" | "y" | "z") as axis):
                return terms.name(f"grid_{axis}")
        return self._loaded(term, state)

    def _loaded(self, term: Term, state: State) -> Value:
        match term:
            case ("index", ("name", array), *places) if array in self.found.shared:
                return self._shared(array, [self.number(p, state) for p in places])
        pointer = self.element(term, state)
        place = in_grid(pointer.offset, self.setting.block)
        for old in self.found.stores:
            if old.array == pointer.array:
                if terms.same(old.place, place) and set(old.conditions) <= set(state.conditions) and not old.adds:
                    return old.value  # what this thread has stored
                raise Unclear(f"it reads other elements of {pointer.array} than it has stored")
        return ("load", pointer.array, place)

    def _shared(self, array: str, places: Sequence[Term]) -> Term:
        held = self.found.shared[array]
        if len(places) == 1 and held.joined is not None and terms.value(places[0]) == 0:
            return held.joined
        if len(places) == 1 and held.own is not None and terms.same(places[0], ("axis", "tx")):
            return held.own
        raise Unclear(f"it exchanges values in {array}")

    def _address(self, term: Term, state: State) -> Value:
        return self.element(term[1], state)

    def _cast(self, term: Term, state: State) -> Value:
        return self.converted(term[1], self.number(term[2], state))

    def _unary(self, term: Term, state: State) -> Value:
        return (term[0], self.number(term[1], state))

    def _chosen(self, term: Term, state: State) -> Value:
        condition, yes, no = (self.number(t, state) for t in term[1:])
        known = terms.value(condition)
        return ("?", condition, yes, no) if known is None else yes if known else no

    def _binary(self, term: Term, state: State) -> Value:
        operator, left, right = term[0], self.value(term[1], state), self.value(term[2], state)
        if isinstance(left, Pointer) and not isinstance(right, Pointer) and operator in ("+", "-"):
            return replace(left, offset=(operator, left.offset, right))
        if isinstance(left, Pointer) or isinstance(right, Pointer):
            raise Unclear("it calculates with addresses")
        return self.joined(operator, left, right)

    def _call(self, term: Term, state: State) -> Value:
        """A function of C, or a macro or a function of the file that is one expression."""
        called, given = term[1].removeprefix("std::"), [self.value(t, state) for t in term[2:]]
        if called in _LOADS and len(given) == 1 and isinstance(given[0], Pointer):
            return self._loaded(("content", term[2]), state)
        names, body = self._own(called)
        if body != UNKNOWN and len(names) == len(given):
            self.steps += MOST_STEPS // 1000
            inner = State(dict(zip(names, given, strict=True)), {}, state.conditions)
            return self.value(body, inner)
        numbers = [t for t in given if not isinstance(t, Pointer)]
        plain = called[:-1] if called.endswith("f") and called != "erf" else called
        match (plain, *numbers):
            case ("fmax" | "max", x, y):
                return ("maximum", x, y)
            case ("fmin" | "min", x, y):
                return ("minimum", x, y)
            case ("pow", x, y):
                return ("**", x, y)
            case ("fma", x, y, z):
                return self.joined("+", self.joined("*", x, y), z)
            case ("abs" | "fabs", x):
                return ("call", "abs", x)
            case (function, x) if function in _MATH:
                return ("call", function, x if self.setting.is_real(x) else ("cast", "float", x))
            case (_, x) if called in self.setting.types or terms.is_real_type(called):
                return self.converted("float", x)
        raise Unclear(f"it calls {called}")

    def _own(self, called: str) -> tuple[tuple[str, ...], Term]:
        """The parameters of the file's own macro or function, and the expression that it is."""
        names, body, _ = self.setting.program.macros.get(called, (None, UNKNOWN, ""))
        functions = self.setting.program.functions.get(called, ())
        if names is None and len(functions) == 1 and functions[0].is_one_return:
            return tuple(name for name, _ in functions[0].parameters), returned(functions[0])
        return names or (), body if names is not None else UNKNOWN

    _BY_KIND: ClassVar[Mapping[str, Callable[[Values, Term, State], Value]]] = {
        "number": _same, "name": _name, "member": _member, "index": _loaded,
        "content": _loaded, "address": _address, "cast": _cast, "negative": _unary,
        "not": _unary, "?": _chosen, "call": _call,
    }  # fmt: skip
