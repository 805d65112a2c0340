"""Seconds and peak memory of list, report and compare on a large run, each in its own process.

    python benchmarks/large_folders.py [--cases 5000] [--keep FOLDER]

The run is synthetic: the table of a GPU sweep with numbers that nobody measured, and per case a job folder and a file
of 60 samples in three rounds. compare reads two such runs, the second with times that are up to 3 % longer.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from runner.record import stored_rows  # noqa: E402
from runner.record.folder import RunFolder  # noqa: E402  (the path must be there first)
from runner.record.samples import SAMPLE  # noqa: E402

KERNELS = ("reduceGmem", "reduceSmem", "reduceShfl", "reduceShflUnroll", "reduceVector")
PEAK, COPY = 4800.0, 4200.0
ROUNDS, SAMPLES = 3, 20

Row = dict[str, Any]


def make(path: Path, cases: int, seed: int) -> Path:
    """A run folder with so many cases."""
    folder, generator, rows = RunFolder(path), np.random.default_rng(seed), []
    (path / "samples").mkdir(parents=True)
    for job in range(cases):
        row = _row(job, 1.0 if seed == 0 else generator.uniform(1.0, 1.03))
        us = row["median_us"] * np.exp(generator.normal(0, 0.002, ROUNDS * SAMPLES))
        samples = np.zeros(len(us), SAMPLE)
        samples["round"], samples["us"] = np.repeat(np.arange(1, ROUNDS + 1), SAMPLES), us
        np.save(folder.samples(row["case"], job), samples)
        folder.job(job).mkdir()
        macros = {"BLOCK": row["block"], "SCALAR": "int"}
        known = {name: row[name] for name in ("case", "kernel", "seed", "device")}
        record = {"run": [row["case"], job], "parameters": {}, "asked": {}, "macros": macros, "row": row}
        folder.write_json(folder.case(job), known | record)
        folder.write_json(folder.result(job), row)
        rows.append(row)
    stored_rows.write(folder, rows)
    planned = [{name: row[name] for name in ("case", "kernel", "seed", "device", "job")} for row in rows]
    folder.write_json(folder.plan, {"cases": [{**one, "parameters": {}} for one in planned]})
    device = {"kind": "cuda", "name": "synthetic GPU", "peak_gbps": PEAK}
    started = f"2026-01-0{1 + seed}T00:00:00+00:00"
    folder.write_json(folder.environment, {"devices": {"cuda": device}, "started_utc": started})
    return path


def _row(job: int, slower: float) -> Row:
    kernel, rest = KERNELS[job % len(KERNELS)], job // len(KERNELS)
    size, block, unroll = 2 ** (10 + rest % 20), 32 * (1 + rest // 20 % 10), 1 + rest // 200
    median = slower * (2.6 + size * 4 / (1000 * PEAK * (0.3 + 0.1 * KERNELS.index(kernel) + block / 3000)))
    gbps = size * 4 / median / 1000
    return {
        "case": f"{job:012x}", "kernel": kernel, "block": str(block), "block_x": block, "block_y": 1, "size": size,
        "unroll": unroll, "dtype": "int32", "seed": 0, "device": "cuda", "status": "ok", "grid": str(-(-size // block)),
        "value": "1", "reference": "1", "mismatches": 0, "rounds": ROUNDS, "samples": ROUNDS * SAMPLES,
        "median_us": median, "ci_low_us": 0.999 * median, "ci_high_us": 1.001 * median, "min_us": 0.99 * median,
        "q1_us": 0.998 * median, "q3_us": 1.002 * median, "round_spread_percent": 0.1, "bytes_read": 4 * size,
        "bytes_written": 4, "gbps": gbps, "percent_peak": 100 * gbps / PEAK, "percent_copy": 100 * gbps / COPY,
        "finish": "host", "family": "reduction", "baseline": KERNELS[0], "launcher": "batch", "job": job,
    }  # fmt: skip


def measure(name: str, *command: str) -> None:
    """Run a command of the runner; print its wall-clock and CPU seconds, and its peak resident memory."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", *command], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    if (code := os.waitstatus_to_exitcode(status)) not in (0, 1):  # compare ends with 1 if something is slower
        raise SystemExit(f"{name} ended with {code}: {process.stderr.read().decode() if process.stderr else ''}")
    busy = usage.ru_utime + usage.ru_stime
    print(f"{name:8} {seconds:7.1f} {busy:10.1f} {usage.ru_maxrss / 1024:9.0f}")


def main() -> int:
    """Make the folders, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--keep", type=Path, help="where to keep the folders")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = given.keep or Path(temporary)
        one, other = (root / name for name in ("one", "other"))
        for seed, path in enumerate((one, other)):
            if not path.exists():
                make(path, given.cases, seed)
        print(f"{given.cases:,} synthetic cases; each command in its own process")
        print(f"{'':8} {'seconds':>7} {'CPU s':>10} {'peak MiB':>9}")
        measure("list", "runner.list", str(root))
        measure("report", "runner.report", str(one))
        page = root / "comparison.html"
        measure("compare", "runner.compare", str(one), str(other), f"--html={page}")
        sizes = {path.name: path.stat().st_size / 2**20 for path in (one / "report.html", page)}
        print("; ".join(f"{name} {size:.1f} MiB" for name, size in sizes.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
