"""What the page folds away: the configuration, the environment, the kernels as they were compiled, the method."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from runner.report import folder
from runner.report.compiled import compiled

FLOOR = ("empty_kernel_us", "event_pair_us", "event_tick_us", "flush_us", "copy_gbps")
"""What the method itself takes, as measured when the GPU was opened."""


def details(path: Path, frame: pd.DataFrame, environment: dict[str, Any]) -> dict[str, Any]:
    """All of it, for the template."""
    return {
        "configuration": folder.configuration(path),
        "overrides": folder.overrides(command(environment)),
        "environment": list(folder.flat(environment)),
        "compiled": compiled(path, [str(kernel) for kernel in frame["kernel"].unique()]),
        "method": _method(environment),
        "finishes": sorted({str(finish) for finish in frame["finish"]} - {""}),
    }


def command(environment: dict[str, Any]) -> str:
    """The command of the sweep; empty where it was not recorded."""
    told = environment.get("command") or ""
    return " ".join(map(str, told)) if isinstance(told, list) else str(told)


def _method(environment: dict[str, Any]) -> list[tuple[str, str]]:
    """How each device's launches were timed."""
    devices = folder.section(environment, "devices")
    told = []
    for kind in devices:
        known = folder.section(devices, kind)
        method = {name: known[name] for name in (*FLOOR, "toolchain") if name in known}
        told += list(folder.flat({**folder.section(known, "timing"), **method}, f"{kind}: "))
    return told
