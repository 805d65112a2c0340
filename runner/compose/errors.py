"""Translate errors of Hydra, OmegaConf and YAML into one sentence. Rare ones keep their own words."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Sequence

import yaml
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException, ValidationError

from runner.compose.group_files import OPEN_NODES
from runner.compose.names import nearest
from runner.jobs.settings import LIMITS
from runner.kernel.yaml_keys import KERNEL_NAMES

HYDRA_ERRORS = (HydraException, OmegaConfBaseException, yaml.YAMLError)

_HYDRA_PACKAGES = ("hydra", "omegaconf", "yaml", "antlr4")
QUOTING = "other characters than letters, digits and . _ - + * need quotes inside quotes, as in \"size='1<<24'\""
MAX_OPTIONS = 20  # that are listed


def is_from_hydra(error: BaseException) -> bool:
    """Whether Hydra or a package that it uses raised an error, so that the configuration is at fault."""
    if isinstance(error, (*HYDRA_ERRORS, RecursionError, UnicodeDecodeError)):
        return True
    if isinstance(error, OSError) and error.errno is not None:  # of the system, such as a full disk
        return False
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    packages = [str(frame.f_globals.get("__name__")).partition(".")[0] for frame in frames]
    # An error in the standard library counts as its caller's.
    return next((p for p in reversed(packages) if p not in sys.stdlib_module_names), "") in _HYDRA_PACKAGES


def sentence(error: BaseException, known: Sequence[str]) -> str:
    """Describe an error of Hydra, OmegaConf or YAML in one sentence. Misspelt keys are corrected from `known` ones."""
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        where = f"{mark.name}, line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        return f"{where}invalid YAML: {error.problem or error.context}"
    if isinstance(error, RecursionError):
        return "the configuration includes itself, or is nested too deeply"
    if isinstance(error, OverrideParseException):
        return f"{error.override}: {unreadable(error.override)}"
    if isinstance(error, MissingConfigException) and error.missing_cfg_file and error.options is not None:
        file = error.missing_cfg_file
        group, _, name = file.rpartition("/") if file.startswith("hydra/") else file.partition("/")
        near = nearest(name, error.options)
        if len(error.options) > MAX_OPTIONS:
            own = "; --config-dir DIR adds the kernels of a folder" if group == "kernel" and not near else ""
            return f"{group}={name}: unknown {group}{near} (`runner show` lists all {len(error.options)}){own}"
        return f"{group}={name}: expected one of {', '.join(error.options)}{near}"
    composing = re.search(r"In '([^']+)': ", str(error))  # absent for the command line
    where = f"{composing[1]}.yaml: " if composing else ""
    cause = error if isinstance(error, OmegaConfBaseException) else error.__cause__ or error.__context__ or error
    if isinstance(cause, ConfigKeyError | ConfigAttributeError):
        overridden = re.search(r"Could not override '([^']+)'", str(error))
        if overridden and str(cause.full_key).startswith(OPEN_NODES):
            return f"{where}{cause.full_key}: a new key; write +{cause.full_key}=VALUE"
        return where + _unknown_key(overridden[1] if overridden else str(cause.full_key or cause.key), known)
    if isinstance(cause, OmegaConfBaseException):
        override = re.search(r"Error merging override (.*)", str(error))
        subject = override[1] if override else cause.full_key
        if isinstance(cause, ValidationError) and subject and (expected := _expected(cause, subject)):
            return f"{where}{subject}: expected {expected}"
        return f"{where}{subject}: {_one_line(cause)}" if subject else f"{where}{_one_line(cause)}"
    return _chosen_twice(error) or _one_line(error) or f"Hydra refuses the configuration: {type(error).__name__}"


def unreadable(override: str) -> str:
    """Why Hydra's grammar rejects an override, if nothing more is known. A kernel may be a file that glob(*) found."""
    if re.fullmatch(r"kernel=[^\s,=\[\](){}'\"$]+", override):
        return f"expected {KERNEL_NAMES}"
    return f"cannot read this override; {QUOTING}"


def _chosen_twice(error: BaseException) -> str:
    """The sentence on a group with two choices; empty for other errors."""
    found = re.match(r"Multiple values for ([\w/]+)\.", str(error))
    if not found:
        return ""
    group = found[1]
    return f"{group}: chosen twice; write {group}=NAME without a +, or in a list of defaults 'override /{group}: NAME'"


def _expected(error: ValidationError, subject: str) -> str:
    """What a key expects if its value could not be converted; empty for other errors."""
    kinds = {"Integer": "an integer", "Float": "a number", "boolean": "true or false"}
    if "is not a ListConfig" in str(error):
        return "a list, such as [0,1]"
    if "Cannot convert 'list' to string" in str(error):
        return "one value, not a list"
    if re.match(r"Cannot assign \w+ to Dict", str(error)):
        return "a mapping, such as {name: value}"
    match = re.search(r"could not be converted to (\w+)|is not a valid (bool)", str(error))
    kind = kinds.get(match[1] or "boolean", "") if match else ""
    key, written, _ = subject.partition("=")
    if kind and (limits := LIMITS.get(key.removeprefix("timing."))):
        kind += f" from {limits[0]} to {limits[1]}"
    value = re.match(r"Value ('.*?') ", str(error))
    return f"{kind}, not {value[1]}" if kind and value and not written else kind


def _unknown_key(key: str, known: Sequence[str]) -> str:
    group = key.rpartition(".")[0]
    if key.partition(".")[0] == "on_cpu":
        return f"{key}: only an experiment's YAML can set this; on the command line set the parameter itself"
    if "@" in key or "/" in key:
        return f"{key}: unknown group; in a list of defaults write 'override /kernel: NAME'"
    if group.partition(".")[0] == "hydra":
        return f"{key}: unknown key of Hydra; --cfg hydra shows its keys"
    if key == "zip":
        return "zip: the experiment does not pair this parameter; +zip.NAME=[1,2] adds it"
    if key.partition(".")[0] in ("metrics", "search", "zip"):
        return f"{key}: not set yet; write +{key}=... to add it"
    if key in known:
        return f"{key}: config.yaml does not declare this key, or an experiment lacks '# @package _global_'"
    beside = [k for k in known if k.rpartition(".")[0] == group]
    if not beside:
        return f"{key}: unknown key; {group} holds no keys"
    near = nearest(key, beside)
    if near and not group:  # the list of all keys would hide the answer
        return f"{key}: unknown key{near}"
    return f"{key}: unknown key{near or ';'} the keys are {', '.join(beside)}"


def _one_line(error: BaseException) -> str:
    """A message on one line, without the lines in which Hydra and OmegaConf describe their own objects."""
    lines = [line.strip() for line in str(error).partition("Config search path:")[0].splitlines()]
    internal = ("full_key:", "object_type=", "reference_type=")
    own = dict.fromkeys(line for line in lines if line and not line.startswith(internal))
    line = " ".join(line if line[-1] in ".:;?" else f"{line};" for line in own).rstrip(";.")
    found = re.fullmatch(r"\w+ raised while resolving interpolation: [\"'](.*)[\"']", line)  # of a resolver
    return found[1] if found else line
