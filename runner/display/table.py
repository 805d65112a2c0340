"""The table of text cells that all commands share, and its formats.

Table ──▶ page (template/table.html)   terminal (`display.console`)   .markdown()   .html()   .csv()
"""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runner.display.text import one_line

PROSE = frozenset(("reason", "note"))
ZERO_IS_NOTHING = frozenset(("mismatches", "undefined_reads", "shared_dynamic", "shared_bytes", "local_bytes", "tied"))


@dataclass(frozen=True)
class Cell:
    """A cell: its text, its class in the style sheet, a tip of the page, and Rich's style in a terminal."""

    text: str
    kind: str = ""
    tip: str = ""
    style: str = ""


@dataclass(frozen=True)
class Line:
    """A row of a table: its anchor in a page, its cells, and Rich's style in a terminal."""

    anchor: str
    cells: list[Cell]
    style: str = ""


@dataclass(frozen=True)
class Table:
    """A table. The columns from `on_request` on are hidden in a page until the reader asks for them."""

    columns: list[str]
    lines: list[Line]
    on_request: str = ""

    @classmethod
    def of(cls, columns: Iterable[str], rows: Iterable[Iterable[str]], styles: Iterable[str] = ()) -> Table:
        """Make a table of plain texts. `styles` are the rows' Rich styles in a terminal."""
        lines = [Line("", [Cell(text) for text in row]) for row in rows]
        styled = [Line("", line.cells, style) for line, style in zip(lines, styles, strict=False)]
        return cls(list(columns), styled or lines)

    def filled(self, *always: str, on_request: Sequence[str] = ()) -> Table:
        """The table without empty columns, except `always`; a page hides those from `on_request` on."""
        empty = {name: ("", "0") if name in ZERO_IS_NOTHING else ("",) for name in self.columns}
        places = [
            n
            for n, name in enumerate(self.columns)
            if name in always or any(line.cells[n].text not in empty[name] for line in self.lines)
        ]
        names = [self.columns[n] for n in places]
        lines = [Line(line.anchor, [line.cells[n] for n in places], line.style) for line in self.lines]
        return Table(names, lines, next((name for name in names if name in on_request), ""))

    @property
    def styles(self) -> dict[str, str]:
        """Classes of the style sheet by column: words are left-aligned, hidden columns begin with `more`."""
        words = [n for n in range(len(self.columns)) if any(line.cells[n].text[:1].isalpha() for line in self.lines)]
        classes = dict.fromkeys([*(self.columns[n] for n in words), *PROSE.intersection(self.columns)], "left")
        return classes | (
            {self.on_request: f"{classes.get(self.on_request, '')} more".strip()} if self.on_request else {}
        )

    def markdown(self) -> str:
        """The table in Markdown. Special characters of Markdown and HTML are escaped."""
        rules = ["---" if "left" in self.styles.get(name, "") else "---:" for name in self.columns]
        lines = [[escaped(cell.text) for cell in line.cells] for line in self.lines]
        return "\n".join(f"| {' | '.join(words)} |" for words in (map(escaped, self.columns), rules, *lines))

    def html(self, most: int) -> str:
        """The first `most` rows for a notebook, without the columns on request."""
        end = self.columns.index(self.on_request) if self.on_request else len(self.columns)
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns[:end])
        lines = [[html.escape(cell.text) for cell in line.cells[:end]] for line in self.lines[:most]]
        body = "".join(f"<tr>{''.join(f'<td>{text}</td>' for text in line)}</tr>" for line in lines)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def csv(self) -> str:
        """The table as CSV."""
        target = io.StringIO()
        writer = csv.writer(target, lineterminator="\n")
        writer.writerows([self.columns, *([cell.text for cell in line.cells] for line in self.lines)])
        return target.getvalue()


def escaped(words: str) -> str:
    """One line of text with the special characters of Markdown and HTML escaped."""
    return re.sub(r"([\\`*<>|\[\]])", r"\\\1", one_line(words, 4000))
