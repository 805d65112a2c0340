"""Files that a command writes: whether it can, and which of those that follow from others are not current."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

import matplotlib as mpl

from runner import atomic

ROOT = Path(__file__).resolve().parents[1]


def ready(path: Path) -> None:
    """Make the folder of a file that is to be written, so that hours of work do not end with nowhere to put them.

    Raises:
        OSError: if it cannot be written there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise PermissionError(f"{path}: it cannot be written")


def write(files: Mapping[Path, bytes]) -> None:
    """Write the files, and remove the pictures of their folders that are none of them."""
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic.write(path, content)
    for path in left_over(files):
        path.unlink()


def outdated(files: Mapping[Path, bytes]) -> list[str]:
    """Which of the files are not current, those that nobody needs any more included.

    Pictures are compared byte by byte only where matplotlib is the one of constraints.txt: another may draw otherwise.
    """
    stale = []
    for path, content in files.items():
        exact = path.suffix == ".md" or same_matplotlib()
        if not path.is_file() or (exact and path.read_bytes() != content):
            stale.append(path)
    return [str(path.relative_to(ROOT)) for path in (*stale, *left_over(files))]


def left_over(files: Mapping[Path, bytes]) -> list[Path]:
    """Pictures in the folders of these that are none of them."""
    folders = {path.parent for path in files if path.suffix == ".svg"}
    return [path for folder in sorted(folders) for path in sorted(folder.glob("*.svg")) if path not in files]


def same_matplotlib() -> bool:
    """Whether the pictures were drawn by the matplotlib that is here."""
    pinned = re.search(r"^matplotlib==(\S+)", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)
    return pinned is not None and pinned[1] == mpl.__version__


def told(stale: list[str], command: str) -> str:
    """What is said of files that are not current."""
    several = f"{', '.join(stale[:3])}{f' and {len(stale) - 3} more' if len(stale) > 3 else ''}"
    return f"Not current: {several}; mend it with '{command}'."
