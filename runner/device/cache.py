"""A cache folder of compiled kernels, which any number of processes may fill concurrently."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import re
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

import platformdirs

from runner.errors import CompileError, UsageError
from runner.files import atomic

INCLUDE = re.compile(r'^(?P<head>[ \t]*#[ \t]*include[ \t]*)(?P<open>["<])(?P<name>[^">\n]+)[">]', re.MULTILINE)
_COMPUTED = re.compile(r"^[ \t]*#[ \t]*include[ \t]+[A-Za-z_]", re.MULTILINE)
MAX_SOURCE_BYTES = 4 << 20  # of a file; reading 2 MiB of dense code takes half a minute
MAX_WAIT_S = 300.0  # longest wait for another process that builds the same file
_HEADERS = (".cuh", ".h", ".hpp", ".inc")


def default_folder(kind: str) -> Path:
    """The user's cache folder for the binaries of one kind of device."""
    return platformdirs.user_cache_path("kernel-runner") / kind


def require_writable() -> None:
    """Raise UsageError if the user's cache folder is not writable."""
    folder = platformdirs.user_cache_path("kernel-runner")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as e:
        raise UsageError(
            f"{folder}: cannot keep compiled kernels here: {e.strerror}; set XDG_CACHE_HOME to another folder"
        ) from None


def key(*parts: str) -> str:
    """A name for a cached file: a hash of `parts` and of their boundaries."""
    encoded = [part.encode(errors="surrogateescape") for part in parts]
    return hashlib.sha256(b"".join(len(e).to_bytes(8, "little") + e for e in encoded)).hexdigest()[:32]


def digest(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def build_once(
    path: Path, build: Callable[[], None], stopped: Callable[[], bool], is_valid: Callable[[], bool] = lambda: True
) -> bool:
    """Build a file of the cache, unless it is intact and valid already; returns whether it is.

    One process at a time builds, and the others wait for its file. This only saves time: a file is built twice on a
    file system without locks, after `MAX_WAIT_S`, or once `stopped` returns true.
    """
    if intact(path) and is_valid():
        return True
    with _lock(path, stopped):
        if intact(path) and is_valid():
            return True
        build()
        return False


@contextlib.contextmanager
def _lock(path: Path, stopped: Callable[[], bool]) -> Iterator[None]:
    lock_path = path.with_name(f".{path.name}.lock")
    try:
        lock_path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        yield
        return
    try:
        deadline = time.monotonic() + MAX_WAIT_S
        while not stopped() and time.monotonic() < deadline:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.05)
            except OSError:
                break
        yield
    finally:
        lock_path.unlink(missing_ok=True)
        os.close(descriptor)


def seal(path: Path) -> None:
    """Record a file's digest beside it, for `intact`."""
    atomic.write_text(_seal_path(path), digest(path))


def intact(path: Path) -> bool:
    """Whether a file exists and is unchanged since `seal`."""
    try:
        return _seal_path(path).read_text(encoding="ascii") == digest(path)
    except (OSError, ValueError):
        return False


def _seal_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def read(path: Path) -> str:
    """The text of a source file in any encoding, without a byte order mark. Raises OSError if it is too large."""
    if path.stat().st_size > MAX_SOURCE_BYTES:
        raise OSError(errno.EFBIG, f"larger than {MAX_SOURCE_BYTES >> 20} MiB, the most for a kernel's file", str(path))
    try:
        return path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as e:
        raise OSError(e.errno, e.strerror, str(path)) from None  # an error of reading does not name the file


def find(
    name: str, beside: Path, folders: Sequence[Path], *, quoted: bool = True, among: Collection[Path] | None = None
) -> Path | None:
    """Resolve an #include; `None` for a system header.

    Args:
        name: The file's name, as written.
        beside: The folder of the including file.
        folders: The folder of the kernel's file, then the include path, which `#include <name>` searches, too.
        quoted: Whether it is `#include "name"`.
        among: The files to consider; by default all files on disk.
    """
    # Unlike Path.resolve, realpath takes links that lead in a circle.
    paths = (Path(os.path.realpath(folder / name)) for folder in ((beside, *folders) if quoted else folders[1:]))
    return next((path for path in paths if (path.is_file() if among is None else path in among)), None)


def includes(
    text: str, folders: Sequence[Path], among: Collection[Path] | None = None, reader: Callable[[Path], str] = read
) -> Iterator[Path]:
    """The files that a text includes, directly or not, each once; the arguments are those of `find`.

    For a computed include (`#include NAME`) all headers beside the including file count.
    """
    seen: set[Path] = set()
    waiting = [(text, folders[0])]
    while waiting:
        text, beside = waiting.pop()
        lines = INCLUDE.finditer(text)
        paths = [find(m["name"], beside, folders, quoted=m["open"] == '"', among=among) for m in lines]
        if _COMPUTED.search(text):
            files = beside.iterdir() if among is None else (path for path in among if path.parent == beside)
            paths += sorted(p.resolve() for p in files if p.suffix in _HEADERS and p.is_file())
        for path in paths:
            if path and path not in seen:
                seen.add(path)
                yield path
                waiting.append((reader(path), path.parent))


def refuse_special(source: Path, text: str, folders: Sequence[Path]) -> None:
    """Raise CompileError if a source, or a file that it includes, includes a pipe or a device.

    A compiler would wait for its end.
    """
    for path, content in ((source, text), *((p, read(p)) for p in includes(text, folders))):
        for match in INCLUDE.finditer(content):
            named = (folder / match["name"] for folder in (path.parent, *folders))
            if special := next((p for p in named if p.exists() and not p.is_file() and not p.is_dir()), None):
                line = content.count("\n", 0, match.start("name")) + 1
                where = f"{path.name}:{line}: #include {special.name}"
                raise CompileError(f"{where}: expected a file, not a pipe or a device")
