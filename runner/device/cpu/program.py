"""A kernel loaded into this process, its variables and its parameters."""

from __future__ import annotations

import copy
import ctypes
import itertools
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.device import Binary, Form, Inside, Pointers, Program, Resources, Role, Source, Value, View, elf
from runner.device.cpu import zones
from runner.device.cpu.interface import LaunchReport, LaunchRequest, Zone
from runner.device.cpu.memory import GuardedImage, HostArray, memory_at
from runner.device.cpu.translate import ANCHOR, DYNAMIC, blank_comments_and_literals
from runner.device.cpu.zones import plain_name
from runner.errors import CompileError, LaunchError

# The names of the shim's own variables: in its namespace, or in that of pointers to dynamic shared memory.
_SHIM = re.compile(rf"_ZN(?:4simt|\w*{len(DYNAMIC)}{DYNAMIC})")
# Its thread-local ones, and the compiler's (`_ZGV`: whether a variable has been constructed).
_SHIM_TLS = re.compile(rf"_ZGV|.*(?:{DYNAMIC}|{ANCHOR}$)")

# C++ types by NumPy's kind and size.
_CXX_TYPES = {
    "b1": "bool", "i1": "signed char", "u1": "unsigned char", "i2": "short", "u2": "unsigned short", "i4": "int",
    "u4": "unsigned", "i8": "long long", "u8": "unsigned long long", "f2": "__half", "f4": "float", "f8": "double",
    "v0": "void",
}  # fmt: skip
# What `float**` points to, as g++ and clang++ spell it.
_SPELLED = {
    **{name: code for code, name in _CXX_TYPES.items() if code[0] in "biuf" and code != "f2"},
    "char": "i1", "short int": "i2", "unsigned short": "u2", "short unsigned int": "u2", "unsigned int": "u4",
    "long": "i8", "long int": "i8", "long long int": "i8", "unsigned long": "u8", "long unsigned int": "u8",
    "long long unsigned int": "u8",
}  # fmt: skip
# Types that are structures in C++, and their elements.
_ELEMENTS = {
    **{name: name for name in ("__half", "__nv_bfloat16", "__nv_fp8_e4m3", "__nv_fp8_e5m2")},
    "__half2": "__half",
    "__nv_bfloat162": "__nv_bfloat16",
    "c10::Half": "__half",
    "c10::BFloat16": "__nv_bfloat16",
}

# The name of a `__constant__` variable, and of one that is `__device__` alone.
_NAME = r"\b([A-Za-z_]\w*)\s*(?=[\[=;{])"
_CONSTANT = re.compile(rf"__constant__[^;=({{]*?{_NAME}")
_DEVICE = re.compile(rf"(?<!__constant__ )__device__(?:(?!__constant__)[^;=({{])*?{_NAME}")
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE)


# Bytes; see the CUDA guide's technical specifications. Dynamic shared memory may have more.
MAX_STATIC_SHARED, MAX_CONSTANT, MAX_ARGUMENTS = 48 << 10, 64 << 10, 32764

_serial = itertools.count()

_dlclose = ctypes.CDLL(None).dlclose
_dlclose.argtypes = [ctypes.c_void_p]


