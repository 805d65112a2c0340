"""What a sweep starts before it writes its first file: kernels are compiled, and the worker makes the first inputs."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence

from runner.jobs.job import Job
from runner.sweep import compiling, rounds
from runner.sweep.pool import Pool


@contextlib.contextmanager
def started(jobs: Sequence[Job], pool: Pool) -> Iterator[None]:
    """Start the jobs that have the device and the compiler of the first one.

    The engine may be called after the context ends. It finds what was compiled, and reports errors.
    """
    first = jobs[0]
    worker = pool.slots[0].worker(first.device)  # by this thread: a worker ends with the thread that started it
    alike = [job for job in jobs if (job.device.key, job.compiler) == (first.device.key, first.compiler)]

    def work() -> None:
        with contextlib.suppress(Exception):  # the engine meets the same error
            info = worker.info
            compilation = pool.compilation(first.device, info, first.compiler)
            runnable = [job for job in alike if not compiling.reason_to_skip(job.case, info)]
            rounds.start_inputs(worker, runnable, info)
            for job in runnable:
                compilation.start(job.case.source())

    thread = threading.Thread(target=work, name="ahead")
    thread.start()
    try:
        yield
    except BaseException:
        pool.kill()  # the thread may wait for the device
        raise
    finally:
        thread.join()
