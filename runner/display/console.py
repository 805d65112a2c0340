"""Sentences, paths and tables in a terminal, printed uncut. Brackets in texts are not taken for Rich's markup."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import rich.table
from rich.console import Console
from rich.text import Text

from runner.display.table import Table
from runner.display.text import one_line, plain

BROAD = 100_000  # columns, wider than any line
INDENT = 4


def say(console: Console, text: str, style: str = "", *, wrap: bool = True) -> None:
    """Print a line without markup. A terminal wraps it between words if `wrap`; a pipe gets it unwrapped."""
    line = Text(one_line(text, 2000) if "\x1b" in text else text, style=style)
    console.print(line, soft_wrap=not (wrap and console.is_terminal))


def short_path(path: Path) -> str:
    """A path for people: relative to the working directory if it lies below that."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def say_path(console: Console, words: str, path: Path) -> None:
    """Print a path; in a terminal relative to the working directory, and unbroken on a line of its own if need be."""
    if not console.is_terminal:
        console.print(Text(plain(f"{words}{path}")), soft_wrap=True)
        return
    text = Text(plain(short_path(path)))
    fits = len(words) + text.cell_len <= console.width
    console.print(Text(words if fits else words.rstrip() + "\n").append_text(text), soft_wrap=True)


def say_table(console: Console, table: Table, *, right: Collection[str] = (), heads: bool = True, gap: int = 2) -> None:
    """Print a table; in a narrow terminal its lines go on in the next line, indented.

    The cells of the columns `right` are right-aligned. `heads`: print the column names. `gap`: spaces between columns.
    """
    drawn = _drawn(table, right, heads=heads, gap=gap)
    options = console.options.update(max_width=BROAD, no_wrap=True)
    options = options.update(width=console.measure(drawn, options=options).maximum)
    for line in console.render_lines(drawn, options, pad=False):
        text = Text.assemble(*((segment.text, segment.style or "") for segment in line))
        text.rstrip()
        if console.is_terminal and text.cell_len > console.width:
            first, *rest = text.wrap(console, max(console.width - INDENT, 1))
            text = Text("\n").join([first, *(Text(" " * INDENT) + line for line in rest)])
        console.print(text, soft_wrap=True)


def fits(console: Console, table: Table, *, heads: bool = True, gap: int = 2) -> bool:
    """Whether each line of a table fits into one of the console."""
    drawn = _drawn(table, (), heads=heads, gap=gap)
    return console.measure(drawn, options=console.options.update(max_width=BROAD)).maximum <= console.width


def _drawn(table: Table, right: Collection[str], *, heads: bool, gap: int) -> rich.table.Table:
    drawn = rich.table.Table(box=None, show_header=heads, pad_edge=False, padding=(0, gap, 0, 0))
    for name in table.columns:
        drawn.add_column(name, no_wrap=True, justify="right" if name in right else "left")
    for line in table.lines:
        drawn.add_row(*(Text(cell.text, style=cell.style) for cell in line.cells), style=line.style)
    return drawn
