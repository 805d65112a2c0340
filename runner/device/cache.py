"""A folder of compiled kernels, safe for any number of processes that fill it at once."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from runner import atomic

_COMPUTED = re.compile(r"^[ \t]*#[ \t]*include[ \t]+[A-Za-z_]", re.MULTILINE)
HEADERS = (".cuh", ".h", ".hpp", ".inc")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)


def default_folder(kind: str) -> Path:
    """Where the binaries of one kind of device lie: below `$XDG_CACHE_HOME`, or `~/.cache`."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "kernel-runner" / kind


def key(*parts: str) -> str:
    """A name for what follows from `parts`, and from nothing else."""
    whole = hashlib.sha256()
    for part in parts:
        encoded = part.encode(errors="surrogateescape")
        whole.update(len(encoded).to_bytes(8, "little") + encoded)
    return whole.hexdigest()[:32]


def digest(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def seal(path: Path) -> None:
    """Note what a file holds, so that damage is seen."""
    atomic.write_text(_sealed(path), digest(path))


def intact(path: Path) -> bool:
    """Whether a file is there, and holds what it held when it was sealed."""
    try:
        return _sealed(path).read_text(encoding="ascii") == digest(path)
    except (OSError, ValueError):
        return False


def _sealed(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def includes(text: str, folders: Iterable[Path]) -> Iterator[Path]:
    """The files that `#include "..."` reaches from a source, each once; those that are not found are left out.

    Where a macro names a file (`#include NAME`), all headers in the first folder count: it may be any of them.

    Args:
        text: Of the source.
        folders: Where to look, in order; an included file's own folder comes first for what it includes.
    """
    folders = tuple(folders)
    seen: set[Path] = set()
    waiting = [(text, folders)]
    while waiting:
        text, where = waiting.pop()
        named = [next((p for f in where if (p := (f / n).resolve()).is_file()), None) for n in _INCLUDE.findall(text)]
        if _COMPUTED.search(text):
            named += sorted(p.resolve() for p in where[0].iterdir() if p.suffix in HEADERS and p.is_file())
        for path in named:
            if path and path not in seen:
                seen.add(path)
                yield path
                waiting.append((path.read_text(encoding="utf-8", errors="replace"), (path.parent, *folders)))
