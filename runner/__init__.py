"""A declarative experiment runner for CUDA kernels.

`runner.open` opens the folder of a run in Python. The commands are `python -m runner` and its modules.
"""

from __future__ import annotations

import os.path
import sys

TYPE_CHECKING = False  # importing `typing` takes time in which Ctrl-C shows a traceback
if TYPE_CHECKING:
    from pathlib import Path

    from runner.opened import Run

__all__ = ["__version__", "open"]
__version__ = "0.2.0"

# Hydra looks for plugins in packages named `hydra_plugins` on the import path; ours lies inside this package.
_plugins = os.path.join(os.path.dirname(__file__), "_plugins")  # noqa: PTH118, PTH120
if _plugins not in sys.path:
    sys.path.append(_plugins)


def open(name: str | Path = "latest") -> Run:  # noqa: A001 - runner.open("latest") says what it does
    """Open a run: its folder, `latest` (below `outputs/`), or `latest~1` for the one before it.

    A `runner.errors.UsageError` if the run does not exist.
    """
    from runner.opened import named  # noqa: PLC0415 - pandas would slow every command's start

    return named(name)
