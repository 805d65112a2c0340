"""Hydra's and OmegaConf's complaints, each as the one sentence that a user needs."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from types import TracebackType

import yaml
from hydra.errors import HydraException, OverrideParseException
from omegaconf.errors import OmegaConfBaseException

THEIRS = (HydraException, OmegaConfBaseException, yaml.YAMLError)

_THEIR_PACKAGES = ("hydra", "omegaconf", "yaml", "antlr4")

_QUOTING = (
    "a value with other characters than letters, digits and . _ - + * needs quotes inside quotes: \"size='1<<24'\""
)

# What OmegaConf says of a value that its schema does not take, and what it should say.
_EXPECTED = (
    (r"could not be converted to Integer", "a whole number is expected"),
    (r"could not be converted to Float", "a number is expected"),
    (r"is not a valid bool", "true or false is expected"),
    (r"is not Optional|Incompatible value 'None'", "a value is expected, null is none"),
    (r"expected one of \[([^\]]*)\]", r"one of \1 is expected"),
    (r"is not a ListConfig|NoneType is not a subclass of str", "a list of texts such as [a, b] is expected"),
    (r"Cannot convert '\w+' to string", "text is expected"),
    (r"Cannot merge DictConfig with ListConfig", "a list is given where keys with values are expected, or the reverse"),
    (r"Cannot assign \w+ to Dict|is not a subclass of \w+", "keys with values are expected"),
)
_RECURSIVE = "it includes itself, or is nested too deeply"


def is_theirs(error: BaseException) -> bool:
    """Whether Hydra's code, or that of a package below it, raised an error: what it was given is at fault then."""
    if isinstance(error, (*THEIRS, RecursionError)):
        return True
    if isinstance(error, OSError) and error.errno is not None:  # of the system: a full disk, for one
        return False
    last: TracebackType | None = error.__traceback__
    while last and last.tb_next:
        last = last.tb_next
    module = str(last.tb_frame.f_globals.get("__name__", "")) if last else ""
    return module.partition(".")[0] in _THEIR_PACKAGES


def sentence(error: BaseException, known: Sequence[str]) -> str:
    """Say what is wrong with a command line or a configuration file.

    Args:
        error: What Hydra, OmegaConf or the YAML parser raised.
        known: Keys that the configuration has, those of its groups as `device.threads`, for a suggestion.
    """
    text = _with_cause(error)
    if isinstance(error, yaml.MarkedYAMLError):
        return _yaml(error)
    if isinstance(error, RecursionError):
        return f"the configuration cannot be read: {_RECURSIVE}"
    if said := _value(text):
        return said
    if key := re.search(r"Could not override '([^']+)'|Key '([^']+)' (?:is )?not in", text):
        whole = re.search(r"full_key: (\S+)", text)
        return _unknown_key(key[1] or (whole[1] if whole else key[2]), _file(text), known)
    if choice := re.search(r"Could not find '(.*?)'\s+Available options in '([^']+)':\s*(.*)", text, re.DOTALL):
        options = choice[3].split()[: choice[3].split().index("Config")] if "Config" in choice[3] else choice[3].split()
        return _unknown_choice(choice[2], choice[1].removeprefix(f"{choice[2]}/"), options)
    if isinstance(error, OverrideParseException):
        return f"{error.override}: this override cannot be read; {_QUOTING}"
    return _composing(text) or _one_line(text)


def _with_cause(error: BaseException) -> str:
    cause = error.__cause__
    return f"{error}\n{cause}" if cause and str(cause) not in str(error) else str(error)


