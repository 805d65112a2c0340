"""Format a kernel's YAML from the facts found, with `???` for what only the author knows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from runner.device.syntax import text_of
from runner.importer import launch_lines
from runner.importer.description import LEAST_LENGTH, OBJECTS, QUOTED, Description
from runner.importer.facts import Facts, plain_type
from runner.importer.launch_lines import plain_or_quoted, yaml_list
from runner.importer.launched import whole_divisions
from runner.importer.lengths import choose_lengths, unguarded
from runner.importer.naming import SPECIAL, argument_name
from runner.importer.resolve import Resolver
from runner.importer.structures import POINTER, Structure, Structures
from runner.importer.term_text import said
from runner.importer.terms import name as named
from runner.importer.tuning import Tuning
from runner.kernel.from_yaml import BLANK

_HALVES = ("bfloat16", "float16")
_HALF_SUMS = re.compile(r"\b__h(add|mul|fma|sub)2?\b|\bhadd\b")
_ASK = "reference:  # the expected outputs, as expressions over the arrays, or a Python function: module.function"
_INDICES = re.compile(r"\{range: \[0, (\d+)\]\}")
_DOUBTS = {
    "out": "; or inout, if the kernel leaves some elements unchanged",
    "inout": "; or in, if the kernel only reads it; or out, if no earlier content is read",
}


def format_yaml(facts: Facts, folder: Path, tuning: Tuning, resolver: Resolver, *, overloads: bool) -> str:
    """Format the YAML of a kernel. Its paths are relative to `folder`.

    `resolver` has the kernel's file and those that it includes; `overloads`: they have several kernels of this name.
    """
    d = Description(facts, tuning, resolver)
    d.read_launch()
    block, grid = launch_lines.launch(d)
    function = launch_lines.function(d) + (_types(d) if overloads else "")
    d.find_reference()
    macros, arguments = list(launch_lines.macros(d)), list(_arguments(d))
    constraints = _constraints(d)
    choose_lengths(d)
    kernel = facts.kernel
    is_default = function == kernel.name.rpartition("::")[2] == kernel.name
    including = f"  # or {' or '.join(facts.includers)}, which includes it" if facts.includers else ""
    include = [os.path.relpath(path, folder.resolve()) for path in facts.source.include]
    lines = [
        f"# Fill in each {BLANK}, and check each comment with a question. docs/kernel-yaml.md explains every key.",
        *(f"# Launched in the file as {launch}" for launch in facts.launches),
        f"source: {plain_or_quoted(os.path.relpath(facts.source.path, folder))}{including}",
        f"include: [{', '.join(map(plain_or_quoted, include))}]" if include else "",
        "" if is_default else f"function: {function}",
        'summary: ""',
        "parameters:",
        f"  block: {block}",
        *(parameter.line(name) for name, parameter in d.parameters.by_name.items()),
        f"macros: [{', '.join(macros)}]" if macros else "",
        "structs:" if d.structures else "",
        *(structure.line for structure in d.structures.values()),
        "arguments:" if arguments else "arguments: []",
        *arguments,
        *_compute(d, arguments),
        f"grid: {grid}",
        *launch_lines.shared(d),
        "constraints:" if constraints else "",
        *(f'  "{text}": {reason}' for text, reason in constraints.items()),
        *_reference_lines(d),
    ]
    return "\n".join(filter(None, lines)) + "\n"


def _types(d: Description) -> str:
    """The types of the kernel's parameters, which tell overloads apart."""
    types = ", ".join(p.type + "*" * p.pointers for p in d.facts.kernel.parameters)
    types = re.sub(r"\w+", lambda word: "dtype" if word.group() in d.typenames else word.group(), types)
    return f"({types})"


def _constraints(d: Description) -> dict[str, str]:
    found = {d.expression(text): "a restriction of the tuning script" for text in d.tuning.restrictions}
    found |= d.reference.constraints if d.reference else {}
    if d.host is not None:
        found |= whole_divisions(d.grid)
        found |= {} if d.answer.is_own else unguarded(d)
    return found


def _compute(d: Description, arguments: Sequence[str]) -> Iterator[str]:
    """The line `compute` of a kernel with half types: in float32, unless it calls half's own arithmetic."""
    half = next((h for h in _HALVES if any(f"dtype: {h}," in line for line in arguments)), "")
    if half and _HALF_SUMS.search(text_of(d.facts.kernel.node)):
        yield f"compute: {half}  # it calls the arithmetic of half types"
    elif half:
        yield f"compute: float32  # or {half}, if the kernel also adds in {half}"


