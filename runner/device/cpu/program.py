"""A kernel loaded into this process, its parameters, and the runtime's interface (native/runtime/interface.h)."""

from __future__ import annotations

import copy
import ctypes
import enum
import itertools
import os
import re
import shutil
import tempfile
import weakref
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.device import Binary, Inside, Resources, Role, Source, Value, View, elf
from runner.device.cpu import zones
from runner.device.cpu.memory import GuardedArray, GuardedImage
from runner.device.cpu.translate import ANCHOR, DYNAMIC, blank
from runner.device.cpu.zones import plain_name
from runner.errors import LaunchError

# The names of the shim's own variables: in its namespace, or in that of pointers to dynamic shared memory.
_SHIM = re.compile(rf"_ZN(?:4simt|\w*{len(DYNAMIC)}{DYNAMIC})")

# C++ types by NumPy's kind and size.
_NAMES = {
    "b1": "bool",
    "i1": "signed char",
    "u1": "unsigned char",
    "i2": "short",
    "u2": "unsigned short",
    "i4": "int",
    "u4": "unsigned",
    "i8": "long long",
    "u8": "unsigned long long",
    "f2": "__half",
    "f4": "float",
    "f8": "double",
    "v0": "void",
}
# Types that are structures in C++, and their elements.
_ELEMENTS = {
    "__half": "__half",
    "__half2": "__half",
    "__nv_bfloat16": "__nv_bfloat16",
    "__nv_bfloat162": "__nv_bfloat16",
    "__nv_fp8_e4m3": "__nv_fp8_e4m3",
    "__nv_fp8_e5m2": "__nv_fp8_e5m2",
}

# The name of a `__constant__` variable, and of one that is `__device__` alone.
_NAME = r"\b([A-Za-z_]\w*)\s*(?=[\[=;{])"
_CONSTANT = re.compile(rf"__constant__[^;=({{]*?{_NAME}")
_DEVICE = re.compile(rf"(?<!__constant__ )__device__(?:(?!__constant__)[^;=({{])*?{_NAME}")
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE)


def _constants(visible: str) -> frozenset[str]:
    """The names that are declared only as `__constant__`; a macro may declare a `__device__` one of the same name."""
    code = _DIRECTIVE.sub("", visible)
    return frozenset(_CONSTANT.findall(code)) - frozenset(_DEVICE.findall(code))


_serial = itertools.count()

_dlclose = ctypes.CDLL(None).dlclose
_dlclose.argtypes = [ctypes.c_void_p]


class Outcome(enum.IntEnum):
    """The outcome of a launch."""

    FINISHED = 0
    VIOLATION = 1
    FAULT = 2
    TIMEOUT = 3
    FOUND = 4  # a check reported a finding


