"""A program of several sources: each is compiled and loaded by itself, as nvcc compiles several files.

Functions of different sources may have the same name. Each source has its own `__device__` and `__constant__`
variables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from runner.device import Binary, Source, cache


def joined(binaries: Sequence[Binary]) -> Binary:
    """One binary of several; its digest is that of all."""
    first, *others = binaries
    return replace(
        first,
        digest=cache.key(*(binary.digest for binary in binaries)),
        seconds=sum(binary.seconds for binary in binaries),
        cached=all(binary.cached for binary in binaries),
        log="\n".join(binary.log for binary in binaries if binary.log),
        omitted="; ".join(dict.fromkeys(binary.omitted for binary in binaries if binary.omitted)),
        others=tuple(others),
    )


def of_paths(paths: Sequence[Path]) -> Binary:
    """The binary in these files of the cache, one for each source."""
    binaries = [Binary(path, cache.digest(path), 0.0, cached=True) for path in paths]
    return joined(binaries) if len(binaries) > 1 else binaries[0]


def loaded(source: Source, binary: Binary, load: Callable[[Source, Binary], Any]) -> Any:
    """The program of the first source, with those of the others as its `others`; `load` loads one."""
    program, *others = map(load, source.parts, binary.parts)
    if others:
        program.others = tuple(others)
    return program
