"""Handle Ctrl-C, SIGTERM and SIGHUP: each ends the program in an orderly way, and none is lost.

Python raises `KeyboardInterrupt` at an arbitrary point, and foreign code such as pandas may swallow it. So the signal
is also recorded, and `check` raises it again before the next case.
"""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import time
from collections.abc import Iterator
from types import FrameType

AGAIN_S = 30.0  # after a signal, further ones are ignored for this long
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _Signals:
    """The signal handler. After the first signal, further ones are ignored for 30 s while finished work is saved."""

    heard = False
    held = False  # whether signals wait for the end of an import
    ignored_until = 0.0  # afterwards a signal interrupts again, so that a hanging program can be ended

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        self.heard = True
        if number == signal.SIGHUP:
            _leave_terminal()
        if not self.held and time.monotonic() >= self.ignored_until:
            self.ignored_until = time.monotonic() + AGAIN_S
            raise KeyboardInterrupt


_signals = _Signals()


def listen(handler: _Signals | signal.Handlers = _signals) -> None:
    """Install the handler for Ctrl-C, a batch system's SIGTERM and a closed terminal's SIGHUP."""
    for number in SIGNALS:
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup ignores it
            signal.signal(number, handler)


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Delay signals while modules are imported: a half-imported module would fail later with an unrelated error."""
    _signals.held = True
    try:
        yield
    finally:
        _signals.held = False
    check()


def heard() -> bool:
    """Whether a signal was received."""
    return _signals.heard


def check() -> None:
    """Raise `KeyboardInterrupt` if a signal was received."""
    if _signals.heard:
        raise KeyboardInterrupt


def ignore() -> None:
    """Ignore the signals during the program's last steps."""
    listen(signal.SIG_IGN)


def _leave_terminal() -> None:
    """Redirect a closed terminal's descriptors to /dev/null, since writing to them is an error."""
    for descriptor in (0, 1, 2):
        with contextlib.suppress(OSError):
            if stat.S_ISCHR(os.fstat(descriptor).st_mode):
                os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
