"""The folder of one sweep: the names of its files, and how to read and write them.

    outputs/<date>/<time>-<what>/
        plan.json  results.csv  lines.csv  verdict.json  environment.json  multirun.yaml  search.json[l]  .lock
        samples/  machine/  sources/  shards/  figures/  report.html
        0/ 1/ 2/ ...  each job: .hydra/, case.json, result.json, lines.json, hazards.json, profile.json, compile.log

Every file is replaced atomically: written under a temporary name, then renamed.
One program at a time writes into the folder. Its lock ends with the process, even if the file .lock remains.

The folder may come from an untrusted source, so it is read and written through `runner.files.safe`, within the limits
of `runner.files.limited`.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import stat
import time
from pathlib import Path
from typing import Any

from runner.errors import UsageError
from runner.files import atomic, limited, safe

_OF_A_RECORD = frozenset(("case", "run", "kernel", "parameters", "seed", "device", "asked", "row"))
_JOB = re.compile(r"0|[1-9][0-9]{0,8}")
LOCK_ATTEMPTS, LOCK_S = 4, 0.05  # retries, since `locked` holds the lock for a moment
_ASIDE = re.compile(r"\..+\.[a-z0-9_]{8}")  # the temporary names of `atomic`


def _is_a_record(content: dict[str, Any]) -> bool:
    run = content.get("run")
    words = isinstance(run, list) and all(isinstance(word, str) for word in run)
    if not (content.keys() >= _OF_A_RECORD and words and isinstance(content["row"], dict)):
        return False
    return isinstance(content["row"].get("status"), str)


class RunFolder:
    """The files of one sweep.

    Paths are returned whether or not the file exists. Every read and write goes through this class or `files.safe`, so
    that a link in the folder never leads outside. Raises `UsageError` for a link, a pipe or a file above its limit.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.plan = path / "plan.json"  # all cases, and how each is run
        self.results = path / "results.csv"  # one row per case
        self.lines = path / "lines.csv"  # the costs of each line of each case
        self.environment = path / "environment.json"  # device, versions, command, commit
        self.multirun = path / "multirun.yaml"  # Hydra's configuration of the sweep
        self.told = path / "search.jsonl"  # of a search: its measured points, in order
        self.search = path / "search.json"  # of a search: its space, and why it ended
        self.verdict = path / "verdict.json"  # the verdict, for programs
        self.report = path / "report.html"
        self.sources = path / "sources"  # the kernels and the configuration of the sweep

    @property
    def unfinished(self) -> bool:
        """Whether it holds a search that was interrupted or is running."""
        known = self.json(self.search)
        return self.has(self.told) and not (isinstance(known, dict) and known.get("ended"))

    def refuse_to_replace(self, target: Path) -> None:
        """Raise `UsageError` if writing a file would replace one of the run's own.

        All files in its subfolders are. Next to results.csv, `target` may have any name that the runner does not use.
        """
        at, here = target.resolve(), self.path.resolve()
        own = {path.name for path in vars(self).values()}
        if here in at.parents and (at.parent != here or at.name in own):
            raise UsageError(f"{target}: this file belongs to the run itself; give another name")

    def samples(self, case: str, job: int) -> Path:
        """The raw samples of a job's case. Jobs on different devices may share a case."""
        return self.path / "samples" / f"{case}-{job}.npy"

    def hot_samples(self, case: str, job: int) -> Path:
        """The raw samples of the back-to-back launches of a job's case."""
        return self.path / "samples" / f"{case}-{job}-hot.npy"

    def job(self, number: int) -> Path:
        """The folder of a job."""
        return self.path / str(number)

    def case(self, number: int) -> Path:
        """The record of a job's case and settings, case.json."""
        return self.job(number) / "case.json"

    def result(self, number: int) -> Path:
        """The row of a job, result.json."""
        return self.job(number) / "result.json"

    def lines_of(self, number: int) -> Path:
        """The costs of the lines of a job's kernel."""
        return self.job(number) / "lines.json"

    def hazards(self, number: int) -> Path:
        """The findings of the checked device for a job's case."""
        return self.job(number) / "hazards.json"

    def profile(self, number: int) -> Path:
        """The results of `profile` for a job's case."""
        return self.job(number) / "profile.json"

    def records(self, number: int) -> list[Path]:
        """The records of a job besides its row: the compiler's messages and the results of stages."""
        return [of(number) for of in (self.compile_log, self.lines_of, self.hazards, self.profile)]

    def machine_code(self, binary: str) -> Path:
        """The machine code of the binary of this name."""
        return self.path / "machine" / f"{binary}.txt"

    def ptx(self, binary: str) -> Path:
        """The PTX of the binary of this name."""
        return self.path / "machine" / f"{binary}.ptx"

    def compile_log(self, number: int) -> Path:
        """The compiler's messages for a job."""
        return self.job(number) / "compile.log"

    def read(self, path: Path, most: int = 0) -> bytes:
        """The content of a file; see `safe.read`."""
        return safe.read(self.path, path, most)

    def text(self, path: Path) -> str:
        """The content of a text file."""
        return self.read(path).decode(errors="replace")

    def json(self, path: Path) -> Any:
        """The content of a JSON file; `None` if it is missing or torn.

        Raises:
            UsageError: The file exceeds a limit.
        """
        try:
            return limited.load_json(self.read(path).decode())
        except limited.TooMuch as e:
            raise UsageError(f"{path}: {e}") from None
        except (OSError, ValueError):
            return None

    def write(self, path: Path, content: bytes | str) -> None:
        """Replace a file."""
        safe.write(self.path, path, content.encode(errors="surrogateescape") if isinstance(content, str) else content)

    def write_json(self, path: Path, content: Any) -> None:
        """Replace a JSON file."""
        self.write(path, json.dumps(content, indent=2) + "\n")

    def has(self, path: Path) -> bool:
        """Whether a file exists."""
        return safe.exists(self.path, path)

    def files(self, below: Path) -> list[Path]:
        """The files below one of its folders, sorted."""
        return safe.files(self.path, below)

    def planned(self) -> Any:
        """The content of plan.json; `None` if it is missing or torn."""
        content = self.json(self.plan)
        if isinstance(content, dict) and isinstance(content.get("cases"), list):
            _require_few(self.plan, len(content["cases"]))
        return content

    def record(self, number: int) -> dict[str, Any] | None:
        """The content of a job's case.json; `None` if it is missing or torn.

        Raises:
            UsageError: The content is not a record of a case.
        """
        content = self.json(self.case(number))
        if content is None or (isinstance(content, dict) and _is_a_record(content)):
            return content
        raise UsageError(f"{self.path.name}/{number}/case.json: not a record of a case; start a new sweep")

    def row(self, number: int) -> dict[str, Any] | None:
        """The content of a job's result.json; `None` if it is missing, torn, or not a row with a status."""
        content = self.json(self.result(number))
        return content if isinstance(content, dict) and isinstance(content.get("status"), str) else None

    def jobs(self) -> list[int]:
        """The numbers of the jobs that have a folder, ascending."""
        with os.scandir(self.path) as entries:
            found = [entry for entry in entries if _JOB.fullmatch(entry.name)]
        if link := next((entry for entry in found if entry.is_symlink()), None):
            raise safe.refusal(Path(link.path), stat.S_IFLNK)
        _require_few(self.path, len(found))
        return sorted(int(entry.name) for entry in found if entry.is_dir(follow_symlinks=False))

    def require_plain(self) -> None:
        """Raise `UsageError` for links, pipes, devices and huge files where the runner and kernels read or write."""
        names = [self.sources, self.path / "samples", *(self.job(number) for number in self.jobs())]
        for below in names:
            safe.files(self.path, below, 2 * limited.MOST_ROWS)
        for path in (self.plan, self.results, self.environment, self.multirun):
            self.has(path)

    def lock(self) -> int:
        """Lock the folder until this process ends.

        Returns:
            The descriptor of the lock's file. The lock ends when every process that inherited it has closed it.

        Raises:
            UsageError: Another process has locked the folder.
        """
        descriptor = safe.lock_file(self.path, self.path / ".lock", make=True)
        for attempt in range(LOCK_ATTEMPTS):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(LOCK_S * (attempt + 1 < LOCK_ATTEMPTS))
            except OSError:
                return descriptor  # a file system without locks
            else:
                return descriptor
        os.close(descriptor)
        raise UsageError(f"{self.path}: a sweep is running in this folder right now")

    @property
    def locked(self) -> bool:
        """Whether a process has locked the folder. This writes nothing, so it works in a read-only folder."""
        try:
            with os.fdopen(safe.lock_file(self.path, self.path / ".lock", make=False), "rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # a missing file, or a file system without locks
            return False
        return False

    def sweep_up(self) -> None:
        """Remove temporary files of a killed program, except those of shards, which may be running."""
        shards = self.path / "shards"
        for path in self.path.rglob(".*"):
            if shards in path.parents:
                continue
            if _ASIDE.fullmatch(path.name) and path.is_file() and not path.is_symlink():
                path.unlink()


def named(text: str) -> str:
    """The text as part of a folder's name."""
    return re.sub(r"[^A-Za-z0-9_+]+", "-", text).strip("-")[:48]


def _require_few(path: Path, jobs: int) -> None:
    if jobs > limited.MOST_ROWS:
        raise UsageError(f"{path}: {jobs:,} jobs; at most {limited.MOST_ROWS:,} are read")


def copy_file(source: Path, target: Path) -> None:
    """Copy a file, unless the target exists."""
    if not target.exists():
        atomic.write(target, source.read_bytes())
