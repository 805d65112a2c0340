"""Resolve expressions of the host to the constants of the program, from a launch back to `main`.

The code is read, never run: constants, arithmetic and calls of the file's own functions are followed. What only the
program's run decides, such as its command line, is left open.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from runner.importer import terms
from runner.importer.program import Definition, Function, Program, returned
from runner.importer.terms import UNKNOWN, Term

DEEPEST = 100  # levels of expressions and of names that stand for each other
DEEPEST_CALL = 6  # functions between a launch and the constants that it depends on
MOST_TERMS = 400  # of a name's expression; a larger one, as of macros that double each other, is its number alone
MOST_STEPS = 20_000  # terms visited for one expression, so that a hostile file ends
_CEIL_DIV = frozenset("ceil_div cdiv div_up divUp DIVUP iDivUp".split())
_OPEN = frozenset("unknown call method index member".split())


@dataclass(frozen=True)
class Scope:
    """Where a term stands: in a function, before a byte, with what its caller passes."""

    function: Function | None = None
    before: int = 0
    bound: Mapping[str, tuple[Term, Scope | None]] = field(default_factory=dict)
    depth: int = 0


def called_scope(callee: Function, given: Sequence[Term], scope: Scope) -> Scope:
    """The end of a function's body, with what a caller passes."""
    bound = {name: (term, scope) for (name, _), term in zip(callee.parameters, given, strict=False)}
    return Scope(callee, callee.node.end_byte, bound, scope.depth + 1)


def latest(name: str, scope: Scope) -> Definition | None:
    """The definition of a name that holds before a scope's byte; one in a branch beside it is the last resort."""
    found: Definition | None = None
    for each in scope.function.definitions.get(name, ()) if scope.function else ():
        if each.end > scope.before:
            break
        beside = any(not begin <= scope.before < end for begin, end in each.around)
        if found is None or found.value == UNKNOWN or not beside:
            found = each
    return found


def is_open(term: Term) -> bool:
    """Whether a term depends on something that the file does not tell."""
    return any(t[0] in _OPEN and t[1:2] != ("ceil_div",) for t in terms.leaves(term))


def _vector_length(name: str, scope: Scope) -> Term | None:
    """The n of `vector<T> v(n)` or `v(n, content)`."""
    found = latest(name, scope)
    return found.value[1] if found is not None and found.value[0] == "list" and 2 <= len(found.value) <= 3 else None


def _names(term: Term, name: str) -> bool:
    return any(t == ("name", name) for t in terms.leaves(term))


