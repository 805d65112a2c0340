"""Launch cases in a separate process under a tool such as ncu or compute-sanitizer."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner import children, interruption
from runner.files import scratch
from runner.jobs.job import Job
from runner.stages.profile.stage import Tools

POLL_S = 0.1
SILENCE_LIMIT_S = 120.0  # added to a launch's time limit, since a tool replays a launch and slows it down
OUTPUT = "{output}"  # in a command: the tool's output file


@dataclass(frozen=True)
class ToolRun:
    """The outcome of one process under a tool."""

    done: tuple[Job, ...]  # launched to the end, in order
    failed: Job | None  # the job that stopped the process; None if all ended, or no launch began
    reason: str  # why it stopped
    output: str  # the tool's output file
    printed: str  # stdout and stderr

    @property
    def broken(self) -> bool:
        """Whether the process ended before its first launch, so that the tool does not work here."""
        return not self.done and self.failed is None


def watch_all(command: Sequence[str], jobs: Sequence[Job], tools: Tools, *options: str) -> Iterator[ToolRun]:
    """Launch all jobs, in a new process after each job that fails. Stops if the tool does not work.

    The jobs have one device configuration. `OUTPUT` in the command becomes a file name. The options are those of
    `runner.stages.profile.launch`.
    """
    remaining = list(jobs)
    while remaining:
        run = watch(command, remaining, tools, *options)
        yield run
        if run.broken:
            return
        tools.progress.step(run.failed is not None)
        remaining = [job for job in remaining if job not in run.done and job is not run.failed]


def watch(command: Sequence[str], jobs: Sequence[Job], tools: Tools, *options: str) -> ToolRun:
    """Launch jobs in order until one fails; the arguments are those of `watch_all`.

    Each launch that ends is a step of the progress.
    """
    with scratch.folder() as folder:
        log, output, printed = (folder / name for name in ("log", "output", "printed"))
        numbers = [str(job.number) for job in jobs]
        sweep = tools.folder.sources.parent.absolute()  # a shard's folder has no sources
        child = [sys.executable, "-m", "runner.stages.profile.launch", str(sweep), *numbers]
        words = [word.replace(OUTPUT, str(output)) for word in command]
        exit_reason = _run([*words, *child, "--log", str(log), *options], jobs, tools, log, printed)
        states, texts = _states(log), (_text(output), _text(printed))
        done = tuple(job for job in jobs if states.get(job.number) == "done")
        failed = next((job for job in jobs if job not in done), None)
        if failed is None:
            return ToolRun(done, None, "", *texts)
        state = states.get(failed.number, "")
        reason = exit_reason if state in ("", "launching") else state
        if reason == exit_reason and (lines := texts[1].strip().splitlines()):
            reason = f"{reason}: {' '.join(lines[-1].split())[:200]}"
        return ToolRun(done, failed if states else None, reason, *texts)


def _run(command: Sequence[str], jobs: Sequence[Job], tools: Tools, log: Path, printed: Path) -> str:
    """Run a command until it ends or its log is silent for too long. Returns how it ended."""
    labels = {job.number: job.case.label for job in jobs}
    limit = SILENCE_LIMIT_S + max(job.device.time_limit_s for job in jobs)
    with printed.open("wb") as file:
        process = subprocess.Popen(
            command,
            env={**children.environment(), **tools.environment},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            seen, since = (0, 0), time.monotonic()
            running = True
            while running:
                interruption.check()
                running = process.poll() is None
                states = _states(log)
                done = sum(state == "done" for state in states.values())
                if (len(states), done) != seen:
                    tools.progress.step(done - seen[1])
                    seen, since = (len(states), done), time.monotonic()
                    tools.progress.show_step(labels[list(states)[-1]])
                if time.monotonic() - since > limit:
                    return f"no progress for {limit:g} s; the process was ended"
                if running:
                    time.sleep(POLL_S)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return f"the process ended with exit status {process.returncode}"


def _states(log: Path) -> dict[int, str]:
    """The last logged state of each job."""
    states: dict[int, str] = {}
    for line in _text(log).splitlines():
        with contextlib.suppress(ValueError, KeyError):  # the last line may be incomplete
            entry = json.loads(line)
            states[int(entry["job"])] = str(entry["state"])
    return states


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""
