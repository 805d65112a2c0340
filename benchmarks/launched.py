"""Launches kernels once each, in one process, for a tool that watches it.

    python benchmarks/launched.py JOBS.json LOG.jsonl

The jobs are pickled cases with their cubins. Arrays lie in allocations of exactly their size, and what a kernel does
not get from the host stays unwritten, so that memcheck and initcheck see what a program of its own would show them.
The log has a line for each launch. Exit status 3: the GPU must be opened anew for the rest.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.device import Binary, Role
from runner.errors import RunnerError
from runner.kernel.case import Case
from runner.kernel.contents import contents
from runner.sweep.trial import upload

AGAIN = 3  # exit status
LIMIT_S = 10.0


@dataclass(frozen=True)
class Job:
    """A case, and its cubin."""

    case: Case
    binary: Binary


def on_gpu() -> Any:
    """A GPU whose arrays have no guards and no content but that of the host."""
    from pycuda import driver  # noqa: PLC0415  (only where there is a GPU)

    from runner.device.cuda.device import CudaDevice  # noqa: PLC0415

    class Exact:
        def __init__(self, value: NDArray[Any], role: Role, offset: int, lead: int) -> None:
            self.role = role
            self._memory = driver.mem_alloc(max(1, value.nbytes + offset * value.itemsize))
            self.begin = int(self._memory) + offset * value.itemsize
            self.pointer = self.begin + lead * value.itemsize
            if value.nbytes and role in (Role.IN, Role.INOUT):
                driver.memcpy_htod(self.begin, np.ascontiguousarray(value))
            elif value.nbytes and role is Role.STATE:
                driver.memset_d8(self.begin, 0, value.nbytes)

        def free(self) -> None:
            self._memory.free()

    class ExactDevice(CudaDevice):
        def _placed(self, value: NDArray[Any], role: Role, offset: int, lead: int) -> Any:
            return Exact(value, role, offset, lead)

    return ExactDevice()


def launch_all(device: Any, jobs: list[Job], log: Path) -> bool:
    """Launch each job that the log does not have yet; `False` if the GPU must be opened anew."""
    done = {json.loads(line)["kernel"] for line in log.read_text().splitlines()} if log.exists() else set()
    with log.open("a") as written:
        for job in jobs:
            name = job.case.kernel.name
            if name in done:
                continue
            error, seconds = "", 0.0
            try:
                program = device.load(job.case.source(), job.binary)
                with ExitStack() as stack:
                    launch, _ = upload(device, program, job.case, contents(job.case), stack)
                    started = time.perf_counter()
                    device.launch(launch, LIMIT_S)
                    seconds = time.perf_counter() - started
            except Exception as e:  # noqa: BLE001  (whatever a broken kernel does: the others are to go on)
                error = f"{type(e).__name__}: {e}"
            record = {"kernel": name, "seconds": seconds, "error": " ".join(error.split())}
            written.write(json.dumps(record) + "\n")
            written.flush()
            if error and not device.usable:
                return False
    return True


def main() -> None:
    """Launch what is left."""
    with Path(sys.argv[1]).open("rb") as file:
        jobs: list[Job] = pickle.load(file)  # noqa: S301  (written by benchmarks/checked.py)
    try:
        whole = launch_all(on_gpu(), jobs, Path(sys.argv[2]))
    except RunnerError as e:
        sys.exit(str(e))
    sys.stdout.flush()
    os._exit(0 if whole else AGAIN)  # after a fault, an orderly exit of PyCUDA would fail


if __name__ == "__main__":
    main()
