"""The declaration of a kernel: its parameters, its launch and its reference. `runner.kernel.from_yaml` reads it.

A parameter has one name as YAML key, override, CSV column, axis and filter. Its value can be written in several forms
(`16Mi`, `2**24`, `16777216`), which have one canonical form:

    kind      canonical                    written as
    integer   int                          8, -2, 2**3, 0x8
    number    int if it is whole, or float 3, 1.5, 1e-3
    real      float                        1.5, 2, 1e-3, 1/3
    boolean   bool                         true, false
    size      int, or 'ROWSxCOLS'          16Mi, 2**24, 16_777_216, 1e6, 4096x8192
    block     'X', 'XxY' or 'XxYxZ'        256, 2**8, 32x16, 8x8x4
    mask      int, 0 to 2**32-1            0xffffffff, 0b1010, 255
    dtype     name in NumPy                int32, float32, double
    choice    text                         one of the words that the kernel allows
    options   options, or none             --use_fast_math, -maxrregcount=32 -Xptxas -dlcm=cg, [-ftz=true, -fmad=false]

`0x10` is always a hexadecimal number.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from runner.bounds.array_expression import ArrayExpression
from runner.bounds.expected import Tolerance
from runner.bounds.formula import shortened
from runner.device import Form, Role, Surface, Texture, options
from runner.errors import UsageError
from runner.kernel.arrays import DTYPE_ALIASES, DTYPES, FORMER_NAMES, DType
from runner.kernel.expression import Expression, integer
from runner.kernel.metrics import Metric
from runner.kernel.recipes import Fill, MemberFills

Canonical = int | float | str  # True and False are integers


class Kind(enum.StrEnum):
    """The notation and the meaning of a parameter's values."""

    INTEGER = "integer"
    NUMBER = "number"
    REAL = "real"
    BOOLEAN = "boolean"
    SIZE = "size"
    BLOCK = "block"
    MASK = "mask"
    DTYPE = "dtype"
    CHOICE = "choice"
    OPTIONS = "options"


# These names mean the same for every kernel, in the order of the columns. Kernels may declare more.
VOCABULARY: dict[str, Kind] = {
    "block": Kind.BLOCK, "size": Kind.SIZE, "width": Kind.INTEGER, "mask": Kind.MASK, "unroll": Kind.INTEGER,
    "dtype": Kind.DTYPE, "src_lane": Kind.INTEGER, "delta": Kind.INTEGER, "offset": Kind.INTEGER,
    "lane_mask": Kind.INTEGER, "per_thread": Kind.INTEGER, "first": Kind.INTEGER, "second": Kind.INTEGER,
    "pad": Kind.INTEGER, "blocks": Kind.INTEGER, "cache": Kind.CHOICE, "fill": Kind.CHOICE,
    "compile_options": Kind.OPTIONS,
}  # fmt: skip

NEUTRAL: Mapping[str, Canonical] = {"cache": "none", "compile_options": options.NONE}
"""Parameters that every kernel has, with the value that changes nothing and has no part in a case's identity."""

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
_WITH_UNIT = re.compile(r"([0-9][0-9_]*(?:\.[0-9]+)?)\s*([kmg]i?)?", re.IGNORECASE)
_REAL = re.compile(r"[+-]?((0|[1-9][0-9_]*)(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]{1,3})?", re.IGNORECASE)


def canonical(name: str, kind: Kind, value: Any) -> Canonical:
    """Convert the value of the parameter `name`, as written in YAML or on the command line, to its canonical form.

    Raises UsageError if the value cannot be read; the message says what the kind allows.
    """
    if kind is Kind.BOOLEAN and isinstance(value, bool):
        return value
    if kind is Kind.OPTIONS and isinstance(value, list):
        value = " ".join(map(str, value))
    try:
        text = "" if value is None or isinstance(value, bool | list | dict) else str(value).strip()
        return options.canonical(text) if kind is Kind.OPTIONS else _parse(kind, text)
    except (ValueError, KeyError, ArithmeticError):
        text = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        raise UsageError(f"{name}={shortened(text, 60)}: expected {_EXPECTED[kind]}") from None


def variables(name: str, kind: Kind, value: Canonical) -> Mapping[str, Canonical]:
    """A value and its parts by their names in expressions: `block` has `block_x`, ..., `size` has `rows` and `cols`."""
    if kind is Kind.BLOCK:
        x, y, z = threads(value)
        return {name: x * y * z, f"{name}_x": x, f"{name}_y": y, f"{name}_z": z}
    if kind is Kind.SIZE:
        rows, cols = (1, value) if isinstance(value, int) else pair(value)
        return {name: rows * cols, "rows": rows, "cols": cols}
    return {name: value}


