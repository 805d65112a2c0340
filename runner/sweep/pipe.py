"""The pipe between the parent and its worker: framed and verified messages, and waits with a limit.

The code of kernels and references runs in the worker and may write to any of its descriptors. So a frame carries a
secret and a checksum, and the parent unpickles only the few types that a worker sends.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import select
import socket
import struct
import sys
import threading
import time
import zlib

SECRET = 16  # bytes
_HEADER = struct.Struct(f"<{SECRET}sQI")  # the secret, then the length and the CRC-32 of the message
_MAX_BYTES = 1 << 30  # bytes of a message
_SLICE_S = 1.0  # longest single wait; a pause of this process (Ctrl-Z) counts as at most this
_MAX_OUTPUT = 64 << 10  # bytes of a worker's output that are shown

# The types that a worker's message may contain. Unpickling other types could run code.
_ALLOWED = {
    "runner.device": ("DeviceInfo", "GpuState", "Order", "Resources"),
    "runner.errors": ("DeviceUnavailable", "Finding"),
    "runner.sweep.worker": ("Answer", "Outcome", "FurtherLaunches"),
    "runner.sweep.measure": ("Round",),
    "numpy": ("dtype", "ndarray"),
    "numpy._core.multiarray": ("_reconstruct", "scalar"),
    "numpy._core.numeric": ("_frombuffer",),
    "numpy.core.multiarray": ("_reconstruct", "scalar"),  # NumPy 1
    "numpy.core.numeric": ("_frombuffer",),
}


class MalformedMessage(Exception):
    """A message is malformed: its frame, its checksum or its types are wrong."""


class Pipe:
    """One end of the pipe. The parent's end also shows what its worker prints."""

    def __init__(self, end: socket.socket, secret: bytes, printed: int | None = None) -> None:
        """Make an end of the pipe.

        Args:
            end: The socket.
            secret: `SECRET` bytes that begin each frame.
            printed: For the parent's end, the descriptor from which it reads the worker's output.
        """
        self._end, self._secret, self._printed, self._remaining_output = end, secret, printed, _MAX_OUTPUT
        self._parent = printed is not None
        self._received = bytearray()
        self.closed, self._closing = False, threading.Lock()
        if printed is not None:
            os.set_blocking(printed, False)

    def send(self, message: object, limit: float | None = None) -> None:
        """Send a message.

        Raises:
            OSError: The other end is closed, or did not take the message within `limit` seconds.
        """
        content = pickle.dumps(message)
        left = memoryview(_HEADER.pack(self._secret, len(content), zlib.crc32(content)) + content)
        while left:
            limit = self._wait(limit, writing=True)
            if limit is not None and limit <= 0:
                raise TimeoutError
            with contextlib.suppress(BlockingIOError):
                left = left[self._end.send(left, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL) :]

    def receive(self, limit: float | None = None) -> object:
        """The next message; `None` if none came within `limit` seconds.

        Raises:
            EOFError: The other end is closed.
            MalformedMessage: The message is malformed. Only the parent checks its types.
        """
        while (content := self._next_message()) is None:
            limit = self._wait(limit, writing=False)
            if limit is not None and limit <= 0:
                return None
            with contextlib.suppress(BlockingIOError):
                if not (chunk := self._end.recv(1 << 16, socket.MSG_DONTWAIT)):
                    raise EOFError
                self._received += chunk
        if not self._parent:
            return pickle.loads(content)  # noqa: S301  (the parent's)
        try:
            return _Reader(io.BytesIO(content)).load()
        except Exception as e:
            raise MalformedMessage(str(e)) from e

    def close(self) -> None:
        """Close this end, and show the rest of the worker's output. Two threads may call it at the same time."""
        with self._closing:
            if self.closed:
                return
            self.closed = True
        self._end.close()
        with contextlib.suppress(OSError):  # another thread, which was showing it, has closed it
            if self._printed is not None:
                self._show()
            if self._printed is not None:
                os.close(self._printed)
                self._printed = None

    def _next_message(self) -> bytes | None:
        if len(self._received) < _HEADER.size:
            if not self._secret.startswith(self._received[: len(self._secret)]):
                raise MalformedMessage("it has no secret")
            return None
        secret, length, crc = _HEADER.unpack_from(self._received)
        if secret != self._secret or length > _MAX_BYTES:
            raise MalformedMessage("it has no secret")
        if len(self._received) < _HEADER.size + length:
            return None
        content = bytes(self._received[_HEADER.size : _HEADER.size + length])
        del self._received[: _HEADER.size + length]
        if zlib.crc32(content) != crc:
            raise MalformedMessage("its checksum does not match its content")
        return content

    def _wait(self, limit: float | None, *, writing: bool) -> float | None:
        """Wait for the other end, and show the worker's output; the seconds that are left of `limit`."""
        if self.closed:
            raise BrokenPipeError
        began = time.monotonic()
        poll = select.poll()
        poll.register(self._end, select.POLLOUT if writing else select.POLLIN)
        if self._printed is not None:
            poll.register(self._printed, select.POLLIN)
        ready = poll.poll(1000 * (_SLICE_S if limit is None else min(_SLICE_S, max(limit, 0.0))))
        if self._printed is not None and any(fd == self._printed for fd, _ in ready):
            self._show()
        return limit if limit is None else limit - min(time.monotonic() - began, _SLICE_S)

    def _show(self) -> None:
        """Show what the worker prints, up to a limit."""
        assert self._printed is not None  # noqa: S101  (for mypy)
        try:
            chunk = os.read(self._printed, _MAX_OUTPUT)  # the capacity of a pipe on Linux
        except BlockingIOError:
            return
        shown, full = chunk[: self._remaining_output], 0 < self._remaining_output <= len(chunk)
        self._remaining_output -= len(shown)
        text = "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in shown.decode(errors="replace"))
        if full:
            text += f"\n[the worker process printed {_MAX_OUTPUT >> 10} KiB; the rest is dropped]\n"
        with contextlib.suppress(OSError):  # stderr is closed
            sys.stderr.write(text)
        if not chunk:  # all writers have closed it
            os.close(self._printed)
            self._printed = None


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> object:
        if name in _ALLOWED.get(module, ()):
            return super().find_class(module, name)
        raise ValueError(f"it contains an object of the type {module}.{name}")
