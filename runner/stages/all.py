"""The stages of a sweep, in the order in which they run. To add one, write a package and list it here."""

from __future__ import annotations

from runner.stages.code.stage import MachineCode
from runner.stages.lines.stage import LineCosts
from runner.stages.profile.ceilings import Ceilings
from runner.stages.profile.counters import Ncu
from runner.stages.profile.energy import BoardEnergy
from runner.stages.profile.sanitizer import Sanitizer
from runner.stages.races.stage import Races
from runner.sweep.stage import Stage

ALL: tuple[Stage, ...] = (MachineCode(), LineCosts(), Races(), Ncu(), Ceilings(), BoardEnergy(), Sanitizer())
