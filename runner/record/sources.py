"""Store the sources of a sweep in its folder, so that it can be run again: kernels, includes, references, YAML.

sources/conf/       the configuration: a folder for --config-path
sources/kernels/    the .cu files, what they include, and the references
"""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from runner.device import cache
from runner.files import atomic
from runner.jobs.job import Job, Origin
from runner.kernel import yaml_form
from runner.kernel.declaration import Kernel
from runner.kernel.recipes import files as data_files
from runner.kernel.reference_file import installed_file, module_file
from runner.kernel.yaml_reader import MAX_BYTES, read_yaml
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
    jobs = {job.case.kernel.yaml: job for job in plan}.values()
    files = dict.fromkeys(file for job in jobs for file in _files(job.case.kernel, job.origin))
    environment.note_sources(
        folder, files, sorted({str(file) for job in jobs for file in _elsewhere(job.case.kernel, job.origin)})
    )
    for job in jobs:
        _keep_kernel(folder.sources, job.case.kernel, job.origin)
    conf = folder.sources / "conf"
    configuration: dict[Path, Path] = {}
    for root in dict.fromkeys(root for job in plan for root in job.origin.folders):
        for path in sorted(root.rglob("*.yaml")):
            if path.parent.name != "kernel" and _is_configuration(path, root):
                configuration.setdefault(path.relative_to(root), path)  # the first folder with a file counts
    kernels = sorted(path.stem.encode() for path in (conf / "kernel").glob("*.yaml"))
    for name, path in configuration.items():
        if name.parts[0] in ("experiment", name.name):
            atomic.write(conf / name, _with_stored_kernel(path.read_bytes(), kernels))
        else:
            copy_file(path, conf / name)
    # The command line or an experiment may set parameters of other kernels.
    parameters = dict.fromkeys(name for job in plan for name in job.origin.parameters)
    if parameters and not (conf / EXTRA_PARAMETERS).exists():
        text = yaml.safe_dump({"parameters": dict.fromkeys(parameters, 0)}, sort_keys=False)
        atomic.write_text(conf / EXTRA_PARAMETERS, text)


def _files(kernel: Kernel, origin: Origin) -> tuple[Path, ...]:
    common = [kernel.common] if kernel.common else []
    modules = _reference_modules(kernel)
    return (kernel.yaml, *common, *kernel.sources, *_included(kernel, origin), *modules, *_data(kernel))


def _is_configuration(path: Path, root: Path) -> bool:
    """Whether a file is neither a FIFO, nor huge, nor in the folder of an earlier sweep, as with `--config-dir .`."""
    if not path.is_file() or path.stat().st_size > MAX_BYTES:
        return False
    return not any((parent / "plan.json").exists() for parent in path.parents if parent.is_relative_to(root))


def _with_stored_kernel(text: bytes, kernels: Sequence[bytes]) -> bytes:
    """Replace a default kernel that is not stored by one that is, since Hydra composes the default in every sweep."""
    default = _DEFAULT_KERNEL.search(text)
    if default is None or default[2] in kernels:
        return text
    return _DEFAULT_KERNEL.sub(rb"\g<1>" + kernels[0], text, count=1)


def _keep_kernel(target: Path, kernel: Kernel, origin: Origin) -> None:
    """Store a kernel's files. Their relative paths stay the same, so that includes are found."""
    modules, yaml_folder, conf = _reference_modules(kernel), kernel.yaml.parent, target / "conf" / "kernel"
    with_yaml = [path for path in modules if path.is_relative_to(yaml_folder)]
    if yaml_folder == kernel.source.parent:
        with_yaml = []
    files = [*kernel.sources, *_included(kernel, origin), *(() if with_yaml else modules)]
    root = Path(os.path.commonpath([*(path.parent for path in files), *kernel.include]))
    kernels = target / "kernels"
    copies = [kernels / path.relative_to(root) for path in files]
    if any(c.exists() and c.read_bytes() != path.read_bytes() for c, path in zip(copies, files, strict=True)):
        kernels = kernels / kernel.name  # another kernel has a different file of this name
    for path in files:
        copy_file(path, kernels / path.relative_to(root))
    for path in with_yaml:
        copy_file(path, conf / path.relative_to(yaml_folder))
    for path in _data(kernel):
        copy_file(path, conf / path.relative_to(yaml_folder.resolve()))
    for path in kernel.include:
        (kernels / path.relative_to(root)).mkdir(parents=True, exist_ok=True)

    def stored(path: Path) -> str:
        return os.path.relpath(kernels / path.relative_to(root), conf)

    atomic.write_text(conf / kernel.yaml.name, _stored_yaml(kernel, origin, stored))


