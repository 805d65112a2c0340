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

from runner import atomic, config
from runner.config import Job
from runner.device import cache
from runner.folder import RunFolder, copy_file
from runner.kernel.declaration import Kernel
from runner.kernel.parameters import VOCABULARY

# In a list of defaults: `- kernel: NAME`, `- override /kernel: NAME`, `[override /kernel: NAME]`.
_DEFAULT_KERNEL = re.compile(rb"((?:-|\[|\boverride) */?kernel: *)(\w+)")
_SOURCE_LINE = re.compile(r"^source:.*$", re.MULTILINE)


def keep(folder: RunFolder, plan: Sequence[Job]) -> None:
    """Copy what the cases are made of into the folder."""
    for kernel in {p.case.kernel.yaml: p.case.kernel for p in plan}.values():
        _keep_kernel(folder.sources, kernel)
    conf = folder.sources / "conf"
    _keep_parameters(conf / config.EXTRA_PARAMETERS)
    files: dict[Path, Path] = {}
    for root in dict.fromkeys(f for p in plan for f in p.search_path):
        for path in sorted(root.rglob("*.yaml")):
            if path.parent.name != "kernel" and not _is_of_a_sweep(path, root):
                files.setdefault(path.relative_to(root), path)  # the first folder that has a file wins
    kept = sorted(p.stem.encode() for p in (conf / "kernel").glob("*.yaml"))
    for name, path in files.items():
        copy_file(path, conf / name)
        if name.parts[0] in ("experiment", name.name):
            _choose_a_kept_kernel(path, conf / name, kept)


def _keep_parameters(path: Path) -> None:
    """Note the parameters that kernels declared which had no part: the command or an experiment may set them."""
    names = [name for name in config.parameter_names() if name not in VOCABULARY]
    if names and not path.exists():
        atomic.write_text(path, yaml.safe_dump({"parameters": dict.fromkeys(names, 0)}, sort_keys=False))


def _is_of_a_sweep(path: Path, root: Path) -> bool:
    """Whether a file lies in the folder of an earlier sweep: with `--config-dir .`, outputs/ is on the search path."""
    return any((parent / "plan.json").exists() for parent in path.parents if parent.is_relative_to(root))


def _choose_a_kept_kernel(path: Path, copy: Path, kept: Sequence[bytes]) -> None:
    """Make a kernel that was kept the default, as Hydra composes the default before it looks at what is swept.

    With a stock launcher the kernels come one by one, so that the default itself may be kept in the end.
    """
    if (default := _DEFAULT_KERNEL.search(path.read_bytes())) is None:
        return
    name = default[2] if default[2] in kept else kept[0]
    before = copy.read_bytes()
    chosen = _DEFAULT_KERNEL.sub(rb"\g<1>" + name, before, count=1)
    if chosen != before:
        atomic.write(copy, chosen)


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
        for module in _modules(kernel.yaml.parent, kernel.reference):
            copy_file(module, target / "conf" / "kernel" / module.relative_to(kernel.yaml.parent))


def fingerprint(kernel: Kernel) -> dict[str, str]:
    """What goes into a kernel's binaries and their check: 12 digits of the hash of each file, by its name."""
    return _fingerprint(kernel.yaml, kernel.source, kernel.reference if isinstance(kernel.reference, str) else "")


@functools.lru_cache(maxsize=1024)  # within a sweep, a file has one content
def _fingerprint(yaml_file: Path, source: Path, reference: str) -> dict[str, str]:
    modules = _modules(yaml_file.parent, reference) or _installed(reference) if reference else []
    named = [(source.name, source), *_included(source), (yaml_file.name, yaml_file)]
    found: dict[str, str] = {}
    for name, path in [*named, *((m.name, m) for m in modules)]:
        found[name] = cache.key(found.get(name, ""), cache.digest(path))[:12]
    return found


def _included(source: Path) -> Iterator[tuple[str, Path]]:
    """The files that a kernel's `.cu` includes, each with its name as seen from there."""
    own = source.parent
    for path in cache.includes(source.read_text(encoding="utf-8"), [own]):
        yield (path.relative_to(own).as_posix() if path.is_relative_to(own) else path.name), path


def _modules(folder: Path, reference: str) -> list[Path]:
    """The file that a reference beside the YAML is in, and its neighbours, which it may import; else none."""
    beside = folder / (reference.rpartition(".")[0].replace(".", "/") + ".py")
    return sorted(beside.parent.glob("*.py")) if beside.is_file() else []


def _installed(reference: str) -> list[Path]:
    """The file of a reference in a package."""
    spec = importlib.util.find_spec(reference.rpartition(".")[0])
    return [Path(spec.origin)] if spec and spec.origin and Path(spec.origin).is_file() else []


def _with_source(declared: str, source: str) -> str:
    """The YAML with another `source`, and otherwise as it was written."""
    line = f"source: {source}"
    if _SOURCE_LINE.search(declared):
        return _SOURCE_LINE.sub(line, declared)
    if declared.lstrip().startswith("{"):  # all in braces: there is no line to put it on
        return str(yaml.safe_dump({**yaml.safe_load(declared), "source": source}, sort_keys=False))
    return f"{line}\n{declared}"
