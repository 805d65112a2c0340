"""Worker processes with one checked CPU device each, shared by the stages of a sweep."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from runner import interruption
from runner.device import Binary
from runner.device.config import DeviceConfig
from runner.device.kinds import CHECKED
from runner.device.limits import Limits
from runner.errors import CompileError, DeviceUnavailable
from runner.stages.checked.builds import build, cached_build, compiler, host_source
from runner.sweep.worker import GRACE_S, Answer, Worker

if TYPE_CHECKING:
    from runner.device.cpu.build import CpuCompiler
    from runner.kernel.case import Case

Result = TypeVar("Result")
C = TypeVar("C")

INPUTS_LIMIT_S = 60.0  # for making a case's inputs
START_S = 1.0  # time that starting a worker takes; with less time left, none is started
POLL_S = 0.5  # between two checks for Ctrl-C


class Pool:
    """Worker processes with one checked device each. The device has one thread, so every run finds the same.

    Each worker belongs to one thread of this process, which compiles for it. `close` ends them at any moment.
    """

    def __init__(self) -> None:
        """Create an empty pool; `start` and `call` open threads and workers."""
        self.size = len(os.sched_getaffinity(0))
        self._workers: dict[int, Worker] = {}  # by thread
        self._threads: ThreadPoolExecutor | None = None
        self.has_started = False  # whether a call was started
        self._compiler: CpuCompiler | None = None
        self._lock = threading.Lock()
        self._ended = False

    def start(self, work: Callable[..., Result], *arguments: Any) -> Future[Result]:
        """Call `work(pool, *arguments)` in a thread. At most `size` calls run at once."""
        self.has_started = True
        if self._threads is None:
            self._threads, self._ended = ThreadPoolExecutor(self.size, "checked"), False
        return self._threads.submit(work, self, *arguments)

    def run(
        self,
        begin: Callable[[], bool],
        running: dict[Future[Result], C],
        remaining_s: Callable[[C], float],
        take: Callable[[C, Result], None],
        show: Callable[[C], None],
    ) -> None:
        """Start calls and take their results until nothing runs or no time is left.

        Calls that still run then are ended, and stay in `running`.

        Args:
            begin: Starts calls while workers are free; returns whether any is running.
            running: The calls that `begin` has started, each with what it is for.
            remaining_s: The time that is left for a call.
            take: Takes the result of a call.
            show: Shows one of the running calls; called now and then.

        Raises:
            KeyboardInterrupt: On Ctrl-C.
        """
        try:
            while begin() or running:
                left_s = max(map(remaining_s, running.values()))
                if left_s <= 0:
                    break
                done, _ = wait(running, min(left_s, POLL_S), FIRST_COMPLETED)
                interruption.check()
                show(next(iter(running.values())))
                for future in done:
                    take(running.pop(future), future.result())
        finally:
            if running:
                self.close()

    def is_ready(self, limits: Limits) -> bool:
        """Whether the checked device's library is compiled already. False if the host has no C++ compiler."""
        with suppress(CompileError):
            return self._compiler_of(limits).is_ready
        return False

    def can_start(self, remaining_s: float) -> bool:
        """Whether the time that is left suffices for another call."""
        return remaining_s > (0.0 if self.has_started else START_S)

    def compiled(self, case: Case, limits: Limits) -> Binary:
        """Compile a case's kernel for the checked device, or take it from the cache.

        Raises:
            CompileError: The host's compiler rejects the source.
            DeviceUnavailable: The host has no C++ compiler.
            OSError: The cache cannot be written.
        """
        source = host_source(case)
        if binary := cached_build(source):
            return binary
        return build(self._compiler_of(limits), source)

    def call(self, config: DeviceConfig, function: Callable[..., Any], *arguments: Any, limit_s: float) -> Answer:
        """Call `function(device, heartbeat, *arguments)`, a module-level function, in this thread's worker.

        Args:
            config: The sweep's device settings; the checked device takes its schedules, sandbox and limits from them.
            function: Returns plain data.
            arguments: Its further arguments.
            limit_s: Time limit of one launch, in seconds. The worker is ended after twice that, a grace period and
                `INPUTS_LIMIT_S` without a heartbeat.

        Returns:
            An answer with the function's value, or with the reason why there is no value.
        """
        try:
            return self._worker(config).call(function, *arguments, limit=2 * limit_s + GRACE_S + INPUTS_LIMIT_S)
        except (DeviceUnavailable, OSError) as e:  # OSError if `close` ended the worker meanwhile
            return Answer(reason=str(e))

    def close(self) -> None:
        """Kill all workers and the compiler. A later `start` opens new ones."""
        with self._lock:
            self._ended, self.has_started = True, False
            workers, compiler = list(self._workers.values()), self._compiler
            self._workers, self._compiler = {}, None
        if compiler:
            compiler.stop()
        for worker in workers:
            worker.kill()
        if self._threads:
            self._threads.shutdown(cancel_futures=True)
            self._threads = None

    def _compiler_of(self, limits: Limits) -> CpuCompiler:
        with self._lock:
            self._compiler = self._compiler or compiler(limits)
            return self._compiler

    def _worker(self, config: DeviceConfig) -> Worker:
        """The live worker of this thread for a configuration; opens one if needed."""
        config = replace(config, kind=CHECKED, threads=1, same_value_races="hazard")
        thread = threading.get_ident()
        if worker := self._workers.get(thread):
            if worker.takes(config):
                return worker
            worker.kill()
        with self._lock:
            if self._ended:
                raise DeviceUnavailable("the pool of checked devices was closed")
            self._workers[thread] = worker = Worker(config)
        return worker