def _yaml(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    where = f"{mark.name}, line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    return f"{where}this is no YAML: {error.problem or error.context}"


def _file(text: str) -> str:
    """The configuration file that was being composed; empty if it was the command line."""
    found = re.search(r"In '([^']+)': ", text)
    return f"{found[1]}.yaml: " if found else ""


def _value(text: str) -> str:
    """Of a value of the wrong type: which, where, and what is expected; empty if it is something else."""
    override = re.search(r"Error merging override (.*)", text)
    if not override and "raised while composing config" not in text:
        return ""
    for pattern, expected in _EXPECTED:
        if found := re.search(pattern, text):
            if override:
                return f"{override[1]}: {found.expand(expected)}"
            key = re.search(r"full_key: (\S+)", text)
            value = re.search(r"[Vv]alue '([^']*)'|value: (.*)", text)
            what = "=".join(filter(None, [key and key[1], value and (value[1] or value[2])]))
            return f"{_file(text)}{what}{': ' * bool(what)}{found.expand(expected)}"
    return ""


# What Hydra says of a configuration that cannot be put together, and what it should say.
_COMPOSING = (
    (r"Ambiguous value for argument '([^\n]+)'\n", r"\1: hydra.mode=RUN runs one case; give one value"),
    (
        r"(?:Multiple values for )?\b(\w+)(?:\. To override a value| appears more than once in the final defaults)",
        r"\1 is chosen twice: on the command line write \1=NAME, in an experiment's defaults 'override /\1: NAME'",
    ),
    (
        r"In '([^\n]+)': Could not (?:find|load) '([^\n]+?)'",
        r"\1.yaml: its defaults name \2, and there is no \2.yaml; a group is chosen by 'override /GROUP: NAME'",
    ),
    (r"Cannot find primary config '([^\n]+?)'", r"--config-name \1: there is no \1.yaml in the configuration's folder"),
    (r"Invalid defaults list in '([^\n]+?)', defaults must be a list", r"\1.yaml: defaults: a list is expected"),
    (r"Could not append to config. An item is already at '(\S+)'", r"+\1: the key is there already; leave out the +"),
    (r"range\(\) arg 3 must not be zero", "a range needs a step that is not 0"),
    (r"does not support sweep type : INTERVAL", "interval(a,b) has no steps: list the values, or use range(a,b,step)"),
    (r"Expected header format: KEY VALUE, got '([^\n]*)'", r"'# \1' is no header; '# @package _global_' is one"),
    (r"Recursive interpolation detected\s+full_key: (\S+)", r"\1: the value refers to itself"),
    (r"Interpolation key '([^\n]*)' not found\s+full_key: (\S+)", r"\2: ${\1} stands for nothing: no such key"),
)


def _composing(text: str) -> str:
    found = ((re.search(pattern, text), said) for pattern, said in _COMPOSING)
    return next((match.expand(said) for match, said in found if match), "")


MOST_OPTIONS = 20  # that are listed


def _unknown_choice(group: str, given: str, options: Sequence[str]) -> str:
    near = _nearest(given, options)
    if len(options) > MOST_OPTIONS:
        return f"{group}={given}: there is none of that name{near} (--help lists all {len(options)})"
    return f"{group}={given}: one of {', '.join(options)} is expected{near}"


def _unknown_key(key: str, where: str, known: Sequence[str]) -> str:
    group = key.rpartition(".")[0]
    if key.partition(".")[0] == "on_cpu":
        return f"{key}: this is for an experiment's YAML; on the command line give the parameter itself"
    if "@" in key or "/" in key:
        return f"{where}{key}: there is no such group; 'override /kernel: NAME' has a slash before the group"
    if group == "hydra.runtime.choices":
        return (
            f"no {key.rpartition('.')[2]} is chosen: the configuration that is composed must have one in its defaults"
        )
    if group.partition(".")[0] == "hydra":
        return f"{where}{key}: Hydra has no such key; --cfg hydra shows those that it has"
    if key in known:
        return (
            f"{where}{key}: the configuration lacks it; config.yaml must declare it, and an experiment must begin with "
            f"'# @package _global_'"
        )
    beside = [k for k in known if k.rpartition(".")[0] == group]
    if not beside:
        return f"{where}{key}: there is no such key; {group} holds no keys that can be set"
    return f"{where}{key}: there is no such key{_nearest(key, beside)}; the keys are {', '.join(beside)}"


def _nearest(word: str, options: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, options, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _one_line(text: str) -> str:
    where = re.search(r"full_key: (\S+)", text)
    lines = [line.strip() for line in text.splitlines()]
    kept = [line for line in lines if line and not line.startswith(("full_key:", "object_type=", "reference_type="))]
    said = "; ".join(dict.fromkeys(kept))
    return f"{where[1]}: {said}" if where else said


LONGEST_WORD = 160
LONGEST = 1000


def printable(text: str) -> str:
    """One line that a terminal shows as it is: control characters are escaped, and what is very long is cut."""
    escaped = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
    words = (w if len(w) <= LONGEST_WORD else f"{w[: LONGEST_WORD - 40]}...{w[-20:]}" for w in escaped.split(" "))
    line = " ".join(words)
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}..."
