"""Arrays of the host: element types and the contents of inputs.

bfloat16 and float8 are NumPy types of ml_dtypes. A vector (`float4`, `__half2`) or a complex number is a last axis; a
structure is a structured NumPy type. A content is determined by the fill's name, the shape, the dtype, the seed and the
array's name.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from runner.bounds.rounding import is_float


@dataclass(frozen=True)
class DType:
    """An element type: a number, a vector of numbers such as `float4`, or a structure."""

    name: str  # in YAML, on the command line and in the table
    c_name: str
    itemsize: int  # bytes
    number: str = ""  # NumPy's name for the type of its components; empty for a structure
    numbers: int = 1  # components of an element
    header: str = ""  # the CUDA header that declares it; empty for a built-in type
    alignment: int = 0  # bytes; 0: its size
    letters: str = ""  # names of a vector's components, one letter each
    fields: tuple[Field, ...] = ()  # members of a structure

    @functools.cached_property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy type of its components, or of the whole structure."""
        if not self.fields:
            return np.dtype(getattr(ml_dtypes, self.number, self.number))
        formats = [(f.dtype.numpy, f.dtype.host_shape(f.shape)) for f in self.fields]
        names, offsets = [f.name for f in self.fields], [f.offset for f in self.fields]
        return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": self.itemsize})

    @property
    def c_alignment(self) -> int:
        """Its alignment in C++."""
        return self.alignment or self.itemsize

    @property
    def is_float(self) -> bool:
        """Whether its components are floating-point numbers; false for a structure."""
        return not self.fields and is_float(self.numpy)

    @property
    def parts(self) -> tuple[str, ...]:
        """The names that an expression may use as `array.part`: members, components, or `real` and `imag`."""
        if self.fields:
            return tuple(f.name for f in self.fields)
        return COMPLEX_PARTS if self.is_complex else tuple(self.letters)

    @property
    def is_complex(self) -> bool:
        """Whether an element is a complex number."""
        return self.name.startswith("complex")

    @property
    def is_whole(self) -> bool:
        """Whether expressions may use an array of this type as a whole, without `.part`."""
        return not self.fields and not self.is_complex

    def holds(self, value: int | float) -> bool:
        """Whether the type can hold a number. A float may be rounded, but must not become infinite."""
        if self.is_float:
            with np.errstate(over="ignore"):
                return bool(np.isfinite(np.float64(self.numpy.type(value))))
        if self.numpy == np.bool_:
            return value in (0, 1)
        limits = np.iinfo(self.numpy)
        return int(limits.min) <= value <= int(limits.max) and value == int(value)

    def stores(self, value: int | float) -> bool:
        """Whether an array of the type can hold a number: as `holds`, and infinity and NaN if the type has them."""
        if math.isfinite(value):
            return self.holds(value)
        return self.is_float and str(float(self.numpy.type(value))) == str(value)

    def host_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the NumPy array that holds elements of this type in `shape`."""
        return shape if self.numbers == 1 else (*shape, self.numbers)

    def leaves(self) -> Iterator[tuple[str, DType]]:
        """The numbers of one element in order, each as its path in the element (such as `.a[1].x`) and its type."""
        if not self.fields:
            number = dataclasses.replace(self, numbers=1, itemsize=self.numpy.itemsize, name=self.number)
            yield from ((f".{part}", number) for part in self.parts) if self.numbers > 1 else [("", self)]
        for f in self.fields:
            indices = [f"[{i}]" for i in range(f.count)] or [""]
            yield from ((f".{f.name}{index}{path}", number) for index in indices for path, number in f.dtype.leaves())

    def packed(self, values: Sequence[int | float]) -> bytes:
        """The bytes of one element, in C++'s layout, from its numbers in the order of `leaves`."""
        if not self.fields:
            return np.array(values).astype(self.numpy).tobytes()
        element, remaining = bytearray(self.itemsize), iter(values)
        for f in self.fields:
            for i in range(f.count or 1):
                begin = f.offset + i * f.dtype.itemsize
                numbers = [next(remaining) for _ in f.dtype.leaves()]
                element[begin : begin + f.dtype.itemsize] = f.dtype.packed(numbers)
        return bytes(element)


