"""A declarative experiment runner for CUDA kernels.

`runner.open` opens the folder of a run in Python. The commands are `python -m runner` and its modules.
"""

from __future__ import annotations

TYPE_CHECKING = False  # until `typing` is imported, Ctrl-C would show a traceback
if TYPE_CHECKING:
    from pathlib import Path

    from runner.api import Run

__all__ = ["__version__", "open"]
__version__ = "0.2.0"

__path__.append(f"{__path__[0]}/commands")  # `python -m runner.list` is `runner list`


def open(name: str | Path = "latest") -> Run:  # noqa: A001 - runner.open("latest") says what it does
    """Open a run.

    Args:
        name: Its folder, `latest` (below `outputs/`), or `latest~1` for the one before it.

    Raises:
        runner.errors.UsageError: The run does not exist.
    """
    from runner.api import open_run  # noqa: PLC0415 - pandas would slow every command's start

    return open_run(name)
