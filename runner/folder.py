"""The folder of one sweep: the files that the engine writes, by their names.

    outputs/<date>/<time>-<what>/
        plan.json  results.csv  samples/  figures/  report.html  environment.json  multirun.yaml  sources/  .lock
        0/ 1/ 2/ ...    Hydra's folder of each job: .hydra/, case.json, result.json, compile.log

Every file is replaced whole: written aside, then renamed. Only multirun.yaml is Hydra's own writing.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner import atomic
from runner.errors import UsageError

_ASIDE = re.compile(r"\..+\.[a-z0-9_]{8}")  # as `atomic` names a file that is not complete


@dataclass(frozen=True)
class RunFolder:
    """Names of the files of one sweep, and how they are written and read."""

    path: Path

    @property
    def plan(self) -> Path:
        """The cases that are to be run, in order."""
        return self.path / "plan.json"

    @property
    def results(self) -> Path:
        """The table: one row a case."""
        return self.path / "results.csv"

    @property
    def environment(self) -> Path:
        """Device, versions, command, commit."""
        return self.path / "environment.json"

    @property
    def multirun(self) -> Path:
        """Hydra's record of the sweep; a plain run has none."""
        return self.path / "multirun.yaml"

    @property
    def sources(self) -> Path:
        """The kernels and the configuration, as they were."""
        return self.path / "sources"

    def samples(self, case: str, job: int) -> Path:
        """Raw samples of a case. One case may be run on several devices, by a job each."""
        return self.path / "samples" / f"{case}-{job}.npy"

    def hot_samples(self, case: str, job: int) -> Path:
        """Batches of its hot mode."""
        return self.path / "samples" / f"{case}-{job}-hot.npy"

    def job(self, number: int) -> Path:
        """Hydra's folder of one job."""
        return self.path / str(number)

    def case(self, number: int) -> Path:
        """The job's case, with its derived values."""
        return self.job(number) / "case.json"

    def result(self, number: int) -> Path:
        """The job's row."""
        return self.job(number) / "result.json"

    def compile_log(self, number: int) -> Path:
        """What the compiler said."""
        return self.job(number) / "compile.log"

    def jobs(self) -> list[int]:
        """Numbers of the jobs that have a folder."""
        return sorted(int(p.name) for p in self.path.iterdir() if p.name.isdigit() and p.is_dir())

    def sweep_up(self) -> None:
        """Remove what a killed program was writing: files that were not renamed yet, of which nobody knows."""
        for path in self.path.rglob(".*"):
            if _ASIDE.fullmatch(path.name) and path.is_file() and not path.is_symlink():
                path.unlink()


def reserve(wanted: Path) -> Path:
    """Make a folder that is nobody else's; two sweeps of the same second get two.

    Raises:
        UsageError: if none can be made there.
    """
    candidate, number = wanted, 0
    while True:
        try:
            candidate.parent.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise UsageError(f"{wanted}: the folder for the results cannot be made: {e.strerror}") from None
        try:
            candidate.mkdir()
        except FileExistsError:
            number += 1
            candidate = wanted.with_name(f"{wanted.name}-{number}")
        except OSError as e:
            raise UsageError(f"{wanted}: the folder for the results cannot be made: {e.strerror}") from None
        else:
            return candidate


def named(text: str) -> str:
    """Text as a part of a folder's name."""
    return re.sub(r"[^A-Za-z0-9_+]+", "-", text).strip("-")[:48]


def write_json(path: Path, content: Any) -> None:
    """Replace a JSON file whole."""
    atomic.write_text(path, json.dumps(content, indent=2) + "\n")


def read_json(path: Path) -> Any:
    """Read a JSON file; `None` if it is not there, or not whole."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def copy_file(source: Path, target: Path) -> None:
    """Copy a file once; one that is there already is left."""
    if not target.exists():
        atomic.write(target, source.read_bytes())
