"""Evaluates an output's expression to its expected values, with bounds of the rounding errors."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from runner.bounds.array_expression import ArrayExpression
from runner.bounds.chunked import PIECE, in_pieces
from runner.bounds.expected import ExpectedArray
from runner.bounds.intervals import Bounded
from runner.bounds.rounding import Arithmetic, least_precise

Array = NDArray[Any]
Inputs = Mapping[str, Array]
Parameters = Mapping[str, Any]
T = TypeVar("T")


def evaluate(
    expression: ArrayExpression, inputs: Inputs, parameters: Parameters, fp: Arithmetic | None = None
) -> ExpectedArray:
    """Evaluate the expression of an output.

    The result of an expression that only moves elements is cached, as the cases of a sweep share it. Elementwise
    expressions of long arrays are evaluated in chunks, on several threads.

    Args:
        expression: Over the arrays and parameters below.
        inputs: Arrays by name, of any shapes.
        parameters: Numbers and words by name.
        fp: The kernel's arithmetic; by default that of the least precise floating-point type among the arrays read.

    Returns:
        The values with their bounds, or with `error=0` if they are exact.

    Raises:
        UsageError: The expression cannot be evaluated.
    """
    read = [n for n in sorted(expression.names) if n in inputs]
    if len(read) == 1 and expression.only_moves:
        others = [(n, parameters.get(n)) for n in sorted(expression.names - set(read))]
        return cached_per_array(
            inputs[read[0]],
            f"{expression.text} {others}",
            lambda: ExpectedArray(np.asarray(expression({**parameters, **inputs}).value), error=0.0),
        )
    dtype = least_precise(*(inputs[n].dtype for n in read))
    fp = fp or (Arithmetic(dtype) if dtype else None)
    first = inputs[read[0]] if read else np.zeros(())
    if expression.elementwise and first.size > PIECE and all(inputs[n].shape == first.shape for n in read):
        return _elementwise(expression, {n: inputs[n].reshape(-1) for n in read}, parameters, fp, first.shape)
    bounded = expression({**parameters, **inputs}, fp)
    values = np.asarray(bounded.value)
    if bounded.certain:
        return ExpectedArray(values, error=0.0)
    return ExpectedArray(values, bounds=(np.asarray(bounded.low), np.asarray(bounded.high)))


def _elementwise(
    expression: ArrayExpression, flat: Inputs, parameters: Parameters, fp: Arithmetic | None, shape: tuple[int, ...]
) -> ExpectedArray:
    """Evaluate an elementwise expression of flat arrays in chunks; the result has `shape`."""

    def evaluate_chunk(chunk: slice) -> Bounded:
        return expression({**parameters, **{name: array[chunk] for name, array in flat.items()}}, fp)

    pieces = in_pieces(evaluate_chunk, len(next(iter(flat.values()))))
    values = np.concatenate([p.value for p in pieces]).reshape(shape)
    if all(p.certain for p in pieces):
        return ExpectedArray(values, error=0.0)
    low, high = (np.concatenate([getattr(p, end) for p in pieces]).reshape(shape) for end in ("low", "high"))
    return ExpectedArray(values, bounds=(low, high))


_cache: dict[int, dict[str, Any]] = {}  # by the id of the array; an entry goes when its array does


def cached_per_array(array: Array, key: str, make: Callable[[], T]) -> T:
    """The result of `make`, cached by `key` for the lifetime of a read-only array; not cached for a writable one."""
    if array.flags.writeable:
        return make()
    if id(array) not in _cache:
        _cache[id(array)] = {}
        weakref.finalize(array, _cache.pop, id(array), None)
    results = _cache[id(array)]
    if key not in results:
        results[key] = make()
    return results[key]  # type: ignore[no-any-return]
