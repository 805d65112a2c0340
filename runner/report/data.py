"""Data for the page's script: the columns that no table shows, and the views of the charts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from runner.columns import COLUMNS, Shown, shown
from runner.report.table import parameters, records
from runner.report.text import absent, plain

LEFT_OUT = frozenset(("case", "reason", "note", "received", "value", "reference", "rows", "cols", "row"))
"""Columns with long texts, and columns that repeat others."""

DIGITS = 5


def embedded(frame: pd.DataFrame, in_table: Sequence[str], views: Iterable[dict[str, Any]]) -> str:
    """JSON that is safe in a page: the further columns (a single value if all rows share it) and the views."""
    views = list(views)
    rest = sorted(str(name) for name in frame.columns if name not in LEFT_OUT and name not in in_table)
    further = {name: known for name in rest if (known := _column(frame[name].tolist())) is not None}
    content = {
        "columns": further,
        "parameters": parameters(frame),
        "results": [name for name in ("gbps", "median_us", *shown(Shown.MEASURED)) if name in in_table],
        "units": {column.name: column.unit for column in COLUMNS if column.unit and views},
        "limits": _limits(records(frame)) if views else {},
        "views": [view for view in views if "kind" not in view],
        "panels": [view for view in views if "kind" in view],
        "rows": [int(row) for row in frame.index],
    }
    return json.dumps(content, allow_nan=False, separators=(",", ":"), default=_plain).replace("<", "\\u003c")


def _column(values: list[Any]) -> Any:
    known = [_plain(value) for value in values]
    return known[0] if known and all(value == known[0] for value in known) else known


def _plain(value: Any) -> Any:
    if absent(value):
        return None
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    return plain(value) if isinstance(value, str) else value.item() if hasattr(value, "item") else value


def _limits(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """The bandwidths of which `percent_peak` and `percent_copy` are the percentage, unless rows disagree."""
    from runner.report.figures.times import LIMITS, limits  # noqa: PLC0415 - matplotlib would slow the runner's start

    return {"gbps": {LIMITS[column][0]: round(limit, 1) for column, limit in limits(rows).items()}}
