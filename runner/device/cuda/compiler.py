"""CUDA sources to cubins, by nvcc or by NVRTC (`nvrtc`), behind a cache that parallel writers share."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from runner import atomic
from runner.device import Binary, Source, cache
from runner.device.kinds import CUDA
from runner.errors import CompileError

HIDDEN_FLAGS = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")  # nvcc reads these by itself


class Toolchain(Protocol):
    """A compiler that turns a text into a cubin."""

    def identity(self) -> tuple[str, ...]:
        """What decides on the cubin besides the source and the architecture: version, options."""
        ...

    def many(self, count: int) -> AbstractContextManager[None]:
        """As `Compiler.many`."""
        ...

    def cubin(self, name: str, text: str, folder: Path, arch: str) -> tuple[bytes, str]:
        """Compile a text.

        Args:
            name: Of the file, for messages.
            text: Of the file, with its macros.
            folder: Where `#include "..."` looks.
            arch: Such as `sm_90`.

        Returns:
            The cubin and the compiler's warnings.

        Raises:
            CompileError: with the compiler's message at the kernel's own lines.
        """
        ...


class CudaCompiler:
    """A toolchain behind the cache."""

    def __init__(self, arch: str, toolchain: Toolchain, cache_dir: Path | None = None) -> None:
        """Choose the architecture, such as `sm_90`, and the toolchain."""
        self._arch = arch
        self._toolchain = toolchain
        self._folder = cache_dir or cache.default_folder(CUDA)

    def compile(self, source: Source) -> Binary:
        """Compile, or take the cubin from the cache.

        Raises:
            CompileError: with the compiler's message at the kernel's own lines.
        """
        started = time.perf_counter()
        folder = source.path.parent
        text = f'{source.defines()}#line 1 "{source.path.name}"\n{source.text}'
        included = [
            path.read_text(encoding="utf-8", errors="surrogateescape") for path in cache.includes(source.text, [folder])
        ]
        name = cache.key(text, *included, self._arch, *self._toolchain.identity())
        path, warnings = self._folder / f"{name}.cubin", ""
        cached = cache.intact(path)
        if not cached:
            cubin, warnings = self._toolchain.cubin(source.path.name, text, folder, self._arch)
            atomic.write(path, cubin)
            cache.seal(path)
        return Binary(path, cache.digest(path), time.perf_counter() - started, cached, warnings)

    def many(self, count: int) -> AbstractContextManager[None]:
        """Prepare for that many compilations."""
        return self._toolchain.many(count)

    @property
    def identity(self) -> str:
        """The architecture and the toolchain, in one line."""
        return " ".join((self._arch, *filter(None, self._toolchain.identity())))


class Nvcc:
    """nvcc with the user's options, called by PyCUDA as SourceModule calls it."""

    def __init__(self, options: Sequence[str]) -> None:
        self._options = tuple(options)
        self._found: tuple[str, str] | None = None

    def identity(self) -> tuple[str, ...]:
        """The options, those in the environment, and nvcc's version.

        Raises:
            CompileError: if there is no nvcc.
        """
        _, version = self._find()
        return (*self._options, *(os.environ.get(name, "") for name in HIDDEN_FLAGS), version)

    def many(self, count: int) -> AbstractContextManager[None]:
        """Nothing to prepare: each compilation is a process of its own."""
        _ = count
        return contextlib.nullcontext()

    def cubin(self, name: str, text: str, folder: Path, arch: str) -> tuple[bytes, str]:
        """Compile a text."""
        from pycuda import compiler, driver  # noqa: PLC0415  (not for NVRTC, nor for what is in the cache)

        nvcc, _ = self._find()
        try:
            made: bytes = compiler.compile(
                text,
                nvcc=nvcc,
                options=list(self._options),
                no_extern_c=True,  # templates and C++ includes stay possible; kernels say extern "C" themselves
                arch=arch,
                cache_dir=False,
                include_dirs=[str(folder)],
            )
        except driver.CompileError as e:
            log = f"{e.stdout or ''}{e.stderr or ''}".strip()
            raise CompileError(f"{name}: {first_error(log, 'nvcc failed')}", log) from None
        return made, ""

    def _find(self) -> tuple[str, str]:
        if self._found is None:
            nvcc = find_nvcc()
            if nvcc is None:
                raise CompileError("nvcc is not on the PATH; install the CUDA toolkit, or use device=cpu")
            self._found = nvcc, version_of(nvcc)
        return self._found


def find_nvcc() -> str | None:
    """Find nvcc on the PATH, or where the toolkit puts it."""
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    return shutil.which("nvcc") or next((n for h in homes if h and (n := shutil.which(f"{h}/bin/nvcc"))), None)


def version_of(nvcc: str) -> str:
    """What `nvcc --version` prints.

    Raises:
        CompileError: if nvcc does not work.
    """
    try:
        done = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as e:
        raise CompileError(f"{nvcc} does not work: {e}") from e
    return done.stdout


def first_error(log: str, otherwise: str) -> str:
    """The line of a compiler's log that says what is wrong."""
    lines = log.splitlines()
    return next((line.strip() for line in lines if "error" in line), lines[0] if lines else otherwise)
