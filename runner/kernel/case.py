"""A case: one kernel with one value for each of its parameters; its identity, its launch, and whether it can run.

The identity is a hash of the canonical values, so `2**10` and `1Ki` give the same case. It excludes device, compiler
and timing, so that runs on different devices join on it.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.device import Dim3, Role, Source, Surface, Texture, cache, options
from runner.device.excerpt import parsed_files
from runner.errors import UsageError
from runner.kernel import computed
from runner.kernel.arrays import DTYPES, FORMER_NAMES, DType
from runner.kernel.declaration import (
    NEUTRAL,
    ArrayArgument,
    Canonical,
    DeclaredTexture,
    Entry,
    FunctionName,
    Kernel,
    Kind,
    Loop,
    MemoryStep,
    PointerArgument,
    ScalarArgument,
    Step,
    each_step,
    threads,
    value_text,
    variables,
)
from runner.kernel.expression import Expression
from runner.kernel.recipes import Fill, MemberFills, Recipe

READ = (Role.IN, Role.INOUT)  # of arrays whose content the kernel reads
MEMSET_BYTES = (1, 2, 4)  # that a memset of CUDA's driver can repeat
MAX_TURNS = 100_000  # iterations of the loops around launches


@dataclass(frozen=True)
class ArraySpec:
    """The specification of an array, from which any process makes the same bytes."""

    name: str
    role: Role
    dtype: DType
    shape: tuple[int, ...]
    fill: Fill | MemberFills
    offset: int
    lead: int
    constant: bool
    refill: bool = True  # whether the check may give it other contents of the same kind
    image: Texture | Surface | None = None  # the object that the kernel gets in place of a pointer
    passed: bool = True  # whether it is an argument itself, not only a structure's member
    split: bool = False  # whether its parts along the first axis are arrays, and the kernel gets pointers to them

    @property
    def nbytes(self) -> int:
        """Its size in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def reserved(self) -> int:
        """The bytes of memory that it needs, with the padding before it."""
        return self.nbytes + self.offset * self.dtype.itemsize

    def members(self) -> Iterator[tuple[str, ArraySpec]]:
        """The members of its structure, each as an array of its own."""
        fills = dict(self.fill.fills) if isinstance(self.fill, MemberFills) else {}
        for f in self.dtype.fields:
            name, fill, shape = f"{self.name}.{f.name}", fills.get(f.name, self.fill), (*self.shape, *f.shape)
            yield f.name, dataclasses.replace(self, name=name, fill=fill, dtype=f.dtype, shape=shape)

    def leaf_arrays(self) -> Iterator[ArraySpec]:
        """Itself, or the members of its structure and of theirs."""
        if not self.dtype.fields:
            yield self
        for _, member in self.members():
            yield from member.leaf_arrays()


@dataclass(frozen=True)
class PointerSpec:
    """A pointer to an element of another array, a texture object of it, a null pointer, or pointers to arrays."""

    name: str
    array: str
    index: int  # elements from the array's first one
    texture: Texture | None = None
    arrays: tuple[str, ...] = ()  # of an array of pointers; an empty name is null


@dataclass(frozen=True)
class ScalarSpec:
    """A number passed to the kernel, or the numbers of a vector or a structure."""

    name: str
    dtype: DType
    numbers: tuple[int | float | PointerSpec, ...]


@dataclass(frozen=True)
class LaunchSpec:
    """One launch of a case."""

    function: str  # empty: the program's first one
    grid: Dim3
    block: Dim3
    shared: int
    arguments: tuple[ArraySpec | ScalarSpec | PointerSpec, ...]
    part: int = 0  # the number of the source that has the function, among `Source.parts`


