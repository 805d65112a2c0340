"""Contents of input arrays. Each follows from the fill's name, the shape, the dtype, the seed and the array's name."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.kernel.dtypes import DType, is_float


def fill(
    name: str | tuple[int | float, ...], shape: tuple[int, ...], dtype: DType, seed: int, label: str
) -> NDArray[Any]:
    """Make the content of one array.

    Args:
        name: One of `FILLS`, or the numbers themselves.
        shape: The array's, in elements; an element of two numbers takes two of the fill's values.
        dtype: The type of its elements.
        seed: The sweep's; only `random` depends on it.
        label: The array's name: two arrays of a kernel get different random numbers.

    Returns:
        A C-contiguous array.
    """
    whole = dtype.host_shape(shape)
    if not isinstance(name, str):
        return np.array([dtype.numpy.type(n) for n in name]).reshape(whole)
    return FILLS[name](int(np.prod(whole)), dtype.numpy, seed, label).reshape(whole)


CACHED_BYTES = 4 << 30
_cache: dict[tuple[Any, ...], NDArray[Any]] = {}  # least recently used first


def cached_fill(
    name: str | tuple[int | float, ...], shape: tuple[int, ...], dtype: DType, seed: int, label: str
) -> NDArray[Any]:
    """`fill`, cached: the cases of a sweep share their inputs, which take long to make.

    Returns:
        A read-only array.
    """
    key = (name, shape, dtype, seed, label)
    content = _cache.pop(key, None)
    if content is None:
        content = fill(name, shape, dtype, seed, label)
        content.setflags(write=False)
    while _cache and sum(a.nbytes for a in _cache.values()) + content.nbytes > CACHED_BYTES:
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
            step, power = _times(step, step), 2 * power
        known = np.concatenate([known, _further(known, step, power)])
    return known[_SKIPPED : _SKIPPED + count] >> np.uint32(1)


def _further(known: NDArray[np.uint32], step: NDArray[np.uint32], power: int) -> NDArray[np.uint32]:
    """The next numbers: r[i + power] for the last i whose 31 neighbours are all known."""
    first, last = len(known) - power, len(known) - _ORDER + 1
    more = np.zeros(last - first, np.uint32)
    term = np.empty(_BLOCK, np.uint32)
    for begin in range(first, last, _BLOCK):  # pieces that fit into the processor's cache
        piece = more[begin - first : begin - first + _BLOCK]
        for k in np.flatnonzero(step):
            np.multiply(known[begin + k : begin + k + len(piece)], step[k], out=term[: len(piece)])
            piece += term[: len(piece)]
    return more


_BLOCK = 1 << 15
_ORDER = 31
_SKIPPED = 310 + 34 - 3  # srandom() discards 310 values, after 34 initial ones of which 31 are kept


def _glibc_start() -> NDArray[np.uint32]:
    """The first values after srandom(1): those of a Lehmer generator, then some by the recurrence.

    The first three values of the library do not follow the recurrence and are left out.
    """
    r = [1]
    for _ in range(30):
        r.append(16807 * r[-1] % 2147483647)
    r += r[:3]
    for i in range(34, 256):
        r.append((r[i - 3] + r[i - 31]) & 0xFFFFFFFF)
    return np.array(r[3:], np.uint32)


def _times(a: NDArray[np.uint32], b: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The product of two polynomials modulo x**31 - x**28 - 1, coefficients modulo 2**32."""
    product = np.zeros(2 * _ORDER - 1, np.uint32)
    for i in range(_ORDER):
        product[i : i + _ORDER] += a[i] * b
    for i in range(2 * _ORDER - 2, _ORDER - 1, -1):
        product[[i - 3, i - 31]] += product[i]  # as arrays, which wrap silently; NumPy's scalars warn
    return product[:_ORDER].copy()


def _zeros(count: int, dtype: np.dtype[Any], _seed: int, _label: str) -> NDArray[Any]:
    return np.zeros(count, dtype)


def _ones(count: int, dtype: np.dtype[Any], _seed: int, _label: str) -> NDArray[Any]:
    return np.ones(count, dtype)


def _index(count: int, dtype: np.dtype[Any], _seed: int, _label: str) -> NDArray[Any]:
    return np.arange(count, dtype=np.int64).astype(dtype)


def _count(count: int, dtype: np.dtype[Any], _seed: int, _label: str) -> NDArray[Any]:
    return np.arange(1, count + 1, dtype=np.int64).astype(dtype)


def _reverse(count: int, dtype: np.dtype[Any], _seed: int, _label: str) -> NDArray[Any]:
    return np.arange(count - 1, -1, -1, dtype=np.int64).astype(dtype)


def _c_rand(count: int, dtype: np.dtype[Any], _seed: int, _label: str) -> NDArray[Any]:
    return (glibc_rand(count) & np.uint32(0xFF)).astype(dtype)


def _random(count: int, dtype: np.dtype[Any], seed: int, label: str) -> NDArray[Any]:
    generator = np.random.default_rng([seed, zlib.crc32(label.encode())])
    if is_float(dtype):
        return generator.uniform(-1.0, 1.0, count).astype(dtype)
    limits = np.iinfo(dtype)
    return generator.integers(limits.min, limits.max, count, dtype, endpoint=True)


# index: 0, 1, 2, ...; count: 1, 2, 3, ...; reverse: n-1, ..., 1, 0; c_rand: `rand() & 0xff` without `srand`, 0 to 255;
# random: depends on the seed, integers over their whole range, floats in [-1, 1)
FILLS: dict[str, Callable[[int, np.dtype[Any], int, str], NDArray[Any]]] = {
    "zeros": _zeros,
    "ones": _ones,
    "index": _index,
    "count": _count,
    "reverse": _reverse,
    "c_rand": _c_rand,
    "random": _random,
}
COUNTING = ("index", "count", "reverse")  # the largest number grows with the array
FORMER_NAMES = {"seed_rand": "c_rand"}  # still understood
