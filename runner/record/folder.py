"""The folder of one sweep: the names of its files, and how they are read and written.

    outputs/<date>/<time>-<what>/
        plan.json  results.csv  samples/  figures/  report.html  environment.json  multirun.yaml  sources/  .lock
        0/ 1/ 2/ ...    Hydra's folder of each job: .hydra/, case.json, result.json, compile.log

Every file is replaced whole: written aside, then renamed. Hydra writes multirun.yaml.
One program at a time writes into the folder. Its lock ends with the process; the file .lock means nothing by itself.

Somebody else may have made the folder: it is read and written through `runner.files.safe`, within the limits of
`runner.files.limited`.
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
LOCK_ATTEMPTS, LOCK_S = 4, 0.05  # `locked` holds the lock for a moment
_ASIDE = re.compile(r"\..+\.[a-z0-9_]{8}")  # what `atomic` calls an incomplete file


def _is_a_record(content: dict[str, Any]) -> bool:
    run = content.get("run")
    words = isinstance(run, list) and all(isinstance(word, str) for word in run)
    if not (content.keys() >= _OF_A_RECORD and words and isinstance(content["row"], dict)):
        return False
    return isinstance(content["row"].get("status"), str)


class RunFolder:
    """The files of one sweep."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.plan = path / "plan.json"  # all cases, and how each is run
        self.results = path / "results.csv"  # one row per case
        self.lines = path / "lines.csv"  # what each line of each case costs
        self.environment = path / "environment.json"  # device, versions, command, commit
        self.multirun = path / "multirun.yaml"  # Hydra's configuration of the sweep
        self.told = path / "search.jsonl"  # of a search: what its sampler was told, in order
        self.search = path / "search.json"  # of a search: its space, and why it ended; empty while it has not
        self.verdict = path / "verdict.json"  # the verdict, for programs
        self.report = path / "report.html"
        self.sources = path / "sources"  # the kernels and the configuration of the sweep

    @property
    def unfinished(self) -> bool:
        """Whether it holds a search that has not ended by itself."""
        known = self.json(self.search)
        return self.has(self.told) and not (isinstance(known, dict) and known.get("ended"))

    def refuse_to_replace(self, target: Path) -> None:
        """Raise a `UsageError` if a file that the user wants to write is one of the run's own.

        So are all files in its subfolders. Beside results.csv, a page may have a name that the runner does not use.
        """
        at, here = target.resolve(), self.path.resolve()
        own = {path.name for path in vars(self).values()}
        if here in at.parents and (at.parent != here or at.name in own):
            raise UsageError(f"{target}: this file belongs to the run itself; give another name")

    def samples(self, case: str, job: int) -> Path:
        """Raw samples of a case. Jobs on different devices share a case."""
        return self.path / "samples" / f"{case}-{job}.npy"

    def hot_samples(self, case: str, job: int) -> Path:
        """Raw samples of its launches back to back."""
        return self.path / "samples" / f"{case}-{job}-hot.npy"

    def job(self, number: int) -> Path:
        """Hydra's folder of one job."""
        return self.path / str(number)

    def case(self, number: int) -> Path:
        """The job's case, and how it is run."""
        return self.job(number) / "case.json"

    def result(self, number: int) -> Path:
        """The job's row."""
        return self.job(number) / "result.json"

    def lines_of(self, number: int) -> Path:
        """What the lines of the job's kernel cost."""
        return self.job(number) / "lines.json"

    def hazards(self, number: int) -> Path:
        """What a checked device found in the job's case."""
        return self.job(number) / "hazards.json"

    def profile(self, number: int) -> Path:
        """What the steps of `profile` found out about the job's case."""
        return self.job(number) / "profile.json"

    def records(self, number: int) -> list[Path]:
        """What is kept of the job beside its row: the compiler's messages, and what stages have found out."""
        return [of(number) for of in (self.compile_log, self.lines_of, self.hazards, self.profile)]

    def machine_code(self, binary: str) -> Path:
        """The machine code of a binary, by its name."""
        return self.path / "machine" / f"{binary}.txt"

    def ptx(self, binary: str) -> Path:
        """The PTX of a binary, by its name."""
        return self.path / "machine" / f"{binary}.ptx"

    def compile_log(self, number: int) -> Path:
        """The compiler's messages."""
        return self.job(number) / "compile.log"

    def read(self, path: Path, most: int = 0) -> bytes:
        """The content of a file; see `safe.read`."""
        return safe.read(self.path, path, most)

    def text(self, path: Path) -> str:
        """The content of a text file."""
        return self.read(path).decode(errors="replace")

    def json(self, path: Path) -> Any:
        """The content of a JSON file; `None` if it is missing or torn, a `UsageError` if it exceeds a limit."""
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
        """The job's case.json; `None` if it is missing or cut off, a `UsageError` if it records no case."""
        content = self.json(self.case(number))
        if content is None or (isinstance(content, dict) and _is_a_record(content)):
            return content
        raise UsageError(f"{self.path.name}/{number}/case.json: not a record of a case; start a new sweep")

    def row(self, number: int) -> dict[str, Any] | None:
        """The job's result.json; `None` if it is missing, cut off, or not a row with a status."""
        content = self.json(self.result(number))
        return content if isinstance(content, dict) and isinstance(content.get("status"), str) else None

    def jobs(self) -> list[int]:
        """The numbers of the jobs that have a folder."""
        with os.scandir(self.path) as entries:
            found = [entry for entry in entries if _JOB.fullmatch(entry.name)]
        if link := next((entry for entry in found if entry.is_symlink()), None):
            raise safe.refusal(Path(link.path), stat.S_IFLNK)
        _require_few(self.path, len(found))
        return sorted(int(entry.name) for entry in found if entry.is_dir(follow_symlinks=False))

    def require_plain(self) -> None:
        """Refuse links, pipes, devices and huge files wherever the runner and the kernels read or write."""
        names = [self.sources, self.path / "samples", *(self.job(number) for number in self.jobs())]
        for below in names:
            safe.files(self.path, below, 2 * limited.MOST_ROWS)
        for path in (self.plan, self.results, self.environment, self.multirun):
            self.has(path)

    def lock(self) -> int:
        """Lock the folder until this process ends; a `UsageError` if another process has locked it.

        Gives the descriptor of the lock's file. The lock ends when each process that has it has closed it.
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
        """Whether a process has locked the folder. This writes nothing: the folder may belong to somebody else."""
        try:
            with os.fdopen(safe.lock_file(self.path, self.path / ".lock", make=False), "rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # no such file, or a file system without locks
            return False
        return False

    def sweep_up(self) -> None:
        """Remove files that a killed program had not renamed yet; not those of shards, which may be running."""
        shards = self.path / "shards"
        for path in self.path.rglob(".*"):
            if shards in path.parents:
                continue
            if _ASIDE.fullmatch(path.name) and path.is_file() and not path.is_symlink():
                path.unlink()


def named(text: str) -> str:
    """Text as part of a folder's name."""
    return re.sub(r"[^A-Za-z0-9_+]+", "-", text).strip("-")[:48]


def _require_few(path: Path, jobs: int) -> None:
    if jobs > limited.MOST_ROWS:
        raise UsageError(f"{path}: {jobs:,} jobs; at most {limited.MOST_ROWS:,} are read")


def copy_file(source: Path, target: Path) -> None:
    """Copy a file, unless the target exists."""
    if not target.exists():
        atomic.write(target, source.read_bytes())
