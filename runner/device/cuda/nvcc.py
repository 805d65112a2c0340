"""nvcc, by PyCUDA's own call of it: the way in which SourceModule compiles."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from pycuda import compiler as pycuda_compiler
from pycuda import driver

from runner.device.cuda.compiler import first_error
from runner.errors import CompileError

HIDDEN_FLAGS = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")  # nvcc reads these by itself


class Nvcc:
    """nvcc with further options of the user's."""

    def __init__(self, options: Sequence[str]) -> None:
        self._options = tuple(options)
        self._found: tuple[str, str] | None = None

    def identity(self) -> tuple[str, ...]:
        """What, beside the source and the architecture, decides on the cubin.

        Raises:
            CompileError: if there is no nvcc.
        """
        _, version = self._find()
        return (*self._options, *(os.environ.get(name, "") for name in HIDDEN_FLAGS), version)

    def many(self, count: int) -> AbstractContextManager[None]:
        """Each is a process anyway."""
        _ = count
        return contextlib.nullcontext()

    def cubin(self, name: str, text: str, folders: Sequence[Path], arch: str) -> tuple[bytes, str]:
        """Compile, and give what was said beside.

        Raises:
            CompileError: with nvcc's message at the kernel's own lines.
        """
        nvcc, _ = self._find()
        try:
            made: bytes = pycuda_compiler.compile(
                text,
                nvcc=nvcc,
                options=list(self._options),
                no_extern_c=True,  # templates and C++ includes stay possible; kernels say extern "C" themselves
                arch=arch,
                cache_dir=False,
                include_dirs=[str(f) for f in folders],
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
            self._found = nvcc, pycuda_compiler.get_nvcc_version(nvcc)
        return self._found


def find_nvcc() -> str | None:
    """Find nvcc on the PATH, or where the toolkit puts it."""
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    return shutil.which("nvcc") or next((n for h in homes if h and (n := shutil.which(f"{h}/bin/nvcc"))), None)
