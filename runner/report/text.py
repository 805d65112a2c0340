"""How values are written: the same number looks the same in the page, the figures and the terminal."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Any

import pandas as pd

EMULATED = "emulated time on the CPU device — says nothing about a GPU"


def absent(value: Any) -> bool:
    """Whether a cell of the table is empty."""
    return value is None or value is pd.NA or value == "" or (isinstance(value, float) and math.isnan(value))


def plain(text: str) -> str:
    """The text without characters that act instead of being read: escapes, bidirectional overrides, lone surrogates."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in "\n\t" or unicodedata.category(c)[0] != "C" else "\N{REPLACEMENT CHARACTER}" for c in text)


def one_line(text: str, limit: int = 300) -> str:
    """The text on one line, cut with an ellipsis where it is longer than the limit."""
    flat = " ".join(plain(text).split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"


def slug(text: str) -> str:
    """The text as a part of a file's name."""
    return re.sub(r"[^A-Za-z0-9_]+", "-", text)[:60].strip("-")


def count(number: int, noun: str) -> str:
    """A number with its noun: `1 case`, `6 cases`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def listed(words: list[str]) -> str:
    """Words as a sentence has them: `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def power(size: int) -> str:
    """A number of elements: `2^24` where it is a power of two that nobody reads in digits, else `1,000,000`."""
    if size >= 1024 and size & (size - 1) == 0:
        return f"2^{size.bit_length() - 1}"
    return f"{size:,}"


def size_of(row: dict[str, Any]) -> str:
    """The size of a case: rows by columns where it has both."""
    if not absent(row["rows"]) and not absent(row["cols"]):
        return f"{row['rows']}x{row['cols']}"
    return "" if absent(row["size"]) else power(int(row["size"]))


def rough(number: float) -> str:
    """A number in a sentence: three digits, as more would not be read."""
    if abs(number) >= 100:
        return f"{number:,.0f}"
    return f"{number:.1f}" if abs(number) >= 10 else f"{number:.2f}"


def exact(number: float) -> str:
    """A number in a table: four digits, or all digits before the point."""
    if abs(number) >= 1000:
        return f"{number:,.0f}"
    return f"{number:.{1 if abs(number) >= 100 else 2 if abs(number) >= 10 else 3}f}"


def value_of(name: str, row: dict[str, Any]) -> str:
    """A parameter's value as it is written everywhere; empty where the kernel does not read it."""
    if name == "size":
        return size_of(row)
    return "" if absent(row[name]) else str(row[name])


def described(row: dict[str, Any], names: list[str]) -> str:
    """A configuration in words: `reduceShflUnroll, block 256, unroll 8`."""
    pairs = [(name, value_of(name, row)) for name in names if name != "kernel"]
    return ", ".join([one_line(str(row["kernel"]), 60), *(f"{name} {one_line(v, 40)}" for name, v in pairs if v)])
