"""Calls of the CUDA driver that PyCUDA lacks. They act on the context that PyCUDA made current in this thread."""

from __future__ import annotations

import ctypes
import functools

from runner.errors import LaunchError, OutOfMemory

OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY


@functools.cache
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


def call(name: str, *arguments: object) -> None:
    """Call a function of the driver; a `LaunchError` with its own words if it fails."""
    status = getattr(_driver(), name)(*arguments)
    if status:
        text = ctypes.c_char_p()
        _driver().cuGetErrorString(status, ctypes.byref(text))
        kind = OutOfMemory if status == OUT_OF_MEMORY else LaunchError
        raise kind(f"{name} failed: {(text.value or b'').decode(errors='replace') or status}")
