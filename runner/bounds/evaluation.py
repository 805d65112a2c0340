"""From an expression and its arrays to the expected values of an output, with their bounds."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from runner.bounds.array_expression import ArrayExpression
from runner.bounds.chunked import PIECE, in_pieces
from runner.bounds.expected import ExpectedArray
from runner.bounds.rounding import Arithmetic, coarsest

Array = NDArray[Any]
Inputs = Mapping[str, Array]
Parameters = Mapping[str, Any]
T = TypeVar("T")


def evaluate(
    expression: ArrayExpression, inputs: Inputs, parameters: Parameters, how: Arithmetic | None = None
) -> ExpectedArray:
    """An output by its expression, for a kernel that computes `how`, or else in the coarsest type of the arrays.

    One that only moves elements is cached: the cases of a sweep share it.
    """
    read = [n for n in sorted(expression.names) if n in inputs]
    if len(read) == 1 and expression.only_moves:
        others = [(n, parameters.get(n)) for n in sorted(expression.names - set(read))]
        return cached_per_array(
            inputs[read[0]],
            f"{expression.text} {others}",
            lambda: ExpectedArray(np.asarray(expression({**parameters, **inputs}).value), error=0.0),
        )
    found = coarsest(*(inputs[n].dtype for n in read))
    how = how or (Arithmetic(found) if found else None)
    first = inputs[read[0]] if read else np.zeros(())
    if expression.elementwise and first.size > PIECE and all(inputs[n].shape == first.shape for n in read):
        return _elementwise(expression, {n: inputs[n].reshape(-1) for n in read}, parameters, how, first.shape)
    bounded = expression({**parameters, **inputs}, how)
    values = np.asarray(bounded.value)
    if bounded.certain:
        return ExpectedArray(values, error=0.0)
    return ExpectedArray(values, bounds=(np.asarray(bounded.low), np.asarray(bounded.high)))


def _elementwise(
    expression: ArrayExpression,
    flat: Inputs,
    parameters: Parameters,
    how: Arithmetic | None,
    shape: tuple[int, ...],
) -> ExpectedArray:
    """An output whose elements depend on those of the same place only."""
    pieces = in_pieces(
        lambda at: expression({**parameters, **{n: a[at] for n, a in flat.items()}}, how),
        len(next(iter(flat.values()))),
    )
    values = np.concatenate([p.value for p in pieces]).reshape(shape)
    if all(p.certain for p in pieces):
        return ExpectedArray(values, error=0.0)
    low, high = (np.concatenate([getattr(p, end) for p in pieces]).reshape(shape) for end in ("low", "high"))
    return ExpectedArray(values, bounds=(low, high))


_cache: dict[int, dict[str, Any]] = {}  # by the id of the array; an entry goes when its array does


def cached_per_array(array: Array, key: str, make: Callable[[], T]) -> T:
    """What `make` makes of an array, cached by `key` as long as it lives; not cached if it may be written to."""
    if array.flags.writeable:
        return make()
    if id(array) not in _cache:
        _cache[id(array)] = {}
        weakref.finalize(array, _cache.pop, id(array), None)
    results = _cache[id(array)]
    if key not in results:
        results[key] = make()
    return results[key]  # type: ignore[no-any-return]
