"""The terminal: a console that survives a closed pipe, and the progress of a sweep."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any, Self

import rich.console
from rich.console import ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from runner.display.text import one_line

QUIET_S, QUIET_SHARE = 2.0, 0.1  # without a terminal, lines are this far apart: in seconds, and in the time so far
UNCHANGED_S = 10.0  # and lines about the same step
MAX_REASON = 2000  # characters
FEW = 40  # up to this many rows, and in a terminal failed rows, are all printed
STREAMS = ("standard output", "standard error")
BAR_WIDTHS = (24, 8)  # columns; the second if the line would be too long


@contextlib.contextmanager
def naming_stream(*, stderr: bool = False) -> Iterator[None]:
    """Name the stream, as `STREAMS` does, in an error of what prints, such as of a full disk."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as e:
        e.filename = STREAMS[stderr]
        raise


class Console(rich.console.Console):
    """Rich's console, except that a broken pipe, as in `... | head`, does not end the program with status 1.

    Other errors name the stream.
    """

    def print(self, *objects: Any, **options: Any) -> None:
        """As Rich's."""
        with naming_stream(stderr=self.stderr):
            super().print(*objects, **options)

    def on_broken_pipe(self) -> None:
        """Called by Rich: discard the rest."""
        self.quiet = True
        stream = sys.stderr if self.stderr else sys.stdout
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # Python flushes its buffer at exit


class SweepProgress:
    """Progress through stages of several steps: a bar in a terminal, otherwise occasional lines. A context manager.

    With `quiet`, only warnings are shown.
    """

    def __init__(self, console: rich.console.Console | None = None, *, quiet: bool = False) -> None:
        self.console = console or Console(stderr=True)
        self._in_terminal = self.console.is_terminal and not self.console.is_dumb_terminal
        self._quiet = quiet
        self._live = Live(
            console=self.console, get_renderable=lambda: self, transient=True, refresh_per_second=8,
            redirect_stdout=False,
        )  # fmt: skip
        self._name, self._total, self._done, self._step = "", 0, 0, ""
        self._shown = ("", "")  # the step that was printed last
        self._remaining_s: float | None = None  # seconds of the stage at the time `_counted`
        self._even = False  # whether each step of the stage takes about as long
        self._first: tuple[float, int] | None = None  # when the first of them ended, and how many were done then
        self._started = self._printed = self._counted = time.monotonic()
        self._rows_shown = 0

    def __enter__(self) -> Self:
        if self._in_terminal and not self._quiet:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def stage(self, name: str, total: int, done: int = 0, *, even: bool = False) -> None:
        """Begin a stage of `total` steps, of which `done` are done. Of `even` steps, the time left is shown."""
        self._name, self._total, self._done, self._step = name, total, done, ""
        self._even, self._first = even, None
        self._remaining_s = self._remaining_s if done else None
        self._printed = time.monotonic()

    def show_step(self, what: str) -> None:
        """Show the current step."""
        self._step = what
        if self._in_terminal or not self._is_due():
            return
        shown, times = (f"{self._name} {min(self._done + 1, self._total)}/{self._total}", what), ""
        if shown == self._shown:
            if time.monotonic() - self._printed < UNCHANGED_S:
                return
            times = f" ({self._times()})"
        self._shown = shown
        self.say(f"{shown[0]}{times or self._parenthesized_times()}: {what}")

    def step(self, steps: int = 1) -> None:
        """Count steps as done."""
        self._done += steps
        if self._even:
            now = time.monotonic()
            self._first = self._first or (now, self._done)  # the first steps may have waited for a tool to start
            since, before = self._first
            if self._done > before:
                self.set_remaining((now - since) / (self._done - before) * (self._total - self._done))

    def set_remaining(self, seconds: float | None) -> None:
        """Show the time left for the stage; `None` if it is unknown."""
        self._remaining_s, self._counted = seconds, time.monotonic()

    def row(self, label: str, row: Mapping[str, Any]) -> None:
        """Show a finished case, unless many were shown. In a terminal only failed cases stay on the screen."""
        fine = row["status"] in ("ok", "skipped")
        if self._in_terminal and fine:
            return
        self._rows_shown += not (fine and self._total > FEW)
        if not (self._is_due() if fine and self._total > FEW else self._rows_shown <= FEW):
            return
        us = row.get("median_us")
        taken = f"{us:,.1f} µs" if us else ""
        reason = one_line(str(row.get("reason") or ""), MAX_REASON)  # the text of an exception may control a terminal
        what = f"{row['status']} {taken or reason}".rstrip()
        self.say(f"{self._done}/{self._total}{self._parenthesized_times()} {label}: {what}")

    def say(self, text: str) -> None:
        """Print a line that stays."""
        if not self._quiet:
            self.warn(text)

    def warn(self, text: str) -> None:
        """Print a line that stays, even in quiet mode."""
        self._printed = time.monotonic()
        self.console.print(Text(text), soft_wrap=not self._in_terminal)

    def __rich_console__(self, console: rich.console.Console, options: ConsoleOptions) -> RenderResult:
        """Called by Rich: one line, at most as wide as the terminal. The name of the case is cut first."""
        width = options.max_width - 1  # in the last column some terminals begin a new line
        plain = options.ascii_only
        single = self._total <= 1  # needs no bar
        counts = self._times() if single else f" {self._done}/{self._total}  {self._times()}"
        for columns in (1,) if single else (*BAR_WIDTHS, 0):
            name = f"  {self._name}" if columns else ""
            if len(counts) + len(name) + columns <= width:
                break
        columns *= not single
        filled = round(columns * self._done / self._total) if self._total else 0
        line = Text.assemble(
            (("#" if plain else "━") * filled, "cyan"),
            (("-" if plain else "─") * (columns - filled), "dim"),
            counts,
            (name, "bold"),
        )
        room = width - line.cell_len - 2
        if self._step and name and room > 0:
            step = Text(f": {self._step}", style="dim")
            step.truncate(room + 2, overflow="crop" if plain else "ellipsis")
            line.append_text(step)
        line.truncate(width, overflow="crop")
        line.no_wrap = True
        yield line

    def _times(self) -> str:
        now = time.monotonic()
        elapsed = clock(now - self._started)
        left = 0.0 if self._remaining_s is None else self._remaining_s - (now - self._counted)
        return f"{elapsed}, {clock(left)} left" if left >= 1 else elapsed

    def _parenthesized_times(self) -> str:
        """The times for a line of a long sweep, if the time left is known."""
        return f" ({self._times()})" if self._total > FEW and self._remaining_s is not None else ""

    def _is_due(self) -> bool:
        now = time.monotonic()
        return now - self._printed > max(QUIET_S, QUIET_SHARE * (now - self._started))


def clock(seconds: float) -> str:
    """Seconds as 0:07, 12:34 or 1:02:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def duration(seconds: float) -> str:
    """Seconds for a sentence: 8 s, 3 min, 2 h 5 min."""
    if seconds < 100:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
