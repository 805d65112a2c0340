"""Textures for the CPU device: descriptions that `native/cuda/texture.h` reads."""

from __future__ import annotations

import ctypes
from typing import Any

from runner.device import ADDRESSES, Texture


class Description(ctypes.Structure):
    """The C++ structure `simt::Texture`."""

    _fields_ = (
        ("texels", ctypes.c_void_p),
        ("size", ctypes.c_uint32 * 3),
        ("dimensions", ctypes.c_uint32),
        ("channels", ctypes.c_uint32),
        ("kind", ctypes.c_uint32),
        ("bytes", ctypes.c_uint32),
        ("address", ctypes.c_uint32),
        ("filters", ctypes.c_uint32),
        ("normalized_coordinates", ctypes.c_uint32),
        ("normalized_values", ctypes.c_uint32),
    )


class Handle(ctypes.Structure):
    """A texture object, and behind it the description that it is the address of."""

    _fields_ = (("value", ctypes.c_uint64), ("description", Description))


def handle(texture: Texture) -> Handle:
    """The argument that a kernel gets for a texture; it must live as long as the launch."""
    array: Any = texture.array
    mode, sizes = texture.mode, (*reversed(texture.shape), 1, 1)[:3]
    made = Handle(
        0,
        Description(
            array.pointer,
            sizes,
            0 if mode.is_memory else len(texture.shape),
            texture.channels,
            ord(texture.number.kind),
            texture.number.itemsize,
            ADDRESSES.index(mode.address),
            mode.filters,
            mode.normalized_coordinates,
            mode.normalized_values,
        ),
    )
    made.value = ctypes.addressof(made) + Handle.description.offset
    return made
