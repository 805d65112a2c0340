"""The structures that Python shares with the native code (native/runtime/interface.h, native/cuda/texture.h)."""

from __future__ import annotations

import ctypes
import enum
from ctypes import c_char_p, c_double, c_int32, c_int64, c_uint8, c_uint32, c_uint64, c_void_p
from typing import Any


class Outcome(enum.IntEnum):
    """The outcome of a launch."""

    FINISHED = 0
    VIOLATION = 1
    FAULT = 2
    TIMEOUT = 3
    FOUND = 4  # a check reported a finding
    REFUSED = 5  # the kernel does not allow the launch's shape


def _each(ctype: Any, names: str) -> list[tuple[str, Any]]:
    """Fields of one type."""
    return [(name, ctype) for name in names.split()]


class Zone(ctypes.Structure):
    """A gap between static shared variables, and the variables on both sides."""

    _fields_ = (
        *_each(c_uint64, "begin size"),
        *(("before", c_char_p), ("before_size", c_uint64)),
        *(("behind", c_char_p), ("behind_size", c_uint64)),
    )


class CheckedArray(ctypes.Structure):
    """An array that a checked launch watches."""

    _fields_ = (
        *_each(c_uint64, "begin bytes origin guard_begin guard_end"),
        ("element_bytes", c_uint32),
        *_each(c_uint8, "is_read_only has_content is_variable is_constant"),
    )


class CheckedRequest(ctypes.Structure):
    """The input and the report buffer of a checked launch."""

    _fields_ = (
        *(("arrays", ctypes.POINTER(CheckedArray)), ("array_count", c_uint64)),
        *(("shared", ctypes.POINTER(CheckedArray)), ("shared_count", c_uint64)),
        *(("out", c_void_p), ("out_capacity", c_uint64), ("out_bytes", c_uint64)),
        *_each(c_uint32, "is_first is_last most counts"),
        *(("blocks", ctypes.POINTER(c_uint64)), ("block_count", c_uint64)),
    )


class LaunchRequest(ctypes.Structure):
    """The runtime library's description of a launch."""

    _fields_ = (
        *_each(c_void_p, "kernel shared_anchor"),
        ("arguments", ctypes.POINTER(c_void_p)),
        *_each(c_uint32 * 3, "grid block"),
        *_each(c_uint64, "dynamic_shared code_begin code_end"),
        *(("printed", c_void_p), ("printed_capacity", c_uint64)),
        ("time_limit", c_double),
        *_each(c_int32, "os_threads cooperative"),
        ("order", c_uint32),
        *(("zones", ctypes.POINTER(Zone)), ("zone_count", c_uint64)),
        ("checked", ctypes.POINTER(CheckedRequest)),
    )


class Fault(ctypes.Structure):
    """The state of the kernel at a signal."""

    _fields_ = (
        *(("code_addresses", c_uint64 * 8), ("data_address", c_uint64)),
        *_each(c_int32, "signal is_write is_unaddressed in_stack_guard frees_wrongly in_shared_guard"),
        ("shared_offset", c_int64),
        *_each(c_uint32 * 3, "block thread"),
        *_each(c_uint32, "warp lane"),
        *(("last_line", c_int32), ("last_file", ctypes.c_char * 256)),
    )


class LaunchReport(ctypes.Structure):
    """The runtime library's report of a launch."""

    _fields_ = (
        *_each(c_int32, "outcome heap_was_full"),
        ("seconds", c_double),
        *_each(c_uint64, "undefined_reads printed_bytes"),
        ("fault", Fault),
        *(("message", ctypes.c_char * 2048), ("first_undefined_read", ctypes.c_char * 512)),
    )


class Image(ctypes.Structure):
    """The description behind a texture or surface object."""

    _fields_ = (
        *(("data", c_void_p), ("size", c_int64 * 3)),
        *_each(c_char_p, "name type"),
        *(("border", c_uint8 * 16), ("address", c_int32 * 3)),
        *_each(c_int32, "bound dimensions kind bytes channels linear promoted normalized"),
    )
