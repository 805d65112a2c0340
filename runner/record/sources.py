"""Store the sources of a sweep in its folder, so that it can be run again: kernels, includes, references, YAML.

sources/conf/       the configuration: a folder for --config-path
sources/kernels/    the .cu files, what they include, and the references
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from runner.device import cache
from runner.files import atomic
from runner.jobs.job import Job, Origin
from runner.kernel.declaration import Kernel
from runner.kernel.recipes import files
from runner.kernel.reference import module_file
from runner.kernel.yaml_reader import MAX_BYTES
from runner.record import environment
from runner.record.folder import RunFolder, copy_file

EXTRA_PARAMETERS = "further_parameters.yaml"  # parameters of kernels on the search path that the sweep did not use

# In a list of defaults: `- kernel: NAME`, `- override /kernel: NAME`, `[override /kernel: NAME]`.
_DEFAULT_KERNEL = re.compile(rb"((?:-|\[|\boverride) */?kernel: *)(\w+)")
_SOURCE_LINE = re.compile(r"^source:.*$", re.MULTILINE)
_COMPOSED = re.compile(r"^defaults:|\$\{", re.MULTILINE)


def keep(folder: RunFolder, plan: Sequence[Job]) -> None:
    """Copy the sources of the jobs into the folder. Jobs that were restored from this folder are skipped."""
    plan = [job for job in plan if not job.case.kernel.yaml.is_relative_to(folder.sources)]
    kernels = {job.case.kernel.yaml: job for job in plan}
    environment.note_sources(folder, dict.fromkeys(f for job in kernels.values() for f in _files(job.case.kernel)))
    for job in kernels.values():
        _keep_kernel(folder.sources, job.case.kernel, job.origin)
    conf = folder.sources / "conf"
    files: dict[Path, Path] = {}
    for root in dict.fromkeys(f for job in plan for f in job.origin.folders):
        for path in sorted(root.rglob("*.yaml")):
            if path.parent.name != "kernel" and _can_be_read(path) and not _is_of_a_sweep(path, root):
                files.setdefault(path.relative_to(root), path)  # the first folder with a file prevails
    kept = sorted(p.stem.encode() for p in (conf / "kernel").glob("*.yaml"))
    for name, path in files.items():
        if name.parts[0] in ("experiment", name.name):
            atomic.write(conf / name, _with_kept_kernel(path.read_bytes(), kept))
        else:
            copy_file(path, conf / name)
    # The command line or an experiment may set parameters of other kernels.
    parameters = dict.fromkeys(name for job in plan for name in job.origin.parameters)
    if parameters and not (conf / EXTRA_PARAMETERS).exists():
        text = yaml.safe_dump({"parameters": dict.fromkeys(parameters, 0)}, sort_keys=False)
        atomic.write_text(conf / EXTRA_PARAMETERS, text)


def _files(kernel: Kernel) -> tuple[Path, ...]:
    common = [kernel.common] if kernel.common else []
    included = _included(kernel.source, kernel.include)
    return (kernel.yaml, *common, kernel.source, *included, *_reference_modules(kernel), *_data(kernel))


def _can_be_read(path: Path) -> bool:
    """Whether a file may be part of the configuration. FIFOs and huge files are excluded."""
    return path.is_file() and path.stat().st_size <= MAX_BYTES


def _is_of_a_sweep(path: Path, root: Path) -> bool:
    """Whether a file lies in the folder of an earlier sweep: `--config-dir .` also includes outputs/."""
    return any((parent / "plan.json").exists() for parent in path.parents if parent.is_relative_to(root))


def _with_kept_kernel(text: bytes, kept: Sequence[bytes]) -> bytes:
    """Replace a default kernel that is not stored by one that is, since Hydra composes the default in every sweep."""
    default = _DEFAULT_KERNEL.search(text)
    if default is None or default[2] in kept:
        return text
    return _DEFAULT_KERNEL.sub(rb"\g<1>" + kept[0], text, count=1)


def _keep_kernel(target: Path, kernel: Kernel, origin: Origin) -> None:
    """Store a kernel's files. Their relative paths stay the same, so that includes are found."""
    modules = _reference_modules(kernel)
    beside = kernel.yaml.parent
    with_yaml = [path for path in modules if path.is_relative_to(beside)] if beside != kernel.source.parent else []
    files = [kernel.source, *_included(kernel.source, kernel.include), *(() if with_yaml else modules)]
    root = Path(os.path.commonpath([*(path.parent for path in files), *kernel.include]))
    kernels = target / "kernels"
    kept = [(kernels / path.relative_to(root), path) for path in files]
    if any(copy.exists() and copy.read_bytes() != path.read_bytes() for copy, path in kept):
        kernels = kernels / kernel.name  # another kernel has a different file of this name
    for path in files:
        copy_file(path, kernels / path.relative_to(root))
    for path in with_yaml:
        copy_file(path, target / "conf" / "kernel" / path.relative_to(beside))
    for path in _data(kernel):
        copy_file(path, target / "conf" / "kernel" / path.relative_to(beside.resolve()))
    source, *include = (
        os.path.relpath(kernels / path.relative_to(root), target / "conf" / "kernel")
        for path in (kernel.source, *kernel.include)
    )
    for path in kernel.include:
        (kernels / path.relative_to(root)).mkdir(parents=True, exist_ok=True)
    if include:
        declared = str(yaml.safe_dump({**origin.kernel, "source": source, "include": include}, sort_keys=False))
    else:
        declared = _with_source(kernel.yaml.read_text(encoding="utf-8"), source, origin)
    atomic.write_text(target / "conf" / "kernel" / kernel.yaml.name, declared)


