"""The stages of a sweep, in the order in which they run. A further one is a package and its place in this list."""

from __future__ import annotations

from pathlib import Path

from runner.stages.code.stage import MachineCode
from runner.stages.lines.stage import LineCosts
from runner.stages.profile.ceilings import Ceilings
from runner.stages.profile.counters import Ncu
from runner.stages.profile.energy import Energy
from runner.stages.profile.sanitizer import Sanitizer
from runner.stages.profile.stage import Best
from runner.stages.races.stage import Races
from runner.sweep.stage import Stage


def _best(folder: Path) -> Best:
    """The cases that `profile.cases` means, by the report's own rule."""
    from runner.record.ranking import best_jobs  # noqa: PLC0415  (not for a sweep that profiles all cases, or none)

    return best_jobs(folder)


ALL: tuple[Stage, ...] = (
    MachineCode(),
    LineCosts(),
    Races(),
    *(stage(_best) for stage in (Ncu, Ceilings, Energy, Sanitizer)),
)
