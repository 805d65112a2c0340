"""The runtime library's interface (native/runtime/interface.h) for ctypes."""

from __future__ import annotations

import ctypes
import enum


class Outcome(enum.IntEnum):
    """How a launch ended."""

    FINISHED = 0
    VIOLATION = 1
    FAULT = 2
    TIMEOUT = 3


class LaunchRequest(ctypes.Structure):
    """What to launch."""

    _fields_ = (
        ("kernel", ctypes.c_void_p),
        ("shared_anchor", ctypes.c_void_p),
        ("arguments", ctypes.POINTER(ctypes.c_void_p)),
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("dynamic_shared", ctypes.c_uint64),
        ("code_begin", ctypes.c_uint64),
        ("code_end", ctypes.c_uint64),
        ("printed", ctypes.c_void_p),
        ("printed_capacity", ctypes.c_uint64),
        ("time_limit", ctypes.c_double),
        ("os_threads", ctypes.c_int32),
    )


class Fault(ctypes.Structure):
    """Where a signal found the kernel."""

    _fields_ = (
        ("code_address", ctypes.c_uint64),
        ("data_address", ctypes.c_uint64),
        ("signal", ctypes.c_int32),
        ("is_write", ctypes.c_int32),
        ("is_unaddressed", ctypes.c_int32),
        ("in_stack_guard", ctypes.c_int32),
        ("in_shared_guard", ctypes.c_int32),
        ("shared_offset", ctypes.c_int64),
        ("block", ctypes.c_uint32 * 3),
        ("thread", ctypes.c_uint32 * 3),
        ("warp", ctypes.c_uint32),
        ("lane", ctypes.c_uint32),
        ("last_line", ctypes.c_int32),
        ("last_file", ctypes.c_char * 256),
    )


class LaunchReport(ctypes.Structure):
    """How it went."""

    _fields_ = (
        ("outcome", ctypes.c_int32),
        ("seconds", ctypes.c_double),
        ("undefined_reads", ctypes.c_uint64),
        ("printed_bytes", ctypes.c_uint64),
        ("fault", Fault),
        ("message", ctypes.c_char * 2048),
        ("first_undefined_read", ctypes.c_char * 512),
    )
