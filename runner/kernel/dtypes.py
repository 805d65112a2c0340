"""Element types of arrays and scalars: one name for NumPy, C++, YAML and the table.

bfloat16 is the NumPy type of ml_dtypes. On the host, an element of two numbers (`__half2`) is a last axis of length 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np


@dataclass(frozen=True)
class DType:
    """An element type.

    Attributes:
        name: The name in YAML, on the command line and in the table.
        c_name: The name in C++.
        itemsize: Bytes of an element.
        number: NumPy's name for the type of its numbers.
        numbers: Numbers of an element: 1 or 2.
        header: The CUDA header that declares it; empty for a built-in type.
    """

    name: str
    c_name: str
    itemsize: int
    number: str
    numbers: int = 1
    header: str = ""

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy type of its numbers."""
        return np.dtype(getattr(ml_dtypes, self.number)) if self.number == "bfloat16" else np.dtype(self.number)

    @property
    def is_float(self) -> bool:
        """Whether it holds fractions."""
        return is_float(self.numpy)

    def holds(self, value: int | float) -> bool:
        """Whether the type can hold a number. A float may be rounded, but must not become infinite."""
        if self.is_float:
            with np.errstate(over="ignore"):
                return bool(np.isfinite(np.float64(self.numpy.type(value))))
        limits = np.iinfo(self.numpy)
        return value == int(value) and int(limits.min) <= value <= int(limits.max)

    def host_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the NumPy array that holds elements of this type in `shape`."""
        return shape if self.numbers == 1 else (*shape, self.numbers)


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether a NumPy type holds fractions. NumPy itself does not know this of bfloat16."""
    return dtype.kind == "f" or dtype == ml_dtypes.bfloat16


DTYPES: dict[str, DType] = {
    d.name: d
    for d in (
        DType("int32", "int", 4, "int32"),
        DType("uint32", "unsigned int", 4, "uint32"),
        DType("int64", "long long", 8, "int64"),
        DType("uint64", "unsigned long long", 8, "uint64"),
        DType("float32", "float", 4, "float32"),
        DType("float64", "double", 8, "float64"),
        DType("float16", "__half", 2, "float16", 1, "cuda_fp16.h"),
        DType("bfloat16", "__nv_bfloat16", 2, "bfloat16", 1, "cuda_bf16.h"),
        DType("float16x2", "__half2", 4, "float16", 2, "cuda_fp16.h"),
        DType("bfloat16x2", "__nv_bfloat162", 4, "bfloat16", 2, "cuda_bf16.h"),
    )
}
DTYPE_ALIASES = {
    "int": "int32",
    "uint": "uint32",
    "unsigned": "uint32",
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "half2": "float16x2",
}