class Resolver:
    """Resolves the terms of one program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._steps = 0
        self._known: dict[str, Term] = {}  # the file's constants and macros, which are the same everywhere

    def scope(self, function: Function, before: int, depth: int = 0) -> Scope:
        """The scope of a function's body, bound to its first caller."""
        bound: dict[str, tuple[Term, Scope | None]] = {}
        callers = self.program.callers.get(function.name, ()) if function.name != "main" else ()
        for caller, call in callers if depth < DEEPEST_CALL else ():
            if caller.node.id != function.node.id and len(call.arguments) <= len(function.parameters):
                outer = self.scope(caller, call.node.start_byte, depth + 1)
                defaults = {name: (default, None) for name, default in function.parameters}
                return Scope(
                    function, before, {**defaults, **called_scope(function, call.arguments, outer).bound}, depth
                )
        return Scope(function, before, bound, depth)

    def constant(self, term: Term) -> int | float | None:
        """The number that a term of the file's constants has, outside of functions."""
        return terms.value(terms.numbers(self.resolve(term, None)))

    def resolve(self, term: Term, scope: Scope | None, depth: int = 0) -> Term:
        """A term in which each name is a constant of the program: `("constant", name, value, where, is_global)`."""
        self._steps = self._steps + 1 if depth else 0
        if depth > DEEPEST or self._steps > MOST_STEPS:
            return UNKNOWN
        below = depth + 1
        match term:
            case ("name", text):
                return self._name(text, scope, below)
            case ("member", ("name", text), field_name) if scope is not None:
                return self._member(text, field_name, scope, below)
            case ("?", condition, *branches) if (chosen := self._chosen(condition, branches, scope, below)) is not None:
                return self.resolve(chosen, scope, below)
            case ("method", ("name", text), "size") if scope is not None and (length := _vector_length(text, scope)):
                return self.resolve(length, scope, below)
            case ("call", function, *given):
                return self._call(function, given, scope, below)
            case ("index", ("name", text), index) if scope is not None:
                found, place = latest(text, scope), terms.value(terms.numbers(self.resolve(index, scope, below)))
                values = found.value[1:] if found is not None and found.value[0] == "list" else ()
                if isinstance(place, int) and 0 <= place < len(values):
                    return self.resolve(values[place], scope, below)
        return terms.simplified(
            tuple(self.resolve(each, scope, below) if isinstance(each, tuple) else each for each in term)
        )

    def _chosen(self, condition: Term, branches: Sequence[Term], scope: Scope | None, depth: int) -> Term | None:
        """The branch of `condition ? yes : no`; the default where a program reads its command line."""
        known = terms.value(terms.numbers(self.resolve(condition, scope, depth)))
        if known is not None:
            return branches[0 if known else 1]
        defaults = [each for each in branches if not _names(each, "argv")]
        return defaults[0] if len(defaults) == 1 and _names(condition, "argc") else None

    def _member(self, text: str, member: str, scope: Scope, depth: int) -> Term:
        """A member to which the function gives a value, or a length of a `dim3`."""
        if found := latest(f"{text}.{member}", scope):
            return self.resolve(found.value, scope, depth)
        if member not in ("x", "y", "z"):
            return ("member", terms.name(text), member)
        parts, place = self.dimensions(("name", text), scope), "xyz".index(member)
        return parts[place] if place < len(parts) else terms.number(1)

    def dimensions(self, term: Term, scope: Scope, depth: int = 0) -> tuple[Term, ...]:
        """The parts of a `dim3`, x first; one part for an integer."""
        match term:
            case _ if depth > DEEPEST_CALL:
                return ()
            case ("call" | "cast", "dim3", *given) | ("list", *given):
                return tuple(self.resolve(t, scope) for t in given)
            case ("name", text) if text in scope.bound:
                inner, outer = scope.bound[text]
                return self.dimensions(inner, outer or Scope(), depth + 1)
            case ("name", text):
                found, members = latest(text, scope), [latest(f"{text}.{axis}", scope) for axis in "xyz"]
                if found is not None and not any(members):
                    return self.dimensions(found.value, scope, depth + 1)
                if any(members):
                    return tuple(self.resolve(m.value, scope) if m else terms.number(1) for m in members)
        return (self.resolve(term, scope),)

    def _name(self, text: str, scope: Scope | None, depth: int) -> Term:
        if scope is not None and text in scope.bound:
            inner, outer = scope.bound[text]
            return inner if inner[0] == "axis" else self.resolve(inner, outer, depth)
        where, body, is_global = "", None, True
        if scope is not None and scope.function is not None:
            where, definition = scope.function.where, latest(text, scope)
            if definition is not None:
                where = f"{scope.function.path.name}:{definition.line}"
                body, is_global = definition.value, False
        if body is None and text in self.program.macros and self.program.macros[text][0] is None:
            _, body, where = self.program.macros[text]
        if body is None and text in self.program.globals:
            body, where = self.program.globals[text]
        if body is None:
            return ("constant", text, None, where, False)
        if is_global and text in self._known:
            return self._known[text]
        found = self._value(text, body, where, None if is_global else scope, depth)
        if is_global and self._steps <= MOST_STEPS and depth < DEEPEST:
            self._known[text] = found
        return found

    def _value(self, text: str, body: Term, where: str, scope: Scope | None, depth: int) -> Term:
        """What a name stands for: a number as a constant, or an expression. The file's own names have no scope."""
        is_global = scope is None
        inner = self.resolve(body, scope, depth)
        is_large = sum(1 for _ in itertools.islice(terms.leaves(inner), MOST_TERMS + 1)) > MOST_TERMS
        known = terms.value(terms.numbers(inner) if is_large else inner)
        if is_large and known is None:
            return UNKNOWN
        if known is not None:
            return ("constant", text, known, where, is_global)
        return ("constant", text, None, where, False) if is_open(inner) and inner[0] != "constant" else inner

    def _call(self, function: str, given: Sequence[Term], scope: Scope | None, depth: int) -> Term:
        names, body, _ = self.program.macros.get(function, (None, UNKNOWN, ""))
        known = self.program.only(function)
        if names is None and known is not None:
            names, body = tuple(name for name, _ in known.parameters), returned(known)
        if names is not None and body != UNKNOWN and len(names) == len(given):
            bound = {name: (term, scope) for name, term in zip(names, given, strict=True)}
            return self.resolve(body, Scope(None, 0, bound), depth)
        inner = tuple(self.resolve(t, scope, depth) for t in given)
        is_ceil_div = function in _CEIL_DIV and len(given) == 2
        return terms.simplified(("call", "ceil_div" if is_ceil_div else function, *inner))
