"""The sweep that a command runs: its folder is reserved here, and known to whoever ends the command."""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import dataclass
from pathlib import Path

from runner import lock
from runner.errors import UsageError
from runner.folder import RunFolder


@dataclass
class Session:
    """A command that runs a sweep.

    Attributes:
        folder: The sweep's folder, with an absolute path; `None` until there is one.
        made: Folders that were made for the sweep, inner ones first. None of the others is ever removed.
        new: Whether the sweep is new, and not resumed.
    """

    folder: RunFolder | None = None
    made: tuple[Path, ...] = ()
    new: bool = True

    def reserve(self, wanted: Path, *, exactly: bool = False) -> RunFolder:
        """Make a folder for a new sweep. Two sweeps of the same second get two folders.

        Args:
            wanted: Its path.
            exactly: Whether it gets this path or none. An empty folder may exist there.

        Raises:
            UsageError: if it cannot be made.
        """
        try:
            if exactly and wanted.exists() and (not wanted.is_dir() or any(wanted.iterdir())):
                raise UsageError(f"hydra.sweep.dir={wanted}: this exists already; name a new folder")
            parents = tuple(p for p in wanted.absolute().parents if not p.exists())
            path, made = _made(wanted, exactly=exactly)
        except OSError as e:
            raise UsageError(f"{wanted}: cannot make the folder for the results: {e.strerror}") from None
        lock.take(path)
        self.folder, self.made = RunFolder(path.absolute()), (path, *parents) if made else ()
        return RunFolder(path)

    def resume(self, folder: RunFolder) -> None:
        """Take up a sweep that was interrupted.

        Raises:
            UsageError: if a program is running in its folder.
        """
        lock.take(folder.path)
        self.folder, self.new = folder, False

    def discard_if_unused(self) -> None:
        """Remove a new folder in which no case was run, and the empty ones around it that were made for it."""
        if self.folder is None or not self.new or self.folder.results.exists():
            return
        for path in [self.folder.path] if self.made else list(self.folder.path.iterdir()):
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # another sweep may have begun beside it
            for parent in self.made[1:]:
                parent.rmdir()


def _made(wanted: Path, *, exactly: bool) -> tuple[Path, bool]:
    """A folder that is nobody else's, and whether it is new."""
    wanted.parent.mkdir(parents=True, exist_ok=True)
    candidate, number = wanted, 0
    while True:
        try:
            candidate.mkdir()
        except FileExistsError:
            if exactly:
                return candidate, False
            number += 1
            candidate = wanted.with_name(f"{wanted.name}-{number}")
        else:
            return candidate, True