class Zone(ctypes.Structure):
    """A gap between static shared variables, and the variables on both sides."""

    _fields_ = (
        ("begin", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("before", ctypes.c_char_p),
        ("before_size", ctypes.c_uint64),
        ("behind", ctypes.c_char_p),
        ("behind_size", ctypes.c_uint64),
    )

    @classmethod
    def of(cls, zone: zones.Zone) -> Zone:
        """Convert a zone to the runtime library's format."""
        sides = [(v.name.encode(), v.size) if v else (None, 0) for v in (zone.before, zone.behind)]
        return cls(zone.begin, zone.size, *sides[0], *sides[1])


class CheckedArray(ctypes.Structure):
    """An array that a checked launch watches."""

    _fields_ = (
        ("begin", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
        ("origin", ctypes.c_uint64),
        ("guard_begin", ctypes.c_uint64),
        ("guard_end", ctypes.c_uint64),
        ("element_bytes", ctypes.c_uint32),
        ("is_read_only", ctypes.c_uint8),
        ("has_content", ctypes.c_uint8),
        ("is_variable", ctypes.c_uint8),
        ("is_constant", ctypes.c_uint8),
    )


class CheckedRequest(ctypes.Structure):
    """The input and the report buffer of a checked launch."""

    _fields_ = (
        ("arrays", ctypes.POINTER(CheckedArray)),
        ("array_count", ctypes.c_uint64),
        ("shared", ctypes.POINTER(CheckedArray)),
        ("shared_count", ctypes.c_uint64),
        ("out", ctypes.c_void_p),
        ("out_capacity", ctypes.c_uint64),
        ("out_bytes", ctypes.c_uint64),
        ("is_first", ctypes.c_uint32),
        ("is_last", ctypes.c_uint32),
        ("most", ctypes.c_uint32),
        ("counts", ctypes.c_uint32),
        ("blocks", ctypes.POINTER(ctypes.c_uint64)),
        ("block_count", ctypes.c_uint64),
    )


class LaunchRequest(ctypes.Structure):
    """The runtime library's description of a launch."""

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
        ("cooperative", ctypes.c_int32),
        ("order", ctypes.c_uint32),
        ("zones", ctypes.POINTER(Zone)),
        ("zone_count", ctypes.c_uint64),
        ("checked", ctypes.POINTER(CheckedRequest)),
    )


class Fault(ctypes.Structure):
    """The state of the kernel at a signal."""

    _fields_ = (
        ("code_addresses", ctypes.c_uint64 * 8),
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
    """The runtime library's report of a launch."""

    _fields_ = (
        ("outcome", ctypes.c_int32),
        ("seconds", ctypes.c_double),
        ("undefined_reads", ctypes.c_uint64),
        ("printed_bytes", ctypes.c_uint64),
        ("fault", Fault),
        ("message", ctypes.c_char * 2048),
        ("first_undefined_read", ctypes.c_char * 512),
    )


class CpuProgram:
    """A kernel loaded on the CPU device."""

    def __init__(self, source: Source, binary: Binary) -> None:
        self.function, self.path, self.binary = source.function, source.path, binary.path
        self.cooperative = source.cooperative
        self.visible = visible = blank(source.text)  # without comments and strings
        self.constants = _constants(visible)
        found = re.search(rf"\b{re.escape(source.plain_function)}\s*\(", visible)
        self.definition_line = visible.count("\n", 0, found.start()) + 1 if found else 0  # 0 if it is in another file
        self._library = _load_copy(binary.path)
        weakref.finalize(self, _dlclose, self._library._handle)  # ctypes never closes  # noqa: SLF001
        # All kernels of the file together, not this one alone.
        variables, total = _thread_locals(binary.path)
        self.resources = Resources(
            registers=None, shared_bytes=sum(v.size for v in variables if v.name), local_bytes=None
        )
        self.shared_variables = tuple(variables)
        gaps = [Zone.of(zone) for zone in zones.between(variables, total)]
        self.zones = (Zone * len(gaps))(*gaps)
        self.parameters = self._signature("simt_signature_0")
        self.kernel, self.shared_anchor = map(self._address, ("simt_kernel_0", "simt_shared_anchor"))
        self._functions = source.functions
        self._origin: CpuProgram | None = None  # keeps the library of a sibling loaded
        # dlopen's handle is a `struct link_map` (link.h), whose first member is the base address.
        self.base = ctypes.c_size_t.from_address(self._library._handle).value  # noqa: SLF001
        self.code_begin, self.code_end = (self.base + at for at in elf.code_range(binary.path.read_bytes()))
        self._places: list[tuple[str, int, int]] | None = None
        self._variables: list[tuple[int, bytes]] | None = None  # address and first content
        self.run = self._library.simt_launch  # of the runtime library, to which the binary is linked
        self.run.argtypes = [ctypes.POINTER(LaunchRequest), ctypes.POINTER(LaunchReport)]
        self.run.restype = None

    def sibling(self, function: str) -> CpuProgram:
        """Another function of the same module."""
        number = self._functions.index(function)
        other = copy.copy(self)
        other.function, other._origin = function, self  # noqa: SLF001
        other.kernel = self._address(f"simt_kernel_{number}")
        other.parameters = self._signature(f"simt_signature_{number}")
        return other

    def _address(self, name: str) -> int:
        return ctypes.cast(self._library[name], ctypes.c_void_p).value or 0

    def reset(self) -> None:
        """Restore `__device__` and `__constant__` variables to their content at the first call."""
        if self._variables is None:
            places = self.variables()
            self._variables = [(address, ctypes.string_at(address, size)) for _, address, size in places]
        for address, content in self._variables:
            ctypes.memmove(address, content, len(content))

    def variables(self) -> list[tuple[str, int, int]]:
        """Its `__device__` and `__constant__` variables: name, address, bytes."""
        if self._places is None:
            found = (v for v in elf.variables(self.binary.read_bytes()) if v.section in (".data", ".bss"))
            self._places = [(plain_name(v.name), self.base + v.value, v.size) for v in found if not _SHIM.match(v.name)]
        return self._places

    def guarded(self) -> dict[int, tuple[int, int]]:
        """By each variable's address: begin and end of the variable with the gaps around it."""
        found = [v for v in elf.variables(self.binary.read_bytes()) if v.section in (".data", ".bss")]
        guarded: dict[int, tuple[int, int]] = {}
        for section in (".data", ".bss"):
            places = sorted({self.base + v.value: v.size for v in found if v.section == section}.items())
            ends = [(begin, begin + size) for begin, size in places]
            guarded.update(zip((begin for begin, _ in ends), zones.around(ends), strict=True))
        return guarded

    def _signature(self, name: str) -> tuple[Parameter, ...]:
        describe = self._library[name]
        describe.restype = ctypes.c_size_t
        describe.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        room = ctypes.create_string_buffer(1 << 16)
        describe(room, len(room))  # type: ignore[arg-type,unused-ignore]
        parameters = []
        for line in room.value.decode().splitlines():
            form, constness, kind, size, spelling = line.split(" ", 4)
            found = re.search(r"\bT = (.*)\]$", spelling)
            name = _NAMES.get(kind + size) or (found[1] if found else f"{size}-byte structure")
            parameters.append(Parameter(form == "pointer", constness == "const", kind, int(size), name))
        return tuple(parameters)

    def pack(self, arguments: Sequence[Any]) -> list[ctypes.Array[Any]]:
        """Pack the kernel's arguments, one buffer each. Raises LaunchError if they do not match its parameters."""
        count = len(self.parameters)
        if count != len(arguments):
            raise LaunchError(
                f"the kernel takes {count} argument{'s' * (count != 1)} ({', '.join(map(str, self.parameters))}), "
                f"the YAML passes {len(arguments)}"
            )
        return [
            parameter.pack(f"argument {number}", argument)
            for number, (parameter, argument) in enumerate(zip(self.parameters, arguments, strict=True), start=1)
        ]

    def set_constant(self, name: str, value: NDArray[Any]) -> None:
        """Write a `__constant__` or `__device__` variable."""
        content = np.ascontiguousarray(value)
        address = self.address_of(name, content.nbytes)
        ctypes.memmove(address, content.ctypes.data, content.nbytes)
        if self._variables is not None:  # `reset` brings this content back
            self._variables = [(a, ctypes.string_at(a, len(c)) if a == address else c) for a, c in self._variables]

    def address_of(self, name: str, nbytes: int) -> int:
        """The address of a `__constant__` or `__device__` variable. Raises LaunchError if it has fewer bytes."""
        try:
            getter = self._library[f"simt_constant_{name}"]
        except AttributeError:
            raise LaunchError(f"{self.function}: '{name}' is not among the constants of its source") from None
        getter.restype = ctypes.c_void_p
        size = ctypes.c_size_t()
        address = int(getter(ctypes.byref(size)))
        if nbytes > size.value:
            raise LaunchError(f"constant '{name}' has {size.value} bytes, the YAML sets {nbytes}")
        return address


class Variable:
    """A `__device__` array of a program that the kernel writes."""

    def __init__(self, program: CpuProgram, name: str, value: NDArray[Any], role: Role) -> None:
        self.role = role
        self._program = program  # keeps the memory mapped
        self._first = np.ascontiguousarray(value)
        self.pointer = program.address_of(name, value.nbytes)
        memory = (ctypes.c_uint8 * value.nbytes).from_address(self.pointer)
        self._content = np.ctypeslib.as_array(memory)
        self.restore()

    def read(self) -> NDArray[Any]:
        """Copy the content back."""
        return self._content.view(self._first.dtype).reshape(self._first.shape).copy()

    def fill_bytes(self, value: int) -> None:
        """Set every byte to `value`."""
        self._content[:] = value

    def restore(self) -> None:
        """Restore the initial content."""
        self._content[:] = self._first.reshape(-1).view(np.uint8)

    def digest(self) -> int:
        """A checksum of the content."""
        return zlib.crc32(self._content.data)

    def overrun(self) -> str:
        """Always empty: the compiler decides what surrounds a variable."""
        return ""

    def free(self) -> None:
        """Do nothing, as the program owns the memory."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel, read from its C++ type."""

    is_pointer: bool
    is_const: bool  # points to constant data
    kind: str  # NumPy's letter for the type (for a pointer, of the element); `s` for a structure, `v` for void
    size: int  # of the type, in bytes
    type_name: str  # in C++

    def __str__(self) -> str:
        return f"{'const ' * self.is_const}{self.type_name}{' *' * self.is_pointer}"

    def accepts(self, dtype: np.dtype[Any]) -> bool:
        """Whether the kernel expects elements of this NumPy type."""
        if dtype.fields:  # a structure, the size of which is all that can be compared
            return self.kind in "vp" or (self.kind == "s" and self.size == dtype.itemsize)
        if self.type_name in _ELEMENTS:
            alone = self.is_pointer or self.size == dtype.itemsize  # a pair by value cannot come from NumPy
            return alone and _name_of(dtype) == _ELEMENTS[self.type_name]
        if self.kind == "p":  # pointers, of which only a kernel can make an array
            return dtype.kind in "iu" and dtype.itemsize == self.size
        if self.kind == "v" or (self.kind == "s" and self.is_pointer):
            return True  # any element type is possible, such as float4 over an array of float
        return self.size == dtype.itemsize and (self.kind == "s" or self.size == 1 or self.kind == dtype.kind)

    def pack(self, what: str, argument: Any) -> ctypes.Array[Any]:
        """One argument in a buffer; `what` names it in messages."""
        if isinstance(argument, Value):
            return self._pack_value(what, argument)
        if isinstance(argument, Inside):
            self.pack(what, argument.array)  # says what does not fit
            address = argument.array.begin + argument.offset  # type: ignore[attr-defined]
            return ctypes.create_string_buffer(address.to_bytes(8, "little"), 8)
        if isinstance(argument, GuardedImage | View):
            if (self.is_pointer, self.kind, self.size) != (False, "u", 8):
                raise LaunchError(f"{what} is '{self}', the YAML passes the {argument.what} '{argument.name}'")
            return ctypes.create_string_buffer(argument.pointer.to_bytes(8, "little"), 8)
        if isinstance(argument, GuardedArray):
            given, content = f"the array '{argument.name}' of", argument.pointer.to_bytes(8, "little")
        elif isinstance(argument, np.generic):
            given, content = "a scalar of type", argument.tobytes()
        else:
            raise LaunchError(f"{what} is '{self}', the YAML passes a {type(argument).__name__}")
        if self.is_pointer != isinstance(argument, GuardedArray) or not self.accepts(argument.dtype):
            raise LaunchError(f"{what} is '{self}', the YAML passes {given} {_name_of(argument.dtype)}")
        return ctypes.create_string_buffer(content, len(content))

    def _pack_value(self, what: str, argument: Value) -> ctypes.Array[Any]:
        size = len(argument.content)
        if self.is_pointer == bool(argument.name) or (argument.name and (self.kind != "s" or self.size != size)):
            given = f"a {argument.name} of {size} bytes" if argument.name else "a null pointer"
            raise LaunchError(f"{what} is '{self}', the YAML passes {given}")
        return ctypes.create_string_buffer(argument.content, size)


def _name_of(dtype: np.dtype[Any]) -> str:
    if dtype.name == "bfloat16":  # of the package ml_dtypes; NumPy sees two bytes of no kind
        return "__nv_bfloat16"
    if dtype.name.startswith("float8"):
        return f"__nv_fp8_{dtype.name.removeprefix('float8_').removesuffix('fn')}"
    return _NAMES.get(f"{dtype.kind}{dtype.itemsize}", str(dtype))


def _load_copy(path: Path) -> ctypes.CDLL:
    """Load a copy of the file, as loading one twice gives one module with shared `__device__` variables."""
    folder = path.parent if os.access(path.parent, os.W_OK) else Path(tempfile.gettempdir())  # as in a sandbox
    copy = folder / f".load-{os.getpid()}-{next(_serial)}-{path.name}"
    try:
        shutil.copyfile(path, copy)
        return ctypes.CDLL(str(copy))
    except OSError as error:
        raise LaunchError(f"the compiled kernel {path.name} cannot be loaded: {error}") from error
    finally:
        copy.unlink(missing_ok=True)


def _thread_locals(path: Path) -> tuple[list[zones.Variable], int]:
    """The thread-local variables of all kernels in the file, and the size of their block.

    The shim makes `__shared__` variables thread-local. Those without a name belong to the shim.
    """
    content = path.read_bytes()
    own = [v for v in elf.variables(content) if v.kind == elf.TLS]
    # `_ZGV` is the compiler's: whether a variable has been constructed.
    ours = {v for v in own if v.name.endswith(ANCHOR) or DYNAMIC in v.name or v.name.startswith("_ZGV")}
    variables = [zones.Variable("" if v in ours else plain_name(v.name), v.value, v.size) for v in own]
    return variables, elf.tls_bytes(content)