class CpuProgram:
    """A kernel loaded on the CPU device."""

    others: tuple[Program, ...] = ()

    def __init__(self, source: Source, binary: Binary) -> None:
        self.function, self.path, self.binary = source.function, source.path, binary.path
        self.cooperative = source.cooperative
        self.text = source.text
        visible = blank_comments_and_literals(source.text)  # without comments and strings
        # Declared only as `__constant__`; a macro may declare a `__device__` variable of the same name.
        code = _DIRECTIVE.sub("", visible)
        self.constants = frozenset(_CONSTANT.findall(code)) - frozenset(_DEVICE.findall(code))
        name = re.escape(source.plain_function)
        clusters = re.search(rf"__cluster_dims__\s*\(([\d\s,]*)\)[^;{{}}]*\b{name}\s*\(", code)
        # The blocks of a cluster in x, y, z, of which the grid is a multiple.
        self.cluster = tuple(int(n) for n in clusters[1].split(",") if n.strip()) if clusters else ()
        definition = re.search(rf"\b{name}\s*\(", visible)
        # The line of the kernel's definition; 0 if it is in another file.
        self.definition_line = visible.count("\n", 0, definition.start()) + 1 if definition else 0
        self._library = _load_copy(binary.path)
        weakref.finalize(self, _dlclose, self._library._handle)  # ctypes never closes  # noqa: SLF001
        self._library.simt_reset_heap()  # what the kernels before have left in it
        # dlopen's handle is a `struct link_map` (link.h), whose first member is the base address.
        self.base = ctypes.c_size_t.from_address(self._library._handle).value  # noqa: SLF001
        content = binary.path.read_bytes()
        self.code_begin, self.code_end = (self.base + offset for offset in elf.code_range(content))
        variables = list(elf.variables(content))
        self._globals = [v for v in variables if v.section in (".data", ".bss")]
        # Its `__device__` and `__constant__` variables: name, address, bytes.
        self.variables = [
            (plain_name(v.name), self.base + v.value, v.size) for v in self._globals if not _SHIM.match(v.name)
        ]
        self._first_contents: dict[int, bytes] | None = None  # of these variables, by address
        # The shim makes `__shared__` variables thread-local; those of all kernels of the file have one block.
        self.shared_variables = [
            replace(v, name="" if _SHIM_TLS.match(v.name) else plain_name(v.name))
            for v in variables
            if v.kind == elf.TLS
        ]
        gaps = list(zones.gaps(self.shared_variables, elf.tls_bytes(content)))
        self.zones = (Zone * len(gaps))(*gaps)
        self.resources = Resources(
            registers=None, shared_bytes=sum(v.size for v in self.shared_variables if v.name), local_bytes=None
        )
        is_alone = source.functions == (source.function,) and source.form is Form.KERNEL
        self._require_limits([v for v in variables if plain_name(v.name) in self.constants], is_alone=is_alone)
        self.parameters = self._signature("simt_signature_0")
        self.kernel, self.shared_anchor = map(self._address, ("simt_kernel_0", "simt_shared_anchor"))
        self._functions = source.functions
        self._origin: CpuProgram | None = None  # keeps the library of a sibling loaded
        self.run = self._library.simt_launch  # of the runtime library, to which the binary is linked
        self.run.argtypes = [ctypes.POINTER(LaunchRequest), ctypes.POINTER(LaunchReport)]
        self.run.restype = None

    def _require_limits(self, constants: Sequence[elf.Symbol], *, is_alone: bool) -> None:
        """Raise CompileError if variables are larger than nvcc allows (CUDA guide, technical specifications).

        `is_alone`: the file has no second kernel.
        """
        shared = [v.size for v in self.shared_variables if v.name]
        most = sum(shared) if is_alone else max(shared, default=0)  # else each kernel may have its own
        limits = (("static __shared__", most, MAX_STATIC_SHARED),
                  ("__constant__", sum(v.size for v in constants), MAX_CONSTANT))  # fmt: skip
        for what, size, limit in limits:
            if size > limit:
                raise CompileError(f"{self.path.name}: its {what} variables have {size:,} bytes; nvcc allows {limit:,}")

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
        if self._first_contents is None:
            self._first_contents = {address: ctypes.string_at(address, size) for _, address, size in self.variables}
        for address, content in self._first_contents.items():
            ctypes.memmove(address, content, len(content))

    def guarded(self) -> dict[int, tuple[int, int]]:
        """By each variable's address: begin and end of the variable with the gaps around it."""
        guarded: dict[int, tuple[int, int]] = {}
        for section in (".data", ".bss"):
            sizes = {self.base + v.value: v.size for v in self._globals if v.section == section}
            guarded |= zones.guarded_ranges([(begin, begin + size) for begin, size in sorted(sizes.items())])
        return guarded

    def _signature(self, name: str) -> tuple[Parameter, ...]:
        describe = self._library[name]
        describe.restype = ctypes.c_size_t
        describe.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        text = ctypes.create_string_buffer(1 << 16)
        describe(text, len(text))  # type: ignore[arg-type,unused-ignore]
        parameters = []
        for line in text.value.decode().splitlines():
            form, constness, kind, size, spelling = line.split(" ", 4)
            structure = re.search(r"\bT = (.*)\]$", spelling)
            name = _CXX_TYPES.get(kind + size) or (structure[1] if structure else f"{size}-byte structure")
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
        contents = [p.pack(n, a) for n, (p, a) in enumerate(zip(self.parameters, arguments, strict=True), start=1)]
        if (nbytes := sum(map(len, contents))) > MAX_ARGUMENTS:
            raise LaunchError(f"the arguments have {nbytes:,} bytes, {MAX_ARGUMENTS:,} are allowed")
        return [ctypes.create_string_buffer(content, len(content)) for content in contents]

    def set_constant(self, name: str, value: NDArray[Any]) -> None:
        """Write a `__constant__` or `__device__` variable."""
        content = np.ascontiguousarray(value)
        address = self.address_of(name, content.nbytes)
        ctypes.memmove(address, content.ctypes.data, content.nbytes)
        if self._first_contents and address in self._first_contents:  # `reset` brings this content back
            self._first_contents[address] = ctypes.string_at(address, len(self._first_contents[address]))

    def address_of(self, name: str, nbytes: int) -> int:
        """The address of a `__constant__` or `__device__` variable. Raises LaunchError if it has fewer bytes."""
        try:
            getter = self._library[f"simt_constant_{name}"]
        except AttributeError:
            raise LaunchError(
                f"{self.function}: its Source lists no __constant__ or __device__ variable '{name}'"
            ) from None
        getter.restype = ctypes.c_void_p
        size = ctypes.c_size_t()
        address = int(getter(ctypes.byref(size)))
        if nbytes > size.value:
            raise LaunchError(f"constant '{name}' has {size.value} bytes, the YAML sets {nbytes}")
        return address


