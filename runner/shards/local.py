"""The launcher `gpus`: one process for each GPU of this machine; without a GPU, processes on the CPU device."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from runner import children
from runner.errors import UsageError
from runner.record.folder import RunFolder
from runner.record.shards import ShardFolder
from runner.shards.watch import CANCEL_S, EVERY_S, State

LAST_LINE = 400  # characters of a failed shard's last message


def gpus() -> list[str]:
    """List the GPUs that this process may use.

    Returns:
        The entries of `CUDA_VISIBLE_DEVICES`, or the UUIDs of all GPUs; empty without NVML.
    """
    if (given := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:  # an empty value or -1 hides all GPUs
        return list(itertools.takewhile(lambda one: one not in ("", "-1"), map(str.strip, given.split(","))))
    try:
        import pynvml  # noqa: PLC0415  (optional)

        pynvml.nvmlInit()
        handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
        return [str(pynvml.nvmlDeviceGetUUID(handle)) for handle in handles]
    except Exception:  # noqa: BLE001  (NVML may be missing, and raises its own classes)
        return []


class LocalGpus:
    """Runs each shard in a process that sees one GPU."""

    name = "gpus"
    every_s = EVERY_S
    silent = ""

    def __init__(self, chosen: Sequence[str], shards: int, *, on_cpu: bool = False) -> None:
        """Choose the GPUs.

        Args:
            chosen: Numbers or UUIDs of GPUs; empty for all.
            shards: Number of processes on the CPU device, if it is used.
            on_cpu: Use the CPU device. It is also used if the machine has no GPU.

        Raises:
            UsageError: A chosen GPU does not exist, or is named twice.
        """
        known = gpus()
        if chosen:
            for one in chosen:
                if one.isdecimal() and int(one) >= len(known):
                    numbers = f"0 to {len(known) - 1}" if len(known) > 1 else "0" if known else "none"
                    raise UsageError(f"hydra.launcher.gpus={one}: no such GPU on this machine; available: {numbers}")
                if not one.isdecimal() and not one.startswith(("GPU-", "MIG-")):  # CUDA would hide all GPUs
                    raise UsageError(f"hydra.launcher.gpus={one}: expected a number, or a UUID (GPU-..., MIG-...)")
            self._places = [known[int(one)] if one.isdecimal() else one for one in chosen]
            if twice := next((one for one in self._places if self._places.count(one) > 1), ""):
                raise UsageError(
                    f"hydra.launcher.gpus: {twice} is listed twice; two shards on one GPU disturb each other's times"
                )
        else:
            self._places = [] if on_cpu else known
        self._on_cpu = not self._places
        if self._on_cpu:
            self._places = ["the CPU device"] * shards
        self.most = len(self._places)
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._where: dict[int, str] = {}
        self._earlier: dict[int, ShardFolder] = {}  # running shards that an earlier parent has started

    def environments(self) -> list[dict[str, str]]:
        """The environment variables of each GPU's worker, which make it see this GPU alone."""
        return [self._environment(place) for place in self._places]

    def device(self) -> dict[str, str]:
        """The environment variables that make a worker see the first GPU."""
        return self._environment(self._places[0])

    def start(self, shards: Sequence[ShardFolder]) -> None:
        """Start the shards that are not running."""
        running = {shard.number: _place(shard) for shard in shards if shard.running}
        self._where |= running
        free = list(self._places)
        for place in running.values():
            if place in free:
                free.remove(place)
        for shard in shards:
            if shard.number in running:
                continue
            own = self._places[shard.copy % self.most]  # a copy of the sweep stays on its GPU
            place = self._where[shard.number] = free.pop(free.index(own) if own in free else 0)
            shard.sweep.write_json(shard.path / "place.json", place)
            lock = RunFolder(shard.path).lock()  # the child inherits it, so the shard is locked from its start
            with shard.log.open("ab") as log:
                self._processes[shard.number] = subprocess.Popen(
                    _command(shard),
                    env={**children.environment(), **self._environment(place)},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,  # Ctrl-C reaches the parent alone, which then ends the shards
                    pass_fds=(lock,),
                )
            os.close(lock)

    def state(self, shard: ShardFolder) -> State:
        """Whether a shard's process has ended, and how."""
        where = self._where.get(shard.number, "")
        process = self._processes.get(shard.number)
        if process is None:
            if running := shard.running:
                self._earlier[shard.number] = shard
            return State(ended=not running, where=where, why=last_line(shard.log) or "its process ended")
        if (code := process.poll()) is None:
            return State(ended=False, where=where)
        if code < 0:
            return State(ended=True, where=where, why=f"its process ended by signal {signal.Signals(-code).name}")
        why = _not_run(shard) if code == 0 else last_line(shard.log)
        return State(ended=True, where=where, why=why or f"its process ended with exit status {code}")

    def cancel(self) -> None:
        """Terminate all processes, also those of an earlier parent; kill them after `CANCEL_S`."""
        for process in self._processes.values():
            process.terminate()
        _signal(self._earlier.values(), signal.SIGTERM)
        deadline = time.monotonic() + CANCEL_S
        for process in self._processes.values():
            try:
                process.wait(max(deadline - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        while any(shard.running for shard in self._earlier.values()) and time.monotonic() < deadline:
            time.sleep(0.1)
        _signal(self._earlier.values(), signal.SIGKILL)

    def _environment(self, place: str) -> dict[str, str]:
        return {} if self._on_cpu else {"CUDA_VISIBLE_DEVICES": place}


def _not_run(shard: ShardFolder) -> str:
    """Why a shard that ended normally left cases out; empty if it gives no reason."""
    rows = (attempt.row(number) for attempt in shard.attempts()[-1:] for number in shard.jobs)
    return next((str(row.get("reason") or "") for row in rows if row and row["status"] == "not_run"), "")


def _signal(earlier: Iterable[ShardFolder], number: signal.Signals) -> None:
    """Send a signal to the processes of shards that an earlier parent started, found by their command lines."""
    commands = [_command(shard)[1:] for shard in earlier if shard.running]
    for file in Path("/proc").glob("[0-9]*/cmdline") if commands else ():
        with suppress(OSError):  # it has ended, or belongs to another user
            if file.read_bytes().decode(errors="surrogateescape").split("\0")[1:-1] in commands:
                os.kill(int(file.parent.name), number)


def _command(shard: ShardFolder) -> list[str]:
    return [sys.executable, "-m", "runner.shards.process", str(shard.sweep.path), str(shard.number)]


def _place(shard: ShardFolder) -> str:
    return str(shard.sweep.json(shard.path / "place.json") or "a GPU of this machine")


def last_line(log: Path) -> str:
    """Read the last message in a shard's log; empty if there is none."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1].removeprefix("runner: ")[:LAST_LINE] if lines else ""
