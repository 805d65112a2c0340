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

from runner.device import Binary
from runner.errors import RunnerError
from runner.kernel.case import Case
from runner.kernel.inputs import contents
from runner.sweep.trial import upload

AGAIN = 3  # exit status
LIMIT_S = 10.0


@dataclass(frozen=True)
class Job:
    """A case, and its cubin."""

    case: Case
    binary: Binary


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
    from runner.device.cuda.exact import open_gpu  # noqa: PLC0415  (only where there is a GPU)

    try:
        whole = launch_all(open_gpu(0, exact=True), jobs, Path(sys.argv[2]))
    except RunnerError as e:
        sys.exit(str(e))
    sys.stdout.flush()
    os._exit(0 if whole else AGAIN)  # after a fault, an orderly exit of PyCUDA would fail


if __name__ == "__main__":
    main()
