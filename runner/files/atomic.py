"""Write files atomically: a reader sees the old file or the new one, never a part."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Mapping
from pathlib import Path


def write(path: Path, content: bytes) -> None:
    """Replace a file in one step, and create its folder."""
    write_all(path.parent, {path.name: content})


def write_all(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Replace files of a folder by name, each in one step, and create the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name, content in contents.items():
            replace(descriptor, folder / name, content)
    finally:
        os.close(descriptor)


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 text file atomically, replacing any earlier one. Surrogate escapes become their bytes."""
    write(path, encoded(text))


def encoded(text: str) -> bytes:
    """The UTF-8 of a text, in which surrogate escapes become their bytes."""
    return text.encode("utf-8", errors="surrogateescape")


def replace(folder: int, path: Path, content: bytes) -> None:
    """Replace a file in the open folder with the descriptor `folder`. A symbolic link is replaced itself.

    Only the name of `path` is used, and its parent in error messages.

    Raises:
        OSError: The file cannot be written. The old file stays.
    """
    temporary = f".{path.name[:40]}.{secrets.token_hex(4)}"
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666, dir_fd=folder)
    except OSError as e:
        raise OSError(e.errno, e.strerror, str(path.parent)) from None  # the temporary name would confuse users
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.replace(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)
        raise
