"""Keeps the machine code of a sweep's binaries in its folder, after the timed rounds: a report needs no tools."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from runner import atomic, machine_code
from runner.config import Job
from runner.device import Binary, Compiler, cache
from runner.errors import CompileError
from runner.folder import RunFolder
from runner.terminal import SweepProgress

MOST = 64  # binaries of a sweep
ENDINGS = (".sass", ".ptx")  # of what the cache keeps beside a binary: disassembling takes a second


def keep(
    jobs: Sequence[Job],
    rows: Mapping[int, Mapping[str, Any]],
    binaries: Mapping[int, Binary],
    compiler: Compiler,
    folder: RunFolder,
    progress: SweepProgress,
) -> None:
    """Keep the code of those that are right; of many, those of the fastest cases of each family and size.

    The source is compiled a second time, with line numbers, which do not change the code. It takes longer than
    measuring a case, so a search keeps only the code of its best cases.
    """
    wanted = [job for job in jobs if job.profile.code and not job.look]
    timed = [job for job in wanted if rows.get(job.number, {}).get("median_us")]
    missing = []
    for name, number in _wanted(timed, rows, binaries):
        if folder.has(folder.machine_code(name)):
            continue
        if known := _known(binaries[number]):
            machine_code.keep(folder, name, *known)
        else:
            missing.append(number)
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
                _note(binaries[number], found)
                progress.step()
        except OSError as e:
            progress.say(f"no machine code: {e}")
        finally:
            pool.shutdown(cancel_futures=True)


def _wanted(
    timed: Sequence[Job], rows: Mapping[int, Mapping[str, Any]], binaries: Mapping[int, Binary]
) -> list[tuple[str, int]]:
    """The binaries by name, each with the number of a job; of many, those of the fastest of each family and size."""
    groups: dict[tuple[Any, ...], list[Job]] = {}
    for job in sorted(timed, key=lambda job: float(rows[job.number]["median_us"])):
        row = rows[job.number]
        groups.setdefault((row["family"], row.get("size"), row.get("rows")), []).append(job)
    wanted: dict[str, int] = {}  # a job of each binary
    for _, number in sorted((rank, job.number) for of in groups.values() for rank, job in enumerate(of)):
        wanted.setdefault(binaries[number].name, number)
    return list(wanted.items())[:MOST]


def _known(binary: Binary) -> tuple[str, str] | None:
    """The machine code and the PTX that an earlier sweep found out."""
    code, ptx = (binary.path.with_suffix(ending) for ending in ENDINGS)
    if not (cache.intact(code) and cache.intact(ptx)):
        return None
    return code.read_text(encoding="utf-8"), ptx.read_text(encoding="utf-8")


def _note(binary: Binary, found: tuple[str, str]) -> None:
    for ending, text in zip(ENDINGS, found, strict=True):
        path = binary.path.with_suffix(ending)
        with suppress(OSError):
            atomic.write_text(path, text)
            cache.seal(path)
