"""Compilers as subprocesses with limits of time, memory and output.

A shell sets the limits. It leads its own process group, which reads a pipe whose other end only this process holds:
when this process closes it or dies in any way, the whole group is killed.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.errors import CompileLimit
from runner.files import scratch

MESSAGE_BYTES = 128 << 10  # kept from the beginning of messages, and as many from the end
MAX_OUTPUT_BYTES = 1 << 30  # of a file, or of standard output
SLICE_S = 1.0  # longest single wait, so that time while this process is stopped (Ctrl-Z) does not count
_PIPE_BUF = 4096  # bytes that a writable pipe accepts without blocking (POSIX's PIPE_BUF)

# The reader of the pipe kills the group when the pipe closes. `wait` reaps it, as a container may lack an init.
_SHELL = """
ulimit -v {kib} 2>/dev/null
ulimit -f {blocks} 2>/dev/null
(read -r _ </dev/fd/{line}; kill -KILL 0) </dev/null >/dev/null 2>&1 &
"$@"
status=$?
{{ kill -KILL $!; wait; }} 2>/dev/null
exit $status
"""
_NO_MEMORY = re.compile(r"out of memory|memory exhausted|bad_alloc|[Cc]annot allocate memory|insufficient memory")
_NO_ROOM = re.compile(r"File size limit exceeded|File too large")


@dataclass(frozen=True)
class Limits:
    """The limits of one call of a compiler."""

    seconds: float = 60.0
    gb: float = 4.0  # memory of each of its processes, 10^9 bytes


class Limited:
    """Runs commands with limits. It is thread-safe."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._running: set[int] = set()  # process groups
        self.stopped = False  # whether `stop` was called

    def run(
        self,
        command: Sequence[str],
        text: bytes = b"",
        cwd: Path | str | None = None,
        env: Mapping[str, str] | None = None,
        min_limit_s: float = 0.0,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a command with a text as its input, and wait for its end, `min_limit_s` even if the limit is lower.

        Of stderr the first and the last `MESSAGE_BYTES` are returned. Raises CompileLimit, also after `stop`.
        """
        with self._started(command, cwd, env) as process:
            if self.stopped:
                raise CompileLimit("the compiler was not started, because the sweep ends")
            out, err = _output(process, text, max(self.limits.seconds, min_limit_s))
            code = process.wait()
        message = err.decode(errors="replace")
        if code and ran_out_of_memory(message):
            memory = f"{self.limits.gb:g} GB of memory (device.compile_limit_gb)"
            raise CompileLimit(f"the compiler needs more than {memory}", message)
        if code and _NO_ROOM.search(message):
            raise CompileLimit(f"the compiler's output exceeds the limit of {MAX_OUTPUT_BYTES >> 20} MiB", message)
        return subprocess.CompletedProcess(command, code, out, err)

    @contextlib.contextmanager
    def _started(
        self, command: Sequence[str], cwd: Path | str | None, env: Mapping[str, str] | None
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Start a process group with limits; on exit it is killed and its temporary files are deleted."""
        line, ours = os.pipe()
        shell = _SHELL.format(kib=int(self.limits.gb * 1e9) >> 10, blocks=MAX_OUTPUT_BYTES >> 9, line=line)
        with contextlib.ExitStack() as after:
            after.callback(os.close, ours)
            try:
                folder = after.enter_context(scratch.folder())
                process = subprocess.Popen(
                    ["sh", "-c", shell, "sh", *command], cwd=cwd, pass_fds=(line,), process_group=0,
                    env={**(os.environ if env is None else env), "TMPDIR": str(folder)},
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                )  # fmt: skip
            finally:
                os.close(line)
            self._running.add(process.pid)
            try:
                yield process
            finally:
                self._running.discard(process.pid)
                _kill(process)

    def stop(self) -> None:
        """Kill all running commands, and refuse new ones."""
        self.stopped = True
        for group in tuple(self._running):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)


def ran_out_of_memory(message: str) -> bool:
    """Whether a compiler's message says that memory ran out."""
    return bool(_NO_MEMORY.search(message))


def shortened(message: str) -> str:
    """The first and the last `MESSAGE_BYTES` of a message."""
    messages = _Messages()
    messages.extend(message.encode())
    return messages.text.decode(errors="replace")


def _output(process: subprocess.Popen[bytes], text: bytes, seconds: float) -> tuple[bytes, bytes]:
    """Write a text to a process's stdin, and read its stdout and stderr until it closes both."""
    out, err, unwritten, remaining_s, last = bytearray(), _Messages(), memoryview(text), seconds, time.monotonic()
    with selectors.DefaultSelector() as waiting:
        waiting.register(process.stdin or 0, selectors.EVENT_WRITE)
        waiting.register(process.stdout or 1, selectors.EVENT_READ, out.extend)
        waiting.register(process.stderr or 2, selectors.EVENT_READ, err.extend)
        while waiting.get_map():
            ready = waiting.select(min(remaining_s, SLICE_S))
            now = time.monotonic()
            remaining_s, last = remaining_s - min(now - last, SLICE_S), now
            if remaining_s <= 0:
                late = f"the compiler was still running after {seconds:g} s (device.compile_limit_s)"
                raise CompileLimit(late, err.text.decode(errors="replace"))
            if len(out) > MAX_OUTPUT_BYTES:
                raise CompileLimit(f"the compiler's output exceeds the limit of {MAX_OUTPUT_BYTES >> 20} MiB")
            for key, _ in ready:
                if key.fileobj is process.stdin:
                    with contextlib.suppress(BrokenPipeError):
                        unwritten = unwritten[os.write(key.fd, unwritten[:_PIPE_BUF]) :] if unwritten else unwritten
                        if unwritten:
                            continue
                elif chunk := os.read(key.fd, 1 << 16):
                    key.data(chunk)
                    continue
                waiting.unregister(key.fileobj)
                key.fileobj.close()  # type: ignore[union-attr]
    return bytes(out), err.text


class _Messages:
    """The first and the last bytes of a stream."""

    def __init__(self) -> None:
        self._first, self._last, self._count = bytearray(), bytearray(), 0

    def extend(self, chunk: bytes) -> None:
        self._count += len(chunk)
        room = MESSAGE_BYTES - len(self._first)
        self._first += chunk[:room]
        self._last += chunk[room:]
        if len(self._last) > 2 * MESSAGE_BYTES:  # amortized
            del self._last[:-MESSAGE_BYTES]

    @property
    def text(self) -> bytes:
        last = bytes(self._last[-MESSAGE_BYTES:])
        dropped = self._count - len(self._first) - len(last)
        return bytes(self._first) + (f"\n[{dropped} bytes dropped]\n".encode() if dropped else b"") + last


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process group unless its leader was already waited for, and close the streams."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream:
            with contextlib.suppress(OSError):
                stream.close()
