"""The symbols of a compiled kernel: cubins and shared objects are both 64-bit little-endian ELF files.

Read by hand, as the libraries for it are far larger than these lines (System V ABI, "Object Files").
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

OBJECT, FUNCTION, TLS = 1, 2, 6  # kinds of a symbol: STT_OBJECT, STT_FUNC, STT_TLS

_SYMBOL_TABLE = 2  # SHT_SYMTAB
_TLS_SEGMENT = 7  # PT_TLS
_UNDEFINED, _RESERVED = 0, 0xFF00  # numbers of a section


@dataclass(frozen=True)
class Symbol:
    """A symbol that an ELF file defines."""

    name: str  # as the linker sees it
    kind: int
    section: str  # such as `.bss`, or `.nv.global` for `__device__` variables; empty if it is in none
    value: int  # its place: in its section (cubins), from the base address, or in the module's thread-local block
    size: int  # bytes


def is_elf(content: bytes) -> bool:
    """Whether this is such a file."""
    return content[:6] == b"\x7fELF\x02\x01"


def symbols(content: bytes) -> Iterator[Symbol]:
    """The symbols that the file defines; none if it is no such file."""
    if not is_elf(content):
        return
    (headers_at,) = struct.unpack_from("<Q", content, 0x28)
    entry_bytes, count, names_in = struct.unpack_from("<HHH", content, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", content, headers_at + i * entry_bytes) for i in range(count)]

    def text(section: int, at: int) -> str:
        start = sections[section][4] + at
        return content[start : content.index(b"\0", start)].decode(errors="replace")

    for _, kind, _, _, offset, size, strings, _, _, step in sections:
        for at in range(offset, offset + size, step) if kind == _SYMBOL_TABLE else ():
            name, info, _, section, value, length = struct.unpack_from("<IBBHQQ", content, at)
            if section != _UNDEFINED:
                within = text(names_in, sections[section][0]) if section < _RESERVED else ""
                yield Symbol(text(strings, name), info & 0xF, within, value, length)


def variables(content: bytes) -> Iterator[Symbol]:
    """The variables among them; those of the kind `TLS` are thread-local."""
    return (s for s in symbols(content) if s.kind in (OBJECT, TLS) and s.section and s.size)


def tls_bytes(content: bytes) -> int:
    """Size of the thread-local block of an ELF file."""
    (headers_at,) = struct.unpack_from("<Q", content, 0x20)
    entry_bytes, count = struct.unpack_from("<HH", content, 0x36)
    for i in range(count):
        kind, _, _, _, _, _, size, _ = struct.unpack_from("<IIQQQQQQ", content, headers_at + i * entry_bytes)
        if kind == _TLS_SEGMENT:
            return int(size)
    return 0


def linked_name(content: bytes, name: str) -> str:
    """What the linker calls a function or variable outside of namespaces; `name` itself if there is none, or several.

    Without `extern "C"`, C++ adds the parameters' types to a function's name.
    """
    names = {s.name for s in symbols(content)}
    mangled = re.compile(rf"_ZL?{len(name)}{re.escape(name)}(?!I)")  # I begins a template's arguments
    found = [n for n in names if mangled.match(n)]
    return found[0] if name not in names and len(found) == 1 else name
