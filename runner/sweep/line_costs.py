"""What each line of a case's kernel costs: a few of its blocks are run on the checked CPU device, and counted.

The parent compiles kernels a second time for that, beside the plain ones. The worker counts, after it has measured a
case. A case whose kernel, arguments and inputs have not changed is taken from a cache.
"""

from __future__ import annotations

import functools
import json
import math
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from runner import atomic
from runner.device import Array, Binary, Device, DeviceInfo, Role, cache
from runner.device.kinds import CHECKED
from runner.errors import CaseError, CompileError, DeviceUnavailable, LaunchTimeout
from runner.kernel.case import Case
from runner.kernel.contents import contents
from runner.lines import BRANCH, DIGITS, GLOBAL, SHARED, LineCost, LineCosts
from runner.sweep.checked_builds import build, built_before, compiler, host_source
from runner.sweep.trial import Contents, poison, upload

if TYPE_CHECKING:
    from runner.config import Job
    from runner.device.checked import CheckedDevice
    from runner.device.checked.counting import InstructionCost
    from runner.sweep.trial import Trial
    from runner.sweep.worker import Task

FEW = 3  # blocks that are run: the first, one in the middle, the last
LIMIT_S = 2.0  # of a launch that counts
MOST_MEMORY = 1 / 8  # of the host, for the arrays of a case that runs on a GPU
MOST_CACHED = 8 << 20  # bytes of inputs that are compared with those of an earlier run


class Builds:
    """Kernels compiled so that their accesses can be counted, in the background."""

    def __init__(self, jobs: Sequence[Job], info: DeviceInfo) -> None:
        """Begin to compile what these jobs need, unless that was done before."""
        sources = dict.fromkeys(host_source(job.case) for job in jobs if _is_counted(job))
        self._built = {source: binary for source in sources if (binary := built_before(source))}
        self._pool = ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0)))
        self._compiler = compiler(jobs[0].device.compile_limits) if len(self._built) < len(sources) else None
        self._waiting = {
            source: self._pool.submit(build, self._compiler, source)
            for source in sources
            if self._compiler and source not in self._built
        }
        if info.is_gpu:  # a busy host would disturb the times of a GPU
            wait(self._waiting.values())

    def take(self, job: Job) -> Binary | str | None:
        """A job's kernel, or why there is none; `None` if its lines are not to be counted."""
        if not _is_counted(job):
            return None
        source = host_source(job.case)
        try:
            return self._built.get(source) or self._waiting[source].result()
        except (CompileError, OSError) as error:
            return str(error).partition("\n")[0]

    def close(self) -> None:
        """Compile no more."""
        if self._compiler:
            self._compiler.stop()
        self._pool.shutdown(wait=False, cancel_futures=True)


def _is_counted(job: Job) -> bool:
    """Whether the lines of a case are to be counted: one that breaks a rule on purpose would not end."""
    return job.lines and not job.look and not job.case.kernel.gpu_only and not job.case.hazard


def count(device: Device, task: Task, first: Trial) -> LineCosts:
    """Count in the worker process, from the inputs of a case's first trial. An error of the kernel is a reason."""
    case, binary = task.case, task.counted
    assert binary  # noqa: S101  (it is not called without one)
    file = _cached(case, binary, first.inputs)
    if file and file.is_file():
        with suppress(OSError, ValueError, TypeError):  # torn, or of another version
            return LineCosts(tuple(LineCost(**line) for line in json.loads(file.read_text(encoding="utf-8"))))
    needed = sum(array.nbytes for array in case.arrays())
    if device.info.is_gpu and needed > MOST_MEMORY * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"):
        return LineCosts(reason=f"{case.label}: the arrays need {needed} bytes of the host's memory")
    try:
        arrays = None if device.info.is_gpu else first.arrays  # the checked device takes them as they are
        instructions, blocks = counted(case, binary, first.inputs, arrays, min(LIMIT_S, task.time_limit_s))
        found = tuple(summed(instructions, blocks))
    except (CaseError, DeviceUnavailable, MemoryError) as error:
        return LineCosts(reason=f"{case.label}: {error}")
    if file:
        with suppress(OSError):  # in a sandbox, or on a full disk, the next run counts again
            atomic.write_text(file, json.dumps([asdict(line) for line in found]))
    return LineCosts(found)


def of_case(case: Case) -> tuple[list[InstructionCost], list[LineCost]]:
    """What each instruction of a case costs, and each line; without a sweep."""
    instructions, blocks = counted(case, compiler().compile(case.source()), contents(case))
    return instructions, list(summed(instructions, blocks))


def _cached(case: Case, binary: Binary, inputs: Contents) -> Path | None:
    """The file of a case in the cache; `None` if its inputs are large."""
    if sum(array.nbytes for array in inputs.values()) > MOST_CACHED:
        return None
    given = [f"{name} {zlib.crc32(array.tobytes())}" for name, array in sorted(inputs.items())]
    key = cache.key(binary.digest, repr(case.launches), repr(case.arrays()), *given)
    return cache.default_folder(CHECKED) / "lines" / f"{key}.json"


@functools.cache
def _checked() -> CheckedDevice:
    """The checked device of this process. One thread, so that atomics come in order."""
    from runner.device.checked import CheckedDevice  # noqa: PLC0415  (what the cache has needs none)

    return CheckedDevice(threads=1)


_with_first_blocks: set[str] = set()  # digests of kernels whose blocks wait for those before them


def counted(
    case: Case, binary: Binary, inputs: Contents, arrays: Mapping[str, Array] | None = None, limit: float = LIMIT_S
) -> tuple[list[InstructionCost], int]:
    """What each instruction costs, and in how many blocks; `arrays` are left as these blocks leave them."""
    checked = _checked()
    program = checked.load(case.source(), binary)
    with ExitStack() as stack:
        launch, placed = upload(checked, program, case, inputs, stack, arrays)

        def run(choose: Callable[[int], list[int]]) -> list[InstructionCost]:
            poison(case, placed)
            for array in launch.arrays(Role.STATE):
                array.fill_bytes(0)
            return checked.count(launch, choose, limit)

        blocks = len(_spread(math.prod(case.grid)))
        if binary.digest not in _with_first_blocks:
            try:
                return run(_spread), blocks
            except LaunchTimeout:
                _with_first_blocks.add(binary.digest)
        return run(lambda number: list(range(min(number, FEW)))), blocks


def _spread(number: int) -> list[int]:
    return sorted({0, number // 2, number - 1})


def summed(instructions: Iterable[InstructionCost], blocks: int) -> Iterator[LineCost]:
    """The costs of lines from those of their instructions."""
    by_line: dict[tuple[str, int, str, str], list[InstructionCost]] = {}
    for one in instructions:
        by_line.setdefault((one.file, one.line, one.memory, one.kind), []).append(one)
    for (file, line, memory, kind), those in sorted(by_line.items()):
        requests = sum(one.requests for one in those)

        def average(name: str, those: list[InstructionCost] = those, requests: int = requests) -> float:
            total: float = sum(getattr(one, name) / one.counted * one.requests for one in those)
            return round(total / requests, DIGITS)

        actual, ideal, lanes = average("actual"), average("ideal"), average("lanes")
        if kind == BRANCH:
            diverged = round(actual * requests)
            yield LineCost(file, line, memory, kind, blocks, requests, lanes, divergent_branches=diverged)
            continue
        units = {GLOBAL: (actual, ideal, None, None), SHARED: (None, None, actual, ideal)}[memory]
        yield LineCost(file, line, memory, kind, blocks, requests, lanes, average("bytes"), *units)
