"""One program at a time writes into a sweep's folder.

The lock ends with the process that holds it, however that ends. The file `.lock` stays, and means nothing by itself.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from runner.errors import UsageError


def take(folder: Path) -> None:
    """Lock a folder until this process ends.

    Raises:
        UsageError: if another process has locked it.
    """
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o666)  # never closed: closing would unlock it
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise UsageError(f"{folder}: a sweep is running in this folder right now") from None
    except OSError:
        pass  # a file system without locks


def held(folder: Path) -> bool:
    """Whether a process has locked a folder. This writes nothing: the folder may belong to somebody else."""
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
