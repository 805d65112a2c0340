"""The kernels of a run as they were compiled: the macros of their cases, the source, what it includes, and the YAML.

All from the folder's sources/ and the jobs' case.json; nothing outside sources/ is shown, whatever a folder that came
from elsewhere names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from runner.device import cache
from runner.folder import RunFolder, read_json
from runner.report.text import one_line

MOST_CHARACTERS = 200_000
"""What is shown of all files together; the folder has the rest."""

MOST_VALUES = 12
"""Values of one macro that are told."""


@dataclass(frozen=True)
class Source:
    """A file of the folder's sources/: its path within, and its text, perhaps cut."""

    name: str
    text: str


@dataclass(frozen=True)
class Compiled:
    """A kernel's files.

    Attributes:
        kernel: its name.
        defines: a `#define` line for each macro, with the further values that other cases gave it; none if unknown.
        files: the source, what it includes, and the YAML that declares it.
    """

    kernel: str
    defines: tuple[str, ...]
    files: tuple[Source, ...]


def compiled(folder: Path, kernels: Iterable[str]) -> list[Compiled]:
    """The files of these kernels, as far as the folder has them."""
    given, root, left = _macros(RunFolder(folder)), (folder / "sources").resolve(), MOST_CHARACTERS
    found, shown = [], set()
    for kernel in kernels:
        files = []
        for path in _files(root, kernel):
            name = path.relative_to(root).as_posix()
            if name not in shown:  # a file that several kernels share is shown with the first
                shown.add(name)
                text = path.read_text("utf-8", errors="replace")
                cut = "" if len(text) <= left else f"\n[cut here: see sources/{name}]"
                files.append(Source(name, text[:left] + cut))
                left = max(0, left - len(text))
        found.append(Compiled(kernel, tuple(_defines(given.get(kernel, {}))), tuple(files)))
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
    """What the YAML names as the source, or else the first file that is called like the kernel."""
    try:
        content = yaml.safe_load(declared.read_text("utf-8")) if declared else None
    except (ValueError, RecursionError, yaml.YAMLError):
        content = None
    named = content.get("source") if isinstance(content, dict) else None
    if declared and isinstance(named, str) and (path := _within(root, declared.parent / named)):
        return path
    return next((path for path in sorted(root.rglob("*.cu")) if path.stem == kernel and _within(root, path)), None)


def _within(root: Path, path: Path) -> Path | None:
    """The path without links, if it is a file below the root."""
    try:
        real = path.resolve()
        return real if real.is_relative_to(root) and real.is_file() else None
    except (OSError, ValueError):  # a name too long, or with a zero byte
        return None


def _macros(folder: RunFolder) -> dict[str, dict[str, list[str]]]:
    """By kernel and macro, the values that cases of the run gave it, in the order of the jobs."""
    found: dict[str, dict[str, list[str]]] = {}
    for job in folder.jobs():
        told = read_json(folder.case(job))
        if isinstance(told, dict) and isinstance(given := told.get("macros"), dict):
            of_kernel = found.setdefault(str(told.get("kernel")), {})
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