def _with_source(declared: str, source: str, origin: Origin) -> str:
    """A kernel's YAML with another `source`. The rest stays as written unless Hydra had to compose it."""
    line = f"source: {source}"
    if _COMPOSED.search(declared) or declared.lstrip().startswith("{"):
        return str(yaml.safe_dump({**origin.kernel, "source": source}, sort_keys=False))
    if _SOURCE_LINE.search(declared):
        return _SOURCE_LINE.sub(line, declared)
    return f"{line}\n{declared}"


def fingerprint(kernel: Kernel, declared: Mapping[str, Any]) -> Mapping[str, str]:
    """Hash the files that determine a kernel's binaries and their check.

    Args:
        kernel: The kernel.
        declared: The content of its YAML. The keys `source` and `include` are ignored.

    Returns:
        12 hexadecimal digits by the name of each file.
    """
    content = json.dumps(
        {key: value for key, value in declared.items() if key not in ("source", "include")}, default=str
    )
    modules = [*(_reference_modules(kernel) or _installed(kernel.reference)), *_data(kernel)]
    return _fingerprint(kernel.source, kernel.include, kernel.yaml.name, content, kernel.common, tuple(modules))


@functools.lru_cache(maxsize=1024)  # files are taken as constant within a sweep
def _fingerprint(
    source: Path, include: tuple[Path, ...], declared: str, content: str, family: Path | None, modules: tuple[Path, ...]
) -> Mapping[str, str]:
    own = source.parent
    included = [
        (p.relative_to(own).as_posix() if p.is_relative_to(own) else p.name, p) for p in _included(source, include)
    ]
    common = [(f"family/{family.name}", family)] if family else []
    found = {declared: cache.key(content)[:12]}
    for name, path in [(source.name, source), *included, *common, *((p.name, p) for p in modules)]:
        found[name] = cache.key(found.get(name, ""), cache.digest(path))[:12]
    return found


def _data(kernel: Kernel) -> list[Path]:
    """The data files that fill arrays; they lie in the YAML's folder."""
    return list(dict.fromkeys(path for a in kernel.arrays for path in files(a.fill)))


def _included(source: Path, include: Sequence[Path]) -> list[Path]:
    return list(cache.includes(cache.read(source), [source.parent, *include]))


def _reference_modules(kernel: Kernel) -> list[Path]:
    """The file of a Python reference, and the modules in the same folder that it imports."""
    file = module_file(kernel) if isinstance(kernel.reference, str) else None
    return _with_neighbours(file) if file else []


@functools.lru_cache(maxsize=1024)
def _with_neighbours(module: Path) -> list[Path]:
    beside = {path.stem: path for path in sorted(module.parent.glob("*.py"))}
    found, waiting = {module}, [module]
    while waiting:
        text = waiting.pop().read_text(encoding="utf-8", errors="replace")
        lines = re.findall(r"^\s*(?:from|import)\s+([\w, ]+)", text, re.MULTILINE)
        more = {beside[n] for line in lines for n in re.findall(r"\w+", line) if n in beside} - found
        found |= more
        waiting += more
    return sorted(found)


def _installed(reference: object) -> list[Path]:
    spec = importlib.util.find_spec(reference.rpartition(".")[0]) if isinstance(reference, str) else None
    return [Path(spec.origin)] if spec and spec.origin and Path(spec.origin).is_file() else []
