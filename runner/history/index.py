"""The index: what was found in run folders before, so that only those that changed are read again.

It is one SQLite file in the folder that is read. It may be deleted at any time. A damaged one, and one of another
version, is made again without a word. Each entry is a transaction, so several processes may share the file.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from runner.files import limited

NAME = ".history.sqlite"
VERSION = 1  # of the content; another one means that the index is made again
WAIT_S = 10.0  # for another process that writes

_ENTRY = "CREATE TABLE IF NOT EXISTS entry (run TEXT, before TEXT, stamp TEXT, content TEXT, PRIMARY KEY (run, before))"
_UNUSABLE = (
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY,
)  # fmt: skip
"""SQLite's errors of a file that is intact."""


class Index:
    """Results by run, or by pair of runs, each valid as long as its stamp is that of the folders. A context manager.

    Without a usable file nothing is kept, and `problem` says why.
    """

    def __init__(self, root: Path) -> None:
        self.path = root / NAME
        self.problem = ""
        self._connection: sqlite3.Connection | None = None
        self._rebuilt = False

    def __enter__(self) -> Self:
        if self.path.is_symlink() or (self.path.exists() and not self.path.is_file()):
            self._give_up("not a regular file")
        else:
            self._open()
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def get(self, stamp: str, run: str, before: str = "") -> Any:
        """The result for a run, or for a pair of runs; `None` if it is not there or was made of other files."""
        found = self._run("SELECT content FROM entry WHERE run = ? AND before = ? AND stamp = ?", run, before, stamp)
        try:
            return limited.load_json(found[0][0]) if found else None
        except (ValueError, TypeError, AttributeError):
            return None

    def put(self, content: Any, stamp: str, run: str, before: str = "") -> None:
        """Keep the result for a run, or for a pair of runs."""
        self._run("INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?)", run, before, stamp, json.dumps(content))

    def forget_unless(self, is_there: Callable[[str], bool]) -> None:
        """Forget the runs that are gone."""
        for (run,) in self._run("SELECT DISTINCT run FROM entry"):
            if not is_there(str(run)):
                self._run("DELETE FROM entry WHERE run = ? OR before = ?", run, run)

    def _run(self, statement: str, *values: str) -> list[Any]:
        """Run a statement in a transaction of its own; without a usable file there are no rows."""
        if self._connection is None:
            return []
        try:
            with self._connection:
                return self._connection.execute(statement, values).fetchall()
        except (sqlite3.Error, UnicodeError) as error:
            self._mend(error)
            return []

    def _open(self) -> None:
        try:
            self._connection = sqlite3.connect(self.path, timeout=WAIT_S)
            self._connection.execute("PRAGMA synchronous = OFF")  # a crash may damage it: then it is made again
            (version,) = self._connection.execute("PRAGMA user_version").fetchone()
            if version == VERSION:
                return  # without writing, since the folder may be read-only
            if self._connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
                self._rebuild()
                return
            with self._connection:
                self._connection.execute(_ENTRY)
                self._connection.execute(f"PRAGMA user_version = {VERSION}")
        except sqlite3.Error as error:
            self._mend(error)

    def _mend(self, error: Exception) -> None:
        code = getattr(error, "sqlite_errorcode", None)
        if isinstance(error, UnicodeError):
            return  # a folder's name that SQLite cannot hold: this run is read again each time
        if self._rebuilt or (code is not None and code & 0xFF in _UNUSABLE):
            self._give_up(str(error))
        else:
            self._rebuild()

    def _rebuild(self) -> None:
        self._close()
        self._rebuilt = True
        try:
            os.unlink(self.path)  # noqa: PTH108 - raises for a folder, too
        except OSError as error:
            self._give_up(error.strerror or str(error))
        else:
            self._open()

    def _give_up(self, why: str) -> None:
        self._close()
        self.problem = f"{self.path}: no index can be kept here ({why}), so every run is read each time."

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
