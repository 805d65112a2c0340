"""environment.json: where and with what a sweep was run, enough to explain a difference or to refuse to resume.

It names no person and no machine: no absolute path, and no host name unless asked for.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.metadata
import os
import platform
import re
import shlex
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from runner import __version__
from runner.device import Compiler, DeviceInfo
from runner.device.kinds import processor
from runner.errors import CompileError, UsageError
from runner.jobs.job import Job
from runner.record import noise, runs
from runner.record.folder import RunFolder

PACKAGES = ("hydra-core", "omegaconf", "numpy", "pandas", "matplotlib", "jinja2", "pycuda", "cuda-core", "nvidia-ml-py")
# Rows are comparable only if these are equal. Clocks or the speed of a copy may differ from day to day.
IDENTITY = ("kind", "name", "arch", "versions", "toolchain")
OF_A_MODEL = ("kind", "name", "asked")
MOST = 3  # most changes that a message names
LONGEST = 40  # characters; longer values are not shown
LIMIT_S = 10.0  # time limit of git

Entry = dict[str, Any]


def gather(arguments: Sequence[str], *, record_host: bool) -> dict[str, Any]:
    """The content of environment.json before a device is open.

    Args:
        arguments: The command line after `runner`; absolute paths in it are shortened.
        record_host: Whether to include the host's name and the working directory.
    """
    packages = {}
    for name in PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            packages[name] = importlib.metadata.version(name)
    found: dict[str, Any] = {
        "command": shlex.join(["python", "-m", "runner", *(_relative(a) for a in arguments)]),
        "started_utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "runner": __version__,
        "git": ask_git()(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": f"{processor()}, {os.cpu_count()} cores",
        "packages": packages,
        "devices": {},
    }
    if record_host:
        found["host"] = platform.node()
        found["directory"] = str(Path.cwd())
    return found


def note_sources(folder: RunFolder, files: Iterable[Path]) -> None:
    """Add to environment.json which of the kernels' files are uncommitted, or outside any git repository.

    Files of an installed runner are ignored.
    """
    root = Path(__file__).resolve().parents[2]
    own = [path for path in files if (root / ".git").exists() or not path.is_relative_to(root)]
    found: dict[str, list[str]] = {"uncommitted": [], "unversioned": []}
    asked = []
    for parent in dict.fromkeys(path.parent for path in own):
        names = [path.name for path in own if path.parent == parent]
        git = ("git", "-C", str(parent), "-c", "core.quotePath=false")
        tracked_names = _asked(*git, "ls-files", "--", *names)
        asked.append((names, tracked_names, _asked(*git, "diff", "--relative", "--name-only", "HEAD", "--", *names)))
    for names, *answers in asked:
        tracked, changed = (answer() for answer in answers)
        if tracked is None:
            found["unversioned"] += names
            continue
        kept = set(tracked.splitlines()) - set(tracked.splitlines() if changed is None else changed.splitlines())
        found["uncommitted"] += [name for name in names if name not in kept]
    if not any(found.values()):
        return
    known = folder.json(folder.environment) or {}
    before = known.get("sources", {})  # of earlier batches
    known["sources"] = {key: sorted({*before.get(key, ()), *names}) for key, names in found.items()}
    folder.write_json(folder.environment, known)


def device(info: DeviceInfo, job: Job, compiler: Compiler) -> Entry:
    """The entry of an open device in environment.json: its properties, toolchain, timing, and the job's settings."""
    try:
        toolchain = compiler.identity
    except CompileError as e:
        toolchain = str(e)
    names = ("kind", "name", "arch", "peak_gbps", "l2_bytes", "shared_limit", "memory_bytes")
    return {
        **{name: getattr(info, name) for name in names},
        **info.details,
        "versions": info.versions,
        "noise": noise.known(info),
        "toolchain": toolchain,
        "timing": dataclasses.asdict(job.timing.protocol(info.kind)),
        "asked": job.requested,
    }


def note_device(folder: RunFolder, now: Entry) -> None:
    """Add an open device to environment.json. A second one of a kind is named `cuda 2`.

    Raises:
        UsageError: The sweep is resumed, and its device or toolchain was another one.
    """
    known = folder.json(folder.environment) or {}
    devices = known.setdefault("devices", {})
    name = _entry_name(devices, now)
    if known.get("resumed_utc") and name in devices:
        require_same_device(folder.path, now)
        return
    devices[name] = now
    folder.write_json(folder.environment, known)


