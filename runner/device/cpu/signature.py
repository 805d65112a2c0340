"""A kernel's parameters, read from its C++ type, and whether arguments fit them."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from runner.device.cpu.memory import GuardedArray
from runner.errors import LaunchError

_NAMES = {
    "b1": "bool",
    "i1": "signed char",
    "u1": "unsigned char",
    "i2": "short",
    "u2": "unsigned short",
    "i4": "int",
    "u4": "unsigned",
    "i8": "long long",
    "u8": "unsigned long long",
    "f2": "__half",
    "f4": "float",
    "f8": "double",
    "v0": "void",
}
# Types that are structures in C++, and the elements of which they consist.
_ELEMENTS = {
    "__half": "__half",
    "__half2": "__half",
    "__nv_bfloat16": "__nv_bfloat16",
    "__nv_bfloat162": "__nv_bfloat16",
}
_SPELLED = re.compile(r"\bT = (.*)\]$")


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel.

    Attributes:
        is_pointer: Whether it takes an array.
        is_const: Whether it points to constant data.
        kind: NumPy's letter for the type (for a pointer, of the element); `s` for a structure, `v` for void.
        size: Bytes of the type.
        type_name: The type in C++.
    """

    is_pointer: bool
    is_const: bool
    kind: str
    size: int
    type_name: str

    def __str__(self) -> str:
        return f"{'const ' * self.is_const}{self.type_name}{' *' * self.is_pointer}"

    def accepts(self, dtype: np.dtype[Any]) -> bool:
        """Whether the kernel expects elements of this NumPy type."""
        if self.type_name in _ELEMENTS:
            alone = self.is_pointer or self.size == dtype.itemsize  # a pair by value cannot come from NumPy
            return alone and _dtype_name(dtype) == _ELEMENTS[self.type_name]
        if self.kind in "vp" or (self.kind == "s" and self.is_pointer):
            return True  # any element type is possible, such as float4 over an array of float
        if self.size != dtype.itemsize:
            return False
        return self.kind == "s" or self.size == 1 or self.kind == dtype.kind


def parse(description: str) -> tuple[Parameter, ...]:
    """Read what `simt::Kernel::signature` wrote."""
    parameters = []
    for line in description.splitlines():
        form, constness, kind, size, spelling = line.split(" ", 4)
        found = _SPELLED.search(spelling)
        name = _NAMES.get(kind + size) or (found[1] if found else f"{size}-byte structure")
        parameters.append(Parameter(form == "pointer", constness == "const", kind, int(size), name))
    return tuple(parameters)


def _dtype_name(dtype: np.dtype[Any]) -> str:
    if dtype.name == "bfloat16":  # of the package ml_dtypes; NumPy sees two bytes of no kind
        return "__nv_bfloat16"
    return _NAMES.get(f"{dtype.kind}{dtype.itemsize}", str(dtype))


def pack(function: str, parameters: Sequence[Parameter], arguments: Sequence[Any]) -> list[ctypes.Array[Any]]:
    """Pack the arguments, one buffer each.

    Raises:
        LaunchError: if they do not match the kernel's parameters.
    """
    if len(parameters) != len(arguments):
        types = ", ".join(map(str, parameters))
        plural = "" if len(parameters) == 1 else "s"
        raise LaunchError(
            f"{function} takes {len(parameters)} argument{plural} ({types}), the experiment passes {len(arguments)}"
        )
    return [
        _pack_one(f"{function}: argument {number}", parameter, argument)
        for number, (parameter, argument) in enumerate(zip(parameters, arguments, strict=True), start=1)
    ]


def _pack_one(what: str, parameter: Parameter, argument: Any) -> ctypes.Array[Any]:
    if isinstance(argument, GuardedArray):
        given = f"the array '{argument.name}' of {_dtype_name(argument.dtype)}"
        if not parameter.is_pointer or not parameter.accepts(argument.dtype):
            raise LaunchError(f"{what} is '{parameter}', the experiment passes {given}")
        if argument.freed:
            raise LaunchError(f"{what}: the array '{argument.name}' has been freed")
        return ctypes.create_string_buffer(argument.pointer.to_bytes(8, "little"), 8)
    if not isinstance(argument, np.generic):
        raise LaunchError(f"{what} is '{parameter}', the experiment passes a {type(argument).__name__}")
    if parameter.is_pointer or not parameter.accepts(argument.dtype):
        raise LaunchError(
            f"{what} is '{parameter}', the experiment passes a scalar of type {_dtype_name(argument.dtype)}"
        )
    return ctypes.create_string_buffer(argument.tobytes(), argument.nbytes)
