"""What a sweep is made of: kernels, includes, references and configuration. Kept, it is enough to repeat the sweep.

sources/conf/       the configuration, as the sweep saw it: a folder for --config-path
sources/kernels/    the .cu files and what they include
"""

from __future__ import annotations

import functools
import importlib.util
import re
from collections.abc import Iterator, Sequence
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
    for name, path in _included(kernel.source):
        copy_file(path, (target / place).parent / name)
    if isinstance(kernel.reference, str):
        module = _beside(kernel.yaml.parent, kernel.reference)
        if module.is_file():
            copy_file(module, target / "conf" / "kernel" / module.relative_to(kernel.yaml.parent))


def fingerprint(kernel: Kernel) -> dict[str, str]:
    """What goes into a kernel's binaries and their check: 12 digits of the hash of each file, by its name."""
    return _fingerprint(kernel.yaml, kernel.source, kernel.reference if isinstance(kernel.reference, str) else "")


@functools.lru_cache(maxsize=1024)  # within a sweep, a file has one content
def _fingerprint(yaml_file: Path, source: Path, reference: str) -> dict[str, str]:
    module = _module(yaml_file.parent, reference) if reference else None
    named = [(source.name, source), *_included(source), (yaml_file.name, yaml_file)]
    found: dict[str, str] = {}
    for name, path in [*named, (module.name, module)] if module else named:
        found[name] = cache.key(found.get(name, ""), cache.digest(path))[:12]
    return found


def _included(source: Path) -> Iterator[tuple[str, Path]]:
    """The files that a kernel's `.cu` includes, each with its name as seen from there."""
    own = source.parent
    for path in cache.includes(source.read_text(encoding="utf-8"), [own]):
        yield (path.relative_to(own).as_posix() if path.is_relative_to(own) else path.name), path


def _beside(folder: Path, reference: str) -> Path:
    return folder / (reference.rpartition(".")[0].replace(".", "/") + ".py")


def _module(folder: Path, reference: str) -> Path | None:
    """The file that a reference is in, beside the YAML or elsewhere."""
    beside = _beside(folder, reference)
    if beside.is_file():
        return beside
    spec = importlib.util.find_spec(reference.rpartition(".")[0])
    return Path(spec.origin) if spec and spec.origin and Path(spec.origin).is_file() else None


def _with_source(declared: str, source: str) -> str:
    """The YAML with another `source`, and otherwise as it was written."""
    line = f"source: {source}"
    if _SOURCE_LINE.search(declared):
        return _SOURCE_LINE.sub(line, declared)
    if declared.lstrip().startswith("{"):  # all in braces: there is no line to put it on
        return str(yaml.safe_dump({**yaml.safe_load(declared), "source": source}, sort_keys=False))
    return f"{line}\n{declared}"
