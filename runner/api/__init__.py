"""The Python face: run a sweep, find runs, and read them as pandas data frames.

    keywords ──overrides──▶ command line ──sweeping──▶ `process`, in a process of its own ──▶ run folder ──▶ `Run`

Door: `sweep`, `find_runs`, `open_run` and the classes here. `runner` itself offers them, and imports them late.
Takes: plain values. Gives: a `Run`, which reads a finished folder.
What may not cross: Hydra's state, signal handlers, caches of files, and the matplotlib backend belong to the process of
the sweep, so that a notebook can run one sweep after another while its user edits the kernels.
"""

from __future__ import annotations

from runner.api.finding import find_runs, open_run
from runner.api.own_kernel import Kernel
from runner.api.run import Comparison, Run
from runner.api.sweeping import sweep

__all__ = ["Comparison", "Kernel", "Run", "find_runs", "open_run", "sweep"]
