"""Synthetic runs in the order of time, with numbers that nobody measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import compare_runs
import report_runs

from runner.history.summary import COUNTS

SLOWER_AT, DRIVER_AT, FASTER_AT, BROKEN_AT, FIXED_AT = 8, 6, 6, 3, 5


def timed(number: int, us: float, spread: tuple[float, ...] = compare_runs.STEADY, **given: Any) -> dict[str, Any]:
    """A correct case on a GPU, with a round for each deviation."""
    return compare_runs.timed(number, us, spread, **{"block": 256, "binary": "b", **given})


def counted(number: int, **given: Any) -> dict[str, Any]:
    """A correct case of the CPU device."""
    own = {"device": "cpu", "size": 2**20, "job": number, "binary": "c", "emulated_us": 5200.0 + number}
    return report_runs.row(number, **{**own, **given})


def environment(commit: str, *, dirty: bool = False, **device: Any) -> dict[str, Any]:
    """Of a run at a commit; further entries of its GPU."""
    return {**compare_runs.environment(**device), "git": {"commit": commit * 40, "dirty": dirty}}


def write_all(root: Path, runs: list[tuple[list[dict[str, Any]], dict[str, Any]]], first: int = 0) -> list[Path]:
    """Write runs, each with its rows and its environment; a run starts an hour after the one before."""
    paths = []
    for number, (rows, given) in enumerate(runs, first):
        started = f"2026-01-{1 + number // 24:02d}T{number % 24:02d}:00:00+00:00"
        path = root / f"2026-01-{1 + number // 24:02d}" / f"{number % 24:02d}-00-00-run"
        paths.append(compare_runs.write(path, rows, given={**given, "started_utc": started}, further=tuple(COUNTS)))
        (path / "report.html").write_text("<!DOCTYPE html><title>a report</title>")
    return paths


def changing() -> list[tuple[list[dict[str, Any]], dict[str, Any]]]:
    """Twelve runs of five cases, which become slower, faster, broken and fixed, and do less work."""
    runs = []
    for n in range(12):
        slower, faster = (1.12 if n >= SLOWER_AT else 1.0), (0.93 if n >= FASTER_AT else 1.0)
        wiggle = 1 + 0.0002 * (n % 3)
        rows = [
            timed(0, 20.0 * slower * wiggle, kernel="reduceShfl", size=2**24, binary=f"s{n >= SLOWER_AT}"),
            timed(1, 5.0 * wiggle, kernel="reduceShfl"),
            timed(2, 30.0 * faster * wiggle, kernel="reduceSmem", size=2**24, binary=f"f{n >= FASTER_AT}"),
            counted(4, kernel="transpose", global_load_sectors=4, global_store_sectors=4 if n >= 7 else 32),
            compare_runs.failed(3, kernel="reduceWrong") if BROKEN_AT <= n < FIXED_AT else timed(3, 9.0, kernel="reduceWrong"),
        ]  # fmt: skip
        versions = {"nvidia_driver": "590.2" if n >= DRIVER_AT else "580.1", "nvcc": "13.0"}
        runs.append((rows, environment("0123456789abcdef"[n // 2], versions=versions)))
    return runs


def data(text: str) -> dict[str, Any]:
    """What the page's script draws."""
    return json.loads(text.partition('id="data">')[2].partition("</script>")[0])
