"""Reads one level of a kernel's YAML; every message names the file, the key, the value and what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from runner.errors import UsageError
from runner.kernel.expression import Expression, expanded, shortened

LONGEST_SHOWN = 60


def shown(value: Any) -> str:
    """A value as YAML writes it, in quotes, and cut if it is long."""
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return f"'{text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + '...'}'"


class Reader:
    """One level of a YAML.

    Args:
        content: What stands there; keys with values are expected.
        where: File and keys, for messages.
        above: The level above, if there is one.

    Attributes:
        known: The names that an expression may use.
        let: Expressions that other expressions may use by name.
        used: The names that the expressions read so far use.
    """

    def __init__(self, content: Any, where: str, above: Reader | None = None) -> None:
        if not isinstance(content, dict):
            raise UsageError(f"{where}: keys with values are expected, not {shown(content)}")
        self.raw: dict[str, Any] = content
        self.where = where
        self.known: Collection[str] = above.known if above else ()
        self.let: Mapping[str, str] = above.let if above else {}
        self.used: set[str] = above.used if above else set()

    def at(self, key: str, content: Any) -> Reader:
        """The level below, under `key`."""
        return Reader(content, f"{self.where}: {key}", self)

    def each(self, key: str) -> Iterator[Reader]:
        """The entries of a list, each a level."""
        return (self.at(f"{key}[{i}]", entry) for i, entry in enumerate(self.sequence(key)))

    def section(self, key: str, *required: str) -> Reader | None:
        """The level below `key`, which has exactly these keys; `None` if it is not there."""
        if key not in self.raw:
            return None
        section = self.at(key, self.raw[key])
        section.only(required)
        section.need(*required)
        return section

    def only(self, allowed: Iterable[str]) -> None:
        """Refuse keys that are not in `allowed`."""
        allowed = sorted(allowed)
        for key in self.raw:
            if key not in allowed:
                near = difflib.get_close_matches(str(key), allowed, n=1)
                hint = f"; did you mean {near[0]}?" if near else ""
                raise UsageError(f"{self.where}: {shown(key)} is no key here{hint}; allowed are {', '.join(allowed)}")

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

    def choice(self, key: str, allowed: Collection[str], default: str | None = None) -> str:
        """One of a few words."""
        value = self.text(key, default)
        if value not in allowed:
            raise UsageError(f"{self.where}: {key}: '{value}' is none of {', '.join(allowed)}")
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

    def expression(self, key: str, default: Any = None, *, more: Collection[str] = ()) -> Expression:
        """The expression under `key`; `more` names that it may use."""
        return self.as_expression(key, self.raw.get(key, default), more=more)

    def as_expression(self, key: str, value: Any, *, number: bool = True, more: Collection[str] = ()) -> Expression:
        """A value as an expression: of a number, unless text such as a dtype will do."""
        where = f"{self.where}: {key}"
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise UsageError(f"{where}: an expression is expected, not {shown(value)}")
        code = expanded(str(value), self.let, where)
        e = Expression(str(value), where, "" if code == str(value) else code, number)
        known = {*self.known, *more}
        for name in sorted(e.names - known):
            raise UsageError(
                f"{where}: '{shortened(e.text)}' names '{name}', which is no parameter; known are "
                f"{', '.join(sorted({*known, *self.let}))}"
            )
        self.used |= e.names
        return e

    def optional_expression(self, key: str) -> Expression | None:
        """An expression, or `None` where there is none."""
        return None if self.raw.get(key) is None else self.expression(key)

    def expressions(self, key: str) -> tuple[Expression, ...]:
        """One expression, or a list of one to three."""
        value = self.raw.get(key)
        values = value if isinstance(value, list) else [value]
        if not 1 <= len(values) <= 3:
            raise UsageError(f"{self.where}: {key}: 1 to 3 expressions are expected, not {len(values)}")
        return tuple(self.as_expression(key, v) for v in values)
