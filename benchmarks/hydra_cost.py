"""What a case of a sweep costs before anything is run: composed, planned, and written into its job's folder.

    python benchmarks/hydra_cost.py [--cases 200] [--rounds 3]

Our launcher and Hydra's own (`hydra/launcher=basic`) do the same sweep in turns, so that drift affects both;
the engine is taken out. The table has the medians of the rounds, in milliseconds a case, and their ratio.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra import initialize_config_dir
from hydra._internal.callbacks import Callbacks
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.core_plugins.basic_launcher import BasicLauncher
from hydra._internal.utils import create_config_search_path
from hydra.core.hydra_config import HydraConfig
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, RunMode

from runner import config
from runner.config import Job
from runner.folder import RunFolder
from runner.hydra import app, schema
from runner.hydra.launcher import BatchLauncher
from runner.session import Session, current
from runner.sweep import engine, ledger

KERNELS = ("reduceShfl", "reduceSmem")
BLOCKS = (32, 64, 128, 256, 512)
LAUNCHERS: tuple[type[Launcher], ...] = (BatchLauncher, BasicLauncher)


@dataclass(frozen=True)
class Cost:
    """Milliseconds a case.

    Attributes:
        checking: The sweeper's look at all jobs, before it launches.
        launching: Composing, planning, and writing what stands in the jobs' folders before the engine begins.
    """

    checking: float
    launching: float

    @property
    def total(self) -> float:
        """Both."""
        return self.checking + self.launching


def jobs(cases: int) -> list[list[str]]:
    """The overrides of each job, as Hydra's sweeper makes them of two kernels, five blocks and many sizes."""
    sizes = range(1, cases // (len(KERNELS) * len(BLOCKS)) + 1)
    return [[f"kernel={k}", f"block={b}", f"size={s}Ki"] for k, b, s in itertools.product(KERNELS, BLOCKS, sizes)]


def write_down(planned: Sequence[Job], folder: RunFolder, _progress: Any, launcher: str, _worker: Any = None) -> None:
    """Replaces the engine: write only what it writes before it begins."""
    if launcher == "batch":
        ledger.write_plan(planned, folder, launcher)
        return
    for job in planned:  # `write_plan` would read all earlier jobs each time, which is not Hydra's doing
        folder.write_json(folder.case(job.number), ledger.described(job, launcher))


def cost(launcher: type[Launcher], overrides: list[list[str]], folder: Path) -> Cost:
    """One sweep through one launcher, up to the engine."""
    loader = ConfigLoaderImpl(create_config_search_path(str(config.CONF)))
    own = "batch" if launcher is BatchLauncher else "basic"
    arguments = [f"hydra.sweep.dir={folder}", f"hydra/launcher={own}", "device=cpu"]
    master = loader.load_configuration("config", arguments, RunMode.MULTIRUN)
    HydraConfig.instance().set_config(master)
    launching: Any = launcher()
    folder.mkdir(parents=True)
    RunFolder(folder).write_json(RunFolder(folder).environment, {})  # as the callback that reserves the folder does
    context = HydraContext(config_loader=loader, callbacks=Callbacks())
    started = time.perf_counter()
    launching.setup(hydra_context=context, task_function=app.job, config=master)
    for job in overrides:
        loader.load_sweep_config(master, job)
    checked = time.perf_counter()
    for returned in launching.launch(overrides, 0):
        _ = returned.return_value  # raises what the job raised
    ended = time.perf_counter()
    return Cost(1e3 * (checked - started) / len(overrides), 1e3 * (ended - checked) / len(overrides))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    overrides = jobs(options.cases)
    engine.run = write_down
    Session.open_device = lambda *_: None  # type: ignore[method-assign]  # it would need a core of its own
    schema.register([config.CONF])
    current.set(Session())
    costs: dict[type[Launcher], list[Cost]] = {launcher: [] for launcher in LAUNCHERS}
    with tempfile.TemporaryDirectory() as scratch, initialize_config_dir(str(config.CONF), version_base="1.3"):
        for turn in range(options.rounds):
            for launcher in LAUNCHERS if turn % 2 == 0 else reversed(LAUNCHERS):
                costs[launcher].append(cost(launcher, overrides, Path(scratch) / f"{launcher.__name__}-{turn}"))
    print(f"{f'ms a case, {len(overrides)} cases':<28}{'ours':>10}{'Hydra':>10}{'ratio':>8}")
    for title, part in (("the sweeper's check", "checking"), ("launching", "launching"), ("together", "total")):
        ours, hydra = (statistics.median(getattr(c, part) for c in costs[launcher]) for launcher in LAUNCHERS)
        print(f"{title:<28}{ours:>10.2f}{hydra:>10.2f}" + (f"{hydra / ours:>8.1f}" if ours > 0.1 else ""))


if __name__ == "__main__":
    main()
