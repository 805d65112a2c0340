"""Hydra's grammar of overrides. Each override is parsed once.

Of a long list of values, Hydra's parser reads the first two only, since it takes a second for 5,000 values.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Any

from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, Override
from omegaconf import OmegaConf

_DIGITS = "(?:0|[1-9][0-9]{0,17})"
_INTEGER, _REAL = f"-?{_DIGITS}", rf"-?{_DIGITS}\.[0-9]{{1,15}}"
_WORD = rf"{_DIGITS}(?:[KMG]i|x[0-9a-f]+(?:x[0-9]+)?)|(?!(?i:true|false|null|nan|inf)\b)[A-Za-z_][A-Za-z0-9_]*"
_VALUE = f"(?:{_WORD}|{_REAL}|{_INTEGER})"
# KEY=V,V,... or KEY=choice(V,V,...) of plain values, without quotes or interpolation
_LIST = re.compile(rf"([\w.]+=(choice\()?)({_VALUE},{_VALUE})((?:,{_VALUE})*)((?(2)\)))")

_parser = functools.cache(OverridesParser.create)


def parse(texts: Iterable[str], loader: ConfigLoader | None = None) -> list[Override]:
    """Parse overrides as a user writes them. `loader` finds the choices that a glob(...) matches.

    Raises OverrideParseException if an override does not follow Hydra's grammar.
    """
    return [dataclasses.replace(_parsed(text), config_loader=loader) for text in texts]


def shortened(text: str) -> str:
    """A long list of plain values cut to its first two, which suffices where only the key matters."""
    match = _LIST.fullmatch(text)
    return f"{match[1]}{match[3]}{match[5]}" if match else text


def product(overrides: Iterable[Override]) -> list[list[str]]:
    """The overrides of each job: all combinations of the swept values, the last key varying fastest.

    If a key occurs twice, the last one counts.
    """
    choices: dict[str, list[str]] = {}
    for override in overrides:
        key, swept = override.get_key_element(), override.is_sweep_override()
        values = override.sweep_string_iterator() if swept else [override.get_value_element_as_str()]
        choices[key] = [f"{key}={value}" for value in values]
    return [list(job) for job in itertools.product(*choices.values())]


def key_of(override: str) -> str:
    """The key of an override, without + and ~."""
    return override.partition("=")[0].lstrip("+~")


@functools.lru_cache(maxsize=64)
def _parsed(text: str) -> Override:
    (override,) = _parser().parse_overrides([shortened(text)])
    match = _LIST.fullmatch(text)
    if match and match[4] and isinstance(sweep := override.value(), ChoiceSweep):
        sweep.list += map(_scalar, match[4][1:].split(","))
    override.input_line = text
    return override


def _scalar(text: str) -> int | float | str:
    if re.fullmatch(_INTEGER, text):
        return int(text)
    return float(text) if re.fullmatch(_REAL, text) else text


def as_written(overrides: Any) -> Sequence[str]:
    """Hydra's lists of overrides as they were written, with every ${...} unresolved."""
    texts: Any = OmegaConf.to_container(overrides, resolve=False)
    return list(texts)
