"""Format a kernel's YAML from the facts found, with `???` for what only the author knows."""

from __future__ import annotations

import keyword
import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner.columns import RESERVED
from runner.importer.found import Found, plain_type
from runner.importer.tuning import AXES, Tuning
from runner.kernel.arrays import DTYPE_ALIASES, DTYPES
from runner.kernel.expression import FUNCTIONS
from runner.kernel.from_yaml import BLANK

_C_TYPES = {d.c_name: d.name for d in DTYPES.values()} | DTYPE_ALIASES | {
    "unsigned int": "uint32", "uint32_t": "uint32", "int32_t": "int32", "size_t": "uint64", "uint64_t": "uint64",
    "int8_t": "int8", "uint8_t": "uint8", "int16_t": "int16", "uint16_t": "uint16", "int64_t": "int64",
    "__nv_fp8_storage_t": "uint8", "long": "int64", "unsigned long": "uint64", "unsigned long long int": "uint64",
    "__nv_bfloat16": "bfloat16", "nv_bfloat16": "bfloat16", "long long int": "int64", "unsigned long int": "uint64",
    "char": "int8",
}  # fmt: skip
_OBJECTS = {"cudaTextureObject_t": "role: in, texture: {}", "cudaSurfaceObject_t": "role: inout, surface: true"}
_QUOTED = f'"{BLANK}"'  # quoted within braces, where YAML gives `?` a meaning
_AXES = dict.fromkeys(("w", "width", "cols", "columns", "nx"), "cols") | dict.fromkeys(
    ("h", "height", "rows", "ny"), "rows"
)
_LENGTH = re.compile("(num_|n_)?(n|size|len|length|count|num|numel|elements|items|parameters|total)")
_BLOCK = re.compile(r"(?i)(k\d*_)?block_?(size|dim)?(_x)?|(num_|n_)?threads(_per_block)?")


@dataclass
class _Parameters:
    """Collects the parameters of the YAML: each a default, with the allowed values if known."""

    lines: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, default: Any, allowed: Sequence[Any] = (), note: str = "") -> str:
        """Add a parameter unless it exists; returns its name in the YAML."""
        plain = re.sub(r"\W+", "_", name).lower().lstrip("_0123456789") or "value"
        if plain in RESERVED or plain in FUNCTIONS or keyword.iskeyword(plain):
            plain += "_"
        value = f"{{default: {default}, allowed: [{', '.join(map(str, allowed))}]}}" if allowed else str(default)
        self.lines.setdefault(plain, f"  {plain}: {value}{f'  # {note}' if note else ''}")
        return plain


def written(found: Found, folder: Path, tuning: Tuning | None, *, overloads: bool) -> str:
    """Format the YAML of a kernel.

    Args:
        found: The kernel.
        folder: The folder of the YAML, to which its paths are relative.
        tuning: The declarations of a tuning script or T1 file, if there is one.
        overloads: Whether the file has several kernels of this name.
    """
    parameters = _Parameters()
    block, grid = _launch(found, tuning, parameters)
    function = _function(found, parameters)
    if overloads:
        types = ", ".join(p.type + "*" * p.pointers for p in found.kernel.parameters)
        typenames = {t.split()[1] for t in found.kernel.template if re.match(r"(typename|class)\s+\w", t)}
        types = re.sub(r"\w+", lambda word: "dtype" if word.group() in typenames else word.group(), types)
        function += f"({types})"
    including = f"  # or {' or '.join(found.includers)}, which includes it" if found.includers else ""
    include = [os.path.relpath(path, folder.resolve()) for path in found.source.include]
    macros = list(_macros(found, tuning, parameters))
    arguments = list(_arguments(found, tuning, parameters))
    pointers = [(i, p.name) for i, p in enumerate(found.kernel.parameters) if p.pointers]
    outputs = [name for i, name in pointers if _role(found, tuning, i, name) != "in"]
    outputs += [p.name for p in found.kernel.parameters if p.type.split()[-1] == "cudaSurfaceObject_t"]
    lines = [
        f"# Fill in each {BLANK}, and check each comment with a question. docs/kernel-yaml.md explains every key.",
        *(f"# Launched in the file as {launch}" for launch in found.launches),
        f"source: {os.path.relpath(found.source.path, folder)}{including}",
        f"include: [{', '.join(include)}]" if include else "",
        f"function: {function}"
        if overloads or function != found.kernel.name.rpartition("::")[2] or "::" in found.kernel.name
        else "",
        'summary: ""',
        "parameters:",
        f"  block: {block}",
        *parameters.lines.values(),
        f"macros: [{', '.join(macros)}]" if macros else "",
        "arguments:",
        *arguments,
        *(
            f"# compute: {half}  # if the kernel also adds in {half}; otherwise sums are expected in float32"
            for half in ("bfloat16", "float16")
            if any(f"dtype: {half}," in line for line in arguments)
        ),
        f"grid: {grid}  # as many blocks as are launched?",
        *(f"shared: {_bytes(s.type)} * block  # bytes of {s.type} {s.name}[]: as many?" for s in found.shared[:1]),
        *_constraints(tuning),
        "reference:  # the expected outputs, as expressions over the arrays, or a Python function: module.function",
        *(f"  {name}: {BLANK}" for name in outputs or ["output"]),
    ]
    return "\n".join(line for line in lines if line) + "\n"


