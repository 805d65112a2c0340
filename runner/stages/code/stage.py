"""The stage that writes the machine code of a sweep's binaries to its folder, so that a report needs no nvdisasm."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from os import sched_getaffinity
from typing import Any

from runner.device import Compiler, cache
from runner.errors import CompileError
from runner.files import atomic
from runner.jobs.job import Job
from runner.record.folder import RunFolder
from runner.stages.code import machine_code
from runner.sweep.stage import Bench, Stage

MAX_BINARIES = 64  # per sweep
ENDINGS = (".sass", ".ptx")  # the cache keeps both beside a binary, since disassembling takes a second

Row = Mapping[str, Any]


class MachineCode(Stage):
    """Writes machine/BINARY.txt and .ptx for the correct cases of a GPU.

    At most `MAX_BINARIES` are written, the fastest of each family and size first. The source is compiled a second time
    with line numbers, which do not change the code. This takes longer than measuring a case, so a search writes only
    the code of its best cases.
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
        missing = [
            (name, job, bench.devices[job.number].compiler)
            for name, job in fastest(timed, rows).items()
            if not bench.folder.has(bench.folder.machine_code(name))
        ]
        if not missing:
            return
        bench.progress.stage("disassembling", len(missing))
        with ThreadPoolExecutor(len(sched_getaffinity(0))) as pool:
            try:
                for (name, _, _), code in zip(missing, pool.map(_code, *zip(*missing, strict=True)), strict=True):
                    if code:
                        machine_code.keep(bench.folder, name, *code)
                    bench.progress.step()
            except OSError as e:
                bench.progress.say(f"no machine code: {e}")
            finally:
                pool.shutdown(cancel_futures=True)


def fastest(timed: Sequence[Job], rows: Mapping[int, Row]) -> dict[str, Job]:
    """Choose up to `MAX_BINARIES` binaries, the fastest of each family and size first, each with a job that uses it."""
    groups: dict[tuple[Any, ...], list[Job]] = {}
    for job in sorted(timed, key=lambda job: float(rows[job.number]["median_us"])):
        row = rows[job.number]
        groups.setdefault((row["family"], row.get("size"), row.get("rows")), []).append(job)
    ranked = [(rank, job.number, job) for group in groups.values() for rank, job in enumerate(group)]
    binaries: dict[str, Job] = {}
    for _, number, job in sorted(ranked, key=lambda entry: entry[:2]):
        binaries.setdefault(str(rows[number]["binary"]), job)
    return dict(itertools.islice(binaries.items(), MAX_BINARIES))


def _code(name: str, job: Job, compiler: Compiler) -> tuple[str, str] | None:
    """Machine code and PTX of a binary, from the cache or disassembled now; `None` if the compiler has changed."""
    source = job.case.source()
    with suppress(CompileError):  # if the toolkit has changed since the sweep
        binary = compiler.compile(source)  # from the cache
        if binary.name != name:
            return None
        files = [binary.path.with_suffix(ending) for ending in ENDINGS]
        if all(map(cache.intact, files)):
            code, ptx = (file.read_text(encoding="utf-8") for file in files)
            return code, ptx
        if both := compiler.disassembled(source, binary):
            code, ptx = machine_code.with_lines(*map(machine_code.text_of, both)), ""
            with suppress(CompileError):
                ptx = compiler.ptx(source)
            for file, text in zip(files, (code, ptx), strict=True):
                with suppress(OSError):
                    atomic.write_text(file, text)
                    cache.seal(file)
            return code, ptx
    return None
