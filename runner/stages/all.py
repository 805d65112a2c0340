"""The stages of a sweep, in the order in which they run. A further one is a package and its place in this list."""

from __future__ import annotations

from runner.profiling.steps import Profiling
from runner.stages.code.stage import MachineCode
from runner.stages.lines.stage import LineCosts
from runner.stages.races.stage import Races
from runner.sweep.stage import Stage

ALL: tuple[Stage, ...] = (MachineCode(), LineCosts(), Races(), Profiling())
