"""The folder of one sweep: the names of its files, and how to read and write them.

    outputs/<date>/<time>-<what>/
        plan.json  results.csv  lines.csv  verdict.json  environment.json  multirun.yaml  search.json[l]  .lock
        samples/  machine/  sources/  gpus/  shards/  figures/  report.html
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from runner.errors import UsageError
from runner.files import atomic, limited, named_file, safe

_RECORD_KEYS = frozenset(("case", "run", "kernel", "parameters", "seed", "device", "asked", "row"))
LOCK = ".lock"
_JOB = re.compile(r"0|[1-9][0-9]{0,8}")
LOCK_ATTEMPTS, LOCK_S = 4, 0.05  # retries, since `locked` holds the lock for a moment
_TEMPORARY = re.compile(r"\..+\.[a-z0-9_]{8}")  # the names that `atomic` makes


def json_text(content: Any) -> str:
    """JSON with a line for each member of the outer object, and for each element of a list of objects in it.

    The encoder in C, which is many times faster than the other, indents nothing.
    """
    if not isinstance(content, dict) or not content:
        return json.dumps(content) + "\n"
    lines = []
    for name, value in content.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            elements = ",\n    ".join(map(json.dumps, value))
            lines.append(f"  {json.dumps(name)}: [\n    {elements}\n  ]")
        else:
            lines.append(f"  {json.dumps(name)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _job_file(name: str) -> Callable[[RunFolder, int], Path]:
    return lambda folder, number: folder.job(number) / name


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
        self.trials = path / "search.jsonl"  # of a search: its measured points, in order
        self.search = path / "search.json"  # of a search: its space, and why it ended
        self.verdict = path / "verdict.json"  # the verdict, for programs
        self.report = path / "report.html"
        self.sources = path / "sources"  # the kernels and the configuration of the sweep

    @property
    def unfinished(self) -> bool:
        """Whether it holds a search that was interrupted or is running."""
        search = self.json(self.search)
        return self.has(self.trials) and not (isinstance(search, dict) and search.get("ended"))

    def refuse_to_replace(self, target: Path) -> None:
        """Raise `UsageError` if a file lies in a subfolder of the run, or has the name of a file of the run."""
        path, folder = named_file.resolved(target), named_file.resolved(self.path)
        names = {LOCK, *(own.name for own in vars(self).values())}
        if folder in path.parents and (path.parent != folder or path.name in names):
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

    case = _job_file("case.json")  # its case and settings
    result = _job_file("result.json")  # its row
    line_costs = _job_file("lines.json")
    hazards = _job_file("hazards.json")  # findings of the checked device
    profile = _job_file("profile.json")  # a record by `profile` stage
    compile_log = _job_file("compile.log")

    def records(self, number: int) -> list[Path]:
        """The records of a job besides its row: the compiler's messages and the results of stages."""
        return [file(number) for file in (self.compile_log, self.line_costs, self.hazards, self.profile)]

    def machine_code(self, binary: str) -> Path:
        """The machine code of the binary of this name."""
        return self.path / "machine" / f"{binary}.txt"

    def ptx(self, binary: str) -> Path:
        """The PTX of the binary of this name."""
        return self.path / "machine" / f"{binary}.ptx"

    def cubin(self, binary: str, part: int = 0) -> Path:
        """The binary of this name, as the compiler wrote it; of several sources, that of this number."""
        return self.path / "machine" / f"{binary}{f'-{part}' if part else ''}.cubin"

    def read(self, path: Path, max_bytes: int = 0) -> bytes:
        """The content of a file; see `safe.read`."""
        return safe.read(self.path, path, max_bytes)

    def text(self, path: Path) -> str:
        """The content of a text file."""
        return self.read(path).decode(errors="replace")

    def json(self, path: Path) -> Any:
        """The content of a JSON file; `None` if it is missing or torn. Raises `UsageError` if it exceeds a limit."""
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
        self.write(path, json_text(content))

    @contextmanager
    def edited(self, path: Path) -> Iterator[dict[str, Any]]:
        """The content of a JSON file, empty if it is missing or torn. Changes of it are written at the end."""
        content = self.json(path) or {}
        before = json.dumps(content)
        yield content
        if json.dumps(content) != before:
            self.write_json(path, content)

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
            _require_max_rows(self.plan, len(content["cases"]))
        return content

    def record(self, number: int) -> dict[str, Any] | None:
        """The content of a job's case.json; `None` if it is missing or torn. Raises `UsageError` for others."""
        content: dict[str, Any] | None = self.json(self.case(number))
        if content is None or _is_record(content):
            return content
        raise UsageError(f"{self.path.name}/{number}/case.json: is damaged, or from another version; start a new sweep")

    def row(self, number: int) -> dict[str, Any] | None:
        """The content of a job's result.json; `None` if it is missing, torn, or not a row with a status."""
        content = self.json(self.result(number))
        return content if isinstance(content, dict) and isinstance(content.get("status"), str) else None

    def jobs(self) -> list[int]:
        """The numbers of the jobs that have a folder, ascending."""
        with os.scandir(self.path) as entries:
            folders = [entry for entry in entries if _JOB.fullmatch(entry.name)]
        if link := next((entry for entry in folders if entry.is_symlink()), None):
            raise safe.refusal(Path(link.path), stat.S_IFLNK)
        _require_max_rows(self.path, len(folders))
        return sorted(int(entry.name) for entry in folders if entry.is_dir(follow_symlinks=False))

    def require_plain(self) -> None:
        """Raise `UsageError` for links, pipes, devices and huge files where the runner and kernels read or write."""
        for below in (self.sources, self.path / "samples", self.path / "gpus", *map(self.job, self.jobs())):
            safe.files(self.path, below, 2 * limited.MAX_ROWS)
        for path in (self.plan, self.results, self.environment, self.multirun):
            self.has(path)

    def lock(self) -> int:
        """Lock the folder until this process ends.

        Returns:
            The descriptor of the lock's file. The lock ends when every process that inherited it has closed it.

        Raises:
            UsageError: Another process has locked the folder.
        """
        descriptor = safe.lock_file(self.path, self.path / LOCK, make=True)
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
            with os.fdopen(safe.lock_file(self.path, self.path / LOCK, make=False), "rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # a missing file, or a file system without locks
            return False
        return False

    def remove_temporary_files(self) -> None:
        """Remove temporary files of a killed program, except those of shards, which may be running."""
        for path in self.path.rglob(".*"):
            temporary = _TEMPORARY.fullmatch(path.name) and path.is_file() and not path.is_symlink()
            if temporary and self.path / "shards" not in path.parents:
                path.unlink()


def slug(text: str) -> str:
    """The text as part of a folder's name."""
    return re.sub(r"[^A-Za-z0-9_+]+", "-", text).strip("-")[:48]


def copy_file(source: Path, target: Path) -> None:
    """Copy a file, unless the target exists."""
    if not target.exists():
        atomic.write(target, source.read_bytes())


def _require_max_rows(path: Path, jobs: int) -> None:
    if jobs > limited.MAX_ROWS:
        raise UsageError(f"{path}: {jobs:,} jobs; at most {limited.MAX_ROWS:,} are read")


def _is_record(content: Any) -> bool:
    """Whether this is the content of a case.json."""
    if not (isinstance(content, dict) and content.keys() >= _RECORD_KEYS and isinstance(content["row"], dict)):
        return False
    run = content["run"]  # the job's key
    texts = [*run, content["row"].get("status")] if isinstance(run, list) else [None]
    return all(isinstance(text, str) for text in texts)
