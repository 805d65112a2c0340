"""Launch cases in a process of their own under a tool that watches it, such as ncu or compute-sanitizer."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner import children, interruption
from runner.jobs.job import Job
from runner.stages.profile.stage import Tools

POLL_S = 0.1
SILENT_S = 120.0  # beside a launch's own limit: a tool replays a launch, and slows it down
OUTPUT = "{output}"  # in a command: the file that the tool shall write


@dataclass(frozen=True)
class Watched:
    """What one process under a tool did."""

    done: tuple[Job, ...]  # launched to the end, in order
    failed: Job | None  # the one after which nothing more could be launched; None also if none was begun
    reason: str  # why
    output: str  # what the tool wrote into its file
    said: str  # what was printed

    @property
    def broken(self) -> bool:
        """Whether no launch was even begun: then the tool does not work here."""
        return not self.done and self.failed is None


def watch_all(command: Sequence[str], jobs: Sequence[Job], tools: Tools, *options: str) -> Iterator[Watched]:
    """Launch all jobs, in another process after each one that fails. A tool that does not work is not tried again."""
    left = list(jobs)
    while left:
        seen = watch(command, left, tools, *options)
        yield seen
        if seen.broken:
            return
        left = [job for job in left if job not in seen.done and job is not seen.failed]


def watch(command: Sequence[str], jobs: Sequence[Job], tools: Tools, *options: str) -> Watched:
    """Launch jobs of one device configuration, in order, until one fails."""
    with tempfile.TemporaryDirectory(prefix="runner-profile-") as scratch:
        log, output, said = (Path(scratch) / name for name in ("log", "output", "said"))
        numbers = [str(job.number) for job in jobs]
        sweep = tools.folder.sources.parent.absolute()  # a shard's folder has no sources
        child = [sys.executable, "-m", "runner.stages.profile.launch", str(sweep), *numbers]
        words = [word.replace(OUTPUT, str(output)) for word in command]
        silent = _run([*words, *child, "--log", str(log), *options], jobs, tools, log, said)
        states = _states(log)
        done = tuple(job for job in jobs if states.get(job.number) == "done")
        left = [job for job in jobs if job not in done]
        reason = ""
        if left:
            state = states.get(left[0].number, "")
            reason = state if state not in ("", "launching") else silent
        text = [_text(file) for file in (output, said)]
        if left and reason == silent and (last := text[1].strip().splitlines()):
            reason = f"{reason}: {' '.join(last[-1].split())[:200]}"
        failed = left[0] if left and states else None
        return Watched(done, failed, reason, *text)


def _run(command: Sequence[str], jobs: Sequence[Job], tools: Tools, log: Path, said: Path) -> str:
    """Run a command while it goes on; why it did not end well, or the empty string."""
    labels = {job.number: job.case.label for job in jobs}
    limit = SILENT_S + max(job.device.time_limit_s for job in jobs)
    with said.open("wb") as printed:
        process = subprocess.Popen(
            command,
            env=children.environment(),
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            heard, since = 0, time.monotonic()
            while process.poll() is None:
                interruption.check()
                states = _states(log)
                if len(states) + sum(state == "done" for state in states.values()) > heard:
                    heard, since = len(states) + sum(state == "done" for state in states.values()), time.monotonic()
                    tools.progress.now(labels[list(states)[-1]])
                if time.monotonic() - since > limit:
                    return f"nothing happened for {limit:g} s; the process was ended"
                time.sleep(POLL_S)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return f"the process ended with exit status {process.returncode}"


def _states(log: Path) -> dict[int, str]:
    found: dict[int, str] = {}
    for line in _text(log).splitlines():
        with contextlib.suppress(ValueError, KeyError):  # the last line may be incomplete
            one = json.loads(line)
            found[int(one["job"])] = str(one["state"])
    return found


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""
