"""Temporary folders that do not outlive their process for long, even if it is killed.

A folder is locked by its process (flock), and the kernel drops the lock when the process ends, however it ends. The
first folder that a process makes removes those of before that nobody locks.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

PREFIX = "runner-scratch-"
MIN_AGE_S = 60.0  # a younger folder may not be locked yet


@contextlib.contextmanager
def folder(parent: Path | None = None) -> Iterator[Path]:
    """Make a folder that is removed at the end, by default in the system's temporary folder. Raises OSError."""
    root = Path(parent or tempfile.gettempdir())
    _clear_once(root)
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir=root, ignore_cleanup_errors=True) as name:
        lock = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        try:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield Path(name)
        finally:
            os.close(lock)


def clear(root: Path) -> None:
    """Remove the folders below `root` that a killed process of this user has left."""
    with contextlib.suppress(OSError), os.scandir(root) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX):
                with contextlib.suppress(OSError):
                    _remove_if_left(entry)


_clear_once = functools.cache(clear)


def _remove_if_left(entry: os.DirEntry[str]) -> None:
    status = entry.stat(follow_symlinks=False)
    if not entry.is_dir(follow_symlinks=False) or status.st_uid != os.getuid():
        return
    if time.time() - status.st_mtime < MIN_AGE_S:
        return
    lock = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises OSError if its process lives
        shutil.rmtree(entry.path, ignore_errors=True)
    finally:
        os.close(lock)
