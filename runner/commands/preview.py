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
from runner.kernel.declaration import value_text
from runner.sweep import case_row, pace
from runner.sweep.compiling import reason_to_skip
from runner.sweep.worker import Worker

MAX_CASES = 200  # to print; --json prints all

Line = dict[str, str]


def show(planned: Sequence[Job], launcher: str, options: Options) -> int:
    """Print the plan, equal cases once; returns the exit status: 0 if at least one case would run, else 2."""
    jobs = list({job.key: job for job in reversed(planned)}.values())[::-1]  # equal cases run once
    devices = {key: _open(config) for key, config in {job.device.key: job.device for job in jobs}.items()}
    infos = [devices[job.device.key][0] for job in jobs]
    reasons = [reason_to_skip(j.case, info) if info else j.case.excluded for j, info in zip(jobs, infos, strict=True)]
    console = Console(stderr=options.json)
    if options.json:
        for job, info, reason in zip(jobs, infos, reasons, strict=True):
            kind, status = info.kind if info else job.device.kind, "skipped" if reason else "planned"
            sys.stdout.write(json.dumps(case_row.without_result(job, kind, launcher, status, reason)) + "\n")
    elif not options.quiet:
        _print_cases(console, jobs, reasons)
    runs = [job for job, reason in zip(jobs, reasons, strict=True) if not reason]
    repeated = len(planned) - len(jobs)
    equal = f", {repeated:,} more equal to one of these" if repeated else ""
    say(console, f"Plan: {count(len(runs), 'case')} to run, {len(jobs) - len(runs):,} to skip{equal}. Nothing was run.")
    for key, (info, sentence) in devices.items():
        own = [job for job in runs if job.device.key == key]
        say(console, f"{sentence} {pace.describe_plan(own, info) if info and own else ''}".rstrip())
    return 0 if runs else 2


def _open(config: DeviceConfig) -> tuple[DeviceInfo | None, str]:
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


def _print_cases(console: Console, jobs: Sequence[Job], reasons: Sequence[str]) -> None:
    lines = [_line(job) for job in jobs]
    # The parameters that have the same value in all of several cases.
    same = {k: v for k, v in lines[0].items() if len(lines) > 1 and all(line.get(k) == v for line in lines)}
    if same:
        say(console, "Every case: " + ", ".join(f"{name} {value}" for name, value in same.items()), "dim")
    cases = list(zip(lines, reasons, strict=True))
    _print(console, "Would run", [line for line, reason in cases if not reason], same)
    _print(console, "Would skip", [{**line, "reason": reason} for line, reason in cases if reason], same)


def _line(job: Job) -> Line:
    kinds = {p.name: p.kind for p in job.case.kernel.parameters}
    values = {name: str(value_text(kinds[name], value)) for name, value in job.case.parameters}
    return {"kernel": job.case.kernel.name, **values, "seed": str(job.case.seed), "device": job.device.kind}


def _print(console: Console, head: str, lines: Sequence[Line], same: Line) -> None:
    if not lines:
        return
    names = [name for name in dict.fromkeys(n for line in lines for n in line) if name not in same]
    names.sort(key=lambda name: {"kernel": 0, "reason": 2}.get(name, 1))
    if "kernel" not in names:
        names.insert(0, "kernel")
    say(console, f"{head}:", "bold")
    say_table(console, Table.of(names, [[line.get(name, "") for name in names] for line in lines[:MAX_CASES]]))
    if len(lines) > MAX_CASES:
        say(console, f"{len(lines) - MAX_CASES:,} more; --json has all")
    say(console, "")