def require_same_device(path: Path, now: Entry) -> None:
    """Raise `UsageError` if a device or its toolchain differs from the sweep's: their rows must not be mixed.

    Args:
        path: The sweep's folder.
        now: The device's entry, from `device`.
    """
    devices = runs.section(runs.environment(path), "devices")
    then = devices.get(_entry_name(devices, now))
    if not then:
        return
    if found := [change for key in IDENTITY for change in _changes(f"device.{key}", then.get(key), now[key])]:
        more = [f"{len(found) - MOST} more values"] if len(found) > MOST else []
        raise UsageError(f"{path}: {', '.join(found[:MOST] + more)} since the run; start a new sweep")


def require_same_toolchain(path: Path, now: Entry) -> None:
    """Raise `UsageError` if versions or toolchain differ from those of the sweep on a GPU of the same model.

    Args:
        path: The sweep's folder.
        now: The device's entry, from `device`.
    """
    for then in runs.section(runs.environment(path), "devices").values():
        if same_model(then, now):
            for key in ("versions", "toolchain"):
                for change in _changes(f"device.{key}", then.get(key), now[key]):
                    raise UsageError(f"{path}: {change} since the run; start a new sweep")


def same_model(one: Entry, other: Entry) -> bool:
    """Whether two entries have the same model of GPU and the same requested settings."""
    return all(_value(one, key) == _value(other, key) for key in OF_A_MODEL)


def add_device(devices: dict[str, Entry], now: Entry) -> None:
    """Add an entry to `devices` unless an entry of the same model exists."""
    if not any(same_model(then, now) for then in devices.values()):
        devices[_free_name(devices, str(now["kind"]))] = now


def _changes(name: str, then: Any, now: Any) -> Iterator[str]:
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys((*then, *now)):
            yield from _changes(f"{name}.{key}", then.get(key), now.get(key))
    elif then != now:
        short = len(str(then)) <= LONGEST and len(str(now)) <= LONGEST
        yield f"{name} changed from {then} to {now}" if short else f"{name} changed"


def _entry_name(devices: Mapping[str, Entry], now: Entry) -> str:
    """The name of a device's entry: the existing one, or a free one."""
    same = (name for name, then in devices.items() if _value(then, "asked") == now["asked"])
    return next(same, None) or _free_name(devices, str(now["kind"]))


def _value(entry: Entry, key: str) -> Any:
    """A value of an entry, without the setting `recording` of older versions."""
    value = entry.get(key)
    return {n: v for n, v in value.items() if n != "recording"} if key == "asked" and isinstance(value, dict) else value


def _free_name(devices: Mapping[str, Entry], kind: str) -> str:
    names = (kind if n == 1 else f"{kind} {n}" for n in range(1, len(devices) + 2))
    return next(name for name in names if name not in devices)


_ABSOLUTE = re.compile(r"(?<![\w.)])/[\w.+~ -]+(?:/[\w.+~ -]+)*")


def _relative(argument: str) -> str:
    """Make absolute paths relative to the working directory. Paths outside it keep only their last part."""
    if argument.startswith("/"):  # an option's value is one path, even with special characters
        return _shortened(Path(argument))
    return _ABSOLUTE.sub(lambda found: _shortened(Path(found[0])), argument)


def _shortened(path: Path) -> str:
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else f".../{path.name}"


@functools.cache
def ask_git() -> Callable[[], dict[str, Any] | None]:
    """Start git for the commit of the runner's checkout, once. The returned function waits for the answer.

    The answer is `None` if the runner is installed without a checkout.
    """
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return lambda: None
    commit = _asked("git", "-C", str(root), "rev-parse", "HEAD")
    status = _asked("git", "-C", str(root), "status", "--porcelain", "--untracked-files=no")
    return functools.cache(lambda: {"commit": commit(), "dirty": bool(status())} if commit() else None)


def _asked(*command: str) -> Callable[[], str | None]:
    """Start a command in the background. The returned function waits for its output; `None` if it fails."""
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    except OSError:
        return lambda: None

    @functools.cache
    def answer() -> str | None:
        try:
            printed, _ = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return None
        return printed.strip() if process.returncode == 0 else None

    return answer
