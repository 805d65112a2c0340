"""The protocol of a cluster, and how the parent watches its shards: it merges each row once all rounds are measured."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from runner import interruption
from runner.display.terminal import SweepProgress
from runner.errors import DeviceUnavailable, UsageError
from runner.files import safe
from runner.record.folder import RunFolder
from runner.record.shards import ShardFolder, merge_shard, note_gpu
from runner.sweep.ledger import Ledger, is_finished

EVERY_S = 0.5  # between two polls of the shards
RESTARTS = 3  # most restarts of a shard that lost its node or reached its time limit, per parent


@dataclass(frozen=True)
class State:
    """The state of a shard, from its launcher."""

    ended: bool
    location: str = ""  # the GPU or node, while it runs
    reason: str = ""  # why it ended early
    restartable: bool = False  # whether the cluster ended it, so that another start may finish it


class Cluster(Protocol):
    """Starts shards and reports their states. It knows folders of shards, but neither jobs nor rows."""

    name: str  # the launcher's name, for rows
    max_running: int  # most shards that may run at the same time
    every_s: float  # between two calls of `state`
    silent: str  # why the states are unknown now; empty if they are known

    def start(self, shards: Sequence[ShardFolder]) -> None:
        """Start the shards that are not running.

        Raises:
            UsageError: The cluster refuses them.
        """

    def state(self, shard: ShardFolder) -> State:
        """Look up the state of a shard."""

    def cancel(self) -> None:
        """Terminate all shards that were started. They save their rows."""


@dataclass
class WatchedShard:
    """A shard that the parent watches."""

    folder: ShardFolder
    jobs: frozenset[int]
    ended: bool = False
    noted: bool = False  # whether environment.json has its GPU
    read: dict[str, int] = field(default_factory=dict)  # bytes read of each start's rows.jsonl
    lines: int = 0  # rows read
    total: int = 0  # rows of all its cases and rounds; 0 until the first was read
    first: tuple[float, int] | None = None  # time of the first read, and the rows then
    restarts: int = 0
    before: int = -1  # rows at the last restart

    def new_lines(self) -> Iterator[Mapping[str, Any]]:
        """Yield the complete lines that its starts have written since the last call."""
        for attempt in self.folder.attempts():
            try:
                with safe.stream(self.folder.sweep.path, attempt.rows) as file:
                    file.seek(self.read.get(attempt.path.name, 0))
                    new = file.read()
            except OSError:
                continue
            complete = new[: new.rfind(b"\n") + 1]
            self.read[attempt.path.name] = self.read.get(attempt.path.name, 0) + len(complete)
            for text in complete.splitlines():
                with suppress(ValueError):
                    if isinstance(line := json.loads(text), dict):
                        self.lines += "said" not in line
                        yield line
        if self.first is None and self.lines:
            self.first = time.monotonic(), self.lines

    @property
    def remaining_s(self) -> float | None:
        """Estimated seconds until it has all its rows; `None` if unknown."""
        if self.first is None or self.lines <= self.first[1]:
            return None
        return max(self.total - self.lines, 0) * (time.monotonic() - self.first[0]) / (self.lines - self.first[1])


class Watcher:
    """Watches the shards of a sweep until they end."""

    def __init__(
        self,
        ledger: Ledger,
        folder: RunFolder,
        progress: SweepProgress,
        cluster: Cluster,
        watched: Sequence[WatchedShard],
    ) -> None:
        """Prepare to watch shards.

        Args:
            ledger: Gets the shards' rows.
            folder: The sweep's folder.
            progress: Where rows and messages go.
            cluster: Reports the shards' states.
            watched: The shards.
        """
        self._ledger, self._folder, self._progress, self._cluster = ledger, folder, progress, cluster
        self._watched = watched
        self._jobs = {job.number: job for job in ledger.jobs}
        self._reasons: dict[int, str] = {}  # why shards ended early, by number
        self._messages: dict[str, int] = {}  # messages, and the shard that sent each first
        self._silent = ""

    def watch(self) -> bool:
        """Wait until all shards have ended.

        Returns:
            Whether no shard ended early.

        Raises:
            DeviceUnavailable: A shard ended early, and no shard has a row.
        """
        self._progress.stage("measuring", sum(len(shard.jobs) for shard in self._watched))
        asked = 0.0
        while not all(shard.ended for shard in self._watched):
            interruption.check()
            ask = time.monotonic() - asked >= self._cluster.every_s
            asked = time.monotonic() if ask else asked
            for shard in self._watched:
                if not shard.ended:
                    self._update(shard, self._cluster.state(shard.folder) if ask else State(ended=False))
            if ask:
                self._report_silence()
                self._progress.set_remaining(self._remaining_s())
                self._progress.show_step(self._status())
            if not all(shard.ended for shard in self._watched):
                time.sleep(EVERY_S)
        if self._reasons and self._ledger.empty:
            raise DeviceUnavailable(next(iter(self._reasons.values())))
        for shard in self._watched:
            if reason := self._reasons.get(shard.folder.number):
                self._ledger.mark_not_run(reason, [self._jobs[n] for n in shard.jobs if n in self._jobs])
        return not self._reasons

    def _update(self, shard: WatchedShard, state: State) -> None:
        """Merge the cases that a shard has finished since the last call; all of its cases, if it has ended."""
        lines = list(shard.new_lines())
        for line in lines:
            if "said" in line:
                self._print_message(shard.folder.number, str(line["said"]), warning=bool(line.get("warning")))
        done = [line.get("job") for line in lines if self._complete(line)]
        shard.ended = state.ended
        self._add(shard, sorted(shard.jobs if state.ended else shard.jobs.intersection(done)))
        if not state.ended or all(
            is_finished(self._jobs[n], self._ledger.row(self._jobs[n])) for n in shard.jobs if n in self._jobs
        ):
            return
        number = shard.folder.number
        reason = f"shard {number}: {state.reason or 'it ended early'}"
        if state.restartable and self._restart(shard, reason):
            return
        self._reasons[number] = reason
        self._progress.warn(reason)

    def _restart(self, shard: WatchedShard, reason: str) -> bool:
        """Restart a shard if its last start has measured something, up to `RESTARTS` times. Returns whether it did."""
        if shard.restarts == RESTARTS or shard.lines <= shard.before:
            return False
        shard.restarts, shard.before = shard.restarts + 1, shard.lines
        self._progress.warn(f"{reason}; starting it again ({shard.restarts} of {RESTARTS} times)")
        try:
            self._cluster.start([shard.folder])
        except UsageError as e:
            self._progress.warn(str(e))
            return False
        shard.ended = False
        return True

    def _print_message(self, number: int, text: str, *, warning: bool) -> None:
        """Print a shard's message, unless another shard has sent the same."""
        if self._messages.setdefault(text, number) == number:
            (self._progress.warn if warning else self._progress.say)(f"shard {number}: {text}")

    def _report_silence(self) -> None:
        """Warn once when the cluster stops answering, and once when it answers again."""
        if bool(self._cluster.silent) != bool(self._silent):
            self._progress.warn(self._cluster.silent or f"{self._cluster.name}: answers again")
        self._silent = self._cluster.silent

    def _complete(self, line: Mapping[str, Any]) -> bool:
        job = self._jobs.get(line.get("job", -1))
        return job is not None and is_finished(job, {"device": job.device.kind, "status": "", **line})

    def _add(self, shard: WatchedShard, numbers: Sequence[int]) -> None:
        new = merge_shard(self._folder, shard.folder, numbers)
        if shard.ended or (new and not shard.noted):
            note_gpu(self._folder, shard.folder)
            shard.noted = True
        for number, row in new.items():
            job = self._jobs[number]
            self._ledger.opened([job], str(row["device"]))
            self._ledger.add(job, row)
            self._progress.step(int(is_finished(job, row)))
            self._progress.row(f"{job.case.label} (shard {shard.folder.number})", row)

    def _remaining_s(self) -> float | None:
        """Estimated seconds of the shard with the most left; `None` while a shard has not begun."""
        most = 0.0
        for shard in (shard for shard in self._watched if not shard.ended):
            if shard.first and not shard.total:
                own = [job for n in shard.jobs if (job := self._jobs.get(n))]
                shard.total = sum(job.timing.protocol(self._ledger.kind(job)).rounds for job in own)
            if (left := shard.remaining_s) is None:
                return None
            most = max(most, left)
        return most

    def _status(self) -> str:
        states = [(shard, self._cluster.state(shard.folder)) for shard in self._watched if not shard.ended]
        running = [(shard, state.location) for shard, state in states if state.location]
        done = sum(shard.ended for shard in self._watched)
        waiting = len(self._watched) - done - len(running)
        where = ", ".join(f"shard {shard.folder.number} on {place}" for shard, place in running)
        counts = [f"{done} done"] * bool(done) + [f"{waiting} waiting"] * bool(waiting)
        return "; ".join([*counts, *([where] if where else [])])
