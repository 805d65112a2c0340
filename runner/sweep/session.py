"""The sweep that a command runs: its worker is started first, then its folder is reserved.

Opening a device takes as long as reading the configuration, so both happen at the same time. The command line usually
names the device; after a wrong guess the worker is replaced. Nothing slow to import is imported here.
"""

from __future__ import annotations

import contextlib
import itertools
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from runner.cli import Options
from runner.device.config import DeviceConfig
from runner.device.kinds import AUTO, CHOICES
from runner.errors import UsageError
from runner.record.folder import RunFolder
from runner.sweep.worker import Worker

if TYPE_CHECKING:
    from runner.jobs.job import Job

SWEEP_FLAGS = ("-m", "--multirun")
CONFIG_FLAGS = ("--config-dir", "--config-path", "--config-name", "-cd", "-cp", "-cn")  # may choose another device
OTHER_LAUNCHERS = ("hydra/launcher=", "hydra.launcher", "hydra/sweeper=")  # start workers themselves
DEVICE_KEYS = ("device.", "experiment=")  # may choose another device, too
STARTED = ("*/result.json", "shards/*/*/")  # what a launcher leaves that has started jobs


@dataclass
class Session:
    """A command that runs a sweep."""

    options: Options = field(default_factory=Options)
    folder: RunFolder | None = None  # with an absolute path
    made: tuple[Path, ...] = ()  # folders that were made for the sweep, inner ones first; only these may be removed
    new: bool = True  # not resumed
    left_out: list[str] = field(default_factory=list)  # kernels whose YAML is wrong
    planned: list[Job] = field(default_factory=list)  # what a dry run does not run
    launcher: str = "batch"  # with which it would be run
    detached: bool = False  # its shards run on without this process
    ended_early: bool = False  # a shard, so that cases or rounds are missing
    worker: Worker | None = None  # started before the configuration was read, and not taken yet

    def open_device(self, config: DeviceConfig) -> None:
        """Have the worker open a device, in a new process if it has opened another one."""
        if self.worker is None or not self.worker.takes(config):
            if self.worker:
                self.worker.kill()
            self.worker = Worker(config)

    def take_worker(self) -> Worker | None:
        """The worker, which the caller closes from now on."""
        worker, self.worker = self.worker, None
        return worker

    def reserve(self, wanted: Path, *, exactly: bool = False) -> RunFolder:
        """Make a folder for a new sweep. Two sweeps of the same second get two folders.

        A `UsageError` if it cannot be made; if `exactly` this path is wanted, also if it exists and is not empty.
        """
        try:
            if exactly and wanted.exists() and (not wanted.is_dir() or any(wanted.iterdir())):
                raise UsageError(f"hydra.sweep.dir={wanted}: already exists; choose a new folder")
            parents = tuple(p for p in wanted.absolute().parents if not p.exists())
            if self.options.dry_run:  # Hydra needs a folder
                scratch = Path(tempfile.mkdtemp(prefix="runner-plan-"))
                wanted, parents = scratch / wanted.name, (scratch,)
            path, made = _made(wanted, exactly=exactly)
        except OSError as e:
            raise UsageError(f"{wanted}: cannot make the folder for the results: {e.strerror}") from None
        folder = RunFolder(path)
        folder.lock()
        self.folder, self.made = RunFolder(path.absolute()), (path, *parents) if made else ()
        return folder

    def resume(self, folder: RunFolder) -> None:
        """Take up a sweep that was interrupted; a `UsageError` if a program is running in its folder."""
        folder.lock()
        self.folder, self.new = folder, False

    def discard_if_unused(self) -> None:
        """Remove a new folder in which no case was run, and the empty ones around it that were made for it.

        A launcher may have started jobs that still run: then the folder stays.
        """
        if self.folder is None or not self.new or self.folder.results.exists():
            return
        if any(next(self.folder.path.glob(made), None) for made in STARTED):
            return
        for path in [self.folder.path] if self.made else list(self.folder.path.iterdir()):
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # another sweep may have begun beside it
            for parent in self.made[1:]:
                parent.rmdir()


def _made(wanted: Path, *, exactly: bool) -> tuple[Path, bool]:
    """A folder that no other sweep has, and whether it is new."""
    wanted.parent.mkdir(parents=True, exist_ok=True)
    names = (f"{wanted.name}-{n}" if n else wanted.name for n in itertools.count())
    for path in map(wanted.with_name, names):
        try:
            path.mkdir()
        except FileExistsError:
            if exactly:
                break
        else:
            return path, True
    return wanted, False


def start_worker(arguments: Sequence[str]) -> Worker | None:
    """Start the worker, which opens its device if the arguments name it; `None` if they may run no case."""
    flags = [a for a in arguments if a.startswith("-")]
    overrides = [a.lstrip("+~") for a in arguments if not a.startswith("-")]
    if any(flag not in SWEEP_FLAGS and not flag.startswith(CONFIG_FLAGS) for flag in flags):
        return None  # --help, --cfg and the like
    if any(o.startswith(OTHER_LAUNCHERS) for o in overrides):
        return None
    if any(o.startswith(DEVICE_KEYS) for o in overrides):
        return Worker(None)
    chosen = [o.partition("=")[2].partition(",")[0] for o in overrides if o.startswith("device=")]
    default = "" if any(f.startswith(CONFIG_FLAGS) for f in flags) else AUTO
    kind = chosen[-1] if chosen else default
    return Worker(DeviceConfig(kind=kind) if kind in CHOICES else None)
