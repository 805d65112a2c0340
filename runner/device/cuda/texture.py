"""Textures on a GPU. PyCUDA has arrays and copies to them, but no texture objects; those are calls of the driver.

(CUDA Driver API, "Texture Object Management".)
"""

from __future__ import annotations

import contextlib
import ctypes
import math
from typing import Any

from pycuda import driver

from runner.device import ADDRESSES, Texture
from runner.device.cuda.driver_calls import call
from runner.errors import LaunchError

ARRAY, LINEAR = 0, 2  # of CUresourcetype
READ_AS_INTEGER, NORMALIZED_COORDINATES = 1, 2  # flags of CUDA_TEXTURE_DESC
FORMATS = {  # by NumPy's names
    "uint8": driver.array_format.UNSIGNED_INT8,
    "uint16": driver.array_format.UNSIGNED_INT16,
    "uint32": driver.array_format.UNSIGNED_INT32,
    "int8": driver.array_format.SIGNED_INT8,
    "int16": driver.array_format.SIGNED_INT16,
    "int32": driver.array_format.SIGNED_INT32,
    "float16": driver.array_format.HALF,
    "float32": driver.array_format.FLOAT,
}


class _Memory(ctypes.Structure):
    """A texture's memory in a line."""

    _fields_ = (
        ("pointer", ctypes.c_uint64),
        ("format", ctypes.c_int),
        ("channels", ctypes.c_uint),
        ("bytes", ctypes.c_size_t),
    )


class _Resource(ctypes.Union):
    """What a texture reads."""

    _fields_ = (("array", ctypes.c_void_p), ("memory", _Memory), ("reserved", ctypes.c_int * 32))


class _ResourceDescription(ctypes.Structure):
    """CUDA_RESOURCE_DESC."""

    _fields_ = (("type", ctypes.c_int), ("resource", _Resource), ("flags", ctypes.c_uint))


class _TextureDescription(ctypes.Structure):
    """CUDA_TEXTURE_DESC."""

    _fields_ = (
        ("address", ctypes.c_int * 3),
        ("filter", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("max_anisotropy", ctypes.c_uint),
        ("mipmap_filter", ctypes.c_int),
        ("mipmap", ctypes.c_float * 3),
        ("border", ctypes.c_float * 4),
        ("reserved", ctypes.c_int * 12),
    )


class BoundTexture:
    """A texture object over the content that an array has now.

    It reads a copy of the content, laid out by the GPU, unless it is for tex1Dfetch: that reads the array's own memory.
    """

    def __init__(self, texture: Texture) -> None:
        array: Any = texture.array
        mode, size = texture.mode, math.prod(texture.shape)
        form = FORMATS[texture.number.name]
        self._copy: driver.Array | None = None
        resource = _ResourceDescription()
        if mode.is_memory:
            resource.type = LINEAR
            nbytes = size * texture.channels * texture.number.itemsize
            resource.resource.memory = _Memory(array.pointer, int(form), texture.channels, nbytes)
        else:
            self._copy = _copied(texture, array.pointer)
            resource.type = ARRAY
            resource.resource.array = self._copy.handle
        address = ADDRESSES.index(mode.address)
        is_integer = texture.number.kind != "f" and not mode.normalized_values
        flags = READ_AS_INTEGER * is_integer + NORMALIZED_COORDINATES * mode.normalized_coordinates
        reads = _TextureDescription((address, address, address), int(mode.filters), flags)
        made = ctypes.c_uint64()
        call("cuTexObjectCreate", ctypes.byref(made), ctypes.byref(resource), ctypes.byref(reads), None)
        self.handle = made.value

    def close(self) -> None:
        """Destroy it."""
        with contextlib.suppress(LaunchError):  # after a fault there is nothing left to destroy
            call("cuTexObjectDestroy", ctypes.c_uint64(self.handle))
        if self._copy is not None:
            self._copy.free()


def _copied(texture: Texture, pointer: int) -> driver.Array:
    """A CUDA array with the content at `pointer`."""
    width, height, depth = (*reversed(texture.shape), 0, 0)[:3]
    form = driver.ArrayDescriptor3D()
    form.width, form.height, form.depth = width, height, depth
    form.format = FORMATS[texture.number.name]
    form.num_channels, form.flags = texture.channels, 0
    made = driver.Array(form)
    copy = driver.Memcpy3D()
    copy.set_src_device(pointer)
    copy.set_dst_array(made)
    copy.width_in_bytes = copy.src_pitch = width * texture.channels * texture.number.itemsize
    copy.height = copy.src_height = max(height, 1)
    copy.depth = max(depth, 1)
    copy()
    return made
