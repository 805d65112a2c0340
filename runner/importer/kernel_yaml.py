"""Format a kernel's YAML from the facts found, with `???` for what only the author knows."""

from __future__ import annotations

import itertools
import keyword
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner.columns import RESERVED
from runner.device.syntax import descendants, text_of
from runner.importer import reference, terms
from runner.importer.array_text import Geometry
from runner.importer.facts import Facts, plain_type
from runner.importer.host import Function, Memory, Program, Scope
from runner.importer.launched import Launched, block_sizes, whole_divisions
from runner.importer.terms import Term
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
_BLOCK_LIKE = re.compile(r"(?i)block|thread|tpb|tile")
_HALVES = ("bfloat16", "float16")
_HALF_SUMS = re.compile(r"\b__h(add|mul|fma|sub)2?\b|\bhadd\b")
_SPECIAL = frozenset(
    ("block", "dtype", "cache", "fill", "mask", "compile_options", "grid")
)  # with a meaning of their own
_ASK = "reference:  # the expected outputs, as expressions over the arrays, or a Python function: module.function"
MAX_BLOCK = 1024  # threads
MAX_ELEMENTS = 1 << 21  # of all arrays, so that the first run takes seconds on the CPU device
MAX_WORK = 1 << 25  # threads, each with a loop over the largest length, likewise
LEAST_LENGTH = 16  # of a plain number that is taken for a length
FEW, MANY = 256, 1 << 16  # a length that the file leaves open: one of several, or the only one


@dataclass
class _Parameter:
    """A parameter of the YAML: its default, the allowed values if they are known, and a comment."""

    default: Any
    allowed: Sequence[Any] = ()
    note: str = ""

    def line(self, name: str) -> str:
        """The line under `parameters`."""
        is_number = isinstance(self.default, int | float) and not isinstance(self.default, bool)
        default = terms.number_text(self.default) if is_number else self.default
        value = (
            f"{{default: {default}, allowed: [{', '.join(map(str, self.allowed))}]}}" if self.allowed else str(default)
        )
        return f"  {name}: {value}{f'  # {self.note}' if self.note else ''}"


def yaml_name(name: str, taken: Iterable[str] = ()) -> str:
    """The YAML's name for a name of the source: the one place that knows the rule."""
    plain = re.sub(r"\W+", "_", name).lower().lstrip("_0123456789")[:30] or "value"
    is_part = re.fullmatch(r"(block|grid)_[xyz]", plain)
    if plain in RESERVED or plain in FUNCTIONS or keyword.iskeyword(plain) or is_part:
        plain += "_"
    while plain in taken:
        plain += "_"
    return plain


def argument_name(position: int, name: str) -> str:
    """The YAML's name for an argument of the kernel."""
    name = name or f"argument{position}"
    return name + "_" * (keyword.iskeyword(name) and name != "in")  # a keyword cannot be used in an expression


