"""Who writes into a sweep's folder: one program at a time.

The lock goes with the process that holds it, however that ends; the file `.lock` stays, and means nothing by itself.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from runner.errors import UsageError

_held: list[int] = []  # open files: a lock is held as long as its file is open


def take(folder: Path) -> None:
    """Hold the lock of a folder until this process ends.

    Raises:
        UsageError: if another process holds it.
    """
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise UsageError(f"{folder}: a sweep is being run in this folder right now") from None
    except OSError:
        pass  # a file system without locks
    _held.append(descriptor)


def held(folder: Path) -> bool:
    """Whether a process holds the lock of a folder. Nothing is written for that: the folder may be anyone's."""
    try:
        descriptor = os.open(folder / ".lock", os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        return False
    finally:
        os.close(descriptor)
    return False