@dataclass(frozen=True)
class Field:
    """A member of a structure: one element, or a C array of `count` elements."""

    name: str
    dtype: DType
    count: int  # length of the C array; 0: a single element
    offset: int  # bytes

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the C array; () for a single element."""
        return (self.count,) if self.count else ()


POINTER = DType("pointer", "void *", 8, "uint64")  # a structure's member that points to an array


def structure(name: str, members: Sequence[tuple[str, DType, int]], alignment: int = 1) -> DType:
    """A structure in C++'s layout: members at multiples of their alignment, the size a multiple of the structure's.

    A member has a name, a type, and the length of a C array or 0; `alignment` is the argument of `__align__`, in bytes.
    """
    fields: list[Field] = []
    end = 0
    for member, dtype, count in members:
        offset = -(-end // dtype.c_alignment) * dtype.c_alignment
        fields.append(Field(member, dtype, count, offset))
        end = offset + dtype.itemsize * max(count, 1)
        alignment = max(alignment, dtype.c_alignment)
    return DType(name, name, -(-end // alignment) * alignment, alignment=alignment, fields=tuple(fields))


def with_parts(arrays: Mapping[str, NDArray[Any]], types: Mapping[str, DType]) -> dict[str, NDArray[Any]]:
    """The arrays by name, and views of their parts by names such as `in.x`."""
    found = dict(arrays)
    for name, dtype in types.items():
        if name in arrays:
            found.update(_parts(name, arrays[name], dtype))
    return found


def _parts(name: str, array: NDArray[Any], dtype: DType) -> Iterator[tuple[str, NDArray[Any]]]:
    for i, part in enumerate(dtype.parts):
        yield f"{name}.{part}", array[part] if dtype.fields else array[..., i]
        if dtype.fields:
            yield from _parts(f"{name}.{part}", array[part], dtype.fields[i].dtype)


def part_types(name: str, dtype: DType) -> dict[str, DType]:
    """The types of an array and of its parts, by name."""
    found = {name: dtype}
    for field in dtype.fields:
        found.update(part_types(f"{name}.{field.name}", field.dtype))
    if not dtype.fields:
        number = dataclasses.replace(dtype, numbers=1, letters="", name=dtype.number) if dtype.parts else dtype
        found.update({f"{name}.{part}": number for part in dtype.parts})
    return found


COMPLEX_PARTS = ("real", "imag")
_MAX_ALIGNMENT = 16  # bytes: the largest alignment of a built-in vector


def _vectors() -> Iterator[DType]:
    """CUDA's vectors: their names, sizes and alignments (CUDA C++ Programming Guide, "Built-in Vector Types")."""
    for c_name, number in (
        ("char", "int8"), ("uchar", "uint8"), ("short", "int16"), ("ushort", "uint16"), ("int", "int32"),
        ("uint", "uint32"), ("longlong", "int64"), ("ulonglong", "uint64"), ("float", "float32"), ("double", "float64"),
    ):  # fmt: skip
        size = np.dtype(number).itemsize
        for n in (2, 3, 4):
            aligned = size if n == 3 else min(n * size, _MAX_ALIGNMENT)
            yield DType(f"{c_name}{n}", f"{c_name}{n}", n * size, number, n, "", aligned, "xyzw"[:n])


DTYPES = {d.name: d for d in (
    DType("int32", "int", 4, "int32"),
    DType("uint32", "unsigned int", 4, "uint32"),
    DType("int64", "long long", 8, "int64"),
    DType("uint64", "unsigned long long", 8, "uint64"),
    DType("float32", "float", 4, "float32"),
    DType("float64", "double", 8, "float64"),
    DType("float16", "__half", 2, "float16", 1, "cuda_fp16.h"),
    DType("bfloat16", "__nv_bfloat16", 2, "bfloat16", 1, "cuda_bf16.h"),
    DType("float16x2", "__half2", 4, "float16", 2, "cuda_fp16.h", 4, "xy"),
    DType("bfloat16x2", "__nv_bfloat162", 4, "bfloat16", 2, "cuda_bf16.h", 4, "xy"),
    DType("int8", "signed char", 1, "int8"),
    DType("uint8", "unsigned char", 1, "uint8"),
    DType("int16", "short", 2, "int16"),
    DType("uint16", "unsigned short", 2, "uint16"),
    DType("bool", "bool", 1, "bool"),
    DType("float8_e4m3", "__nv_fp8_e4m3", 1, "float8_e4m3fn", 1, "cuda_fp8.h"),
    DType("float8_e5m2", "__nv_fp8_e5m2", 1, "float8_e5m2", 1, "cuda_fp8.h"),
    DType("complex64", "float2", 8, "float32", 2),
    DType("complex128", "double2", 16, "float64", 2),
    *_vectors(),
)}  # fmt: skip
NUMBERS = tuple(d.name for d in DTYPES.values() if d.numbers == 1)
DTYPE_ALIASES = {
    "int": "int32", "uint": "uint32", "unsigned": "uint32", "float": "float32", "double": "float64", "half": "float16",
    "half2": "float16x2",
}  # fmt: skip


