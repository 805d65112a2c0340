"""A kernel's launch in the host's code, resolved as far as the file tells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import tree_sitter

from runner.device.syntax import text_of
from runner.importer import terms
from runner.importer.memory import Memories, Memory
from runner.importer.program import Call, Function
from runner.importer.read_term import read
from runner.importer.resolve import Resolver, Scope
from runner.importer.terms import UNKNOWN, Term


@dataclass(frozen=True)
class Launch:
    """A launch: its terms are resolved."""

    where: str
    grid: tuple[Term, ...]
    block: tuple[Term, ...]
    shared: Term  # UNKNOWN without dynamic shared memory
    template: tuple[str | Term, ...]  # types as text; values are not resolved
    arguments: tuple[Term, ...]
    memory: tuple[Memory | None, ...]  # of pointers
    scope: Scope = field(repr=False, compare=False)

    def sizes(self, dimensions: int) -> tuple[int, ...]:
        """The block's lengths as numbers, without trailing ones beyond some dimensions; empty if unknown."""
        values = [terms.value(terms.numbers(part)) for part in self.block]
        while len(values) > dimensions and values[-1] == 1:
            values.pop()
        known = tuple(v for v in values if isinstance(v, int) and v > 0)
        return known if len(known) == len(values) <= 3 else ()


def launches_of(resolver: Resolver, plain: str) -> Iterator[Launch]:
    """The launches of a kernel, given by its name without namespaces, in the order of the files."""
    for function, call in resolver.program.launches.get(plain, ()):
        yield _launch(resolver, function, call)


def _launch(resolver: Resolver, function: Function, call: Call) -> Launch:
    scope = resolver.scope(function, call.node.start_byte)
    shape = [read(c) for c in call.launch.named_children if c.type != "comment"] if call.launch else []
    grid, block, shared, *_ = [*shape, UNKNOWN, UNKNOWN, UNKNOWN]
    memories = Memories(resolver)
    called = call.node.child_by_field_name("function")
    if called is not None and called.type == "qualified_identifier":
        called = called.child_by_field_name("name")
    types = called.child_by_field_name("arguments") if called and called.type == "template_function" else None
    return Launch(
        where=f"{function.path.name}:{call.node.start_point[0] + 1}",
        grid=resolver.dimensions(grid, scope),
        block=resolver.dimensions(block, scope),
        shared=resolver.resolve(shared, scope),
        template=tuple(_template_argument(c) for c in types.named_children if c.type != "comment") if types else (),
        arguments=tuple(resolver.resolve(t, scope) for t in call.arguments),
        memory=tuple(memories.find(t, scope) for t in call.arguments),
        scope=scope,
    )


def _template_argument(node: tree_sitter.Node) -> str | Term:
    """A type as text, a value or a name as a term."""
    words = text_of(node)
    if re.fullmatch(r"[A-Za-z_]\w*", words) and words not in ("true", "false"):
        return terms.name(words)
    term = read(node)
    return words if term == UNKNOWN else term
