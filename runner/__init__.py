"""A declarative experiment runner for CUDA kernels.

In Python, `runner.sweep` runs a sweep; `runner.open` and `runner.runs` find finished ones (docs/python.md).
The commands are `python -m runner` and its modules.
"""

from __future__ import annotations

import sys

if sys.argv[:1] == ["-m"] and not sys.flags.safe_path and sys.path:
    # `python -m runner` looks for modules in the working folder first, which may be a stranger's.
    del sys.path[0]

TYPE_CHECKING = False  # until `typing` is imported, Ctrl-C would show a traceback
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path
    from typing import Any

    from runner.api.own_kernel import Kernel
    from runner.api.run import Comparison, Run
    from runner.errors import DeviceUnavailable, RunnerError, UsageError

__all__ = [
    "Comparison",
    "DeviceUnavailable",
    "Kernel",
    "Run",
    "RunnerError",
    "UsageError",
    "__version__",
    "open",
    "runs",
    "sweep",
]
__version__ = "1.0.0"

__path__.append(f"{__path__[0]}/commands")  # `python -m runner.list` is `runner list`

_LATE = {
    **dict.fromkeys(("Comparison", "Run"), "runner.api.run"),
    "Kernel": "runner.api.own_kernel",
    **dict.fromkeys(("DeviceUnavailable", "RunnerError", "UsageError"), "runner.errors"),
}


def __getattr__(name: str) -> Any:
    """Import a class on first use: pandas would slow every command's start."""
    if name not in _LATE:
        raise AttributeError(f"module 'runner' has no attribute '{name}'")
    from importlib import import_module  # noqa: PLC0415 - see `TYPE_CHECKING`

    return getattr(import_module(_LATE[name]), name)


def open(name: str | Path = "latest") -> Run:  # noqa: A001 - runner.open("latest") says what it does
    """Open a run.

    Args:
        name: Its folder, `latest` (below `outputs/`), or `latest~1` for the one before it.

    Raises:
        UsageError: The run does not exist.
    """
    from runner.api.finding import open_run  # noqa: PLC0415 - pandas would slow every command's start

    return open_run(name)


def runs(pattern: str | Path = "outputs", *words: str) -> list[Run]:
    """Find runs, newest first, as `runner list` does.

    Args:
        pattern: A folder that is searched, or a pattern such as `outputs/2026-11-*/*`.
        *words: What a case of a run must match: `kernel=reduceShfl`, `size>1Mi`, `failed`.

    Raises:
        UsageError: There is no such folder, no run matches, or a word asks for an unknown column.
    """
    from runner.api.finding import find_runs  # noqa: PLC0415 - pandas would slow every command's start

    return find_runs(pattern, *words)


def sweep(
    kernel: str | Kernel | Iterable[str | Kernel] | None = None,
    *,
    config_dir: str | Path | Sequence[str | Path] = (),
    folder: str | Path | None = None,
    quiet: bool = False,
    overrides: str | Iterable[str] = (),
    **values: Any,
) -> Run:
    """Run a sweep, as `python -m runner` does: `runner.sweep("reduceShfl", block=[64, 128], size=2**20)`.

    Failed cases raise nothing: `Run.ok`, `Run.verdict` and `Run.problems` tell them.

    Args:
        kernel: The name of a kernel, or a `Kernel` whose source is given as text; a list sweeps them.
        config_dir: Your own folders with kernel/NAME.yaml.
        folder: A new or empty folder for the results; by default one below `outputs/`.
        quiet: Whether to show warnings only. Otherwise progress is shown on standard error.
        overrides: Overrides in Hydra's grammar, such as `timing=quick` or `kernel=glob(reduce*)`.
        **values: Keys and their values; a list sweeps them, a text stands for itself. Keys with a dot are given as
            `**{"timing.rounds": 5}` or in `overrides`.

    Raises:
        UsageError: The request is impossible, or the YAML of a kernel is wrong; the message is one sentence.
        DeviceUnavailable: The requested device cannot be opened.
        KeyboardInterrupt: Ctrl-C. The table and the report of the finished cases are written.
    """
    from runner.api.sweeping import sweep as run_sweep  # noqa: PLC0415 - pandas would slow every command's start

    return run_sweep(kernel, config_dir=config_dir, folder=folder, quiet=quiet, overrides=overrides, **values)
