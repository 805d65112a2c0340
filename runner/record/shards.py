"""The files of shards, and merging their rows into the sweep's folder.

shards/N/shard.json         the jobs
shards/N/place.json         its GPU, if this machine's GPUs run the shards
shards/N/log.txt            the output of the shard's process
shards/N/1/ 2/ ...          one run folder for each start; a later one begins with the rows of the previous one
shards/N/1/rows.jsonl       progress: a line for each measured case and round, and for each message
"""

from __future__ import annotations

import itertools
import json
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from runner.device import cache
from runner.files import safe
from runner.record import environment, runs
from runner.record.environment import REFERENCE
from runner.record.folder import RunFolder

Row = dict[str, Any]
WRITE_LIMIT_S = 10.0  # time limit for another process to write a small file


class Attempt(RunFolder):
    """One start of a shard: a run folder that shares the sources of the sweep."""

    def __init__(self, sweep: RunFolder, path: Path) -> None:
        super().__init__(path)
        self.sources = sweep.sources
        self.rows = path / "rows.jsonl"


class ShardFolder:
    """The files of one shard."""

    def __init__(self, sweep: RunFolder, number: int) -> None:
        self.number = number
        self.sweep = sweep
        self.path = sweep.path / "shards" / str(number)
        self.log = self.path / "log.txt"

    def write(self, jobs: list[int], **settings: Any) -> None:
        """Write the shard's plan: the numbers of its jobs, and settings of its process."""
        self.sweep.write_json(self.path / "shard.json", {"jobs": jobs, **settings})

    @property
    def planned(self) -> Mapping[str, Any]:
        """The shard's plan; empty if it is missing or torn."""
        plan = self.sweep.json(self.path / "shard.json")
        return plan if isinstance(plan, dict) else {}

    @property
    def jobs(self) -> list[int]:
        """The numbers of its jobs. Raises `UsageError` if the plan is malformed."""
        with runs.reading(self.path):
            return [int(n) for n in self.planned.get("jobs", ())]

    @property
    def copy(self) -> int:
        """Its replica of the sweep; 0 without replicas. Raises `UsageError` if the plan is malformed."""
        with runs.reading(self.path):
            return int(self.planned.get("copy", 0))

    def attempts(self) -> list[Attempt]:
        """Its starts, in order."""
        return [Attempt(self.sweep, self.path / str(n)) for n in _numbers(self.sweep, self.path)]

    def begin(self) -> Attempt:
        """Create a folder for a new start, atomically on every file system, so that each start has its own."""
        for number in itertools.count(1 + len(self.attempts())):
            with suppress(FileExistsError):
                (self.path / str(number)).mkdir(parents=True)
                break
        return Attempt(self.sweep, self.path / str(number))

    @property
    def running(self) -> bool:
        """Whether a process of this machine runs it."""
        return RunFolder(self.path).locked or any(attempt.locked for attempt in self.attempts())


def shards(sweep: RunFolder) -> list[ShardFolder]:
    """The shards of a sweep by number; resuming adds shards at the end."""
    return [ShardFolder(sweep, n) for n in _numbers(sweep, sweep.path / "shards")]


def running(sweep: RunFolder) -> bool:
    """Whether a sweep, or one of its shards, runs on this machine."""
    return sweep.locked or any(shard.running for shard in shards(sweep))


def _numbers(sweep: RunFolder, folder: Path) -> list[int]:
    """The subfolders with a number as their name, sorted. Raises `UsageError` if one of them is a link."""
    names = [name for name in safe.names(sweep.path, folder) if name.isascii() and name.isdecimal() and len(name) < 10]
    if link := next((name for name in names if (folder / name).is_symlink()), None):
        raise safe.refusal(folder / link, stat.S_IFLNK)
    return sorted(map(int, names))


def rows_of(folder: RunFolder, numbers: Iterable[int]) -> Iterator[tuple[int, Row]]:
    """The rows of these jobs in a folder, without jobs that were not reached."""
    for number in numbers:
        row = folder.row(number)
        if row and row["status"] != "not_run":
            yield number, row


