"""Texture and surface objects, and the memory behind them: CUDA arrays, linear and pitched memory.

PyCUDA lacks texture objects, so this module calls the driver. The structures are those of cuda.h (CUDA 12 and 13).
"""

from __future__ import annotations

import ctypes
from ctypes import c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pycuda import driver

from runner.device import Array, Role, Surface, Texture, View
from runner.device.cuda.driver_calls import call
from runner.device.cuda.guard import Guard
from runner.device.cuda.program import CudaArray
from runner.errors import LaunchError

HOST, DEVICE, ARRAY = 1, 2, 3  # CUmemorytype
RESOURCES = {"array": 0, "linear": 2, "pitch2d": 3}  # CUresourcetype
ADDRESS_MODES = {"wrap": 0, "clamp": 1, "mirror": 2, "border": 3}  # CUaddress_mode
FORMATS = {"u1": 1, "u2": 2, "u4": 3, "i1": 8, "i2": 9, "i4": 10, "f2": 0x10, "f4": 0x20}  # CUarray_format
READ_AS_INTEGER, NORMALIZED_COORDINATES = 1, 2  # CU_TRSF_...
SURFACE_LDST = 2  # CUDA_ARRAY3D_SURFACE_LDST
PITCH = 512  # bytes: a multiple of every GPU's texturePitchAlignment


class ArrayDescriptor(ctypes.Structure):
    """`CUDA_ARRAY3D_DESCRIPTOR`, 40 bytes."""

    _fields_ = (
        ("size", c_size_t * 3),  # width, height, depth; 0 for a missing axis
        ("format", c_int),
        ("channels", c_uint),
        ("flags", c_uint),
    )


class Resource(ctypes.Structure):
    """`CUDA_RESOURCE_DESC`, 144 bytes; its union has the fields of pitched memory, the longest member used."""

    _fields_ = (
        ("kind", c_int),
        ("where", c_uint64),  # the array's handle, or an address
        ("format", c_int),
        ("channels", c_uint),
        ("width", c_size_t),  # texels; of linear memory: bytes
        ("height", c_size_t),
        ("pitch", c_size_t),
        ("unused", ctypes.c_uint8 * 88),
        ("flags", c_uint),
    )


class Descriptor(ctypes.Structure):
    """`CUDA_TEXTURE_DESC`, 104 bytes."""

    _fields_ = (
        ("address_mode", c_int * 3),
        ("filter_mode", c_int),
        ("flags", c_uint),
        ("anisotropy", c_uint),
        ("mipmap", c_int),
        ("mipmap_levels", c_float * 3),
        ("border", ctypes.c_uint8 * 16),
        ("unused", c_int * 12),
    )


class End(ctypes.Structure):
    """One end of a copy, in `CUDA_MEMCPY3D`: 88 bytes."""

    _fields_ = (
        ("at", c_size_t * 4),
        ("kind", c_int),
        ("host", c_void_p),
        ("device", c_uint64),
        ("array", c_void_p),
        ("unused", c_void_p),
        ("pitch", c_size_t),
        ("height", c_size_t),
    )


class Copy(ctypes.Structure):
    """`CUDA_MEMCPY3D`, 200 bytes."""

    _fields_ = (("source", End), ("target", End), ("extent", c_size_t * 3))


