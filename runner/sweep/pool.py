"""The workers of a run on this machine: one, or one for each GPU.

A slot is a GPU (or the CPU device) with its worker. One slot is used by the calling thread. With several, each slot has
a thread, because a worker ends with the thread that started it; so no worker outlives this process, even if it is
killed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Any, Self, TypeVar

from runner.device import DeviceInfo
from runner.device.config import DeviceConfig
from runner.device.kinds import compiler_for
from runner.display.terminal import SweepProgress
from runner.errors import DeviceUnavailable
from runner.sweep.compiling import Compilation
from runner.sweep.worker import Worker

T = TypeVar("T")


class Stopped(Exception):
    """The pool was killed while one of its slots was at work. It never leaves the engine."""


class Slot:
    """A GPU and its worker."""

    def __init__(self, number: int, environment: Mapping[str, str], worker: Worker | None = None) -> None:
        """`environment` makes a process see this GPU alone; `worker` was started ahead."""
        self.number, self.environment = number, environment
        self._worker = worker
        self._stopped = False
        self.thread = ThreadPoolExecutor(1, f"slot {number}")

    def worker(self, config: DeviceConfig) -> Worker:
        """The live worker with this device. Starts one if needed.

        Raises:
            Stopped: The pool was killed.
        """
        if self._worker is None or not self._worker.takes(config):
            self.kill()
            if self._stopped:
                raise Stopped
            self._worker = Worker(config, self.environment)
        return self._worker

    def idle_worker(self, config: DeviceConfig) -> Worker:
        """As `worker`, but wait until its calls of `start_call` end; a new one if such a call ended the process."""
        worker = self.worker(config)
        worker.finish_calls()
        return self.worker(config)

    def require_running(self) -> None:
        """Raise `Stopped` if the pool was killed, so that the end of its worker is not taken for a crash."""
        if self._stopped:
            raise Stopped

    def close(self) -> None:
        """Shut the worker down gracefully, if there is one."""
        if self._worker:
            self._worker.close()
            self._worker = None

    def release(self) -> None:
        """End the worker in the background."""
        worker, self._worker = self._worker, None
        if worker:
            threading.Thread(target=worker.close, name="closing").start()

    def kill(self, *, for_good: bool = False) -> None:
        """End the worker at once. With `for_good`, the slot starts no other."""
        self._stopped |= for_good
        if self._worker:
            self._worker.kill()  # may interrupt a launch


class Pool:
    """The slots of a run. A context manager that ends all workers."""

    def __init__(
        self,
        environments: Sequence[Mapping[str, str]] = ({},),
        worker: Worker | None = None,
        *,
        keep_workers: bool = False,
    ) -> None:
        """Create a pool. Workers start when the engine needs them.

        Args:
            environments: The environment variables of each slot's processes, which make them see one GPU.
            worker: A worker for the first slot that was started ahead; it is used if its device fits.
            keep_workers: Leave workers open for the engine's next call.
        """
        self.size = len(environments)
        self.slots = [Slot(n, environment, None if n else worker) for n, environment in enumerate(environments)]
        self.keeps_workers = keep_workers
        self._compilations: dict[tuple[str, ...], Compilation] = {}
        self._lock = threading.Lock()

    def compilation(self, config: DeviceConfig, info: DeviceInfo, compiler: str) -> Compilation:
        """The compilation for an open device, shared by all calls of the engine. Raises as `kinds.compiler_for`."""
        key = (*config.key, info.kind, info.arch, compiler)
        with self._lock:
            if key not in self._compilations:
                self._compilations[key] = Compilation(compiler_for(config, info, compiler))
            return self._compilations[key]

    def open(self, config: DeviceConfig, warn: Callable[[str], Any]) -> None:
        """Open a device in all slots at once. A slot whose device cannot be opened is lost.

        Raises:
            DeviceUnavailable: No device can be opened.
        """
        for slot in self.slots:
            slot.worker(config)
        for slot in list(self.slots):
            try:
                _ = slot.worker(config).info
            except DeviceUnavailable as e:
                if len(self.slots) == 1:
                    raise
                self.drop(slot, str(e), warn)
        if not self.slots:
            raise DeviceUnavailable("all GPUs were lost")

    def drop(self, slot: Slot, reason: str, warn: Callable[[str], Any]) -> None:
        """Stop using a slot, and warn the user."""
        warn(f"GPU {slot.number} is no longer used: {reason}")
        slot.kill(for_good=True)
        slot.thread.shutdown(wait=False)
        self.slots.remove(slot)

    def first(self) -> Pool:
        """A pool of the first slot alone."""
        pool = Pool(())
        pool.size, pool.slots, pool.keeps_workers = 1, self.slots[:1], self.keeps_workers
        pool._compilations = self._compilations
        return pool

    def together(self, work: Mapping[Slot, Callable[[], T]]) -> dict[Slot, T | DeviceUnavailable]:
        """Run functions at the same time, each in its slot's thread; a single one in this thread.

        Returns:
            What each function returned, or that its device was lost.

        Raises:
            KeyboardInterrupt: After all workers were killed; so for any other error of a function.
            DeviceUnavailable: There is a single function, and its device was lost.
        """
        if len(work) == 1:
            return {slot: function() for slot, function in work.items()}
        futures = {slot: slot.thread.submit(_call_catching_lost_device, function) for slot, function in work.items()}
        try:
            ended, _ = wait(futures.values(), return_when=FIRST_EXCEPTION)
            for future in ended:
                future.result()
        except BaseException:
            self.kill()
            wait(futures.values())
            raise
        return {slot: future.result() for slot, future in futures.items()}

    def release(self) -> None:
        """End all workers in the background, unless they stay open for the next call."""
        for slot in () if self.keeps_workers else self.slots:
            slot.release()

    def kill(self) -> None:
        """End all workers at once; no other is started."""
        for slot in self.slots:
            slot.kill(for_good=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all workers, compilers and threads."""
        self.kill()
        for compilation in self._compilations.values():
            compilation.stop()
        for slot in self.slots:
            slot.thread.shutdown()


