"""Functions of array expressions that work along axes: matrix products, means, softmax, sorting, gathering.

As in `runner.bounds.intervals`, each result carries the lowest and the highest value that a correct kernel may compute.
"""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.bounds.intervals import (
    Bounded,
    apply_nondecreasing,
    arithmetic_of,
    as_int,
    axis_options,
    decreasing,
    divide,
    exact,
    exact_sums,
    fits,
    magnitude_of,
    move,
    plain,
    require_integers,
    rounding,
    running_sums,
    sums,
    to_float,
    to_int,
    to_own_type,
    walk_bound,
    with_bounds,
)
from runner.bounds.rounding import grain

Array = NDArray[Any]
Product = Callable[..., Array]


def _contracted(product: Product, count: int, operands: tuple[Bounded, ...]) -> Bounded:
    """A contraction: sums of `count` products in any order, with or without a rounding of each product (FMA).

    The products have the kernel's type or a wider one, the sums the accumulator's. `product` contracts NumPy arrays,
    and is linear in each of them.
    """
    fp = arithmetic_of(*operands)
    if fp is None or all(x.whole and x.certain for x in operands):
        return exact(product(*(to_int(x.value) for x in operands)), fp)
    numbers, sums_in = [to_float(x, fp) for x in operands], fp.accumulating
    value = product(*(x.value for x in numbers))
    magnitude, terms = product(*(np.abs(x.value) for x in numbers)), np.size(value) * count
    grains = [x.grain for x in numbers if x.grain]
    if len(grains) == len(numbers):
        step, single = (math.prod(parts) for parts in zip(*grains, strict=True))
        total = exact_sums(step, value, magnitude, fp, terms, lambda: product(*(np.square(x.value) for x in numbers)))
        if total is not None and (sums_in is fp or fits((step, single), fp)):
            return to_own_type(total, fp)
    largest = [np.abs(x.value) if x.certain else np.abs(x.value) + _radius(x) for x in numbers]
    above = magnitude if all(x.certain for x in numbers) else product(*largest)
    adding = above * sums_in.summing(count, np.size(value))
    if fp.wanders(count):
        walk = walk_bound(terms, product(*(a**2 for a in largest)), value)
        adding = np.minimum(adding, sums_in.wandering(count, np.size(value), walk))
    growth = math.prod(max(1.0, float(np.max(magnitude_of(x), initial=1.0))) for x in numbers[2:])
    lost = fp.tiny * count * (len(numbers) - 1) * (growth if growth < math.inf else 1.0)
    off = (above - magnitude) + adding + above * ((len(numbers) - 1) * fp.unit * 1.01) + lost
    off = np.where(above > sums_in.largest, np.nan, off)  # a partial sum may overflow
    return to_own_type(with_bounds(value, value - off, value + off, sums_in), fp)


def _radius(x: Bounded) -> Array:
    return np.asarray(np.maximum(x.high - x.value, x.value - x.low))


def _matmul(a: Bounded, b: Bounded) -> Bounded:
    one, other = np.shape(a.value), np.shape(b.value)
    if not one or not other:
        raise TypeError("@ multiplies matrices and vectors; for a number write *")
    if one[-1] != other[-2 if len(other) > 1 else 0]:
        raise ValueError(
            f"@ sums over the last axis of {one} and {'the last but one' if len(other) > 1 else 'that'} of "
            f"{other}, which differ"
        )
    return _contracted(np.matmul, int(np.shape(a.value)[-1]), (a, b))


def _einsum(equation: Bounded, *operands: Bounded) -> Bounded:
    text = str(equation.value).replace(" ", "")
    inputs, arrow, output = text.partition("->")
    terms = inputs.split(",")
    if not arrow or "." in text or len(terms) != len(operands):
        raise ValueError(f"einsum: expected an equation of {len(operands)} arrays such as 'ij,jk->ik', not '{text}'")
    lengths: dict[str, int] = {}
    for term, x in zip(terms, operands, strict=True):
        if len(term) != np.ndim(x.value):
            raise ValueError(f"einsum: '{term}' has {len(term)} letters for an array of the shape {np.shape(x.value)}")
        lengths.update(zip(term, np.shape(x.value), strict=True))
    count = math.prod(n for letter, n in lengths.items() if letter not in output)
    return _contracted(functools.partial(np.einsum, text, optimize=True), count, operands)


