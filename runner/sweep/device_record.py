"""The devices of a sweep in environment.json, and whether a resumed sweep opens the same ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from runner import environment
from runner.config import Job
from runner.device import Compiler, DeviceInfo
from runner.errors import CompileError, UsageError
from runner.folder import RunFolder, read_json, write_json
from runner.sweep.plan import asked

# What makes rows comparable. Clocks, or the speed of a copy, may differ on the next day.
IDENTITY = ("kind", "name", "arch", "versions", "toolchain")
MOST = 3  # changes that are named
LONGEST = 40  # characters of a value that is shown

Entry = dict[str, Any]


def entry(info: DeviceInfo, job: Job, compiler: Compiler) -> Entry:
    """An open device, its toolchain and its timing, and what was asked for."""
    try:
        toolchain = compiler.identity
    except CompileError as e:
        toolchain = str(e)
    return {
        **environment.device(info),
        "toolchain": toolchain,
        "timing": dataclasses.asdict(job.timing.protocol(info.kind)),
        "asked": asked(job),
    }


def note(folder: RunFolder, now: Entry) -> None:
    """Add an open device to environment.json; a second one of its kind is `cuda 2`.

    Raises:
        UsageError: if the sweep was resumed, and the device is another one.
    """
    known = read_json(folder.environment) or {}
    devices = known.setdefault("devices", {})
    name = _name(devices, now)
    if known.get("resumed_utc") and name in devices:
        require_same(folder, now)
        return
    devices[name] = now
    write_json(folder.environment, known)


def require_same(folder: RunFolder, now: Entry) -> None:
    """Refuse a device or a toolchain other than the sweep's: its rows must not enter the same table.

    Raises:
        UsageError: naming what changed.
    """
    devices = (read_json(folder.environment) or {}).get("devices", {})
    then = devices.get(_name(devices, now))
    if then and (
        found := [change for key in IDENTITY for change in _changes(f"device.{key}", then.get(key), now[key])]
    ):
        more = [f"{len(found) - MOST} more values"] if len(found) > MOST else []
        raise UsageError(f"Cannot resume: {', '.join(found[:MOST] + more)}. Restore it or start a new sweep.")


def _changes(name: str, then: Any, now: Any) -> Iterator[str]:
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys((*then, *now)):
            yield from _changes(f"{name}.{key}", then.get(key), now.get(key))
    elif then != now:
        short = len(str(then)) <= LONGEST and len(str(now)) <= LONGEST
        yield f"{name} changed from {then} to {now}" if short else f"{name} changed"


def _name(devices: Mapping[str, Entry], now: Entry) -> str:
    """The name of a device's entry, whether it is there already or not."""
    same = (name for name, then in devices.items() if then.get("asked") == now["asked"])
    kind = str(now["kind"])
    free = (name for n in range(1, len(devices) + 2) if (name := kind if n == 1 else f"{kind} {n}") not in devices)
    return next(same, None) or next(free)
