"""The kernels that come with the project, from their YAMLs."""

from __future__ import annotations

from pathlib import Path

import yaml

from runner.compose.names import CONF
from runner.kernel import from_yaml
from runner.kernel.declaration import Kernel


def kernel(name: str, conf: Path = CONF) -> Kernel:
    """One of them.

    Raises:
        UsageError: if the YAML declares no kernel; one sentence.
    """
    path = conf / "kernel" / f"{name}.yaml"
    return from_yaml.read(name, yaml.safe_load(path.read_text(encoding="utf-8")), path)


def kernels(conf: Path = CONF) -> dict[str, Kernel]:
    """All of them, by name."""
    return {path.stem: kernel(path.stem, conf) for path in sorted((conf / "kernel").glob("*.yaml"))}