def fill(
    name: str | tuple[int | float, ...], shape: tuple[int, ...], dtype: DType, seed: int, label: str
) -> NDArray[Any]:
    """The content of an array of `shape` elements, in the shape `dtype.host_shape(shape)`: a fill, or the numbers.

    The label is the array's name, so that two arrays of a kernel get different random numbers.
    """
    whole = dtype.host_shape(shape)
    if not isinstance(name, str):
        return np.array([dtype.numpy.type(n) for n in name]).reshape(whole)
    make = FILLS.get(name) or _EXACT_FILLS[name]
    return make(int(np.prod(whole)), dtype.numpy, seed, label).reshape(whole)


MAX_CACHED_BYTES = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 16
MAX_CACHED = 1024  # a sweep may have thousands of sizes
_cache: dict[tuple[Any, ...], NDArray[Any]] = {}  # least recently used first


def cached(key: tuple[Any, ...], make: Callable[[], NDArray[Any]]) -> NDArray[Any]:
    """The result of `make`, cached by `key` and read-only, as the cases of a sweep share it."""
    content = _cache.pop(key, None)
    if content is None:
        content = make()
        content.setflags(write=False)
    most = MAX_CACHED_BYTES - content.nbytes
    while _cache and (len(_cache) >= MAX_CACHED or sum(a.nbytes for a in _cache.values()) > most):
        del _cache[next(iter(_cache))]
    _cache[key] = content
    return content


def glibc_rand(count: int) -> NDArray[np.uint32]:
    """The first `count` numbers of C's `rand()` without `srand`, as in the GNU C library.

    The additive feedback generator is r[i] = r[i-3] + r[i-31] modulo 2**32, and `rand` returns r[i] >> 1. The
    recurrence is linear: x**m reduced by its characteristic polynomial gives r[i+m] from 31 neighbours of r[i]. So 31
    multiplications of whole vectors double the known part of the sequence.
    """
    known = _glibc_start()
    step = np.zeros(_ORDER, np.uint32)  # x**1
    step[1] = 1
    power = 1
    while len(known) < count + _SKIPPED:
        while 2 * power + _ORDER <= len(known):
            step, power = _multiply(step, step), 2 * power
        known = np.concatenate([known, _extend(known, step, power)])
    return known[_SKIPPED : _SKIPPED + count] >> np.uint32(1)


def _extend(known: NDArray[np.uint32], step: NDArray[np.uint32], power: int) -> NDArray[np.uint32]:
    """The next numbers: r[i + power] for the last i whose 31 neighbours are all known."""
    first, last = len(known) - power, len(known) - _ORDER + 1
    more = np.zeros(last - first, np.uint32)
    term = np.empty(_BLOCK, np.uint32)
    for begin in range(first, last, _BLOCK):  # blocks that fit into the processor's cache
        piece = more[begin - first : begin - first + _BLOCK]
        for k in np.flatnonzero(step):
            np.multiply(known[begin + k : begin + k + len(piece)], step[k], out=term[: len(piece)])
            piece += term[: len(piece)]
    return more


_BLOCK = 1 << 15
_ORDER = 31
_SKIPPED = 310 + 34 - 3  # srandom() discards 310 values, after 34 initial ones of which 31 are kept


def _glibc_start() -> NDArray[np.uint32]:
    """The first values after srandom(1): a Lehmer generator's, continued by the recurrence.

    The library's first three values do not follow the recurrence and are left out.
    """
    r = [1]
    for _ in range(30):
        r.append(16807 * r[-1] % 2147483647)
    r += r[:3]
    for i in range(34, 256):
        r.append((r[i - 3] + r[i - 31]) & 0xFFFFFFFF)
    return np.array(r[3:], np.uint32)


