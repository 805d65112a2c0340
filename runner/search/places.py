"""The devices on which a search measures: one device, or several GPUs of a machine at once.

Each GPU has a worker that stays open from batch to batch, and a folder of its own below the search's. A thread of this
process drives each worker, so the workers end with this process, even if it is killed.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from runner.device import DeviceInfo
from runner.device.config import DeviceConfig
from runner.device.kinds import compiler_for
from runner.display.terminal import SweepProgress
from runner.errors import DeviceUnavailable, UsageError
from runner.jobs.job import Job
from runner.record.folder import RunFolder
from runner.record.stored_rows import Row
from runner.stages.all import ALL
from runner.sweep import compiling, engine
from runner.sweep.worker import Worker


class _Kept(Worker):
    """A worker that stays open when the engine closes it after a batch."""

    def __init__(self, place: Place, config: DeviceConfig) -> None:
        super().__init__(config, place.environment)
        self._place = place

    def close(self) -> None:
        """Do nothing, so that the worker stays open."""

    def again(self) -> Worker:
        """Open the place's next worker, after this one died."""
        return self._place.open(self._place.config)


class _Share(SweepProgress):
    """The progress of one GPU's share: passes on its rows and messages, but not its stages."""

    def __init__(self, whole: SweepProgress) -> None:
        super().__init__(whole.console, quiet=True)
        self._whole = whole

    def row(self, label: str, row: Mapping[str, Any]) -> None:
        """Show a finished case, and count it."""
        self._whole.step()
        self._whole.row(label, row)

    def say(self, text: str) -> None:
        """Print a line that stays."""
        self._whole.say(text)


class Place:
    """A device that measures a share of each batch."""

    def __init__(self, search: RunFolder, number: int, environment: Mapping[str, str]) -> None:
        """Name a device by its number and the environment variables that make a worker see it alone."""
        self.environment, self.number, self._search = environment, number, search
        self.folder = RunFolder(search.path / "search" / f"batch-{number}")
        self._worker: Worker | None = None

    def open(self, config: DeviceConfig) -> Worker:
        """Return the live worker; opens one if needed."""
        self.config = config
        if self._worker is None or not self._worker.alive:
            self.close()
            self._worker = _Kept(self, config)
        return self._worker

    def run(
        self, jobs: Sequence[Job], progress: SweepProgress, launcher: str, *, keep_worker: bool = True
    ) -> dict[int, Row]:
        """Run jobs in the place's folder.

        Args:
            jobs: Jobs of one device configuration.
            progress: Where rows and messages go.
            launcher: The launcher's name, for the rows.
            keep_worker: Use the worker that stays open; otherwise a new one for this call.

        Returns:
            The rows by job number.
        """
        folder, config = self.folder, jobs[0].device
        shutil.rmtree(folder.path, ignore_errors=True)
        folder.path.mkdir(parents=True)
        folder.write(folder.environment, self._search.read(self._search.environment))
        if not keep_worker:  # a protocol may require a new process for each round
            self.close()
        worker = self.open(config) if keep_worker else Worker(config, self.environment)
        engine.run(jobs, folder, progress, launcher, worker, stages=ALL)
        rows = {job.number: folder.json(folder.result(job.number)) for job in jobs}
        return {number: row for number, row in rows.items() if isinstance(row, dict)}

    def move(self, job: Job) -> None:
        """Move a job's files from the place's folder to the search's."""
        for path in sorted(self.folder.job(job.number).glob("*")):
            if path.is_file():
                path.replace(_parent(self._search.job(job.number) / path.name))
        for of in (RunFolder.samples, RunFolder.hot_samples):
            if (kept := of(self.folder, job.case.id, job.number)).exists():
                kept.replace(_parent(of(self._search, job.case.id, job.number)))

    def close(self) -> None:
        """End the worker."""
        if self._worker:
            self._worker.kill()
            self._worker = None


