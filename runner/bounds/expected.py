"""The expected values of an output, and how far a kernel's values may be from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.errors import UsageError

Array = NDArray[Any]
# Of the elements found, shape (n,), and a mask of those that differ: the mask of those that are wrong.
Valid = Callable[[Array, Array], Array]
Bounds = tuple[Array, Array]  # the lowest and the highest values that are correct


@dataclass(frozen=True)
class ExpectedArray:
    """One output. The allowed difference of a float follows from `bounds`, else `error`, else `magnitude`.

    All arrays have the shape of the output, or broadcast to it.
    """

    values: Array  # the correct values; floats in a wider type if one exists
    magnitude: Array | None = None  # of each element, the sum of the absolute values of its terms
    defined: Array | None = None  # mask of the elements that CUDA defines; only these are compared. `None`: all
    depth: int = 1  # length of the chain of rounded operations behind each element
    error: Array | float | None = None  # of each element, the allowed absolute error; 0: exact
    granule: float | None = None  # each element is a sum of multiples of this, so it may be exact; see `grain`
    bounds: Bounds | None = None
    judge: Valid | None = None  # decides which of the differing elements are wrong: indices of equal keys are correct

    def __post_init__(self) -> None:
        error = np.asarray(0 if self.error is None else self.error)
        if error.dtype.kind in "OUSmMc" or not np.all(error >= 0):
            raise UsageError("the error of an ExpectedArray must be numbers of 0 or more")


@dataclass(frozen=True)
class Tolerance:
    """The allowed difference from the expected value: `atol + rtol * |expected|` or `ulp`, whichever is larger."""

    rtol: float = 0.0
    atol: float = 0.0
    ulp: float = 0.0  # units in the last place of the expected value, in the output's type

    def __str__(self) -> str:
        """As written in the column `tolerance`, such as `rtol=1e-05 atol=0`."""
        relative = f"rtol={self.rtol:g} atol={self.atol:g}" if self.rtol or self.atol or not self.ulp else ""
        return " ".join(filter(None, (relative, f"ulp={self.ulp:g}" if self.ulp else "")))
