"""NVRTC in separate processes, as a library call can be neither aborted nor limited in memory.

A process compiles sources one by one, in milliseconds each. While it is busy for longer, another one is started. It
ends with the program, or after being idle for a while.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.metadata
import importlib.util
import io
import os
import queue
import resource
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from runner import children
from runner.device import options
from runner.device.limits import Limits, ran_out_of_memory, shortened
from runner.errors import CompileError, CompileLimit, DeviceUnavailable

WAIT_S = 0.3  # seconds to wait for a busy process before another one is started
IDLE_S = 10.0  # seconds after which an idle process ends
STARTUP_S = 120.0


class Nvrtc:
    """NVRTC through cuda.core. Raises DeviceUnavailable if it is not installed."""

    lacks_host = True  # it compiles neither code nor headers of the host

    def __init__(self, limits: Limits = Limits()) -> None:  # noqa: B008  (frozen)
        if importlib.util.find_spec("cuda") is None or importlib.util.find_spec("cuda.core") is None:
            raise DeviceUnavailable(
                "compiler=nvrtc: cuda.core is not installed; use pip install -e '.[nvrtc]', or use compiler=nvcc"
            )
        self._limits, self.stopped = limits, False
        self._idle: queue.LifoQueue[_Process] = queue.LifoQueue()
        self._processes: list[_Process] = []
        first = self._start()
        self._version = first.version
        self._idle.put(first)

    def identity(self) -> tuple[str, ...]:
        """The versions of NVRTC, cuda.core and CUDA's headers."""
        return self._version, f"cuda.core {importlib.metadata.version('cuda-core')}", f"headers {_digest_of_headers()}"

    def cubin(
        self, name: str, text: str, folders: Sequence[Path], arch: str, flags: Sequence[str]
    ) -> tuple[bytes, str]:
        """Compile a translation unit, as `Nvcc.cubin`."""
        include = [str(folder) for folder in (*folders, *toolkit_headers())]
        while True:
            if self.stopped:
                raise CompileLimit("the compiler was not started, because the sweep ends")
            try:
                process = self._idle.get(timeout=WAIT_S)
            except queue.Empty:
                process = self._start()
            try:
                answer = process.compile((text, include, arch, flags), self._limits)
            except CompileLimit as e:
                raise CompileLimit(f"{name}: {e}") from None
            if answer:
                self._idle.put(process)
                cubin, log = answer
                break
        if cubin:
            return cubin, log
        if ran_out_of_memory(log):
            raise CompileLimit(f"{name}: {_memory_message(self._limits)}", log)
        raise CompileError(f"{name}: {first_error(log, 'NVRTC failed')}", log)

    def stop(self) -> None:
        """Kill every process."""
        self.stopped = True
        for process in tuple(self._processes):
            process.kill()

    def _start(self) -> _Process:
        self._processes.append(process := _Process(self._limits))
        return process


class _Process:
    """One process. `version` is its NVRTC's; `kill` ends it at any time."""

    def __init__(self, limits: Limits) -> None:
        ours, theirs = socket.socketpair()
        code = f"from runner.device.cuda.nvrtc import serve; serve({theirs.fileno()}, {limits.gb})"
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", code], pass_fds=(theirs.fileno(),), process_group=0, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env=children.environment(),
            )  # fmt: skip
        self.kill = weakref.finalize(self, _kill, self._process)  # also when this object is collected
        self._connection = Connection(ours.detach())
        try:
            answer = self._connection.recv() if self._connection.poll(STARTUP_S) else "it does not start"
        except (EOFError, OSError):
            answer = "its process ended at once"
        if not answer.startswith("nvrtc "):
            self.kill()
            raise DeviceUnavailable(f"compiler=nvrtc: cuda.core cannot be loaded: {answer}")
        self.version = answer

    def compile(self, source: tuple[str, list[str], str, Sequence[str]], limits: Limits) -> tuple[bytes, str] | None:
        """The cubin (empty after an error) and the log; `None` if the process had ended. Raises CompileLimit."""
        try:
            self._connection.send(source)
            if self._connection.poll(limits.seconds):
                answer: tuple[bytes, str] = self._connection.recv()
                return answer
        except (EOFError, OSError):
            if self._process.wait() == 0:  # it had been idle
                return None
            raise CompileLimit(_memory_message(limits)) from None
        self.kill()
        raise CompileLimit(f"NVRTC was still compiling after {limits.seconds:g} s (device.compile_limit_s)")


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def _memory_message(limits: Limits) -> str:
    return f"NVRTC needs more than {limits.gb:g} GB of memory (device.compile_limit_gb)"


