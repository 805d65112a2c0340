"""Our launcher for multiruns: it sees the whole batch, so nothing is run before everything has been understood."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.utils import JobReturn, JobStatus, setup_globals
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, open_dict, read_write

from runner import config
from runner.command import job_files, taking_up
from runner.command.composing import Composer
from runner.errors import UsageError
from runner.folder import RunFolder
from runner.progress import SweepProgress
from runner.sweep import engine
from runner.sweep.compile import Prefetch


class BatchLauncher(Launcher):
    """Hands all jobs of a sweep to the engine at once, instead of one after the other."""

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Called by Hydra before its sweeper composes all jobs, to see whether they can be composed."""
        _ = task_function  # the engine is called directly
        self._config = config
        loader: Any = hydra_context.config_loader
        self._composer = Composer(loader, config)
        sweeper = f"{BasicSweeper.__module__}.{BasicSweeper.__qualname__}"
        if config.hydra.sweeper.get("_target_") == sweeper:
            # It throws away what it composes, and `launch` composes all of it before anything is run.
            loader.load_sweep_config = lambda master_config, sweep_overrides: master_config  # noqa: ARG005

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Plan all jobs, then run them.

        Raises:
            UsageError: if one of them cannot be understood; nothing was run then.
        """
        setup_globals()
        if not job_overrides:
            raise UsageError("there is nothing to run: a pattern such as kernel=glob(...) matches no name")
        folder = RunFolder(taking_up.folder(Path(str(self._config.hydra.sweep.dir))))
        with SweepProgress() as progress:
            progress.stage("reading the configuration", len(job_overrides))
            plan: list[config.Job] = []
            with ExitStack() as stack:
                prefetch = None
                for number, overrides in enumerate(job_overrides, initial_job_idx):
                    progress.now(" ".join(overrides))
                    plan.append(self._planned(overrides, number, folder))
                    progress.step()
                    if taking_up.current is not None:
                        continue  # of a sweep that is taken up it is not known yet what is missing
                    if prefetch is None:
                        prefetch = Prefetch(plan[0], len(job_overrides))
                        stack.callback(prefetch.close)
                    prefetch.submit(plan[-1])
                if taking_up.rehearsed(plan):
                    return [_done(overrides) for overrides in job_overrides]
                for name in _unread(job_overrides, plan):
                    progress.say(f"{name}: none of these kernels reads it, so it changes nothing")
                engine.run(plan, folder, progress, "batch", prefetch)
        return [_done(overrides) for overrides in job_overrides]

    def _planned(self, overrides: Sequence[str], number: int, folder: RunFolder) -> config.Job:
        """One job as a case. Its configuration is in its folder then, and nowhere else."""
        task, hydra = parted(self._composer.job(overrides, number))
        planned = config.planned(task, hydra)
        job_files.write(folder.job(number), task, hydra)
        return planned


def parted(composed: DictConfig) -> tuple[DictConfig, DictConfig]:
    """The configuration that a task is given, and Hydra's own node."""
    hydra = composed.hydra
    with read_write(composed), open_dict(composed):
        del composed["hydra"]
    return composed, hydra


def _unread(job_overrides: Sequence[Sequence[str]], plan: Sequence[config.Job]) -> list[str]:
    """Parameters that the command line sets and no kernel of the sweep has."""
    given = {override.partition("=")[0] for overrides in job_overrides for override in overrides}
    read = {name for planned in plan for name, _ in planned.case.parameters}
    return sorted(given & set(config.parameter_names()) - read)


def _done(overrides: Sequence[str]) -> JobReturn:
    """A job for Hydra's sweeper: whatever becomes of the case is in its row, so the job itself always succeeds."""
    return JobReturn(overrides=overrides, status=JobStatus.COMPLETED)
