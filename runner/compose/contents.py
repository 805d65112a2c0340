"""The text of `runner show`, with all choices and settings, and the mistakes in a user's kernels."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from runner.cli import escaped, printable
from runner.compose import arguments, schema
from runner.compose.group_files import FILES, check_kernel, is_composed
from runner.compose.names import CONF, by_name, files, filled
from runner.compose.search_path import search_path
from runner.errors import UsageError
from runner.jobs.job import read_kernel
from runner.kernel.yaml_reader import read_yaml


def show(config_dir: str | None) -> None:
    """Print all that can be chosen, also from a folder of the user."""
    folders = search_path(arguments.read([] if config_dir is None else ["--config-dir", config_dir]))
    schema.register(folders)
    sys.stdout.write(choices(folders))


def choices(folders: Sequence[Path]) -> str:
    """The text of `runner show`: all kernels and experiments with one line each, and all keys."""
    lines = []
    for folder, paths in files(folders, "kernel").items():
        head = "kernels" if folder == CONF else f"kernels of {folder}"
        lines += [f"{head}: runner kernel=NAME", *_table((p.stem, _summary(p)) for p in paths), ""]
    experiments = by_name(folders, "experiment").items()
    lines += ["experiments: runner experiment=NAME", *_table((name, _comment(path)) for name, path in experiments), ""]
    lines += [filled(group, by_name(folders, group)) for group in FILES if group not in ("kernel", "experiment")]
    lines += [filled("parameters", schema.parameter_names()), filled("further keys", schema.further_keys())]
    lines += [f"cannot be run: {printable(mistake)}" for mistake in mistakes_in(folders)]
    return "\n".join([*lines, "", "runner show NAME prints a YAML merged with its family's.", ""])


def mistakes_in(folders: Sequence[Path]) -> Iterator[str]:
    """The mistakes in a user's kernels that can be detected without composing them."""
    for path in sorted(p for folder in folders[:-1] for p in (folder / "kernel").glob("*.yaml")):
        try:
            check_kernel(path.stem, [path.parents[1]])
            content = read_yaml(path)
            if not is_composed(path, content):
                read_kernel(path.stem, content, path, folders)
        except UsageError as e:
            yield str(e)


def _summary(path: Path) -> str:
    try:
        content = read_yaml(path)
    except UsageError as e:
        return str(e)
    return str(content.get("summary", "")) if isinstance(content, dict) else ""


def _comment(path: Path) -> str:
    """The comment at the start of an experiment, after `# @package _global_`."""
    lines = [line.removeprefix("#").strip() for line in path.read_text(encoding="utf-8", errors="replace").splitlines()]
    text = lines[1 : lines.index("", 1)] if "" in lines[1:] else lines[1:2]
    return " ".join(text)


def _table(entries: Iterable[tuple[str, str]]) -> list[str]:
    entries = list(entries)
    width = max((len(name) for name, _ in entries), default=0)
    return [escaped(f"  {name:{width}}  {text}".rstrip()) for name, text in entries]
