"""Fills with arguments: random numbers of a range, sparse matrices, expressions over other arrays, files.

A recipe's numbers may be expressions over the parameters; `Recipe.resolved` inserts a case's values.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.bounds.array_expression import ArrayExpression
from runner.errors import UsageError
from runner.kernel.arrays import DType, fill, random_generator
from runner.kernel.expression import Expression, Value

Array = NDArray[Any]
Number = int | float


@dataclass(frozen=True)
class Recipe:
    """A fill with arguments."""

    kind: str  # a key of `KINDS`, `expression` or `file`
    where: str  # for messages
    numbers: tuple[Expression | Number, ...] = ()
    formula: ArrayExpression | None = None
    values: tuple[tuple[str, Value], ...] = ()  # the parameters in the formula
    needed_arrays: tuple[str, ...] = ()  # from which it is made
    file: Path | None = None
    base: Fill | None = None  # the fill that a `holding` one changes

    def resolved(self, variables: Mapping[str, Value]) -> Recipe:
        """The recipe with the values of a case's parameters inserted."""
        numbers = tuple(n(variables) if isinstance(n, Expression) else n for n in self.numbers)
        if wrong := [n for n in numbers if not self._allows(n)]:
            raise UsageError(f"{self.where}: {wrong[0]} is not a number between -2**63 and 2**63")
        if self.kind == "normal" and numbers and numbers[1] < 0:
            raise UsageError(f"{self.where}: expected a mean and a deviation of 0 or more, not {numbers[1]}")
        named = self.formula.names if self.formula else ()
        values = tuple((n, variables[n]) for n in sorted(named) if n in variables)
        return dataclasses.replace(self, numbers=numbers, values=values)

    def _allows(self, number: Any) -> bool:
        """Whether a number may be one of the recipe's: infinity and NaN are contents, but no range or mean."""
        if not isinstance(number, int | float):
            return False
        return abs(number) < 2**63 or (self.kind == "constant" and not math.isfinite(number))

    @property
    def constants(self) -> tuple[Number, ...]:
        """The numbers of a resolved recipe."""
        return self.numbers  # type: ignore[return-value]

    @property
    def seeded(self) -> bool:
        """Whether the content depends on the seed."""
        return self.kind in KINDS and self.kind != "constant"

    @property
    def symmetric(self) -> bool:
        """Whether the distribution is symmetric around 0."""
        if self.kind == "range":
            return sum(self.constants) == 0
        return self.kind in ("normal", "constant") and (*self.constants, 0)[0] == 0


Fill = str | tuple[Number, ...] | Recipe


@dataclass(frozen=True)
class MemberFills:
    """The fills of a structure's members, by name."""

    fills: tuple[tuple[str, Fill | MemberFills], ...]


def leaves(fill: Fill | MemberFills) -> Iterator[Fill]:
    """The fills of an array, or of all members of its structure and of theirs."""
    if isinstance(fill, MemberFills):
        for _, member in fill.fills:
            yield from leaves(member)
    else:
        yield fill


def files(fill: Fill | MemberFills) -> list[Path]:
    """The files from which an array is filled."""
    return [leaf.file for leaf in leaves(fill) if isinstance(leaf, Recipe) and leaf.file]


def make(
    recipe: Fill, shape: tuple[int, ...], dtype: DType, seed: int, label: str, arrays: Mapping[str, Array]
) -> Array:
    """The content of an array from a resolved recipe and the arrays that it needs. UsageError if it does not fit."""
    if not isinstance(recipe, Recipe):
        return fill(recipe, shape, dtype, seed, label)
    whole = dtype.host_shape(shape)
    if recipe.file is not None:
        return np.ascontiguousarray(np.load(recipe.file, allow_pickle=False)).view(dtype.numpy)
    if recipe.formula is not None:
        found = _evaluate(recipe, whole, arrays)
    else:
        generator = random_generator(seed, label)
        if recipe.kind == "holding":
            return _mix_in(generator, make(recipe.base or "", shape, dtype, seed, label, arrays), recipe.constants)
        kinds = {**KINDS, "drawn": _draw_multiples}
        found = kinds[recipe.kind](generator, whole, dtype, recipe, arrays)
    return _convert(found, dtype, recipe)


