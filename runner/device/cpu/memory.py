"""Arrays that end at a guard page.

    | no access, 256 MiB | canary | content | canary, < 16 bytes | no access, 256 MiB |

The content ends as close to the guard as an alignment of 16 bytes permits, so an access past the end faults at once,
and the fault's address gives the element. The padding on both sides holds a pattern (the canary), which is compared
after each launch. Inputs are write-protected. A texture or surface object is a description of such an array.
"""

from __future__ import annotations

import ctypes
import mmap
import weakref
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.device import Array, Launch, MemoryProgram, Role, Surface, Texture, Value, View
from runner.device.calls import plain
from runner.device.cpu.interface import Image
from runner.errors import Hazard, OutOfMemory

ALIGNMENT = 16  # of float4, the widest access of a thread
GUARD_BYTES = 256 << 20

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

_PROT_NONE = 0
_MAP_NORESERVE = 0x4000
_MAP_FAILED = ctypes.c_void_p(-1).value


def memory_at(address: int, length: int) -> NDArray[np.uint8]:
    """The bytes at an address."""
    memory: Any = (ctypes.c_uint8 * length).from_address(address)
    return np.ctypeslib.as_array(memory)


class HostArray(Array):
    """An array in this process's memory. Subclasses set `pointer`, `_content` and `_initial`."""

    _content: NDArray[np.uint8]
    _initial: NDArray[np.uint8] | int  # the uploaded content, or the byte that fills it

    def __init__(self, value: NDArray[Any], role: Role) -> None:
        self.role = role
        self.dtype, self.size, self.shape = value.dtype, value.size, value.shape

    @property
    def content(self) -> NDArray[np.uint8]:
        """The bytes themselves."""
        return self._content

    def read(self) -> NDArray[Any]:
        """Copy the content, in the shape in which it was uploaded."""
        return self._content.view(self.dtype).reshape(self.shape).copy()

    def fill_bytes(self, value: int) -> None:
        """Set every byte to `value`."""
        self._content[:] = value

    def restore(self) -> None:
        """Restore the uploaded content."""
        self._content[:] = self._initial

    def digest(self) -> int:
        """A checksum of the content."""
        return 0 if self.role is Role.IN else zlib.crc32(self._content.data)  # inputs are write-protected


def host_view(array: GuardedArray) -> NDArray[Any]:
    """The array for a function of the host, from the pointer on that a kernel would get; inputs are read-only."""
    shape = array.shape if array.pointer == array.begin else (-1,)
    found = array.content[array.pointer - array.begin :].view(plain(array.dtype)).reshape(shape)
    found.flags.writeable = array.role is not Role.IN
    return found


class HostMemory(MemoryProgram):
    """Memsets and copies in this process's memory."""

    def queue(self, launch: Launch) -> Callable[[], object]:
        """What runs the memset or the copy."""
        array, given, _ = launch.arguments
        assert isinstance(array, HostArray)  # noqa: S101  (launches are made from arrays of this device)
        if isinstance(given, Value):
            unit = np.frombuffer(given.content, np.uint8)
            return lambda: np.copyto(array.content.reshape(-1, unit.size), unit)
        assert isinstance(given, HostArray)  # noqa: S101
        return lambda: np.copyto(array.content, given.content)


