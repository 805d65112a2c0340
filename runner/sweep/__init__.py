"""Run a list of cases: plan, compile everything, measure in rounds in a worker process, write each row at once.

`engine.run` is the door: jobs go in, and results leave through the run folder only. Stages implement `stage.Stage`.

plan ──compile──▶ binaries ──engine──▶ worker: run_case, measure ──▶ Outcome ──ledger──▶ rows, samples
"""

from __future__ import annotations

import sys
from types import ModuleType

import runner


class _Callable(ModuleType):
    """Python binds this package to the name `runner.sweep` when it is imported, where users call the function."""

    __call__ = staticmethod(runner.sweep)


sys.modules[__name__].__class__ = _Callable
