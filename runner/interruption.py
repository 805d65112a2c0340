"""Ctrl-C and SIGTERM end the program once, at any moment, and are never lost.

Python raises `KeyboardInterrupt` wherever the program is, and foreign code may swallow it: pandas has been seen to. So
the signal is also remembered, and `check` raises it again before the next case.
"""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass
from types import FrameType

AGAIN_S = 30.0


@dataclass
class _Signals:
    """The signals so far. While finished work is saved, further ones change nothing for half a minute."""

    heard: bool = False
    ignored_until: float = 0.0  # after that they count again, so that a program that hangs can be ended

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        self.heard = True
        if time.monotonic() >= self.ignored_until:
            self.ignored_until = time.monotonic() + AGAIN_S
            raise KeyboardInterrupt


_signals = _Signals()


def listen(handler: _Signals | signal.Handlers = _signals) -> None:
    """From now on, Ctrl-C and a batch system's SIGTERM interrupt the program."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)


def check() -> None:
    """Raise `KeyboardInterrupt` if a signal came."""
    if _signals.heard:
        raise KeyboardInterrupt


def ignore() -> None:
    """Ignore both signals during the program's last steps."""
    listen(signal.SIG_IGN)
