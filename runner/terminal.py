"""The terminal: a console that survives a closed pipe, and the progress of a sweep."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from typing import Any, Self

import rich.console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

QUIET_S = 2.0  # without a terminal, a long stage prints a line about that often


class Console(rich.console.Console):
    """Rich's console, except that a broken pipe, as in `... | head`, does not end the program with status 1."""

    def on_broken_pipe(self) -> None:
        """Called by Rich: discard the rest."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes its buffer at exit


class SweepProgress:
    """Progress through stages of several steps: a bar in a terminal, otherwise a line per case. A context manager."""

    def __init__(self, console: rich.console.Console | None = None) -> None:
        self.console = console or rich.console.Console(stderr=True)
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("[dim]{task.fields[now]}"),
            console=self.console,
            disable=not self.console.is_terminal,
            transient=True,
        )
        self._bar.add_task("", visible=False, now="")
        (self._stage,) = self._bar.tasks
        self._said = time.monotonic()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def stage(self, name: str, total: int) -> None:
        """Begin a stage of `total` steps."""
        self._bar.reset(self._stage.id, description=name, total=total, now="", visible=True)
        self._said = time.monotonic()

    def now(self, what: str) -> None:
        """Show the current step."""
        self._bar.update(self._stage.id, now=escape(what))
        if not self.console.is_terminal and time.monotonic() - self._said > QUIET_S:
            self.say(f"{self._stage.description} {self._stage.completed + 1:.0f}/{self._stage.total:.0f}: {what}")

    def step(self) -> None:
        """Count a step as done."""
        self._bar.advance(self._stage.id)

    def row(self, label: str, row: Mapping[str, Any]) -> None:
        """Show a finished case. In a terminal only a failed one stays on the screen."""
        if self.console.is_terminal and row["status"] in ("ok", "skipped"):
            return
        us = row.get("median_us")
        taken = f"{us:,.1f} µs" if us else ""
        what = f"{row['status']} {taken or row.get('reason') or ''}"
        self.say(f"{self._stage.completed:.0f}/{self._stage.total:.0f} {label}: {what}".rstrip())

    def say(self, text: str) -> None:
        """Print a line that stays."""
        self._said = time.monotonic()
        self.console.print(escape(text), highlight=False, soft_wrap=True)
