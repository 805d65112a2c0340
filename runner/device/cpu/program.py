"""A compiled kernel in this process, and the runtime library's interface (native/runtime/interface.h) for ctypes."""

from __future__ import annotations

import ctypes
import enum
import itertools
import os
import re
import shutil
import struct
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.device import Binary, Resources, Source
from runner.device.cpu.signature import Parameter, parse
from runner.device.cpu.translate import blank
from runner.errors import LaunchError

_SYMBOL_TABLE = 2  # SHT_SYMTAB in an ELF file
_TLS = 6  # STT_TLS
_ANCHOR = "simt_anchor"  # the launcher's own variable

_serial = itertools.count()

_dlclose = ctypes.CDLL(None).dlclose
_dlclose.argtypes = [ctypes.c_void_p]


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


def _load_copy(path: Path) -> ctypes.CDLL:
    """Load a copy: each program has `__device__` variables of its own, but loading a file twice gives one module."""
    copy = path.with_name(f".load-{os.getpid()}-{next(_serial)}-{path.name}")
    try:
        shutil.copyfile(path, copy)
        return ctypes.CDLL(str(copy))
    except OSError as error:
        raise LaunchError(f"the compiled kernel {path.name} cannot be loaded: {error}") from error
    finally:
        copy.unlink(missing_ok=True)


class CpuProgram:
    """A kernel loaded on the CPU device.

    Attributes:
        function: The kernel's name.
        path: The `.cu`; its name is in messages.
        binary: The shared object, for finding lines in it.
        parameters: What the kernel takes.
        definition_line: The line of the kernel's name in its own file; 0 if it is not there.
    """

    def __init__(self, source: Source, binary: Binary) -> None:
        self.function, self.path, self.binary = source.function, source.path, binary.path
        self.definition_line = _line_of_definition(source)
        self._library = _load_copy(binary.path)
        weakref.finalize(self, _dlclose, self._library._handle)  # ctypes never closes  # noqa: SLF001
        self._static_shared = static_shared_bytes(binary.path)
        self.parameters = self._signature()
        self.kernel = self._address("simt_kernel")
        self.shared_anchor = self._address("simt_shared_anchor")
        self.code_begin, self.code_end = _code_range(self.kernel)
        self.run = self._library.simt_launch  # of the runtime library, to which the binary is linked
        self.run.argtypes = [ctypes.POINTER(LaunchRequest), ctypes.POINTER(LaunchReport)]
        self.run.restype = None

    @property
    def resources(self) -> Resources:
        """What it uses. The shared memory is that of all kernels in the file."""
        return Resources(registers=None, shared_bytes=self._static_shared, local_bytes=None)

    def _address(self, name: str) -> int:
        address = ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value
        if address is None:
            raise LaunchError(f"{self.binary.name} has no {name}")
        return address

    def _signature(self) -> tuple[Parameter, ...]:
        describe = self._library.simt_signature
        describe.restype = ctypes.c_size_t
        describe.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        room = ctypes.create_string_buffer(1 << 16)
        describe(room, len(room))  # type: ignore[arg-type,unused-ignore]
        return parse(room.value.decode())

    def set_constant(self, name: str, value: NDArray[Any]) -> None:
        """Write a `__constant__` or `__device__` variable."""
        try:
            getter = self._library[f"simt_constant_{name}"]
        except AttributeError:
            raise LaunchError(f"{self.function}: '{name}' is not among the constants of its source") from None
        getter.restype = ctypes.c_void_p
        size = ctypes.c_size_t()
        address = getter(ctypes.byref(size))
        content = np.ascontiguousarray(value)
        if content.nbytes > size.value:
            raise LaunchError(f"constant '{name}' has {size.value} bytes, the experiment sets {content.nbytes}")
        ctypes.memmove(address, content.ctypes.data, content.nbytes)

    def code_offset(self, address: int) -> int:
        """The address of an instruction within the file."""
        return address - self.code_begin


def _line_of_definition(source: Source) -> int:
    visible = blank(source.text)
    found = re.search(rf"\b{re.escape(source.function)}\s*\(", visible)
    return visible.count("\n", 0, found.start()) + 1 if found else 0


def _code_range(address: int) -> tuple[int, int]:
    """Begin and end of the mapped file that contains `address`."""
    mappings = []
    for line in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines():
        span, _, _, _, inode, *_ = line.split(maxsplit=5)
        begin, end = (int(part, 16) for part in span.split("-"))
        mappings.append((begin, end, inode))
    mapped_file = next((inode for begin, end, inode in mappings if begin <= address < end), "")
    own = [(begin, end) for begin, end, inode in mappings if inode == mapped_file]
    return (min(begin for begin, _ in own), max(end for _, end in own)) if own else (0, 0)


def static_shared_bytes(path: Path) -> int | None:
    """Bytes of `__shared__` variables of all kernels in the file; `None` if it is no 64-bit little-endian ELF file.

    The shim makes `__shared__` variables thread-local.
    """
    content = path.read_bytes()
    if content[:6] != b"\x7fELF\x02\x01":
        return None
    spans = [(start, start + size) for name, start, size in _tls_symbols(content) if not name.endswith(_ANCHOR)]
    spans = [span for span in spans if span[1] > span[0]]
    if not spans:
        return 0
    return max(end for _, end in spans) - min(start for start, _ in spans)


def _tls_symbols(content: bytes) -> Iterator[tuple[str, int, int]]:
    """Name, offset and size of each thread-local symbol."""
    (headers_at,) = struct.unpack_from("<Q", content, 0x28)
    entry_bytes, count = struct.unpack_from("<HH", content, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", content, headers_at + i * entry_bytes) for i in range(count)]
    for _, kind, _, _, offset, size, names, _, _, step in sections:
        if kind != _SYMBOL_TABLE:
            continue
        names_at = sections[names][4]
        for at in range(offset, offset + size, step):
            name, info, _, section, value, length = struct.unpack_from("<IBBHQQ", content, at)
            if info & 0xF == _TLS and section != 0:
                text_at = names_at + name
                yield content[text_at : content.index(b"\0", text_at)].decode(errors="replace"), value, length
