"""Reading YAML with complaints that name the file, the key, the value, and what is allowed."""

from __future__ import annotations

import difflib
from typing import Any

from runner.errors import UsageError
from runner.kernel.expression import Expression

LONGEST_SHOWN = 60


def shown(value: Any) -> str:
    """A value as YAML writes it, in quotes, and cut if it is long."""
    text = {None: "null", True: "true", False: "false"}.get(value, str(value)) if _is_word(value) else str(value)
    return f"'{text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + '...'}'"


def _is_word(value: Any) -> bool:
    return value is None or isinstance(value, bool)


class Reader:
    """One level of a YAML, and where it stands, so that every complaint names its place."""

    def __init__(self, content: Any, where: str) -> None:
        if not isinstance(content, dict):
            raise UsageError(f"{where}: keys with values are expected, not {shown(content)}")
        self.raw: dict[str, Any] = content
        self.where = where

    def at(self, key: str, content: Any) -> Reader:
        """The level below, under `key`."""
        return Reader(content, f"{self.where}: {key}")

    def only(self, allowed: frozenset[str]) -> None:
        """Refuse keys that are not in `allowed`."""
        for key in self.raw:
            if key not in allowed:
                near = difflib.get_close_matches(str(key), allowed, n=1)
                hint = f"; did you mean {near[0]}?" if near else ""
                raise UsageError(
                    f"{self.where}: {shown(key)} is no key here{hint}; allowed are {', '.join(sorted(allowed))}"
                )

    def need(self, *keys: str) -> None:
        """Refuse a level without these keys."""
        for key in keys:
            if self.raw.get(key) in (None, ""):
                raise UsageError(f"{self.where}: the key '{key}' is missing")

    def text(self, key: str, default: str | None = None) -> str:
        """A piece of text."""
        value = self.raw.get(key, default)
        if not isinstance(value, str):
            raise UsageError(f"{self.where}: {key}: text is expected, not {shown(value)}")
        return value

    def sequence(self, key: str) -> list[Any]:
        """A list; empty where there is none."""
        value = self.raw.get(key) or []
        if not isinstance(value, list):
            raise UsageError(f"{self.where}: {key}: a list is expected, not {shown(value)}")
        return value

    def items(self, key: str) -> list[tuple[Any, Any]]:
        """The keys and values below `key`; empty where there are none."""
        return list(self.at(key, self.raw.get(key) or {}).raw.items())

    def expression(self, key: str, value: Any, *, number: bool = True) -> Expression:
        """An expression over the parameters; of a `number` unless text, such as a dtype, will do."""
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise UsageError(f"{self.where}: {key}: an expression is expected, not {shown(value)}")
        return Expression(str(value), f"{self.where}: {key}", number)

    def optional_expression(self, key: str) -> Expression | None:
        """An expression, or `None` where there is none."""
        return None if self.raw.get(key) is None else self.expression(key, self.raw[key])

    def expressions(self, key: str, least: int, most: int) -> tuple[Expression, ...]:
        """One expression, or a list of `least` to `most`."""
        value = self.raw.get(key)
        values = value if isinstance(value, list) else [value]
        if not least <= len(values) <= most:
            raise UsageError(f"{self.where}: {key}: {least} to {most} expressions are expected, not {len(values)}")
        return tuple(self.expression(key, v) for v in values)
