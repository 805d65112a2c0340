"""The vocabulary of parameters: one word for the YAML key, the override, the CSV column, the axis and the filter.

A value can be written in several ways (`16Mi`, `2**24`, `16777216`); each has one canonical form:

    kind      canonical                    written as
    integer   int                          8, -2, 2**3, 0x8
    size      int, or 'ROWSxCOLS'          16Mi, 2**24, 16_777_216, 1e6, 4096x8192
    block     'X', or 'XxY'                256, 2**8, 32x16
    mask      int, 0 to 2**32-1            0xffffffff, 0b1010, 255
    dtype     name in NumPy                int32, float32, double
    choice    text                         one of the words that the kernel allows

`0x10` is always a hexadecimal number, never 0 by 10.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from runner.errors import UsageError
from runner.kernel.dtypes import DTYPE_ALIASES, DTYPES
from runner.kernel.expression import integer
from runner.kernel.fill import FORMER_NAMES

Canonical = int | str


class Kind(enum.StrEnum):
    """How the values of a parameter are written, and what they mean."""

    INTEGER = "integer"
    SIZE = "size"
    BLOCK = "block"
    MASK = "mask"
    DTYPE = "dtype"
    CHOICE = "choice"


# These words mean the same for every kernel. The order is that of the columns. Kernels may declare more.
VOCABULARY: dict[str, Kind] = {
    "block": Kind.BLOCK,
    "size": Kind.SIZE,
    "width": Kind.INTEGER,
    "mask": Kind.MASK,
    "unroll": Kind.INTEGER,
    "dtype": Kind.DTYPE,
    "src_lane": Kind.INTEGER,
    "delta": Kind.INTEGER,
    "offset": Kind.INTEGER,
    "lane_mask": Kind.INTEGER,
    "per_thread": Kind.INTEGER,
    "first": Kind.INTEGER,
    "second": Kind.INTEGER,
    "pad": Kind.INTEGER,
    "blocks": Kind.INTEGER,
    "cache": Kind.CHOICE,
    "fill": Kind.CHOICE,
}

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
_WITH_UNIT = re.compile(r"([0-9][0-9_]*(?:\.[0-9]+)?)\s*([kmg]i?)?", re.IGNORECASE)
_PAIR = re.compile(r"([1-9][0-9_]*)\s*x\s*([1-9][0-9_]*)")


def canonical(name: str, kind: Kind, value: Any) -> Canonical:
    """Bring a value into its canonical form.

    Args:
        name: The parameter's.
        kind: How to read it.
        value: As written in YAML or on the command line.

    Raises:
        UsageError: if it cannot be read.
    """
    try:
        return _read(kind, "" if value is None or isinstance(value, bool | list | dict) else str(value).strip())
    except (ValueError, KeyError, OverflowError):
        text = "null" if value is None else str(value)
        text = text if len(text) <= 60 else text[:57] + "..."
        raise UsageError(f"{name}={text}: {_EXPECTED[kind]} is expected") from None


def variables(name: str, kind: Kind, value: Canonical) -> Mapping[str, int | str]:
    """The names of a value in expressions: `block` also has `block_x` and `block_y`; `size` has `rows` and `cols`."""
    if kind is Kind.BLOCK:
        x, y = pair(value)
        return {name: x * y, f"{name}_x": x, f"{name}_y": y}
    if kind is Kind.SIZE:
        if isinstance(value, int):
            return {name: value, "rows": 1, "cols": value}
        rows, cols = pair(value)
        return {name: rows * cols, "rows": rows, "cols": cols}
    return {name: value}


def pair(value: Canonical) -> tuple[int, int]:
    """`'32x16'` as (32, 16); a single number as (number, 1)."""
    first, _, second = str(value).partition("x")
    return int(first), int(second or 1)


def written(kind: Kind, value: Canonical) -> str:
    """A canonical value as people write it: masks in hexadecimal, sizes that are powers of two as such."""
    if kind is Kind.MASK:
        return f"{value:#010x}"
    if kind is Kind.SIZE and isinstance(value, int) and value >= 2**10 and value & (value - 1) == 0:
        return f"2**{value.bit_length() - 1}"
    return str(value)


# The values of a kind of number: from, and up to but not including.
_RANGES = {
    Kind.INTEGER: (-(2**63), 2**63),
    Kind.SIZE: (0, 2**63),
    Kind.BLOCK: (0, 2**31),
    Kind.MASK: (0, 2**32),
}
_EXPECTED = {
    Kind.INTEGER: "an integer such as 8, -2 or 2**3",
    Kind.SIZE: "a number of elements such as 16Mi, 2**24 or 16777216, or rows by columns such as 4096x8192,",
    Kind.BLOCK: "threads per block such as 256, or x by y such as 32x16,",
    Kind.MASK: "a mask of 32 lanes such as 0xffffffff or 0b1010",
    Kind.DTYPE: f"one of {', '.join(DTYPES)}",
    Kind.CHOICE: "a word",
}


def _read(kind: Kind, text: str) -> Canonical:
    if kind is Kind.DTYPE:
        return DTYPES[DTYPE_ALIASES.get(text, text)].name
    if kind is Kind.CHOICE:
        if not re.fullmatch(r"\w[\w.+-]{0,63}", text):
            raise ValueError(text)
        return FORMER_NAMES.get(text, text)
    if kind in (Kind.SIZE, Kind.BLOCK) and (matched := _PAIR.fullmatch(text)):
        x, y = (m.replace("_", "") for m in matched.groups())
        return x if kind is Kind.BLOCK and y == "1" else f"{x}x{y}"
    value = _integer(text)
    least, end = _RANGES[kind]
    if not least <= value < end:
        raise ValueError(text)
    return str(value) if kind is Kind.BLOCK else value


def _integer(text: str) -> int:
    if matched := _WITH_UNIT.fullmatch(text):
        digits, unit = matched[1].replace("_", ""), (matched[2] or "").lower()
        if len(digits) > 1 and digits[0] == "0" and digits[1] != ".":
            raise ValueError(text)  # 010 could be 8 or 10
        number = Fraction(digits) * _UNITS[unit]
    elif re.fullmatch(r"[+-]?[0-9.]+e\+?[0-9]{1,2}|-?[0-9]+\.[0-9]+", text, re.IGNORECASE):
        number = Fraction(text)
    else:
        return integer(text)
    if number.denominator != 1:
        raise ValueError(text)
    return int(number)
