"""Hydra's parser of overrides, for long lists: it reads some 5,000 values a second, and is asked five times."""

from __future__ import annotations

import functools
import re
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep

_DIGITS = "(?:0|[1-9][0-9]{0,17})"
_INTEGER, _REAL = f"-?{_DIGITS}", rf"-?{_DIGITS}\.[0-9]{{1,15}}"
_WORD = rf"{_DIGITS}(?:[KMG]i|x[0-9a-f]+(?:x[0-9]+)?)|(?!(?i:true|false|null|nan|inf)\b)[A-Za-z_][A-Za-z0-9_]*"
_VALUE = f"(?:{_WORD}|{_REAL}|{_INTEGER})"
# KEY=V,V,... or KEY=choice(V,V,...) of values that are what they look like
_LIST = re.compile(rf"([\w.]+=(choice\()?)({_VALUE},{_VALUE})((?:,{_VALUE})*)((?(2)\)))")

_parse = OverridesParser.parse_rule
_parser = functools.cache(OverridesParser.create)


def install() -> None:
    """Have Hydra, and ourselves, parse each override once, and of a long list only the first values."""
    OverridesParser.parse_rule = _parsed_once  # type: ignore[method-assign]


def _parsed_once(self: OverridesParser, s: str, rule_name: str) -> Any:  # noqa: ARG001  (all are equal)
    return _parsed(s, rule_name)


@functools.lru_cache(maxsize=64)
def _parsed(text: str, rule: str) -> Any:
    found = _LIST.fullmatch(text) if rule == "override" else None
    if found is None:
        return _parse(_parser(), text, rule)
    head, _, first, rest, end = found.groups()
    override = _parse(_parser(), f"{head}{first}{end}", rule)
    if rest and isinstance(sweep := override.value(), ChoiceSweep):
        sweep.list += map(_plain, rest[1:].split(","))
    override.input_line = text
    return override


def _plain(text: str) -> int | float | str:
    if re.fullmatch(_INTEGER, text):
        return int(text)
    return float(text) if re.fullmatch(_REAL, text) else text
