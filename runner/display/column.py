"""What a column of a table is: its type, unit and meaning, and where the report shows it."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Literal

Type = Literal["text", "integer", "real", "flag"]


class Shown(enum.Enum):
    """Where the report's tables show a column."""

    NEVER = enum.auto()
    ALWAYS = enum.auto()
    MEASURED = enum.auto()  # always; what a GPU's times give
    CALCULATED = enum.auto()  # on request beside measured times, at once where there are none
    ON_REQUEST = enum.auto()


@dataclass(frozen=True)
class Column:
    """A column. The report shows the parameters of cases wherever they vary, and other columns where `shown` says."""

    name: str
    type: Type  # flags are written True or False
    unit: str  # of a number; empty if it has none
    meaning: str  # one or two sentences in Markdown, for docs/results.md and the report's tooltips
    shown: Shown = Shown.NEVER
