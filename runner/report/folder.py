"""The environment, configuration and sources of a run folder. Any of them may be missing.

Kernels are shown as they were compiled, from sources/ and the jobs' case.json. Files outside sources/ are never shown,
whatever paths a foreign folder names.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from runner.device import cache
from runner.folder import RunFolder, read_json
from runner.report.text import one_line

MOST_CHARACTERS = 200_000
"""Of all source files together. The folder has the rest."""

MOST_VALUES = 12
"""Of one macro."""


@dataclass(frozen=True)
class SourceFile:
    """A file of sources/: its path within, and its text, perhaps cut."""

    name: str
    text: str


@dataclass(frozen=True)
class CompiledKernel:
    """A kernel as it was compiled: its source, the included files, and the YAML that declares it."""

    kernel: str
    defines: tuple[str, ...]
    """A `#define` line per macro, with the values of other cases in a comment. Empty if unknown."""
    files: tuple[SourceFile, ...]


def section(content: dict[str, Any], name: str) -> dict[str, Any]:
    """A section of environment.json; empty if it is missing or malformed."""
    part = content.get(name)
    return part if isinstance(part, dict) else {}


def flat(content: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Names and values of nested dictionaries, one pair each: `device.name`, `NVIDIA H200`."""
    for name, value in content.items():
        if isinstance(value, dict) and value:
            yield from flat(value, f"{prefix}{name}.")
        elif isinstance(value, list) and not any(isinstance(item, dict | list) for item in value):
            yield f"{prefix}{name}", ", ".join(map(str, value))
        else:
            yield f"{prefix}{name}", value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def command(environment: dict[str, Any]) -> str:
    """The command of the sweep; empty if it was not recorded."""
    recorded = environment.get("command") or ""
    return " ".join(map(str, recorded)) if isinstance(recorded, list) else str(recorded)


def overrides(words: str) -> list[str]:
    """What a command sets: everything behind `python -m runner`."""
    try:
        split = shlex.split(words)
    except ValueError:  # an open quote
        return []
    return split[split.index("runner") + 1 :] if "runner" in split else []


def configuration(folder: Path) -> tuple[int, str] | None:
    """The number of the first job that kept its resolved configuration, and that configuration as YAML."""
    run = RunFolder(folder)
    for job in run.jobs():
        with suppress(OSError):
            return job, (run.job(job) / ".hydra" / "config.yaml").read_text("utf-8", errors="replace")
    return None


def repeatable(folder: Path) -> bool:
    """Whether the folder kept what repeating the sweep needs."""
    return (RunFolder(folder).sources / "conf" / "config.yaml").is_file()


def compiled(folder: Path, kernels: Iterable[str]) -> list[CompiledKernel]:
    """The files of these kernels, as far as the folder has them."""
    macros, root, left = _macros(RunFolder(folder)), (folder / "sources").resolve(), MOST_CHARACTERS
    found, shown = [], set()
    for kernel in kernels:
        files = []
        for path in _files(root, kernel):
            name = path.relative_to(root).as_posix()
            if name not in shown:  # a file that several kernels share is shown with the first
                shown.add(name)
                text = path.read_text("utf-8", errors="replace")
                cut = "" if len(text) <= left else f"\n[cut here: see sources/{name}]"
                files.append(SourceFile(name, text[:left] + cut))
                left = max(0, left - len(text))
        found.append(CompiledKernel(kernel, tuple(_defines(macros.get(kernel, {}))), tuple(files)))
    return [one for one in found if one.files]


def _files(root: Path, kernel: str) -> Iterator[Path]:
    """Source, includes, declaration."""
    declared = _within(root, root / "conf" / "kernel" / f"{kernel}.yaml")
    source = _source(root, kernel, declared)
    if source:
        yield source
        reached = cache.includes(source.read_text("utf-8", errors="replace"), [source.parent])
        yield from (path for path in reached if _within(root, path))
    if declared:
        yield declared


def _source(root: Path, kernel: str, declared: Path | None) -> Path | None:
    """The source that the YAML names, else the first file with the kernel's name."""
    try:
        content = yaml.safe_load(declared.read_text("utf-8")) if declared else None
    except (ValueError, RecursionError, yaml.YAMLError):
        content = None
    named = content.get("source") if isinstance(content, dict) else None
    if declared and isinstance(named, str) and (path := _within(root, declared.parent / named)):
        return path
    return next((path for path in sorted(root.rglob("*.cu")) if path.stem == kernel and _within(root, path)), None)


def _within(root: Path, path: Path) -> Path | None:
    """The path with links resolved, if it is a file below the root."""
    try:
        real = path.resolve()
        return real if real.is_relative_to(root) and real.is_file() else None
    except (OSError, ValueError):  # a name that is too long, or with a zero byte
        return None


def _macros(folder: RunFolder) -> dict[str, dict[str, list[str]]]:
    """By kernel and macro, its values in the cases of the run, in the order of the jobs."""
    found: dict[str, dict[str, list[str]]] = {}
    for job in folder.jobs():
        case = read_json(folder.case(job))
        if isinstance(case, dict) and isinstance(given := case.get("macros"), dict):
            of_kernel = found.setdefault(str(case.get("kernel")), {})
            for name, value in given.items():
                values = of_kernel.setdefault(str(name), [])
                values += [] if str(value) in values else [str(value)]
    return found


def _defines(macros: dict[str, list[str]]) -> Iterator[str]:
    for name, values in macros.items():
        first, *others = (one_line(value, 80) for value in values)
        more = [f"{len(others) - MOST_VALUES} more"] if len(others) > MOST_VALUES else []
        also = f"  // also {', '.join(others[:MOST_VALUES] + more)}" if others else ""
        yield f"#define {one_line(name, 80)} {first}{also}"
