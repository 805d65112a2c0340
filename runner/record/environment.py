"""environment.json: where and with what a sweep was run, enough to explain a difference or to refuse to resume.

It names no person and no machine: no absolute path, and no host name unless asked for.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
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
MODEL_KEYS = ("kind", "name", "asked")
REFERENCE = "reference"  # key of the case that every GPU measures
MAX_CHANGES = 3  # that a message names
SHA256_DIGITS = 64
MAX_CHARACTERS = 80  # of a value that a message shows
GIT_LIMIT_S = 10.0
NOT_KEPT = "not_kept"  # key of the included files that the run folder does not have
CHECKOUT = Path(__file__).resolve().parents[2]  # of the runner, if it is not installed

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
    return {
        "command": shlex.join(["python", "-m", "runner", *map(_without_absolute_paths, arguments)]),
        "started_utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "runner": __version__,
        "git": ask_git()(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": f"{processor()}, {os.cpu_count()} cores",
        "packages": packages,
        "devices": {},
        **({"host": platform.node(), "directory": str(Path.cwd())} if record_host else {}),
    }


def note_sources(folder: RunFolder, files: Iterable[Path], not_kept: Sequence[str]) -> None:
    """Add to environment.json which of the kernels' files are uncommitted, outside any git repository, or not kept.

    Files of an installed runner are ignored.
    """
    by_parent: dict[Path, list[str]] = {}
    for path in files:
        if (CHECKOUT / ".git").exists() or not path.is_relative_to(CHECKOUT):
            by_parent.setdefault(path.parent, []).append(path.name)
    answers = []
    for parent, names in by_parent.items():
        tracked = _output(*_git(parent), "ls-files", "-z", "--", *names)
        answers.append((parent, names, tracked, _output(*_git(parent), "ls-tree", "-z", "HEAD", "--", *names)))
    files_by_state: dict[str, list[str]] = {
        "uncommitted": [], "unversioned": [], NOT_KEPT: list(not_kept),
    }  # fmt: skip
    for parent, names, tracked, tree in answers:
        listing, is_repository = tree(), tracked() is not None  # both, so that no process is left
        if not is_repository:
            files_by_state["unversioned"] += names
            continue
        entries = (line.partition("\t") for line in (listing or "").split("\0"))
        hashes = {name: head.split()[-1] for head, _, name in entries if name}
        files_by_state["uncommitted"] += [n for n in names if hashes.get(n, "") != _blob(parent / n, hashes.get(n, ""))]
    if any(files_by_state.values()):
        with folder.edited(folder.environment) as content:
            before = content.get("sources", {})  # of earlier batches
            content["sources"] = {key: sorted({*before.get(key, ()), *names}) for key, names in files_by_state.items()}


def _git(folder: Path) -> tuple[str, ...]:
    """Git for a folder that may be a stranger's: no command is used that runs a filter or hook of its configuration."""
    return ("git", "--literal-pathspecs", "--no-optional-locks", "-C", str(folder), "-c", "core.fsmonitor=false")


def _blob(path: Path, like: str) -> str:
    """The hash of a file in git, in the algorithm of another hash; that of an empty file if there is none."""
    content = path.read_bytes() if path.is_file() else b""
    algorithm = hashlib.sha256 if len(like) == SHA256_DIGITS else hashlib.sha1
    return algorithm(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


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
        "noise": noise.stored(info),
        "toolchain": toolchain,
        "timing": dataclasses.asdict(job.timing.protocol(info.kind)),
        "asked": job.requested,
    }


def note_device(folder: RunFolder, entry: Entry) -> None:
    """Add an open device to environment.json; a second one of a kind is named `cuda 2`.

    Raises `UsageError` if the sweep is resumed, and its device or toolchain was another one.
    """
    with folder.edited(folder.environment) as content:
        devices = content.setdefault("devices", {})
        name = _entry_name(devices, entry)
        if content.get("resumed_utc") and name in devices:
            require_same_device(folder.path, entry)
        else:
            devices[name] = entry


def note_gpu(folder: RunFolder, entry: Entry) -> None:
    """Add an open GPU of several to environment.json: its UUID to `gpus`, its model to `devices`.

    Raises `UsageError` if the sweep is resumed, and the toolchain was another one.
    """
    with folder.edited(folder.environment) as content:
        if content.get("resumed_utc"):
            require_same_toolchain(folder.path, entry)
        add_device(content.setdefault("devices", {}), entry)
        if uuid := entry.get("uuid"):
            content.setdefault("gpus", {}).setdefault(uuid, {"name": entry["name"]})


def note_reference(folder: RunFolder, uuid: str, label: str, medians_us: Sequence[float]) -> None:
    """Add to a GPU's entry the case that all GPUs measure, and its median in each round in microseconds."""
    with folder.edited(folder.environment) as content:
        if gpu := content.get("gpus", {}).get(uuid):
            # by shard, if Slurm's tasks measured
            gpu[REFERENCE] = {"0": {"case": label, "rounds_us": [round(us, 4) for us in medians_us]}}


