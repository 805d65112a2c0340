"""CUDA sources to cubins, by nvcc or by NVRTC, behind a cache that parallel writers share."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from runner import atomic
from runner.device import Binary, Source, cache


class Toolchain(Protocol):
    """A compiler that turns a text into a cubin."""

    def identity(self) -> tuple[str, ...]:
        """What, beside the source and the architecture, decides on the cubin: version, options."""
        ...

    def many(self, count: int) -> AbstractContextManager[None]:
        """Be ready for that many compilations, and give back what that took."""
        ...

    def cubin(self, name: str, text: str, folders: Sequence[Path], arch: str) -> tuple[bytes, str]:
        """Compile a text, whose own name is `name`, and give what was said beside.

        Raises:
            CompileError: with the compiler's message at the kernel's own lines.
        """
        ...


class CudaCompiler:
    """A toolchain, behind a cache that parallel writers share."""

    def __init__(self, arch: str, toolchain: Toolchain, cache_dir: Path | None = None) -> None:
        """Choose the architecture, such as `sm_90`, and what compiles for it."""
        self._arch = arch
        self._toolchain = toolchain
        self._folder = cache_dir or cache.default_folder("cuda")

    def compile(self, source: Source) -> Binary:
        """Compile, or find the cubin of an earlier time.

        Raises:
            CompileError: with the compiler's message at the kernel's own lines.
        """
        started = time.perf_counter()
        folders = (source.path.parent, *source.include_dirs)
        text = f'{source.defines()}#line 1 "{source.path.name}"\n{source.text}'
        included = [p.read_text(encoding="utf-8", errors="replace") for p in cache.includes(source.text, folders)]
        name = cache.key(text, *included, *map(str, folders[1:]), self._arch, *self._toolchain.identity())
        path, said = self._folder / f"{name}.cubin", ""
        cached = cache.intact(path)
        if not cached:
            cubin, said = self._toolchain.cubin(source.path.name, text, folders, self._arch)
            atomic.write(path, cubin)
            cache.seal(path)
        return Binary(path, cache.digest(path), time.perf_counter() - started, cached, said)

    def many(self, count: int) -> AbstractContextManager[None]:
        """Be ready for that many compilations."""
        return self._toolchain.many(count)

    @property
    def identity(self) -> str:
        """What compiles, and for what, in words."""
        return " ".join((self._arch, *filter(None, self._toolchain.identity())))


def first_error(log: str, otherwise: str) -> str:
    """The line of a compiler's log that says what is wrong."""
    lines = log.splitlines()
    return next((line.strip() for line in lines if "error" in line), lines[0] if lines else otherwise)
