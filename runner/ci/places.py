"""Find the user's files of a run, since reasons and findings name a source without its folder, as in `k.cu:12`.

A run folder has copies of its sources. The user's own file below the repository is the one with the same name and the
same content; else the only one of that name; else the copy in the run folder counts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path

import yaml

from runner.ci.results import Place
from runner.device import syntax
from runner.errors import UsageError
from runner.files import limited, limited_yaml, named_file
from runner.record.folder import RunFolder
from runner.record.runs import is_run

WORKSPACE = "GITHUB_WORKSPACE"  # the repository's folder in a GitHub workflow
MAX_FOLDERS = 20_000  # of a repository that are looked through
_PLACE = re.compile(r"(?P<file>[A-Za-z0-9_.+-]+\.(?:cuh?|py)):(?P<line>\d{1,7})")
_DEFINED = re.compile(r"^(?:def|class) +(?P<name>\w+)", re.MULTILINE)  # in a Python file


def repository() -> Path:
    """The folder to which paths are relative: the GitHub workflow's, else the git repository, else the current one.

    A folder that does not contain the current one is ignored.
    """
    here = Path.cwd()
    named = os.environ.get(WORKSPACE, "")
    git = (folder for folder in (here, *here.parents) if (folder / ".git").exists())
    candidates = [*([named_file.resolved(Path(named))] if named else []), *git]
    return next((folder for folder in candidates if here.is_relative_to(folder)), here)


class Sources:
    """The files of a run, as paths of the user's repository."""

    def __init__(self, folder: RunFolder, root: Path) -> None:
        self._folder, self._root = folder, root
        self._texts: dict[Path, str] = {}

    def places(self, text: str, kernel: str = "") -> tuple[Place, ...]:
        """The lines that a text names, in order, each once."""
        named = dict.fromkeys((m["file"], int(m["line"])) for m in _PLACE.finditer(text))
        return tuple(Place(self.path(file, kernel), line) for file, line in named)

    def kernel(self, kernel: str) -> tuple[Place, ...]:
        """The line on which a kernel's function begins; empty if its source is not known."""
        name = self._source_names.get(kernel, f"{kernel}.cu")
        if not any(path.name == name for path in self._copies):
            return ()
        text = self._text(self._copy(name, kernel))
        if name.endswith(".py"):
            functions = [(m["name"], text.count("\n", 0, m.start()) + 1) for m in _DEFINED.finditer(text)]
        else:
            functions = [(function.name, function.line) for function in syntax.parse(text).kernels]
        lines = [line for found, line in functions if found == kernel] + [line for _, line in functions]
        return (Place(self.path(name, kernel), lines[0] if lines else 1),)

    def path(self, name: str, kernel: str = "") -> str:
        """The path of a file of the run with this name, relative to the repository if it lies there."""
        copy = self._copy(name, kernel)
        own = self._by_name.get(name, [])
        same = [path for path in own if copy and _content(path) == self._text(copy)]
        found = (same or (own if len(own) == 1 else []))[:1]
        if found:
            return found[0].relative_to(self._root).as_posix()
        absolute = named_file.resolved(copy) if copy else None
        if absolute and absolute.is_relative_to(self._root):
            return absolute.relative_to(self._root).as_posix()
        return name

    def _copy(self, name: str, kernel: str) -> Path | None:
        """The copy in the run folder; if kernels have different files of this name, that of the kernel."""
        copies = [path for path in self._copies if path.name == name]
        return next((path for path in copies if path.parent.name == kernel), copies[0] if copies else None)

    def _text(self, path: Path | None) -> str:
        if path is None:
            return ""
        if path not in self._texts:
            self._texts[path] = self._folder.text(path)
        return self._texts[path]

    @cached_property
    def _copies(self) -> list[Path]:
        return [path for path in self._folder.files(self._folder.sources) if path.suffix in (".cu", ".cuh", ".py")]

    @cached_property
    def _source_names(self) -> Mapping[str, str]:
        """The names of the kernels' sources, where their YAML names one."""
        names = {}
        for path in self._folder.files(self._folder.sources):
            if path.suffix == ".yaml" and path.parent.name == "kernel":
                try:
                    content = limited_yaml.load_yaml(self._folder.text(path))
                except (limited.TooMuch, yaml.YAMLError, UsageError):
                    continue
                if isinstance(content, dict) and isinstance(content.get("source"), str):
                    names[path.stem] = Path(content["source"]).name
        return names

    @cached_property
    def _by_name(self) -> Mapping[str, list[Path]]:
        """The repository's files that have the name of a source of the run."""
        return _find({path.name for path in self._copies}, self._root)


def _find(names: Iterable[str], root: Path) -> dict[str, list[Path]]:
    """Find files by name below a folder, but not in run folders, hidden folders and environments of Python."""
    wanted, found = set(names), dict[str, list[Path]]()
    for number, (folder, folders, files) in enumerate(os.walk(root)):
        if number == MAX_FOLDERS:
            break
        path = Path(folder)
        for name in wanted & set(files):
            if (path / name).is_file() and not (path / name).is_symlink():
                found.setdefault(name, []).append(path / name)
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and not is_run(path / name) and not (path / name / "pyvenv.cfg").exists()
        )
    return found


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
