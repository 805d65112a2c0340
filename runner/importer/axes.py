"""The axes of a store, their lengths, and whether elements are numbered in the order of their axes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from runner.importer import terms
from runner.importer.symbols import Unclear
from runner.importer.term_text import yaml_text
from runner.importer.terms import Term

Lengths = Mapping[Term, Term]


@dataclass(frozen=True)
class Geometry:
    """The launch and the arrays, in terms of the YAML's names."""

    block: tuple[Term, ...]  # the block's lengths: `block`, or `block_x`, `block_y`, ...
    grid: tuple[Term, ...]
    elements: Mapping[str, Term]  # of arrays whose allocation the file has

    def launched(self, axis: str) -> tuple[Term, str]:
        """The number of threads or blocks along an axis, and the constraint under which it is right."""
        place = "xyz".find(axis[-1])
        if place < 0 or not self.block or not self.grid:
            raise Unclear("the launch is not known")
        block = self.block[place] if place < len(self.block) else terms.number(1)
        grid = self.grid[place] if place < len(self.grid) else terms.number(1)
        if axis[0] in "tb":
            return block if axis[0] == "t" else grid, ""
        match grid:
            case ("//", count, divisor) | ("call", "ceil_div", count, divisor) if terms.same(divisor, block):
                is_known = terms.value(count) is not None and terms.value(block) is not None
                text = say(count)
                text = text if text.replace("_", "").isalnum() else f"({text})"
                return count, "" if is_known else f"{text} % {say(block)} == 0"
        return terms.simplified(("*", grid, block)), ""


def say(term: Term) -> str:
    """An expression over parameters. Raises Unclear if the YAML's language cannot say it."""
    try:
        return yaml_text(terms.replaced(terms.simplified(term), _without_ceil_div))
    except ValueError as e:
        raise Unclear(str(e)) from None


def _without_ceil_div(term: Term) -> Term | None:
    """`ceil_div(a, b)`, which references lack, as `-(-a // b)`."""
    if term[:2] != ("call", "ceil_div"):
        return None
    above, below = (terms.replaced(t, _without_ceil_div) for t in term[2:])
    return ("negative", ("//", ("negative", above), below))


def axes_in(parts: Collection[Term]) -> set[Term]:
    """All axes that terms mention."""
    return {t for part in parts for t in terms.leaves(part) if t[0] == "axis"}


def free(term: Term) -> set[Term]:
    """The axes that a value depends on, without those that it is summed over."""
    if term[0] == "axis":
        return {term}
    inner = {a for each in term[1:] if isinstance(each, tuple) for a in free(each)}
    return inner - {term[2]} if term[0] == "reduce" else inner


def guarded(conditions: Sequence[Term], extents: Lengths) -> tuple[dict[Term, Term], list[Term]]:
    """The lengths that guards such as `i < n` give the threads' axes, and the conditions that are left."""
    lengths, left = dict(extents), []
    for each in conditions:
        axis, length = _bound(each)
        if axis is None or (axis in lengths and not equal(lengths[axis], length)):
            left.append(each)
        else:
            lengths[axis] = length
    return lengths, left


def _bound(condition: Term) -> tuple[Term | None, Term]:
    """The axis and its length of a condition such as `i < n` or `i <= n - 1`."""
    match condition:
        case (("<" | "<=") as operator, left, right) | ((">" | ">=") as operator, right, left):
            sums = terms.polynomial(("-", right, left))
            sums[()] = sums.get((), 0) + (operator in ("<=", ">="))
            placed = [atoms for atoms in sums if any(t[0] in ("axis", "load") for a in atoms for t in terms.leaves(a))]
            if len(placed) == 1 and sums[placed[0]] == -1 and [a[0] for a in placed[0]] == ["axis"]:
                return placed[0][0], terms.term_of({a: f for a, f in sums.items() if f and a != placed[0]})
    return None, terms.UNKNOWN


def row_major(place: Term, lengths: Lengths) -> tuple[list[Term], Term]:
    """The axes of an element's number, outermost first, and their product. Raises Unclear for another order."""
    rest = terms.polynomial(place)
    order: list[Term] = []
    total: Term = terms.number(1)
    while rest:
        inside = (a for atoms in rest for a in atoms if a[0] == "axis" and a not in order)
        axis = next((a for a in inside if equal(_stride(rest, a), total)), None)
        if axis is None:
            raise Unclear("the elements that it stores to are not in order")
        rest = {atoms: factor for atoms, factor in rest.items() if axis not in atoms}
        order.insert(0, axis)
        total = lengths[axis] if terms.value(total) == 1 else ("*", lengths[axis], total)
    return order, total


def _stride(sums: terms.Polynomial, axis: Term) -> Term:
    """What an axis is multiplied by, such as `n + 2` in `i * n + 2 * i + j`."""
    own: terms.Polynomial = {}
    for atoms, factor in sums.items():
        if axis in atoms:
            rest = list(atoms)
            rest.remove(axis)
            own[tuple(rest)] = factor
    return terms.term_of(own)


def equal(left: Term, right: Term) -> bool:
    """Whether two lengths are equal where grids divide without a rest, as a constraint of the YAML says."""
    pairs = ((f(left), f(right)) for f in (lambda t: t, terms.simplified, _undivided))
    return any(terms.same(a, b) for a, b in pairs)


def _undivided(term: Term) -> Term:
    """A term in which `a // b * b` is `a`."""
    result: Term = terms.number(0)
    for atoms, factor in terms.polynomial(term).items():
        left = list(atoms)
        product: Term = terms.number(factor)
        for atom in atoms:
            if atom[0] == "//" and atom[2] in left and atom in left:
                left.remove(atom)
                left.remove(atom[2])
                product = ("*", product, atom[1])
        for atom in left:
            product = ("*", product, atom)
        result = ("+", result, product)
    return result
