"""The stages of machine code: each sweep keeps its best binaries; on demand they are disassembled."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from os import sched_getaffinity
from typing import Any

from runner.device import Binary, Compiler, DeviceInfo, Form, options
from runner.device.kinds import compiler_for, is_gpu
from runner.errors import CompileError, DeviceUnavailable
from runner.jobs.job import Job
from runner.record.folder import RunFolder
from runner.stages.code import machine_code
from runner.sweep.stage import Bench, Stage

MAX_BINARIES = 64  # per sweep

Row = Mapping[str, Any]


class Binaries(Stage):
    """Keeps the binaries of a GPU's correct cases as machine/BINARY.cubin; in a search, those of its best cases.

    At most `MAX_BINARIES` are kept, the fastest of each family and size first.
    """

    def lacks(self, job: Job, row: Row, folder: RunFolder) -> bool:
        """Return `False`: a missing binary is no reason to resume a sweep: the compiler may have changed since."""
        _ = job, row, folder
        return False

    def run(self, bench: Bench) -> None:
        """Copy the binaries that the folder lacks from the cache."""
        for name, job in _chosen(bench).items():
            device = bench.devices.get(job.number)
            if device is None or bench.folder.has(bench.folder.cubin(name)):
                continue
            with suppress(CompileError, OSError):  # the cache was deleted, or the toolkit has changed since
                binary = device.binaries.get(job.number) or device.compiler.compile(job.case.source())
                if binary.name == name:
                    machine_code.keep_cubins(bench.folder, name, [part.path.read_bytes() for part in binary.parts])


class Disassembly(Stage):
    """Writes machine/BINARY.txt and .ptx of the binaries that a sweep kept.

    The source is compiled a second time with line numbers, which do not change the code, and a third time to PTX. If
    the compiler is not installed, or has changed since the sweep, the code has no lines, and there is no PTX.
    """

    def lacks(self, job: Job, row: Row, folder: RunFolder) -> bool:
        """Whether a case's binary was kept and is not yet disassembled."""
        _ = job
        name = str(row.get("binary") or "")
        return bool(name) and folder.has(folder.cubin(name)) and not folder.has(folder.machine_code(name))

    def run(self, bench: Bench) -> None:
        """Disassemble the binaries that lack it."""
        compilers = _Compilers(bench.folder)
        missing = [
            (bench.folder, name, job, compilers.compiler_of(job, row))
            for name, job in _chosen(bench).items()
            if (row := bench.ledger.row(job)) and self.lacks(job, row, bench.folder)
        ]
        if not missing:
            return
        bench.progress.stage("disassembling", len(missing))
        with ThreadPoolExecutor(len(sched_getaffinity(0))) as pool:
            work = [pool.submit(_write_code, *each) for each in missing]
            try:
                for future in work:
                    future.result()
                    bench.progress.step()
            except OSError as e:
                bench.progress.warn(f"no machine code: {e}")
            finally:
                pool.shutdown(cancel_futures=True)


def _chosen(bench: Bench) -> dict[str, Job]:
    """The binaries of a sweep whose code is wanted, each with a job that uses it."""
    rows = {job.number: row for job in bench.ledger.jobs if (row := bench.ledger.row(job))}
    timed = [
        job
        for job in bench.ledger.jobs
        if job.profile.code and not job.look and job.case.kernel.form is Form.KERNEL
        if rows.get(job.number, {}).get("status") == "ok" and rows[job.number].get("median_us")
    ]
    return fastest(timed, rows)


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


class _Compilers:
    """The compilers of a finished sweep's jobs, for the GPUs that its environment.json names."""

    def __init__(self, folder: RunFolder) -> None:
        recorded = (folder.json(folder.environment) or {}).get("devices") or {}
        self._arches = {entry["kind"]: str(entry["arch"]) for entry in recorded.values() if is_gpu(entry["kind"])}
        self._made: dict[tuple[Any, ...], Compiler | None] = {}

    def compiler_of(self, job: Job, row: Row) -> Compiler | None:
        """The compiler of a job; `None` if it is not installed."""
        key = (*job.device.key, job.compiler)
        if key not in self._made:
            kind = str(row["device"])
            info = DeviceInfo(kind, "", self._arches.get(kind, ""), None, 0, 0, 0)
            self._made[key] = None
            with suppress(DeviceUnavailable):
                self._made[key] = compiler_for(job.device, info, job.compiler)
        return self._made[key]


def _write_code(folder: RunFolder, name: str, job: Job, compiler: Compiler | None) -> None:
    """Write the machine code and the PTX of a binary. Raises OSError if nvdisasm fails or is not installed."""
    own = machine_code.text_of_cubins(machine_code.cubins(folder, name))
    text, ptx = own, ""
    for option, binary in _compiled(job, compiler):
        if option == options.LINES:
            lined = machine_code.text_of_cubins([part.path.read_bytes() for part in binary.parts])
            text = machine_code.with_lines(own, lined)
        else:
            texts = (part.path.read_text(encoding="utf-8", errors="replace") for part in binary.parts)
            ptx = "\n".join(text.rstrip("\0") for text in texts)
    machine_code.keep(folder, name, text, ptx)


def _compiled(job: Job, compiler: Compiler | None) -> Iterator[tuple[str, Binary]]:
    """Compile a job's kernel with line numbers, then to PTX, as far as the compiler can."""
    if compiler is None:
        return
    source = job.case.source()
    with suppress(CompileError):
        for option in (options.LINES, options.PTX):
            yield option, compiler.compile(source.with_options((*source.options, option)))
