"""The protocol of a stage: work on the cases of a sweep after their verdicts and times, such as counting line costs.

The engine runs a list of stages without knowing their names; `runner.stages.all` has the list.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeVar

from runner.device import Binary, Compiler, DeviceInfo
from runner.display.terminal import SweepProgress
from runner.jobs.job import Job
from runner.record.folder import RunFolder
from runner.sweep.ledger import Rows
from runner.sweep.pool import Pool, Slot


class Closable(Protocol):
    """A resource that several stages share. It is closed after the last stage."""

    def close(self) -> None:
        """Release the resource."""


T = TypeVar("T", bound=Closable)


@dataclass(frozen=True)
class Opened:
    """A device that measured jobs."""

    info: DeviceInfo
    compiler: Compiler
    slot: Slot
    binaries: Mapping[int, Binary]  # those that were launched, by job


@dataclass
class Bench:
    """The inputs and shared resources of a sweep's stages. A context manager that closes the resources."""

    ledger: Rows  # the rows, all on disk
    progress: SweepProgress  # for stages that take more than two seconds
    pool: Pool  # the devices of this machine, for stages that use each job's own
    devices: Mapping[int, Opened]  # the opened device of each job, by number
    deadline: float = math.inf  # on the clock of `time.monotonic`, for what nobody asked for: all such work shares it
    _shared: dict[Callable[[], Any], Any] = field(default_factory=dict)
    _open: ExitStack = field(default_factory=ExitStack)
    _said: set[str] = field(default_factory=set)

    @property
    def folder(self) -> RunFolder:
        """The sweep's folder, for the stage's records."""
        return self.ledger.folder

    @property
    def remaining_s(self) -> float:
        """The time that is left for work that nobody asked for; 0 if none is."""
        return max(0.0, self.deadline - time.monotonic())

    def say_once(self, sentence: str) -> None:
        """Print a sentence unless an earlier stage printed it."""
        if sentence not in self._said:
            self._said.add(sentence)
            self.progress.say(sentence)

    def shared(self, make: Callable[[], T]) -> T:
        """Return the resource that `make` creates, such as a pool of processes. It is created once for all stages."""
        if make not in self._shared:
            self._shared[make] = made = make()
            self._open.callback(made.close)
        found: T = self._shared[make]
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()


class Stage(ABC):
    """A step after the timed rounds. It adds columns to rows and writes records into the run folder.

    A stage never changes a measured time. The engine, the worker and the pipe know no stage: results leave a stage
    through the ledger and the folder only, and functions that it sends to a worker return plain data.
    """

    @abstractmethod
    def lacks(self, job: Job, row: dict[str, Any], folder: RunFolder) -> bool:
        """Whether this stage has yet to process a case. A resumed sweep then runs it.

        Args:
            job: The case.
            row: Its row.
            folder: The sweep's folder, which has the stage's records.
        """

    @abstractmethod
    def run(self, bench: Bench) -> None:
        """Process the cases that `lacks` names, and add the results to their rows.

        Raises:
            KeyboardInterrupt: After all results so far are on disk.
        """

    def gather(self, folder: RunFolder) -> None:
        """Rebuild the stage's tables of the whole folder, such as lines.csv, from the records of its jobs."""
        _ = folder  # by default a stage has no table
