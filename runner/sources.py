"""Keeping what a sweep was made of: kernels, includes, references and configuration, enough to repeat it.

sources/conf/       the configuration, as the sweep saw it: a folder for --config-path
sources/kernels/    the .cu files and what they include
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import yaml

from runner import atomic
from runner.config import Planned
from runner.declaration import Kernel
from runner.device import cache
from runner.folder import RunFolder, copy_file

_SOURCE_LINE = re.compile(r"^source:.*$", re.MULTILINE)


def keep(folder: RunFolder, plan: Sequence[Planned]) -> None:
    """Copy what the cases are made of into the folder."""
    for kernel in {p.case.kernel.yaml: p.case.kernel for p in plan}.values():
        _keep_kernel(folder.sources, kernel)
    for root in dict.fromkeys(f for p in plan for f in p.search_path):  # the first folder that has a file wins
        for path in sorted(root.rglob("*.yaml")):
            if path.parent.name != "kernel":
                copy_file(path, folder.sources / "conf" / path.relative_to(root))


def _keep_kernel(target: Path, kernel: Kernel) -> None:
    declared = kernel.yaml.read_text(encoding="utf-8")
    place = Path("kernels") / kernel.source.name
    if (target / place).exists() and (target / place).read_bytes() != kernel.source.read_bytes():
        place = Path("kernels") / kernel.name / kernel.source.name  # two kernels, two files, one name
    moved = _with_source(declared, f"../../{place}")
    atomic.write_text(target / "conf" / "kernel" / kernel.yaml.name, moved)
    copy_file(kernel.source, target / place)
    own = kernel.source.parent
    for path in cache.includes(kernel.source.read_text(encoding="utf-8"), [own]):
        inside = path.relative_to(own) if path.is_relative_to(own) else Path(path.name)
        copy_file(path, (target / place).parent / inside)
    if isinstance(kernel.reference, str):
        module = kernel.yaml.parent / (kernel.reference.rpartition(".")[0].replace(".", "/") + ".py")
        if module.is_file():
            copy_file(module, target / "conf" / "kernel" / module.relative_to(kernel.yaml.parent))


def _with_source(declared: str, source: str) -> str:
    """The YAML with another `source`, and otherwise as it was written."""
    line = f"source: {source}"
    if _SOURCE_LINE.search(declared):
        return _SOURCE_LINE.sub(line, declared)
    if declared.lstrip().startswith("{"):  # all in braces: there is no line to put it on
        return str(yaml.safe_dump({**yaml.safe_load(declared), "source": source}, sort_keys=False))
    return f"{line}\n{declared}"