def _call_catching_lost_device(function: Callable[[], T]) -> T | DeviceUnavailable:
    """Call a function; return a DeviceUnavailable instead of raising it, so that the other slots can continue."""
    try:
        return function()
    except DeviceUnavailable as e:
        return e


class PartOfProgress(SweepProgress):
    """The progress of one slot of several: passes on rows, steps and messages. The stage is that of all slots."""

    _lock = threading.Lock()

    def __init__(self, whole: SweepProgress, number: int, remaining: dict[int, float | None]) -> None:
        """`remaining` is shared by the slots: the seconds that each still needs."""
        super().__init__(whole.console, quiet=True)
        self._whole, self._number, self._remaining = whole, number, remaining
        remaining[number] = None

    def show_step(self, what: str) -> None:
        """Show the current step."""
        with self._lock:
            self._whole.show_step(f"GPU {self._number}: {what}")

    def step(self, steps: int = 1) -> None:
        """Count steps as done."""
        with self._lock:
            self._whole.step(steps)

    def set_remaining(self, seconds: float | None) -> None:
        """Show the time that the slowest slot needs; `None` while one of them is unknown."""
        with self._lock:
            self._remaining[self._number] = seconds
            known = [value for value in self._remaining.values() if value is not None]
            self._whole.set_remaining(max(known) if len(known) == len(self._remaining) else None)

    def row(self, label: str, row: Mapping[str, Any]) -> None:
        """Show a finished case."""
        with self._lock:
            self._whole.row(label, row)

    def say(self, text: str) -> None:
        """Print a line that stays."""
        with self._lock:
            self._whole.say(text)

    def warn(self, text: str) -> None:
        """Print a line that stays, even in quiet mode."""
        with self._lock:
            self._whole.warn(text)
