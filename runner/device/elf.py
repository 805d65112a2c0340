"""The variables in a compiled kernel: cubins and shared objects are both 64-bit little-endian ELF files.

Read by hand, as the libraries for it are far larger than these lines (System V ABI, "Object Files").
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_SYMBOL_TABLE = 2  # SHT_SYMTAB
_OBJECT, _THREAD_LOCAL = 1, 6  # STT_OBJECT, STT_TLS
_UNDEFINED, _RESERVED = 0, 0xFF00


@dataclass(frozen=True)
class Variable:
    """A variable in an ELF file."""

    name: str  # as the linker sees it
    section: str  # such as `.bss`, or `.nv.global` for `__device__` variables
    offset: int  # in its section (cubins and thread-local variables), or from the file's base address
    size: int  # bytes
    thread_local: bool


def variables(content: bytes) -> Iterator[Variable]:
    """The variables that the file defines; none if it is no such file."""
    if content[:6] != b"\x7fELF\x02\x01":
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
            if info & 0xF in (_OBJECT, _THREAD_LOCAL) and _UNDEFINED < section < _RESERVED and length:
                within = text(names_in, sections[section][0])
                yield Variable(text(strings, name), within, value, length, info & 0xF == _THREAD_LOCAL)
