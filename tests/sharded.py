"""Helpers for tests of several GPUs and shards: the rows without times, who measured what, and processes."""

import contextlib
import json
import os
import signal
import subprocess
from collections import Counter
from pathlib import Path

from processes import table, wait_until

from runner.sweep import worker

TIMES = (
    "reference_us", "samples", "checked_launches", "size_launches", "order_launches", "emulated_us", "median_us", "ci_low_us", "ci_high_us", "min_us", "q1_us", "q3_us",
    "gflops", "bandwidth_gbps", "round_spread_percent", "stop_reason", "compile_s", "wall_s",
)  # fmt: skip


def rows(folder):
    """results.csv as text, without what differs from one run to the next."""
    frame = table(folder)
    return frame[[name for name in frame.columns if name not in (*TIMES, "launcher")]].to_csv(index=False)


def measured(folder):
    """How often a shard noted a case of a round: a counter of (job, rounds so far)."""
    files = folder.glob("shards/*/*/rows.jsonl")
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return Counter((line["job"], line["rounds"]) for line in lines if "job" in line)


def shard_of(folder, job):
    """The number of the shard that has a job."""
    plans = {path.parent.name: json.loads(path.read_text())["jobs"] for path in folder.glob("shards/*/shard.json")}
    return next(int(number) for number, jobs in plans.items() if job in jobs)


def pids(folder, number=r"[0-9]+"):
    """The processes that run a shard, or any shard, of a sweep."""
    command = ["pgrep", "-f", f"runner.shards.process {folder} {number}$"]
    found = subprocess.run(command, check=False, capture_output=True, text=True)
    return [int(pid) for pid in found.stdout.split()]


def workers(process):
    """The worker processes of a program: of its children, those that block signals from a terminal."""
    mask = f"SigBlk:\t{sum(1 << (number - 1) for number in worker.BLOCKED):016x}\n"
    found = []
    listed = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=False)
    for pid in map(int, listed.stdout.split()):
        with contextlib.suppress(OSError):
            found += [pid] if mask in Path(f"/proc/{pid}/status").read_text() else []
    return found


def kill_shard(folder, number):
    """As by kill -9."""
    for pid in pids(folder, number):
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not pids(folder, number))
