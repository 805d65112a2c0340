"""The shipped configuration folder, the names in configuration folders, and the text of `runner --help`.

--help and completion start at once, so this module imports neither Hydra nor NumPy.
"""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

from runner.cli import printable

_PACKAGE = Path(__file__).resolve().parents[1]
_CHECKOUT_CONF = _PACKAGE.parent / "conf"
# A checkout has the configuration beside the package; a wheel has it inside.
CONF = _CHECKOUT_CONF if (_CHECKOUT_CONF / "config.yaml").is_file() else _PACKAGE / "_data" / "conf"

_HELP = """\
A declarative experiment runner for CUDA kernels: YAML in, checked times out.

  runner kernel=reduceShfl block=128                one case
  runner kernel=reduceShfl,reduceSmem block=64,128  all combinations
  runner experiment=shuffle_tour device=cpu         a predefined sweep, no GPU
  runner --dry-run 'kernel=glob(reduce*)' size=1Mi  the plan; nothing is run
  runner compare latest~1 latest                    what changed, and why

  runner list | report | compare | history | profile | repeat | resume | judge
         check | import | export | calibrate     --help after each
  runner show      all kernels, experiments and parameters; show NAME: its YAML
  --config-dir DIR adds your own kernels       --quiet  result and path only
  --cfg job        shows a configuration       --json   rows on stdout
"""

_END = "Read on: README.md, docs/first-kernel.md, docs/hydra.md."
WIDTH = 80
_SYNONYMS = {"gpu": "cuda", "nvidia": "cuda"}  # other names of a choice
MAX_MISTAKES = 3  # that --help shows


def help_text(folders: Sequence[Path], mistakes: Iterable[str] = ()) -> str:
    """The text of --help: examples, the kernels of the configuration folders, and links to documentation.

    Args:
        folders: The configuration folders, the primary one last.
        mistakes: Sentences on kernels that cannot be run. The first `MAX_MISTAKES` are shown.
    """
    lines = [f"cannot be run: {printable(mistake)}" for mistake in mistakes]
    if hidden := len(lines[MAX_MISTAKES:]):
        lines[MAX_MISTAKES:] = [f"{hidden} more cannot be run; `runner show` lists them"]
    return "\n".join([_HELP, filled("kernels", by_name(folders, "kernel")), *lines, "", _END, ""])


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


def filled(head: str, words: Iterable[str]) -> str:
    """Words after a head, in lines of `WIDTH` characters."""
    return textwrap.fill(f"{head}: {' '.join(words)}", WIDTH, subsequent_indent="  ", break_long_words=False)


def nearest(word: str, options: Iterable[str]) -> str:
    """A suffix such as `; did you mean NAME?` with the option that a misspelt word resembles; empty if none does."""
    options = list(options)
    if _SYNONYMS.get(word.lower()) in options:
        return f"; did you mean {_SYNONYMS[word.lower()]}?"
    if same := next((option for option in options if option.lower() == word.lower()), ""):
        return f"; did you mean {same}?"
    near = difflib.get_close_matches(word, options, n=1)
    return f"; did you mean {near[0]}?" if near else ""
