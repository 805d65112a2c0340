"""Element types of arrays and scalars: one name for NumPy, C++, YAML and the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class DType:
    """An element type: its names in NumPy and in C++, and its size in bytes."""

    name: str
    c_name: str
    itemsize: int

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy type."""
        return np.dtype(self.name)

    @property
    def is_float(self) -> bool:
        """Whether it holds fractions."""
        return self.numpy.kind == "f"


DTYPES: dict[str, DType] = {
    d.name: d
    for d in (
        DType("int32", "int", 4),
        DType("uint32", "unsigned int", 4),
        DType("int64", "long long", 8),
        DType("uint64", "unsigned long long", 8),
        DType("float32", "float", 4),
        DType("float64", "double", 8),
    )
}
DTYPE_ALIASES = {"int": "int32", "uint": "uint32", "unsigned": "uint32", "float": "float32", "double": "float64"}
