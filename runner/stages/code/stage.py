"""The stage that writes the machine code of a sweep's binaries to its folder, so that a report needs no nvdisasm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from os import sched_getaffinity
from typing import Any

from runner.device import Binary, Compiler, cache
from runner.errors import CompileError
from runner.files import atomic
from runner.jobs.job import Job
from runner.record.folder import RunFolder
from runner.stages.code import machine_code
from runner.sweep.stage import Bench, Stage

MOST = 64  # binaries per sweep
ENDINGS = (".sass", ".ptx")  # the cache keeps both beside a binary, since disassembling takes a second

Row = Mapping[str, Any]


class MachineCode(Stage):
    """Writes machine/BINARY.txt and .ptx for the correct cases of a GPU.

    If there are more than `MOST` binaries, the fastest of each family and size come first. The source is compiled a
    second time with line numbers, which do not change the code. This takes longer than measuring a case, so a search
    writes only the code of its best cases.
    """

    def lacks(self, job: Job, row: Row, folder: RunFolder) -> bool:
        """Return `False`: missing code is no reason to resume a sweep, because the compiler may have changed since."""
        _ = job, row, folder
        return False

    def run(self, bench: Bench) -> None:
        """Write the code of the binaries that the folder lacks."""
        rows = {job.number: row for job in bench.ledger.jobs if (row := bench.ledger.row(job))}
        timed = [
            job
            for job in bench.ledger.jobs
            if job.profile.code and not job.look and job.number in bench.devices
            if rows.get(job.number, {}).get("status") == "ok" and rows[job.number].get("median_us")
        ]
        by_number = {job.number: job for job in timed}
        missing = [
            _Wanted(name, by_number[number], bench.devices[number].compiler)
            for name, number in fastest(timed, rows)
            if not bench.folder.has(bench.folder.machine_code(name))
        ]
        if not missing:
            return
        bench.progress.stage("disassembling", len(missing))
        with ThreadPoolExecutor(len(sched_getaffinity(0))) as pool:
            try:
                for wanted, found in zip(missing, pool.map(_code, missing), strict=True):
                    if found:
                        machine_code.keep(bench.folder, wanted.name, *found)
                    bench.progress.step()
            except OSError as e:
                bench.progress.say(f"no machine code: {e}")
            finally:
                pool.shutdown(cancel_futures=True)


@dataclass(frozen=True)
class _Wanted:
    """A binary to disassemble."""

    name: str
    job: Job
    compiler: Compiler


def fastest(timed: Sequence[Job], rows: Mapping[int, Row]) -> list[tuple[str, int]]:
    """Choose up to `MOST` binaries, those of the fastest cases of each family and size first.

    Args:
        timed: The jobs with times.
        rows: Their rows by job number.

    Returns:
        Pairs of a binary's name and the number of a job that uses it.
    """
    groups: dict[tuple[Any, ...], list[Job]] = {}
    for job in sorted(timed, key=lambda job: float(rows[job.number]["median_us"])):
        row = rows[job.number]
        groups.setdefault((row["family"], row.get("size"), row.get("rows")), []).append(job)
    wanted: dict[str, int] = {}  # job number by binary
    for _, number in sorted((rank, job.number) for group in groups.values() for rank, job in enumerate(group)):
        wanted.setdefault(str(rows[number]["binary"]), number)
    return list(wanted.items())[:MOST]


def _code(wanted: _Wanted) -> tuple[str, str] | None:
    """Machine code and PTX of a binary, from the cache or disassembled now; `None` if the compiler has changed."""
    source, compiler = wanted.job.case.source(), wanted.compiler
    with suppress(CompileError):  # if the toolkit has changed since the sweep
        binary = compiler.compile(source)  # from the cache
        if binary.name != wanted.name:
            return None
        if known := _known(binary):
            return known
        if both := compiler.disassembled(source, binary):
            ptx = ""
            with suppress(CompileError):
                ptx = compiler.ptx(source)
            found = machine_code.with_lines(*map(machine_code.text_of, both)), ptx
            _note(binary, found)
            return found
    return None


def _known(binary: Binary) -> tuple[str, str] | None:
    """Machine code and PTX that the cache keeps beside a binary."""
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
