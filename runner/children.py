"""The environment of Python processes that this program starts, so that they import this same package.

They look for no modules in the working folder, which may be a stranger's.
"""

from __future__ import annotations

import os
from pathlib import Path


def python_path() -> str:
    """PYTHONPATH of a child process: the folder of this package, then the user's."""
    root = str(Path(__file__).resolve().parents[1])
    return os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])


def environment() -> dict[str, str]:
    """The environment of a child process: this one's with another PYTHONPATH, and without the working folder in it."""
    return {**os.environ, "PYTHONPATH": python_path(), "PYTHONSAFEPATH": "1"}
