"""The numbers beside the time: what a warp's requests to shared and to global memory cost. Pure: words only."""

from __future__ import annotations

from typing import Any

from runner.report.text import absent

PAIRS = {
    "wavefronts ld/st": ("shared_load_wavefronts", "shared_store_wavefronts"),
    "sectors ld/st": ("global_load_sectors", "global_store_sectors"),
}
"""Heads of tables, and the columns of results.csv that stand below each."""

SHORT = {"wavefronts ld/st": "shared", "sectors ld/st": "global"}

MEANING = {
    "wavefronts ld/st": "wavefronts of a warp's request to shared memory, load/store; 1 without bank conflicts (2 for "
    "8 bytes a thread, 4 for 16)",
    "sectors ld/st": "32-byte sectors of a warp's request to global memory, load/store",
}
IN_TABLES = {head: f"{head}: {meaning}; calculated from the declared addresses" for head, meaning in MEANING.items()}
EXPLAINED = {head: f"{SHORT[head]}: {meaning}" for head, meaning in MEANING.items()}


def pair(row: dict[str, Any], head: str) -> str:
    """Loads and stores of a row: `32/1`; a dash for the one that it does not make, empty where it makes neither."""
    values = [row.get(name) for name in PAIRS[head]]
    return "" if all(absent(value) for value in values) else "/".join(written(value) for value in values)


def written(value: Any) -> str:
    """A number of them: whole where it is whole."""
    return "–" if absent(value) else f"{value:,.4g}" if value < 10000 else f"{value:,.0f}"  # noqa: RUF001


def beside(row: dict[str, Any]) -> str:
    """Both pairs of a row, for beside its time: `shared 32/1, global 4/4`."""
    return ", ".join(f"{short} {text}" for head, short in SHORT.items() if (text := pair(row, head)))


def explained(rows: list[dict[str, Any]]) -> str:
    """What the words of `beside` mean; empty where none of the rows has any."""
    words = [told for head, told in EXPLAINED.items() if any(pair(row, head) for row in rows)]
    return f"{'; '.join(words)}. Calculated from the declared addresses." if words else ""
