"""What the tests of mistakes share: files to lay, and what a message to the user looks like."""

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

from processes import run
from support import Finished

from runner import cli
from runner.compose import arguments, checks, search_path
from runner.errors import UsageError

__all__ = ["is_a_told_mistake", "is_refused", "lay", "run"]

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


def look_at(words: Sequence[str]) -> None:
    """What the program does with a command line before Hydra composes anything."""
    known = arguments.read(words)
    checks.refuse(known.overrides, search_path.search_path(known))


def is_refused(directory: Path, given: Sequence[str], *words: str, later: Callable[[], object] | None = None) -> None:
    """The program tells a mistake. Its first look at the command line is called, then `later`; if neither refuses, it is run.

    A mistake costs the program a quarter of a second, nearly all of it in Hydra; its first look takes milliseconds.
    """
    try:
        with contextlib.chdir(directory):
            look_at(given)
            if later:
                later()
    except UsageError as e:
        sentence = cli.printable(str(e))
        assert sentence.isprintable()
        assert len(sentence) < LONGEST
        assert all(word in sentence for word in words), sentence
    else:
        is_a_told_mistake(run(directory, *given), *words)
