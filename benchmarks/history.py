"""Seconds of `runner history` and `runner list` on thousands of runs, and of the page in a browser.

    python benchmarks/history.py [--runs 2000] [--rounds 3] [--keep FOLDER]

The runs are synthetic: six cases of tests/h200_sweep, each with 60 samples in three rounds that differ by noise. Half
of the cases become slower or faster once in a hundred runs, with another binary.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from runner.history.index import NAME  # noqa: E402  (the path must be there first)
from runner.record import run as reader  # noqa: E402
from runner.record import stored_rows  # noqa: E402
from runner.record.folder import RunFolder  # noqa: E402
from runner.statistics import SAMPLE  # noqa: E402

SWEEP = ROOT / "tests" / "h200_sweep"
CASES, ROUNDS, SAMPLES = 6, 3, 20
NOISE = 0.002  # of a round, and of a run
STEP, EVERY = 1.08, 100  # a real change, and the number of runs between two
NEW = 20  # runs that are added
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


def template() -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Six cases of a sweep on an H200, and its environment."""
    run = reader.read(SWEEP)
    names = [name for name in run.frame.columns if name not in ("emulated", "jobs", "place", "cost")]
    rows = [{name: row[name] for name in names} for row in run.rows[7 :: len(run.rows) // CASES][:CASES]]
    return rows, run.environment


def make(root: Path, first: int, count: int, seed: int = 0) -> None:
    """Make runs below a folder, one every hour."""
    rows, environment = template()
    generator = np.random.default_rng([seed, first])
    for number in range(first, first + count):
        started = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=number)
        folder = RunFolder(root / f"{started:%Y-%m-%d}" / f"{started:%H-%M-%S}-reductions")
        (folder.path / "samples").mkdir(parents=True)
        made = []
        for job, row in enumerate(rows):
            steps = max(0, number - 10 * job) // EVERY if job % 2 == 0 else 0  # slower, faster, slower ...
            us = float(row["median_us"]) * STEP ** (steps % 2) * np.exp(generator.normal(0, NOISE, ROUNDS))
            samples = np.zeros(ROUNDS * SAMPLES, SAMPLE)
            samples["round"] = np.repeat(np.arange(1, ROUNDS + 1), SAMPLES)
            samples["us"] = np.repeat(us, SAMPLES) * np.exp(generator.normal(0, NOISE, len(samples)))
            np.save(folder.samples(row["case"], job), samples)
            mean = float(us.mean())
            low, q1, q3 = np.percentile(samples["us"], [0, 25, 75])
            times = {"median_us": mean, "ci_low_us": 0.999 * mean, "ci_high_us": 1.001 * mean, "min_us": low}
            times |= {"q1_us": q1, "q3_us": q3, "round_spread_percent": 100 * us.std(ddof=1) / mean, "rounds": ROUNDS}
            made.append({**row, **times, "binary": f"{row['binary']}{steps}", "job": job})
        stored_rows.write(folder, made)
        git = {"commit": f"{number // 10 + 1:040x}"[::-1], "dirty": False}
        folder.write_json(folder.environment, {**environment, "started_utc": started.isoformat(), "git": git})
        folder.report.write_text("<!DOCTYPE html><title>a report</title>", encoding="utf-8")


def run(name: str, rounds: int, *command: str) -> None:
    """Run a command of the runner in the present folder; print the medians of its wall-clock and CPU seconds."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    walls, busy = list[float](), list[float]()
    for _ in range(rounds):
        started = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", *command], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(process.pid, 0)
        walls.append(time.perf_counter() - started)
        busy.append(usage.ru_utime + usage.ru_stime)
        if code := os.waitstatus_to_exitcode(status):
            raise SystemExit(f"{name} ended with {code}")
    say(name, walls, busy)


def opening(page: Path, rounds: int) -> list[float]:
    """Seconds until a page has loaded in a fresh Chromium and its first lines are drawn and on the screen."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only this part needs it

    executable = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    drawn = "() => document.querySelectorAll('.line svg').length > 0 && document.readyState === 'complete'"
    found = []
    for _ in range(rounds):
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
            tab = browser.new_page(viewport={"width": 1400, "height": 900})
            started = time.perf_counter()
            tab.goto(page.as_uri())
            tab.wait_for_function(drawn)
            tab.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            found.append(time.perf_counter() - started)
            browser.close()
    return found


@contextlib.contextmanager
def timed(found: dict[str, list[float]], name: str) -> Iterator[None]:
    """Note the wall-clock seconds of a block."""
    started = time.perf_counter()
    yield
    found.setdefault(name, []).append(time.perf_counter() - started)


def keeping(index: Path, rounds: int) -> dict[str, list[float]]:
    """Seconds to read all entries of an index and to keep one more: in SQLite, and in one JSON file."""
    copy, file = index.with_name("copy.sqlite"), index.with_name("copy.json")
    shutil.copy(index, copy)
    found: dict[str, list[float]] = {}
    for number in range(rounds):
        with contextlib.closing(sqlite3.connect(copy)) as base:
            base.execute("PRAGMA synchronous = OFF")
            with timed(found, "all entries, from SQLite"):
                rows = [json.loads(content) for (content,) in base.execute("SELECT content FROM entry")]
            with timed(found, "one more entry, in SQLite"), base:
                base.execute("INSERT INTO entry VALUES ('run', ?, '', ?)", (str(number), json.dumps(rows[0])))
        with timed(found, "one more entry, in one JSON file"):
            file.write_text(json.dumps(rows), encoding="utf-8")
        with timed(found, "all entries, from one JSON file"):
            json.loads(file.read_text(encoding="utf-8"))
    copy.unlink()
    file.unlink()
    return found


def say(name: str, seconds: Sequence[float], busy: Sequence[float] = ()) -> None:
    """Print a line of the table."""
    print(
        f"{name:40} {statistics.median(seconds):9.3f} {f'{statistics.median(busy):9.3f}' if busy else ''}", flush=True
    )


def main() -> int:
    """Make the runs, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured; the median counts")
    parser.add_argument("--keep", type=Path, help="where to keep the runs")
    given = parser.parse_args()
    if given.keep:
        given.keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary, contextlib.chdir(given.keep or temporary):
        outputs = Path("outputs").absolute()
        if not outputs.exists():
            make(outputs, 0, given.runs)
        index, page = outputs / NAME, outputs / "index.html"
        index.unlink(missing_ok=True)
        print(f"python benchmarks/history.py --runs {given.runs} --rounds {given.rounds}")
        print(f"{given.runs:,} synthetic runs of {CASES} cases; a process for each command; {os.cpu_count()} cores")
        print(f"{'':40} {'seconds':>9} {'CPU s':>9}")
        words = ("kernel=reduceShfl", "size>1Mi", "-n", "5")
        run("history, no index yet", 1, "runner.history")
        run("history, nothing changed", given.rounds, "runner.history")
        run("list -n 5", given.rounds, "runner.list", *words[2:])
        run(f"list {' '.join(words)}", given.rounds, "runner.list", *words)
        say("the page is loaded and drawn", opening(page, given.rounds))
        for name, seconds in keeping(index, given.rounds).items():
            say(name, seconds)
        make(outputs, given.runs, NEW)
        run(f"history, {NEW} more runs", 1, "runner.history")
        sizes = {"page": page, "index": index}
        print("; ".join(f"{name} {path.stat().st_size / 1e6:.2f} MB" for name, path in sizes.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
