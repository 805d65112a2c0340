"""The stages of a sweep, in the order in which they run. To add one, write a package and list it here."""

from __future__ import annotations

from pathlib import Path

from runner.stages.code.stage import MachineCode
from runner.stages.lines.stage import LineCosts
from runner.stages.profile.ceilings import Ceilings
from runner.stages.profile.counters import Ncu
from runner.stages.profile.energy import BoardEnergy
from runner.stages.profile.sanitizer import Sanitizer
from runner.stages.profile.stage import Best
from runner.stages.races.stage import Races
from runner.sweep.stage import Stage


def _best(folder: Path) -> Best:
    """Select the fastest and the tied cases for `profile.cases`, by the rule that the report uses."""
    from runner.record.ranking import best_jobs  # noqa: PLC0415  (slow to import; only `profile.cases` needs it)

    return best_jobs(folder)


ALL: tuple[Stage, ...] = (
    MachineCode(),
    LineCosts(),
    Races(),
    *(stage(_best) for stage in (Ncu, Ceilings, BoardEnergy, Sanitizer)),
)