class GuardedArray(HostArray):
    """An array between guard pages; `begin` is the address of its first element.

    The kernel gets `pointer`, `lead` elements later. Guard pages and canaries fail a launch that writes outside.
    """

    def __init__(self, name: str, value: NDArray[Any], role: Role, offset: int = 0, lead: int = 0) -> None:
        if offset < 0 or lead < 0:
            raise ValueError(f"array '{name}': offset {offset} or lead {lead} is negative")
        value = np.asarray(value, order="C")
        super().__init__(value, role)
        self.name = name
        content = value.reshape(-1).view(np.uint8)
        self._initial = content.copy() if role is not Role.IN and content.any() else 0
        before = offset * value.itemsize
        self._body_bytes = max(1, -(-(before + value.nbytes) // mmap.PAGESIZE)) * mmap.PAGESIZE  # whole pages
        self._reserve()
        end = self._body + self._body_bytes
        self.origin = (end - before - value.nbytes) // ALIGNMENT * ALIGNMENT  # corresponds to a GPU's 256-byte boundary
        self.begin = self.origin + before
        self.pointer = self.begin + lead * value.itemsize
        self._tail = memory_at(self.begin + value.nbytes, end - self.begin - value.nbytes)
        self._front = memory_at(self._body, self.begin - self._body)
        self._content = memory_at(self.begin, value.nbytes)
        self._canary = role.guard_byte
        self._tail[:] = self._front[:] = self._canary
        self._content[:] = content
        if role is Role.IN:
            self._protect(mmap.PROT_READ)

    def _reserve(self) -> None:
        """Map all pages without access, then open those of the content."""
        self._total = self._body_bytes + 2 * GUARD_BYTES
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
        mapped = _libc.mmap(None, self._total, _PROT_NONE, flags, -1, 0)
        if mapped is None or mapped == _MAP_FAILED:
            raise OutOfMemory(f"no memory for array '{self.name}' of {self._body_bytes} bytes")
        self._mapped = mapped
        self._unmap = weakref.finalize(self, _libc.munmap, mapped, self._total)
        self._unmap.atexit = False  # the process ends: its memory goes with it
        self._body = mapped + GUARD_BYTES
        self._protect(mmap.PROT_READ | mmap.PROT_WRITE)

    def _protect(self, protection: int) -> None:
        if _libc.mprotect(self._body, self._body_bytes, protection):
            raise OutOfMemory(f"no memory for array '{self.name}' of {self._body_bytes} bytes")

    def free(self) -> None:
        """Unmap the memory, as garbage collection does."""
        self._content = self._tail = self._front = np.empty(0, np.uint8)
        self._unmap()

    @property
    def guards(self) -> tuple[int, int]:
        """Begin and end of the mapping, guard pages included."""
        return self._mapped, self._mapped + self._total

    def check_canaries(self) -> None:
        """Raise a `Hazard` if the kernel has written to the bytes around the content."""
        for canary, begin in ((self._front, self._body), (self._tail, self.begin + self._content.size)):
            changed = np.flatnonzero(canary != self._canary)
            if changed.size:
                element = (begin + int(changed[0]) - self.begin) // self.dtype.itemsize
                canary[:] = self._canary
                found_late = "(found after the launch, so the line is not known)"
                raise Hazard(f"out-of-bounds write of {self.describe_out_of_bounds(element)} {found_late}")

    def describe_out_of_bounds(self, index: int) -> str:
        """Describe an index outside the array, for messages."""
        return f"'{self.name}': index {index}, but it has {self.size} elements"


ADDRESS_MODES = ("wrap", "clamp", "mirror", "border")
_TEXTURE, _LINEAR_MEMORY, _SURFACE = range(3)
_VECTORS = {"i1": "char", "u1": "uchar", "i2": "short", "u2": "ushort", "i4": "int", "u4": "uint"}


def _describe(array: GuardedArray, channels: int, access: Texture | Surface) -> Image:
    """The description behind a texture or surface object."""
    shape = array.shape if channels == 1 else array.shape[:-1]
    texture = access if isinstance(access, Texture) else Texture()
    kind, size = array.dtype.kind, array.dtype.itemsize
    word = "float" if kind == "f" or texture.promotes else _VECTORS[f"{kind}{size}"]
    bound = _SURFACE if isinstance(access, Surface) else _LINEAR_MEMORY if texture.resource == "linear" else _TEXTURE
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

    def __init__(self, name: str, value: NDArray[Any], role: Role, channels: int, access: Texture | Surface) -> None:
        super().__init__(name, value, role)
        self.object_kind = "texture" if isinstance(access, Texture) else "surface"
        self._image = _describe(self, channels, access)
        self.pointer = ctypes.addressof(self._image)


def view(array: GuardedArray, channels: int, texture: Texture) -> View:
    """A texture object of an array."""
    image = _describe(array, channels, texture)
    return View(array, ctypes.addressof(image), array.name, image)
