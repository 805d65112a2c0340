"""Hydra's and OmegaConf's complaints, each as the one sentence that a user needs."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

import yaml
from hydra.errors import HydraException, OverrideParseException
from omegaconf.errors import OmegaConfBaseException

THEIRS = (HydraException, OmegaConfBaseException, yaml.YAMLError)

_QUOTING = (
    "a value with other characters than letters, digits and . _ - + * needs quotes inside quotes: \"size='1<<24'\""
)


def sentence(error: BaseException, known: Sequence[str]) -> str:
    """Say what is wrong with a command line or a configuration file.

    Args:
        error: What Hydra, OmegaConf or the YAML parser raised.
        known: Keys that the configuration has, for a suggestion.
    """
    text = _with_cause(error)
    if isinstance(error, yaml.MarkedYAMLError):
        return _yaml(error)
    if key := re.search(r"Could not override '([^']+)'|Key '([^']+)' (?:is )?not in", text):
        return _unknown_key(key[1] or key[2], text, known)
    if choice := re.search(
        r"Could not find '([^']+)/([^'/]+)'\s+Available options in '[^']+':\s*(.*)", text, re.DOTALL
    ):
        options = choice[3].split()[: choice[3].split().index("Config")] if "Config" in choice[3] else choice[3].split()
        return _unknown_choice(choice[1], choice[2], options)
    if isinstance(error, OverrideParseException):
        return f"{error.override}: this override cannot be read; {_QUOTING}"
    return _one_line(text)


def _with_cause(error: BaseException) -> str:
    cause = error.__cause__
    return f"{error}\n{cause}" if cause and str(cause) not in str(error) else str(error)


def _yaml(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    where = f"{mark.name}, line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    return f"{where}this is no YAML: {error.problem or error.context}"


MOST_OPTIONS = 20  # that are listed where one of them is near


def _unknown_choice(group: str, given: str, options: Sequence[str]) -> str:
    near = _nearest(given, options)
    if near and len(options) > MOST_OPTIONS:
        return f"{group}={given}: there is none of that name{near} (--help lists all {len(options)})"
    return f"{group}={given}: one of {', '.join(options)} is expected{near}"


def _unknown_key(key: str, text: str, known: Sequence[str]) -> str:
    reason = re.search(r"(Value '[^']*' .*?) *\n", text)
    if reason:
        return f"{key}: {reason[1]}"
    if key.partition(".")[0] == "on_cpu":
        return f"{key}: this is for an experiment's YAML; on the command line give the parameter itself"
    return f"{key}: there is no such key{_nearest(key, known)}; the keys are {', '.join(known)}"


def _nearest(word: str, options: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, options, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _one_line(text: str) -> str:
    where = re.search(r"full_key: (\S+)", text)
    lines = [line.strip() for line in text.splitlines()]
    kept = [line for line in lines if line and not line.startswith(("full_key:", "object_type=", "reference_type="))]
    said = "; ".join(dict.fromkeys(kept))
    return f"{where[1]}: {said}" if where else said