def random_multiples(first: float, end: float, step: float, variant: int, *, distinct: bool = False) -> Fill:
    """Make a fill of random multiples of `step` in [first, end); return "" if the range has no nonzero multiple.

    Without `distinct`, no element is 0, and the first and the last element hold the extremes, in an order that depends
    on whether `variant` is even. With `distinct`, elements differ within each row, and 0 may occur.
    """
    least, most = math.ceil(first / step), math.ceil(end / step) - 1
    if least > most or least == most == 0:
        return ""
    return Recipe("drawn", "", (least, most, step, variant, int(distinct)))


def _draw_multiples(generator: np.random.Generator, shape: tuple[int, ...], _: DType, recipe: Recipe, __: Any) -> Array:
    first, last, step, variant, distinct = recipe.constants
    least, most = int(first), int(last)
    if distinct:
        return np.asarray(_distinct(generator, shape, least, most) * step)
    inner = int(most - least > 2)
    found = generator.integers(least + inner, most - inner, math.prod(shape), endpoint=True)
    found[found == 0] = 1 if most > 0 else -1
    if len(found) > 1:
        ends = (most or -1, least or 1)
        found[[0, -1]] = ends if variant % 2 else ends[::-1]
    return np.asarray(found * step).reshape(shape)


def _distinct(generator: np.random.Generator, shape: tuple[int, ...], least: int, most: int) -> Array:
    """Distinct integers; in a long array distinct at least within each row."""
    count, within = math.prod(shape), most - least + 1
    if within < count:
        rows = generator.random(shape).argsort(axis=-1)  # ties where a row is longer than the range
        return least + rows * (within // max(shape[-1], 1) or 1)
    return least + generator.permutation(count).reshape(shape) * (within // max(count, 1))


def holding(base: Fill, values: Iterable[Number]) -> Fill:
    """A fill that replaces a quarter of another fill's elements by these values."""
    return Recipe("holding", "", tuple(values), base=base)


def _mix_in(generator: np.random.Generator, content: Array, values: tuple[Number, ...]) -> Array:
    found = content.reshape(-1).copy()
    count = max(len(values), len(found) // 4)
    long = len(found) > 1 << 16  # then some are drawn twice, which is quicker
    places = generator.integers(0, len(found), count) if long else generator.permutation(len(found))[:count]
    found[places] = np.resize(generator.permutation(np.array(values)), len(places)).astype(found.dtype)
    return found.reshape(content.shape)


def _convert(found: Array, dtype: DType, recipe: Recipe) -> Array:
    """Convert numbers to the array's type. Raises UsageError if the type cannot hold one."""
    if dtype.is_float or dtype.numpy == np.bool_:
        return found.astype(dtype.numpy)
    limits = np.iinfo(dtype.numpy)
    wrong = (found < limits.min) | (found > limits.max)
    if found.dtype.kind == "f":
        wrong |= found != np.trunc(found)
    if np.any(wrong):
        raise UsageError(f"{recipe.where}: {found[wrong].flat[0]} is not a valid {dtype.name}")
    return found.astype(dtype.numpy)


def _evaluate(recipe: Recipe, shape: tuple[int, ...], arrays: Mapping[str, Array]) -> Array:
    formula = recipe.formula
    assert formula is not None  # noqa: S101
    count = int(np.prod(shape))
    places = {"index": np.arange(count).reshape(shape)}
    places |= {f"index{i}": index for i, index in enumerate(np.indices(shape, sparse=True))}
    found = np.asarray(formula({**places, **dict(recipe.values), **arrays}).value)
    try:
        return np.broadcast_to(found, shape)
    except ValueError:
        raise UsageError(f"{formula.shown} has the shape {found.shape}, the array {shape}") from None


def _uniform(generator: np.random.Generator, shape: tuple[int, ...], dtype: DType, recipe: Recipe, _: Any) -> Array:
    """Uniform random numbers in [first, second) of the recipe's numbers."""
    if not recipe.numbers:
        return fill("random", shape, dataclasses.replace(dtype, numbers=1), int(generator.integers(2**31)), "")
    first, end = recipe.constants
    if not first < end:
        raise UsageError(f"{recipe.where}: expected two numbers, the first below the second, not {first} and {end}")
    if not dtype.is_float:
        return generator.integers(first, end, shape)  # type: ignore[arg-type]
    return np.minimum(generator.uniform(first, end, shape), np.nextafter(end, first))


def _one_hot(generator: np.random.Generator, shape: tuple[int, ...], *_: Any) -> Array:
    """Rows with a 1 at a random place and 0 elsewhere."""
    found = np.zeros(shape, np.int8)
    if found.size:
        np.put_along_axis(found, generator.integers(0, shape[-1], (*shape[:-1], 1)), 1, axis=-1)
    return found


def _row_pointers(generator: np.random.Generator, shape: tuple[int, ...], _: DType, recipe: Recipe, __: Any) -> Array:
    """Row pointers of a sparse matrix (CSR) with rows of random lengths, some of which may be empty."""
    rows, (entries, longest) = shape[-1] - 1, recipe.constants
    if len(shape) != 1:
        raise UsageError(f"{recipe.where}: row_pointers needs an array of one dimension, not the shape {shape}")
    if not 0 <= entries <= rows * longest:
        raise UsageError(
            f"{recipe.where}: expected 0 to {rows * longest} entries, not {entries}: {rows} rows (the array has one "
            f"element more) of at most {longest}"
        )
    weights = generator.gamma(1.0, size=rows)  # a few long rows, many short ones
    lengths = np.minimum(np.floor(weights / weights.sum() * float(entries)), float(longest)).astype(np.int64)
    while missing := round(float(entries)) - int(lengths.sum()):
        free = np.flatnonzero(lengths < longest)
        lengths[generator.permutation(free)[:missing]] += 1
    return np.concatenate([[0], np.cumsum(lengths)])


def _columns(generator: np.random.Generator, shape: tuple[int, ...], _: DType, recipe: Recipe, arrays: Any) -> Array:
    """Column indices of a sparse matrix (CSR): distinct and sorted within each row."""
    starts, count = arrays[recipe.needed_arrays[0]].astype(np.int64), int(recipe.constants[0])
    lengths = np.diff(starts)
    if len(shape) != 1 or starts[-1] != shape[0] or lengths.min(initial=0) < 0 or lengths.max(initial=0) > count:
        raise UsageError(
            f"{recipe.where}: the rows of '{recipe.needed_arrays[0]}' have {starts[-1]} entries, up to "
            f"{lengths.max(initial=0)} each; the array has {shape[0]} elements, a row has {count} columns"
        )
    rows = [np.sort(generator.choice(count, n, replace=False)) for n in lengths]
    return np.concatenate([np.zeros(0, np.int64), *rows])


def _normal(generator: np.random.Generator, shape: tuple[int, ...], dtype: DType, recipe: Recipe, _: Any) -> Array:
    mean, deviation = recipe.constants or (0.0, 1.0)
    numbers = generator.normal(mean, deviation, shape)
    return numbers if dtype.is_float else np.rint(numbers)


KINDS: Mapping[str, Callable[..., Array]] = {
    "constant": lambda _, shape, __, recipe, ___: np.full(shape, recipe.numbers[0]),
    "range": _uniform,
    "normal": _normal,
    "sorted": lambda *of: np.sort(_uniform(*of), axis=-1),
    "one_hot": _one_hot,
    "permutation": lambda generator, shape, *_: generator.permutation(int(np.prod(shape))).reshape(shape),
    "row_pointers": _row_pointers,
    "columns": _columns,
}
NUMBERS = {"constant": 1, "range": 2, "normal": 2, "sorted": 2, "row_pointers": 2, "columns": 1}  # that each takes
WORDS = ("normal", "sorted", "one_hot", "permutation")  # those that need none


def file_mismatch(recipe: Recipe, shape: tuple[int, ...], dtype: DType) -> str:
    """Why the recipe's file does not fit an array of this shape and dtype; empty if it fits."""
    if recipe.file is None:
        return ""
    try:
        there = np.load(recipe.file, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError as e:
        raise UsageError(f"{recipe.where}: {recipe.file.name}: {e}") from None
    except Exception:  # noqa: BLE001  (NumPy raises almost any error for a damaged file, and advises to unpickle it)
        raise UsageError(f"{recipe.where}: {recipe.file.name}: not a whole file of np.save with numbers") from None
    kind = there.dtype if there.dtype.kind != "V" or there.dtype.names else np.dtype((np.void, there.dtype.itemsize))
    same = kind == dtype.numpy or (kind.kind == "V" and not kind.names and kind.itemsize == dtype.numpy.itemsize)
    if same and there.shape == dtype.host_shape(shape):
        return ""
    return (
        f"{recipe.file.name} holds {there.dtype} of the shape {there.shape}, the array is {dtype.name} of "
        f"{dtype.host_shape(shape)}"
    )