def pair(value: Canonical) -> tuple[int, int]:
    """`'32x16'` as (32, 16); a single number as (number, 1)."""
    first, _, second = str(value).partition("x")
    return int(first), int(second or 1)


def threads(value: Canonical) -> tuple[int, int, int]:
    """A block's threads in x, y and z."""
    x, y, z = (*map(int, str(value).split("x")), 1, 1)[:3]
    return x, y, z


def value_text(kind: Kind, value: Canonical) -> str:
    """A canonical value in readable form: masks in hexadecimal, powers of two among sizes as such."""
    if kind is Kind.MASK:
        return f"{value:#010x}"
    if kind is Kind.SIZE and isinstance(value, int) and value >= 2**10 and value & (value - 1) == 0:
        return f"2**{value.bit_length() - 1}"
    return str(value).lower() if isinstance(value, bool) else str(value)


# The half-open range [first, end) of a kind of number.
_RANGES = {Kind.INTEGER: (-(2**63), 2**63), Kind.SIZE: (0, 2**63), Kind.BLOCK: (0, 2**31), Kind.MASK: (0, 2**32)}
_EXPECTED = {
    Kind.INTEGER: "an integer such as 8, -2 or 2**3",
    Kind.NUMBER: "a number such as 8, 2**3, 1.5 or 1e-3",
    Kind.REAL: "a number such as 1.5, 1e-3 or 1/3",
    Kind.BOOLEAN: "true or false",
    Kind.SIZE: "a number of elements such as 16Mi, 2**24 or 16777216, or rows by columns such as 4096x8192",
    Kind.BLOCK: "threads per block such as 256, or x by y (by z) such as 32x16",
    Kind.MASK: "a mask of 32 lanes such as 0xffffffff or 0b1010",
    Kind.DTYPE: f"one of {', '.join(DTYPES)}",
    Kind.OPTIONS: f"none, or up to {options.MAX_OPTIONS} options of a GPU's compiler such as --use_fast_math",
    Kind.CHOICE: "a word (in YAML, on, off, yes and no need quotes)",
}


@functools.lru_cache(maxsize=4096)
def _parse(kind: Kind, text: str) -> Canonical:
    """Parse a value. Raises ValueError, KeyError or ArithmeticError if the kind does not allow it."""
    if kind is Kind.DTYPE:
        return DTYPES[DTYPE_ALIASES.get(text, text)].name
    if kind is Kind.CHOICE:
        if not re.fullmatch(r"\w[\w.+-]{0,63}", text):
            raise ValueError(text)
        return FORMER_NAMES.get(text, text)
    if kind is Kind.BOOLEAN:
        return {"true": True, "false": False}[text.lower()]
    if kind is Kind.REAL:
        return _real(text)
    if kind is Kind.NUMBER:
        with contextlib.suppress(ValueError):
            return _parse(Kind.INTEGER, text)
        return _real(text)
    axes = re.split(r"\s*x\s*", text)
    most = {Kind.SIZE: 2, Kind.BLOCK: 3}.get(kind, 0)
    if 2 <= len(axes) <= most and all(re.fullmatch(r"[1-9][0-9_]*", axis) for axis in axes):
        axes = [axis.replace("_", "") for axis in axes]
        while kind is Kind.BLOCK and len(axes) > 1 and axes[-1] == "1":
            del axes[-1]
        return "x".join(axes)
    value = _integer(text)
    least, end = _RANGES[kind]
    if not least <= value < end:
        raise ValueError(text)
    return str(value) if kind is Kind.BLOCK else value


def _real(text: str) -> float:
    if re.fullmatch(r"-?[0-9]{1,30}/[0-9]{1,30}", text):
        number = float(Fraction(text))
    else:
        number = float(text) if _REAL.fullmatch(text) else float(_integer(text))
    if not math.isfinite(number):
        raise ValueError(text)
    return number + 0.0  # -0.0 becomes 0.0


def _integer(text: str) -> int:
    if matched := _WITH_UNIT.fullmatch(text):
        digits, unit = matched[1].replace("_", ""), (matched[2] or "").lower()
        if len(digits) > 1 and digits[0] == "0" and digits[1] != ".":
            raise ValueError(text)  # 010 is 8 in C and 10 elsewhere
        number = (int(digits) if digits.isdecimal() else Fraction(digits)) * _UNITS[unit]
    elif re.fullmatch(r"[+-]?[0-9.]+e\+?[0-9]{1,2}|-?[0-9]+\.[0-9]+", text, re.IGNORECASE):
        number = Fraction(text)
    else:
        return integer(text)
    if number.denominator != 1:
        raise ValueError(text)
    return int(number)


