"""Driver calls that PyCUDA lacks: cooperative launches, occupancy and graphs, in PyCUDA's current context.

In a cooperative launch all blocks of a grid are resident at once and can synchronize. PyCUDA does not expose a
function's handle, so the driver loads the cubin a second time; the kernel then uses that module's variables.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from pycuda import _pvt_struct, driver

from runner.device import Launch
from runner.errors import LaunchError, NotResident, OutOfMemory

OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY


@functools.cache
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


def call(name: str, *arguments: object) -> None:
    """Call a function of the driver. Raises LaunchError with the driver's error text."""
    status = getattr(_driver(), name)(*arguments)
    if status:
        text = ctypes.c_char_p()
        _driver().cuGetErrorString(status, ctypes.byref(text))
        kind = OutOfMemory if status == OUT_OF_MEMORY else LaunchError
        raise kind(f"{name} failed: {(text.value or b'').decode(errors='replace') or status}")


MAX_DYNAMIC_SHARED_SIZE_BYTES, PREFERRED_SHARED_MEMORY_CARVEOUT = 8, 9  # of CUfunction_attribute
CACHES = ("none", "shared", "l1", "equal")  # in the order of CUfunc_cache
COOPERATIVE = 2  # of CUlaunchAttributeID
CAPTURE_THREAD_LOCAL = 1  # of CUstreamCaptureMode: other threads' calls do not matter
END, BUFFER_POINTER, BUFFER_SIZE = 0, 1, 2  # CU_LAUNCH_PARAM_...


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute; its value is a union of 64 bytes."""

    _fields_ = (("id", ctypes.c_int), ("pad", ctypes.c_char * 4), ("value", ctypes.c_int * 16))


class _Configuration(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("attribute_count", ctypes.c_uint),
    )


class DriverModule:
    """A cubin, loaded for the lifetime of this object. Raises LaunchError if that fails."""

    def __init__(self, cubin: bytes) -> None:
        self.handle = ctypes.c_void_p()
        call("cuModuleLoadData", ctypes.byref(self.handle), cubin)
        self.close = weakref.finalize(self, _unload, self.handle)

    def variable(self, name: str) -> tuple[int, int]:
        """Address and size of a `__device__` or `__constant__` variable."""
        address, size = ctypes.c_ulonglong(), ctypes.c_size_t()
        call("cuModuleGetGlobal_v2", ctypes.byref(address), ctypes.byref(size), self.handle, name.encode())
        return address.value, size.value


class DriverFunction:
    """A function of a `DriverModule`, which it keeps loaded. Raises LaunchError if the module lacks it."""

    def __init__(self, module: DriverModule, name: str) -> None:
        self.module, self._handle = module, ctypes.c_void_p()
        call("cuModuleGetFunction", ctypes.byref(self._handle), module.handle, name.encode())

    def active_blocks(self, launch: Launch) -> int:
        """The occupancy: blocks of the launch per multiprocessor."""
        blocks, threads = ctypes.c_int(), math.prod(launch.block)
        if launch.cache.isdecimal():
            call("cuFuncSetAttribute", self._handle, PREFERRED_SHARED_MEMORY_CARVEOUT, int(launch.cache))
        else:
            call("cuFuncSetCacheConfig", self._handle, CACHES.index(launch.cache))
        call("cuFuncSetAttribute", self._handle, MAX_DYNAMIC_SHARED_SIZE_BYTES, launch.shared)
        shared = ctypes.c_size_t(launch.shared)
        call("cuOccupancyMaxActiveBlocksPerMultiprocessor", ctypes.byref(blocks), self._handle, threads, shared)
        return blocks.value

    def queue_function(self, launch: Launch, stream: int, packing: str, values: Sequence[Any]) -> Callable[[], None]:
        """Prepare a cooperative launch; the returned function queues it. Raises NotResident if not all blocks fit.

        `stream` is the stream's handle, and `packing` PyCUDA's `struct` format of the arguments' values.
        """
        processors = driver.Context.get_device().get_attribute(driver.device_attribute.MULTIPROCESSOR_COUNT)
        blocks, fit = math.prod(launch.grid), self.active_blocks(launch)
        if blocks > fit * processors:
            raise NotResident(
                f"a cooperative launch of {blocks} blocks: this GPU holds {fit * processors} of them at once, {fit} on "
                f"each of its {processors} multiprocessors"
            )
        content = _pvt_struct.pack(packing, *values)
        buffer, size = ctypes.create_string_buffer(content, len(content)), ctypes.c_size_t(len(content))
        extra = (ctypes.c_void_p * 5)(
            BUFFER_POINTER, ctypes.addressof(buffer), BUFFER_SIZE, ctypes.addressof(size), END
        )
        attribute = _Attribute(id=COOPERATIVE)
        attribute.value[0] = 1
        configuration = _Configuration(
            grid=launch.grid,
            block=launch.block,
            shared=launch.shared,
            stream=stream,
            attributes=ctypes.pointer(attribute),
            attribute_count=1,
        )
        kept_alive = (buffer, size, attribute)

        def queue(_: object = kept_alive) -> None:
            call("cuLaunchKernelEx", ctypes.byref(configuration), self._handle, None, extra)

        return queue


def _unload(module: ctypes.c_void_p) -> None:
    with contextlib.suppress(LaunchError, OSError):  # the context may be destroyed already
        call("cuModuleUnload", module)


class Graph:
    """A CUDA graph: work captured from a stream once, which one call can queue again."""

    def __init__(self, stream: int, queue: Callable[[], None]) -> None:
        """Capture the work that `queue` queues on the stream, without running it."""
        self._stream = ctypes.c_void_p(stream)
        graph, self._executable = ctypes.c_void_p(), ctypes.c_void_p()
        call("cuStreamBeginCapture_v2", self._stream, CAPTURE_THREAD_LOCAL)
        try:
            queue()
        finally:
            call("cuStreamEndCapture", self._stream, ctypes.byref(graph))
        try:
            call("cuGraphInstantiateWithFlags", ctypes.byref(self._executable), graph, ctypes.c_ulonglong(0))
        finally:
            call("cuGraphDestroy", graph)

    def launch(self) -> None:
        """Queue it."""
        call("cuGraphLaunch", self._executable, self._stream)

    def close(self) -> None:
        """Destroy it."""
        call("cuGraphExecDestroy", self._executable)
