"""Python processes that this program starts: they import this very package, wherever it lies."""

from __future__ import annotations

import os
from pathlib import Path


def python_path() -> str:
    """PYTHONPATH of such a process: the folder of this package, then what the user has set."""
    root = str(Path(__file__).resolve().parents[1])
    return os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])


def environment() -> dict[str, str]:
    """The environment of such a process: this one's, with its PYTHONPATH."""
    return {**os.environ, "PYTHONPATH": python_path()}
