"""Safe access to run folders that may come from an untrusted source: no file outside is read or written.

Symbolic links below the folder are refused: each part of a path is opened within the part above it. Only regular files
are read, up to a limit for each kind of file; pipes and devices never block. A violation is a `UsageError`. The path of
the folder itself may contain links.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import IO

from runner.errors import UsageError
from runner.files import atomic

MIB = 2**20
MOST_BYTES = {
    "plan.json": 96 * MIB, "verdict.json": 96 * MIB, "shard.json": 4 * MIB, ".json": MIB, ".jsonl": 256 * MIB,
    ".csv": 256 * MIB, ".npy": 1024 * MIB,
}  # fmt: skip
"""Size limits in bytes by file name or suffix."""
MOST_OF_OTHERS = 4 * MIB  # sources, YAML, logs
MOST_FILES = 2000  # in sources/
DEEPEST = 16  # levels of folders

_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_KINDS = {
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def stream(root: Path, path: Path) -> IO[bytes]:
    """Open a file below the folder `root` for reading.

    Raises:
        OSError: The file does not exist or cannot be opened.
        UsageError: A part of the path is a link, or the file is not regular or too large for its kind.
    """
    with _above(root, path) as folder:
        return os.fdopen(_opened(folder, path, os.O_RDONLY), "rb")


def read(root: Path, path: Path, most: int = 0) -> bytes:
    """Read a file below the folder `root`.

    Args:
        root: The folder.
        path: The file.
        most: The size limit in bytes; 0: the limit for its kind.

    Raises:
        OSError: As `stream`.
        UsageError: As `stream`, or the file is larger than `most`.
    """
    with stream(root, path) as file:
        there = os.fstat(file.fileno()).st_size  # `read` allocates as much as it is asked for
        content = file.read(min(most or _most(path), there) + 1)
    if most and len(content) > most:
        raise _too_large(path, len(content), most)
    return content


def write(root: Path, path: Path, content: bytes) -> None:
    """Replace a file below the folder `root` in one step, and create the folders between. Raises as `stream`."""
    with _above(root, path, make=True) as folder:
        atomic.replace(folder, path, content)


def remove(root: Path, path: Path) -> None:
    """Remove a file below the folder `root`, if it exists."""
    with suppress(FileNotFoundError), _above(root, path) as folder:
        os.unlink(path.name, dir_fd=folder)


def lock_file(root: Path, path: Path, *, make: bool) -> int:
    """Open a file below the folder `root` for locking, and create it if `make`. Raises as `stream`.

    Returns:
        The descriptor, which the caller closes.
    """
    with _above(root, path) as folder:
        return _opened(folder, path, os.O_RDWR | os.O_CREAT if make else os.O_RDONLY)


def exists(root: Path, path: Path) -> bool:
    """Whether a regular file exists.

    Raises:
        UsageError: The path is a link, a pipe or a device, or the file is too large.
    """
    try:
        with _above(root, path) as folder:
            return stat.S_ISREG(_checked(folder, path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def files(root: Path, below: Path, most: int = MOST_FILES) -> list[Path]:
    """The files in `below`, a folder below `root`, and in its subfolders, sorted; empty if it does not exist.

    Raises:
        UsageError: An entry is neither a folder nor a regular file, a file is too large, or there are more than `most`.
    """
    try:
        with _above(root, below / "any") as folder:
            found = list(islice(_walk(folder, below), most + 1))
    except FileNotFoundError:
        return []
    if len(found) > most:
        raise UsageError(f"{below}: more than {most:,} files")
    return found


def names(root: Path, folder: Path) -> list[str]:
    """The names of the entries of a folder below `root`; empty if it does not exist."""
    try:
        with _above(root, folder / "any") as at:
            listing = os.open(".", os.O_RDONLY | _FOLDER, dir_fd=at)
    except FileNotFoundError:
        return []
    try:
        with os.scandir(listing) as entries:
            return [entry.name for entry in entries]
    finally:
        os.close(listing)


def refusal(path: Path, mode: int) -> UsageError:
    """The error that refuses a file of this mode, such as a link."""
    what = _KINDS.get(stat.S_IFMT(mode), "not a file")
    return UsageError(f"{path}: {what}; a run folder may hold only folders and regular files")


def _walk(folder: int, path: Path, level: int = 1) -> Iterator[Path]:
    listing = os.open(".", os.O_RDONLY | _FOLDER, dir_fd=folder)
    try:
        with os.scandir(listing) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
        for entry in found:
            inner = path / entry.name
            mode = _checked(listing, inner).st_mode
            if not stat.S_ISDIR(mode):
                yield inner
            elif level == DEEPEST:
                raise UsageError(f"{path}: more than {DEEPEST} levels of folders")
            else:
                below = os.open(entry.name, os.O_PATH | _FOLDER, dir_fd=listing)
                try:
                    yield from _walk(below, inner, level + 1)
                finally:
                    os.close(below)
    finally:
        os.close(listing)


@contextmanager
def _above(root: Path, path: Path, *, make: bool = False) -> Iterator[int]:
    """A descriptor of a file's parent folder."""
    try:
        at = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            reached = root
            for part in _parts(root, path)[:-1]:
                reached /= part
                at = _entered(at, reached, make=make)
            yield at
        finally:
            os.close(at)
    except OSError as error:
        error.filename = str(path)  # the whole path instead of the name
        raise


def _parts(root: Path, path: Path) -> Sequence[str]:
    parts = path.relative_to(root).parts
    if not parts or ".." in parts or "\0" in str(path):
        raise UsageError(f"{str(path)!r}: lies outside the run folder")
    return parts


def _entered(above: int, path: Path, *, make: bool) -> int:
    """Open a subfolder of an open folder, and close the folder's own descriptor."""
    if make:
        with suppress(FileExistsError):
            os.mkdir(path.name, dir_fd=above)
    try:
        below = os.open(path.name, os.O_PATH | _FOLDER, dir_fd=above)
    except NotADirectoryError:
        _checked(above, path)
        raise
    os.close(above)
    return below


def _opened(folder: int, path: Path, flags: int) -> int:
    """Open a regular file. It is checked before and after, so that devices are not opened, short of a race."""
    with suppress(FileNotFoundError):  # the flags may create it
        _checked(folder, path)
    file = os.open(path.name, flags | _FILE, 0o666, dir_fd=folder)
    mode = os.fstat(file).st_mode
    if not stat.S_ISREG(mode):
        os.close(file)
        raise IsADirectoryError(str(path)) if stat.S_ISDIR(mode) else refusal(path, mode)
    return file


def _checked(folder: int, path: Path) -> os.stat_result:
    """The status of a file or folder; a `UsageError` if it is neither, or is too large."""
    known = os.stat(path.name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISREG(known.st_mode):
        if known.st_size > (most := _most(path)):
            raise _too_large(path, known.st_size, most)
    elif not stat.S_ISDIR(known.st_mode):
        raise refusal(path, known.st_mode)
    return known


def _most(path: Path) -> int:
    return MOST_BYTES.get(path.name) or MOST_BYTES.get(path.suffix) or MOST_OF_OTHERS


def _too_large(path: Path, size: int, most: int) -> UsageError:
    return UsageError(f"{path}: {size:,} bytes; at most {most:,} are read")