def serve(descriptor: int, gb: float) -> None:
    """The process's main loop: a thread receives the sources, so that it ends with the program during one, too."""
    parent = Connection(descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        core: Any = importlib.import_module("cuda.core")
        _, major, minor = importlib.import_module("cuda.bindings.nvrtc").nvrtcVersion()
    except Exception as e:  # noqa: BLE001  (importing it looks for its libraries)
        parent.send(f"{type(e).__name__}: {e}")
        return
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    max_bytes = pages * resource.getpagesize() + int(gb * 1e9)
    resource.setrlimit(resource.RLIMIT_AS, (max_bytes, max_bytes))
    parent.send(f"nvrtc {major}.{minor}")
    sources: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def receive() -> None:
        try:
            while True:
                sources.put(parent.recv())
        except (EOFError, OSError):
            os._exit(1)

    threading.Thread(target=receive, daemon=True).start()
    while True:
        try:
            text, include, arch, flags = sources.get(timeout=IDLE_S)
        except queue.Empty:
            os._exit(0)
        log = io.StringIO()
        try:
            arguments = options.for_nvrtc([option for option in flags if option != options.PTX])
            program = core.Program(text, "c++", core.ProgramOptions(arch=arch, include_path=include, **arguments))
            binary = program.compile("ptx" if options.PTX in flags else "cubin", logs=log)
            parent.send((bytes(binary.code), log.getvalue().replace("\0", "").strip()))
        except Exception as e:  # noqa: BLE001  (cuda.core has its own errors for each library)
            message = str(e).partition("compilation log:")[2].replace("\0", "").strip() or str(e)
            parent.send((b"", shortened(message)))


@functools.cache
def _digest_of_headers() -> str:
    """A digest of the toolkit's headers, as another toolkit gives other cubins."""
    patterns = ("cuda_*16.h*", "cooperative_groups.h", "cuda/std/__cccl/version.h")
    paths = sorted(path for folder in toolkit_headers() for name in patterns for path in folder.glob(name))
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:12]


@functools.cache
def toolkit_headers() -> tuple[Path, ...]:
    """The include folders of CUDA's headers, libcu++ and CUB: in a toolkit, or in a package beside NVRTC's.

    Since CUDA 13, libcu++ and CUB have a separate folder.
    """
    folders = [f / "include" for f in (*toolkits(), *packages("cu13", "cuda_runtime"))]  # of CUDA 13 and 12
    first = next((f for f in folders if (f / "cuda_fp16.h").is_file()), None)
    return tuple(f for f in (first, first / "cccl") if f.is_dir()) if first else ()


def packages(*names: str) -> list[Path]:
    """The possible folders of NVIDIA's Python packages."""
    spec = importlib.util.find_spec("nvidia")
    return [Path(folder) / name for folder in (spec and spec.submodule_search_locations) or () for name in names]


def toolkits() -> list[Path]:
    """Folders in which a CUDA toolkit may be installed."""
    homes = os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"
    return [Path(home) for home in homes if home]


def first_error(log: str, default: str) -> str:
    """The first line of a compiler's log with an error."""
    lines = log.splitlines()
    return next((line.strip() for line in lines if "error" in line), lines[0] if lines else default)
