"""What changed in the kernels' sources from one run to another, as unified diffs."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

from runner.compare.loading import Run
from runner.report.text import count

PLACES = ("kernels", "conf/kernel")
MOST_BYTES = 200_000  # of a file: a larger one is not read line by line
MOST_LINES = 400  # of a diff


@dataclass(frozen=True)
class FileChange:
    """A source file that differs.

    Attributes:
        name: Its path below sources/.
        summary: What changed, in a few words.
        diff: The lines; empty where the file is only in one run, or too large.
    """

    name: str
    summary: str
    diff: str


def changed(base: Run, other: Run) -> list[FileChange]:
    """The kernels' files that differ, kernels first, and those that one run lacks of kernels that both ran."""
    left, right = _files(base.folder.sources), _files(other.folder.sources)
    if not left or not right:
        return []
    lone = {str(row["kernel"]) for row in base.rows} ^ {str(row["kernel"]) for row in other.rows}
    names = [name for name in dict.fromkeys((*left, *right)) if Path(name).stem not in lone]
    found = (_compared(name, left.get(name), right.get(name)) for name in names)
    return [change for change in found if change]


def missing(run: Run) -> bool:
    """Whether a folder was passed on without its sources."""
    return not _files(run.folder.sources)


def _files(root: Path) -> dict[str, Path]:
    """The files by their names; a link that leads out of the folder is none of the run's."""
    inside = root.resolve()
    found = [path for place in PLACES for path in sorted((root / place).rglob("*")) if path.is_file()]
    return {path.relative_to(root).as_posix(): path for path in found if path.resolve().is_relative_to(inside)}


def _compared(name: str, base: Path | None, other: Path | None) -> FileChange | None:
    if base is None or other is None:
        return FileChange(name, "not there" if other is None else "new", "")
    before, after = _content(base), _content(other)
    if before == after:
        return None
    if max(len(before), len(after)) > MOST_BYTES:
        return FileChange(name, "changed", "")
    lines = _diff(name, before, after)
    added, removed = (sum(line.startswith(sign) for line in lines[2:]) for sign in "+-")
    left_out = len(lines) - MOST_LINES
    shown = [*lines[:MOST_LINES], *([f"[{count(left_out, 'more line')}]"] if left_out > 0 else [])]
    return FileChange(name, f"{count(added, 'line')} added, {removed:,} removed", "\n".join(shown))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _diff(name: str, before: bytes, after: bytes) -> list[str]:
    old, new = (content.decode("utf-8", errors="replace").splitlines() for content in (before, after))
    found = list(difflib.unified_diff(old, new, f"baseline/{name}", f"run/{name}", lineterm=""))
    return found or [f"--- baseline/{name}", f"+++ run/{name}", "[only white space at the ends of lines differs]"]
