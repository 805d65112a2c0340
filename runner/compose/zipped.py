"""The key `zip`: parameters whose values a sweep takes in pairs, the first with the first, without combining them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf

from runner.compose import schema
from runner.compose.arguments import quote
from runner.errors import UsageError

KEY = "zip"
_FORM = "{first: [64, 128], second: [32, 64]}, a list of values for each parameter"


def is_zip(override: Override) -> bool:
    """Whether an override sets the key `zip` or a part of it."""
    return str(override.key_or_group).partition(".")[0] == KEY


def rows(config: DictConfig, overrides: Sequence[Override]) -> list[list[str]]:
    """The overrides of each tuple of values; one empty list without the key.

    Args:
        config: The configuration that the jobs share.
        overrides: All overrides of the sweep, of an experiment and of the command line.

    Raises:
        UsageError: The key is malformed, its lists differ in length, or one of its parameters is also set or swept.
    """
    if wrong := next((o for o in overrides if is_zip(o) and o.is_sweep_override()), None):
        raise UsageError(f"{wrong.input_line}: expected {_FORM}")
    whole: Any = OmegaConf.to_container(OmegaConf.masked_copy(config, KEY), resolve=True)
    content = whole[KEY]
    if content is None or content == {}:
        return [[]]
    if not isinstance(content, dict):
        raise UsageError(f"{KEY}={content}: expected {_FORM}")
    names = ("seed", *schema.parameter_names())
    for name, values in content.items():
        if name not in names:
            raise UsageError(f"{KEY}.{name}: no kernel on the search path declares a parameter of that name")
        if not isinstance(values, list) or not values or any(isinstance(v, list | dict) for v in values):
            raise UsageError(f"{KEY}.{name}: expected the values of {name}, such as [64, 128], not {values}")
    lengths = {name: len(values) for name, values in content.items()}
    if len(set(lengths.values())) > 1:
        counted = ", ".join(f"{name} has {n}" for name, n in lengths.items())
        raise UsageError(f"{KEY}: values are paired, so all lists need the same length: {counted}")
    for override in overrides:
        if override.key_or_group in content:
            why = f"the key {KEY} pairs the values of {override.key_or_group} already"
            raise UsageError(f"{override.input_line}: {why}; set it in one place, or set {KEY}=null")
    texts = ([f"{name}={_text(value)}" for value in values] for name, values in content.items())
    return [list(row) for row in zip(*texts, strict=True)]


def _text(value: Any) -> str:
    """A value in Hydra's grammar."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    return quote(value) if isinstance(value, str) else repr(value)