def _mean(x: Bounded, axis: Any = None, keepdims: Any = None) -> Bounded:
    """A sum divided by the number of its terms. The kernel may divide the terms instead, or multiply by 1 / n."""
    fp = x.arithmetic
    x = to_float(x, fp) if fp else x
    total = sums(x, axis, keepdims)
    count = np.size(x.value) // max(np.size(total.value), 1)
    if fp is None:
        return plain(np.asarray(total.value) / count)
    mean = divide(total, to_float(plain(count, fp), fp), fp)
    if mean.certain:
        return mean
    sums_in = fp.accumulating
    adding = sums_in.summing(count, np.size(total.value)) if total.certain else 0.0  # if the terms are divided first
    magnitude = np.sum(magnitude_of(x), **axis_options(axis, keepdims)) / count
    off = magnitude * (adding + 2 * sums_in.unit) + fp.tiny * count
    return with_bounds(mean.value, mean.low - off, mean.high + off, fp)


def _prod(x: Bounded, axis: Any = None, keepdims: Any = None) -> Bounded:
    options, fp = axis_options(axis, keepdims), x.arithmetic
    if fp is None or (x.whole and x.certain):
        values = to_int(np.asarray(x.value))
        return exact(np.prod(values, dtype=values.dtype if values.dtype.kind in "iu" else None, **options), fp)
    x = to_float(x, fp)
    value = np.prod(x.value, **options)
    count = np.size(x.value) // max(np.size(value), 1)
    most = np.prod(np.maximum(magnitude_of(x), 1), **options)  # bounds every partial product
    inner = fp.accumulating
    if x.grain:
        multiples = min(x.grain[0], 1.0) ** count, float(np.max(most, initial=0))
        if multiples[0] > 0 and fits(multiples, inner):
            return to_own_type(exact(value, inner, grain(value, inner.digits) or multiples), fp)
    above, magnitude = np.prod(np.abs(x.value) + _radius(x), **options), np.abs(value)
    off = above - magnitude + above * math.expm1(count * inner.unit) + inner.tiny * count * most
    off = np.where(most > inner.largest, np.nan, off)
    return to_own_type(with_bounds(value, value - off, value + off, inner), fp)


def _extreme(name: str) -> Callable[..., Bounded]:
    """The exact maximum or minimum along axes."""
    function = getattr(np, name)

    def call(x: Bounded, axis: Any = None, keepdims: Any = None) -> Bounded:
        if axis is not None and not isinstance(axis, tuple) and np.ndim(axis.value):
            raise TypeError(f"{name} is over the elements of one array; of two arrays write {name}imum(a, b)")
        return move(x, lambda a: function(a, **axis_options(axis, keepdims)))

    return call


def _where_extreme(sign: int) -> Callable[..., Bounded]:
    """The index of the first maximum or minimum; any element whose interval may hold it is correct."""

    def call(x: Bounded, axis: Any = None) -> Bounded:
        at = as_int(axis)
        value = (np.argmax if sign > 0 else np.argmin)(x.value, axis=at)
        if x.certain:
            return exact(value, x.arithmetic)
        best, worst = (x.high, x.low) if sign > 0 else (-np.asarray(x.low), -np.asarray(x.high))
        candidates = best >= np.max(worst, axis=at, keepdims=True)
        low = np.argmax(candidates, axis=at)
        length = np.size(x.value) if at is None else np.shape(x.value)[at]
        return Bounded(value, low, length - 1 - np.argmax(np.flip(candidates, axis=at), axis=at), x.arithmetic)

    return call


def _softmax(x: Bounded, axis: Any = None) -> Bounded:
    """exp(x) / sum(exp(x)) along an axis, computed with exp or exp2, and with the maximum subtracted.

    The maximum may be a running one (online softmax), with which each term of the sum is rescaled up to once for each
    of the others. The computation has the accumulator's type.
    """
    at, own = -1 if axis is None else as_int(axis), x.arithmetic
    fp = own.accumulating if own else None
    values = np.asarray(x.value, dtype=fp.wide if fp else np.float64)
    top = np.max(values, axis=at, keepdims=True)
    shifted = values - top
    terms = np.exp(shifted)
    value = terms / np.sum(terms, axis=at, keepdims=True)
    if fp is None or own is None:
        return plain(value)
    count = np.shape(values)[at]
    radius = np.zeros(()) if x.certain else _radius(to_float(x, fp))
    lower = np.max(np.where(shifted == 0, radius, 0), axis=at, keepdims=True)  # error of the maximum
    counts = shifted + radius + lower >= 1.1 * math.log(fp.tiny) - 10  # the others underflow to 0, such as masked ones
    reach = np.max(np.where(counts, np.abs(values), 0), axis=at, keepdims=True)
    width = np.max(np.where(counts, -shifted, 0), axis=at, keepdims=True)
    one = np.ones(())
    far = np.maximum(reach, width)
    once = np.maximum(fp.error("exp", one, one), fp.error("exp", far, one)) + 2 * fp.unit
    argument = (4 * reach + 2 * width) * fp.unit  # of x * log2(e), and of the difference
    again = count if fp.depth is None else min(count, fp.depth)
    relative = 2 * once + 2 * argument + fp.summing(count, np.size(value)) + again * once + width * fp.unit
    if not x.certain:
        radius = np.where(counts, radius, 0)
        relative = relative + radius + np.max(radius, axis=at, keepdims=True)
    off = value * np.expm1(relative) + 2 * fp.tiny
    return to_own_type(with_bounds(value, np.maximum(value - off, 0), value + off, fp), own)


