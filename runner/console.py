"""The terminal, or a pipe whose reader may leave early, as in `... | head`."""

from __future__ import annotations

import os
import sys

from rich.console import Console as RichConsole


class Console(RichConsole):
    """Rich's console, except that a broken pipe does not end the program with status 1, which means a failed case."""

    def on_broken_pipe(self) -> None:
        """Called by Rich: discard the rest."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes its buffer at exit
