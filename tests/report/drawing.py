"""What a run's figures and its page are and show, for tests."""

from __future__ import annotations

import csv
import io
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from runner.record.ranking import ratios
from runner.record.run import read
from runner.report.figures import choose, drawing
from runner.report.figures.figure import Figure, as_csv, draw


class PageParts(HTMLParser):
    """The tags, ids, links and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag with its id and its links."""
        given = {name: value or "" for name, value in attrs}
        self.tags.append(tag)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given[name] for name in ("href", "src") if name in given]

    def handle_data(self, data: str) -> None:
        """Note text."""
        self.text += data


def chosen(folder: Path, section: str = "") -> list[Figure]:
    """The figures of a folder, or those of a section."""
    run = read(folder)
    return [one for one in choose(run, ratios(run)) if section in ("", one.section)]


def drawn(folder: Path) -> dict[str, Figure]:
    """The drawn figures of a folder by their stem."""
    run = read(folder)
    return {one.stem: one for one in map(draw, choose(run, ratios(run)))}


def sheet(figure: Any) -> Any:
    """The drawing of a figure, as matplotlib's."""
    return drawing.draw(figure.title, figure.as_chart())


def words(figure: Any) -> list[str]:
    """The texts of a figure, or of an SVG."""
    svg = figure if isinstance(figure, bytes) else figure.picture()[0]
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg.decode())


def table(figure: Any) -> list[dict[str, str]]:
    """The rows of the CSV beside a figure."""
    rows = figure.rows() if callable(figure.rows) else figure.rows
    return list(csv.DictReader(io.StringIO(as_csv(rows).decode())))