def require_same_device(path: Path, entry: Entry) -> None:
    """Raise `UsageError` if a device or its toolchain differs from that of the sweep in the folder `path`.

    Their rows must not be mixed. `entry` is the device's entry, from `device`.
    """
    devices = runs.section(runs.environment(path), "devices")
    then = devices.get(_entry_name(devices, entry))
    if then and (changes := _changes(then, entry, IDENTITY)):
        more = [f"{len(changes) - MAX_CHANGES} more values"] if len(changes) > MAX_CHANGES else []
        raise UsageError(f"{path}: {', '.join(changes[:MAX_CHANGES] + more)} since the run; start a new sweep")


def require_same_toolchain(path: Path, entry: Entry) -> None:
    """Raise `UsageError` if versions or toolchain differ from those of the sweep on a GPU of the same model."""
    for then in runs.section(runs.environment(path), "devices").values():
        if same_model(then, entry) and (changes := _changes(then, entry, ("versions", "toolchain"))):
            raise UsageError(f"{path}: {changes[0]} since the run; start a new sweep")


def same_model(a: Entry, b: Entry) -> bool:
    """Whether two entries have the same model of GPU and the same requested settings."""
    return all(_value(a, key) == _value(b, key) for key in MODEL_KEYS)


def add_device(devices: dict[str, Entry], entry: Entry) -> None:
    """Add an entry to `devices` unless an entry of the same model exists."""
    if not any(same_model(then, entry) for then in devices.values()):
        devices[_free_name(devices, str(entry["kind"]))] = entry


def _changes(then: Entry, entry: Entry, keys: Iterable[str]) -> list[str]:
    """The differences of two entries at some keys, in words."""

    def changes(name: str, old: Any, new: Any) -> Iterator[str]:
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            for key in dict.fromkeys((*old, *new)):
                yield from changes(f"{name}.{key}", old.get(key), new.get(key))
        elif old != new:
            short = len(str(old)) <= MAX_CHARACTERS and len(str(new)) <= MAX_CHARACTERS
            yield f"{name} changed from {old} to {new}" if short else f"{name} changed"

    return [text for key in keys for text in changes(f"device.{key}", then.get(key), entry[key])]


def _entry_name(devices: Mapping[str, Entry], entry: Entry) -> str:
    """The name of the device's existing entry, or a free name."""
    same = (name for name, then in devices.items() if _value(then, "asked") == entry["asked"])
    return next(same, None) or _free_name(devices, str(entry["kind"]))


def _value(entry: Entry, key: str) -> Any:
    """A value of an entry, without the setting `recording` of older versions."""
    value = entry.get(key)
    return {n: v for n, v in value.items() if n != "recording"} if key == "asked" and isinstance(value, dict) else value


def _free_name(devices: Mapping[str, Entry], kind: str) -> str:
    names = (kind if n == 1 else f"{kind} {n}" for n in range(1, len(devices) + 2))
    return next(name for name in names if name not in devices)


_ABSOLUTE = re.compile(r"(?<![\w.)])/[\w.+~ -]+(?:/[\w.+~ -]+)*")


def _without_absolute_paths(argument: str) -> str:
    """Make absolute paths relative to the working directory. Paths outside it keep only their last part."""

    def shorten(path: Path) -> str:
        return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else f".../{path.name}"

    if argument.startswith("/"):  # an option's value is one path, even with special characters
        return shorten(Path(argument))
    return _ABSOLUTE.sub(lambda match: shorten(Path(match[0])), argument)


@functools.cache
def ask_git() -> Callable[[], dict[str, Any] | None]:
    """Start git for the commit of the runner's checkout, once. The returned function waits for the answer.

    The answer is `None` if the runner is installed without a checkout.
    """
    if not (CHECKOUT / ".git").exists():
        return lambda: None
    commit = _output("git", "-C", str(CHECKOUT), "rev-parse", "HEAD")
    status = _output("git", "-C", str(CHECKOUT), "status", "--porcelain", "--untracked-files=no")
    return functools.cache(lambda: {"commit": commit(), "dirty": bool(status())} if commit() else None)


def _output(*command: str) -> Callable[[], str | None]:
    """Start a command in the background. The returned function waits for its output; `None` if it fails."""
    try:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="surrogateescape",
            env={**os.environ, "GIT_ALLOW_PROTOCOL": "none"},  # git would fetch what a partial clone lacks
        )  # fmt: skip
    except OSError:
        return lambda: None

    @functools.cache
    def wait() -> str | None:
        try:
            printed, _ = process.communicate(timeout=GIT_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return None
        return printed.strip() if process.returncode == 0 else None

    return wait
