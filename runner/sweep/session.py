"""The state of a command that runs a sweep: its worker, started first, and its folder.

Opening a device takes as long as reading the configuration, so both happen at the same time. The command line usually
names the device; after a wrong guess the worker is replaced. This module imports nothing that is slow to import.
"""

from __future__ import annotations

import contextlib
import itertools
import shutil
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from runner.cli import Options
from runner.device.config import DeviceConfig
from runner.device.kinds import AUTO, CHOICES, start_compiler
from runner.errors import UsageError
from runner.files import scratch
from runner.record.folder import RunFolder
from runner.sweep.worker import Worker

if TYPE_CHECKING:
    from runner.jobs.job import Job
    from runner.report.renderers import Renderers

SWEEP_FLAGS = ("-m", "--multirun")
CONFIG_FLAGS = ("--config-dir", "--config-path", "--config-name", "-cd", "-cp", "-cn")  # may choose another device
OTHER_LAUNCHERS = ("hydra/launcher=", "hydra.launcher", "hydra/sweeper=")  # start workers themselves
DEVICE_KEYS = ("device.", "experiment=")  # may choose another device
STARTED = ("*/result.json", "shards/*/*/")  # files of a sweep whose launcher has started jobs


@dataclass
class Session:
    """A command that runs a sweep."""

    options: Options = field(default_factory=Options)
    folder: RunFolder | None = None  # with an absolute path
    made: tuple[Path, ...] = ()  # folders created for the sweep, innermost first; only these may be removed
    new: bool = True  # false if an interrupted sweep is resumed
    left_out: dict[str, str] = field(default_factory=dict)  # kernels whose YAML is wrong, each with the mistake
    planned: list[Job] = field(default_factory=list)  # the jobs of a dry run
    search_plan: str = ""  # the space of a search that is a dry run, in words
    launcher: str = "batch"
    detached: bool = False  # whether shards run on after this process ends
    ended_early: bool = False  # whether a shard ended early, so that cases or rounds are missing
    typed: tuple[str, ...] = ()  # the user's words after `runner`, if they are not those of a sweep
    to_continue: str = ""  # the command that does the rest after Ctrl-C; empty: that of `resume`
    renderers: Renderers | None = None  # draw the report's figures, if they were started ahead
    temporary: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)  # holds the folder of a dry run
    worker: Worker | None = None  # started before the configuration was read, until `take_worker`

    def open_device(self, config: DeviceConfig) -> None:
        """Open a device in the worker. If the worker has opened another device, it is replaced."""
        if self.worker is None or not self.worker.takes(config):
            if self.worker:
                self.worker.kill()
            self.worker = Worker(config)

    def take_worker(self) -> Worker | None:
        """Hand over the worker. The caller closes it."""
        worker, self.worker = self.worker, None
        return worker

    def reserve(self, wanted: Path, *, exactly: bool = False) -> RunFolder:
        """Create and lock the folder of a new sweep. Two sweeps of the same second get two folders.

        Args:
            wanted: The path. If it exists, a number is appended to the name.
            exactly: Whether to use this path only, which may be an empty folder.

        Raises:
            UsageError: The folder cannot be created, or `exactly` is set and the path exists and is not empty.
        """
        try:
            if wanted.is_symlink() and not wanted.exists():
                raise UsageError(f"{wanted}: is a link to a folder that does not exist")
            if exactly and wanted.exists() and (not wanted.is_dir() or any(wanted.iterdir())):
                raise UsageError(f"hydra.sweep.dir={wanted}: not an empty folder; choose a new or an empty one")
            parents = tuple(p for p in wanted.absolute().parents if not p.exists())
            if self.options.dry_run:  # composing needs a folder
                wanted, parents = self.temporary.enter_context(scratch.folder()) / wanted.name, ()
            path, made = _make_folder(wanted, exactly=exactly)
        except OSError as e:
            raise UsageError(f"{wanted}: cannot make the folder for the results: {e.strerror}") from None
        folder = RunFolder(path)
        folder.lock()
        self.folder, self.made = RunFolder(path.absolute()), (path, *parents) if made else ()
        return folder

    def resume(self, folder: RunFolder) -> None:
        """Lock the folder of an interrupted sweep to resume it.

        Raises:
            UsageError: Another process has locked it.
        """
        folder.lock()
        self.folder, self.new = folder, False

    def discard_if_unused(self) -> None:
        """Remove a new folder in which no case was run, and the parent folders that were created for it.

        The folder stays if a launcher has started jobs, which may still run.
        """
        if self.folder is None or not self.new or self.folder.results.exists():
            return
        if any(next(self.folder.path.glob(made), None) for made in STARTED):
            return
        for path in [self.folder.path] if self.made else list(self.folder.path.iterdir()):
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # not empty: another sweep has begun
            for parent in self.made[1:]:
                parent.rmdir()
        self.temporary.close()


def _make_folder(wanted: Path, *, exactly: bool) -> tuple[Path, bool]:
    """Create a folder of this name, or with a number appended; its path, and whether it is new."""
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
    """Start a worker for a command line, and what its compiler needs before the first kernel.

    The worker opens its device at once if the arguments determine it. The compiler is that of the probable device.

    Returns:
        The worker; `None` if the command line runs no case, as with --help, or its launcher starts workers itself.
    """
    flags = [a for a in arguments if a.startswith("-")]
    overrides = [a.lstrip("+~") for a in arguments if not a.startswith("-")]
    if any(flag not in SWEEP_FLAGS and not flag.startswith(CONFIG_FLAGS) for flag in flags):
        return None  # --help, --cfg and the like
    if any(o.startswith(OTHER_LAUNCHERS) for o in overrides):
        return None
    chosen = _first_value(overrides, "device")
    kind = chosen or ("" if any(f.startswith(CONFIG_FLAGS) for f in flags) else AUTO)
    is_known = kind in CHOICES and not any(o.startswith(DEVICE_KEYS) for o in overrides)
    worker = Worker(DeviceConfig(kind=kind) if is_known else None)
    ahead = (kind if kind in CHOICES else AUTO), _first_value(overrides, "compiler")
    threading.Thread(target=start_compiler, args=ahead, name="compiler").start()
    return worker


def _first_value(overrides: Sequence[str], key: str) -> str:
    """The first value of the last override of a key; empty without one."""
    return next((o.partition("=")[2].partition(",")[0] for o in reversed(overrides) if o.startswith(f"{key}=")), "")