@dataclass(frozen=True)
class Parameter:
    """A parameter that the kernel reads. Its values are canonical; an empty `allowed` allows any value."""

    name: str
    kind: Kind
    default: Canonical
    allowed: tuple[Canonical, ...] = ()
    computed: tuple[Expression, ...] = ()  # the default of each case, in x, y, z (`runner.kernel.computed`)

    @property
    def needs(self) -> frozenset[str]:
        """The names from which the default is computed."""
        return frozenset[str]().union(*(e.names for e in self.computed))


TEXTURE_MODES = {
    "resource": ("array", "linear", "pitch2d"),
    "address_mode": ("wrap", "clamp", "mirror", "border"),
    "filter_mode": ("point", "linear"),
    "read_mode": ("element_type", "normalized_float"),
}


@dataclass(frozen=True)
class DeclaredTexture:
    """How a kernel reads an array through a texture object. A mode may be the name of a parameter."""

    words: tuple[tuple[str, tuple[str, ...]], ...]  # modes by keys of `TEXTURE_MODES`; one, or one per axis
    normalized_coords: bool
    border_color: tuple[int | float, ...]

    def resolved(self, values: Mapping[str, Any], where: str) -> Texture:
        """The texture for these values of parameters. Raises UsageError if a value is not a mode."""
        modes = {key: [str(values.get(word, word)) for word in words] for key, words in self.words}
        for key, words in modes.items():
            if wrong := [word for word in words if word not in TEXTURE_MODES[key]]:
                raise UsageError(f"{where}: {key}: '{wrong[0]}' is not one of {', '.join(TEXTURE_MODES[key])}")
        axes = modes["address_mode"]
        x, y, z = (axes + 2 * axes[-1:])[:3]
        resource, filters, reads = (modes[key][0] for key in ("resource", "filter_mode", "read_mode"))
        return Texture(resource, (x, y, z), filters, reads, self.normalized_coords, self.border_color)


@dataclass(frozen=True)
class ArrayArgument:
    """An array that the kernel reads or writes."""

    name: str
    role: Role
    dtype: str  # or the name of the parameter that holds it
    shape: tuple[Expression, ...]  # one per dimension, slowest first
    fill: Fill | MemberFills  # a fill, the parameter that holds it, or the numbers themselves
    offset: Expression  # padding elements before the array, which reduce the alignment of its address
    lead: Expression  # elements of the array before the pointer that the kernel gets
    constant: bool = False  # a `__constant__` array of the module instead of an argument
    refill: bool = True  # whether the check may give it other contents of the same kind
    image: DeclaredTexture | Surface | None = None  # the texture or surface object that replaces the pointer
    passed: bool = True  # whether it is an argument itself, not only a structure's member
    split: bool = False  # whether its parts along the first axis are arrays, and the kernel gets pointers to them


@dataclass(frozen=True)
class ScalarArgument:
    """A number passed to the kernel, or the numbers of a vector or a structure, in order: expressions or constants."""

    name: str
    dtype: str
    values: tuple[Expression | float | PointerArgument, ...]


@dataclass(frozen=True)
class PointerArgument:
    """A null pointer, a pointer into (or texture object of) another argument's array, or pointers to several."""

    name: str
    array: str  # empty: null
    index: Expression  # elements from the array's first one
    texture: DeclaredTexture | None = None
    arrays: tuple[str, ...] = ()  # of an array of pointers; an empty name is null


# The C++ name of a function: pieces of text, and parameters as template arguments.
FunctionName = tuple[str | Expression, ...]


@dataclass(frozen=True)
class Step:
    """One launch of a program with several launches."""

    function: FunctionName  # empty: the kernel's own
    arguments: tuple[str, ...]  # their names, in the function's order
    grid: tuple[Expression, ...]
    block: tuple[Expression, ...]  # empty: the kernel's
    shared: Expression
    source: Path | None = None  # that has the function; `None`: the kernel's


@dataclass(frozen=True)
class MemoryStep:
    """A memset of an array between launches, or a copy to it."""

    array: str  # that it writes
    origin: str = ""  # the array that it copies; empty: a memset
    value: Expression | float = 0.0  # of a memset: of each number of an element
    of_bytes: bool = False  # whether `value` is that of each byte