class Places:
    """All devices of a search, at least one. A GPU that is lost is not used again."""

    def __init__(
        self, search: RunFolder, progress: SweepProgress, environments: Sequence[Mapping[str, str]], launcher: str
    ) -> None:
        """Prepare the devices.

        Args:
            search: The search's run folder.
            progress: Where rows and messages go.
            environments: The environment variables of each device's worker.
            launcher: The launcher's name, for the rows.
        """
        self._search, self._progress, self._launcher = search, progress, launcher
        self._all = [Place(search, number, environment) for number, environment in enumerate(environments)]
        self._threads = ThreadPoolExecutor(len(self._all), "gpu")  # a worker ends with the thread that started it

    def run(self, jobs: Sequence[Job], beside: Sequence[Job]) -> list[tuple[Sequence[Job], Mapping[int, Row]]]:
        """Run jobs on all devices.

        Args:
            jobs: The jobs, which are split among the devices.
            beside: Jobs that every device measures, too. If empty, only the first device is used.

        Returns:
            The jobs of each device, and the rows of its jobs and of `beside` by job number.
        """
        found: list[tuple[Sequence[Job], Mapping[int, Row]]] = []
        while jobs:
            if len(self._all) > 1:
                self._prepare(jobs)
            count = min(len(self._all), len(jobs)) if beside else 1
            shares = {place: jobs[n::count] for n, place in enumerate(self._all[:count])}
            rows = self._together({place: [*own, *beside] for place, own in shares.items()})
            jobs = []
            for place, own in shares.items():
                done = [job for job in own if rows[place].get(job.number, {}).get("status", "not_run") != "not_run"]
                if len(done) < len(own) and len(self._all) > 1:
                    self._lose(place, "it did not finish all of its cases")
                    jobs = [*jobs, *(job for job in own if job not in done)]
                    own = done  # noqa: PLW2901
                self._take(place, own)
                found.append((own, rows[place]))
        return found

    def anew(self, jobs: Sequence[Job]) -> Mapping[int, Row]:
        """Run jobs side by side on one device, with a new worker. Returns their rows by job number."""
        place = self._all[0]
        rows = place.run(jobs, self._progress, self._launcher, keep_worker=False)
        self._take(place, jobs)
        return rows

    def close(self) -> None:
        """End all workers."""
        for place in self._all:
            place.close()
            shutil.rmtree(place.folder.path, ignore_errors=True)
        self._threads.shutdown()

    def _prepare(self, jobs: Sequence[Job]) -> None:
        """Open all devices at once, and compile the jobs into the cache that all of them use.

        Raises:
            UsageError: The GPUs are of several models, whose times are not comparable.
        """
        config, models = jobs[0].device, dict[str, DeviceInfo]()
        opening = [(place, place.open(config)) for place in self._all]
        for place, worker in opening:
            try:
                models[worker.info.name] = worker.info
            except DeviceUnavailable as e:
                if len(self._all) == 1:
                    raise
                self._lose(place, str(e))
        if len(models) > 1:
            raise UsageError(
                f"hydra/launcher={self._launcher}: a search needs GPUs of one model; found: {' and '.join(models)}; "
                f"choose GPUs with hydra.launcher.gpus"
            )
        (info,) = models.values()
        compiler = compiler_for(config, info, jobs[0].compiler)
        runnable = [job for job in jobs if not compiling.reason_to_skip(job.case, info)]
        compiling.compile_all(compiler, runnable, self._progress)

    def _together(self, shares: Mapping[Place, Sequence[Job]]) -> dict[Place, Mapping[int, Row]]:
        """Run the shares in parallel. A GPU that cannot be opened again gives no rows."""
        if len(self._all) == 1:
            return {place: place.run(jobs, self._progress, self._launcher) for place, jobs in shares.items()}
        self._progress.stage("measuring", sum(map(len, shares.values())))
        threads = {
            place: self._threads.submit(place.run, jobs, _Share(self._progress), self._launcher)
            for place, jobs in shares.items()
        }
        rows: dict[Place, Mapping[int, Row]] = {}
        try:
            for place, thread in threads.items():
                try:
                    rows[place] = thread.result()
                except DeviceUnavailable as e:
                    self._progress.warn(str(e))
                    rows[place] = {}
        except BaseException:
            for place in threads:
                place.close()  # may interrupt a launch
            wait(threads.values())
            raise
        return rows

    def _take(self, place: Place, jobs: Sequence[Job]) -> None:
        """Move the files of a place's jobs to the search's folder."""
        for job in jobs:
            place.move(job)
        if jobs and place is self._all[0]:
            self._search.write(self._search.environment, place.folder.read(place.folder.environment))

    def _lose(self, place: Place, why: str) -> None:
        self._progress.warn(f"GPU {place.number} is no longer used in this search: {why}")
        place.close()
        self._all.remove(place)


def _parent(path: Path) -> Path:
    """Create a path's parent folder, and return the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
