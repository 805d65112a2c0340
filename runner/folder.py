"""The folder of one sweep: the names of its files, and how they are read and written.

    outputs/<date>/<time>-<what>/
        plan.json  results.csv  samples/  figures/  report.html  environment.json  multirun.yaml  sources/  .lock
        0/ 1/ 2/ ...    Hydra's folder of each job: .hydra/, case.json, result.json, compile.log

Every file is replaced whole: written aside, then renamed. Hydra writes multirun.yaml.
One program at a time writes into the folder. Its lock ends with the process; the file .lock means nothing by itself.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import time
from pathlib import Path
from typing import Any

from runner import atomic
from runner.errors import UsageError

_OF_A_RECORD = frozenset(("case", "run", "kernel", "parameters", "seed", "device", "asked", "row"))
LOCK_ATTEMPTS, LOCK_S = 4, 0.05  # `locked` holds the lock for a moment
_ASIDE = re.compile(r"\..+\.[a-z0-9_]{8}")  # what `atomic` calls an incomplete file


class RunFolder:
    """The files of one sweep."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.plan = path / "plan.json"  # all cases, and how each is run
        self.results = path / "results.csv"  # one row per case
        self.environment = path / "environment.json"  # device, versions, command, commit
        self.multirun = path / "multirun.yaml"  # Hydra's configuration of the sweep; a plain run has none
        self.sources = path / "sources"  # the kernels and the configuration of the sweep

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

    def compile_log(self, number: int) -> Path:
        """The compiler's messages."""
        return self.job(number) / "compile.log"

    def record(self, number: int) -> dict[str, Any] | None:
        """The job's case.json; `None` if it is missing or cut off, a `UsageError` if it records no case."""
        content = read_json(self.case(number))
        if content is None or (isinstance(content, dict) and content.keys() >= _OF_A_RECORD):
            return content
        raise UsageError(f"{self.path.name}/{number}/case.json: not a record of a case; start a new sweep")

    def jobs(self) -> list[int]:
        """The numbers of the jobs that have a folder."""
        return sorted(int(p.name) for p in self.path.iterdir() if p.name.isdigit() and p.is_dir())

    def lock(self) -> int:
        """Lock the folder until this process ends; a `UsageError` if another process has locked it.

        Returns:
            The descriptor of the lock's file. The lock ends when each process that has it has closed it.
        """
        descriptor = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT, 0o666)
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
            with (self.path / ".lock").open("rb") as file:
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


def write_json(path: Path, content: Any) -> None:
    """Replace a JSON file."""
    atomic.write_text(path, json.dumps(content, indent=2) + "\n")


def read_json(path: Path) -> Any:
    """Read a JSON file; `None` if it is missing or torn."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def copy_file(source: Path, target: Path) -> None:
    """Copy a file, unless the target exists."""
    if not target.exists():
        atomic.write(target, source.read_bytes())