@dataclass
class _Description:
    """A kernel's facts, and the parameters of its YAML."""

    facts: Facts
    tuning: Tuning
    program: Program
    parameters: dict[str, _Parameter] = field(default_factory=dict)
    arrays: tuple[str, ...] = ()  # names of the arrays, which no parameter may have
    host: Launched | None = None  # the launch, if the file has one whose block it tells
    grid_terms: list[Term | None] = field(default_factory=list)
    values: dict[int, Term] = field(default_factory=dict)  # of scalars, by position
    sizes: dict[str, Term] = field(default_factory=dict)  # of arrays, in elements
    template: dict[str, Term] = field(default_factory=dict)  # template arguments that are numbers
    opened: set[str] = field(default_factory=set)  # parameters for arguments whose value the file does not tell
    answer: reference.Answer | None = None

    def add(self, name: str, default: Any, allowed: Sequence[Any] = (), note: str = "") -> str:
        """Add a parameter unless it exists; returns its name in the YAML."""
        plain = yaml_name(name, self.arrays)
        self.parameters.setdefault(plain, _Parameter(default, allowed, note))
        return plain

    def _add_constant(self, name: str, default: Any, note: str) -> str:
        """Add a constant of the program; another one of this name, and a word of the YAML, gets a name of its own."""
        plain = yaml_name(name, (*self.arrays, *_SPECIAL))
        while plain in self.parameters and (self.parameters[plain].default, self.parameters[plain].note) != (
            default,
            note,
        ):
            plain += "_"
        self.parameters.setdefault(plain, _Parameter(default, (), note))
        return plain

    def read(self) -> None:
        """Read the launch: the block, the grid, the values of scalars, the sizes of arrays; then the reference."""
        kernel = self.facts.kernel
        self.arrays = tuple(argument_name(i, p.name) for i, p in enumerate(kernel.parameters) if p.pointers)
        self.arrays += tuple(c.name for c in self.facts.constants)
        if self.tuning.size or self.tuning.values or self.tuning.block:
            return
        for launch in self.program.launches_of(kernel.name.rpartition("::")[2]):
            sizes = block_sizes(launch, self.facts.dimensions)
            if sizes and len(launch.arguments) <= len(kernel.parameters):
                self.host = Launched(launch, self.facts.words, self._add_constant, sizes)
                break
        if self.host is None:
            return
        self.grid_terms = self.host.grid()
        for position, p in enumerate(kernel.parameters[: len(self.host.launch.arguments)]):
            if p.pointers:
                elements = self._elements(position, plain_type(p.type))
                if elements is not None:
                    self.sizes[argument_name(position, p.name)] = elements
            elif (value := self.host.term(self.host.launch.arguments[position])) is not None:
                self.values[position] = value
        self._open_scalars(len(self.host.launch.arguments))
        self._name_lengths()

    def _name_lengths(self) -> None:
        """Make a length that the launch passes as a plain number a parameter, also in shapes and the grid."""
        if self.host is None:
            return
        for position, p in enumerate(self.facts.kernel.parameters):
            value = terms.value(self.values.get(position, terms.UNKNOWN))
            sized = [name for name, size in self.sizes.items() if terms.value(size) == value]
            if not isinstance(value, int) or value < LEAST_LENGTH or not sized:
                continue
            length = terms.name(self._add_constant(p.name, value, f"in {self.host.launch.where}"))
            self.values[position] = length
            self.sizes |= dict.fromkeys(sized, length)
            blocks = [terms.value(part) if part is not None else None for part in self.grid_terms]
            if len(self.host.sizes) == 1 and blocks == [-(-value // self.host.sizes[0])]:
                self.grid_terms = [("call", "ceil_div", length, self.host.block[0])]

    def _open_scalars(self, passed: int) -> None:
        """Give each scalar that the launch does not tell its default argument, or a parameter."""
        function = self._function()
        for position, p in enumerate(self.facts.kernel.parameters):
            if p.pointers or p.type == "void" or position in self.values or self.dtype(plain_type(p.type)) == _QUOTED:
                continue
            default = (
                function.parameters[position][1] if function and position < len(function.parameters) else terms.UNKNOWN
            )
            if position >= passed and terms.value(default) is not None:
                self.values[position] = default
                continue
            own = self._add_constant(argument_name(position, p.name), BLANK, f"the argument {p.name}")
            self.values[position] = terms.name(own)
            self.opened.add(own)

    def _function(self) -> Function | None:
        """The kernel in the index of its program."""
        node = self.facts.kernel.node
        functions = self.program.functions.get(self.facts.kernel.name.rpartition("::")[2], ())
        inside = (f for f in functions if node.start_byte <= f.node.start_byte and f.node.end_byte <= node.end_byte)
        return next(inside, None)

    def _elements(self, position: int, kind: str) -> Term | None:
        """The number of elements that the host allocates for a pointer, in the YAML's terms."""
        memory = self.memory(position)
        if memory is None or memory.elements is None or self.host is None:
            return None
        if memory.elements[0] != "bytes":
            return self.host.term(memory.elements)
        inner = self.host.term(memory.elements[1])  # a number of bytes without `sizeof`
        dtype = _C_TYPES.get(self.facts.types.get(kind, kind), "float32")
        return None if inner is None else terms.simplified(("/", inner, terms.number(DTYPES[dtype].itemsize)))

    def memory(self, position: int) -> Memory | None:
        """What the launch passes for a pointer."""
        held = self.host.launch.memory if self.host else ()
        return held[position] if position < len(held) else None

    def find_reference(self) -> None:
        """Look for the reference, with the roles that the code shows."""
        kernel = self.facts.kernel
        function = self._function()
        if function is None or self.tuning.size or self.tuning.values or self.tuning.block:
            return
        block, grid = self._geometry()
        arrays = {p.name: argument_name(i, p.name) for i, p in enumerate(kernel.parameters) if p.pointers == 1}
        memory = {argument_name(i, p.name): self.memory(i) for i, p in enumerate(kernel.parameters)}
        constants = {c.name: c.name for c in self.facts.constants}
        task = reference.Task(
            function=function,
            arrays=arrays | constants,
            hosts={m.name: name for name, m in memory.items() if m is not None and m.name},
            outputs=frozenset(a for p, a in arrays.items() if self.facts.roles[p] != "in"),
            values={kernel.parameters[i].name: v for i, v in self.values.items()} | self.template,
            reals={
                arrays[p.name]: not self.dtype(plain_type(p.type)).startswith(("int", "uint", "bool"))
                for p in kernel.parameters
                if p.pointers == 1
            },
            geometry=Geometry(block, grid, self.sizes),
            block_value=self.host.sizes[0] if self.host else None,
            types=frozenset(t.split()[1] for t in kernel.template if re.match(r"(typename|class)\s+\w", t))
            | {
                alias
                for alias, kind in self.facts.types.items()
                if _C_TYPES.get(kind, "").startswith(("float", "bfloat"))
            },
        )
        named = {name: terms.name(own) for (name, _), own in self.host.names.items()} if self.host else {}
        self.answer = reference.find(task, self.program, named)
        if self.answer.reference is not None:
            for name in self.opened:
                self.parameters[name].default = 1
                self.parameters[name].note += "; any value?"
            for name, size in self.answer.reference.elements.items():
                self.sizes.setdefault(name, size)

    def _geometry(self) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
        """The block and the grid for the reference. Without a launch, they are those of `_guessed`."""
        if self.host is not None:
            known = [part for part in self.grid_terms if part is not None]
            return self.host.block, tuple(known) if len(known) == len(self.grid_terms) else ()
        for position, p in enumerate(self.facts.kernel.parameters):
            if not p.pointers and (length := self.length(p.name, None)):
                self.values[position] = terms.name(length)
        self._open_scalars(len(self.facts.kernel.parameters))
        block: tuple[Term, ...] = (terms.name("block"),)
        lengths: tuple[str, ...] = ("size",)
        if self.facts.dimensions > 1:
            block, lengths = (terms.name("block_x"), terms.name("block_y")), ("cols", "rows")
        grid = tuple(("call", "ceil_div", terms.name(n), b) for n, b in zip(lengths, block, strict=True))
        return block, grid

    def launch(self) -> tuple[str, str]:
        """The values of `block` and `grid`, with their comments."""
        if self.host is None:
            return self._guessed()
        launch, length = self.host.launch, "x".join(map(str, self.host.sizes))
        block = f"{{default: {length}, allowed: [{length}]}}" if self.host.is_fixed else length
        note = f"  # in {launch.where}" + ("; the kernel is compiled for it" if self.host.is_fixed else "")
        try:
            parts = [terms.yaml_text(part) for part in self.grid_terms if part is not None]
        except ValueError:
            parts = []
        if len(parts) < len(self.grid_terms) or not parts:
            lengths = {text for size in self.sizes.values() if (text := _said(size))}
            if len(lengths) == 1 and self.facts.dimensions == 1:
                guess = f'"ceil_div({lengths.pop()}, block)"'
                return block + note, f"{guess}  # the number of blocks that are launched?"
            _, grid = self._guessed()
            return block + note, grid
        while len(parts) < self.facts.grid:
            parts.append("1")
        return (
            block + note,
            f"{_plain_or_quoted(parts[0]) if len(parts) == 1 else _yaml_list(parts)}  # in {launch.where}",
        )

    def _guessed(self) -> tuple[str, str]:
        """A block and a grid for the number of axes that the kernel reads. Adds the parameter `size`."""
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
        grid = parts[0] if len(parts) == 1 else _yaml_list(parts)
        return block, f"{grid}  # the number of blocks that are launched?"

    def function(self) -> str:
        """The value of `function`. Adds a parameter for each template argument."""
        given = self.host.launch.template if self.host else ()
        arguments = []
        for index, text in enumerate(self.facts.kernel.template):
            passed = given[index] if index < len(given) else None
            if re.match(r"(typename|class)\b", text):
                arguments.append(self._template_type(passed))
            else:
                arguments.append(self._template_value(text, passed))
        name = self.facts.kernel.name
        return f"{name}<{', '.join(arguments)}>" if arguments else name

    def _template_type(self, passed: str | Term | None) -> str:
        kind = (
            passed if isinstance(passed, str) else str(passed[1]) if passed is not None and passed[0] == "name" else ""
        )
        dtype = _C_TYPES.get(self.facts.types.get(kind, kind), "")
        if dtype and "dtype" in self.parameters and self.parameters["dtype"].default != dtype:
            return kind
        return self.add("dtype", dtype or "float32")

    def _template_value(self, text: str, passed: str | Term | None) -> str:
        declared, _, default = (part.strip() for part in text.partition("="))
        name = (re.findall(r"\w+", declared) or ["value"])[-1]
        note = f"template argument {text}"
        term: Term | None = None
        if self.host is not None and isinstance(passed, tuple):
            term = self.host.term(self.program.resolve(passed, self.host.launch.scope))
            note += f", in {self.host.launch.where}"
        known = None if term is None else terms.value(term)
        is_block = _BLOCK.fullmatch(name) and self.facts.dimensions == 1
        if self.host is not None and known is not None:
            is_block = (
                len(self.host.sizes) == 1 and known == self.host.sizes[0] and _BLOCK_LIKE.search(name) is not None
            )
        elif term is not None:
            is_block = False
        if is_block:
            self.template[name] = terms.name("block")
            return "block"
        if term is None or known is not None:
            shown = ("false", "true")[bool(known)] if declared.startswith("bool") else known
            own = self.add(name, (default or BLANK) if term is None else shown, note=note)
            term = terms.name(own)
        self.template[name] = term
        return terms.yaml_text(term).replace("//", "/")  # C++

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
            if p.type == "void" and not p.pointers:
                continue  # `kernel(void)`
            kind, name = plain_type(p.type), argument_name(position, p.name)
            note = f"  # {p.type} {'*' * p.pointers}{p.name}"
            if p.pointers:
                yield self.array(position, name, kind, p.pointers, note)
            elif kind in _OBJECTS:
                shape = "[rows, cols]" if self.facts.dimensions > 1 else "size"
                content = f"dtype: float32, shape: {shape}, fill: random"
                yield f"  - {{name: {p.name}, {_OBJECTS[kind]}, {content}}}{note}; does it hold float32?"
            else:
                dtype = self.dtype(kind)
                text = self.scalar(position, name, dtype)
                own = name + "_" * ((name in self.parameters and text != name) or name in _SPECIAL)
                yield f"  - {{name: {own}, scalar: {dtype}, value: {text}}}{note}"
        for c in self.facts.constants:
            shape = _yaml_list(map(self._length_of, c.shape)) if c.shape else "1"
            content = f"dtype: {self.dtype(c.type)}, shape: {shape}, fill: random, constant: true"
            yield f"  - {{name: {c.name}, role: in, {content}}}"

    def _length_of(self, text: str) -> str:
        """The length of a constant array: the number that the file defines, else the name of a macro's parameter."""
        known = terms.value(terms.numbers(self.program.resolve(terms.name(text), Scope())))
        return str(known) if known is not None else self.expression(text)

    def scalar(self, position: int, name: str, dtype: str) -> str:
        """The value of a scalar argument."""
        value = self.tuning.scalars.get(position)
        if position in self.values and value is None:
            try:
                return _plain_or_quoted(terms.yaml_text(self.values[position]))
            except ValueError:
                pass
        if length := self.length(name, value):
            return length
        if value is not None:
            return str(value)
        if dtype.startswith(("float", "bfloat")):
            return _QUOTED
        return self.add(name, BLANK, note=f"the argument {name}")

    def array(self, position: int, name: str, kind: str, pointers: int, note: str) -> str:
        """The line of a pointer."""
        dtype, role, memory = self.dtype(kind), self.role(position, name), self.memory(position)
        if self._is_null(position):
            return f"  - {{name: {name}, pointer: null}}{note}"
        fill = memory.fill if memory else ""
        if role == "inout" and not fill and self._is_read(name) is False:
            fill = "zeros"
        if fill and dtype.startswith(("int", "uint")):
            fill = re.sub(r"(\d+)\.\d+", r"\1", fill)
        content = f", fill: {fill or 'random'}" if role != "out" else ""
        doubt = {
            "out": "; or inout, if the kernel leaves some elements unchanged",
            "inout": "; or in, if the kernel only reads it; or out, if no earlier content is read",
            "in": "; {range: [0, end]}, if these are indices" * (dtype.startswith(("int", "uint")) and not fill),
        }[role]
        if self._is_read(name) is not None:
            doubt = doubt if role == "in" else ""
        shape, where = "size", ""
        if self.host is not None or (self.answer and self.answer.reference):
            shape, where = self.shape(name), f", {memory.where}" if memory and memory.where else ""
            if name not in self.sizes and shape != _QUOTED:
                doubt += "; of this length?"
        if pointers == 2:  # the length of each part is guessed, their number is not
            shape, content = f"[{_QUOTED}, {'size' if self.host is None else _QUOTED}]", f"{content}, pointers: true"
            doubt = f"; or {{name: {name}, pointers: [first, second]}} of arrays with different lengths"
        elif pointers > 2:
            dtype, doubt = _QUOTED, "; an array of arrays of pointers is not supported"
        return f"  - {{name: {name}, role: {role}, dtype: {dtype}, shape: {shape}{content}}}{note}{where}{doubt}"

    def _is_null(self, position: int) -> bool:
        """Whether the launch passes a null pointer, and other pointers are real."""
        passed = self.host.launch.arguments if self.host else ()
        places = [i for i, p in enumerate(self.facts.kernel.parameters) if p.pointers and i < len(passed)]
        nulls = {i for i in places if passed[i] in (("null",), terms.number(0))}
        return position in nulls and len(nulls) < len(places)

    def shape(self, name: str) -> str:
        """The shape of an array: as the reference uses it, else its number of elements."""
        found = self.answer.reference if self.answer else None
        if found is not None and len(found.shapes.get(name, ())) > 1:
            parts = found.shapes[name]
            return f"[{', '.join(map(_plain_or_quoted, parts))}]"
        try:
            if name in self.sizes:
                return _plain_or_quoted(terms.yaml_text(self.sizes[name]))
        except ValueError:
            return _QUOTED
        lengths = [
            str(v[1])
            for i, v in self.values.items()
            if v[0] == "name" and _LENGTH.fullmatch(self.facts.kernel.parameters[i].name.lower())
        ]
        return lengths[0] if len(lengths) == 1 else _QUOTED

    def _is_read(self, name: str) -> bool | None:
        """Whether the reference reads an array; `None` without a reference."""
        found = self.answer.reference if self.answer else None
        return None if found is None else name in found.reads

    def role(self, position: int, name: str) -> str:
        """The role of a pointer."""
        role = self.tuning.roles.get(position) or self.facts.roles[self.facts.kernel.parameters[position].name]
        found = self.answer.reference if self.answer else None
        if found is None or role == "in":
            return role
        if name not in found.expressions:
            return "in" if self.answer and self.answer.is_own else role
        memory = self.memory(position)
        starts = (
            role == "inout"
            and memory is not None
            and memory.fill == "zeros"
            and not (self.answer and self.answer.is_own)
        )
        return "inout" if name in found.reads or starts else "out"

    def outputs(self) -> list[str]:
        """The names of the arrays that the kernel writes."""
        names = [
            argument_name(i, p.name)
            for i, p in enumerate(self.facts.kernel.parameters)
            if p.pointers and not self._is_null(i) and self.role(i, argument_name(i, p.name)) != "in"
        ]
        return names + [p.name for p in self.facts.kernel.parameters if p.type.split()[-1] == "cudaSurfaceObject_t"]

    def compute(self, arguments: Sequence[str]) -> Iterator[str]:
        """The line `compute` of a kernel with half types: in float32, unless it calls half's own arithmetic."""
        half = next((h for h in _HALVES if any(f"dtype: {h}," in line for line in arguments)), "")
        if half and _HALF_SUMS.search(
            self.facts.kernel.node.text.decode(errors="replace") if self.facts.kernel.node.text else ""
        ):
            yield f"compute: {half}  # it calls the arithmetic of half types"
        elif half:
            yield f"compute: float32  # or {half}, if the kernel also adds in {half}"

    def shared(self) -> Iterator[str]:
        """The line `shared`."""
        if not self.facts.shared:
            return
        launch = self.host.launch if self.host else None
        if launch is not None and launch.shared is not None and self.host is not None:
            sized = terms.replaced(launch.shared, self._size_of)
            term = self.host.term(sized)
            if term is not None:
                yield f"shared: {_plain_or_quoted(terms.yaml_text(term))}  # bytes, in {launch.where}"
                return
        for s in self.facts.shared[:1]:
            yield f"shared: {_bytes(s.type)} * block  # bytes of {s.type} {s.name}[]; the right number?"

    def _size_of(self, term: Term) -> Term | None:
        if term[0] != "sizeof":
            return None
        dtype = _C_TYPES.get(self.facts.types.get(term[1], term[1]))
        return terms.number(DTYPES[dtype].itemsize) if dtype else None

    def unguarded(self) -> dict[str, str]:  # noqa: C901  (one case for each form)
        """Constraints for lengths that no condition of the kernel tests: whole blocks and whole tiles only."""
        nodes = list(descendants(self.facts.kernel.node))
        fields = ("if_statement", "conditional_expression", "while_statement")
        tested = [text_of(n.child_by_field_name("condition")) for n in nodes if n.type in fields]
        words = {word for text in tested for word in re.findall(r"\w+", text)}
        found: dict[str, str] = {}
        for position, p in enumerate(self.facts.kernel.parameters):
            value = self.values.get(position)
            if value is None or value[0] != "name" or p.name in words:
                continue
            for part in self.grid_terms:
                for t in terms.leaves(part) if part is not None else ():
                    if t[:2] == ("call", "ceil_div") and t[2] == value and (divisor := _said(t[3])):
                        found[f"{value[1]} % {divisor} == 0"] = (
                            f"whole blocks only, as the kernel does not test {p.name}?"
                        )
            for n in nodes:
                step = n.child_by_field_name("update") if n.type == "for_statement" else None
                if step is None or text_of(step.child_by_field_name("operator")) != "+=":
                    continue
                if p.name in re.findall(r"\w+", text_of(n.child_by_field_name("condition"))):
                    name = text_of(step.child_by_field_name("right"))
                    length = self.template.get(name)
                    if length is None:
                        step_term = terms.read(step.child_by_field_name("right"))
                        length = terms.numbers(self.program.resolve(step_term, Scope()))
                    if divisor := _said(length):
                        found[f"{value[1]} % {divisor} == 0"] = (
                            f"whole tiles only, as the kernel does not test {p.name}?"
                        )
        return found

    def choose_lengths(self) -> None:  # noqa: C901  (one case for each form)
        """Choose lengths that the file leaves open, and make a large problem smaller, with a comment."""
        if self.host is None:
            return
        parts = [*self.sizes.values(), *(part for part in self.grid_terms if part is not None)]
        lengths = {t[1] for part in parts for t in terms.leaves(part) if t[0] == "name"}
        opened = [name for name in self.host.unknown if name in lengths]
        for name in self.host.unknown:
            if name not in lengths and self.answer and self.answer.reference:
                self.parameters[name].default = 1
                self.parameters[name].note += "; any value?"
        unit = math.lcm(math.prod(self.host.sizes), 64) if len(opened) == 1 else math.lcm(*self.host.sizes, 64)
        for name in opened:
            where = self.host.unknown[name]
            self.parameters[name].default = -(-(MANY if len(opened) == 1 else FEW) // unit) * unit
            self.parameters[name].note = f"any length; the program reads it when it runs{f', {where}' if where else ''}"
        known = {n: p.default for n, p in self.parameters.items() if isinstance(p.default, int) and n in lengths}
        written = dict(known)
        whole = self.host.sizes if len(self.host.sizes) > 1 or len(known) > 1 else (math.prod(self.host.sizes),)
        while self._cost(known) > 1:
            name = max(known, key=lambda n: known[n], default="")
            if not name or known[name] <= FEW // 4:
                break
            unit = math.lcm(math.gcd(written[name], 128), *(s for s in whole if written[name] % s == 0))
            smaller = known[name] // 2 // unit * unit
            if smaller < 1 or smaller == known[name]:
                smaller = unit
            if smaller >= known[name]:
                break
            known[name] = smaller
        for name, value in known.items():
            if value != written[name]:
                parameter = self.parameters[name]
                parameter.default = value
                first = parameter.note.partition(";")[0]
                was = terms.number_text(written[name])
                parameter.note = f"{first}, where it is {was}; smaller, so that the CPU device takes seconds"

    def _cost(self, known: Mapping[str, int]) -> float:
        """How much larger the problem is than the CPU device runs in seconds."""
        bound = {**known, "block": math.prod(self.host.sizes) if self.host else 1}
        for axis, length in zip(AXES, self.host.sizes if self.host else (), strict=False):
            bound[f"block_{axis}"] = length

        def number(term: Term) -> float:
            held = terms.value(
                terms.replaced(term, lambda t: terms.number(bound[t[1]]) if t[0] == "name" and t[1] in bound else None)
            )
            return float(held or 0)

        elements = sum(map(number, self.sizes.values()))
        threads = math.prod(number(part) or 1 for part in self.grid_terms if part is not None) * bound["block"]
        several = any(sum(t[0] == "name" for t in terms.leaves(size)) > 1 for size in self.sizes.values())
        work = threads * max(known.values(), default=1) if several else threads
        return max(elements / MAX_ELEMENTS, threads / MAX_ELEMENTS, work / MAX_WORK)

    def length(self, name: str, value: float | None) -> str:
        """The expression of a scalar that is a length of the problem, such as `size` or `cols`; empty for others."""
        size, word = self.tuning.size, name.lower()
        if value is not None and value not in size:
            return ""
        if max(self.facts.dimensions, len(size)) == 1:
            return "size" if _LENGTH.fullmatch(word) or value is not None else ""
        return _AXES.get(word) or (("cols", "rows", "")[size.index(int(value))] if value is not None else "")

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


def format_yaml(facts: Facts, folder: Path, tuning: Tuning, program: Program, *, overloads: bool) -> str:
    """Format the YAML of a kernel. Its paths are relative to `folder`.

    `program` is the kernel's file with those that it includes; `overloads`: the file has several kernels of this name.
    """
    d = _Description(facts, tuning, program)
    kernel = facts.kernel
    d.read()
    block, grid = d.launch()
    function = d.function()
    d.find_reference()
    if overloads:
        types = ", ".join(p.type + "*" * p.pointers for p in kernel.parameters)
        typenames = {t.split()[1] for t in kernel.template if re.match(r"(typename|class)\s+\w", t)}
        types = re.sub(r"\w+", lambda word: "dtype" if word.group() in typenames else word.group(), types)
        function += f"({types})"
    including = f"  # or {' or '.join(facts.includers)}, which includes it" if facts.includers else ""
    include = [os.path.relpath(path, folder.resolve()) for path in facts.source.include]
    macros, arguments = list(d.macros()), list(d.arguments())
    outputs = d.outputs()
    answer = d.answer
    is_default = not overloads and function == kernel.name.rpartition("::")[2] == kernel.name
    constraints = {d.expression(text): "a restriction of the tuning script" for text in tuning.restrictions}
    constraints |= answer.reference.constraints if answer and answer.reference else {}
    if d.host:
        constraints |= whole_divisions(d.grid_terms)
        constraints |= {} if answer and answer.is_own else d.unguarded()
    d.choose_lengths()
    lines = [
        f"# Fill in each {BLANK}, and check each comment with a question. docs/kernel-yaml.md explains every key.",
        *(f"# Launched in the file as {launch}" for launch in facts.launches),
        f"source: {os.path.relpath(facts.source.path, folder)}{including}",
        f"include: [{', '.join(include)}]" if include else "",
        "" if is_default else f"function: {function}",
        'summary: ""',
        "parameters:",
        f"  block: {block}",
        *(parameter.line(name) for name, parameter in d.parameters.items()),
        f"macros: [{', '.join(macros)}]" if macros else "",
        "arguments:" if arguments else "arguments: []",
        *arguments,
        *d.compute(arguments),
        f"grid: {grid}",
        *d.shared(),
        "fast_math: true" if answer and answer.fast else "",
        "constraints:" if constraints else "",
        *(f'  "{text}": {reason}' for text, reason in constraints.items()),
        *_reference_lines(d, outputs),
    ]
    return "\n".join(filter(None, lines)) + "\n"


def _reference_lines(d: _Description, outputs: Sequence[str]) -> Iterator[str]:
    answer = d.answer
    if not outputs and not d.facts.writes_globals:
        yield "no_output: it writes to none of its arguments"
        return
    found = answer.reference.expressions if answer and answer.reference else {}
    if found and set(outputs) <= set(found):
        yield f"reference:  # {answer.note}" if answer else "reference:"
    else:
        why = f"; not read: {answer.note}" if answer and answer.note else ""
        yield f"{_ASK}{why}"
    for name in outputs or ["output"]:
        yield f"  {name}: {_scalar_text(found[name]) if name in found else BLANK}"


def _scalar_text(text: str) -> str:
    """A YAML scalar; in quotes if YAML would read the text as something else."""
    return f'"{text}"' if text[0] in "!&*{}[],#|>@`\"'%?-" or ": " in text or " #" in text else text


def _said(term: Term) -> str:
    """A term's text behind an operator; empty if it has none."""
    try:
        return terms.yaml_text(term, 11)
    except ValueError:
        return ""


def _plain_or_quoted(text: str) -> str:
    """An expression within a list or a mapping of YAML."""
    return f'"{text}"' if re.search(r"[,{}\[\]:#]", text) or text[0] in "!&*|>@`\"'%?-" else text


def _yaml_list(expressions: Iterable[str]) -> str:
    return "[" + ", ".join(f'"{e}"' for e in expressions) + "]"


def _bytes(kind: str) -> int | str:
    name = _C_TYPES.get(kind)
    return DTYPES[name].itemsize if name else 1 if kind.endswith("char") else "itemsize(dtype)"
