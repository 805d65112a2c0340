"""Defaults for the lengths of a problem, and what the kernel needs of them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

import tree_sitter

from runner.device.syntax import descendants, text_of
from runner.importer import terms
from runner.importer.description import Description
from runner.importer.launched import Launched
from runner.importer.read_term import read
from runner.importer.term_text import OPERAND, number_text, said
from runner.importer.terms import Term
from runner.importer.tuning import AXES

MAX_ELEMENTS = 1 << 21  # of all arrays, so that the first run takes seconds on the CPU device
MAX_WORK = 1 << 25  # threads, each with a loop over the largest length, likewise
FEW = 256
OPENED = {1: 1 << 16, 2: FEW, 3: 64}  # lengths that the file leaves open, by their number; more have 32 each
_TESTING = frozenset("if_statement conditional_expression while_statement".split())


def unguarded(d: Description) -> dict[str, str]:
    """Constraints for lengths that no condition of the kernel tests: whole blocks and whole tiles only."""
    nodes = list(descendants(d.facts.kernel.node))
    conditions = (text_of(n.child_by_field_name("condition")) for n in nodes if n.type in _TESTING)
    tested = set(re.findall(r"\w+", " ".join(conditions)))
    loops = [n for n in nodes if n.type == "for_statement"]
    found: dict[str, str] = {}
    for position, p in enumerate(d.facts.kernel.parameters):
        value = d.values.get(position, terms.UNKNOWN)
        if value[0] == "name" and p.name not in tested:
            for part in (t for each in d.grid if each is not None for t in terms.leaves(each)):
                if part[:2] == ("call", "ceil_div") and part[2] == value and (divisor := said(part[3], OPERAND)):
                    found[f"{value[1]} % {divisor} == 0"] = f"whole blocks only, as the kernel does not test {p.name}?"
            for divisor in _strides(d, loops, p.name):
                found[f"{value[1]} % {divisor} == 0"] = f"whole tiles only, as the kernel does not test {p.name}?"
    return found


def _strides(d: Description, loops: list[tree_sitter.Node], name: str) -> Iterator[str]:
    """The strides of loops that end at a length."""
    for loop in loops:
        step, condition = loop.child_by_field_name("update"), text_of(loop.child_by_field_name("condition"))
        is_stride = step is not None and text_of(step.child_by_field_name("operator")) == "+="
        if step is not None and is_stride and name in re.findall(r"\w+", condition):
            right = step.child_by_field_name("right")
            length = d.template.get(text_of(right)) or terms.numbers(d.resolver.resolve(read(right), None))
            if divisor := said(length, OPERAND):
                yield divisor


def choose_lengths(d: Description) -> None:
    """Choose lengths that the file leaves open, and make a large problem smaller, with a comment."""
    if d.host is None:
        return
    parts = [*d.sizes.values(), *(part for part in d.grid if part is not None)]
    of_types = {own for (name, _), own in d.host.names.items() if "::" in name}  # such as `Pack::size`: no length
    lengths = {t[1] for part in parts for t in terms.leaves(part) if t[0] == "name"} - of_types
    unknown = {name: where for name, where in d.host.unknown.items() if name not in of_types}
    opened = [name for name in unknown if name in lengths]
    length = OPENED.get(len(opened), 32)
    whole = math.lcm(math.prod(d.host.sizes), 64) if len(opened) == 1 else math.lcm(*d.host.sizes, 64)
    unit = whole if len(opened) <= 2 else length  # many lengths are multiplied, so each must be small
    for name, where in unknown.items():
        parameter = d.parameters.by_name[name]
        if name in lengths:
            parameter.default = -(-length // unit) * unit
            parameter.note = f"any length; the program reads it when it runs{f', {where}' if where else ''}"
        elif d.tells(name):
            parameter.default = 1
            parameter.note += "; any value?"
    parameters = d.parameters.by_name
    written = {n: p.default for n, p in parameters.items() if isinstance(p.default, int) and n in lengths}
    for name, value in _smaller(d, d.host, written).items():
        if value != written[name]:
            first, was = parameters[name].note.partition(";")[0], number_text(written[name])
            parameters[name].default = value
            parameters[name].note = f"{first}, where it is {was}; smaller, so that the CPU device takes seconds"


def _smaller(d: Description, host: Launched, written: Mapping[str, int]) -> dict[str, int]:
    """Lengths of a problem that the CPU device runs in seconds: the largest is halved until it is small enough."""
    known = dict(written)
    whole = host.sizes if len(host.sizes) > 1 or len(known) > 1 else (math.prod(host.sizes),)
    while known and _cost(d, host, known) > 1:
        name = max(known, key=lambda n: known[n])
        unit = math.lcm(math.gcd(written[name], 128), *(s for s in whole if written[name] % s == 0))
        smaller = max(known[name] // 2 // unit, 1) * unit  # it divides as the file's length does
        if known[name] <= FEW // 4 or smaller >= known[name]:
            break
        known[name] = smaller
    return known


def _cost(d: Description, host: Launched, known: Mapping[str, int]) -> float:
    """How much larger the problem is than the CPU device runs in seconds."""
    block = {f"block_{axis}": length for axis, length in zip(AXES, host.sizes, strict=False)}
    bound = {**known, **block, "block": math.prod(host.sizes)}

    def number(term: Term) -> float:
        bind = terms.replaced(term, lambda t: terms.number(bound[t[1]]) if t[0] == "name" and t[1] in bound else None)
        return float(terms.value(bind) or 0)

    threads = math.prod(number(part) or 1 for part in d.grid if part is not None) * bound["block"]
    several = any(sum(t[0] == "name" for t in terms.leaves(size)) > 1 for size in d.sizes.values())
    work = threads * max(known.values(), default=1) if several else threads
    return max(sum(map(number, d.sizes.values())) / MAX_ELEMENTS, threads / MAX_ELEMENTS, work / MAX_WORK)
