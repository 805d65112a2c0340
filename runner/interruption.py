"""Ctrl-C, SIGTERM and SIGHUP end the program once, at any moment, and are never lost.

Python raises `KeyboardInterrupt` wherever the program is, and foreign code may swallow it: pandas has been seen to. So
the signal is also remembered, and `check` raises it again before the next case.
"""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import time
from collections.abc import Iterator
from types import FrameType

AGAIN_S = 30.0
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _Signals:
    """The signals so far. While finished work is saved, further ones change nothing for half a minute."""

    heard = False
    held = False  # whether they wait for the end of an import, which they would leave half done
    ignored_until = 0.0  # after that they count again, so that a program that hangs can be ended

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        self.heard = True
        if number == signal.SIGHUP:
            _leave_terminal()
        if not self.held and time.monotonic() >= self.ignored_until:
            self.ignored_until = time.monotonic() + AGAIN_S
            raise KeyboardInterrupt


_signals = _Signals()


def listen(handler: _Signals | signal.Handlers = _signals) -> None:
    """From now on, Ctrl-C, a batch system's SIGTERM and a closed terminal's SIGHUP interrupt the program."""
    for number in SIGNALS:
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # as nohup has it
            signal.signal(number, handler)


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Hold signals back while modules are imported: one that is half imported fails later, in words of its own."""
    _signals.held = True
    try:
        yield
    finally:
        _signals.held = False
    check()


def heard() -> bool:
    """Whether a signal came."""
    return _signals.heard


def check() -> None:
    """Raise `KeyboardInterrupt` if a signal came."""
    if _signals.heard:
        raise KeyboardInterrupt


def ignore() -> None:
    """Ignore the signals during the program's last steps."""
    listen(signal.SIG_IGN)


def _leave_terminal() -> None:
    """Write to nowhere what would go to a terminal that was closed: there, writing is an error."""
    for descriptor in (0, 1, 2):
        with contextlib.suppress(OSError):
            if stat.S_ISCHR(os.fstat(descriptor).st_mode):
                os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
