"""The processes that launch small cases on checked devices, and the compiler. They can be ended at any moment."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from runner.device import Binary
from runner.device.kinds import CHECKED
from runner.errors import CompileError, DeviceUnavailable
from runner.kernel.case import Case
from runner.racecheck import known
from runner.racecheck.launched import launched
from runner.settings import DeviceConfig
from runner.sweep import checked_builds
from runner.sweep.worker import GRACE_S, Worker

if TYPE_CHECKING:
    from runner.device.cpu import CpuCompiler


@dataclass(frozen=True)
class Task:
    """A small case to launch."""

    case: Case
    device: DeviceConfig  # of the sweep: its schedules, sandbox and limits count
    limit_s: float  # of a launch


@dataclass(frozen=True)
class Found:
    """What was found in a case; or why it was not looked at."""

    findings: tuple[dict[str, Any], ...] = ()  # as hazards.json has them
    said: tuple[str, ...] = ()  # rules that were broken at no line
    reason: str = ""


@dataclass
class Pool:
    """Worker processes, each with a checked device of one thread, so that what it finds is the same in every run."""

    processes: int
    _workers: dict[int, Worker] = field(default_factory=dict)  # by thread
    _threads: ThreadPoolExecutor | None = None
    _compiler: CpuCompiler | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _closed: bool = False

    def start(self, task: Task) -> Future[Found]:
        """Begin to compile and launch a case."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self.processes, "races")  # a worker ends with its thread
        return self._threads.submit(self._look, task)

    def close(self) -> None:
        """End all processes, whatever they are doing."""
        with self._lock:
            self._closed = True
            workers, compiler = list(self._workers.values()), self._compiler
        if compiler:
            compiler.stop()
        for worker in workers:
            worker.kill()
        if self._threads:
            self._threads.shutdown(cancel_futures=True)

    def _look(self, task: Task) -> Found:
        """Compile and launch a case, in a thread of the pool."""
        source = checked_builds.host_source(task.case)
        try:
            binary = checked_builds.built_before(source) or checked_builds.build(self._compilers(task.device), source)
        except (CompileError, DeviceUnavailable) as e:
            return Found(reason=f"it does not compile for the host: {str(e).partition(chr(10))[0]}")
        except OSError as e:
            return Found(reason=str(e))
        return found_before(task, binary) or self._launched(task, binary)

    def _launched(self, task: Task, binary: Binary) -> Found:
        try:
            worker = self._worker(task.device)
            limit = 2 * task.limit_s + GRACE_S + 60  # inputs are made in it, too
            answer = worker.call(launched, task.case, binary, task.limit_s, limit=limit)
        except (DeviceUnavailable, OSError) as e:  # the latter if it is ended meanwhile
            return Found(reason=str(e))
        if not isinstance(answer.value, dict):
            return Found(reason=answer.reason)
        known.keep(task.case, binary, task.device, answer.value)
        return _read(answer.value, task)

    def _compilers(self, config: DeviceConfig) -> CpuCompiler:
        with self._lock:
            self._compiler = self._compiler or checked_builds.compiler(config.compile_limits)
            return self._compiler

    def _worker(self, config: DeviceConfig) -> Worker:
        """The worker of this thread; a new one if there is none, or it ended."""
        wanted = replace(config, kind=CHECKED, threads=1, same_value_races="hazard")
        mine, before = threading.get_ident(), self._workers.get(threading.get_ident())
        if before and before.takes(wanted):
            return before
        if before:
            before.kill()
        with self._lock:
            if self._closed:
                raise DeviceUnavailable("it was ended")
            self._workers[mine] = worker = Worker(wanted)
        return worker


def found_before(task: Task, binary: Binary | None = None) -> Found | None:
    """What is known from an earlier run; `None` if nothing is, or the kernel must be compiled first."""
    binary = binary or checked_builds.built_before(checked_builds.host_source(task.case))
    before = binary and known.read(task.case, binary, task.device)
    return _read(before, task) if before else None


def _read(value: dict[str, Any], task: Task) -> Found:
    findings, said = tuple(value["findings"]), tuple(value["said"])
    if value["late"] and not (findings or said):
        return Found(reason=f"a launch takes more than {task.limit_s:g} s on the checked CPU device")
    return Found(findings, said)
