"""Keyword arguments of Python as overrides of a command line: a list is a sweep, a text is one value."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from runner.api.own_kernel import Kernel, plain
from runner.compose.arguments import quote
from runner.errors import UsageError
from runner.files.limited import MAX_ROWS

KEY = re.compile(r"\+{0,2}[A-Za-z_][\w./]*(@[\w./]+)?", re.ASCII)
_HYDRA_WORDS = re.compile("null|true|false|inf|nan", re.IGNORECASE)  # without quotes they are no text
MOST_BITS = 4096  # of an integer; Python itself does not write one of 15,000
GRAMMAR = "Hydra's own grammar, such as glob(reduce*), goes into overrides=(...)"


def overrides(values: Mapping[str, Any]) -> list[str]:
    """An override for each keyword argument.

    Args:
        values: By key. A list, a range or an array holds the values of a sweep; a list in a list is a list of Hydra's,
            and a dictionary one of Hydra's dictionaries. A text stands for itself, whatever its letters.

    Raises:
        UsageError: A key is not one, a list is empty, or a value has no form in an override.
    """
    try:
        return [f"{_key(key)}={_values(key, value)}" for key, value in values.items()]
    except RecursionError:
        raise UsageError("a list or a dictionary holds itself, or is nested too deeply") from None


def _key(key: str) -> str:
    if not KEY.fullmatch(key):
        raise UsageError(f"{key!r}: expected a key, such as block or timing.rounds; {GRAMMAR}")
    return key


def _values(key: str, value: Any) -> str:
    if isinstance(value, tuple):
        extent = "x".join(map(str, value))
        instead = f"a sweep is the list {list(value)!r}, a block or a shape the text '{extent}'"
        raise UsageError(f"{key}={value!r}: a tuple may mean either; {instead}")
    if isinstance(value, set | frozenset):
        raise UsageError(f"{key}={value!r}: a set has no order; write the values of a sweep as a list")
    if not is_several(value):
        return _literal(key, value)
    texts = [_literal(key, each) for each in several(key, value)]
    if not texts:
        raise UsageError(f"{key}={value!r}: the list is empty; leave {key} out for its default")
    return ",".join(texts)


def text(key: str, value: str) -> str:
    """A text that stands for itself: `${...}` in it is no reference to another value.

    Raises:
        UsageError: It has a letter that no file can hold, or a null byte.
    """
    try:
        value.encode()
    except UnicodeEncodeError as e:
        raise UsageError(f"{key}={value!r:.80}: {value[e.start]!r} is not a letter") from None
    if "\0" in value:
        raise UsageError(f"{key}={value!r:.80}: a null byte is not a letter")
    return quote(re.sub(r"(\\*)\$\{", r"\1\1\\${", value))


def several(key: str, values: Iterable[Any]) -> list[Any]:
    """The values of a sweep as a list. Raises UsageError if there are more than a sweep may have, or no end of them."""
    found = list(itertools.islice(values, MAX_ROWS + 1))
    if len(found) > MAX_ROWS:
        raise UsageError(f"{key}: more than {MAX_ROWS:,} values; sweep fewer")
    return found


def is_several(value: Any) -> bool:
    """Whether a value holds the values of a sweep: a list, a range, an array."""
    if isinstance(value, str | bytes | Mapping):
        return False
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) != 0


def _literal(key: str, value: Any) -> str:
    """One value in Hydra's grammar."""
    value = value.name if isinstance(value, Kernel) else plain(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        raise UsageError(f"{key}: an integer of {value.bit_length():,} bits; at most {MOST_BITS:,} are read")
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return f"'{value}'" if _HYDRA_WORDS.fullmatch(value) or not value else text(key, value)
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{_literal(key, k)}: {_literal(key, v)}' for k, v in value.items())}}}"
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return f"[{','.join(_literal(key, each) for each in value)}]"
    kind = type(value).__name__
    raise UsageError(f"{key}={value!r:.80}: expected text, a number, true or false, or a list of them, not {kind}")
