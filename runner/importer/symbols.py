"""What is known of a function while it is followed: pointers, stores, and values as terms of `terms`.

Beside the operations of C, a value has `("axis", name)` for a thread's place or a loop's turn,
`("load", array, place)`, and `("reduce", operator, axis, value)` for what a loop or a block joins. The axis `tx` is
`threadIdx.x`, `bx` is `blockIdx.x`, and `x` is the thread's place in the grid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from runner.importer import terms
from runner.importer.program import Program
from runner.importer.terms import Term

_INTEGERS = frozenset("axis carried < > <= >= == != && || not".split())
_OPPOSITES = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}


class Unclear(Exception):
    """A function has a form that is not followed; the message says which."""


@dataclass(frozen=True)
class Pointer:
    """A pointer into an array of the caller."""

    array: str
    offset: Term = ("number", 0)


Value = Term | Pointer


@dataclass(frozen=True)
class Store:
    """One assignment to an array: element `place` becomes `value` wherever `conditions` hold."""

    array: str
    place: Term
    value: Term
    conditions: tuple[Term, ...]
    adds: bool = False  # whether it is an atomic addition


@dataclass(frozen=True)
class Setting:
    """What a function may refer to."""

    program: Program
    reals: Mapping[str, bool]  # whether each array's elements are real numbers; parts of structures are `array.part`
    known: Mapping[str, Term]  # constants of the file, by name
    block: Term = ("name", "block")  # threads of the block along x
    block_value: int | None = None
    types: frozenset[str] = frozenset()  # names of real types, such as `T`

    @cached_property
    def parts(self) -> frozenset[str]:
        """The names of parts of structures, outer ones too: `a.position` of `a.position.x`."""
        names = (name.split(".") for name in self.reals if "." in name)
        return frozenset(".".join(words[:n]) for words in names for n in range(2, len(words) + 1))

    def is_real(self, term: Term) -> bool:
        """Whether a term is a real number; otherwise it is an integer."""
        kind = term[0]
        if kind == "number":
            return isinstance(term[1], float)
        if kind == "load":
            return self.reals.get(term[1], True)
        if kind == "cast":
            return terms.is_real_type(term[1])
        if kind == "call" and term[1] != "abs":
            return bool(term[1] != "ceil_div")
        skipped = {"?": 2, "reduce": 3}.get(kind, 1)  # the condition is an integer; an axis is
        return kind not in _INTEGERS and any(isinstance(t, tuple) and self.is_real(t) for t in term[skipped:])


@dataclass
class State:
    """The names of a function's body at a statement."""

    names: dict[str, Value]
    reals: dict[str, bool]  # whether a local variable is real
    conditions: tuple[Term, ...] = ()
    is_over: bool = False  # after a `return`


@dataclass
class Shared:
    """An array in shared memory: what each thread stored to its own element, or what a tree left in element 0."""

    own: Term | None = None
    joined: Term | None = None


@dataclass
class Found:
    """What a function does, as far as it has been followed."""

    stores: list[Store] = field(default_factory=list)
    extents: dict[Term, Term] = field(default_factory=dict)  # of the loops' axes
    shared: dict[str, Shared] = field(default_factory=dict)


def uncast(term: Term) -> Term:
    """A value without conversions, which a reference does not repeat."""
    while term[0] == "cast":
        term = term[2]
    return term


def parts_of(condition: Term) -> tuple[Term, ...]:
    """The conditions that hold together: `a && b`, and `!(a || b)`."""
    match condition:
        case ("&&", left, right):
            return (*parts_of(left), *parts_of(right))
        case ("not", ("||", left, right)):
            return (*parts_of(("not", left)), *parts_of(("not", right)))
        case ("not", (operator, left, right)) if operator in _OPPOSITES:
            return ((_OPPOSITES[operator], left, right),)
    return (condition,)


def in_grid(term: Term, block: Term) -> Term:
    """A term in which `blockIdx.x * blockDim.x + threadIdx.x` is the thread's place in the grid."""
    if not any(t[0] == "axis" and t[1][0] == "b" for t in terms.leaves(term)):
        return term
    sums = terms.polynomial(term)
    before = dict(sums)
    for axis, length in (("x", block), ("y", terms.name("block_y")), ("z", terms.name("block_z"))):
        for atoms, factor in list(sums.items()):
            rest = list(atoms)
            if ("axis", f"t{axis}") in rest:
                rest.remove(("axis", f"t{axis}"))
                pair = tuple(sorted((*rest, ("axis", f"b{axis}"), length), key=repr))
                if sums.get(pair) == factor:
                    del sums[pair], sums[atoms]
                    sums[tuple(sorted((*rest, ("axis", axis)), key=repr))] = factor
    return term if sums == before else terms.term_of(sums)


def in_block(term: Term, block: Term) -> Term:
    """A term with the thread's place in the grid as block and place in the block."""
    inside: Term = ("+", ("*", ("axis", "bx"), block), ("axis", "tx"))
    return terms.replaced(term, lambda t: inside if t == ("axis", "x") else None)
