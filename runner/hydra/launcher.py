"""The launcher `batch`: it gets all jobs of a sweep at once, so nothing runs before every job is understood."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from hydra.core.utils import JobReturn, JobStatus, setup_globals
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

from runner.config import Job
from runner.errors import UsageError
from runner.folder import RunFolder
from runner.hydra import schema
from runner.hydra.composing import Composer
from runner.progress import SweepProgress
from runner.sweep import engine
from runner.sweep.compile import Prefetch

BASIC_SWEEPER = "hydra._internal.core_plugins.basic_sweeper.BasicSweeper"  # as configurations name it


class BatchLauncher(Launcher):
    """Hands all jobs of a sweep to the engine at once."""

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Called by Hydra before its sweeper composes all jobs to check them."""
        _ = task_function  # the engine is called directly
        self._config = config
        loader: Any = hydra_context.config_loader
        self._composer = Composer(loader, config)
        if config.hydra.sweeper.get("_target_") == BASIC_SWEEPER:
            # It throws away what it composes, and `launch` composes all jobs before any is run.
            loader.load_sweep_config = lambda master_config, sweep_overrides: master_config  # noqa: ARG005

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Plan all jobs, then run them.

        Raises:
            UsageError: if a job cannot be understood; nothing was run then.
        """
        setup_globals()
        if not job_overrides:
            raise UsageError("there is nothing to run: a pattern such as kernel=glob(...) matches no name")
        folder = RunFolder(Path(str(self._config.hydra.sweep.dir)))
        with SweepProgress() as progress, ExitStack() as stack:
            progress.stage("reading the configuration", len(job_overrides))
            plan: list[Job] = []
            prefetch = None
            for number, overrides in enumerate(job_overrides, initial_job_idx):
                progress.now(" ".join(overrides))
                plan.append(self._composer.job(overrides, number, folder.job(number)))
                progress.step()
                if prefetch is None:
                    prefetch = Prefetch(plan[0], len(job_overrides))
                    stack.callback(prefetch.close)
                prefetch.submit(plan[-1])
            for name in _unread(job_overrides, plan):
                progress.say(f"{name}: no kernel of the sweep reads it, so it changes nothing")
            engine.run(plan, folder, progress, "batch", prefetch)
        # Whatever becomes of a case is in its row, so the job itself always succeeds.
        return [JobReturn(overrides=overrides, status=JobStatus.COMPLETED) for overrides in job_overrides]


def _unread(job_overrides: Sequence[Sequence[str]], plan: Sequence[Job]) -> list[str]:
    """Parameters that the command line sets and no kernel of the sweep has."""
    given = {override.partition("=")[0] for overrides in job_overrides for override in overrides}
    read = {name for job in plan for name, _ in job.case.parameters}
    return sorted(given & set(schema.parameter_names()) - read)