def _stored_yaml(kernel: Kernel, origin: Origin, stored: Callable[[Path], str]) -> str:
    """A kernel's YAML with other paths, by `stored`. The rest stays as written unless it was composed."""
    source, include = stored(kernel.source), [stored(path) for path in kernel.include]
    text, line, further = kernel.yaml.read_text(encoding="utf-8"), f"source: {source}", len(kernel.sources) > 1
    rebased = read_yaml(kernel.yaml).get("baseline") != origin.kernel.get("baseline")  # by baseline=NAME
    if include or further or rebased or _COMPOSED.search(text) or text.lstrip().startswith("{"):
        paths: dict[str, Any] = {"source": source, **({"include": include} if include else {})}
        if further:
            folder = kernel.yaml.parent
            paths["launches"] = yaml_form.moved(
                origin.kernel["launches"], lambda name: stored((folder / name).resolve())
            )
        return str(yaml.safe_dump({**origin.kernel, **paths}, sort_keys=False))
    return _SOURCE_LINE.sub(line, text) if _SOURCE_LINE.search(text) else f"{line}\n{text}"


def fingerprint(kernel: Kernel, declared: Mapping[str, Any]) -> Mapping[str, str]:
    """Hash the files that determine a kernel's binaries and their check.

    Args:
        kernel: The kernel.
        declared: The content of its YAML. The folders of sources and includes are ignored.

    Returns:
        12 hexadecimal digits by the name of each file.
    """
    content = {key: value for key, value in declared.items() if key not in ("source", "include")}
    if "launches" in content:
        content["launches"] = yaml_form.moved(content["launches"], lambda name: Path(name).name)
    modules = [*(_reference_modules(kernel) or _installed(kernel.reference)), *_data(kernel)]
    files = tuple((path.name, path) for path in modules)
    if kernel.common:
        files = ((f"family/{kernel.common.name}", kernel.common), *files)
    return _fingerprint(kernel.sources, kernel.include, kernel.yaml.name, json.dumps(content, default=str), files)


@functools.lru_cache(maxsize=1024)  # files are taken as constant within a sweep
def _fingerprint(
    sources: tuple[Path, ...],
    include: tuple[Path, ...],
    yaml_name: str,
    content: str,
    files: tuple[tuple[str, Path], ...],
) -> Mapping[str, str]:
    folder = sources[0].parent
    included = [
        (path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.name, path)
        for path in _headers(sources, include)
    ]
    hashes = {yaml_name: cache.key(content)[:12]}
    for name, path in [*((source.name, source) for source in sources), *included, *files]:
        hashes[name] = cache.key(hashes.get(name, ""), cache.digest(path))[:12]
    return hashes


def _data(kernel: Kernel) -> list[Path]:
    """The data files that fill arrays; they lie in the YAML's folder."""
    return list(dict.fromkeys(path for array in kernel.arrays for path in data_files(array.fill)))


def _included(kernel: Kernel, origin: Origin) -> list[Path]:
    """The included files that are kept: those below a configuration folder, or below a folder that the YAML names.

    Run folders are shown and passed on, so `#include "/etc/passwd"` must not put that file into one.
    """
    named = (*origin.folders, kernel.yaml.parent, *(source.parent for source in kernel.sources), *kernel.include)
    roots = [folder.resolve() for folder in named]
    return [p for p in _headers(kernel.sources, kernel.include) if any(p.resolve().is_relative_to(r) for r in roots)]


def _elsewhere(kernel: Kernel, origin: Origin) -> list[Path]:
    """The included files that stay where they are."""
    kept = _included(kernel, origin)
    return [path for path in _headers(kernel.sources, kernel.include) if path not in kept]


def _headers(sources: Sequence[Path], include: Sequence[Path]) -> list[Path]:
    """The headers that the sources include; of a Python source, the modules beside it that it imports."""
    if sources[0].suffix == ".py":
        return [path for path in _with_imported(sources[0]) if path != sources[0]]
    found = (path for source in sources for path in cache.includes(cache.read(source), [source.parent, *include]))
    return list(dict.fromkeys(found))


def _reference_modules(kernel: Kernel) -> list[Path]:
    """The file of a Python reference, and the modules in the same folder that it imports."""
    file = module_file(kernel) if isinstance(kernel.reference, str) else None
    return _with_imported(file) if file else []


@functools.lru_cache(maxsize=1024)
def _with_imported(module: Path) -> list[Path]:
    beside = {path.stem: path for path in sorted(module.parent.glob("*.py"))}
    modules, waiting = {module}, [module]
    while waiting:
        text = waiting.pop().read_text(encoding="utf-8", errors="replace")
        lines = re.findall(r"^\s*(?:from|import)\s+([\w, ]+)", text, re.MULTILINE)
        new = {beside[n] for line in lines for n in re.findall(r"\w+", line) if n in beside} - modules
        modules |= new
        waiting += new
    return sorted(modules)


def _installed(reference: object) -> list[Path]:
    found = installed_file(reference.rpartition(".")[0]) if isinstance(reference, str) else None
    return [found] if found else []
