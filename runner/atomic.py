"""Write files atomically: a reader sees the old file or the new one, never a part."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write(path: Path, content: bytes) -> None:
    """Replace a file by new content in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
    except OSError as e:
        raise OSError(e.errno, e.strerror, str(path.parent)) from None  # the user never heard of the file aside
    aside = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        aside.chmod(0o666 & ~_umask())  # mkstemp's 0600 would lock colleagues out of a shared folder
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Replace a text file in one step; surrogates are written as the bytes they stand for."""
    write(path, text.encode("utf-8", errors="surrogateescape"))


def _umask() -> int:
    mask = os.umask(0o022)  # it cannot be read without being set
    os.umask(mask)
    return mask
