"""The checked CPU device beside a sweep: kernels compiled for it, processes that launch them, notes of what was found.

Stages that count what lines cost, or look for races, share these. What was compiled or found before needs neither the
compiler nor a process: a note in the cache says what was made of a source, or found in a case.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from runner import __version__
from runner.device import Binary, Source, cache
from runner.device.kinds import CHECKED
from runner.device.limits import Limits
from runner.errors import DeviceUnavailable
from runner.files import atomic
from runner.settings import DeviceConfig
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


def host_source(case: Case) -> Source:
    """What is compiled for the host: cases that differ in options for a GPU's compiler share it."""
    return replace(case.source(), options=())


def compiler(limits: Limits = Limits()) -> CpuCompiler:  # noqa: B008  (frozen)
    """The host's C++ compiler, with instrumentation."""
    from runner.device.cpu.build import CpuCompiler  # noqa: PLC0415  (a sweep on a GPU that counts nothing needs none)

    return CpuCompiler(limits=limits, checked=True)


def build(compiler: CpuCompiler, source: Source) -> Binary:
    """Compile a kernel, and note what was made of it. Raises `CompileError` and `OSError`."""
    binary = compiler.compile(source)
    with suppress(OSError):
        atomic.write_text(_note(source), f"{binary.path}\n{compiler.library}")
    return binary


def built_before(source: Source) -> Binary | None:
    """What was made of a kernel earlier. The compiler itself would have to be asked, and to parse the kernel."""
    try:
        binary, library = map(Path, _note(source).read_text(encoding="utf-8").split("\n"))
    except (OSError, ValueError):
        return None
    return Binary(binary, cache.digest(binary), 0.0, cached=True) if all(map(cache.intact, (binary, library))) else None


def _note(source: Source) -> Path:
    """The file that notes what was made of a kernel: its name depends on all that the result depends on."""
    reached = (cache.read(path) for path in cache.includes(source.text, source.folders))
    key = cache.key(*tools(os.environ.get("CXX", "")), repr(source), *reached)
    return cache.default_folder(CHECKED) / "lines" / f"{key}.built"


@functools.cache
def tools(wanted: str) -> tuple[str, ...]:
    """The C++ compilers and the devices' own files, as they were last changed; `wanted` is the variable CXX."""
    found = map(shutil.which, (*wanted.split()[:1], "c++", "g++", "clang++"))
    files = [Path(path).resolve() for path in found if path]
    own = Path(cache.__file__).parent.rglob("*")
    files += sorted(path for path in own if path.suffix != ".pyc" and path.is_file())
    stats = ((path, path.stat()) for path in files)
    return (wanted, *(f"{path} {stat.st_mtime_ns} {stat.st_size}" for path, stat in stats))


def note_of(what: str, case: Case, binary: Binary, *further: str) -> Path:
    """The file that notes what was found in a case: its name depends on all that this depends on."""
    launch = repr(case.launches), repr(case.arrays()), str(case.seed)
    known = __version__, *tools(os.environ.get("CXX", "")), *further
    return cache.default_folder(CHECKED) / what / f"{cache.key(binary.digest, *launch, *known)}.json"


def noted(path: Path) -> Any:
    """What a note says; `None` if there is none."""
    with suppress(OSError, ValueError):
        return json.loads(path.read_text(encoding="utf-8"))
    return None


def note(path: Path, found: Any) -> None:
    """Note what was found. On a full disk the next run finds it again."""
    with suppress(OSError):
        atomic.write_text(path, json.dumps(found))
