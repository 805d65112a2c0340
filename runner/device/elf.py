"""The symbols of a compiled kernel: cubins and shared objects are both 64-bit little-endian ELF files.

The format is that of the System V ABI, chapter "Object Files"; libraries that read it are far larger than this module.
"""

from __future__ import annotations

import ctypes
import functools
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runner.device import pointer_to

_OBJECT, _FUNCTION, TLS = 1, 2, 6  # kinds of a symbol: STT_OBJECT, STT_FUNC, STT_TLS

_ANONYMOUS = "(anonymous namespace)"
_NAMING = "runner_naming"  # name of the kernel template that `naming` adds
NAMING_FILE = "<function>"  # file name of its lines in compiler messages

_SYMBOL_TABLE = 2  # SHT_SYMTAB
_LOADED_SEGMENT, _TLS_SEGMENT = 1, 7  # PT_LOAD, PT_TLS
_EXECUTABLE = 1  # PF_X
_UNDEFINED, _RESERVED = 0, 0xFF00  # SHN_UNDEF, SHN_LORESERVE


@dataclass(frozen=True)
class Symbol:
    """A symbol that an ELF file defines."""

    name: str  # as the linker sees it
    kind: int
    section: str  # such as `.bss`, or `.nv.global` for `__device__` variables; empty for an absolute symbol
    value: int  # offset in its section (cubins), from the base address, or in the module's thread-local block
    size: int  # bytes


def symbols(content: bytes) -> Iterator[Symbol]:
    """The symbols that an ELF file defines; empty for any other content."""
    if content[:6] != b"\x7fELF\x02\x01":
        return
    (table,) = struct.unpack_from("<Q", content, 0x28)
    entry_bytes, count, section_names = struct.unpack_from("<HHH", content, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", content, table + i * entry_bytes) for i in range(count)]

    def text(section: int, offset: int) -> str:
        start = sections[section][4] + offset
        return content[start : content.index(b"\0", start)].decode(errors="replace")

    for _, kind, _, _, offset, size, strings, _, _, step in sections:
        for entry in range(offset, offset + size, step) if kind == _SYMBOL_TABLE else ():
            name, info, _, section, value, length = struct.unpack_from("<IBBHQQ", content, entry)
            if section != _UNDEFINED:
                section_name = text(section_names, sections[section][0]) if section < _RESERVED else ""
                yield Symbol(text(strings, name), info & 0xF, section_name, value, length)


def variables(content: bytes) -> Iterator[Symbol]:
    """The variables among the symbols; those of the kind `TLS` are thread-local."""
    return (s for s in symbols(content) if s.kind in (_OBJECT, TLS) and s.section and s.size)


def tls_bytes(content: bytes) -> int:
    """Size of the thread-local block of an ELF file."""
    return next((size for kind, _, _, size in _segments(content) if kind == _TLS_SEGMENT), 0)


def code_range(content: bytes) -> tuple[int, int]:
    """Begin and end of the executable segments, as offsets from the base address."""
    parts = [s for s in _segments(content) if s[0] == _LOADED_SEGMENT and s[1] & _EXECUTABLE]
    return min((begin for *_, begin, _ in parts), default=0), max((b + size for *_, b, size in parts), default=0)


def _segments(content: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Kind, flags, offset from the base address, and size in memory of each segment."""
    (table,) = struct.unpack_from("<Q", content, 0x20)
    entry_bytes, count = struct.unpack_from("<HH", content, 0x36)
    for i in range(count):
        kind, flags, _, begin, _, _, size, _ = struct.unpack_from("<IIQQQQQQ", content, table + i * entry_bytes)
        yield kind, flags, begin, size


def linked_name(content: bytes, name: str) -> str:
    """The mangled name of a global function or variable; `name` itself if the match is missing or ambiguous.

    Without `extern "C"`, C++ adds the parameters' types to a function's name.
    """
    names = {s.name for s in symbols(content)}
    mangled = re.compile(rf"_ZL?{len(name)}{re.escape(name)}(?!I)")  # I begins a template's arguments
    matches = [n for n in names if mangled.match(n)]
    return matches[0] if name not in names and len(matches) == 1 else name


def naming(functions: Sequence[str]) -> str:
    """C++ text to append to a source, from which `kernel_symbol` finds the symbols of kernels.

    It instantiates an empty kernel template for each function, which instantiates templates and keeps `static` kernels.
    Its names are long, as a shorter one may be a macro. The first function is in line 2 of `NAMING_FILE`.
    """
    lines = [
        f'\n#line 1 "{NAMING_FILE}"',
        f"template <int runner_number, class runner_type, runner_type runner_value> __global__ void {_NAMING}() {{}}",
        *(f"template __global__ void {_NAMING}<{i}, {', '.join(pointer_to(f))}>();" for i, f in enumerate(functions)),
    ]
    return "\n".join(lines) + "\n"


def kernel_symbol(content: bytes, function: str, number: int) -> str:
    """The mangled name of a kernel: of function `number` of `naming`, or else by its name."""
    functions = [s.name for s in symbols(content) if s.kind == _FUNCTION]
    instances = (_demangled(n) for n in functions if _NAMING in n)
    instance = next((name for name in instances if f"{_NAMING}<{number}, " in name), "")
    if not instance:
        return linked_name(content, function)
    # For example `void runner_naming<0, void (*)(int*), &(void sums::reduce<int, 128>(int*))>()`.
    # The demangler omits the parameters of a function in a namespace: `&sums::reduce>()`.
    pointer = instance.partition(", &")[2]
    pointer = pointer if pointer.startswith(_ANONYMOUS) else pointer.removeprefix("(")

    def is_named(symbol: str) -> bool:
        name = _demangled(symbol)
        plain, _ = _without_parameters(name)
        return _NAMING not in symbol and pointer.startswith((f"{name})>", f"{symbol}(", f"{plain}>"))

    matches = list(filter(is_named, functions))
    if len(matches) > 1:  # overloads; the pointer's type has the parameters
        matches = [m for m in matches if f"void (*){_without_parameters(_demangled(m))[1]}, &" in instance]
    return matches[0] if len(matches) == 1 else function


def _without_parameters(name: str) -> tuple[str, str]:
    """A demangled function's name, and its parameters in parentheses."""
    depth, begin = 0, len(name)
    for begin in range(len(name) - 1, -1, -1):
        depth += (name[begin] == ")") - (name[begin] == "(")
        if depth == 0:
            break
    return (name[:begin], name[begin:]) if name.endswith(")") else (name, "")


@functools.cache
def _demangled(symbol: str) -> str:
    """The demangled symbol; the symbol itself if it is not mangled."""
    if not symbol.startswith("_Z"):
        return symbol
    demangle = ctypes.CDLL("libstdc++.so.6")["__cxa_demangle"]
    demangle.restype = ctypes.c_void_p
    text = demangle(symbol.encode(), None, None, None)
    return ctypes.string_at(text).decode(errors="replace") if text else symbol
