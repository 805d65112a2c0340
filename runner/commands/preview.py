"""`runner --dry-run`: print the cases that a sweep would run or skip, and an estimate of the time if possible.

This opens the devices, because they decide what to skip. It compiles, launches and writes nothing.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence

from runner.cli import Options
from runner.device import DeviceInfo
from runner.device.config import DeviceConfig
from runner.display.console import say, say_table
from runner.display.table import Table
from runner.display.terminal import Console, duration
from runner.display.text import count
from runner.errors import DeviceUnavailable
from runner.jobs.job import Job
from runner.kernel.declaration import written
from runner.sweep import case_row, pace
from runner.sweep.compiling import reason_to_skip
from runner.sweep.worker import Worker

MOST = 200  # cases to print; --json prints all

Line = dict[str, str]


def show(planned: Sequence[Job], launcher: str, options: Options) -> int:
    """Print the plan.

    Args:
        planned: The sweep's jobs; equal cases are listed once.
        launcher: The launcher's name, for the rows of `--json`.
        options: The runner's own options.

    Returns:
        The exit status: 0 if at least one case would run, else 2.
    """
    jobs = list({job.key: job for job in reversed(planned)}.values())[::-1]  # equal cases run once
    opened = {job.device.key: job.device for job in jobs}
    devices = {key: _opened(config) for key, config in opened.items()}
    reasons = {
        job.number: reason_to_skip(job.case, info) if (info := devices[job.device.key][0]) else job.case.excluded
        for job in jobs
    }
    runs = [job for job in jobs if not reasons[job.number]]
    if options.json:
        for job in jobs:
            reason = reasons[job.number]
            info, _ = devices[job.device.key]
            kind, status = info.kind if info else job.device.kind, "skipped" if reason else "planned"
            line = case_row.without_result(job, kind, launcher, status, reason)
            sys.stdout.write(json.dumps(line) + "\n")
    console = Console(stderr=options.json)
    if not options.quiet and not options.json:
        lines = [_line(job) for job in jobs]
        if same := _constant(lines):
            say(console, "Every case: " + ", ".join(f"{name} {value}" for name, value in same.items()), "dim")
        _print(console, "Would run", [_line(job) for job in runs], same)
        skipped = [{**_line(job), "reason": reasons[job.number]} for job in jobs if reasons[job.number]]
        _print(console, "Would skip", skipped, same)
    twice = len(planned) - len(jobs)
    equal = f", {twice:,} more equal to one of these" if twice else ""
    say(console, f"Plan: {count(len(runs), 'case')} to run, {len(jobs) - len(runs):,} to skip{equal}. Nothing was run.")
    for key, (info, words) in devices.items():
        own = [job for job in runs if job.device.key == key]
        say(console, f"{words} {pace.describe_plan(own, info) if info and own else ''}".rstrip())
    return 0 if runs else 2


def _opened(config: DeviceConfig) -> tuple[DeviceInfo | None, str]:
    """Open a device; returns its properties (`None` if it is unavailable) and a sentence to print."""
    started = time.monotonic()
    worker = Worker(config)
    try:
        info = worker.info
    except DeviceUnavailable as e:
        return None, f"{e}. The skipped cases and the time are therefore unknown."
    finally:
        worker.kill()
    return info, f"{info.name}: opened in {duration(time.monotonic() - started)}."


def _line(job: Job) -> Line:
    kinds = {p.name: p.kind for p in job.case.kernel.parameters}
    values = {name: str(written(kinds[name], value)) for name, value in job.case.parameters}
    return {"kernel": job.case.kernel.name, **values, "seed": str(job.case.seed), "device": job.device.kind}


def _constant(lines: Sequence[Line]) -> Line:
    """Select the parameters that have the same value in all cases; empty for a single case."""
    first = lines[0]
    if len(lines) == 1:
        return {}
    return {name: value for name, value in first.items() if all(line.get(name) == value for line in lines)}


def _print(console: Console, head: str, lines: Sequence[Line], same: Line) -> None:
    if not lines:
        return
    names = [name for name in dict.fromkeys(n for line in lines for n in line) if name not in same]
    names = [
        "kernel",
        *(name for name in names if name not in ("kernel", "reason")),
        *(["reason"] * ("reason" in names)),
    ]
    say(console, f"{head}:", "bold")
    say_table(console, Table.of(names, [[line.get(name, "") for name in names] for line in lines[:MOST]]))
    if len(lines) > MOST:
        say(console, f"{len(lines) - MOST:,} more; --json has all")
    say(console, "")
