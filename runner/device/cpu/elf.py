"""What a compiled kernel's ELF file says of its static shared memory."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

_SYMBOL_TABLE = 2  # SHT_SYMTAB
_TLS = 6  # STT_TLS
_ANCHOR = "simt_anchor"  # our own variable


def static_shared_bytes(path: Path) -> int | None:
    """Bytes of `__shared__` variables of all kernels in the file; `None` if it is no 64-bit little-endian ELF file.

    `__shared__` variables are the file's thread-local ones.
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
