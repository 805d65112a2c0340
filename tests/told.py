"""What the tests of mistakes share: files to lay, and what a message to the user looks like."""

from pathlib import Path

from processes import run
from support import Finished

__all__ = ["is_a_told_mistake", "lay", "run"]

LONGEST = 600


def lay(directory: Path, files: dict[str, str | bytes]) -> None:
    """Files of a test, by their names."""
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content)


def is_a_told_mistake(done: Finished, *words: str) -> None:
    """One sentence on stderr with these words, status 2, nothing run, nothing left behind."""
    assert done.code == 2, done.err
    assert done.err.startswith("runner: "), done.err
    assert done.err.endswith("\n")
    assert done.err[:-1].isprintable(), "one line, without control characters"
    assert len(done.err) < LONGEST
    assert not done.out
    for word in words:
        assert word in done.err
    assert not list(done.directory.glob("outputs*/**/*"))
    assert not (done.directory / "outputs").is_dir()
