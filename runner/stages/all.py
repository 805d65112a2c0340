"""The stages of a sweep, in the order in which they run, and those of `runner profile`.

To add one, write a package and list it here.
"""

from __future__ import annotations

from runner.stages.code.stage import Binaries, Disassembly
from runner.stages.lines.stage import LineCosts
from runner.stages.profile.ceilings import Ceilings
from runner.stages.profile.counters import Ncu
from runner.stages.profile.energy import BoardEnergy
from runner.stages.profile.sanitizer import Sanitizer
from runner.stages.races.stage import Races
from runner.sweep.stage import Stage

ALL: tuple[Stage, ...] = (Binaries(), Races(), LineCosts(), Ncu(), Ceilings(), BoardEnergy(), Sanitizer())

ON_DEMAND: dict[str, Stage] = {
    "races": Races(),
    "lines": LineCosts(),
    "code": Disassembly(),
    "ncu": Ncu(),
    "roofline": Ceilings(),
    "energy": BoardEnergy(),
    "sanitizer": Sanitizer(),
}
"""What `runner profile FOLDER` can do after a sweep, by the word that asks for it."""
