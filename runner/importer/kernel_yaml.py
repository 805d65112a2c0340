"""Format a kernel's YAML from the facts found, with `???` for what only the author knows."""

from __future__ import annotations

import itertools
import keyword
import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner.columns import RESERVED
from runner.importer.facts import Facts, plain_type
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
_ELEMENT_TYPES = ("SCALAR", "TYPE", "DTYPE", "T")  # usual names of the type of the elements
_LENGTH = re.compile("(num_|n_)?(n|size|len|length|count|num|numel|elements|items|parameters|total)")
_BLOCK = re.compile(r"(?i)(k\d*_)?block_?(size|dim)?(_x)?|(num_|n_)?threads(_per_block)?")
MAX_BLOCK = 1024  # threads


@dataclass
class _Description:
    """A kernel's facts, and the parameters of its YAML: each a default, with the allowed values if known."""

    facts: Facts
    tuning: Tuning
    parameters: dict[str, str] = field(default_factory=dict)  # lines of the YAML

    def add(self, name: str, default: Any, allowed: Sequence[Any] = (), note: str = "") -> str:
        """Add a parameter unless it exists; returns its name in the YAML."""
        plain = re.sub(r"\W+", "_", name).lower().lstrip("_0123456789") or "value"
        if plain in RESERVED or plain in FUNCTIONS or keyword.iskeyword(plain):
            plain += "_"
        value = f"{{default: {default}, allowed: [{', '.join(map(str, allowed))}]}}" if allowed else str(default)
        self.parameters.setdefault(plain, f"  {plain}: {value}{f'  # {note}' if note else ''}")
        return plain

    def launch(self) -> tuple[str, str]:
        """The values of `block` and `grid`. Adds the parameter `size`."""
        facts, tuning = self.facts, self.tuning
        dimensions = max(facts.dimensions, len(tuning.block), len(tuning.size))
        if tuning.size:
            self.add("size", "x".join(map(str, reversed(tuning.size[:2]))))
        else:
            self.add("size", "1024x1024" if dimensions > 1 else "1Mi", note="of the problem")
        block = ("256", "16x16", "8x8x4")[min(dimensions, 3) - 1]
        if tuning.block:
            axes = [list(tuning.values[name]) for name in tuning.block[:2]]
            first = [tuning.defaults.get(name, values[0]) for name, values in zip(tuning.block, axes, strict=False)]
            blocks = ["x".join(map(str, lengths)) for lengths in itertools.product(*axes)]
            allowed = [b for b in blocks if math.prod(map(int, b.split("x"))) <= MAX_BLOCK]
            block = f"{{default: {'x'.join(map(str, first))}, allowed: [{', '.join(allowed)}]}}"
        parts = []
        for axis, length in enumerate(("cols", "rows") if dimensions > 1 else ("size",)):
            own = f"block_{AXES[axis]}" if dimensions > 1 else "block"
            divisors = [self.expression(d) for part in tuning.divisors[axis : axis + 1] for d in part]
            parts.append(f"ceil_div({length}, {' * '.join(divisors or [own])})")
        if not tuning.divisors:
            parts += [BLANK] * (facts.grid - len(parts))
        return block, parts[0] if len(parts) == 1 else _yaml_list(parts)

    def function(self) -> str:
        """The value of `function`. Adds a parameter for each template argument."""
        arguments = []
        for text in self.facts.kernel.template:
            declared, _, default = (part.strip() for part in text.partition("="))
            name = (re.findall(r"\w+", declared) or ["value"])[-1]
            if re.match(r"(typename|class)\b", declared):
                arguments.append(self.add("dtype", "float32"))
            elif _BLOCK.fullmatch(name) and self.facts.dimensions == 1:
                arguments.append("block")
            else:
                arguments.append(self.add(name, default or BLANK, note=f"template argument {text}"))
        name = self.facts.kernel.name
        return f"{name}<{', '.join(arguments)}>" if arguments else name

    def macros(self) -> Iterator[str]:
        """The entries of `macros`. Adds a parameter for each."""
        tuning = self.tuning
        for name, values in tuning.values.items():
            if name in tuning.block:
                yield f"{{{name}: {self.expression(name)}}}"
                continue
            own = self.add(name, tuning.defaults.get(name, values[0]), values)
            yield name if own == name.lower() else f"{{{name}: {own}}}"
        for name in self.facts.macros:
            if name in tuning.values:
                continue
            if name in _ELEMENT_TYPES:
                self.add("dtype", "float32")
                yield "SCALAR" if name == "SCALAR" else f"{{{name}: dtype}}"
            elif _BLOCK.fullmatch(name):
                yield f"{{{name}: block}}" if self.facts.dimensions == 1 else f"{{{name}: block_x}}"
            else:
                own = self.add(name, BLANK, note=f"nothing in the file declares {name}")
                yield name if own == name.lower() else f"{{{name}: {own}}}"

    def arguments(self) -> Iterator[str]:
        """The lines of `arguments`. Adds a parameter for each scalar of unknown value that is not a float."""
        for position, p in enumerate(self.facts.kernel.parameters):
            kind, name = plain_type(p.type), p.name or f"argument{position}"
            name += "_" * (keyword.iskeyword(name) and name != "in")  # a keyword cannot be used in an expression
            note = f"  # {p.type} {'*' * p.pointers}{p.name}"
            if p.pointers:
                yield self.array(name, self.role(position, p.name), kind, p.pointers, note)
            elif kind in _OBJECTS:
                shape = "[rows, cols]" if self.facts.dimensions > 1 else "size"
                content = f"dtype: float32, shape: {shape}, fill: random"
                yield f"  - {{name: {p.name}, {_OBJECTS[kind]}, {content}}}{note}; does it hold float32?"
            else:
                dtype, value = self.dtype(kind), self.tuning.scalars.get(position)
                if length := self.length(p.name, value):
                    text = length
                elif value is not None:
                    text = str(value)
                elif dtype.startswith(("float", "bfloat")):
                    text = _QUOTED
                else:
                    text = self.add(name, BLANK, note=f"the argument {name}")
                yield f"  - {{name: {name}, scalar: {dtype}, value: {text}}}{note}"
        for c in self.facts.constants:
            shape = _yaml_list(self.expression(s) for s in c.shape) if c.shape else "1"
            content = f"dtype: {self.dtype(c.type)}, shape: {shape}, fill: random, constant: true"
            yield f"  - {{name: {c.name}, role: in, {content}}}"

    def array(self, name: str, role: str, kind: str, pointers: int, note: str) -> str:
        """The line of a pointer."""
        dtype, content = self.dtype(kind), ", fill: random" if role != "out" else ""
        doubt = {
            "out": "; or inout, if the kernel leaves some elements unchanged",
            "inout": "; or in, if the kernel only reads it; or out, if no earlier content is read",
            "in": "; {range: [0, end]}, if these are indices" * dtype.startswith(("int", "uint")),
        }[role]
        shape = "size"
        if pointers == 2:  # the length of each part is guessed, their number is not
            shape, content = f"[{_QUOTED}, size]", f"{content}, pointers: true"
            doubt = f"; or {{name: {name}, pointers: [first, second]}} of arrays with different lengths"
        elif pointers > 2:
            dtype, doubt = _QUOTED, "; an array of arrays of pointers is not supported"
        return f"  - {{name: {name}, role: {role}, dtype: {dtype}, shape: {shape}{content}}}{note}{doubt}"

    def length(self, name: str, value: float | None) -> str:
        """The expression of a scalar that is a length of the problem, such as `size` or `cols`; empty for others."""
        size, word = self.tuning.size, name.lower()
        if value is not None and value not in size:
            return ""
        if max(self.facts.dimensions, len(size)) == 1:
            return "size" if _LENGTH.fullmatch(word) or value is not None else ""
        return _AXES.get(word) or (("cols", "rows", "")[size.index(int(value))] if value is not None else "")

    def role(self, position: int, name: str) -> str:
        """The role of a pointer."""
        return self.tuning.roles.get(position) or self.facts.roles[name]

    def dtype(self, kind: str) -> str:
        """The dtype of a C++ type; `???` if it is unknown. Adds the parameter `dtype` if the type depends on it."""
        kind = self.facts.types.get(kind, kind)
        if kind in _C_TYPES:
            return _C_TYPES[kind]
        template = {(re.findall(r"\w+", t.partition("=")[0]) or [""])[-1] for t in self.facts.kernel.template}
        return self.add("dtype", "float32") if kind in template or kind in _ELEMENT_TYPES else _QUOTED

    def expression(self, text: str) -> str:
        """A tuner's expression with the names that the YAML gives its parameters."""
        names = {name: name.lower() for name in self.tuning.values}
        names |= {name: f"block_{axis}" for name, axis in zip(self.tuning.block, AXES, strict=False)}
        text = re.sub(r"[A-Za-z_]\w*", lambda match: names.get(match.group(), match.group()), text)
        return re.sub(r"(?<!/)/(?!/)", "//", text)  # integer division


