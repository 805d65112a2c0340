"""The terminal, or a pipe whose reader may leave early: `... | head` is no failure of what was to be told."""

from __future__ import annotations

import os
import sys

from rich.console import Console as RichConsole


class Console(RichConsole):
    """Rich's, but that a broken pipe does not end the program with status 1, which has a meaning of its own here."""

    def on_broken_pipe(self) -> None:
        """Called by Rich: say the rest to nobody."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python writes what is left at its end
