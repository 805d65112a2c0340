"""The devices on which a search measures: one device, or several GPUs of a machine at once."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from runner.device import Source
from runner.display.terminal import SweepProgress
from runner.errors import UsageError
from runner.jobs.job import Job
from runner.record.folder import RunFolder
from runner.record.stored_rows import Row
from runner.stages.all import ALL
from runner.sweep import engine, ledger
from runner.sweep.compiling import Compilation, reason_to_skip
from runner.sweep.ledger import Rows
from runner.sweep.pool import Pool


class BatchRows(Rows):
    """The rows of a batch. They replace earlier, shorter measurements of the same cases in the search's folder."""

    def add(self, job: Job, row: Row) -> None:
        """Write a case's row. A case that was not reached keeps its earlier row."""
        if row["status"] == "not_run":
            self._rows[job.number] = row
            return
        super().add(job, row)
        self.folder.write_json(self.folder.case(job.number), ledger.case_record(job, self.launcher))


def _compile(compilation: Compilation, source: Source) -> None:
    compilation.start(source).result()


class Devices:
    """All devices of a search, at least one. A GPU that is lost is not used again."""

    def __init__(self, folder: RunFolder, pool: Pool, launcher: str, progress: SweepProgress) -> None:
        """Take the devices of a search. The workers of the pool stay open from batch to batch."""
        self._folder, self._pool, self._launcher, self._progress = folder, pool, launcher, progress
        spared = max(1, len(os.sched_getaffinity(0)) - pool.size)  # a core for each worker
        self._compiling = ThreadPoolExecutor(spared, "compiling ahead")

    def run(
        self, jobs: Sequence[Job], beside: Sequence[Job], ahead: Sequence[Job] = ()
    ) -> Iterator[tuple[Sequence[Job], Mapping[int, Row]]]:
        """Measure jobs on all GPUs; without jobs `beside`, by which GPUs are compared, on the first one only.

        Jobs of a GPU that is lost are measured by the others. Meanwhile, those of the next call are compiled.

        Args:
            jobs: The jobs to measure, with device and compiler in common.
            beside: Jobs that every GPU measures, too.
            ahead: The jobs of the next call.

        Yields:
            The jobs that a GPU has measured, and the rows of these and of `beside` by job number.

        Raises:
            UsageError: The GPUs are of several models.
            DeviceUnavailable: No GPU is left.
        """
        while jobs:
            pool = self._pool if beside else self._pool.first()
            rows = BatchRows(jobs, self._folder, self._launcher)
            self._require_one_model(jobs[0])
            self._compile_ahead(ahead)
            for part in engine.run(rows, self._progress, pool, stages=ALL, beside=beside):
                new = {job.number: row for job in part.jobs if (row := rows.row(job)) and row["status"] != "not_run"}
                yield [job for job in part.jobs if job.number in new], {**part.beside, **new}
            jobs = [job for job in jobs if (rows.row(job) or {"status": "not_run"})["status"] == "not_run"]

    def remeasure(self, jobs: Sequence[Job]) -> Mapping[int, Row]:
        """Measure jobs again, side by side on one device in a new worker.

        Returns:
            The rows of the jobs that were measured, by job number.

        Raises:
            UsageError: The GPUs are of several models.
            DeviceUnavailable: No GPU is left.
        """
        self._pool.slots[0].close()
        return {number: row for _, rows in self.run(jobs, []) for number, row in rows.items()}

    def close(self) -> None:
        """End all workers and compilers, and remove the rows of cases that several GPUs measured."""
        self._compiling.shutdown(wait=False, cancel_futures=True)
        self._pool.close()
        self._compiling.shutdown()
        shutil.rmtree(self._folder.path / "gpus", ignore_errors=True)

    def _compile_ahead(self, ahead: Sequence[Job]) -> None:
        """Compile jobs in the background. The next call gets the results, and reports errors."""
        for job in ahead:
            info = self._pool.slots[0].worker(job.device).info
            if not reason_to_skip(job.case, info):
                compilation = self._pool.compilation(job.device, info, job.compiler)
                self._compiling.submit(_compile, compilation, job.case.source())

    def _require_one_model(self, job: Job) -> None:
        """Open all GPUs, and raise `UsageError` if their times are not comparable."""
        self._pool.open(job.device, self._progress.warn)
        models = dict.fromkeys(slot.worker(job.device).info.name for slot in self._pool.slots)
        if len(models) > 1:
            raise UsageError(
                f"hydra/launcher={self._launcher}: a search needs GPUs of one model; found: {' and '.join(models)}; "
                f"choose GPUs with hydra.launcher.gpus"
            )