def format_yaml(facts: Facts, folder: Path, tuning: Tuning, *, overloads: bool) -> str:
    """Format the YAML of a kernel. Its paths are relative to `folder`.

    `overloads`: the file has several kernels of this name.
    """
    d = _Description(facts, tuning)
    block, grid = d.launch()
    function, kernel = d.function(), facts.kernel
    if overloads:
        types = ", ".join(p.type + "*" * p.pointers for p in kernel.parameters)
        typenames = {t.split()[1] for t in kernel.template if re.match(r"(typename|class)\s+\w", t)}
        types = re.sub(r"\w+", lambda word: "dtype" if word.group() in typenames else word.group(), types)
        function += f"({types})"
    including = f"  # or {' or '.join(facts.includers)}, which includes it" if facts.includers else ""
    include = [os.path.relpath(path, folder.resolve()) for path in facts.source.include]
    macros, arguments = list(d.macros()), list(d.arguments())
    outputs = [p.name for i, p in enumerate(kernel.parameters) if p.pointers and d.role(i, p.name) != "in"]
    outputs += [p.name for p in kernel.parameters if p.type.split()[-1] == "cudaSurfaceObject_t"]
    is_default = not overloads and function == kernel.name.rpartition("::")[2] == kernel.name
    lines = [
        f"# Fill in each {BLANK}, and check each comment with a question. docs/kernel-yaml.md explains every key.",
        *(f"# Launched in the file as {launch}" for launch in facts.launches),
        f"source: {os.path.relpath(facts.source.path, folder)}{including}",
        f"include: [{', '.join(include)}]" if include else "",
        "" if is_default else f"function: {function}",
        'summary: ""',
        "parameters:",
        f"  block: {block}",
        *d.parameters.values(),
        f"macros: [{', '.join(macros)}]" if macros else "",
        "arguments:",
        *arguments,
        *(
            f"# compute: {half}  # if the kernel also adds in {half}; otherwise sums are expected in float32"
            for half in ("bfloat16", "float16")
            if any(f"dtype: {half}," in line for line in arguments)
        ),
        f"grid: {grid}  # the number of blocks that are launched?",
        *(
            f"shared: {_bytes(s.type)} * block  # bytes of {s.type} {s.name}[]; the right number?"
            for s in facts.shared[:1]
        ),
        "constraints:" if tuning.restrictions else "",
        *(f'  "{d.expression(text)}": a restriction of the tuning script' for text in tuning.restrictions),
        "reference:  # the expected outputs, as expressions over the arrays, or a Python function: module.function",
        *(f"  {name}: {BLANK}" for name in outputs or ["output"]),
    ]
    return "\n".join(filter(None, lines)) + "\n"


def _yaml_list(expressions: Iterable[str]) -> str:
    return "[" + ", ".join(f'"{e}"' for e in expressions) + "]"


def _bytes(kind: str) -> int | str:
    name = _C_TYPES.get(kind)
    return DTYPES[name].itemsize if name else 1 if kind.endswith("char") else "itemsize(dtype)"
