"""A kernel that is given in Python: its source as text, its YAML as a dictionary."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from runner.errors import UsageError
from runner.files import atomic

NAME = re.compile(r"[A-Za-z_]\w{0,99}", re.ASCII)


@dataclass(frozen=True)
class Kernel:
    """A kernel for `runner.sweep(kernel=...)`. The run folder keeps its files, so that it can be repeated.

    Attributes:
        name: The name of the `__global__` function, and of the kernel in tables.
        source: CUDA C++.
        yaml: What its YAML would contain (docs/kernel-yaml.md). Relative paths in it have no folder to start from.
    """

    name: str
    source: str
    yaml: Mapping[str, Any] = field(repr=False)

    def write(self, folder: Path) -> None:
        """Write kernel/NAME.yaml and kernel/NAME.cu into a configuration folder.

        Raises:
            UsageError: The name is not a name, or the YAML has a value that YAML does not know.
        """
        where = f"runner.Kernel({self.name!r})"
        if not isinstance(self.name, str) or not NAME.fullmatch(self.name):
            raise UsageError(f"{where}: name: expected the name of the __global__ function, in letters, digits and _")
        if not isinstance(self.source, str) or not self.source.strip():
            raise UsageError(f"{where}: source: expected CUDA C++ as text, not {self.source!r:.60}")
        if not isinstance(self.yaml, Mapping):
            raise UsageError(f"{where}: yaml: expected a dictionary, not {self.yaml!r:.60}")
        if "source" in self.yaml:
            raise UsageError(f"{where}: yaml: source: the source is given as text; leave this key out")
        try:
            text = yaml.safe_dump(plain(self.yaml), sort_keys=False, allow_unicode=True)
        except RecursionError:
            raise UsageError(f"{where}: yaml: a list or a dictionary holds itself, or is nested too deeply") from None
        except yaml.YAMLError as e:
            raise UsageError(f"{where}: yaml: expected text, numbers, lists and dictionaries; {_one_line(e)}") from None
        atomic.write_text(folder / "kernel" / f"{self.name}.yaml", text)
        atomic.write_text(folder / "kernel" / f"{self.name}.cu", self.source)


def plain(value: Any) -> Any:
    """A value with NumPy's numbers and arrays, tuples and mappings replaced by Python's plain ones."""
    if isinstance(value, Mapping):
        return {plain(key): plain(each) for key, each in value.items()}
    if isinstance(value, str | bytes):
        return value
    if hasattr(value, "tolist"):  # numbers and arrays of NumPy, columns of pandas
        return value.tolist()
    if isinstance(value, Sequence):
        return [plain(each) for each in value]
    return value


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