def _multiply(a: NDArray[np.uint32], b: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The product of two polynomials modulo x**31 - x**28 - 1, coefficients modulo 2**32."""
    product = np.zeros(2 * _ORDER - 1, np.uint32)
    for i in range(_ORDER):
        product[i : i + _ORDER] += a[i] * b
    for i in range(2 * _ORDER - 2, _ORDER - 1, -1):
        product[[i - 3, i - 31]] += product[i]  # as arrays, which wrap silently; NumPy's scalars warn
    return product[:_ORDER].copy()


def random_generator(seed: int, label: str) -> np.random.Generator:
    """The generator for the array of this name."""
    return np.random.default_rng([seed, zlib.crc32(label.encode())])


def _random(count: int, dtype: np.dtype[Any], seed: int, label: str) -> NDArray[Any]:
    """Integers over their whole range, floats in [-1, 1)."""
    generator = random_generator(seed, label)
    if is_float(dtype):
        return generator.uniform(-1.0, 1.0, count).astype(dtype)
    if dtype == np.bool_:
        return generator.integers(0, 2, count).astype(dtype)
    limits = np.iinfo(dtype)
    return generator.integers(limits.min, limits.max, count, dtype, endpoint=True)


FILLS: dict[str, Callable[[int, np.dtype[Any], int, str], NDArray[Any]]] = {
    "zeros": lambda count, dtype, *_: np.zeros(count, dtype),
    "ones": lambda count, dtype, *_: np.ones(count, dtype),
    "index": lambda count, dtype, *_: np.arange(count, dtype=np.int64).astype(dtype),
    "count": lambda count, dtype, *_: np.arange(1, count + 1, dtype=np.int64).astype(dtype),
    "reverse": lambda count, dtype, *_: np.arange(count - 1, -1, -1, dtype=np.int64).astype(dtype),
    "c_rand": lambda count, dtype, *_: (glibc_rand(count) & np.uint32(0xFF)).astype(dtype),
    "random": _random,
    "random_bytes": lambda count, dtype, *of: random_generator(*of).integers(0, 256, count).astype(dtype),
}


def _exact(levels: int, *, signed: bool) -> Callable[[int, np.dtype[Any], int, str], NDArray[Any]]:
    """A fill of nonzero numbers: multiples of 1 / levels up to 1 with random signs, or integers up to levels.

    Kernels tend to lose the first or last element, so one of them is the unique maximum or minimum; the seed decides
    which. Bits 32 and 33 of the seed choose a variant: of four signed contents with quarters, the second is all
    positive and the last all negative, so that a mean is far from 0, and an accumulator that starts at 0 instead of the
    first element shows.
    """

    def make(count: int, dtype: np.dtype[Any], seed: int, label: str) -> NDArray[Any]:
        generator = random_generator(seed, label)
        numbers = generator.integers(1, max(levels - 1, 1), count, np.int8, endpoint=True)
        variant = (seed >> 32) % 4
        mixed = signed and (variant % 2 == 1 or levels < 4)
        if mixed:
            numbers *= 1 - 2 * generator.integers(0, 2, count, np.int8)
        if count > 1:
            other = -1 if mixed else 1
            ends = (levels, other * max(levels - 1, 1))
            numbers[0], numbers[-1] = ends if variant in (1, 3 if signed else 0) else ends[::-1]
        if signed:
            numbers *= 1 if variant in (1, 2) else -1
        elif variant % 2 == 0:
            numbers = np.asarray(levels + 1 - numbers, np.int8)
        return (numbers.astype(np.float32) / (levels if signed else 1)).astype(dtype)

    return make


_EXACT_FILLS = {
    **{f"exact_signed_{n}": _exact(n, signed=True) for n in (1, 2, 4)},
    **{f"exact_positive_{n}": _exact(n, signed=False) for n in (1, 2, 3)},
}
COUNTING = ("index", "count", "reverse")  # fills whose largest number grows with the array
FORMER_NAMES = {"seed_rand": "c_rand"}  # accepted in YAMLs of earlier versions
