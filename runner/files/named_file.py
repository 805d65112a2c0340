"""A file that a user names for the result of a command, such as `--junit FILE`.

A regular file is replaced in one step. A device or a pipe, such as /dev/null or `>(...)`, is written to: replacing it
would take it from every other program.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from runner.errors import UsageError
from runner.files import atomic

STREAMS = tuple(map(Path, ("/dev/fd", "/dev/stdout", "/dev/stderr", "/proc")))  # they lead to files that are open


def resolved(path: Path) -> Path:
    """The path without links. Links that lead nowhere or in a circle stay, where `Path.resolve` raises RuntimeError."""
    return Path(os.path.realpath(path))


def require(path: Path) -> None:
    """Raise `UsageError` if a path cannot be a file's, before the work whose result it is to hold."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, PermissionError):  # `write` creates its folder, or fails
        return
    except (OSError, ValueError) as e:  # a circle of links, a name that is too long or has a NUL
        raise UsageError(f"{path}: cannot be written: {_reason(e)}") from None
    if stat.S_ISDIR(mode):
        raise UsageError(f"{path}: cannot be written: Is a directory")


def write(path: Path, content: bytes) -> None:
    """Write the content of a file, and create its folder.

    Raises:
        UsageError: The file cannot be written. A regular file stays as it was.
    """
    require(path)
    try:
        if _is_stream(path):
            append(path, content)
        else:
            atomic.write(resolved(path), content)
    except (OSError, ValueError) as e:
        raise UsageError(f"{path}: cannot be written: {_reason(e)}") from None


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _is_stream(path: Path) -> bool:
    if any(path.absolute().is_relative_to(folder) for folder in STREAMS):
        return True
    return path.exists() and not path.is_file()


def append(path: Path, content: bytes) -> None:
    """Add to the end of a file, or create it. Raises OSError if it cannot be written, as a pipe that nobody reads."""
    # Without O_NONBLOCK, opening such a pipe would wait forever.
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    os.set_blocking(descriptor, True)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
