"""Compares searches on recorded spaces: ours and Kernel Tuner's strategies, on the same files, in the same run.

    python benchmarks/search.py replay FOLDER --seeds 30 [--strategies guided,simulated_annealing] [--out RUNS.jsonl]
    python benchmarks/search.py gpu --seeds 3 --seconds 60 [--size 1024] [--out FOLDER]

`replay` takes the T4 files below a folder, brute-forced spaces such as those of
https://github.com/AutoTuningAssociation/benchmark_hub. A search that has measured a share of the space is worth the
optimum over its best: 1 if it has found the optimum. The table has the median over the seeds, and then the geometric
mean over the spaces. Names with a point in front are ours; the others are strategies of Kernel Tuner, with their
defaults, in a runner that looks results up as its simulation does. Runs that --out has already are not repeated.

`gpu` searches the tiled matrix product with several seeds, for so many seconds each, and compares what each has found
after how many cases with the best of all. Needs a GPU and PyCUDA.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import math
import random
import subprocess
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:] = [
    str(ROOT),
    *(p for p in sys.path if Path(p).resolve() != ROOT / "benchmarks"),
]  # it has a kernel_tuner.py

from runner import t4  # noqa: E402
from runner.search import samplers  # noqa: E402
from runner.search.loop import Budget, Search  # noqa: E402
from runner.search.space import Axis, Point, Space  # noqa: E402

SHARES = (0.01, 0.05, 0.1)  # of a space that are measured
THEIRS = (
    "adaptive_tabu_greywolf", "basinhopping", "diff_evo", "dual_annealing", "firefly_algorithm", "genetic_algorithm",
    "greedy_ils", "greedy_mls", "hybrid_vndx", "minimize", "mls", "ordered_greedy_mls", "pso", "random_sample",
    "simulated_annealing",
)  # fmt: skip
OURS = ("guided", "random")
BATCH = 4  # cases that ours asks for at once


@dataclass(frozen=True)
class Recorded:
    """A space of which every legal combination was measured."""

    name: str
    space: Space
    times: Mapping[Point, float | None]  # `None` if the combination failed

    @property
    def best(self) -> float:
        """The optimum."""
        return min(t for t in self.times.values() if t is not None)

    def worth(self, found: Sequence[float | None]) -> list[float]:
        """The optimum over the best so far, after each of the shares."""
        worth = []
        for share in SHARES:
            good = [t for t in found[: max(1, int(share * len(self.times)))] if t is not None]
            worth.append(self.best / min(good) if good else 0.0)
        return worth


def recorded(path: Path) -> Recorded:
    """Read a T4 file; parameters with one value are left out."""
    entries, _ = t4.read(path)
    values = {p: sorted({e.configuration[p] for e in entries}) for p in entries[0].configuration}
    axes = tuple(Axis(name, tuple(own)) for name, own in values.items() if len(own) > 1)
    times = {tuple(a.values.index(e.configuration[a.name]) for a in axes): e.time_us for e in entries}
    legal = np.zeros([len(a.values) for a in axes], np.bool_)
    legal[tuple(np.array(list(times)).T)] = True
    return Recorded(
        f"{path.parent.name}/{path.name.partition('.')[0]}", Space(axes, ((tuple(range(len(axes))), legal),)), times
    )


def of_ours(sampler: str, on: Recorded, seed: int, cases: int) -> list[float | None]:
    """What one of our samplers measures, in order."""
    asked: list[float | None] = []

    def measure(points: Sequence[Point]) -> dict[Point, tuple[float, ...] | None]:
        found = {p: on.times[p] for p in points}
        asked.extend(found.values())
        return {p: None if t is None else (t,) for p, t in found.items()}

    made = samplers.made(sampler, on.space, seed, 1, Path("unused"))
    Search(made, Budget(max_cases=cases, patience=0), measure).run(BATCH)
    return asked


class LookUp:
    """A runner of Kernel Tuner that looks results up. Only new combinations count, as in its own simulation."""

    def __init__(self, times: Mapping[tuple[Any, ...], float | None]) -> None:
        self._times, self.found = times, {}
        self.dev, self.quiet = SimpleNamespace(max_threads=1 << 30), True

    def add_strategy_time(self, seconds: float) -> None:
        """Called by the strategies."""

    def run(self, configurations: Sequence[Sequence[Any]], options: Any) -> list[Any]:
        """Called by the strategies."""
        from kernel_tuner import util  # noqa: PLC0415

        results: list[Any] = []
        for values in map(tuple, configurations):
            if options.budget.is_done():
                results.append(None)
                continue
            if values not in self.found:
                self.found[values] = self._times[values]
                options.budget.add_evaluations(1)
            known = self.found[values]
            result = dict(zip(options.tune_params, values, strict=True))
            results.append(result | ({"__error__": util.RuntimeFailedConfig()} if known is None else {"time": known}))
        return results


def of_theirs(strategy: str, on: Recorded, seed: int, cases: int) -> list[float | None]:
    """What a strategy of Kernel Tuner measures, in order."""
    from kernel_tuner import util  # noqa: PLC0415
    from kernel_tuner.interface import Options, strategy_map  # noqa: PLC0415
    from kernel_tuner.searchspace import Searchspace  # noqa: PLC0415

    parameters = {axis.name: list(axis.values) for axis in on.space.axes}
    times = {tuple(on.space.values(point).values()): t for point, t in on.times.items()}
    cache = {str(n): dict(zip(parameters, values, strict=True)) for n, values in enumerate(times)}
    space = Searchspace(None, None, None, from_cache={"tune_params": parameters, "cache": cache})
    look_up = LookUp(times)
    options = Options(
        objective=["time"], objective_higher_is_better=[False], strategy_options=Options(max_fevals=cases),
        tune_params=parameters, verbose=False, restrictions=[], seed=seed, max_fevals=cases,
        strategy=strategy, cache={},
    )  # fmt: skip
    options["budget"] = util.TuningBudget(None, cases)
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002  (its strategies use both)
    with contextlib.suppress(util.StopCriterionReached), contextlib.redirect_stdout(io.StringIO()):
        strategy_map[strategy].tune(space, look_up, options)
    return list(look_up.found.values())


def replay(folder: Path, strategies: Sequence[str], seeds: int, out: Path) -> None:
    """Run what is not in the file yet, and print the table."""
    files = sorted(p for p in folder.rglob("*_T4.json*") if p.is_file())
    if not files:
        raise SystemExit(f"{folder}: there is no file *_T4.json or *_T4.json.gz")
    done = {(r["space"], r["strategy"], r["seed"]): r for r in _lines(out)}
    for path in files:
        on = recorded(path)
        cases = int(SHARES[-1] * len(on.times))
        for strategy in strategies:
            for seed in range(seeds):
                if (on.name, strategy, seed) in done:
                    continue
                started = time.process_time()
                search = of_ours if strategy.startswith(".") else of_theirs
                worth = on.worth(search(strategy.lstrip("."), on, seed, cases))
                run = {"space": on.name, "strategy": strategy, "seed": seed, "worth": worth}
                run["cpu_s"] = round(time.process_time() - started, 3)
                done[on.name, strategy, seed] = run
                with out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(run) + "\n")
    sys.stdout.write(table([r for r in done.values() if r["strategy"] in strategies and r["seed"] < seeds]))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())


def table(runs: Sequence[Mapping[str, Any]]) -> str:
    """A line for each strategy that has run on all spaces, the best at the last share first."""
    by: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        by[run["strategy"]][run["space"]].append(run)
    spaces = {run["space"] for run in runs}
    lines = {}
    for strategy, own in by.items():
        if own.keys() != spaces:
            continue
        medians = np.array([np.median([r["worth"] for r in of], axis=0) for of in own.values()])
        mean = np.exp(np.log(np.maximum(medians, 1e-9)).mean(axis=0))
        seconds = np.median([r["cpu_s"] for of in own.values() for r in of])
        seeds = min(len(of) for of in own.values())
        lines[strategy] = (mean, f"| {strategy} | {' | '.join(f'{m:.3f}' for m in mean)} | {seconds:.2f} | {seeds} |")
    order = sorted(lines, key=lambda s: float(np.log(lines[s][0]).sum()), reverse=True)
    head = (
        f"| strategy | {' | '.join(f'{s:.0%}' for s in SHARES)} | CPU s | seeds |\n|---|{'---|' * (len(SHARES) + 2)}\n"
    )
    return f"{len(spaces)} space{'s' * (len(spaces) > 1)}\n\n{head}" + "".join(f"{lines[s][1]}\n" for s in order)


def gpu(seeds: int, seconds: float, size: int, out: Path) -> None:
    """Search the matrix product on a GPU, and say how soon each search was near the best of all."""
    told: dict[int, list[float]] = {}
    for seed in range(seeds):
        folder = out / f"seed-{seed}"
        command = [sys.executable, "-m", "runner", "experiment=matmul_search", "device=cuda", f"size={size}x{size}"]
        command += [f"inner={size}", f"hydra.sweeper.max_seconds={seconds}", "hydra.sweeper.max_cases=0"]
        command += ["hydra.sweeper.patience=0", f"hydra.sweeper.seed={seed}", f"hydra.sweep.dir={folder}", "--quiet"]
        subprocess.run(command, check=False, cwd=ROOT)
        trials = [json.loads(line) for line in (folder / "search.jsonl").read_text(encoding="utf-8").splitlines()]
        told[seed] = [math.inf if t["values"] is None else -t["values"][0] for t in trials]
        told[seed] = [0.0 if math.isinf(g) else g for g in told[seed]]
        with (folder / "results.csv").open(encoding="utf-8") as file:
            walls = [float(row["wall_s"]) for row in csv.DictReader(file) if row["wall_s"]]
        sys.stdout.write(f"seed {seed}: {len(trials)} cases, {np.median(walls):.2f} s a case on the GPU\n")
    best = max(max(values) for values in told.values())
    for seed, values in told.items():
        so_far = np.maximum.accumulate(values)
        near = int(np.argmax(so_far >= 0.97 * best)) + 1 if so_far[-1] >= 0.97 * best else None
        when = f"within 3 % after {near} cases" if near else "not within 3 %"
        sys.stdout.write(
            f"seed {seed}: best {so_far[-1]:.0f} GFLOP/s, {so_far[-1] / best:.1%} of the best known, {when}\n"
        )


def main() -> None:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    modes = parser.add_subparsers(dest="mode", required=True)
    of_replay, of_gpu = modes.add_parser("replay"), modes.add_parser("gpu")
    of_replay.add_argument("folder", type=Path)
    of_replay.add_argument("--seeds", type=int, default=30)
    of_replay.add_argument("--strategies", default=",".join([*(f".{name}" for name in OURS), *THEIRS]))
    of_replay.add_argument("--out", type=Path, default=Path("search.jsonl"))
    of_gpu.add_argument("--seeds", type=int, default=3)
    of_gpu.add_argument("--seconds", type=float, default=60.0)
    of_gpu.add_argument("--size", type=int, default=1024)
    of_gpu.add_argument("--out", type=Path, default=Path("outputs/search-benchmark"))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.mode == "replay":
        replay(given.folder, given.strategies.split(","), given.seeds, given.out)
    else:
        gpu(given.seeds, given.seconds, given.size, given.out)


if __name__ == "__main__":
    main()
