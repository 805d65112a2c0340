"""The files that Hydra leaves in a job's folder: `.hydra/config.yaml`, `hydra.yaml`, `overrides.yaml`, to the letter.

PyYAML takes some 5 ms for them, and most of them is the same in all jobs of a sweep. The entries of a mapping or a list
are written independently of each other, so each becomes text on its own, and the text is remembered.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf
from omegaconf._utils import get_omega_conf_dumper

from runner import atomic


def write(folder: Path, task: DictConfig, hydra: DictConfig) -> None:
    """Write what Hydra's own launchers write into the folder of a job.

    Args:
        folder: Of the job.
        task: The job's configuration, without Hydra's node.
        hydra: Hydra's node.
    """
    own, its = _plain(task), _plain(hydra)
    its["runtime"]["output_dir"] = str(folder.absolute())
    overrides = its["overrides"]["task"]
    target = folder / ".hydra"
    atomic.write_text(target / "config.yaml", "".join(_entry((), k, v) for k, v in own.items()) or "{}\n")
    atomic.write_text(target / "hydra.yaml", "hydra:\n" + "".join(_part(k, v) for k, v in its.items()))
    atomic.write_text(target / "overrides.yaml", "".join(_item(o) for o in overrides) or "[]\n")


def _plain(node: DictConfig) -> dict[Any, Any]:
    plain: Any = OmegaConf.to_container(node, resolve=False, enum_to_str=True)
    return dict(plain)


def _part(name: str, content: Any) -> str:
    """An entry of Hydra's node; in those that are mappings, the jobs differ in few entries."""
    if not content or not isinstance(content, Mapping):
        return _entry(("hydra",), name, content)
    head = _entry(("hydra",), name, {}).removesuffix(" {}\n") + "\n"
    return head + "".join(_entry(("hydra", name), k, v) for k, v in content.items())


def _entry(path: tuple[str, ...], key: Any, content: Any) -> str:
    """An entry of the mapping at that path."""
    return _text((*path, key), _Content(content))


@dataclass(frozen=True)
class _Content:
    """Plain content; equal to another if it is written in the same way: 1, True and 1.0 are equal in Python."""

    raw: Any = field(compare=False)
    written: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "written", repr(self.raw))


@functools.lru_cache(maxsize=1024)
def _text(path: tuple[Any, ...], content: _Content) -> str:
    """What stands for the last key of that path, without the keys above it, which take a line each."""
    nested = content.raw
    for key in reversed(path):
        nested = {key: nested}
    return _dump(nested).split("\n", len(path) - 1)[-1]


@functools.lru_cache(maxsize=1024)
def _item(text: str) -> str:
    return _dump([text])


def _dump(content: Any) -> str:
    """As `OmegaConf.to_yaml` does it."""
    return str(
        yaml.dump(
            content, default_flow_style=False, allow_unicode=True, sort_keys=False, Dumper=get_omega_conf_dumper()
        )
    )
