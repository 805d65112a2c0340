"""NVRTC in separate processes, as a library call can be neither aborted nor limited in memory.

Loading cuda.core takes half a second. One process, the server, does it once, ahead of the first source, and forks a
compiling process for each core that has work. A compiling process takes sources one by one, in milliseconds each. While
all are busy for longer, another one is forked. They end with the program, or after being idle for a while.
"""

from __future__ import annotations

import contextlib
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

WAIT_S = 0.3  # seconds to wait for a busy process, once each core has one, before another one is forked
IDLE_S = 10.0  # seconds after which an idle process ends
STARTUP_S = 120.0
IDLE = "idle"  # the last message of a process that ends because it was idle

_ahead: list[_Server] = []  # at most one, started ahead


def is_installed() -> bool:
    """Whether cuda.core is installed."""
    return importlib.util.find_spec("cuda") is not None and importlib.util.find_spec("cuda.core") is not None


def start_ahead() -> None:
    """Start the server before the sweep's configuration is known, unless cuda.core is not installed."""
    if not _ahead and is_installed():
        _ahead.append(_Server())


class Nvrtc:
    """NVRTC through cuda.core. Raises DeviceUnavailable if it is not installed."""

    lacks_host = True  # it compiles neither code nor headers of the host

    def __init__(self, limits: Limits = Limits()) -> None:  # noqa: B008  (frozen)
        if not is_installed():
            raise DeviceUnavailable(
                "compiler=nvrtc: cuda.core is not installed; use pip install 'kernel-runner[nvrtc]', or compiler=nvcc"
            )
        self._limits, self.stopped = limits, False
        self._server = _ahead.pop() if _ahead else _Server()
        self._idle: queue.LifoQueue[_Process] = queue.LifoQueue()
        self._processes: list[_Process] = []
        self._max_at_once = len(os.sched_getaffinity(0))

    def identity(self) -> tuple[str, ...]:
        """The versions of NVRTC, cuda.core and CUDA's headers. Raises DeviceUnavailable if cuda.core does not load."""
        core = f"cuda.core {importlib.metadata.version('cuda-core')}"
        return self._server.version, core, f"headers {_digest_of_headers()}"

    def cubin(
        self, name: str, text: str, folders: Sequence[Path], arch: str, flags: Sequence[str]
    ) -> tuple[bytes, str]:
        """Compile a translation unit, as `Nvcc.cubin`."""
        include = [str(folder) for folder in (*folders, *toolkit_headers())]
        while True:
            if self.stopped:
                raise CompileLimit("the compiler was not started, because the sweep ends")
            process = self._next_process()
            try:
                answer = process.compile((text, include, arch, flags), self._limits)
            except CompileLimit as e:
                self._processes.remove(process)
                raise CompileLimit(f"{name}: {e}") from None
            if answer:
                self._idle.put(process)
                cubin, log = answer
                break
            self._processes.remove(process)
        if cubin:
            return cubin, log
        if ran_out_of_memory(log):
            raise CompileLimit(f"{name}: {_memory_message(self._limits)}", log)
        raise CompileError(f"{name}: {first_error(log, 'NVRTC failed')}", log)

    def stop(self) -> None:
        """Kill every process."""
        self.stopped = True
        self._server.kill()

    def _next_process(self) -> _Process:
        """An idle process, or a new one."""
        all_cores_busy = len(self._processes) >= self._max_at_once
        try:
            return self._idle.get(block=all_cores_busy, timeout=WAIT_S)
        except queue.Empty:
            self._processes.append(process := self._server.fork(self._limits))
            return process


class _Server:
    """The process that has loaded cuda.core. `kill` ends it and all that it has forked at any time."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        code = f"from runner.device.cuda.nvrtc import serve; serve({theirs.fileno()})"
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", code], pass_fds=(theirs.fileno(),), process_group=0, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env=children.environment(),
            )  # fmt: skip
        # Also when this object is collected.
        self.kill = weakref.finalize(self, _kill_group, self._process, self._socket)
        self._lock = threading.RLock()
        self._version = ""  # the server sends it once

    @property
    def version(self) -> str:
        """NVRTC's version. Waits until cuda.core is loaded; raises DeviceUnavailable if it cannot be."""
        with self._lock:
            self._version = self._version or self._read_version()
            return self._version

    def _read_version(self) -> str:
        self._socket.settimeout(STARTUP_S)
        try:
            answer = self._socket.recv(1 << 16).decode() or "its process ended at once"
        except TimeoutError:
            answer = "it does not start"
        if not answer.startswith("nvrtc "):
            self.kill()
            raise DeviceUnavailable(f"compiler=nvrtc: cuda.core cannot be loaded: {answer}")
        return answer

    def fork(self, limits: Limits) -> _Process:
        """Fork a compiling process with a limit of memory. Raises CompileLimit if the server was killed."""
        ours, theirs = socket.socketpair()
        with self._lock, theirs:
            _ = self.version
            try:
                socket.send_fds(self._socket, [str(limits.gb).encode()], [theirs.fileno()])
            except OSError:
                raise CompileLimit("the compiler was not started, because the sweep ends") from None
        return _Process(Connection(ours.detach()))


def _kill_group(process: subprocess.Popen[bytes], connection: socket.socket) -> None:
    """Kill the server and its children. The server is not reaped before, so its group's number is still its own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    connection.close()


class _Process:
    """A compiling process. It ends when this end of the connection is closed, also in the middle of a source."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def compile(self, source: tuple[str, list[str], str, Sequence[str]], limits: Limits) -> tuple[bytes, str] | None:
        """The cubin (empty after an error) and the log; `None` if the process had ended. Raises CompileLimit."""
        with contextlib.suppress(OSError):  # if it ended because it was idle, its last message says so
            self._connection.send(source)
        try:
            if self._connection.poll(limits.seconds):
                answer: tuple[bytes, str] | str = self._connection.recv()
                return None if isinstance(answer, str) else answer
        except (EOFError, OSError):
            raise CompileLimit(_memory_message(limits)) from None
        self._connection.close()
        raise CompileLimit(f"NVRTC was still compiling after {limits.seconds:g} s (device.compile_limit_s)")


def _memory_message(limits: Limits) -> str:
    return f"NVRTC needs more than {limits.gb:g} GB of memory (device.compile_limit_gb)"


def serve(descriptor: int) -> None:
    """The server's main loop: fork a compiling process for each descriptor that the program sends."""
    program = socket.socket(fileno=descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps the children
    try:
        core: Any = importlib.import_module("cuda.core")
        _, major, minor = importlib.import_module("cuda.bindings.nvrtc").nvrtcVersion()
    except Exception as e:  # noqa: BLE001  (importing it looks for its libraries)
        program.send(f"{type(e).__name__}: {e}".encode())
        return
    program.send(f"nvrtc {major}.{minor}".encode())
    while True:
        gb, descriptors, _, _ = socket.recv_fds(program, 64, 1)
        if not gb:  # the program has ended
            return
        if os.fork() == 0:
            program.close()
            _compile_sources(core, descriptors[0], float(gb))
        os.close(descriptors[0])


def _compile_sources(core: Any, descriptor: int, gb: float) -> None:
    """The main loop of a compiling process: a thread receives the sources, so that it ends with the program."""
    parent = Connection(descriptor)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    max_bytes = pages * resource.getpagesize() + int(gb * 1e9)
    resource.setrlimit(resource.RLIMIT_AS, (max_bytes, max_bytes))
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
            parent.send(IDLE)
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
