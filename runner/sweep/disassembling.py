"""Keeps the machine code of a sweep's binaries in its folder, after the timed rounds: a report needs no tools."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from runner import machine_code
from runner.config import Job
from runner.device import Binary, Compiler
from runner.errors import CompileError
from runner.folder import RunFolder
from runner.terminal import SweepProgress

MOST = 64  # binaries of a sweep


def keep(
    jobs: Sequence[Job],
    rows: Mapping[int, Mapping[str, Any]],
    binaries: Mapping[int, Binary],
    compiler: Compiler,
    folder: RunFolder,
    progress: SweepProgress,
) -> None:
    """Keep the code of those that are right; of many, those of the fastest cases of each family and size.

    The source is compiled a second time, with line numbers, which do not change the code.
    """
    groups: dict[tuple[Any, ...], list[Job]] = {}
    timed = [job for job in jobs if rows.get(job.number, {}).get("median_us") and job.profile.code]
    for job in sorted(timed, key=lambda job: float(rows[job.number]["median_us"])):
        row = rows[job.number]
        groups.setdefault((row["family"], row.get("size"), row.get("rows")), []).append(job)
    wanted: dict[str, int] = {}  # a job of each binary
    for _, number in sorted((rank, job.number) for of in groups.values() for rank, job in enumerate(of)):
        wanted.setdefault(binaries[number].name, number)
    missing = [n for name, n in list(wanted.items())[:MOST] if not folder.has(folder.machine_code(name))]
    if not missing:
        return
    sources = {job.number: job.case.source() for job in timed}
    progress.stage("disassembling", len(missing))
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:

        def code(number: int) -> tuple[str, str] | None:
            with suppress(CompileError):  # of a toolkit that has changed meanwhile
                if both := compiler.disassembled(sources[number], binaries[number]):
                    ptx = ""
                    with suppress(CompileError):
                        ptx = compiler.ptx(sources[number])
                    return machine_code.with_lines(*map(machine_code.text_of, both)), ptx
            return None

        try:
            for number, found in zip(missing, pool.map(code, missing), strict=True):
                if found is None:
                    return
                machine_code.keep(folder, binaries[number].name, *found)
                progress.step()
        except OSError as e:
            progress.say(f"no machine code: {e}")
        finally:
            pool.shutdown(cancel_futures=True)
