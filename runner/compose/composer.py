"""Compose the jobs of a sweep, each choice of groups once, and write the files of Hydra into each job's folder.

Hydra takes about 50 ms to compose a job, nearly all of it to read the files that the groups choose. So Hydra composes
each choice of groups once, and the jobs with this choice share the result as plain dictionaries. Overrides that set a
parameter or the seed to a plain scalar are applied job by job. Hydra composes everything else, and every job in which
one value refers to another (`${...}`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from hydra.core.config_loader import ConfigLoader
from omegaconf import DictConfig, OmegaConf

from runner.compose import overrides as grammar
from runner.compose import schema
from runner.compose.group_files import check_kernel
from runner.files import atomic
from runner.jobs.job import Job

_INTEGER = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(-?(?:0|[1-9][0-9]{0,17}))")
CHOICES = 128  # cached choices: enough for all kernels on two devices, if kernels vary fastest


def kernel_of(overrides: Sequence[str]) -> str:
    """The kernel that a job's overrides choose; empty if the configuration's default decides."""
    return next((text.partition("=")[2] for text in overrides if text.startswith("kernel=")), "")


@dataclass(frozen=True)
class _Choice:
    """A composed choice of groups."""

    task: Mapping[str, Any]  # the job's configuration, unresolved, as plain values
    hydra: Mapping[str, Any]  # Hydra's own node, unresolved, as plain values
    texts: Mapping[str, str]  # YAML of each entry of `task`, and of each entry of `hydra` below `hydra:`, by its name
    composed: schema.Composed  # the job's configuration, resolved and checked
    refers: bool  # whether a value refers to another by ${...}


class Composer:
    """Composes the jobs of one sweep and writes their files. It caches what jobs share, but not the jobs."""

    def __init__(self, loader: ConfigLoader, master: DictConfig) -> None:
        """`master` is the sweep's own configuration, composed without the overrides that are swept."""
        self._master = master
        self._compose = functools.partial(loader.load_sweep_config, master)
        groups = loader.list_groups("")  # a user's group may have the name of a parameter
        self._names = frozenset(("seed", *schema.parameter_names())) - frozenset(groups)
        self._value = functools.lru_cache(maxsize=4096)(self._read_value)
        folders = schema.folders_of(master.hydra)
        self._check = functools.lru_cache(maxsize=4096)(lambda name: check_kernel(name, folders))
        self._choice = functools.lru_cache(maxsize=CHOICES)(self._compose_choice)

    def job(self, overrides: Sequence[str], number: int, folder: Path | None) -> Job:
        """Compose a job from its own overrides, as written, and write .hydra/ into its folder, if one is given.

        Raises KernelMistake if the kernel's YAML is wrong; UsageError if a value is wrong.
        """
        self._check(kernel_of(overrides))
        values = {name: value for text in overrides for name, value in self._value(text)}
        choice = self._choice(tuple(text for text in overrides if not self._value(text)))
        if values and choice.refers:
            choice, values = self._compose_choice(tuple(overrides)), {}
        job = schema.job(choice.composed, values, overrides, number)
        if folder:
            _write(folder, choice, values, overrides, number)
        return job

    def _compose_choice(self, overrides: tuple[str, ...]) -> _Choice:
        own = self._master.hydra  # the sweep's own configuration may include these overrides already
        complete = "???" not in own.runtime.choices.values()
        included = complete and set(overrides) <= set(grammar.as_written(own.overrides.task))
        config = self._master if included else self._compose(list(overrides))
        task = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
        OmegaConf.copy_cache(config, task)
        plain, hydra = _plain(task), _plain(config.hydra)
        texts = {name: _yaml({name: value}) for name, value in plain.items()}
        texts |= {f"hydra.{name}": _below_hydra(name, value) for name, value in hydra.items()}
        return _Choice(plain, hydra, texts, schema.read(task, config.hydra), "${" in repr(plain))

    def _read_value(self, text: str) -> tuple[tuple[str, Any], ...]:
        """The parameter and the plain value that an override sets; empty if Hydra must compose it."""
        if (match := _INTEGER.fullmatch(text)) and match[1] in self._names:  # Hydra's parser takes milliseconds
            return ((match[1], int(match[2])),)
        (override,) = grammar.parse([text])
        name, value = override.key_or_group, override.value()
        if override.package or override.type.name != "CHANGE" or name not in self._names:
            return ()
        scalar = value is None or (isinstance(value, str | int | float) and "${" not in str(value))
        return ((name, value),) if (type(value) is int if name == "seed" else scalar) else ()


def _plain(node: DictConfig) -> dict[str, Any]:
    plain: Any = OmegaConf.to_container(node, resolve=False, enum_to_str=True)
    return dict(plain)


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Writes YAML that OmegaConf reads back unchanged. Texts such as `1e3` are quoted, as it takes them for numbers."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _text(dumper: Any, value: str) -> Any:
    style = "'" if re.match(r"[-+]?\.?[0-9]", value) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def _yaml(content: Any) -> str:
    return str(yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True))


def _below_hydra(name: str, value: Any) -> str:
    return _yaml({"hydra": {name: value}}).removeprefix("hydra:\n")


def _write(folder: Path, choice: _Choice, values: Mapping[str, Any], overrides: Sequence[str], number: int) -> None:
    """Write the files that Hydra's own launchers write for a job. Jobs share most of their text."""
    hydra = choice.hydra
    own = [text for text in overrides if not text.lstrip("+~").startswith(("hydra.", "hydra/"))]
    style = hydra["job"]["config"]["override_dirname"]
    items = sorted(text for text in own if re.split("[=@]", text)[0] not in style["exclude_keys"])
    dirname = style["item_sep"].join(items).replace("=", style["kv_sep"])
    changed = {
        "overrides": {**hydra["overrides"], "task": own},
        "job": {**hydra["job"], "override_dirname": dirname, "id": str(number), "num": number},
        "runtime": {**hydra["runtime"], "output_dir": str(folder.absolute())},
    }
    config = (_yaml({n: values[n]}) if n in values else choice.texts[n] for n in {**choice.task, **values})
    nodes = (_below_hydra(n, changed[n]) if n in changed else choice.texts[f"hydra.{n}"] for n in {**hydra, **changed})
    texts = {"config": "".join(config) or "{}\n", "hydra": "hydra:\n" + "".join(nodes), "overrides": _yaml(own)}
    atomic.write_all(folder / ".hydra", {f"{name}.yaml": atomic.encoded(text) for name, text in texts.items()})
