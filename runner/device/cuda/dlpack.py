"""Arrays of the GPU in the form of DLPack, by which CuTe DSL, JAX, TVM, Warp and other Python libraries take them.

Source: DLPack's dlpack.h (version 0.8, which every consumer takes) and the Python specification of DLPack.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from typing import Any

import numpy as np

CUDA = 2  # kDLCUDA
_CODES = {"i": 0, "u": 1, "f": 2, "bfloat16": 4, "c": 5, "b": 6}  # DLDataTypeCode by NumPy's kind, or by name
_NAME = b"dltensor"  # of a capsule that nobody took yet


class _Tensor(Structure):
    """`DLTensor`, with its device and its type."""

    _fields_ = (
        ("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32), ("code", c_uint8),
        ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    )  # fmt: skip


class _Managed(Structure):
    """`DLManagedTensor`."""

    _fields_ = (("tensor", _Tensor), ("context", c_void_p), ("deleter", c_void_p))


_given: dict[int, tuple[_Managed, Any]] = {}
"""What consumers hold, by its address: the tensor, and the array that must live as long."""

_python = ctypes.PyDLL(None)  # its own functions, whose types other users of `ctypes.pythonapi` do not see
_python.PyCapsule_New.restype = ctypes.py_object
_python.PyCapsule_New.argtypes = (c_void_p, c_char_p, c_void_p)
_python.PyCapsule_IsValid.argtypes = (c_void_p, c_char_p)
_python.PyCapsule_GetPointer.restype = c_void_p
_python.PyCapsule_GetPointer.argtypes = (c_void_p, c_char_p)


_Callback = ctypes.CFUNCTYPE(None, c_void_p)


def _drop(address: int) -> None:
    _given.pop(address, None)


def _end(capsule: int) -> None:
    """End a capsule. One that a consumer took has another name, and the consumer calls the deleter."""
    if _python.PyCapsule_IsValid(capsule, _NAME):
        _drop(_python.PyCapsule_GetPointer(capsule, _NAME))


_DROP, _END = _Callback(_drop), _Callback(_end)  # they live as long as the process, as consumers may


def capsule(pointer: int, shape: tuple[int, ...], dtype: np.dtype[Any], device: tuple[int, int], owner: object) -> Any:
    """A contiguous array of the GPU as a capsule of the name `dltensor`.

    Args:
        pointer: Its address.
        shape: The lengths of its axes.
        dtype: The type of its elements, which is one of NumPy's or bfloat16.
        device: The kind of device, such as `CUDA`, and its number.
        owner: What must live as long as a consumer has the array.
    """
    lengths = (c_int64 * len(shape))(*shape)
    code = _CODES[dtype.name if dtype.name in _CODES else dtype.kind]
    bits = 8 * dtype.itemsize
    tensor = _Tensor(pointer, *device, len(shape), code, bits, 1, lengths, None, 0)
    managed = _Managed(tensor, None, ctypes.cast(_DROP, c_void_p))
    address = ctypes.addressof(managed)
    _given[address] = managed, (owner, lengths)
    return _python.PyCapsule_New(address, _NAME, ctypes.cast(_END, c_void_p))
