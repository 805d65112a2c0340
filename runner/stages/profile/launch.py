"""`python -m runner.stages.profile.launch FOLDER JOB...`: launch cases of a sweep once each, under a profiling tool.

The cases are built from the run folder as the worker builds them. Only their launches lie between the calls that start
and stop a profiler:

    ncu --profile-from-start off --set full -o seen python -m runner.stages.profile.launch outputs/X 3
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from runner.device import Compiler, Device, DeviceInfo
from runner.device.kinds import compiler_for
from runner.errors import CompileError, RunnerError
from runner.jobs.job import Job
from runner.kernel.inputs import contents
from runner.kernel.sizes import reduced
from runner.record import stored_sweep
from runner.record.folder import RunFolder
from runner.sweep import compiling
from runner.sweep.compiling import Compiled
from runner.sweep.trial import poison, upload

LOST = 3  # exit status: the GPU's context is broken; launch the remaining jobs in a new process

Log = Callable[[int, str], None]


def main(arguments: Sequence[str] | None = None) -> int:
    """Launch the cases. Returns 0, or exits with `LOST` after a case that broke the GPU's context."""
    parser = argparse.ArgumentParser("python -m runner.stages.profile.launch", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("job", type=int, nargs="+")
    parser.add_argument("--log", type=Path, help="append each launch's states to this file, as lines of JSON")
    parser.add_argument(
        "--checked", action="store_true", help="compile with line numbers, and leave outputs uninitialized"
    )
    parser.add_argument("--reduced", action="store_true", help="launch large cases at their largest other size")
    options = parser.parse_args(arguments)

    def log(job: int, state: str) -> None:
        if options.log:
            with options.log.open("a") as file:
                file.write(json.dumps({"job": job, "state": state}) + "\n")

    numbers = set(options.job)
    jobs = [job for job in stored_sweep.jobs_of(RunFolder(options.folder.absolute()), numbers) if job.number in numbers]
    if options.reduced:
        jobs = [replace(job, case=reduced(job.case)) for job in jobs]
    from runner.device.cuda.exact import open_gpu  # noqa: PLC0415  (only where there is a GPU)

    device = open_gpu(jobs[0].device.index, exact=options.checked)
    compiled = compile_jobs(jobs, device.info, lines=options.checked)
    for job in jobs:
        if not launch_case(device, job, compiled[job.number], log, checked=options.checked):
            sys.stdout.flush()
            os._exit(LOST)  # after a fault, normal exit fails in the driver
    device.close()
    return 0


def launch_case(device: Device, job: Job, compiled: Compiled, log: Log, *, checked: bool) -> bool:
    """Launch a case and wait until it ends. `log` gets its number and `launching`, then `done` or the error.

    `checked` leaves outputs uninitialized, for compute-sanitizer. Returns whether the GPU can be used further.
    """
    from runner.device.cuda.exact import profiler  # noqa: PLC0415  (only where there is a GPU)

    try:
        if isinstance(compiled, CompileError):
            raise compiled
        program = device.load(job.case.source(), compiled)
        with ExitStack() as stack:
            launch, arrays = upload(device, program, job.case, contents(job.case), stack)
            if not checked:  # initcheck must see reads of uninitialized memory
                poison(job.case, arrays)
            log(job.number, "launching")
            with profiler():
                device.launch(launch, job.device.time_limit_s)
    except (RunnerError, OSError, MemoryError, RuntimeError) as e:
        log(job.number, " ".join(str(e).split()) or type(e).__name__)
        return device.usable
    log(job.number, "done")
    return True


def compile_jobs(jobs: Sequence[Job], info: DeviceInfo, *, lines: bool) -> dict[int, Compiled]:
    """Compile the kernels of jobs on all cores, or take them from the cache; by the job's number.

    `lines` compiles with line numbers, by nvcc if it is installed. Raises OSError if the disk is full.
    """
    compilers: dict[tuple[str, ...], Compiler] = {}
    for job in jobs:
        if _toolchain(job) not in compilers:
            compilers[_toolchain(job)] = _compiler(job, info, lines=lines)
    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        keys = {(_toolchain(job), job.case.source()) for job in jobs}
        futures = {key: pool.submit(compiling.compiled, compilers[key[0]], key[1]) for key in keys}
    return {job.number: futures[_toolchain(job), job.case.source()].result() for job in jobs}


def _toolchain(job: Job) -> tuple[str, ...]:
    return (*job.device.key, job.compiler)


def _compiler(job: Job, info: DeviceInfo, *, lines: bool) -> Compiler:
    from runner.device.cuda.compiler import find_nvcc  # noqa: PLC0415  (only where there is a GPU)

    if not lines or find_nvcc() is None:
        return compiler_for(job.device, info, job.compiler)
    config = replace(job.device, nvcc_options=[*job.device.nvcc_options, "-lineinfo"])
    return compiler_for(config, info, "nvcc")


if __name__ == "__main__":
    sys.exit(main())
