"""Ctrl-C and SIGTERM: heard at any moment, obeyed once, and not lost.

Python raises `KeyboardInterrupt` wherever the program is, and code that swallows it has been met: it may come up in the
middle of pandas. So it is also remembered, and raised again where the next case would begin.
"""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass
from types import FrameType

AGAIN_S = 30.0


@dataclass
class _Signals:
    """What has come so far.

    Attributes:
        heard: Whether a signal came.
        ignored_until: Others change nothing before that, since what was finished is being saved. After half a minute
            they count again, so that a program that hangs there can be ended.
    """

    heard: bool = False
    ignored_until: float = 0.0

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        self.heard = True
        if time.monotonic() >= self.ignored_until:
            self.ignored_until = time.monotonic() + AGAIN_S
            raise KeyboardInterrupt


_signals = _Signals()


def listen() -> None:
    """From now on, Ctrl-C and a batch system's SIGTERM end what is being done."""
    _handle(_signals)


def check() -> None:
    """End what is being done, if that was asked for."""
    if _signals.heard:
        raise KeyboardInterrupt


def ignore() -> None:
    """Let nothing disturb the program's last steps; Python's own end would bring back the default."""
    _handle(signal.SIG_IGN)


def _handle(handler: _Signals | signal.Handlers) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)
