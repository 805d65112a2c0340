"""A compiled kernel in this process."""

from __future__ import annotations

import ctypes
import itertools
import os
import re
import shutil
import weakref
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.device import Binary, Resources, Source
from runner.device.cpu import elf
from runner.device.cpu.native import LaunchReport, LaunchRequest
from runner.device.cpu.signature import Parameter, parse
from runner.device.cpu.translate import blank
from runner.errors import LaunchError

_serial = itertools.count()

_dlclose = ctypes.CDLL(None).dlclose
_dlclose.argtypes = [ctypes.c_void_p]


def _load_copy(path: Path) -> ctypes.CDLL:
    """Load a copy: a module's `__device__` variables are its own, but loading a file twice gives one module."""
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
        self._static_shared = elf.static_shared_bytes(binary.path)
        self.parameters = self._signature()
        self.kernel = self._address("simt_kernel")
        self.shared_anchor = self._address("simt_shared_anchor")
        self.code_begin, self.code_end = _code_range(self.kernel)
        self.run = self._library.simt_launch  # of the runtime library, which the kernel's binary names
        self.run.argtypes = [ctypes.POINTER(LaunchRequest), ctypes.POINTER(LaunchReport)]
        self.run.restype = None

    @property
    def resources(self) -> Resources:
        """What it takes. The shared memory is that of all kernels in the file."""
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
        """The place of an instruction in the file's own addresses."""
        return address - self.code_begin


def _line_of_definition(source: Source) -> int:
    visible = blank(source.text)
    found = re.search(rf"\b{re.escape(source.function)}\s*\(", visible)
    return visible.count("\n", 0, found.start()) + 1 if found else 0


def _code_range(address: int) -> tuple[int, int]:
    """Begin of the mapped file that has `address`, and its end."""
    mappings = []
    for line in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines():
        span, _, _, _, inode, *_ = line.split(maxsplit=5)
        begin, end = (int(part, 16) for part in span.split("-"))
        mappings.append((begin, end, inode))
    mapped_file = next((inode for begin, end, inode in mappings if begin <= address < end), "")
    own = [(begin, end) for begin, end, inode in mappings if inode == mapped_file]
    return (min(begin for begin, _ in own), max(end for _, end in own)) if own else (0, 0)
