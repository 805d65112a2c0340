"""The compile half of the seam: what goes into a `Compiler`, and what comes of it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Source:
    """One variant of a kernel, ready for a compiler.

    Attributes:
        path: The kernel's `.cu`; messages name it.
        text: Its content.
        function: The `extern "C" __global__` function in it.
        macros: `(name, replacement)` pairs, in order; delivered as `#define` lines, never as `-D` flags.
        include_dirs: Folders in which `#include "..."` looks after the `.cu`'s own folder.
        constants: Names of the `__constant__` or `__device__` arrays that the experiment sets before launching.
        headers: CUDA's headers that the macros need, such as `cuda_fp16.h`; included before all else.
    """

    path: Path
    text: str
    function: str
    macros: tuple[tuple[str, str], ...] = ()
    include_dirs: tuple[Path, ...] = ()
    constants: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()

    def defines(self) -> str:
        """What goes before the text: the headers, and the `#define` lines, one macro a line."""
        included = [f"#include <{name}>\n" for name in self.headers]
        return "".join((*included, *(f"#define {name} {value}\n" for name, value in self.macros)))


@dataclass(frozen=True)
class Binary:
    """A compiled `Source` in a cache on disk: a cubin, or a shared object of the CPU device.

    Attributes:
        path: Where it lies; complete as soon as it exists (written aside, then renamed).
        digest: SHA-256 of its bytes, in hex.
        seconds: What compiling took; for a cache hit, what finding it took.
        cached: Whether it was there already.
        log: Warnings of the compiler.
    """

    path: Path
    digest: str
    seconds: float
    cached: bool
    log: str = ""

    @property
    def name(self) -> str:
        """What tables know it by: the beginning of its digest."""
        return self.digest[:12]


class Compiler(Protocol):
    """Source to binary, through a cache that parallel writers share."""

    @property
    def identity(self) -> str:
        """The toolchain, its version and its options, in one line: results of two of them do not belong together.

        Raises:
            CompileError: if it is not there.
        """
        ...

    def many(self, count: int) -> AbstractContextManager[None]:
        """Be ready for that many compilations, from several threads at once, and give back what that took."""
        ...

    def compile(self, source: Source) -> Binary:
        """Compile, or find what was compiled before.

        Raises:
            CompileError: with the compiler's own message, at the kernel's own lines.
        """
        ...
