"""What is asked of a sweep's cases besides their verdict and times: the protocol of a stage, and what it works with.

The engine gets a list of stages and knows none by name; `runner.stages.all` has the list.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeVar

from runner.device import Compiler, DeviceInfo
from runner.display.terminal import SweepProgress
from runner.jobs.job import Job
from runner.record.folder import RunFolder
from runner.sweep.ledger import Ledger


class Closable(Protocol):
    """What several stages may use, and is closed behind the last one."""

    def close(self) -> None:
        """End what it has started."""


T = TypeVar("T", bound=Closable)


@dataclass
class Bench:
    """What the stages of a sweep work with. A context manager that closes what they share."""

    ledger: Ledger  # the rows, all on disk
    folder: RunFolder  # the sweep's, for records of a stage's own
    progress: SweepProgress  # where a stage of more than two seconds shows how far it is
    devices: Mapping[int, tuple[DeviceInfo, Compiler]]  # that were opened, by job
    spent_s: float  # seconds that the sweep took so far, of which a stage that nobody asked for takes a share
    _shared: dict[Callable[[], Any], Any] = field(default_factory=dict)
    _open: ExitStack = field(default_factory=ExitStack)
    _said: set[str] = field(default_factory=set)

    def say_once(self, sentence: str) -> None:
        """Print a sentence that several stages may have to say."""
        if sentence not in self._said:
            self._said.add(sentence)
            self.progress.say(sentence)

    def shared(self, make: Callable[[], T]) -> T:
        """What `make` makes at the first request, such as a pool of processes; later stages get the same."""
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
    """What follows the timed rounds of a sweep. It gives columns of rows, and records in the folder."""

    @abstractmethod
    def lacks(self, job: Job, row: dict[str, Any], folder: RunFolder) -> bool:
        """Whether a case that has its row still lacks this stage, so that a resumed sweep runs it."""

    @abstractmethod
    def run(self, bench: Bench) -> None:
        """Look at the cases that lack it, and add what is found to their rows.

        Raises:
            KeyboardInterrupt: After what is known is on disk.
        """

    def gather(self, folder: RunFolder) -> None:
        """Make the stage's tables of a whole folder, such as lines.csv, from the records of its jobs."""
        _ = folder  # most have no table
