"""Reading YAML with complaints that name the file, the key, the value, and what is allowed."""

from __future__ import annotations

from typing import Any

from runner.errors import Mistake
from runner.expression import Expression


class Reader:
    """One level of a YAML, and where it stands, so that every complaint names its place."""

    def __init__(self, content: Any, where: str) -> None:
        if not isinstance(content, dict):
            raise Mistake(f"{where}: keys with values are expected, not {str(content)[:60]!r}")
        self.raw: dict[str, Any] = content
        self.where = where

    def at(self, key: str, content: Any) -> Reader:
        """The level below, under `key`."""
        return Reader(content, f"{self.where}: {key}")

    def only(self, allowed: frozenset[str]) -> None:
        """Refuse keys that are not in `allowed`."""
        for key in self.raw:
            if key not in allowed:
                raise Mistake(f"{self.where}: '{key}' is no key here; allowed are {', '.join(sorted(allowed))}")

    def need(self, *keys: str) -> None:
        """Refuse a level without these keys."""
        for key in keys:
            if self.raw.get(key) is None:
                raise Mistake(f"{self.where}: the key '{key}' is missing")

    def text(self, key: str, default: str | None = None) -> str:
        """A piece of text."""
        value = self.raw.get(key, default)
        if not isinstance(value, str):
            raise Mistake(f"{self.where}: {key}: text is expected, not {str(value)[:60]!r}")
        return value

    def sequence(self, key: str) -> list[Any]:
        """A list; empty where there is none."""
        value = self.raw.get(key) or []
        if not isinstance(value, list):
            raise Mistake(f"{self.where}: {key}: a list is expected, not {str(value)[:60]!r}")
        return value

    def items(self, key: str) -> list[tuple[Any, Any]]:
        """The keys and values below `key`; empty where there are none."""
        return list(self.at(key, self.raw.get(key) or {}).raw.items())

    def expression(self, key: str, value: Any) -> Expression:
        """An expression over the parameters."""
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise Mistake(f"{self.where}: {key}: an expression is expected, not {str(value)[:60]!r}")
        return Expression(str(value), f"{self.where}: {key}")

    def optional_expression(self, key: str) -> Expression | None:
        """An expression, or `None` where there is none."""
        return None if self.raw.get(key) is None else self.expression(key, self.raw[key])

    def expressions(self, key: str, least: int, most: int) -> tuple[Expression, ...]:
        """One expression, or a list of `least` to `most`."""
        value = self.raw.get(key)
        values = value if isinstance(value, list) else [value]
        if not least <= len(values) <= most:
            raise Mistake(f"{self.where}: {key}: {least} to {most} expressions are expected, not {len(values)}")
        return tuple(self.expression(key, v) for v in values)
