"""The expected values of an output, and by how much a kernel's may differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.errors import UsageError

Array = NDArray[Any]
Valid = Callable[[Array, Array], Array]  # which elements are wrong, of the elements found and of those that differ
Bounds = tuple[Array, Array]  # the lowest and the highest values that are right


@dataclass(frozen=True)
class ExpectedArray:
    """One output. What a kernel's float may differ by follows from `bounds`, else `error`, else `magnitude`."""

    values: Array  # the right values; floats in a wider type where there is one
    magnitude: Array | None = None  # of each element, the sum of the absolute values that it was made from
    defined: Array | None = None  # the elements that CUDA defines; only they are compared. `None`: all
    depth: int = 1  # rounded operations in a chain in each element
    error: Array | float | None = None  # of each element, how far a right result may be from the value; 0: exact
    granule: float | None = None  # each element is a sum of multiples of this, so it may be exact; see `grain`
    bounds: Bounds | None = None
    judge: Valid | None = None  # which of the elements that differ are wrong: indices of equal keys are not

    def __post_init__(self) -> None:
        error = np.asarray(0 if self.error is None else self.error)
        if error.dtype.kind in "OUSmMc" or not np.all(error >= 0):
            raise UsageError("the error of an ExpectedArray must be numbers of 0 or more")


@dataclass(frozen=True)
class Tolerance:
    """How far an output may be from the expected value: by `atol + rtol * |expected|`, or by `ulp`."""

    rtol: float = 0.0
    atol: float = 0.0
    ulp: float = 0.0  # units in the last place of the expected value, in the output's type

    def __str__(self) -> str:
        """As the column `tolerance` has it, such as `rtol=1e-05 atol=0`."""
        relative = f"rtol={self.rtol:g} atol={self.atol:g}" if self.rtol or self.atol or not self.ulp else ""
        return " ".join(filter(None, (relative, f"ulp={self.ulp:g}" if self.ulp else "")))
