"""What a step of `profile` is, and what it works with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from runner.config import Job
from runner.display.terminal import SweepProgress
from runner.record.folder import RunFolder

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Result:
    """What a step has to say about a case."""

    record: Mapping[str, Any]  # for profile.json; `reason` says why nothing could be measured
    columns: Mapping[str, Any] = field(default_factory=dict)  # of results.csv


@dataclass(frozen=True)
class Tools:
    """What a step works with."""

    folder: RunFolder
    rows: Mapping[int, Row]  # by job
    progress: SweepProgress

    def say(self, sentence: str) -> None:
        """Print a sentence that stays, also in quiet mode."""
        self.progress.warn(f"profile: {sentence}")


class Step(Protocol):
    """One way of profiling."""

    name: str

    def wants(self, job: Job, row: Row) -> bool:
        """Whether a case is to be profiled so, given its finished row."""

    def run(self, jobs: Sequence[Job], tools: Tools) -> Iterator[tuple[Job, Result]]:
        """Profile cases of one device configuration, and give each result as soon as it is known."""


def known(folder: RunFolder, job: int) -> dict[str, Any]:
    """What the steps said about a job, by the step's name."""
    content = folder.json(folder.profile(job))
    return content if isinstance(content, dict) else {}
