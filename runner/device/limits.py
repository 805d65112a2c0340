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
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.errors import CompileLimit

KEPT = 128 << 10  # bytes of messages kept from the beginning, and as many from the end
MOST = 1 << 30  # bytes of a file, or of standard output
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
        self._stopped = False

    def run(
        self,
        command: Sequence[str],
        text: bytes = b"",
        cwd: Path | str | None = None,
        env: Mapping[str, str] | None = None,
        at_least_s: float = 0.0,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a command and wait for its end.

        Args:
            command: The program and its arguments.
            text: Its standard input.
            cwd: Its working directory.
            env: Its environment; by default this process's.
            at_least_s: A higher limit of time, in seconds.

        Returns:
            The exit status and the output; of stderr the first and the last `KEPT` bytes.

        Raises:
            CompileLimit: A limit was exceeded, or `stop` was called before the start.
        """
        with self._started(command, cwd, env) as process:
            if self._stopped:
                raise CompileLimit("the compiler was not started, because the sweep ends")
            out, err = _output(process, text, max(self.limits.seconds, at_least_s))
            code = process.wait()
        said = err.decode(errors="replace")
        if code and ran_out_of_memory(said):
            raise CompileLimit(
                f"the compiler needs more than {self.limits.gb:g} GB of memory (device.compile_limit_gb)", said
            )
        if code and _NO_ROOM.search(said):
            raise CompileLimit(f"the compiler writes more than {MOST >> 20} MiB", said)
        return subprocess.CompletedProcess(command, code, out, err)

    @contextlib.contextmanager
    def _started(
        self, command: Sequence[str], cwd: Path | str | None, env: Mapping[str, str] | None
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Start a process group with limits; on exit it is killed and its temporary files are deleted."""
        line, ours = os.pipe()
        shell = _SHELL.format(kib=int(self.limits.gb * 1e9) >> 10, blocks=MOST >> 9, line=line)
        with contextlib.ExitStack() as after:
            after.callback(os.close, ours)
            try:
                scratch = tempfile.TemporaryDirectory(prefix="runner-", ignore_cleanup_errors=True)
                process = subprocess.Popen(
                    ["sh", "-c", shell, "sh", *command], cwd=cwd, pass_fds=(line,), process_group=0,
                    env={**(os.environ if env is None else env), "TMPDIR": after.enter_context(scratch)},
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

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stopped

    def stop(self) -> None:
        """Kill all running commands, and refuse new ones."""
        self._stopped = True
        for group in tuple(self._running):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)


def ran_out_of_memory(said: str) -> bool:
    """Whether a compiler's message says that memory ran out."""
    return bool(_NO_MEMORY.search(said))


def kept(said: str) -> str:
    """The first and the last `KEPT` bytes of a message."""
    messages = _Messages()
    messages.extend(said.encode())
    return messages.text.decode(errors="replace")


def _output(process: subprocess.Popen[bytes], text: bytes, seconds: float) -> tuple[bytes, bytes]:
    """Write a text to a process's stdin, and read its stdout and stderr until it closes both."""
    out, err, unread, left_s, last = bytearray(), _Messages(), memoryview(text), seconds, time.monotonic()
    with selectors.DefaultSelector() as waiting:
        waiting.register(process.stdin or 0, selectors.EVENT_WRITE)
        waiting.register(process.stdout or 1, selectors.EVENT_READ, out.extend)
        waiting.register(process.stderr or 2, selectors.EVENT_READ, err.extend)
        while waiting.get_map():
            ready = waiting.select(min(left_s, SLICE_S))
            now = time.monotonic()
            left_s, last = left_s - min(now - last, SLICE_S), now
            if left_s <= 0:
                said = f"the compiler was still running after {seconds:g} s (device.compile_limit_s)"
                raise CompileLimit(said, err.text.decode(errors="replace"))
            if len(out) > MOST:
                raise CompileLimit(f"the compiler writes more than {MOST >> 20} MiB")
            for key, _ in ready:
                if key.fileobj is process.stdin:
                    with contextlib.suppress(BrokenPipeError):
                        unread = unread[os.write(key.fd, unread[:_PIPE_BUF]) :] if unread else unread
                        if unread:
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
        self._first, self._last, self._all = bytearray(), bytearray(), 0

    def extend(self, chunk: bytes) -> None:
        self._all += len(chunk)
        room = KEPT - len(self._first)
        self._first += chunk[:room]
        self._last += chunk[room:]
        if len(self._last) > 2 * KEPT:  # amortized
            del self._last[:-KEPT]

    @property
    def text(self) -> bytes:
        last = bytes(self._last[-KEPT:])
        dropped = self._all - len(self._first) - len(last)
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
