"""Textures and surfaces of the CPU device: an array, and the description that the kernel's object points to."""

from __future__ import annotations

import ctypes
from typing import Any

from numpy.typing import NDArray

from runner.device import Role, Surface, Texture, View
from runner.device.cpu.memory import GuardedArray

ADDRESS_MODES = ("wrap", "clamp", "mirror", "border")
_TEXTURE, _LINEAR_MEMORY, _SURFACE = range(3)
_VECTORS = {"i1": "char", "u1": "uchar", "i2": "short", "u2": "ushort", "i4": "int", "u4": "uint"}


class Image(ctypes.Structure):
    """`simt::Image` of native/cuda/texture.h."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("size", ctypes.c_int64 * 3),
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_char_p),
        ("border", ctypes.c_uint8 * 16),
        ("address", ctypes.c_int32 * 3),
        ("bound", ctypes.c_int32),
        ("dimensions", ctypes.c_int32),
        ("kind", ctypes.c_int32),
        ("bytes", ctypes.c_int32),
        ("channels", ctypes.c_int32),
        ("linear", ctypes.c_int32),
        ("promoted", ctypes.c_int32),
        ("normalized", ctypes.c_int32),
    )


def described(array: GuardedArray, channels: int, how: Texture | Surface) -> Image:
    """What the kernel's object points to."""
    shape = array.shape if channels == 1 else array.shape[:-1]
    texture = how if isinstance(how, Texture) else Texture()
    kind, size = array.dtype.kind, array.dtype.itemsize
    word = "float" if kind == "f" or texture.promotes else _VECTORS[f"{kind}{size}"]
    bound = _SURFACE if isinstance(how, Surface) else _LINEAR_MEMORY if texture.resource == "linear" else _TEXTURE
    return Image(
        data=array.begin,
        size=(*reversed(shape), 1, 1)[:3],
        name=array.name.encode(),
        type=f"{word}{channels if channels > 1 else ''}".encode(),
        border=tuple(texture.border(kind)),
        address=tuple(ADDRESS_MODES.index(mode) for mode in texture.address_modes),
        bound=bound,
        dimensions=len(shape),
        kind=ord(kind),
        bytes=size,
        channels=channels,
        linear=texture.filter_mode == "linear",
        promoted=texture.promotes,
        normalized=texture.normalized_coords,
    )


class GuardedImage(GuardedArray):
    """An array that the kernel accesses through an object; `pointer` is that object."""

    def __init__(self, name: str, value: NDArray[Any], role: Role, channels: int, how: Texture | Surface) -> None:
        super().__init__(name, value, role)
        self.what = "texture" if isinstance(how, Texture) else "surface"
        self._image = described(self, channels, how)
        self.pointer = ctypes.addressof(self._image)


def view(array: GuardedArray, channels: int, how: Texture) -> View:
    """A texture object of an array."""
    image = described(array, channels, how)
    return View(array, ctypes.addressof(image), array.name, image)