def _launch(found: Found, tuning: Tuning | None, parameters: _Parameters) -> tuple[str, str]:
    """The values of `block` and `grid`. Adds the parameter `size`."""
    dimensions = max(found.dimensions, len(tuning.block) if tuning else 0, len(tuning.size) if tuning else 0)
    if tuning and tuning.size:
        parameters.add("size", "x".join(map(str, reversed(tuning.size[:2]))))
    else:
        parameters.add("size", "1024x1024" if dimensions > 1 else "1Mi", note="of the problem")
    if tuning and tuning.block:
        axes = [list(tuning.values[name]) for name in tuning.block[:2]]
        first = [tuning.defaults.get(name, values[0]) for name, values in zip(tuning.block, axes, strict=False)]
        default = "x".join(map(str, first))
        allowed = [str(x) for x in axes[0]] if len(axes) == 1 else [f"{x}x{y}" for x in axes[0] for y in axes[1]]
        allowed = [b for b in allowed if math.prod(map(int, b.split("x"))) <= 1024]
        block = f"{{default: {default}, allowed: [{', '.join(allowed)}]}}"
    else:
        block = ("256", "16x16", "8x8x4")[dimensions - 1]
    lengths = ("cols", "rows") if dimensions > 1 else ("size",)
    parts = []
    for axis, length in enumerate(lengths):
        own = f"block_{AXES[axis]}" if dimensions > 1 else "block"
        divisors = tuning.divisors[axis] if tuning and len(tuning.divisors) > axis else ()
        named = [_in_expressions(d, tuning) for d in divisors] or [own]
        parts.append(f"ceil_div({length}, {' * '.join(named)})")
    if not tuning:
        parts += [BLANK] * (found.grid - len(parts))
    return block, parts[0] if len(parts) == 1 else _listed(parts)


def _listed(expressions: Iterable[str]) -> str:
    return "[" + ", ".join(f'"{e}"' for e in expressions) + "]"


def _function(found: Found, parameters: _Parameters) -> str:
    """The value of `function`. Adds a parameter for each template argument."""
    given = []
    for text in found.kernel.template:
        declared, _, default = (part.strip() for part in text.partition("="))
        name = (re.findall(r"\w+", declared) or ["value"])[-1]
        if re.match(r"(typename|class)\b", declared):
            given.append(parameters.add("dtype", "float32"))
        elif _BLOCK.fullmatch(name) and found.dimensions == 1:
            given.append("block")
        else:
            given.append(parameters.add(name, default or BLANK, note=f"template argument {text}"))
    return f"{found.kernel.name}<{', '.join(given)}>" if given else found.kernel.name


def _macros(found: Found, tuning: Tuning | None, parameters: _Parameters) -> Iterator[str]:
    values = tuning.values if tuning else {}
    for name, listed in values.items():
        if tuning and name in tuning.block:
            yield f"{{{name}: {_in_expressions(name, tuning)}}}"
            continue
        own = parameters.add(name, tuning.defaults.get(name, listed[0]) if tuning else listed[0], listed)
        yield name if own == name.lower() else f"{{{name}: {own}}}"
    for name in found.macros:
        if name in values:
            continue
        if name in ("SCALAR", "TYPE", "DTYPE", "T"):
            parameters.add("dtype", "float32")
            yield "SCALAR" if name == "SCALAR" else f"{{{name}: dtype}}"
        elif _BLOCK.fullmatch(name):
            yield f"{{{name}: block}}" if found.dimensions == 1 else f"{{{name}: block_x}}"
        else:
            own = parameters.add(name, BLANK, note=f"nothing in the file declares {name}")
            yield name if own == name.lower() else f"{{{name}: {own}}}"