def _take(x: Bounded, indices: Bounded, axis: Any = None) -> Bounded:
    at = checked_indices(indices)
    return move(x, lambda a: np.take(a, at, axis=as_int(axis)))


def _subscript(x: Bounded, place: Any) -> Bounded:
    if isinstance(x, tuple) or not np.ndim(x.value):
        raise TypeError("[ ] selects elements of an array, not of a number or a tuple")
    return x[_index(place)]


def _index(place: Any) -> Any:
    """An index for NumPy from one whose numbers have bounds."""
    if isinstance(place, tuple):
        return tuple(map(_index, place))
    if isinstance(place, slice):
        return slice(as_int(place.start), as_int(place.stop), as_int(place.step))
    if isinstance(place.value, bool | np.bool_):
        raise TypeError("an index is an integer, not a truth value")
    return checked_indices(place) if np.ndim(place.value) else as_int(place)


def checked_indices(indices: Bounded) -> Array:
    """The values of exact integer indices. Raises IndexError below 0, where NumPy would count from the end."""
    values = np.asarray(indices.value)
    if not indices.certain or values.dtype.kind not in "iu":
        raise TypeError("indices must be integers, such as int(x)")
    if values.size and int(values.min()) < 0:
        raise IndexError(f"the index {values.min()} is below 0")
    return values


def _bincount(x: Bounded, bins: Bounded, weights: Bounded | None = None) -> Bounded:
    """The number of elements with each value 0 ... bins - 1, or the sums of their weights, added in any order."""
    where, count = checked_indices(x).reshape(-1), int(bins.value)
    if where.size and int(where.max()) >= count:
        raise IndexError(f"bincount: {where.max()} is not below {count}")
    counts = np.bincount(where, minlength=count)
    if weights is None:
        return exact(counts, x.arithmetic)

    def add(values: Any) -> Array:
        same = np.size(values) == where.size
        terms = to_int(np.reshape(values, -1) if same else np.broadcast_to(values, np.shape(x.value)).reshape(-1))
        totals = np.zeros(count, terms.dtype)
        np.add.at(totals, where, terms)
        return totals

    fp = arithmetic_of(x, weights)
    value = add(weights.value)
    if fp is None or (weights.whole and weights.certain):
        return exact(value, fp)
    w, sums_in = to_float(weights, fp), fp.accumulating
    magnitude = add(magnitude_of(w))
    if w.grain:
        total = exact_sums(w.grain[0], value, magnitude, fp, where.size, lambda: add(np.square(w.value)))
        if total is not None:
            return to_own_type(total, fp)
    off = magnitude * sums_in.summing(int(counts.max(initial=0)), count) + fp.tiny * counts
    off = np.where(magnitude > sums_in.largest, np.nan, off)
    return to_own_type(with_bounds(value, add(w.low) - off, add(w.high) + off, sums_in), fp)


def _joined(function: Callable[..., Array]) -> Callable[..., Bounded]:
    def call(*parts: Bounded, axis: Any = None) -> Bounded:
        at = 0 if axis is None else as_int(axis)
        return apply_nondecreasing(lambda *arrays: function(arrays, axis=at), parts)

    return call


def _windows(x: Bounded, *lengths: Bounded) -> Bounded:
    """Sliding windows of these lengths over the last axes, as further axes."""
    shape = tuple(as_int(n) for n in lengths)
    axes = tuple(range(-len(shape), 0))
    return move(x, lambda a: np.lib.stride_tricks.sliding_window_view(a, shape, axis=axes))


def _special(name: str) -> Callable[[Any], Any]:
    """A function of `scipy.special`, in double precision."""

    def call(x: Any) -> Any:
        from scipy import special  # noqa: PLC0415  (workers that do not use it start sooner)

        return getattr(special, name)(np.asarray(x, dtype=np.float64))

    return call


def _argsort(x: Bounded, axis: Any = None) -> Bounded:
    """The indices that sort the elements; a stable sort."""
    if not x.certain:
        raise TypeError("argsort of rounded numbers is not known; sort the numbers of an array")
    return exact(np.argsort(x.value, axis=-1 if axis is None else as_int(axis), kind="stable"), x.arithmetic)


def _running(function: Any) -> Callable[..., Bounded]:
    """The exact running maximum or minimum along an axis."""
    return lambda x, axis=None: move(x, lambda a: function.accumulate(a, axis=as_int(axis) or 0))


