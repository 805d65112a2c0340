"""The jobs of a sweep that share device, compiler and timing: split over the pool's slots, compiled, and measured."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from runner import interruption
from runner.device import Compiler, options
from runner.device.kinds import is_gpu
from runner.display.terminal import SweepProgress
from runner.errors import DeviceUnavailable
from runner.jobs.job import Job
from runner.record import environment, samples
from runner.record.folder import RunFolder
from runner.record.stored_rows import Row
from runner.sweep import split
from runner.sweep.compiling import Compilation
from runner.sweep.ledger import Rows
from runner.sweep.pool import PartOfProgress, Pool, Slot
from runner.sweep.rounds import Share
from runner.sweep.stage import Opened


@dataclass(frozen=True)
class Measured:
    """What one slot measured."""

    jobs: Sequence[Job]  # its share
    beside: Mapping[int, Row]  # rows of the cases that every slot measured, by job number
    lost: str = ""  # why the slot ended early


class Group:
    """Measures the unfinished jobs of a group."""

    def __init__(
        self, jobs: Sequence[Job], rows: Rows, progress: SweepProgress, pool: Pool, beside: Sequence[Job], prefix: str
    ) -> None:
        """The arguments are those of `engine.run`; `prefix` precedes the name of each stage of the progress display."""
        self._jobs, self._rows, self._progress, self._pool = jobs, rows, progress, pool
        self._beside, self._prefix = beside, prefix
        self._several = pool.size > 1
        self._remaining: dict[int, float | None] = {}  # seconds, by slot

    def run(self, opened: dict[int, Opened]) -> list[Measured]:
        """Open the devices, compile, and measure all rounds.

        Args:
            opened: Gets the device of each job, also of those that an earlier run has measured.

        Raises:
            DeviceUnavailable: No device can be opened.
            UsageError: A resumed sweep has another device or toolchain.
            OSError: The disk is full.
        """
        first = self._jobs[0]
        self._progress.stage("opening the device", 1)
        try:
            self._pool.open(first.device, self._progress.warn)
            shares = self._shares()
            compilations = [self._pool.compilation(first.device, share.info, first.compiler) for share in shares]
            compilers = [compilation.compiler for compilation in compilations]
            for share, compiler in zip(shares, compilers, strict=True):
                entry = environment.device(share.info, first, compiler)
                (environment.note_gpu if self._several else environment.note_device)(self._rows.folder, entry)
            ignored = any(options.ignored_on_cpu(job.case.options) for job in self._jobs)
            if shares and ignored and not shares[0].info.is_gpu:
                label = shares[0].info.label
                self._progress.say(f"compile_options are for a GPU's compiler: {label} ignores them")
            interruption.check()
            self._compile(shares, compilations)
            measured = self._measure(shares, compilers)
        except BaseException:
            for slot in self._pool.slots:
                slot.kill()  # a launch may be in progress
            raise
        self._pool.release()
        self._note_opened(opened, shares, compilers)
        return measured

    def _shares(self) -> list[Share]:
        """The share of each slot that has one. All devices are open."""
        reference = None
        if self._several and not self._beside and is_gpu(self._kind):
            alike = [job for job in self._rows.jobs if job.device.key == self._jobs[0].device.key]
            reference = split.reference(
                [job for job in alike if (self._rows.row(job) or {}).get("status") in (None, "ok")]
            )
        shares = []
        for slot, jobs in self._split():
            if not jobs:
                continue
            own = next((job for job in jobs if reference and split.same_case(job, reference)), None)
            beside = self._beside or ([reference] if reference and own is None else [])
            folder = RunFolder(self._rows.folder.path / "gpus" / str(slot.number))
            if beside:
                folder.path.mkdir(parents=True, exist_ok=True)
            progress = self._progress
            if self._several:
                progress = PartOfProgress(progress, slot.number, self._remaining)
            shares.append(Share(slot, jobs, self._rows, Rows(beside, folder, self._rows.launcher), progress))
            shares[-1].reference = own or reference
        return shares

    def _split(self) -> list[tuple[Slot, Sequence[Job]]]:
        slots, jobs = self._pool.slots, self._jobs
        if not self._several:
            return [(slots[0], jobs)]
        if self._beside:
            return [(slot, jobs[n :: len(slots)]) for n, slot in enumerate(slots)]
        if any(job.copy for job in self._rows.jobs):
            lost = [job for job in jobs if job.copy not in {slot.number for slot in slots}]
            self._rows.mark_not_run("its GPU is not available", lost)
            return [(slot, [job for job in jobs if job.copy == slot.number]) for slot in slots]
        gpus = {slot.worker(jobs[0].device).info.gpu: n for n, slot in enumerate(slots)}
        placed: dict[Hashable, int] = {}  # a resumed sweep measures cases where it has measured comparable ones
        for job in self._rows.jobs:
            if (row := self._rows.row(job)) and row.get("gpu") in gpus:
                placed.setdefault(split.compared_with(job), gpus[str(row["gpu"])])
        parts = split.split(jobs, len(slots), placed)
        if sum(map(bool, parts)) == 1 < len(jobs):
            self._progress.say("the sweep runs on one GPU: its cases are compared, so they stay together")
        return list(zip(slots, parts, strict=True))

    @property
    def _kind(self) -> str:
        return self._pool.slots[0].worker(self._jobs[0].device).info.kind

    def _compile(self, shares: Sequence[Share], compilations: Sequence[Compilation]) -> None:
        """Compile the jobs of all shares. Slots with GPUs of one model share the compiler and its results."""
        by_model: dict[str, list[int]] = {}
        for n, share in enumerate(shares):
            by_model.setdefault(share.info.arch, []).append(n)
        for numbers in by_model.values():
            runnable: dict[int, Job] = {}
            for share in (shares[n] for n in numbers):
                jobs = share.runnable()
                share.start_inputs(jobs)
                runnable |= {job.number: job for job in jobs}
            compiled = compilations[numbers[0]].finish(list(runnable.values()), self._progress)
            for n in numbers:
                shares[n].take_binaries(compiled)

    def _measure(self, shares: Sequence[Share], compilers: Sequence[Compiler]) -> list[Measured]:
        if self._several:
            self._progress.stage(f"{self._prefix}measuring", sum(share.measurements for share in shares))
        work = {
            share.slot: partial(share.measure, compiler, self._prefix)
            for share, compiler in zip(shares, compilers, strict=True)
        }
        ended = self._pool.together(work)
        measured = []
        for share in shares:
            lost = ended[share.slot]
            if isinstance(lost, DeviceUnavailable):
                self._rows.mark_not_run(f"GPU {share.slot.number}: {lost}", share.jobs)
                self._pool.drop(share.slot, str(lost), self._progress.warn)
            elif share.reference and self._several:
                self._note_reference(share, share.reference)
            beside = {job.number: row for job in share.beside.jobs if (row := share.beside.row(job))}
            measured.append(Measured(share.jobs, beside, str(lost or "")))
        return measured

    def _note_reference(self, share: Share, reference: Job) -> None:
        """Record the median of each round of the reference case in environment.json."""
        rows = self._rows if reference in share.jobs else share.beside
        if (row := rows.row(reference)) and row["status"] == "ok":
            medians = samples.medians_us(rows.folder, rows.folder.samples(reference.case.id, reference.number))
            uuid = str(share.info.details.get("uuid", ""))
            environment.note_reference(self._rows.folder, uuid, reference.case.label, medians)

    def _note_opened(self, opened: dict[int, Opened], shares: Sequence[Share], compilers: Sequence[Compiler]) -> None:
        same = (self._jobs[0].device.key, self._jobs[0].compiler)
        alike = [job for job in self._rows.jobs if (job.device.key, job.compiler) == same]
        for share, compiler in zip(shares, compilers, strict=True):
            device = Opened(share.info, compiler, share.slot, share.binaries)
            for job in alike:
                gpu = (self._rows.row(job) or {}).get("gpu") or ""
                if job.number not in opened or gpu == share.info.gpu:
                    opened[job.number] = device
