"""The devices of a sweep in environment.json, and whether one that is opened later is the one of then."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from runner import environment
from runner.config import Job
from runner.device import Compiler, DeviceInfo
from runner.differences import between, refusal
from runner.errors import CompileError
from runner.folder import RunFolder, read_json, write_json
from runner.sweep.plan import asked

# What makes rows comparable; clocks, or what the copy reached, may be others on the next day.
IDENTITY = ("kind", "name", "arch", "versions", "toolchain")

Entry = dict[str, Any]


def entry(info: DeviceInfo, planned: Job, compiler: Compiler) -> Entry:
    """An open device, what compiles for it, how it is timed, and what was asked for."""
    try:
        toolchain = compiler.identity
    except CompileError as e:
        toolchain = str(e)
    return {
        **environment.device(info),
        "toolchain": toolchain,
        "timing": dataclasses.asdict(planned.timing.protocol(info.kind)),
        "asked": asked(planned),
    }


def note(folder: RunFolder, now: Entry) -> None:
    """Add an opened device to environment.json; a second one of its kind is `cuda 2`.

    Raises:
        UsageError: if the sweep was taken up again, and the device is not the one of then.
    """
    known = read_json(folder.environment) or {}
    devices = known.setdefault("devices", {})
    name = _name(devices, now)
    if known.get("resumed_utc") and name in devices:
        if changed := changes(devices[name], now):
            raise refusal(changed)
        return
    devices[name] = now
    write_json(folder.environment, known)


def before(folder: RunFolder, planned: Job) -> Entry | None:
    """What was opened for a case, or for another that asked for the same."""
    devices: Mapping[str, Entry] = (read_json(folder.environment) or {}).get("devices", {})
    return next((then for then in devices.values() if then.get("asked") == asked(planned)), None)


def changes(then: Entry, now: Entry) -> list[str]:
    """What tells an opened device from that of then, in words."""
    return between("device", {k: then.get(k) for k in IDENTITY}, {k: now[k] for k in IDENTITY})


def _name(devices: Mapping[str, Entry], now: Entry) -> str:
    """Under which name a device stands there, or is to stand."""
    same = (name for name, then in devices.items() if then.get("asked") == now["asked"])
    kind = str(now["kind"])
    free = (name for n in range(1, len(devices) + 2) if (name := kind if n == 1 else f"{kind} {n}") not in devices)
    return next(same, None) or next(free)
