"""The declaration of a column: type, unit, meaning, and where the report shows it."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Literal

Type = Literal["text", "integer", "real", "flag"]


class Shown(enum.Enum):
    """Where the report's tables show a column."""

    NEVER = enum.auto()
    ALWAYS = enum.auto()
    MEASURED = enum.auto()  # always; it follows from the times of a GPU
    CALCULATED = enum.auto()  # on request if the table has measured times, otherwise always
    ON_REQUEST = enum.auto()


@dataclass(frozen=True)
class Column:
    """A column. The report shows parameters wherever they vary, and other columns as `shown` says."""

    name: str
    type: Type  # flags are written True or False
    unit: str  # empty for text and dimensionless numbers
    meaning: str  # one or two sentences in Markdown, for docs/results.md and the report's tooltips
    shown: Shown = Shown.NEVER