def _arguments(found: Found, tuning: Tuning | None, parameters: _Parameters) -> Iterator[str]:
    for position, p in enumerate(found.kernel.parameters):
        kind, name = plain_type(p.type), p.name or f"argument{position}"
        name += "_" * (keyword.iskeyword(name) and name != "in")  # a keyword cannot be used in an expression
        note = f"  # {p.type} {'*' * p.pointers}{p.name}"
        if p.pointers:
            role, (dtype, shape) = _role(found, tuning, position, p.name), _array(kind, found, parameters)
            content = ", fill: random" if role != "out" else ""
            doubt = {
                "out": "; or inout, if it keeps elements",
                "inout": "; or in, if it only reads, or out, if it reads nothing from before",
            }.get(role, "")
            doubt = doubt or "; {range: [0, end]}, if these are indices" * dtype.startswith(("int", "uint"))
            if p.pointers > 1:  # its elements are addresses, which cannot be filled
                dtype, doubt = _QUOTED, "; no array of an argument can hold pointers"
            yield f"  - {{name: {name}, role: {role}, dtype: {dtype}, shape: {shape}{content}}}{note}{doubt}"
            continue
        if kind in _OBJECTS:
            shape = "[rows, cols]" if found.dimensions > 1 else "size"
            content = f"dtype: float32, shape: {shape}, fill: random"
            yield f"  - {{name: {p.name}, {_OBJECTS[kind]}, {content}}}{note}; of float32?"
            continue
        dtype, _ = _array(kind, found, parameters)
        given = tuning.scalars.get(position) if tuning else None
        if length := _length(found, tuning, p.name, given):
            value: Any = length
        elif given is not None:
            value = given
        elif dtype.startswith(("float", "bfloat")):
            value = _QUOTED
        else:
            value = parameters.add(name, BLANK, note=f"the argument {name}")
        yield f"  - {{name: {name}, scalar: {dtype}, value: {value}}}{note}"
    for c in found.constants:
        dtype, _ = _array(c.type, found, parameters)
        shape = _listed(_in_expressions(s, tuning) for s in c.shape) if c.shape else "1"
        yield f"  - {{name: {c.name}, role: in, dtype: {dtype}, shape: {shape}, fill: random, constant: true}}"


def _length(found: Found, tuning: Tuning | None, name: str, given: float | None) -> str:
    """The expression of a scalar that is a length of the problem, such as `size` or `cols`; empty for other scalars."""
    size, word = tuning.size if tuning else (), name.lower()
    if given is not None and given not in size:
        return ""
    if max(found.dimensions, len(size)) == 1:
        return "size" if _LENGTH.fullmatch(word) or given is not None else ""
    if word in _AXES:
        return _AXES[word]
    return ("cols", "rows", "")[size.index(int(given))] if given is not None else ""


def _role(found: Found, tuning: Tuning | None, position: int, name: str) -> str:
    return (tuning.roles.get(position) if tuning else None) or found.roles[name]


def _array(kind: str, found: Found, parameters: _Parameters) -> tuple[str, str]:
    """The dtype and the shape of an array of a C++ type."""
    kind = found.types.get(kind, kind)
    if kind in _C_TYPES:
        return _C_TYPES[kind], "size"
    template = {(re.findall(r"\w+", t.partition("=")[0]) or [""])[-1] for t in found.kernel.template}
    if kind in template or kind in ("SCALAR", "TYPE", "DTYPE", "T"):
        return parameters.add("dtype", "float32"), "size"
    return _QUOTED, "size"


def _bytes(kind: str) -> int | str:
    name = _C_TYPES.get(kind)
    return DTYPES[name].itemsize if name else 1 if kind.endswith("char") else "itemsize(dtype)"


def _constraints(tuning: Tuning | None) -> Iterator[str]:
    if tuning and tuning.restrictions:
        yield "constraints:"
        for restriction in tuning.restrictions:
            yield f'  "{_in_expressions(restriction, tuning)}": a restriction of the tuning script'


def _in_expressions(text: str, tuning: Tuning | None) -> str:
    """A tuner's expression with the names that the YAML gives its parameters."""
    names = {name: name.lower() for name in (tuning.values if tuning else ())}
    names |= {name: f"block_{axis}" for name, axis in zip(tuning.block if tuning else (), AXES, strict=False)}
    text = re.sub(r"[A-Za-z_]\w*", lambda found: names.get(found.group(), found.group()), text)
    return re.sub(r"(?<!/)/(?!/)", "//", text)  # integer division
