"""Safe access to run folders that may come from an untrusted source: no file outside is read or written.

Symbolic links below the folder are refused: each part of a path is opened within the part above it. Only regular files
are read, up to a limit for each kind of file; pipes and devices never block. A violation is a `UsageError`. The path of
the folder itself may contain links.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import IO

from runner.errors import UsageError
from runner.files import atomic

MIB = 2**20
MAX_BYTES = {
    "plan.json": 96 * MIB, "verdict.json": 96 * MIB, "shard.json": 4 * MIB, ".json": MIB, ".jsonl": 256 * MIB,
    ".csv": 256 * MIB, ".npy": 1024 * MIB,
}  # fmt: skip
"""Size limits in bytes by file name or suffix."""
MAX_BYTES_OF_OTHERS = 4 * MIB  # sources, YAML, logs
MAX_FILES = 2000  # in sources/
MAX_LEVELS = 16  # levels of folders

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
        return os.fdopen(_open_file(folder, path, os.O_RDONLY), "rb")


def read(root: Path, path: Path, most: int = 0) -> bytes:
    """Read a file below the folder `root`, of at most `most` bytes; 0: the limit for its kind. Raises as `stream`."""
    with stream(root, path) as file:
        size = os.fstat(file.fileno()).st_size  # `read` allocates as much as it is asked for
        content = file.read(min(most or _limit(path), size) + 1)
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
        return _open_file(folder, path, os.O_RDWR | os.O_CREAT if make else os.O_RDONLY)


def exists(root: Path, path: Path) -> bool:
    """Whether a regular file exists.

    Raises:
        UsageError: The path is a link, a pipe or a device, or the file is too large.
    """
    try:
        with _above(root, path) as folder:
            return stat.S_ISREG(_status(folder, path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def files(root: Path, below: Path, most: int = MAX_FILES) -> list[Path]:
    """The files in `below`, a folder below `root`, and in its subfolders, sorted; empty if it does not exist.

    Raises:
        UsageError: An entry is neither a folder nor a regular file, a file is too large, or there are more than `most`.
    """
    try:
        with _above(root, below / "any") as folder:
            paths = list(islice(_walk(folder, below), most + 1))
    except FileNotFoundError:
        return []
    if len(paths) > most:
        raise UsageError(f"{below}: more than {most:,} files")
    return paths


def names(root: Path, folder: Path) -> list[str]:
    """The names of the entries of a folder below `root`; empty if it does not exist."""
    try:
        with _above(root, folder / "any") as descriptor:
            return _names(descriptor)
    except FileNotFoundError:
        return []


def refusal(path: Path, mode: int) -> UsageError:
    """The error that refuses a file of this mode, such as a link."""
    what = _KINDS.get(stat.S_IFMT(mode), "not a file")
    return UsageError(f"{path}: {what}; a run folder may hold only folders and regular files")


def _names(folder: int) -> list[str]:
    listing = os.open(".", os.O_RDONLY | _FOLDER, dir_fd=folder)
    try:
        return os.listdir(listing)  # noqa: PTH208  (of a descriptor)
    finally:
        os.close(listing)


def _walk(folder: int, path: Path, level: int = 1) -> Iterator[Path]:
    for name in sorted(_names(folder)):
        if not stat.S_ISDIR(_status(folder, path / name).st_mode):
            yield path / name
        elif level == MAX_LEVELS:
            raise UsageError(f"{path}: more than {MAX_LEVELS} levels of folders")
        else:
            below = os.open(name, os.O_PATH | _FOLDER, dir_fd=folder)
            try:
                yield from _walk(below, path / name, level + 1)
            finally:
                os.close(below)


@contextmanager
def _above(root: Path, path: Path, *, make: bool = False) -> Iterator[int]:
    """A descriptor of a file's parent folder."""
    parts = path.relative_to(root).parts
    if not parts or ".." in parts or "\0" in str(path):
        raise UsageError(f"{str(path)!r}: lies outside the run folder")
    try:
        folder = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for level in range(1, len(parts)):
                below = _open_folder(folder, root.joinpath(*parts[:level]), make=make)
                os.close(folder)
                folder = below
            yield folder
        finally:
            os.close(folder)
    except OSError as error:
        error.filename = str(path)  # the whole path instead of the name
        raise


def _open_folder(above: int, path: Path, *, make: bool) -> int:
    if make:
        with suppress(FileExistsError):
            os.mkdir(path.name, dir_fd=above)
    try:
        return os.open(path.name, os.O_PATH | _FOLDER, dir_fd=above)
    except NotADirectoryError:
        _status(above, path)  # refuses a link
        raise


def _open_file(folder: int, path: Path, flags: int) -> int:
    """Open a regular file. It is checked before and after, so that devices are not opened, short of a race."""
    with suppress(FileNotFoundError):  # the flags may create it
        _status(folder, path)
    file = os.open(path.name, flags | _FILE, 0o666, dir_fd=folder)
    mode = os.fstat(file).st_mode
    if not stat.S_ISREG(mode):
        os.close(file)
        raise IsADirectoryError(str(path)) if stat.S_ISDIR(mode) else refusal(path, mode)
    return file


def _status(folder: int, path: Path) -> os.stat_result:
    """The status of a file or folder; a `UsageError` if it is neither, or is too large."""
    status = os.stat(path.name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISREG(status.st_mode):
        if status.st_size > (limit := _limit(path)):
            raise _too_large(path, status.st_size, limit)
    elif not stat.S_ISDIR(status.st_mode):
        raise refusal(path, status.st_mode)
    return status


def _limit(path: Path) -> int:
    return MAX_BYTES.get(path.name) or MAX_BYTES.get(path.suffix) or MAX_BYTES_OF_OTHERS


def _too_large(path: Path, size: int, most: int) -> UsageError:
    return UsageError(f"{path}: {size:,} bytes; at most {most:,} are read")
