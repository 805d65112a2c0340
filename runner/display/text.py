"""Format values as text, so that a number looks the same in the page, the figures and the terminal."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from typing import Any

PAIRS = {
    "wavefronts ld/st": ("shared_load_wavefronts", "shared_store_wavefronts"),
    "sectors ld/st": ("global_load_sectors", "global_store_sectors"),
}
"""Heads of tables, each with the pair of columns that it shows."""

SMALL = 0.01  # below it, two decimals would show nothing of a number
_SHORT = {"wavefronts ld/st": "shared", "sectors ld/st": "global"}
_MEANING = {
    "wavefronts ld/st": "wavefronts of a warp's request to shared memory, load/store; 1 without bank conflicts, 2 for "
    "8 bytes a thread, 4 for 16",
    "sectors ld/st": "32-byte sectors of a warp's request to global memory, load/store",
}
MEANINGS = {head: f"{head}: {meaning}. Counted from the addresses." for head, meaning in _MEANING.items()}


def absent(value: Any) -> bool:
    """Whether a cell is empty: `None`, NA, NaN or ""."""
    if value is None or type(value).__name__ == "NAType":  # pandas.NA, without the slow import of pandas
        return True
    return value == "" or (isinstance(value, float) and math.isnan(value))


def plain(text: str) -> str:
    """The text without control characters: escapes, bidirectional overrides, lone surrogates."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in "\n\t" or unicodedata.category(c)[0] != "C" else "\N{REPLACEMENT CHARACTER}" for c in text)


def one_line(text: str, limit: int = 300) -> str:
    """The text on one line, cut with an ellipsis at the limit."""
    flat = " ".join(plain(text).split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"


def slug(text: str) -> str:
    """The text as part of a file name."""
    return re.sub(r"[^A-Za-z0-9_]+", "-", text)[:60].strip("-")


def count(number: int, noun: str) -> str:
    """A number with its noun: `1 case`, `6 cases`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def sentences(*parts: str) -> str:
    """The parts that are not empty, one after the other."""
    return " ".join(filter(None, parts))


def as_sentence(text: str) -> str:
    """Words with a capital and a full stop; nothing stays nothing."""
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def listed(words: list[str]) -> str:
    """Words in a sentence: `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def limited(words: Sequence[str], most: int) -> list[str]:
    """The first words, and how many further ones there are: `a`, `b`, `3 more`."""
    return [*words[:most], *([f"{len(words) - most:,} more"] if len(words) > most else [])]


def limited_lines(lines: Sequence[str], most: int, where: str = "") -> list[str]:
    """The first lines, and how many further ones there are, and `where`."""
    return [*lines[:most], *([f"... {len(lines) - most} further lines{where}"] if len(lines) > most else [])]


def power(size: int) -> str:
    """A number of elements: `2^24` for a power of two from 1024 on, otherwise `1,000,000`."""
    if size >= 1024 and size & (size - 1) == 0:
        return f"2^{size.bit_length() - 1}"
    return f"{size:,}"


def size_of(row: dict[str, Any]) -> str:
    """The size of a case: `2^24`, or `4096x4096` in two dimensions."""
    if not absent(row["rows"]) and not absent(row["cols"]):
        return f"{row['rows']}x{row['cols']}"
    return "" if absent(row["size"]) else power(int(row["size"]))


def rough(number: float) -> str:
    """A number with three digits, for a sentence."""
    if abs(number) >= 100:
        return f"{number:,.0f}"
    if 0 < abs(number) < SMALL:
        return f"{number:.2g}"
    return f"{number:.1f}" if abs(number) >= 10 else f"{number:.2f}"


def exact(number: float) -> str:
    """A number with four digits, or all digits before the point, for a table."""
    if abs(number) >= 1000:
        return f"{number:,.0f}"
    return f"{number:.{1 if abs(number) >= 100 else 2 if abs(number) >= 10 else 3}f}"


def four_digits(number: float) -> str:
    """A number with at most four digits, or all digits before the point."""
    return f"{number:,.4g}" if number < 10000 else f"{number:,.0f}"


def value_of(name: str, row: dict[str, Any]) -> str:
    """The value of a row's parameter; empty if the kernel does not read the parameter."""
    if name == "size":
        return size_of(row)
    value = row[name]
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return "" if absent(value) else str(value)


def brief(name: str, value: str) -> str:
    """A parameter's value in a figure. Compiler options lose their dashes, as in `dlcm=cg fmad=false`."""
    return re.sub(r"(^|\s)-+(Xptxas=-+)?", r"\1", value) if name == "compile_options" else value


def described(row: dict[str, Any], names: list[str]) -> str:
    """A configuration in words: `reduceShflUnroll, block 256, unroll 8`."""
    pairs = [(name, value_of(name, row)) for name in names if name != "kernel"]
    return ", ".join([one_line(str(row["kernel"]), 60), *(f"{name} {one_line(v, 40)}" for name, v in pairs if v)])


def cost_pair(row: dict[str, Any], head: str) -> str:
    """One of `PAIRS` of a row, such as `32/1`. A dash stands for an access that the kernel does not make."""
    values = [row.get(name) for name in PAIRS[head]]
    words = ("–" if value is None or absent(value) else four_digits(value) for value in values)  # noqa: RUF001
    return "" if all(map(absent, values)) else "/".join(words)


def costs(row: dict[str, Any]) -> str:
    """What a case's accesses cost: `shared 32/1, global 4/4`."""
    return ", ".join(f"{short} {text}" for head, short in _SHORT.items() if (text := cost_pair(row, head)))


def costs_legend(rows: list[dict[str, Any]]) -> str:
    """A legend of `costs`; empty if it shows nothing for these rows."""
    words = [
        f"{_SHORT[head]}: {meaning}" for head, meaning in _MEANING.items() if any(cost_pair(row, head) for row in rows)
    ]
    return f"{'; '.join(words)}. Counted from the addresses." if words else ""