@dataclass(frozen=True)
class MemorySpec:
    """A memset of an array between launches, or a copy to it."""

    array: ArraySpec
    origin: ArraySpec | None  # what is copied; `None`: a memset
    value: int | float  # of a memset: of each number of an element
    of_bytes: bool  # whether `value` is that of each byte

    @property
    def pattern(self) -> bytes:
        """The shortest bytes that a memset repeats; the value must be one that the element holds."""
        if self.of_bytes:
            return bytes([int(self.value)])
        element = self.array.dtype.packed([self.value] * len(list(self.array.dtype.leaves())))
        units = (element[:n] for n in MEMSET_BYTES if element[:n] * (len(element) // n) == element)
        return next(units, element)


@dataclass(frozen=True)
class Case:
    """One combination of the parameters that a kernel reads."""

    kernel: Kernel
    parameters: tuple[tuple[str, Canonical], ...]  # in the order of the vocabulary
    seed: int  # of random inputs
    excluded: str  # why this combination cannot run; empty if it can
    grid: Dim3  # blocks in x, y, z; zeros if excluded
    block: Dim3  # threads in x, y, z; of the first launch
    shared: int  # dynamic shared memory, in bytes

    @functools.cached_property
    def id(self) -> str:
        """The case's identity: 12 hexadecimal digits of a hash."""
        # The fill c_rand is hashed by its former name, so that rows join with those of earlier versions.
        former = {new: old for old, new in FORMER_NAMES.items()}
        chosen = {n: former.get(str(v), v) for n, v in self.shown_parameters.items()}
        # A whole number has one identity, however its kind writes it.
        chosen = {n: int(v) if isinstance(v, float) and v.is_integer() else v for n, v in chosen.items()}
        text = json.dumps([self.kernel.name, chosen, self.seed], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @functools.cached_property
    def independent(self) -> dict[str, Canonical]:
        """The parameters without those whose values follow from others; a case of another size starts from them."""
        return computed.independent(self.kernel.parameters, dict(self.parameters))

    @property
    def hazard(self) -> str:
        """The CUDA rule that the case breaks on purpose, or "" if it breaks none."""
        declared = self.kernel.hazard
        return declared.reason if declared and declared.when(self.variables) else ""

    @property
    def shown_parameters(self) -> dict[str, Canonical]:
        """The parameters, without common ones at their neutral values, such as `cache=none`."""
        return {n: v for n, v in self.parameters if NEUTRAL.get(n) != v}

    @property
    def options(self) -> tuple[str, ...]:
        """The options for a GPU's compiler."""
        return options.split(str(dict(self.parameters)["compile_options"]))

    @functools.cached_property
    def variables(self) -> dict[str, Canonical]:
        """The values that expressions may use, by name: parameters, their parts (`block_x`, `rows`), and the grid."""
        x, y, z = self.grid
        grid = {"grid": x * y * z, "grid_x": x, "grid_y": y, "grid_z": z}
        return {**known_values(self.kernel, dict(self.parameters)), **grid}

    @property
    def label(self) -> str:
        """The kernel and its values, for people."""
        kinds = {p.name: p.kind for p in self.kernel.parameters}
        return " ".join(
            (self.kernel.name, *(f"{n}={value_text(kinds[n], v)}" for n, v in self.shown_parameters.items()))
        )

    def arrays(self) -> tuple[ArraySpec, ...]:
        """All arrays, `__constant__` ones included, in the kernel's order."""
        return self._arrays

    @property
    def nbytes(self) -> int:
        """The size of all arrays in bytes."""
        return sum(a.nbytes for a in self.arrays())

    @property
    def problem_size(self) -> int:
        """The product of the parameters of kind `size`; without one, the bytes of all arrays."""
        sizes = self.kernel.sizes
        return math.prod(int(self.variables[n]) for n in sizes) if sizes else self.nbytes

    @functools.cached_property
    def _arrays(self) -> tuple[ArraySpec, ...]:
        return tuple(self._array(a) for a in self.kernel.arrays)

    def arguments(self) -> tuple[ArraySpec | ScalarSpec | PointerSpec, ...]:
        """The kernel's arguments, in order."""
        passed = (a for a in self.kernel.arguments if not isinstance(a, ArrayArgument) or (a.passed and not a.constant))
        return tuple(self._argument(a, self.variables) for a in passed)

    @functools.cached_property
    def launches(self) -> tuple[LaunchSpec, ...]:
        """Its launches, in order."""
        return tuple(step for step in self.steps if isinstance(step, LaunchSpec))

    @functools.cached_property
    def steps(self) -> tuple[LaunchSpec | MemorySpec, ...]:
        """Its launches, with the memsets and copies between them, in order."""
        if not self.kernel.launches:
            return (LaunchSpec("", self.grid, self.block, self.shared, self.arguments()),)
        arrays = {a.name: a for a in self.arrays()}
        return tuple(
            MemorySpec(arrays[step.array], arrays.get(step.origin), _number(step.value, known), step.of_bytes)
            if isinstance(step, MemoryStep)
            else self._launch(step, known, arrays)
            for step, known in unroll(self.kernel.launches, self.variables)
        )

    def _launch(self, step: Step, known: Mapping[str, Canonical], arrays: Mapping[str, ArraySpec]) -> LaunchSpec:
        declared = {a.name: a for a in self.kernel.arguments}
        name, source = self._function(step.function), step.source or self.kernel.source
        return LaunchSpec(
            "" if name == self._functions[source][0] else name,
            to_dim3(step.grid, known),
            to_dim3(step.block, known) if step.block else own_block(self.kernel, dict(self.parameters)),
            int(step.shared(known)),
            tuple(arrays[n] if n in arrays else self._argument(declared[n], known) for n in step.arguments),
            list(self._functions).index(source),
        )

    def _argument(
        self, a: ArrayArgument | ScalarArgument | PointerArgument, known: Mapping[str, Canonical]
    ) -> ArraySpec | ScalarSpec | PointerSpec:
        if isinstance(a, ArrayArgument):
            return self._array(a)
        if isinstance(a, PointerArgument):
            return PointerSpec(a.name, a.array, int(a.index(known)), self._texture(a.name, a.texture), a.arrays)
        pointed = (
            PointerSpec(v.name, v.array, 0) if isinstance(v, PointerArgument) else _number(v, known) for v in a.values
        )
        return ScalarSpec(a.name, self.resolve_dtype(a.dtype), tuple(pointed))

    def source(self) -> Source:
        """The variant to compile."""
        return self._source

    @functools.cached_property
    def _source(self) -> Source:
        kernel, values = self.kernel, dict(self.parameters)
        macros = tuple((name, self._macro(e.text, e(self.variables))) for name, e in kernel.macros)
        constants = tuple(a.name for a in kernel.arrays if a.constant)
        dtypes = [DTYPES[str(values[p.name])] for p in kernel.parameters if p.kind is Kind.DTYPE]
        headers = tuple(dict.fromkeys(d.header for d in dtypes if d.header))
        parts = [
            Source(
                path, _text(path, path.stat().st_mtime_ns), first, macros, constants, headers, tuple(more),
                kernel.cooperative, kernel.include, self.options, kernel.form, kernel.libraries,
            )
            for path, (first, *more) in self._functions.items()
        ]  # fmt: skip
        if len(parts) > 1:
            parts = [dataclasses.replace(p, constants=_declared(p, constants)) for p in parts]
            known = {name for p in parts for name in p.constants}  # of the others the compiler of the first part tells
            lost = tuple(name for name in constants if name not in known)
            parts[0] = dataclasses.replace(parts[0], constants=(*parts[0].constants, *lost))
        return dataclasses.replace(parts[0], others=tuple(parts[1:]))

    @functools.cached_property
    def _functions(self) -> dict[Path, list[str]]:
        """The functions that are launched, by source; the first one gives the program its name."""
        found: dict[Path, list[str]] = {}
        for step in each_step(self.kernel.launches):
            if isinstance(step, Step):
                functions = found.setdefault(step.source or self.kernel.source, [])
                functions += {self._function(step.function)}.difference(functions)
        return found or {self.kernel.source: [self._function(())]}

    def _function(self, pieces: FunctionName) -> str:
        """A function's name in C++; without pieces the kernel's own."""
        pieces = pieces or self.kernel.function
        return "".join(p if isinstance(p, str) else self._macro(p.text, p(self.variables)) for p in pieces)

    def count(self, what: str) -> int | None:
        """The value of `bytes_read`, `operations`, `in_flight` or `depth`; `None` if the kernel does not declare it."""
        expression = getattr(self.kernel, what)
        return None if expression is None else int(expression(self.variables))

    def resolve_dtype(self, name: str) -> DType:
        """The dtype with that name, or the one that the parameter with that name selects."""
        return self.kernel.dtype(name) or DTYPES[str(dict(self.parameters)[name])]

    def _array(self, a: ArrayArgument) -> ArraySpec:
        known = self.variables
        shape, offset, lead = tuple(int(e(known)) for e in a.shape), int(a.offset(known)), int(a.lead(known))
        image = self._texture(a.name, a.image) if isinstance(a.image, DeclaredTexture) else a.image
        dtype, fill = self.resolve_dtype(a.dtype), self._fill(a.fill)
        spec = ArraySpec(
            a.name, a.role, dtype, shape, fill, offset, lead, a.constant, a.refill, image, a.passed, a.split
        )
        for column in spec.leaf_arrays():
            if not isinstance(column.fill, tuple):
                continue
            where, dtype, count = f"{self._where(column.name)}: fill", column.dtype, len(column.fill)
            if count != (needed := math.prod(dtype.host_shape(column.shape))):
                what = f"{needed} numbers for the shape {column.shape} of {dtype.name}"
                raise UsageError(f"{where}: expected {what}, not {count}")
            if wrong := [n for n in column.fill if not dtype.stores(n)]:
                raise UsageError(f"{where}: {wrong[0]} is not a valid {dtype.name}")
        return spec

    def _where(self, argument: str) -> str:
        return f"{self.kernel.yaml.name}: argument '{argument}'"

    def _texture(self, name: str, declared: DeclaredTexture | None) -> Texture | None:
        return declared.resolved(dict(self.parameters), f"{self._where(name)}: texture") if declared else None

    def _fill(self, fill: Fill | MemberFills) -> Fill | MemberFills:
        """A fill with the values of its parameters inserted."""
        if isinstance(fill, MemberFills):
            return MemberFills(tuple((name, self._fill(of)) for name, of in fill.fills))
        if isinstance(fill, Recipe):
            return fill.resolved(self.variables)
        chosen = dict(self.parameters).get(fill) if isinstance(fill, str) else None
        return chosen if isinstance(chosen, str) else fill  # a number's name may be a fill's, too

    def _macro(self, text: str, value: Any) -> str:
        """The value of a macro as C++ text: dtypes by their C++ names, masks as unsigned numbers."""
        declared = self.kernel.parameter(text)
        kind = declared.kind if declared else None
        if kind is Kind.DTYPE:
            return DTYPES[str(value)].c_name
        if kind is Kind.MASK:
            return f"{value:#010x}u"
        if isinstance(value, bool):
            return str(value).lower()
        return f"({value})" if isinstance(value, int | float) and value < 0 else str(value)


def _declared(source: Source, names: Sequence[str]) -> tuple[str, ...]:
    """Those of the names that the source or a file that it includes declares."""
    found = {name for _, file in parsed_files(source) for item in file.items for name in item.names}
    return tuple(name for name in names if name in found)


def _number(value: Expression | float, known: Mapping[str, Canonical]) -> Any:
    return value(known) if isinstance(value, Expression) else value


def to_dim3(expressions: Sequence[Expression], known: Mapping[str, Canonical]) -> Dim3:
    """Evaluate one to three expressions as x, y and z; missing ones are 1."""
    x, y, z = (*(int(e(known)) for e in expressions), 1, 1, 1)[:3]
    return x, y, z


def unroll(
    steps: Sequence[Entry], known: Mapping[str, Canonical], turns: Iterator[int] | None = None
) -> Iterator[tuple[Step | MemoryStep, Mapping[str, Canonical]]]:
    """Unroll the loops: the steps in order, each with the values that its expressions may use (loop counters too)."""
    turns = turns or itertools.count(1)
    for step in steps:
        if not isinstance(step, Loop):
            yield step, known
            continue
        for value in range(int(step.end(known))):
            if next(turns) > MAX_TURNS:  # also of loops without a launch
                raise UsageError(f"{step.end.where}: the loops have more than {MAX_TURNS:,} iterations")
            yield from unroll(step.steps, {**known, step.counter: value}, turns)


def own_block(kernel: Kernel, values: Mapping[str, Canonical]) -> Dim3:
    """The default block of the launches, in x, y, z."""
    return next((threads(values[p.name]) for p in kernel.parameters if p.kind is Kind.BLOCK), (1, 1, 1))


def known_values(kernel: Kernel, values: Mapping[str, Canonical]) -> dict[str, Canonical]:
    """The values of parameters, and of the parts of blocks and sizes, by their names in expressions."""
    return {n: v for p in kernel.parameters for n, v in variables(p.name, p.kind, values[p.name]).items()}


@functools.lru_cache(maxsize=256)
def _text(path: Path, _changed: int) -> str:
    try:
        return cache.read(path)
    except OSError as e:
        raise UsageError(f"{path}: the source cannot be read: {e}") from None
