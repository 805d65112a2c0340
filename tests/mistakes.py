"""Mistakes of users: files to write, and what a refusal looks like."""

from collections.abc import Sequence
from pathlib import Path

from processes import run
from support import Finished

MAX_CHARACTERS = 600


def write_files(directory: Path, files: dict[str, str | bytes]) -> None:
    """Write files by their paths below a folder."""
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content)


def assert_refused(done: Finished, *phrases: str) -> None:
    """One sentence on stderr with these phrases, status 2, no further output, and no folder of results."""
    assert done.code == 2, done.err
    assert done.err.startswith("runner: "), done.err
    assert done.err.endswith("\n")
    assert done.err[:-1].isprintable(), "one line, without control characters"
    assert len(done.err) < MAX_CHARACTERS
    assert not done.out
    for phrase in phrases:
        assert phrase in done.err
    assert not list(done.directory.glob("outputs/*/*"))


def assert_mistake(directory: Path, arguments: Sequence[str], *phrases: str, **variables: str) -> None:
    """Run a command line, which is refused with these phrases; each file and folder stays as it was."""
    before = _state(directory)
    assert_refused(run(directory, *arguments, defaults=True, **variables), *phrases)
    assert _state(directory) == before


def _state(directory: Path) -> dict[Path, tuple[object, ...]]:
    """Each file with its size and its first MiB; a sparse one may have gigabytes."""
    found: dict[Path, tuple[object, ...]] = {}
    for path in directory.rglob("*"):
        found[path] = ()
        if path.is_file():
            with path.open("rb") as file:
                found[path] = (path.stat().st_size, file.read(1 << 20))
    return found
