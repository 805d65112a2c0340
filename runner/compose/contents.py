"""The texts of `runner --help`, on one screen, and `runner show`, with all choices and settings."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from runner.compose import schema
from runner.compose.checks import FILES, check_kernel
from runner.errors import UsageError
from runner.jobs.job import CONF, read_kernel
from runner.kernel.yaml_reader import config_text, read_yaml

_HELP = """\
A declarative experiment runner for CUDA kernels: YAML in, checked times out.

  runner kernel=reduceShfl block=128                one case
  runner kernel=reduceShfl,reduceSmem block=64,128  all combinations
  runner experiment=shuffle_tour device=cpu         a predefined sweep, no GPU
  runner --dry-run 'kernel=glob(reduce*)' size=1Mi  the plan; nothing is run
  runner compare latest~1 latest                    what changed, and why

  runner list | report | compare | repeat | resume | judge | calibrate | import
         export    --help after each; `python -m runner ...` does the same
  runner show      all kernels, experiments and parameters; show NAME: its YAML
  --config-dir DIR adds your own kernels       --quiet  result and path only
  --cfg job        shows a configuration       --json   rows on stdout
"""

_END = "Read on: README.md, docs/tutorial.md, docs/hydra.md."
WIDTH = 80
MAX_MISTAKES = 3  # that --help shows


def help_text(folders: Sequence[Path]) -> str:
    """The text of --help: examples, the kernels of the configuration folders, and links to documentation."""
    mistakes = [f"cannot be run: {mistake}" for mistake in mistakes_in(folders)]
    if hidden := len(mistakes[MAX_MISTAKES:]):
        mistakes[MAX_MISTAKES:] = [f"{hidden} more cannot be run; `runner show` lists them"]
    return "\n".join([_HELP, _filled("kernels", by_name(folders, "kernel")), *mistakes, "", _END, ""])


def choices(folders: Sequence[Path]) -> str:
    """The text of `runner show`: all kernels and experiments with one line each, and all keys."""
    lines = []
    for folder, paths in files(folders, "kernel").items():
        head = "kernels" if folder == CONF else f"kernels of {folder}"
        lines += [f"{head}: runner kernel=NAME", *_table((p.stem, _summary(p)) for p in paths), ""]
    experiments = by_name(folders, "experiment").items()
    lines += ["experiments: runner experiment=NAME", *_table((name, _comment(path)) for name, path in experiments), ""]
    lines += [_filled(group, by_name(folders, group)) for group in FILES if group not in ("kernel", "experiment")]
    lines += [_filled("parameters", schema.parameter_names()), _filled("further keys", schema.further_keys())]
    lines += [f"cannot be run: {mistake}" for mistake in mistakes_in(folders)]
    return "\n".join([*lines, "", "runner show NAME prints a YAML merged with its family's.", ""])


def files(folders: Sequence[Path], group: str) -> dict[Path, list[Path]]:
    """The files of a group, by folder. A file in an earlier folder hides those of the same name in later ones."""
    paths: dict[Path, list[Path]] = {}
    names: set[str] = set()
    for folder in folders:
        if own := [path for path in sorted((folder / group).glob("*.yaml")) if path.stem not in names]:
            paths[folder] = own
            names |= {path.stem for path in own}
    return paths


def by_name(folders: Sequence[Path], group: str) -> dict[str, Path]:
    """The files of a group by name."""
    return {path.stem: path for paths in files(folders, group).values() for path in paths}


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


def is_composed(path: Path, content: Any) -> bool:
    """Whether a kernel's YAML needs Hydra, as it has a defaults list or refers to other keys."""
    return bool({"defaults", "_self_"} & set(content or ())) or "${" in config_text(path)


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
    return [f"  {name:{width}}  {text}".rstrip() for name, text in entries]


def _filled(head: str, words: Iterable[str]) -> str:
    return textwrap.fill(f"{head}: {' '.join(words)}", WIDTH, subsequent_indent="  ", break_long_words=False)