class CudaImage(Array):
    """An array that the kernel accesses through an object, whose handle is `pointer`.

    The memory behind it may be opaque or padded, so `_dense` is a contiguous copy for hashing, poisoning and restoring.
    """

    def __init__(
        self,
        value: NDArray[Any],
        role: Role,
        channels: int,
        access: Texture | Surface,
        stream: driver.Stream,
        guard: Guard,
    ) -> None:
        self.role, self._guard, self._stream = role, guard, stream
        self.host = np.ascontiguousarray(value)
        shape = value.shape if channels == 1 else value.shape[:-1]
        width, height, depth = (*reversed(shape), 1, 1)[:3]
        self._extent = (width * channels * value.itemsize, height, depth)  # of a copy: bytes of a row, rows, slices
        self._format = FORMATS[f"{value.dtype.kind}{value.itemsize}"], channels
        self._dense = driver.mem_alloc(value.nbytes)
        self._first = driver.mem_alloc(value.nbytes) if role is Role.INOUT else None
        self._object, self._kind = c_uint64(), "Tex" if isinstance(access, Texture) else "Surf"
        self._array = c_void_p()
        self._memory: driver.DeviceAllocation | None = None
        try:
            self._create(shape, access)
        except (LaunchError, driver.Error):
            self.free()
            raise
        self.pointer = self._object.value

    def _create(self, shape: tuple[int, ...], access: Texture | Surface) -> None:
        """Allocate and fill the memory, and create the object."""
        row, height, _ = self._extent
        texture = access if isinstance(access, Texture) else None
        resource = texture.resource if texture else "array"
        if resource == "array":
            descriptor = ArrayDescriptor((*reversed(shape), 0, 0)[:3], *self._format, 0 if texture else SURFACE_LDST)
            call("cuArray3DCreate_v2", ctypes.byref(self._array), ctypes.byref(descriptor))
            self._end = End(kind=ARRAY, array=self._array)
            self.resource = Resource(kind=RESOURCES["array"], where=self._array.value)
        else:
            pitch = row if resource == "linear" else -(-row // PITCH) * PITCH
            memory = self._memory = driver.mem_alloc(pitch * height)
            self._end = End(kind=DEVICE, device=int(memory), pitch=pitch, height=height)
            self.resource = _in_memory(resource, int(memory), self._format, shape, pitch)
        self._copy(End(kind=HOST, host=self.host.ctypes.data, pitch=row, height=height), self._end)
        if self._first is not None:
            driver.memcpy_htod(self._first, self.host)
        if texture:
            self._object = _texture_object(self.resource, texture, self.host.dtype, len(shape))
        else:
            call("cuSurfObjectCreate", ctypes.byref(self._object), ctypes.byref(self.resource))

    def read(self) -> NDArray[Any]:
        """Copy the content back."""
        result = np.empty_like(self.host)
        self._stream.synchronize()
        row, height, _ = self._extent
        self._copy(self._end, End(kind=HOST, host=result.ctypes.data, pitch=row, height=height))
        return result

    def fill_bytes(self, value: int) -> None:
        """Queue the setting of every byte on the stream."""
        driver.memset_d8_async(self._dense, value, self.host.nbytes, self._stream)
        self._copy(self._linear(self._dense), self._end, queued=True)

    def restore(self) -> None:
        """Queue a copy of the initial content on the stream."""
        if self._first is not None:
            self._copy(self._linear(self._first), self._end, queued=True)

    def digest(self) -> int:
        """A hash of the content."""
        self._copy(self._end, self._linear(self._dense), queued=True)
        return self._guard.digest(int(self._dense), self.host.nbytes)

    def free(self) -> None:
        """Destroy the object and free the memory."""
        if self._object:
            call(f"cu{self._kind}ObjectDestroy", self._object)
        if self._array:
            call("cuArrayDestroy", self._array)
        for memory in (self._memory, self._dense, self._first):
            if memory is not None:
                memory.free()

    def _linear(self, memory: driver.DeviceAllocation) -> End:
        row, height, _ = self._extent
        return End(kind=DEVICE, device=int(memory), pitch=row, height=height)

    def _copy(self, source: End, target: End, *, queued: bool = False) -> None:
        copy = ctypes.byref(Copy(source, target, self._extent))
        if queued:
            call("cuMemcpy3DAsync_v2", copy, c_void_p(self._stream.handle))
        else:
            call("cuMemcpy3D_v2", copy)


def view(array: CudaArray | CudaImage, channels: int, texture: Texture) -> View:
    """Create a texture object of an array that the kernel also accesses in another way."""
    host = array.host
    shape = host.shape if channels == 1 else host.shape[:-1]
    if isinstance(array, CudaImage):
        resource = array.resource
    else:
        form = FORMATS[f"{host.dtype.kind}{host.itemsize}"], channels
        resource = _in_memory(texture.resource, array.begin, form, shape, shape[-1] * channels * host.itemsize)
    return View(array, _texture_object(resource, texture, host.dtype, len(shape)).value, "", None)


def _in_memory(resource: str, address: int, form: tuple[int, int], shape: tuple[int, ...], pitch: int) -> Resource:
    """Describe linear or pitched memory; `pitch` is the distance of rows in bytes."""
    size = (pitch, 0, 0) if resource == "linear" else (shape[-1], shape[0], pitch)
    return Resource(RESOURCES[resource], address, *form, *size)


def _texture_object(resource: Resource, texture: Texture, dtype: np.dtype[Any], axes: int) -> c_uint64:
    """Create a texture object. One with one axis is an image of one row: border mode in y would blend the border in."""
    flags = 0 if texture.promotes or dtype.kind == "f" else READ_AS_INTEGER
    descriptor = Descriptor(
        address_mode=tuple(ADDRESS_MODES[m] for m in (*texture.address_modes[:axes], "clamp", "clamp")[:3]),
        filter_mode=texture.filter_mode == "linear",
        flags=flags | (NORMALIZED_COORDINATES if texture.normalized_coords else 0),
        border=tuple(texture.border(dtype.kind)),
    )
    handle = c_uint64()
    call("cuTexObjectCreate", ctypes.byref(handle), ctypes.byref(resource), ctypes.byref(descriptor), None)
    return handle
