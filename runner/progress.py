"""Progress of a sweep: a bar in a terminal, otherwise a line per case."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

QUIET_S = 2.0  # without a terminal, a long stage prints a line about that often


def _duration(microseconds: float) -> str:
    return f"{microseconds:,.1f} us" if microseconds < 10_000 else f"{microseconds / 1000:,.1f} ms"


class SweepProgress:
    """A sequence of stages, each with a number of steps; a context manager."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True)
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
        self._stage = ""
        self._task: TaskID | None = None
        self._total = self._done = 0
        self._said = time.monotonic()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._bar.stop()

    def stage(self, name: str, total: int) -> None:
        """Begin a stage of `total` steps."""
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._stage, self._total, self._done = name, total, 0
        self._task = self._bar.add_task(name, total=total, now="")
        self._said = time.monotonic()

    def now(self, what: str) -> None:
        """Show the current step."""
        if self._task is not None:
            self._bar.update(self._task, now=escape(what))
        if not self.console.is_terminal and time.monotonic() - self._said > QUIET_S:
            self.say(f"{self._stage} {self._done + 1}/{self._total}: {what}")

    def step(self) -> None:
        """Count a step as done."""
        self._done += 1
        if self._task is not None:
            self._bar.advance(self._task)

    def row(self, label: str, row: Mapping[str, Any]) -> None:
        """Show a finished case. In a terminal only a failed one stays on the screen."""
        if self.console.is_terminal and row["status"] in ("ok", "skipped"):
            return
        time_us = row.get("median_us")
        what = _duration(time_us) if time_us else row.get("reason") or ""
        self.say(f"{self._done}/{self._total} {label}: {row['status']} {what}".rstrip())

    def say(self, text: str) -> None:
        """Print a line that stays."""
        self._said = time.monotonic()
        self.console.print(escape(text), highlight=False, soft_wrap=True)
