"""The sweeps of docs/ladder.sh as they would lie in its folder, with numbers that nobody measured."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from ladder.counters import FILE, HIT, IN_ALL, INSTRUCTIONS, LOADED, METRICS, STALLED
from ladder.steps import LADDERS, defined
from ncu import REQUESTS
from support import ROOT, case_of, shipped

SIZES = {
    "reduction-int32": ("2**20", "2**30"),
    "reduction-float32": ("2**20", "2**30"),
    "transpose": ("4096x4096", "4097x4095"),
    "stencil": ("2**24", "2**28"),
}
EMPTY_US, PEAK_GBPS, READ_GBPS = 3.0, 5000.0, 4400.0
READING = "reduction.csv"
HITS = 0.25  # of what is loaded, in L1
SLOWER = 1.5  # of each case's second configuration
OTHER = "another case"  # which is that one


def write(folder: Path, gains: dict[str, float]) -> None:
    """Write the CSV and the JSON of each sweep, the bandwidth of reading, and what was counted.

    Args:
        folder: Where.
        gains: By kernel, how many times as fast it is as the kernel before it in its ladder; 1.1 if not said.
    """
    lines = ["contender,dtype,size,read_gbps", *(f"{n},int32,65536,{READ_GBPS}" for n in ("CUB", "empty kernel"))]
    (folder / READING).write_text("\n".join([*lines, ""]), encoding="utf-8")
    counted = [",".join(("case", "binary", "kernel", *METRICS))]
    for ladder in LADDERS:
        names, _ = defined(ladder, ROOT / "conf")
        for sweep in ladder.sweeps:
            rows = []
            for size in SIZES[sweep]:
                speed = 0.1
                for name in names:
                    speed *= gains.get(name, 1.1)
                    rows += _rows(name, size, "int32" if sweep.endswith("int32") else "float32", speed)
            with (folder / f"{sweep}.csv").open("w", encoding="utf-8", newline="") as file:
                table = csv.DictWriter(file, dict.fromkeys(key for row in rows for key in row))
                table.writeheader()
                table.writerows(rows)
            (folder / f"{sweep}.json").write_text(json.dumps(environment(sweep)), encoding="utf-8")
            counted += [_counted(row) for row in rows if row["status"] == "ok" and row["case"] != OTHER]
    (folder / FILE).write_text("\n".join([*counted, ""]), encoding="utf-8")


def environment(sweep: str) -> dict[str, object]:
    """What the sweep ran on."""
    versions = {"nvidia_driver": "580.0", "cuda_driver": "13.0"}
    floor = {"empty_kernel_us": EMPTY_US, "peak_gbps": PEAK_GBPS}
    device = {"name": "NVIDIA H200", "versions": versions, **floor}
    command = f"python -m runner of {sweep}"
    return {"command": command, "started_utc": "2026-11-21T16:20:37+00:00", "devices": {"cuda": device}}


def _counted(row: dict[str, object]) -> str:
    """A line of counters.csv: two instructions an element, 16 sectors a load, no stores, 60 % of the time for memory."""
    sectors, loads = REQUESTS["global_load_sectors"]
    numbers = dict.fromkeys(METRICS, 0.0)
    numbers |= {INSTRUCTIONS: int(str(row["size"])) * 2 / 32, IN_ALL: 10.0, sectors: 1600.0, loads: 100.0}
    numbers |= {HIT: numbers[LOADED] * HITS, STALLED.format("long_scoreboard"): 5.0, STALLED.format("lg_throttle"): 1.0}
    numbers |= {STALLED.format("barrier"): 0.49, STALLED.format("membar"): 2.0}
    return ",".join(str(value) for value in (row["case"], row["binary"], row["kernel"], *numbers.values()))


def _rows(name: str, size: str, dtype: str, speed: float) -> list[dict[str, object]]:
    """Two configurations of a case, the slower one first, or one skipped row."""
    kernel = shipped(name)
    case = case_of(kernel, size=size, dtype=dtype)
    told = {
        n: v for n, v in case.variables.items() if n in ("size", "rows", "cols", "block", "unroll", "blocks", "stream")
    }
    if "x" not in size:
        told |= {"rows": "", "cols": ""}
    row = {
        "case": case.id,
        "binary": "0123abcd",
        "seed": 0,
        "kernel": name,
        "dtype": dtype,
        "finish": kernel.finish,
        "status": "skipped",
        "reason": case.excluded,
        **told,
    }
    if case.excluded:
        return [row]
    moved = (case.count("bytes_read") or 0) + (case.count("bytes_written") or 0)
    us = EMPTY_US + moved / (PEAK_GBPS * speed) / 1e3
    rows = []
    for block, factor in ((128, SLOWER), (256, 1.0)):
        timed = {
            "status": "ok", "block": block, "median_us": us * factor, "bytes_read": case.count("bytes_read"),
            "bytes_written": case.count("bytes_written"), "gbps": moved / us / factor / 1e3,
            "registers": 32, "occupancy_percent": 75.0,
            "bytes_in_flight": 65536, "case": case.id if factor == 1.0 else OTHER,
        }  # fmt: skip
        rows.append({**row, **timed})
    return rows
