"""How cases are spread over the panels of a figure, and which of them a point shows. Pure: no drawing here."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

from runner.report.table import parameters, records, varying
from runner.report.text import value_of

MOST_PANELS = 6

APART = ("kernel", "size", "dtype", "seed", "device")
"""Parameters that are never averaged away, nor an axis of their own."""


def told_apart(group: pd.DataFrame) -> list[str]:
    """Parameters with several values among the kernels that read them, constants of one kernel left out."""
    shared = [name for name in varying(group) if name in parameters(group)]
    return [n for n in shared if len({value_of(n, row) for row in records(group)} - {""}) > 1]


def facets(group: pd.DataFrame) -> tuple[list[str], list[str]]:
    """The parameters that get panels, as long as those are few, and the rest, of which each point takes the fastest."""
    panels = max(1, group["dtype"].nunique())
    own: list[str] = []
    rest: list[str] = []
    for name in told_apart(group):
        if name in APART:
            continue
        values = len({value_of(name, row) for row in records(group)} - {""})
        if name != "block" and panels * values <= MOST_PANELS:
            panels, own = panels * values, [*own, name]
        else:
            rest.append(name)
    return own, rest


def split(group: pd.DataFrame, facets: list[str]) -> list[tuple[str, pd.DataFrame]]:
    """The rows of each panel. A kernel that does not read a facet is the same in all its panels, so it is in each."""
    parts = [("", group)]
    for name in ["dtype", *facets]:
        values = [v for v in dict.fromkeys(value_of(name, row) for row in records(group)) if v]
        if name != "dtype":
            values = sorted(values, key=_natural)
        if len(values) > 1:
            parts = [
                (f"{title}, {name} {value}".removeprefix(", "), chosen)
                for title, rows in parts
                for value in values
                if not (chosen := rows[[value_of(name, row) in (value, "") for row in records(rows)]]).empty
            ]
    return parts


def best(rows: pd.DataFrame, point: list[str]) -> list[dict[str, Any]]:
    """One row a point: the fastest of those that differ in nothing that the figure shows."""
    point = list(dict.fromkeys(point))
    return records(rows.loc[rows.groupby(point, dropna=False, sort=False)["median_us"].idxmin()])


def _natural(text: str) -> tuple[int, ...] | tuple[float, str]:
    numbers = re.findall(r"\d+", text)
    return (0.0, text) if not numbers else (1, *(int(number) for number in numbers))
