"""Calls of the CUDA driver that PyCUDA does not have: occupancy, and graphs of launches.

They act on the context that PyCUDA has made current in this thread (CUDA Driver API, "Occupancy", "Graph Management").
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from runner.errors import LaunchError

MAX_DYNAMIC_SHARED_SIZE_BYTES = 8  # of CUfunction_attribute
CACHES = ("none", "shared", "l1", "equal")  # in the order of CUfunc_cache
CAPTURE_THREAD_LOCAL = 1  # of CUstreamCaptureMode: other threads' calls are none of our business


def active_blocks(cubin: bytes, function: str, threads: int, shared: int, cache: str) -> int:
    """How many blocks of a kernel fit on one multiprocessor at the same time.

    PyCUDA does not give a function's handle away, so the binary is loaded a second time.

    Args:
        cubin: The compiled kernel.
        function: Its name.
        threads: Of a block.
        shared: Dynamic shared memory of a block, in bytes.
        cache: What on-chip memory should rather be: none, shared, l1 or equal.

    Raises:
        LaunchError: if the driver cannot say.
    """
    module, handle, blocks = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
    _call("cuModuleLoadData", ctypes.byref(module), cubin)
    try:
        _call("cuModuleGetFunction", ctypes.byref(handle), module, function.encode())
        _call("cuFuncSetCacheConfig", handle, CACHES.index(cache))
        _call("cuFuncSetAttribute", handle, MAX_DYNAMIC_SHARED_SIZE_BYTES, shared)
        _call(
            "cuOccupancyMaxActiveBlocksPerMultiprocessor",
            ctypes.byref(blocks),
            handle,
            threads,
            ctypes.c_size_t(shared),
        )
    finally:
        _call("cuModuleUnload", module)
    return blocks.value


class Graph:
    """Work that was queued on a stream once, and can be queued again in one call."""

    def __init__(self, stream: int, queue: Callable[[], None]) -> None:
        """Capture what `queue` queues on the stream, instead of doing it."""
        self._stream = ctypes.c_void_p(stream)
        graph, self._executable = ctypes.c_void_p(), ctypes.c_void_p()
        _call("cuStreamBeginCapture_v2", self._stream, CAPTURE_THREAD_LOCAL)
        try:
            queue()
        finally:
            _call("cuStreamEndCapture", self._stream, ctypes.byref(graph))
        try:
            _call("cuGraphInstantiateWithFlags", ctypes.byref(self._executable), graph, ctypes.c_ulonglong(0))
        finally:
            _call("cuGraphDestroy", graph)

    def launch(self) -> None:
        """Queue it."""
        _call("cuGraphLaunch", self._executable, self._stream)

    def close(self) -> None:
        """Give it back."""
        _call("cuGraphExecDestroy", self._executable)


def _call(name: str, *arguments: object) -> None:
    driver = ctypes.CDLL("libcuda.so.1")
    status = getattr(driver, name)(*arguments)
    if status:
        text = ctypes.c_char_p()
        driver.cuGetErrorString(status, ctypes.byref(text))
        raise LaunchError(f"{name} failed: {(text.value or b'').decode(errors='replace') or status}")
