"""Keeping what a sweep was made of: kernels, includes, references and configuration, enough to repeat it.

sources/conf/       the configuration, as the sweep saw it: a folder for --config-path
sources/kernels/    the .cu files and what they include
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from runner import atomic
from runner.case import Case
from runner.config import CONF
from runner.declaration import Kernel
from runner.device import cache
from runner.folder import RunFolder, copy_file

_SOURCE_LINE = re.compile(r"^source:.*$", re.MULTILINE)


def keep(folder: RunFolder, cases: Sequence[Case]) -> None:
    """Copy what the cases are made of into the folder."""
    for kernel in {c.kernel.yaml: c.kernel for c in cases}.values():
        _keep_kernel(folder.sources, kernel)
    for path in sorted(CONF.rglob("*.yaml")):
        if path.parent.name != "kernel":
            copy_file(path, folder.sources / "conf" / path.relative_to(CONF))


def _keep_kernel(target: Path, kernel: Kernel) -> None:
    declared = kernel.yaml.read_text(encoding="utf-8")
    line = f"source: ../../kernels/{kernel.source.name}"
    moved = _SOURCE_LINE.sub(line, declared) if _SOURCE_LINE.search(declared) else f"{line}\n{declared}"
    atomic.write_text(target / "conf" / "kernel" / kernel.yaml.name, moved)
    copy_file(kernel.source, target / "kernels" / kernel.source.name)
    own = kernel.source.parent
    for path in cache.includes(kernel.source.read_text(encoding="utf-8"), [own]):
        inside = path.relative_to(own) if path.is_relative_to(own) else Path(path.name)
        copy_file(path, target / "kernels" / inside)
    if isinstance(kernel.reference, str):
        module = kernel.yaml.parent / (kernel.reference.rpartition(".")[0].replace(".", "/") + ".py")
        if module.is_file():
            copy_file(module, target / "conf" / "kernel" / module.relative_to(kernel.yaml.parent))
