"""A sweep that is taken up again, as Hydra's callback and our launcher need to know it.

Hydra makes both by their names, so that nothing else can carry it to them. The command is given twice: as a rehearsal,
which composes all jobs and writes nothing, and in earnest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from runner.command.command_line import quoted
from runner.command.record import Record
from runner.config import Job
from runner.differences import between, refusal


@dataclass(frozen=True)
class TakenUp:
    """A recorded command that is given again.

    Attributes:
        record: Of the sweep.
        scratch: A folder for what Hydra writes about the command as such: its first record stays as it is.
        rehearsal: Whether the jobs are composed only.
        planned: What a rehearsal would have run.
    """

    record: Record
    scratch: Path
    rehearsal: bool
    planned: list[Job] = field(default_factory=list)

    @property
    def arguments(self) -> list[str]:
        """Of the command, after the program's name; a rehearsal of a plain run is a sweep of one."""
        return [*self.record.arguments, *(["hydra.mode=MULTIRUN"] if self.rehearsal else [])]

    @property
    def _is_plain_run(self) -> bool:
        return self.record.launcher == "none" and not self.rehearsal

    def enter(self, config: DictConfig) -> None:
        """Make Hydra write into the sweep's folder.

        Args:
            config: As composed for the command; Hydra reads the sweep's folder from it, and the jobs' from overrides.

        Raises:
            UsageError: if the experiment sweeps something else by now.
        """
        params = OmegaConf.to_container(config.hydra.sweeper, resolve=False)
        now = params.get("params") if isinstance(params, dict) else None
        if changed := between("the sweep", self.record.params or {}, now or {}):
            raise refusal(changed)
        with read_write(config.hydra), open_dict(config.hydra):
            config.hydra.overrides.hydra.append(f"hydra.sweep.dir={quoted(self.record.sweep_dir)}")
            # A plain run leaves no record beside that of its job.
            config.hydra.sweep.dir = self.record.sweep_dir if self._is_plain_run else str(self.scratch)
            if self.rehearsal:
                config.hydra.sweeper.max_batch_size = None
                config.hydra.launcher = {"_target_": "hydra_plugins.runner_launcher.BatchLauncher"}


current: TakenUp | None = None  # `None` for a new sweep


def folder(of_command: Path) -> Path:
    """Where the jobs' folders lie; for a new sweep, in that of its command."""
    return of_command if current is None or current.rehearsal else Path(current.record.sweep_dir)


def rehearsed(plan: Sequence[Job]) -> bool:
    """Whether this is a rehearsal, which ends with the plan."""
    if current is None or not current.rehearsal:
        return False
    current.planned.extend(plan)
    return True
