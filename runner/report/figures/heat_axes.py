"""The axes of a heat map: which pair of parameters, and which of their values. Pure: no drawing here.

The pair is block and size where both vary within a kernel, else the two of a kernel's parameters that vary most; of
those only numbers, as words have no order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from runner.report.figures.axes import positions
from runner.report.text import absent, one_line, value_of

MOST_VALUES = 12

Row = dict[str, Any]


def by_kernel(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The cases of each panel by its title: of each kernel, and of each dtype where there are several."""
    rows = list(rows)
    several = len({row["dtype"] for row in rows} - {""}) > 1
    found: dict[str, list[Row]] = {}
    for row in rows:
        dtype = f", {row['dtype']}" if several and row["dtype"] else ""
        found.setdefault(f"{one_line(str(row['kernel']), 40)}{dtype}", []).append(row)
    return found


def pair(by_kernel: dict[str, list[Row]], names: list[str]) -> tuple[str, str] | None:
    """The parameters down and across; the size goes across, else that with more values."""
    most, found = 0, None
    for rows in by_kernel.values():
        counts = {name: len(values(rows, name)) for name in names if _ordered(rows, name)}
        several = sorted((n for n in counts if counts[n] > 1), key=lambda n: -counts[n])
        if "block" in several and "size" in several:
            return "block", "size"
        if len(several) > 1 and counts[several[0]] * counts[several[1]] > most:
            most, found = counts[several[0]] * counts[several[1]], (several[1], several[0])
    return (found[1], found[0]) if found and found[0] == "size" else found


def _ordered(rows: list[Row], name: str) -> bool:
    """Whether the values have an order: numbers do, words do not."""
    return name in ("size", "block") or all(_is_number(value) for value in values(rows, name))


def _is_number(text: str) -> bool:
    try:
        int(text, 0)
    except ValueError:
        return False
    return True


def values(rows: list[Row], name: str) -> list[str]:
    """The values of a parameter in their order."""
    places = positions([row for row in rows if value_of(name, row)], name)
    return sorted(places, key=lambda value: places[value])


def largest(rows: list[Row]) -> list[Row]:
    """The cases of each kernel's largest size."""
    last: dict[str, int] = {}
    for row in rows:
        if row["status"] == "ok" and not absent(row["size"]):
            last[row["kernel"]] = max(last.get(row["kernel"], 0), int(row["size"]))
    return [row for row in rows if not absent(row["size"]) and row["size"] == last.get(row["kernel"])]


def evenly(found: list[str]) -> list[str]:
    """As many as a panel takes, first and last among them."""
    if len(found) <= MOST_VALUES:
        return found
    return [found[round(n * (len(found) - 1) / (MOST_VALUES - 1))] for n in range(MOST_VALUES)]