def _arguments(d: Description) -> Iterator[str]:
    """The lines of `arguments`. Adds a parameter for each scalar of unknown value that is not a float."""
    for position, p in enumerate(d.facts.kernel.parameters):
        if p.type == "void" and not p.pointers:
            continue  # `kernel(void)`
        kind, name = plain_type(p.type), argument_name(position, p.name)
        note = f"  # {p.type} {'*' * p.pointers}{p.name}"
        if p.pointers:
            yield (
                _array(d, position, name, kind, p.pointers)
                if not d.is_null(position)
                else (f"  - {{name: {name}, pointer: null}}{note}")
            )
        elif kind in OBJECTS:
            shape = "[rows, cols]" if d.facts.dimensions > 1 else "size"
            content = f"dtype: float32, shape: {shape}, fill: random"
            yield f"  - {{name: {p.name}, {OBJECTS[kind]}, {content}}}{note}; does it hold float32?"
        else:
            dtype = d.dtype(kind)
            if kind in d.structures:
                value = _value(d.structures[kind], name, d.structures)
                yield f"  - {{name: {name}, scalar: {kind}, value: {value}}}{note}"
                continue
            text = _scalar(d, position, name, dtype)
            own = name + "_" * ((name in d.parameters.by_name and text != name) or name in SPECIAL)
            yield f"  - {{name: {own}, scalar: {dtype}, value: {text}}}{note}"
    for name, role, dtype in d.behind():
        content = f"role: {role}, dtype: {dtype if dtype != BLANK else QUOTED}, shape: {QUOTED}, fill: random"
        yield f"  - {{name: {name}, {content}, passed: false}}  # behind a pointer of a structure"
    for c in d.facts.constants:
        shape = yaml_list(_constant_length(d, text) for text in c.shape) if c.shape else "1"
        content = f"dtype: {d.dtype(c.type)}, shape: {shape}, fill: random, constant: true"
        yield f"  - {{name: {c.name}, role: in, {content}}}"


def _value(structure: Structure, name: str, structures: Structures) -> str:
    """The value of a structure that is passed: the arrays behind its pointers, and blanks."""
    values = []
    for member in structure.members:
        inner = structures.get(member.type)
        if member.type == POINTER:
            text = f"{name}_{member.name}" if member.length == 1 else "null"
        else:
            text = QUOTED if inner is None else _value(inner, f"{name}_{member.name}", structures)
        values.append(f"{member.name}: {text}")
    return f"{{{', '.join(values)}}}"


def _constant_length(d: Description, text: str) -> str:
    """The length of a constant array: the number that the file defines, else the name of a macro's parameter."""
    known = d.resolver.constant(named(text))
    return str(known) if known is not None else d.expression(text)


def _scalar(d: Description, position: int, name: str, dtype: str) -> str:
    """The value of a scalar argument."""
    value = d.tuning.scalars.get(position)
    if value is None and (text := said(d.values.get(position))):
        return plain_or_quoted(text)
    if length := d.length(name, value):
        return length
    if value is not None:
        return str(value)
    return (
        QUOTED if dtype.startswith(("float", "bfloat")) else d.parameters.add(name, BLANK, note=f"the argument {name}")
    )


def _array(d: Description, position: int, name: str, kind: str, pointers: int) -> str:
    """The line of a pointer."""
    p = d.facts.kernel.parameters[position]
    dtype, role, memory = d.dtype(kind), d.role(position, name), d.memory(position)
    is_whole, is_read = dtype.startswith(("int", "uint")), d.is_read(name)
    fill = memory.fill if memory else ""
    fill = fill or ("zeros" if role == "inout" and is_read is False else "")
    fill = _within(d, re.sub(r"(\d+)\.\d+", r"\1", fill)) if is_whole else fill
    content = f", fill: {fill or 'random'}" if role != "out" else ""
    doubt = "" if is_read is not None else _DOUBTS.get(role, "")
    if role == "in" and is_whole and not fill:
        doubt = "; {range: [0, end]}, if these are indices"
    shape, where = _shape(d, name), f", {memory.where}" if memory and memory.where else ""
    if shape not in ("size", QUOTED) and name not in d.sizes:
        doubt += "; of this length?"
    if pointers == 2:  # the length of each part is guessed, their number is not
        shape, content = f"[{QUOTED}, {shape}]", f"{content}, pointers: true"
        doubt = f"; or {{name: {name}, pointers: [first, second]}} of arrays with different lengths"
    elif pointers > 2:
        dtype, doubt = QUOTED, "; an array of arrays of pointers is not supported"
    note = f"  # {p.type} {'*' * p.pointers}{p.name}{where}{doubt}"
    return f"  - {{name: {name}, role: {role}, dtype: {dtype}, shape: {shape}{content}}}{note}"


def _within(d: Description, fill: str) -> str:
    """A fill of indices that ends at a length of the problem: with its name, since the default may become smaller."""
    if not (end := _INDICES.fullmatch(fill)) or int(end[1]) < LEAST_LENGTH:
        return fill
    lengths = [name for name, p in d.parameters.by_name.items() if p.default == int(end[1])]
    return f"{{range: [0, {lengths[0]}]}}" if len(lengths) == 1 else fill


def _shape(d: Description, name: str) -> str:
    """The shape of an array: as the reference uses it, else its number of elements."""
    if d.host is None and d.reference is None:
        return "size"
    shape = d.reference.shapes.get(name, ()) if d.reference else ()
    if len(shape) > 1:
        return f"[{', '.join(map(plain_or_quoted, shape))}]"
    text = said(d.sizes[name]) if name in d.sizes else d.only_length()
    return plain_or_quoted(text) if text else QUOTED


def _reference_lines(d: Description) -> Iterator[str]:
    outputs = d.outputs()
    if not outputs and not d.facts.writes_globals and not d.hides_output:
        yield "no_output: it writes to none of its arguments"
        return
    found = d.reference.expressions if d.reference else {}
    if found and set(outputs) <= set(found):
        yield f"reference:  # {d.answer.note}"
    else:
        yield _ASK + (f"; not read: {d.answer.note}" if d.answer.note else "")
    for name in outputs or ["output"]:
        yield f"  {name}: {_scalar_text(found[name]) if name in found else BLANK}"


def _scalar_text(text: str) -> str:
    """A YAML scalar; in quotes if YAML would read the text as something else."""
    return f'"{text}"' if text[0] in "!&*{}[],#|>@`\"'%?-" or ": " in text or " #" in text else text
