"""nvcc, by PyCUDA's own call of it, behind a cache that parallel writers share."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from pycuda import compiler as pycuda_compiler
from pycuda import driver

from runner import atomic
from runner.device import Binary, Source, cache
from runner.errors import CompileError

NO_OPTIONS: tuple[str, ...] = ()
HIDDEN_FLAGS = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")  # nvcc reads these by itself


class CudaCompiler:
    """nvcc, by PyCUDA's own call of it, behind a cache that parallel writers share."""

    def __init__(self, arch: str, options: Sequence[str] = NO_OPTIONS, cache_dir: Path | None = None) -> None:
        """Choose the architecture, such as `sm_90`, and further options for nvcc."""
        self._arch = arch
        self._options = tuple(options)
        self._folder = cache_dir or cache.default_folder("cuda")
        self._nvcc: tuple[str, str] | None = None

    def compile(self, source: Source) -> Binary:
        """Compile, or find the cubin of an earlier time.

        Raises:
            CompileError: with nvcc's message at the kernel's own lines.
        """
        started = time.perf_counter()
        nvcc, version = self._find_nvcc()
        folders = (source.path.parent, *source.include_dirs)
        text = f'{source.defines()}#line 1 "{source.path.name}"\n{source.text}'
        included = [p.read_text(encoding="utf-8", errors="replace") for p in cache.includes(source.text, folders)]
        hidden = [os.environ.get(name, "") for name in HIDDEN_FLAGS]
        name = cache.key(text, *included, *self._options, *map(str, folders[1:]), *hidden, self._arch, version)
        path = self._folder / f"{name}.cubin"
        cached = cache.intact(path)
        if not cached:
            atomic.write(path, self._run(nvcc, source, text, folders))
            cache.seal(path)
        return Binary(path, cache.digest(path), time.perf_counter() - started, cached)

    def _run(self, nvcc: str, source: Source, text: str, folders: Sequence[Path]) -> bytes:
        try:
            cubin: bytes = pycuda_compiler.compile(
                text,
                nvcc=nvcc,
                options=list(self._options),
                no_extern_c=True,  # templates and C++ includes stay possible; kernels say extern "C" themselves
                arch=self._arch,
                cache_dir=False,
                include_dirs=[str(f) for f in folders],
            )
        except driver.CompileError as e:
            log = f"{e.stdout or ''}{e.stderr or ''}".strip()
            raise CompileError(f"{source.path.name}: {_first_error(log)}", log) from None
        return cubin

    def _find_nvcc(self) -> tuple[str, str]:
        if self._nvcc is None:
            nvcc = find_nvcc()
            if nvcc is None:
                raise CompileError("nvcc is not on the PATH; install the CUDA toolkit, or use device=cpu")
            self._nvcc = nvcc, pycuda_compiler.get_nvcc_version(nvcc)
        return self._nvcc


def find_nvcc() -> str | None:
    """Find nvcc on the PATH, or where the toolkit puts it."""
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    return shutil.which("nvcc") or next((n for h in homes if h and (n := shutil.which(f"{h}/bin/nvcc"))), None)


def _first_error(log: str) -> str:
    return next(
        (line.strip() for line in log.splitlines() if "error" in line), log.splitlines()[0] if log else "nvcc failed"
    )
