"""The stages of a sweep, in the order in which they run. A further one is a module and its place in this list."""

from __future__ import annotations

from runner.profiling import steps
from runner.racecheck import looking
from runner.sweep.stage import Stage

ALL: tuple[Stage, ...] = (looking, steps)
