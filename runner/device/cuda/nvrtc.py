"""NVRTC, CUDA's compiler as a library, through cuda.core: the same sources, compiled far faster than by nvcc.

It starts no process and reads none of the host's headers. It needs neither a GPU nor PyCUDA.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import importlib.metadata
import importlib.util
import io
import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from runner.device.cuda.compiler import first_error
from runner.errors import CompileError, DeviceUnavailable

# From that many compilations on: NVRTC is no faster with more than four threads, and processes take 1 s to start.
PROCESSES_FROM = 64
NVIDIA = ("cu13", "cuda_runtime")  # the headers' folders in the packages of CUDA 13 and 12


class Nvrtc:
    """NVRTC, found by cuda.core."""

    def __init__(self) -> None:
        """Find it.

        Raises:
            DeviceUnavailable: if it is not installed.
        """
        if importlib.util.find_spec("cuda") is None or importlib.util.find_spec("cuda.core") is None:
            raise DeviceUnavailable(
                "compiler=nvrtc: cuda.core is not installed; install the extra 'nvrtc', or use compiler=nvcc"
            )
        try:  # here: the first import must not come from several threads
            importlib.import_module("cuda.core")
            self._nvrtc: Any = importlib.import_module("cuda.bindings.nvrtc")
        except Exception as e:  # importing it looks for its libraries
            raise DeviceUnavailable(f"compiler=nvrtc: cuda.core cannot be loaded: {e}") from e
        self._pool: ProcessPoolExecutor | None = None

    def identity(self) -> tuple[str, ...]:
        """The versions of NVRTC, cuda.core and CUDA's headers."""
        _, major, minor = self._nvrtc.nvrtcVersion()
        own = f"cuda.core {importlib.metadata.version('cuda-core')}"
        return (f"nvrtc {major}.{minor}", own, f"headers {_digest_of_headers()}")

    @contextlib.contextmanager
    def many(self, count: int) -> Iterator[None]:
        """Start a process per core if there are many compilations."""
        if count < PROCESSES_FROM:
            yield
            return
        spawned = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(
            min(count, len(os.sched_getaffinity(0))), spawned, signal.signal, (signal.SIGINT, signal.SIG_IGN)
        )
        self._pool = pool
        try:
            yield
        finally:
            self._pool = None
            pool.shutdown(cancel_futures=True)

    def cubin(self, name: str, text: str, folder: Path, arch: str) -> tuple[bytes, str]:
        """Compile a text."""
        included = tuple(str(f) for f in (folder, *_toolkit_headers()))
        pool = self._pool
        try:
            made, said = (
                pool.submit(_compiled, text, included, arch).result() if pool else _compiled(text, included, arch)
            )
        except (BrokenProcessPool, RuntimeError):  # some text ended a process, and all waiting ones with it
            made, said = _compiled_apart(text, included, arch)
        if made is None:
            raise CompileError(f"{name}: {first_error(said, 'NVRTC failed')}", said)
        return made, said


def _compiled_apart(text: str, included: Sequence[str], arch: str) -> tuple[bytes | None, str]:
    """As `_compiled`, in a process of its own, which NVRTC may bring down."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        try:
            return pool.submit(_compiled, text, included, arch).result()
        except BrokenProcessPool:
            return None, "error: NVRTC's process ended while it compiled this"


def _compiled(text: str, included: Sequence[str], arch: str) -> tuple[bytes | None, str]:
    """The cubin and the log; on failure no cubin, and the log says why."""
    core: Any = importlib.import_module("cuda.core")
    log = io.StringIO()
    try:
        options = core.ProgramOptions(arch=arch, include_path=list(included))
        made = core.Program(text, "c++", options).compile("cubin", logs=log)
    except Exception as e:  # noqa: BLE001  (cuda.core has its own errors for each library)
        said = str(e).partition("compilation log:")[2].replace("\0", "").strip()
        return None, said or str(e)
    return bytes(made.code), log.getvalue().replace("\0", "").strip()


@functools.cache
def _digest_of_headers() -> str:
    """Of the toolkit's headers that kernels include: another toolkit makes other cubins."""
    whole = hashlib.sha256()
    for path in sorted(p for folder in _toolkit_headers() for p in folder.glob("cuda_*16.h*")):
        whole.update(path.read_bytes())
    return whole.hexdigest()[:12]


@functools.cache
def _toolkit_headers() -> tuple[Path, ...]:
    """The folder of cuda_fp16.h and the like: in a toolkit, or in a package beside NVRTC's."""
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    own = importlib.util.find_spec("nvidia")
    packages = [p / n for p in map(Path, own.submodule_search_locations or []) for n in NVIDIA] if own else []
    folders = [f / "include" for f in (*(Path(h) for h in homes if h), *packages)]
    return tuple(f for f in folders if (f / "cuda_fp16.h").is_file())[:1]
