"""Choose the kernels of a file and write their YAML, or the run folder of a T4 file: the work of `runner import`."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from runner.device import Source, cache
from runner.device.excerpt import parsed_files
from runner.device.syntax import File, Kernel
from runner.errors import CompileError, UsageError
from runner.importer import t4_run
from runner.importer.facts import find_facts, folders_nearby
from runner.importer.kernel_yaml import format_yaml
from runner.importer.program import Program
from runner.importer.resolve import Resolver
from runner.importer.tuning import Tuning, read_script, read_t1
from runner.kernel.from_yaml import BLANK

MAX_NAME = 64  # characters of a kernel's name in the name of its YAML


def convert(file: Path, kernel: str | None, source: Path | None, into: Path | None) -> None:
    """Import a file; the arguments are those of the command. Prints what is written.

    Raises UsageError if a file is unreadable or lacks the kernel, or a file to write exists.
    """
    for path in filter(None, (file, source)):
        if path.exists() and not (path.is_file() or path.is_dir()):  # reading a pipe would block
            raise UsageError(f"{path}: expected a regular file")
    if _is_t4(file):
        sys.stdout.write(t4_run.write_run(file, kernel, into))
        return
    read = {".py": read_script, ".json": read_t1}.get(file.suffix)
    tuning, into = read(file) if read else Tuning(source=file), into or Path("my_kernels")
    texts = _write_kernels(file, tuning, kernel, source, into)
    for path in texts:
        sys.stdout.write(f"{path}\n")
    blank = next((path for path, text in texts.items() if _has_blank(text)), None)
    chosen = blank or next(reversed(texts))
    first = "Fill in each ???, then" if blank else "Run"
    sys.stdout.write(f"{first}: python -m runner --config-dir {into} kernel={chosen.stem} device=cpu\n")


def _has_blank(text: str) -> bool:
    """Whether a YAML has a blank outside its comments."""
    return any(BLANK in line.partition("#")[0] for line in text.splitlines())


def _is_t4(file: Path) -> bool:
    """Whether a file is T4: a .json with results, or a .json.gz. Other JSON is T1."""
    if file.name.endswith(".json.gz"):
        return True
    try:
        return file.suffix == ".json" and '"results"' in file.read_text(encoding="utf-8", errors="replace")
    except OSError as e:
        raise UsageError(f"{file}: {e.strerror or e}") from None


def _write_kernels(file: Path, tuning: Tuning, kernel: str | None, source: Path | None, into: Path) -> dict[Path, str]:
    """Write the YAML of each kernel; the written YAMLs by path.

    A kernel whose YAML exists, or that cannot be read, is told on stderr, and the others are written. If none is left,
    that is a UsageError.
    """
    folder = into / "kernel"
    files: dict[Path, str] = {}
    path, kernel = source or tuning.source, kernel or tuning.function
    if path is None and tuning.text:
        path = folder / f"{kernel}.cu"
        files[path] = tuning.text
    elif path is None:
        raise UsageError(f"{file}: it does not name the kernel's source file; add --source FILE.cu")
    text = files.get(path) or cache.read(path)
    texts, problems = _texts(Source(path, text, ""), tuning, kernel, folder)
    if existing := next((path for path in files if path.exists()), None):
        problems, texts = [f"{existing}: already exists"], {}
    if not texts:
        others = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        advice = ". --into FOLDER chooses another folder" if "already exists" in problems[0] else ""
        raise UsageError(f"{problems[0]}{others}; nothing is written{advice}")
    for target, content in (files | texts).items():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, encoding="utf-8")
    for problem in problems:
        sys.stderr.write(f"runner: {problem}; not written\n")
    return texts


def _texts(source: Source, tuning: Tuning, kernel: str, folder: Path) -> tuple[dict[Path, str], list[str]]:
    """The YAMLs of the chosen kernels by their paths, and sentences about those that have none."""
    kernels, chosen = _kernels(source, kernel)
    overloads = Counter(k.name for k in kernels)
    files = {source.include: dict(_parsed(source))}  # of a program, by the folders in which it finds its headers
    resolver = Resolver(Program(files[source.include]))
    texts: dict[Path, str] = {}
    used: set[str] = set()
    problems: list[str] = []
    for each in chosen:
        plain = each.name.rpartition("::")[2][:MAX_NAME]
        name, count = plain, 2
        while name in used:  # overloads
            name, count = f"{plain}_{count}", count + 1
        used.add(name)
        target = folder / f"{name}.yaml"
        if target.exists():
            problems.append(f"{target}: already exists")
            continue
        try:
            own = dataclasses.replace(source, function=each.name)
            own = dataclasses.replace(own, include=tuple(folders_nearby(own, files[source.include])))
            if own.include not in files:
                files[own.include] = dict(_parsed(own))
            facts = find_facts(own, each, resolver.program, files[own.include])
            texts[target] = format_yaml(facts, folder, tuning, resolver, overloads=overloads[each.name] > 1)
        except RecursionError:
            problems.append(f"{source.path}:{each.line}: the kernel '{each.name}' is nested too deeply to be read")
    return texts, problems


def _parsed(source: Source) -> Iterator[tuple[Path, File]]:
    """Its files, as `parsed_files` gives them. Raises UsageError if one is no CUDA C++."""
    try:
        yield from parsed_files(source)
    except CompileError as e:
        raise UsageError(str(e)) from None


def _kernels(source: Source, kernel: str) -> tuple[list[Kernel], list[Kernel]]:
    """All kernels of the files, and those of the first file that has the chosen one. Raises UsageError for none."""
    plain_name = re.sub(r"<.*", "", kernel).rpartition("::")[2]
    kernels: list[Kernel] = []
    chosen: list[Kernel] = []
    for _, part in _parsed(source):
        own = [k for k in part.kernels if k.has_body]
        kernels += own
        chosen = chosen or [k for k in own if not plain_name or k.name.rpartition("::")[2] == plain_name]
    if not chosen:
        names = f"available: {', '.join(map(str, kernels))}" if kernels else "it has no __global__ function"
        names += "; it has zeros between its letters, so it may be UTF-16: expected UTF-8" * ("\0" in source.text)
        raise UsageError(f"{source.path}: {f'it has no kernel {kernel!r}; ' if kernel else ''}{names}")
    return kernels, chosen