def copy_row(source: RunFolder, target: RunFolder, number: int, row: Row) -> None:
    """Copy a row with its samples and records. The row is written last, so that an existing row is complete."""
    case, binary = str(row["case"]), str(row.get("binary") or "")
    files = [source.samples(case, number), source.hot_samples(case, number), *source.records(number)]
    for file in [*files, *([source.machine_code(binary), source.ptx(binary)] if binary else [])]:
        with suppress(FileNotFoundError):
            target.write(target.path / file.relative_to(source.path), source.read(file))
    target.write_json(target.result(number), row)


def merge(sweep: RunFolder) -> dict[int, Row]:
    """Merge the new results of all shards into the sweep's folder.

    Returns:
        The rows that are new or have more rounds than before, by job.
    """
    new: dict[int, Row] = {}
    for shard in shards(sweep):
        new |= merge_shard(sweep, shard, shard.jobs)
        note_gpu(sweep, shard)
    return new


def merge_shard(sweep: RunFolder, shard: ShardFolder, numbers: Sequence[int]) -> dict[int, Row]:
    """Merge some jobs of one shard, as `merge`. The latest start counts, since it began with earlier rows."""
    new: dict[int, Row] = {}
    for attempt in reversed(shard.attempts()):
        for number, row in rows_of(attempt, [n for n in numbers if n not in new]):
            there = sweep.json(sweep.result(number))
            if _adds(there, row):
                copy_row(attempt, sweep, number, row)
                new[number] = row
            elif there.get("rounds") == row.get("rounds"):  # a stage may write a record without a column
                for file in attempt.records(number):
                    copy = sweep.path / file.relative_to(attempt.path)
                    if attempt.has(file) and not (
                        sweep.has(copy) and copy.stat().st_mtime_ns >= file.stat().st_mtime_ns
                    ):
                        sweep.write(copy, attempt.read(file))
    return new


def _adds(there: Any, row: Row) -> bool:
    """Whether a shard's row is more complete than the sweep's."""
    if not isinstance(there, dict) or there.get("status") in (None, "not_run"):
        return True
    rounds, before = row.get("rounds") or 0, there.get("rounds") or 0
    if there["status"] != "ok" or rounds < before:
        return False
    if row["status"] != "ok":  # a sanitizer's finding after the same rounds
        return row["status"] == "hazard" and rounds == before
    return rounds > before or sum(v is not None for v in row.values()) > sum(v is not None for v in there.values())


def require_one_toolchain(sweep: RunFolder, entry: environment.Entry) -> None:
    """Require that shards on GPUs of one model have the same toolchain. Shards may start at the same time.

    The first shard creates the file that the others compare with; creating a file is atomic on every file system.

    Raises:
        UsageError: Another shard has other versions or another toolchain.
    """
    environment.require_same_toolchain(sweep.path, entry)
    model = cache.key(*(json.dumps(entry.get(name)) for name in environment.MODEL_KEYS))
    first = RunFolder(sweep.path / "shards" / f"toolchain-{model}")
    first.path.mkdir(exist_ok=True)
    try:
        with first.environment.open("x", encoding="utf-8") as file:
            json.dump({"devices": {str(entry["kind"]): entry}}, file)
    except FileExistsError:
        deadline = time.monotonic() + WRITE_LIMIT_S
        while first.json(first.environment) is None and time.monotonic() < deadline:
            time.sleep(0.05)  # it is being written
        environment.require_same_toolchain(first.path, entry)


def note_gpu(sweep: RunFolder, shard: ShardFolder) -> None:
    """Add a shard's devices, and its times of the reference case, to the sweep's environment.json."""
    with sweep.edited(sweep.environment) as content:
        for attempt in shard.attempts():
            there = attempt.json(attempt.environment) or {}
            for entry in there.get("devices", {}).values():
                environment.add_device(content.setdefault("devices", {}), entry)
                if uuid := entry.get("uuid"):
                    gpu = content.setdefault("gpus", {}).setdefault(uuid, {"name": entry.get("name"), "shards": []})
                    gpu["shards"] = sorted({*gpu["shards"], shard.number})
                    if REFERENCE in there:
                        gpu.setdefault(REFERENCE, {})[str(shard.number)] = there[REFERENCE]
                    if "host" in there:
                        gpu["host"] = there["host"]


def append_line(path: Path, content: Any) -> None:
    """Append a JSON line to a file that only this process writes."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(content) + "\n")