def _is_nan(x: Bounded) -> Bounded:
    return exact(np.isnan(np.asarray(x.value, np.float64)), x.arithmetic)


def _stepped(function: Callable[[Any], Any]) -> Callable[[Bounded], Bounded]:
    """A function with integer results, such as floor: exact unless the argument's interval contains a step."""

    def call(x: Bounded) -> Bounded:
        if x.whole and x.certain:
            return exact(function(to_int(np.asarray(x.value))), x.arithmetic)
        value = function(x.value)
        if x.certain:
            fp = x.arithmetic
            return exact(value, fp, grain(value, fp.digits) if fp else None)
        return Bounded(value, function(x.low), function(x.high), x.arithmetic)

    return call


def _to_int(x: Bounded) -> Bounded:
    """C++'s cast of a float to `int`, towards zero; its result may be an index.

    Raises:
        OverflowError: An element is beyond the range of `int`, or NaN.
        ValueError: A rounding may decide about an element: then a correct kernel has one of two integers.
    """
    if x.whole:
        return move(x, to_int)
    low, high = np.trunc(x.low), np.trunc(x.high)
    limits = np.iinfo(np.int32)
    if not np.all((low >= limits.min) & (high <= limits.max)):
        raise OverflowError("int: an element is beyond the range of int, or NaN")
    unsure = np.flatnonzero(np.asarray(low != high))
    if unsure.size:
        first = float(np.ravel(x.value)[unsure[0]])
        raise ValueError(
            f"int: a rounding decides about {unsure.size:,} of {np.size(low):,} elements, such as {first!r}; use "
            "inputs that are computed exactly, or compare what the kernel computes before the cast"
        )
    return exact(np.asarray(low).astype(np.int32), x.arithmetic)


_inverse: Callable[[Bounded], Bounded] = decreasing(lambda a: ~np.asarray(a))


def _invert(x: Bounded) -> Bounded:
    require_integers(x)
    return _inverse(x)


def _clipped(x: Any, least: Any, most: Any) -> Any:
    return np.minimum(np.maximum(x, least), most)


TABLE: Mapping[Any, Callable[..., Any]] = {
    ast.Subscript: _subscript, ast.MatMult: _matmul, "matmul": _matmul, "einsum": _einsum,
    "sum": sums, "cumsum": running_sums, "mean": _mean, "prod": _prod,
    "max": _extreme("max"), "min": _extreme("min"), "argmax": _where_extreme(1), "argmin": _where_extreme(-1),
    "softmax": _softmax, "take": _take, "bincount": _bincount,
    "sort": lambda x, axis=None: move(x, lambda a: np.sort(a, axis=-1 if axis is None else as_int(axis))),
    "stack": _joined(np.stack), "concatenate": _joined(np.concatenate), "windows": _windows,
    "full": lambda value, *shape: move(value, lambda a: np.full(tuple(as_int(n) for n in shape), a)),
    "rsqrt": rounding("rsqrt", lambda x: 1 / np.sqrt(x), falls=True), "erf": rounding("erf", _special("erf")),
    "erfc": rounding("erfc", _special("erfc"), falls=True), "log10": rounding("log10", np.log10),
    "cbrt": rounding("cbrt", np.cbrt), "sinh": rounding("sinh", np.sinh), "atan": rounding("atan", np.arctan),
    "asin": rounding("asin", np.arcsin), "acos": rounding("acos", np.arccos, falls=True),
    "clip": lambda x, least, most: apply_nondecreasing(_clipped, (x, least, most)),
    "sign": _stepped(np.sign), "isnan": _is_nan, ast.Invert: _invert,
    "argsort": _argsort, "cummax": _running(np.maximum), "cummin": _running(np.minimum),
    "exp2": rounding("exp2", np.exp2), "log2": rounding("log2", np.log2),
    "expm1": rounding("expm1", np.expm1), "log1p": rounding("log1p", np.log1p),
    "floor": _stepped(np.floor), "ceil": _stepped(np.ceil), "rint": _stepped(np.rint), "int": _to_int,
}  # fmt: skip
KEYWORDS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("sum", "mean", "prod", "max", "min"), ("axis", "keepdims")),
    **dict.fromkeys(
        "cumsum cummax cummin argmax argmin softmax sort argsort take stack concatenate roll flip repeat".split(),
        ("axis",),
    ),
    "bincount": ("weights",),
}
ELEMENTWISE = frozenset(
    "rsqrt erf erfc exp2 log2 log10 expm1 log1p cbrt sinh atan asin acos clip sign isnan floor ceil rint int".split()
)
SUMS = frozenset("sum cumsum mean matmul einsum softmax bincount".split())
ORDERING = frozenset("sort cumsum cummax cummin".split())
SELECTING = frozenset("max min cummax cummin argmax argmin sort argsort clip sign floor ceil rint int".split())