class Variable(HostArray):
    """A `__device__` array of a program that the kernel writes; the compiler decides what surrounds it."""

    def __init__(self, program: CpuProgram, name: str, value: NDArray[Any], role: Role) -> None:
        super().__init__(value, role)
        self._program = program  # keeps the memory mapped
        self.pointer = program.address_of(name, value.nbytes)
        self._content = memory_at(self.pointer, value.nbytes)
        self._initial = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
        self.restore()

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
            return alone and _cxx_type(dtype) == _ELEMENTS[self.type_name]
        if self.kind == "p":  # pointers, of which only a kernel can make an array
            return dtype.kind in "iu" and dtype.itemsize == self.size
        if self.kind == "v" or (self.kind == "s" and self.is_pointer):
            return True  # any element type is possible, such as float4 over an array of float
        return self.size == dtype.itemsize and (self.kind == "s" or self.size == 1 or self.kind == dtype.kind)

    def points_to(self, array: Any) -> bool:
        """Whether it is an array of pointers to elements of this array's type, as far as its spelling tells."""
        pointee = re.fullmatch(r"(?:const )?(.+?) ?\*(?: ?const)?", self.type_name)
        if not self.is_pointer or self.kind != "p" or pointee is None:
            return False
        expected = _SPELLED.get(pointee[1])
        return expected is None or expected == f"{array.dtype.kind}{array.dtype.itemsize}"

    def pack(self, number: int, argument: Any) -> bytes:
        """The content of argument `number`. Raises LaunchError if it does not match."""
        if isinstance(argument, Inside):
            self.pack(number, argument.array)  # raises the error
            array: Any = argument.array
            return bytes((array.begin + argument.offset).to_bytes(8, "little"))
        if isinstance(argument, Pointers):
            if wrong := next((a for a in argument.arrays if not self.points_to(a)), None):
                what = f"pointers to the array '{wrong.name}' of {_cxx_type(wrong.dtype)}"  # type: ignore[attr-defined]
                raise LaunchError(f"argument {number} is '{self}', the YAML passes {what}")
            return self.pack(number, argument.table)
        if isinstance(argument, Value):
            content, passed = argument.content, "a null pointer"
            fits = self.is_pointer
            if argument.name:
                passed = f"a {argument.name} of {len(content)} bytes"
                fits = not self.is_pointer and self.kind == "s" and self.size == len(content)
        elif isinstance(argument, np.generic):
            content, passed = argument.tobytes(), f"a scalar of type {_cxx_type(argument.dtype)}"
            fits = not self.is_pointer and self.accepts(argument.dtype)
        else:
            content = argument.pointer.to_bytes(8, "little")
            if isinstance(argument, GuardedImage | View):
                passed = f"the {argument.object_kind} '{argument.name}'"
                fits = (self.is_pointer, self.kind, self.size) == (False, "u", 8)
            else:
                passed = f"the array '{argument.name}' of {_cxx_type(argument.dtype)}"
                fits = self.is_pointer and self.accepts(argument.dtype)
        if not fits:
            raise LaunchError(f"argument {number} is '{self}', the YAML passes {passed}")
        return content


def _cxx_type(dtype: np.dtype[Any]) -> str:
    if dtype.name == "bfloat16":  # of the package ml_dtypes; NumPy sees two bytes of no kind
        return "__nv_bfloat16"
    if dtype.name.startswith("float8"):
        return f"__nv_fp8_{dtype.name.removeprefix('float8_').removesuffix('fn')}"
    if dtype.names:
        return f"a structure of {dtype.itemsize} bytes"
    return _CXX_TYPES.get(f"{dtype.kind}{dtype.itemsize}", str(dtype))


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
