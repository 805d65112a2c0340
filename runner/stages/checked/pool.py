"""Processes with a checked CPU device each, which the stages of a sweep share."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from runner.device import Binary
from runner.device.config import DeviceConfig
from runner.device.kinds import CHECKED
from runner.device.limits import Limits
from runner.errors import DeviceUnavailable
from runner.stages.checked.builds import build, built_before, compiler, host_source
from runner.sweep.worker import GRACE_S, Answer, Worker

if TYPE_CHECKING:
    from runner.device.cpu.build import CpuCompiler
    from runner.kernel.case import Case

Found = TypeVar("Found")

INPUTS_S = 60.0  # to make the inputs of a case


class Pool:
    """Processes with a checked device each, of one thread, so that what it finds is the same in every run.

    A process belongs to a thread of this one, which compiles for it. All of them can be ended at any moment.
    """

    def __init__(self) -> None:
        """Start nothing yet."""
        self.most = len(os.sched_getaffinity(0))
        self._workers: dict[int, Worker] = {}  # by thread
        self._threads: ThreadPoolExecutor | None = None
        self._compiler: CpuCompiler | None = None
        self._lock = threading.Lock()
        self._ended = False

    def start(self, work: Callable[..., Found], *given: Any) -> Future[Found]:
        """Call `work(pool, *given)` in a thread; at most `most` run at once."""
        if self._threads is None:
            self._threads, self._ended = ThreadPoolExecutor(self.most, "checked"), False
        return self._threads.submit(work, self, *given)

    def compiled(self, case: Case, limits: Limits) -> Binary:
        """A case's kernel, compiled for the checked device. Raises `CompileError`, `DeviceUnavailable`, `OSError`."""
        source = host_source(case)
        if found := built_before(source):
            return found
        with self._lock:
            self._compiler = self._compiler or compiler(limits)
        return build(self._compiler, source)

    def call(self, config: DeviceConfig, function: Callable[..., Any], *given: Any, limit_s: float) -> Answer:
        """Call `function(device, heartbeat, *given)` in this thread's process, on a device that is set like `config`.

        A process that is silent for longer than its launch may take, `limit_s`, and its inputs, is ended. The answer
        is plain data, or has the reason why there is none.
        """
        try:
            return self._worker(config).call(function, *given, limit=2 * limit_s + GRACE_S + INPUTS_S)
        except (DeviceUnavailable, OSError) as e:  # the latter if it is ended meanwhile
            return Answer(reason=str(e))

    def close(self) -> None:
        """End all processes, whatever they are doing. What is started later begins anew."""
        with self._lock:
            self._ended = True
            workers, compiler = list(self._workers.values()), self._compiler
            self._workers, self._compiler = {}, None
        if compiler:
            compiler.stop()
        for worker in workers:
            worker.kill()
        if self._threads:
            self._threads.shutdown(cancel_futures=True)
            self._threads = None

    def _worker(self, config: DeviceConfig) -> Worker:
        """The worker of this thread; a new one if there is none, or it ended."""
        wanted = replace(config, kind=CHECKED, threads=1, same_value_races="hazard")
        mine, before = threading.get_ident(), self._workers.get(threading.get_ident())
        if before and before.takes(wanted):
            return before
        if before:
            before.kill()
        with self._lock:
            if self._ended:
                raise DeviceUnavailable("it was ended")
            self._workers[mine] = worker = Worker(wanted)
        return worker
