"""The kernels that come with the project, from their YAMLs."""

from __future__ import annotations

from pathlib import Path

from ladder.files import of_yaml

from runner.config import CONF
from runner.kernel import from_yaml
from runner.kernel.declaration import Kernel


def kernel(name: str, conf: Path = CONF) -> Kernel:
    """One of them.

    Raises:
        ValueError: if there is none of that name, or its YAML is torn; one sentence.
        UsageError: if the YAML declares no kernel; one sentence.
    """
    path = conf / "kernel" / f"{name}.yaml"
    return from_yaml.read(name, of_yaml(path), path)


def kernels(conf: Path = CONF) -> dict[str, Kernel]:
    """All of them, by name."""
    return {path.stem: kernel(path.stem, conf) for path in sorted((conf / "kernel").glob("*.yaml"))}
