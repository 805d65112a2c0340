"""A kernel loaded on a GPU and its launches; driver calls that PyCUDA lacks: occupancy and graphs.

Those calls act on the context that PyCUDA made current in this thread (CUDA Driver API, "Occupancy", "Graph
Management").
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from pycuda import driver

from runner.device import Launch, Resources
from runner.errors import LaunchError

MAX_DYNAMIC_SHARED_SIZE_BYTES = 8  # of CUfunction_attribute
CACHES = ("none", "shared", "l1", "equal")  # in the order of CUfunc_cache
CAPTURE_THREAD_LOCAL = 1  # of CUstreamCaptureMode: other threads' calls do not matter


class CudaProgram:
    """A kernel's function, and the module it keeps alive."""

    def __init__(self, cubin: bytes, function: str) -> None:
        self.cubin, self.name = cubin, function
        self.module = driver.module_from_buffer(cubin)
        self.function = self.module.get_function(function)
        self.prepared: tuple[Any, ...] | None = None

    @property
    def resources(self) -> Resources:
        """As the driver reports them."""
        f = self.function
        return Resources(f.num_regs, f.shared_size_bytes, f.local_size_bytes)


def queued(launch: Launch, stream: driver.Stream) -> Callable[[], None]:
    """A function that queues the launch; preparing the kernel, which takes longer than queueing, is done here."""
    program = own(launch)
    numbers = [_packable(a) if isinstance(a, np.generic) else a for a in launch.arguments]
    types = tuple(a.dtype if isinstance(a, np.generic) else "P" for a in numbers)
    if program.prepared != (types, launch.shared, launch.cache):
        _prepare(program, types, launch)
    values = [a if isinstance(a, np.generic) else a.pointer for a in numbers]  # type: ignore[attr-defined]
    call = program.function.prepared_async_call
    return functools.partial(call, launch.grid, launch.block, stream, *values, shared_size=launch.shared)


def _prepare(program: CudaProgram, types: tuple[Any, ...], launch: Launch) -> None:
    shared = launch.shared
    program.function.prepare(list(types))
    program.function.set_cache_config(getattr(driver.func_cache, f"PREFER_{launch.cache.upper()}"))
    attribute = driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
    if shared > program.function.get_attribute(attribute):
        program.function.set_attribute(attribute, shared)  # above 48 KiB a kernel must opt in
    program.prepared = (types, shared, launch.cache)


def own(launch: Launch) -> CudaProgram:
    """The program of a launch."""
    program = launch.program
    assert isinstance(program, CudaProgram)  # noqa: S101  (launches are made from what this device loaded)
    return program


def _packable(number: np.generic) -> np.generic:
    """Half types by their bits: PyCUDA packs arguments with `struct`, which does not know bfloat16."""
    return number.view(np.uint16) if number.dtype.itemsize == 2 else number


def active_blocks(launch: Launch) -> int:
    """How many blocks of the launch fit on one multiprocessor at the same time.

    PyCUDA does not expose a function's handle, so the cubin is loaded a second time.

    Raises:
        LaunchError: if the driver cannot say.
    """
    program, (x, y, z) = own(launch), launch.block
    module, handle, blocks = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
    _call("cuModuleLoadData", ctypes.byref(module), program.cubin)
    try:
        _call("cuModuleGetFunction", ctypes.byref(handle), module, program.name.encode())
        _call("cuFuncSetCacheConfig", handle, CACHES.index(launch.cache))
        _call("cuFuncSetAttribute", handle, MAX_DYNAMIC_SHARED_SIZE_BYTES, launch.shared)
        shared = ctypes.c_size_t(launch.shared)
        _call("cuOccupancyMaxActiveBlocksPerMultiprocessor", ctypes.byref(blocks), handle, x * y * z, shared)
    finally:
        _call("cuModuleUnload", module)
    return blocks.value


class Graph:
    """Work that was captured from a stream once and can be queued again in one call."""

    def __init__(self, stream: int, queue: Callable[[], None]) -> None:
        """Capture what `queue` queues on the stream, instead of running it."""
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
        """Destroy it."""
        _call("cuGraphExecDestroy", self._executable)


def _call(name: str, *arguments: object) -> None:
    library = ctypes.CDLL("libcuda.so.1")
    status = getattr(library, name)(*arguments)
    if status:
        text = ctypes.c_char_p()
        library.cuGetErrorString(status, ctypes.byref(text))
        raise LaunchError(f"{name} failed: {(text.value or b'').decode(errors='replace') or status}")
