"""A launch in the terms of a YAML: the program's constants become parameters, and its block the parameter `block`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from runner.importer import terms
from runner.importer.launch import Launch
from runner.importer.term_text import OPERAND, said
from runner.importer.terms import Term

USUAL = (256,)  # threads, where the file leaves the block open
_BLOCK_NAME = re.compile(r"(?i).*(block|blk|thr|tpb|tile|wg|work_?group|bdim).*|bs|b")
_FREE = ("number", "name", "+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^", "cast", "call", "negative")

Add = Callable[[str, Any, str], str]  # adds a parameter of a name, with a default and a comment; returns its name


@dataclass
class Launched:
    """A launch whose block is known, or of one axis."""

    launch: Launch
    words: Collection[str]  # names that the kernel mentions: their constants stay in the source
    add: Add
    sizes: tuple[int, ...]  # of the block
    is_known: bool = True  # whether the file tells them
    names: dict[tuple[str, str], str] = field(default_factory=dict)  # parameters, by the program's constants
    unknown: dict[str, str] = field(default_factory=dict)  # parameters whose value the file lacks, and where it is

    @property
    def block(self) -> tuple[Term, ...]:
        """The block's lengths, by the YAML's names."""
        if len(self.sizes) == 1:
            return (terms.name("block"),)
        return tuple(terms.name(f"block_{axis}") for axis in "xyz"[: len(self.sizes)])

    @property
    def is_fixed(self) -> bool:
        """Whether the kernel is compiled for this block: it mentions a constant that the block is made of."""
        return any(
            t[0] == "constant" and t[4] and t[1] in self.words for part in self.launch.block for t in terms.leaves(part)
        )

    def term(self, term: Term) -> Term | None:
        """A resolved term with the YAML's names; `None` if the file leaves it open."""
        changed = terms.replaced(term, self._constant)
        changed = terms.replaced(changed, lambda t: t[2] if t[0] == "cast" and not terms.is_real_type(t[1]) else None)
        changed = terms.replaced(changed, _power)
        if any(
            t[0] not in _FREE or (t[0] == "call" and t[1] not in ("ceil_div", "min", "max"))
            for t in terms.leaves(changed)
        ):
            return None
        return terms.simplified(changed)

    def _constant(self, term: Term) -> Term | None:
        if term[0] != "constant":
            return None
        _, name, value, where, is_global = term
        if value is None and (term,) == self.launch.block:
            return self.block[0]
        if value in self.sizes and isinstance(value, int) and _BLOCK_NAME.fullmatch(name):
            return self.block[self.sizes.index(value)]
        if is_global and name in self.words and value is not None:
            return terms.number(value)
        key = (name, where)
        if key not in self.names:
            default = "???" if value is None else value
            self.names[key] = self.add(name, default, f"{name} in {where}" if where else "")
            if value is None:
                self.unknown[self.names[key]] = where
        return terms.name(self.names[key])

    def grid(self) -> list[Term | None]:
        """The blocks along each axis; a divisor that is the block's length is the parameter."""
        parts = list(self.launch.grid)
        while len(parts) > 1 and terms.value(parts[-1]) == 1:
            parts.pop()
        result = []
        for axis, part in enumerate(parts):
            term = self.term(part)
            if term is not None and terms.value(term) == 0:
                term = None  # what the program computes when it runs
            if term is not None and axis < len(self.sizes):
                term = self._by_block(term, axis)
            result.append(term)
        return result

    def _by_block(self, term: Term, axis: int) -> Term:
        def change(t: Term) -> Term | None:
            match t:
                case (("//" | "/"), above, ("number", size)) if size == self.sizes[axis] > 1:
                    return ("//", above, self.block[axis])
                case ("call", "ceil_div", above, ("number", size)) if size == self.sizes[axis] > 1:
                    return ("call", "ceil_div", above, self.block[axis])
            return None

        return terms.replaced(term, change)


def _power(term: Term) -> Term | None:
    is_power = term[0] == "call" and len(term) == 4 and term[1].removeprefix("std::") in ("pow", "powf")
    return ("**", *term[2:]) if is_power else None


def whole_divisions(grid: Iterable[Term | None]) -> dict[str, str]:
    """Constraints for divisions that a grid rounds down: without them the last elements would have no thread."""
    found = {}
    for each in (t for part in grid if part is not None for t in terms.leaves(part)):
        match each:
            case ("//", above, below) if any(t[0] == "name" for t in terms.leaves(above)):
                if said(each):
                    found[f"{said(above, 10)} % {said(below, OPERAND)} == 0"] = "the grid has no block for a rest"
    return found
