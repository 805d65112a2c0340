"""Synthetic run folders for comparisons."""

from __future__ import annotations

import copy
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import report_runs

from runner.statistics import SAMPLE

COLUMNS = (*report_runs.COLUMNS, "compiler", "sm_mhz", "binary", "job")
DEVICE = {
    "name": "NVIDIA H200", "arch": "sm_90", "copy_gbps": 4187.0, "versions": {"nvidia_driver": "580.1", "nvcc": "13.0"},
    "timing": {"rounds": 5, "fresh_process": True},
}  # fmt: skip
EMULATED = {"name": "CPU device (2 threads)", "arch": "x86_64", "timing": {"rounds": 5, "fresh_process": True}}
ENVIRONMENT = {
    "command": "python -m runner kernel=reduceShfl", "started_utc": "2026-01-02T03:04:05Z", "python": "3.11.7",
    "devices": {"cuda": DEVICE, "cpu": EMULATED},
}  # fmt: skip
STEADY = (-0.002, -0.001, 0.0, 0.001, 0.002)
"""Deviations of five rounds, as fractions."""

WILD = (-0.09, -0.04, 0.0, 0.05, 0.08)


def timed(number: int, us: float, spread: tuple[float, ...] = STEADY, **given: Any) -> dict[str, Any]:
    """A right case with a round for each deviation; `rounds_us` becomes its samples."""
    rounds = [us * (1 + s) for s in spread]
    middle = {name: f"{statistics.mean(rounds):.9g}" for name in ("median_us", "ci_low_us", "ci_high_us")}
    ends = {"min_us": min(rounds) * 0.99, "q1_us": min(rounds), "q3_us": max(rounds)}
    base = report_runs.row(number, job=number, rounds=len(rounds), **{"size": 2**20, **given})
    return {**base, **middle, **ends, "rounds_us": rounds}


def failed(number: int, status: str = "mismatch", reason: str = "1 of 2 elements differs", **given: Any) -> Any:
    """A case without times."""
    return report_runs.failed(number, status, reason, **{"size": 2**20, "job": number, **given})


def environment(**device: Any) -> dict[str, Any]:
    """The environment with other values of the GPU."""
    changed = copy.deepcopy(ENVIRONMENT)
    changed["devices"]["cuda"].update(device)
    return changed


def write(
    folder: Path,
    rows: list[dict[str, Any]],
    *,
    given: Any = ENVIRONMENT,
    sources: dict[str, str] | None = None,
    further: tuple[str, ...] = (),
) -> Path:
    """A run's folder with these rows, `further` columns of them, and their samples; its machine code is its own."""
    rows = [{"binary": f"{folder.name}{row['case']}", **row} for row in rows]
    report_runs.write(folder, rows, environment=given, columns=(*COLUMNS, *further))
    (folder / "sources" / "reduceShfl.cu").unlink()
    for name, text in (sources or {"kernels/reduceShfl.cu": "// one\n"}).items():
        path = folder / "sources" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    (folder / "samples").mkdir()
    for row in rows:
        if "rounds_us" in row:
            np.save(folder / "samples" / f"{row['case']}-{row['job']}.npy", samples(row["rounds_us"]))
    return folder


def samples(rounds_us: list[float]) -> np.ndarray:
    """Three samples a round, around its median."""
    found = np.zeros(3 * len(rounds_us), SAMPLE)
    found["round"] = np.repeat(np.arange(1, len(rounds_us) + 1), 3)
    found["us"] = np.outer(rounds_us, (0.999, 1.0, 1.002)).ravel()
    return found
