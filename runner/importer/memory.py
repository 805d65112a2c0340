"""The memory that the host passes to a kernel: its number of elements, and what the host fills it with."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from dataclasses import dataclass

from runner.importer import terms
from runner.importer.fills import fill_text
from runner.importer.program import Call, returned
from runner.importer.resolve import DEEPEST_CALL, Resolver, Scope, called_scope, latest
from runner.importer.terms import UNKNOWN, Term

_ALLOCATING = re.compile(r"(cuda|hip)(Malloc|HostAlloc|HostMalloc)\w*")
_COPYING = re.compile(r"\w*[mM]emcpy\w*")
_SETTING = re.compile(r"\w*[mM]emset\w*")
MOST_ARGUMENTS = 12  # of a function that may fill an array
DEEPEST_FILL = 3  # functions between main() and a loop that fills an array


@dataclass(frozen=True)
class Memory:
    """What the host passes for a pointer."""

    elements: Term | None = None  # resolved; `("bytes", size)` if the size is not in elements
    fill: str = ""  # in the YAML's form; empty if unknown
    name: str = ""  # of the host's array
    where: str = ""


def plain_pointer(term: Term) -> Term:
    """A pointer without casts, `&`, `&x[0]` and `.data()`."""
    while True:
        match term:
            case ("cast", _, inner) | ("address", ("index", inner, ("number", 0))) | ("address", inner):
                term = inner
            case ("method", inner, "data" | "get", *_) | ("call", "thrust::raw_pointer_cast", inner):
                term = inner
            case _:
                return term


class Memories:
    """Finds the memory behind pointers."""

    def __init__(self, resolver: Resolver) -> None:
        self.resolver, self.program = resolver, resolver.program

    def find(self, term: Term, scope: Scope) -> Memory | None:
        """What an argument points to; `None` if the file does not tell."""
        variable, scope = _variable(term, scope)
        if variable is None or scope.function is None:
            return None
        size, where = self._allocated(variable, scope)
        before = [c for c in scope.function.calls if c.node.start_byte < scope.before]
        copies = (c.arguments for c in before if _COPYING.fullmatch(c.name) and len(c.arguments) > 1)
        host = next((plain_pointer(a[1]) for a in copies if plain_pointer(a[0]) == variable), None)
        set_ = (c.arguments for c in before if _SETTING.fullmatch(c.name) and len(c.arguments) > 2)
        is_zero = any(plain_pointer(a[0]) == variable and terms.value(a[1]) == 0 for a in set_)
        source = host or variable
        fill = self._fill(source, scope, 0) or ("zeros" if is_zero else "")
        if size is None and not fill and host is None:
            return None
        return Memory(size, fill, source[1] if source[0] == "name" else "", where)

    def _allocated(self, variable: Term, scope: Scope) -> tuple[Term | None, str]:
        """The number of elements behind a pointer, and the line of its allocation."""
        if scope.function is None:
            return None, ""
        functions = [(scope.function, scope)]
        if variable[0] == "name" and variable[1] not in scope.function.locals:  # a global pointer
            others = (f for each in self.program.functions.values() for f in each)
            functions += [(f, self.resolver.scope(f, f.node.end_byte, 1)) for f in others]
        for function, inside in functions:
            for call in function.calls:
                is_early = function is not scope.function or call.node.start_byte <= scope.before
                if is_early and call.launch is None and (size := self._allocates(call, variable, inside)) is not None:
                    return size, f"{function.path.name}:{call.node.start_point[0] + 1}"
        return self._declared_size(variable[1], scope) if variable[0] == "name" else (None, "")

    def _allocates(self, call: Call, variable: Term, scope: Scope, depth: int = 0) -> Term | None:
        """The elements that a call allocates for a variable, itself or in the function that it calls."""
        given = call.arguments
        if _ALLOCATING.fullmatch(call.name) and len(given) > 1 and not call.name.endswith("Pitch"):
            is_for = plain_pointer(given[0]) in (variable, ("content", variable))
            return self._elements(given[1], scope) if is_for else None
        callee = self.program.only(call.name)
        if callee is None or depth > 1 or not any(t == ("address", variable) for t in given):
            return None
        inner = terms.name(callee.parameters[given.index(("address", variable))][0])
        below = called_scope(callee, given, scope)
        found = (self._allocates(each, inner, below, depth + 1) for each in callee.calls)
        return next((size for size in found if size is not None), None)

    def _declared_size(self, name: str, scope: Scope) -> tuple[Term | None, str]:
        """The elements of `new T[n]`, `malloc(n * sizeof(T))`, `vector<T> v(n)` or `T a[n]`."""
        found = latest(name, scope)
        if found is None or scope.function is None:
            return None, ""
        where = f"{scope.function.path.name}:{found.line}"
        match plain_pointer(found.value):
            case ("call", "malloc" | "std::malloc", size):
                return self._elements(size, scope), where
            case ("call", "calloc", size, _) | ("list" | "new", size, *_):
                return self.resolver.resolve(size, scope), where
        return None, ""

    def _elements(self, size: Term, scope: Scope) -> Term | None:
        """A number of bytes as a number of elements: without its `sizeof`."""
        resolved = self.resolver.resolve(size, scope)
        if resolved == UNKNOWN:
            return None
        result: terms.Polynomial = {}
        for atoms, factor in terms.polynomial(resolved).items():
            if sum(a[0] == "sizeof" for a in atoms) != 1:
                return ("bytes", resolved)
            result[tuple(a for a in atoms if a[0] != "sizeof")] = factor
        return terms.term_of(result)

    # --- contents ---

    def _fill(self, variable: Term, scope: Scope, depth: int) -> str:
        """How the host fills an array before the launch, in the YAML's form; empty if the file does not tell."""
        if scope.function is None or depth > DEEPEST_FILL or variable[0] != "name":
            return ""
        ways = (
            self._made(variable[1], scope, depth),
            self._stored(variable, scope),
            self._passed(variable, scope, depth),
        )
        return next((text for way in ways for text in way if text), "")

    def _made(self, name: str, scope: Scope, depth: int) -> Iterator[str]:
        """By what its declaration calls: `calloc`, or a function that returns it."""
        found = latest(name, scope)
        match plain_pointer(found.value) if found else UNKNOWN:
            case ("list", _, content):
                yield fill_text(self.resolver.resolve(content, scope), UNKNOWN)
            case ("call", "calloc", *_):
                yield "zeros"
            case ("call", function, *given) if callee := self.program.only(function):
                yield self._fill(plain_pointer(returned(callee)), called_scope(callee, given, scope), depth + 1)

    def _stored(self, variable: Term, scope: Scope) -> Iterator[str]:
        """By stores to its elements."""
        for store in scope.function.stores if scope.function else ():
            target = store.target
            if store.begin < scope.before and target[0] == "index" and plain_pointer(target[1]) == variable:
                loops: dict[str, tuple[Term, Scope | None]] = {n: (("axis", n), None) for n in store.loops}
                inside = dataclasses.replace(scope, bound={**scope.bound, **loops}, before=store.begin)
                place = self.resolver.resolve(target[2], inside) if len(target) == 3 else UNKNOWN
                yield fill_text(self.resolver.resolve(store.value, inside), place)

    def _passed(self, variable: Term, scope: Scope, depth: int) -> Iterator[str]:
        """By functions to which it is passed."""
        for call in scope.function.calls if scope.function else ():
            callee = self.program.only(call.name) if call.launch is None else None
            if callee is None or call.node.start_byte >= scope.before:
                continue
            given = call.arguments[:MOST_ARGUMENTS]
            for (parameter, _), each in zip(callee.parameters, given, strict=False):
                if plain_pointer(each) == variable:
                    inside = called_scope(callee, given, scope)
                    bound = {name: held for name, held in inside.bound.items() if name != parameter}
                    inside = dataclasses.replace(inside, bound=bound)
                    yield self._fill(terms.name(parameter), inside, depth + 1)


def _variable(term: Term, scope: Scope) -> tuple[Term | None, Scope]:
    """The variable that holds a pointer, in the function that declares it."""
    for _ in range(DEEPEST_CALL):
        term = plain_pointer(term)
        if term[0] != "name" or term[1] not in scope.bound:
            break
        term, outer = scope.bound[term[1]]
        if outer is None:
            return None, scope
        scope = outer
    return (term, scope) if term[0] in ("name", "member", "index") else (None, scope)
