"""Cases in which equal keys may explain a wrong answer: an argsort, argmax or argmin whose indices the output hides.

`runner.bounds.tied_indices` judges the indices that a reference gives. Where it computes with them, the check avoids
equal keys in the inputs that it makes, and a mismatch says that ties may be the cause.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.bounds.tied_indices import hides_indices
from runner.kernel.arrays import part_types
from runner.kernel.branches import Branches
from runner.kernel.case import READ, Case

Array = NDArray[Any]


def opaque(case: Case) -> bool:
    """Whether the reference computes with indices instead of giving them; false for a function, as that is unknown."""
    arrays = [n for a in case.arrays() if a.role in READ for n in part_types(a.name, a.dtype)]
    return any(hides_indices(expression, arrays) for _, expression in case.kernel.expressions)


TIES = "if any of them is right, use a fill without equal numbers, such as fill: permutation"


def told(case: Case, inputs: Mapping[str, Array], found: Mapping[str, Array], expected: Mapping[str, Any]) -> str:
    """Why equal keys alone may explain a mismatch, in words; empty if they cannot.

    Args:
        case: The case.
        inputs: The arrays before the launch, by name.
        found: The outputs after the launch, by name.
        expected: The `ExpectedArray` of each output, by name.
    """
    if not isinstance(case.kernel.reference, str):
        tied = sorted(Branches(case)(inputs).tied) if opaque(case) else []
        return f"'{tied[0]}' has equal keys" if tied else ""
    read = {a.name: inputs[a.name] for a in case.arrays() if a.role in READ and a.dtype.is_whole}
    names: list[str] = []
    for name, right in expected.items():
        values = np.asarray(right.values)
        if found[name].size != values.size:
            return ""
        if np.array_equal(found[name].reshape(values.shape), values):
            continue
        if not (keys := _equal_keys(read, found[name], values)):
            return ""
        names.append(f"'{keys}' has equal elements at the expected and the found indices of '{name}'")
    return ", ".join(names)


def _equal_keys(inputs: Mapping[str, Array], found: Array, expected: Array) -> str:
    """The name of an input whose elements at the found and at the expected indices are equal, or an empty text."""
    if found.dtype.kind not in "iu" or expected.dtype.kind not in "iu":
        return ""
    found, expected = found.reshape(-1).astype(np.int64), expected.reshape(-1).astype(np.int64)
    at = np.flatnonzero(found != expected)
    f, e = found[at], expected[at]
    largest = int(max(found.max(), expected.max()))
    for name, keys in inputs.items():
        if not keys.size or (keys == keys.reshape(-1)[0]).all():  # all elements are equal
            continue
        # Candidates for the length of an indexed row: the whole array, its last axis, the largest index + 1.
        for length in (keys.size, *keys.shape[-1:], largest + 1):
            rows = keys.size // max(length, 1)
            if (
                largest >= length
                or rows * length != keys.size
                or found.size % max(rows, 1)
                or min(f.min(), e.min()) < 0
            ):
                continue
            table, row = keys.reshape(rows, length), at // (found.size // rows)
            if np.array_equal(table[row, f], table[row, e]):
                return name
    return ""