@dataclass(frozen=True)
class Loop:
    """Steps that are repeated for each value of a counter from 0 up to, but not including, `end`; loops may nest."""

    counter: str
    end: Expression
    steps: tuple[Entry, ...]


Entry = Step | MemoryStep | Loop


def each_step(steps: Iterable[Entry]) -> Iterator[Entry]:
    """The steps, and those within loops, each behind its loop."""
    for step in steps:
        yield step
        if isinstance(step, Loop):
            yield from each_step(step.steps)


@dataclass(frozen=True)
class Constraint:
    """A condition that a case must meet; `reason` says why."""

    require: Expression
    reason: str


@dataclass(frozen=True)
class DeclaredHazard:
    """A CUDA rule that the kernel breaks on purpose `when` a condition holds; `reason` names it."""

    when: Expression
    reason: str


@dataclass(frozen=True)
class Shuffle:
    """A kernel that shuffles its array `in` into `out`, so that the two show which lane each lane read."""

    operation: str  # one of `runner.kernel.lanes.INTRINSICS`
    argument: Expression  # the intrinsic's third argument


@dataclass(frozen=True)
class Kernel:
    """A declared kernel. docs/kernel-yaml.md explains every key; `common` is its family's YAML or `None`."""

    name: str
    yaml: Path
    source: Path
    include: tuple[Path, ...]  # further folders with what the source includes
    function: FunctionName
    summary: str
    origin: str
    family: str
    baseline: str
    ceiling: bool  # whether it bounds its family's performance, as a copy bounds a transpose
    finish: str
    min_arch: int
    gpu_only: str
    cooperative: bool  # whether its blocks wait for each other (grid_group::sync)
    parameters: tuple[Parameter, ...]
    macros: tuple[tuple[str, Expression], ...]
    arguments: tuple[ArrayArgument | ScalarArgument | PointerArgument, ...]
    grid: tuple[Expression, ...]
    shared: Expression
    constraints: tuple[Constraint, ...]
    bytes_read: Expression | None
    bytes_written: Expression | None
    operations: Expression | None
    in_flight: Expression | None
    reference: str | tuple[tuple[str, ArrayExpression], ...]
    value: ArrayExpression | None
    depth: Expression | None
    compute: str  # the dtype that the kernel computes in, or the parameter that holds it; empty: the arrays' own
    fast_math: bool  # whether the kernel uses the fast intrinsic functions
    tolerance: Tolerance | None  # replaces the bounds of rounding errors
    shuffle: Shuffle | None
    hazard: DeclaredHazard | None
    common: Path | None
    structs: tuple[DType, ...] = ()
    no_output: str = ""  # why the kernel has no output to compare
    launches: tuple[Entry, ...] = ()  # empty: one launch with all arguments
    undefined_where: tuple[tuple[str, ArrayExpression], ...] = ()  # conditions: elements of outputs not to compare
    metrics: tuple[Metric, ...] = ()
    form: Form = Form.KERNEL  # what the source holds
    libraries: tuple[str, ...] = ()  # that a host function is linked with

    @property
    def sources(self) -> tuple[Path, ...]:
        """Its source, then those that launches name."""
        named = (step.source for step in each_step(self.launches) if isinstance(step, Step) and step.source)
        return tuple(dict.fromkeys((self.source, *named)))

    @property
    def opaque(self) -> str:
        """Why no device of the host can look into the kernel; empty if one can."""
        return self.gpu_only or (self.form.label if self.form is Form.PYTHON else "")

    def __hash__(self) -> int:
        """A hash of the fields that tell kernels apart: caches ask for it for each case at each size."""
        return hash((self.name, self.yaml))

    def dtype(self, word: str) -> DType | None:
        """The dtype of this name; `None` if unknown."""
        return DTYPES.get(word) or next((s for s in self.structs if s.name == word), None)

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of this name; `None` if the kernel does not declare it."""
        return next((p for p in self.parameters if p.name == name), None)

    @property
    def sizes(self) -> list[str]:
        """The names of the parameters of kind `size`."""
        return [p.name for p in self.parameters if p.kind is Kind.SIZE]

    @property
    def expressions(self) -> tuple[tuple[str, ArrayExpression], ...]:
        """The reference's expressions by output; empty if the reference is a function."""
        return () if isinstance(self.reference, str) else self.reference

    @property
    def arrays(self) -> tuple[ArrayArgument, ...]:
        """The arrays among the arguments, `__constant__` ones included."""
        return tuple(a for a in self.arguments if isinstance(a, ArrayArgument))
