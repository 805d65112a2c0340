"""What a run's figures are and what they show, for tests."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

from runner.record.ranking import ratios
from runner.record.run import read
from runner.report.figures import choose, draw_all, drawing
from runner.report.figures.figure import Figure, as_csv


def chosen(folder: Path, section: str = "") -> list[Figure]:
    """The figures of a folder, or those of a section."""
    run = read(folder)
    return [one for one in choose(run, ratios(run)) if section in ("", one.section)]


def drawn(folder: Path) -> dict[str, Figure]:
    """The drawn figures of a folder by their stem."""
    run = read(folder)
    return {one.stem: one for one in draw_all(run, ratios(run))}


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
