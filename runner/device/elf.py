"""What the devices read in their binaries: 64-bit little-endian ELF files, which shared objects and cubins are."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

FUNCTION, TLS = 2, 6  # kinds of a symbol: STT_FUNC, STT_TLS

_SYMBOL_TABLE = 2  # SHT_SYMTAB
_TLS_SEGMENT = 7  # PT_TLS


@dataclass(frozen=True)
class Symbol:
    """A symbol that the file defines."""

    name: str
    kind: int
    value: int  # of a thread-local variable: its offset in the module's block
    size: int


def is_elf(content: bytes) -> bool:
    """Whether this is such a file."""
    return content[:6] == b"\x7fELF\x02\x01"


def symbols(content: bytes) -> Iterator[Symbol]:
    """The symbols that an ELF file defines."""
    (headers_at,) = struct.unpack_from("<Q", content, 0x28)
    entry_bytes, count = struct.unpack_from("<HH", content, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", content, headers_at + i * entry_bytes) for i in range(count)]
    for _, kind, _, _, offset, size, names, _, _, step in sections:
        for at in range(offset, offset + size, step) if kind == _SYMBOL_TABLE else ():
            name, info, _, section, value, length = struct.unpack_from("<IBBHQQ", content, at)
            if section != 0:
                text_at = sections[names][4] + name
                text = content[text_at : content.index(b"\0", text_at)].decode(errors="replace")
                yield Symbol(text, info & 0xF, value, length)


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
