"""Our launcher for multiruns: it sees the whole batch, so nothing is run before everything has been understood."""

from __future__ import annotations

import copy
import functools
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra.core.utils import JobReturn, JobStatus, setup_globals
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from runner import atomic, config, engine
from runner.errors import Mistake
from runner.folder import RunFolder
from runner.progress import QUIET_S, SweepProgress


class BatchLauncher(Launcher):
    """Hands all jobs of a sweep to the engine at once, instead of one after the other."""

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Called by Hydra before the sweeper composes its jobs to see whether they can be composed."""
        _ = task_function  # the engine is called directly
        self._config = config
        self._composed, self._said = 0, time.monotonic()
        self._loader = hydra_context.config_loader
        # The sweeper composes each job, throws the result away, and the launcher composes it again: 50 ms a job.
        self._compose = functools.lru_cache(maxsize=None)(self._loader_call(self._loader.load_sweep_config))
        self._loader.load_sweep_config = self._remembered  # type: ignore[method-assign]

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Plan all jobs, then run them.

        Raises:
            Mistake: if one of them cannot be understood; nothing was run then.
        """
        setup_globals()
        if not job_overrides:
            raise Mistake("there is nothing to run: a pattern such as kernel=glob(...) matches no name")
        folder = RunFolder(Path(str(self._config.hydra.sweep.dir)))
        plan, returns = [], []
        with SweepProgress() as progress:
            progress.stage("reading the configuration", len(job_overrides))
            for number, overrides in enumerate(job_overrides, initial_job_idx):
                composed = copy.deepcopy(self._compose(tuple(overrides)))
                plan.append(_planned(composed, number))
                _save(composed, folder, number)
                returns.append(_done(composed))
                progress.step()
            self._compose.cache_clear()
            for name in _unread(job_overrides, plan):
                progress.say(f"{name}: none of these kernels reads it, so it changes nothing")
            engine.run(plan, folder, progress, "batch")
        return returns

    def _loader_call(self, compose: Any) -> Any:
        return lambda overrides: compose(self._config, list(overrides))

    def _remembered(self, master_config: DictConfig, sweep_overrides: list[str]) -> DictConfig:
        _ = master_config  # the one of setup; a sweep has no other
        composed: DictConfig = self._compose(tuple(sweep_overrides))
        self._composed += 1
        if time.monotonic() - self._said > QUIET_S:
            self._said = time.monotonic()
            SweepProgress().say(f"reading the configuration: {self._composed} cases so far")
        return composed


def _unread(job_overrides: Sequence[Sequence[str]], plan: Sequence[config.Planned]) -> list[str]:
    """Parameters that the command line sets and no kernel of the sweep has."""
    given = {override.partition("=")[0] for overrides in job_overrides for override in overrides}
    read = {name for planned in plan for name, _ in planned.case.parameters}
    return sorted(given & set(config.parameter_names()) - read)


def _planned(composed: DictConfig, number: int) -> config.Planned:
    with read_write(composed), open_dict(composed):
        composed.hydra.job.id = number
        composed.hydra.job.num = number
    task = copy.deepcopy(composed)
    with read_write(task), open_dict(task):
        del task["hydra"]
    return config.planned(task, composed.hydra)


def _save(composed: DictConfig, folder: RunFolder, number: int) -> None:
    """The files that Hydra itself leaves in a job's folder."""
    target = folder.job(number) / ".hydra"
    settings = OmegaConf.masked_copy(composed, "hydra")
    with read_write(settings), open_dict(settings):
        settings.hydra.runtime.output_dir = str(folder.job(number).absolute())
    task = OmegaConf.masked_copy(composed, [str(k) for k in composed if k != "hydra"])
    atomic.write_text(target / "config.yaml", OmegaConf.to_yaml(task))
    atomic.write_text(target / "hydra.yaml", OmegaConf.to_yaml(settings))
    atomic.write_text(target / "overrides.yaml", OmegaConf.to_yaml(composed.hydra.overrides.task))


def _done(composed: DictConfig) -> JobReturn:
    """A job for Hydra's sweeper: whatever becomes of the case is in its row, so the job itself always succeeds."""
    done = JobReturn(overrides=list(composed.hydra.overrides.task), status=JobStatus.COMPLETED)
    done.return_value = None
    return done
