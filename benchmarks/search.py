"""Compares searches on recorded spaces: ours and Kernel Tuner's strategies, on the same files, in the same run.

    python benchmarks/search.py replay FOLDER --seeds 30 [--strategies .guided,pso] [--out RUNS.jsonl] [--processes 8]

FOLDER has T4 files of brute-forced spaces, such as those of https://github.com/AutoTuningAssociation/benchmark_hub; or,
without any, Kernel Tuner's caches. Names with a point in front are ours; the others are strategies of Kernel Tuner,
with their defaults, in a runner that looks results up as its simulation does. A run ends when it has found the
optimum, or after --limit seconds of CPU time. The file --out has the improvements of each run; runs that it has are not
repeated. `.halves` is `guided` as it searches with a fast compiler: half a batch is chosen before the other half is
measured. The table has two kinds of numbers, with the intervals of 95 % over the seeds (bootstrap):

- The optimum over the best time after 1 %, 5 % and 10 % of the space: the median over the seeds, then the geometric
  mean over the spaces. 1 is the optimum.
- The score P of Willemsen et al., 'A methodology for comparing optimization algorithms for auto-tuning', FGCS 2024:
  see `Recorded.score`. 1 is the optimum in the first case, 0 is random search.

For a search on a GPU see search_gpu.py.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import gzip
import io
import json
import math
import os
import random
import signal
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # a process for each search
import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
sys.path[:] = [
    str(ROOT),
    *(p for p in sys.path if Path(p).resolve() != ROOT / "benchmarks"),
]  # it has a kernel_tuner.py

from runner.importer import t4_format  # noqa: E402
from runner.record.searched import Point  # noqa: E402
from runner.search import samplers  # noqa: E402
from runner.search.loop import Budget, Search  # noqa: E402
from runner.search.space import Axis, Space  # noqa: E402

SHARES = (0.01, 0.05, 0.1)  # of a space that are measured
COVERED = (0.01, 0.95)  # of the way to the optimum: where the score begins and ends
STUCK = 5000  # look-ups in a row that are not new: the run is over
RESAMPLED = 200  # times, for the intervals
THEIRS = (
    "adaptive_tabu_greywolf", "basinhopping", "diff_evo", "dual_annealing", "firefly_algorithm", "genetic_algorithm",
    "greedy_ils", "greedy_mls", "hybrid_vndx", "minimize", "mls", "nsga2", "nsga3", "ordered_greedy_mls", "pso",
    "random_sample", "simulated_annealing",
)  # fmt: skip
OURS = ("guided", "random")
BATCH = 4  # cases that ours asks for at once, by default
HALVES = "halves"


@dataclass(frozen=True)
class Recorded:
    """A space of which every legal combination was measured."""

    name: str
    space: Space
    times: Mapping[Point, float | None]  # `None` if the combination failed

    @functools.cached_property
    def good(self) -> NDArray[np.float64]:
        """All times, the optimum first."""
        return np.sort([t for t in self.times.values() if t is not None])

    @property
    def marks(self) -> list[int]:
        """How many cases each of the shares is."""
        return [max(1, int(share * len(self.times))) for share in SHARES]

    def random_needs(self, covered: float) -> int:
        """After how many cases random search has covered this part of the way from the median to the optimum."""
        wanted = np.median(self.good) + covered * (self.good[0] - np.median(self.good))
        above = int(np.count_nonzero(self.good > wanted))
        return math.ceil(above / (len(self.good) + 1 - above))

    @property
    def cases(self) -> int:
        """How many cases a run needs, for the last share and for the score."""
        return max(self.marks[-1], self.random_needs(COVERED[1]))

    def ranks(self, run: Mapping[str, Any]) -> NDArray[np.int64]:
        """The best so far after each case of a run, as a place in `good`; the last place if there is none yet."""
        ranks = np.full(self.cases, len(self.good) - 1)
        for case, found in run["improved"]:
            ranks[case - 1 :] = np.searchsorted(self.good, found)
        return ranks

    def score(self, ranks: NDArray[np.int64]) -> NDArray[np.float64]:
        """The optimum over the median run's best, at each share; and P. `ranks` has the shape (runs, cases).

        P is the mean of (S - F) / (S - optimum), over the cases in which random search covers 1 % to 95 % of the way
        from the median to the optimum. F is the median run's best. S is the expected best of random search: after n
        cases of N, the n (N + 1) / (n + 1)-th best from the end.
        """
        total = len(self.good)
        found = self.good[np.round(np.median(ranks, axis=0)).astype(np.int64)]
        cases = np.arange(self.random_needs(COVERED[0]), self.random_needs(COVERED[1]) + 1)
        expected = self.good[total - 1 - np.minimum(total - 1, np.round(cases * (total + 1) / (cases + 1)).astype(int))]
        gap = expected - self.good[0]
        gain = (expected - found[cases - 1])[gap > 0] / gap[gap > 0]
        return np.r_[self.good[0] / found[np.array(self.marks) - 1], gain.mean()]


@functools.lru_cache(maxsize=64)
def _read(path: Path) -> list[tuple[dict, float | None]]:
    return [(r.configuration, r.time_us) for r in t4_format.read(path)[0]]


def recorded(path: Path) -> Recorded:
    """Read a T4 file or a cache of Kernel Tuner; parameters with one value are left out."""
    measured = _cached(path) if "_T4." not in path.name else _read(path)
    values = {p: sorted({own[p] for own, _ in measured}) for p in measured[0][0]}
    axes = tuple(Axis(name, tuple(own)) for name, own in values.items() if len(own) > 1)
    times = {tuple(a.values.index(own[a.name]) for a in axes): time_us for own, time_us in measured}
    legal = np.zeros([len(a.values) for a in axes], np.bool_)
    legal[tuple(np.array(list(times)).T)] = True
    return Recorded(
        f"{path.parent.name}/{path.name.partition('.')[0]}", Space(axes, ((tuple(range(len(axes))), legal),)), times
    )


def _cached(path: Path) -> list[tuple[Mapping[str, Any], float | None]]:
    """The combinations of a cache, and their times in microseconds; words, and 1e20, stand for failures."""
    plain = path.read_bytes()
    content = json.loads(gzip.decompress(plain) if path.suffix == ".gz" else plain)
    names = content["tune_params_keys"]
    return [
        ({n: e[n] for n in names}, 1000 * e["time"] if isinstance(e["time"], float) and e["time"] < 1e10 else None)
        for e in content["cache"].values()
    ]


class Ended(BaseException):
    """A run is over. No `Exception`, as strategies catch those."""


class Asked:
    """What a search has looked up: how many cases, and those that improved the best."""

    def __init__(self, on: Recorded) -> None:
        self.cases, self.improved = 0, list[tuple[int, float]]()
        self._on, self._repeated = on, 0

    def repeat(self) -> None:
        """Note a case that was looked up before. Some strategies end up asking for nothing else, for ever."""
        self._repeated += 1
        if self._repeated == STUCK:
            raise Ended

    def note(self, found: float | None) -> None:
        """Note a new case. The run is over if it is the optimum, or the last case."""
        self.cases, self._repeated = self.cases + 1, 0
        if found is not None and (not self.improved or found < self.improved[-1][1]):
            self.improved.append((self.cases, found))
        if self.cases == self._on.cases or found == self._on.good[0]:
            raise Ended


def of_ours(sampler: str, on: Recorded, seed: int, asked: Asked, batch: int) -> None:
    """Search with one of our samplers."""

    def measure(points: Sequence[Point]) -> dict[Point, tuple[float, ...] | None]:
        found = {p: on.times[p] for p in points}
        for time_us in found.values():
            asked.note(time_us)
        return {p: None if t is None else (t,) for p, t in found.items()}

    halves = sampler == HALVES
    made = samplers.make_sampler("guided" if halves else sampler, on.space, seed)
    Search(made, Budget(max_cases=on.cases, patience=0), measure, halves=halves).run(batch)


class LookUp:
    """A runner of Kernel Tuner that looks results up. Only new combinations count, as in its own simulation."""

    def __init__(self, times: Mapping[tuple[Any, ...], float | None], asked: Asked) -> None:
        self._times, self._asked = times, asked
        self._known: dict[tuple[Any, ...], float | None] = {}
        self.dev, self.quiet = SimpleNamespace(max_threads=1 << 30), True

    def add_strategy_time(self, seconds: float) -> None:
        """Called by the strategies."""

    def run(self, configurations: Sequence[Sequence[Any]], options: Any) -> list[Any]:
        """Called by the strategies."""
        from kernel_tuner import util  # type: ignore[attr-defined]  # noqa: PLC0415  (mypy takes kernel_tuner.py for it)

        results: list[Any] = []
        for values in map(tuple, configurations):
            if options.budget.is_done():
                results.append(None)
                continue
            if values in self._times and values not in self._known:
                self._known[values] = self._times[values]
                options.budget.add_evaluations(1)
                self._asked.note(self._times[values])
            else:
                self._asked.repeat()
            known = self._known.get(values)
            result = dict(zip(options.tune_params, values, strict=True))
            results.append(result | ({"__error__": util.RuntimeFailedConfig()} if known is None else {"time": known}))
        return results


def of_theirs(strategy: str, on: Recorded, seed: int, asked: Asked) -> None:
    """Search with a strategy of Kernel Tuner."""
    from kernel_tuner import util  # type: ignore[attr-defined]  # noqa: PLC0415
    from kernel_tuner.interface import Options, strategy_map  # noqa: PLC0415
    from kernel_tuner.searchspace import Searchspace  # noqa: PLC0415

    parameters = {axis.name: list(axis.values) for axis in on.space.axes}
    times = {tuple(on.space.values(point).values()): t for point, t in on.times.items()}
    cache = {str(n): dict(zip(parameters, values, strict=True)) for n, values in enumerate(times)}
    space = Searchspace(None, None, None, from_cache={"tune_params": parameters, "cache": cache})
    look_up = LookUp(times, asked)
    options = Options(
        objective=["time"], objective_higher_is_better=[False], strategy_options=Options(max_fevals=on.cases),
        tune_params=parameters, verbose=False, restrictions=[], seed=seed, max_fevals=on.cases,
        strategy=strategy, cache={},
    )  # fmt: skip
    options["budget"] = util.TuningBudget(None, on.cases)
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002  (its strategies use both)
    with contextlib.suppress(util.StopCriterionReached), contextlib.redirect_stdout(io.StringIO()):
        strategy_map[strategy].tune(space, look_up, options)


def searched(path: Path, strategy: str, seed: int, limit: float, batch: int) -> dict[str, Any]:
    """One run: the cases that improved the best so far, and their times in microseconds."""
    warnings.simplefilter("ignore")
    on = recorded(path)
    asked = Asked(on)
    started = time.process_time()

    def end(*_: object) -> None:
        raise Ended

    signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, limit)
    with contextlib.suppress(Ended):
        if strategy.startswith("."):
            of_ours(strategy.lstrip("."), on, seed, asked, batch)
        else:
            of_theirs(strategy, on, seed, asked)
    signal.setitimer(signal.ITIMER_PROF, 0)
    seconds = time.process_time() - started
    run: dict[str, Any] = {"space": on.name, "strategy": strategy, "seed": seed, "cases": asked.cases}
    return run | {"cut": seconds >= limit, "improved": asked.improved, "cpu_s": round(seconds, 3)}


def replay(
    folder: Path, strategies: Sequence[str], seeds: int, out: Path, processes: int, limit: float, batch: int
) -> None:
    """Run what is not in the file yet, and print the table."""
    files = sorted(p for p in folder.rglob("*_T4.json*") if p.is_file()) or sorted(folder.rglob("*.json*"))
    if not files:
        raise SystemExit(f"{folder}: there is no file *_T4.json or *_T4.json.gz, and no cache of Kernel Tuner")
    spaces = {recorded(path).name: recorded(path) for path in files}
    done = {(r["space"], r["strategy"], r["seed"]): r for r in _lines(out)}
    with ProcessPoolExecutor(processes) as pool:
        pending = {
            pool.submit(searched, path, strategy, seed, limit, batch): (recorded(path).name, strategy, seed)
            for seed in range(seeds)
            for path in files
            for strategy in strategies
            if (recorded(path).name, strategy, seed) not in done
        }
        for future in as_completed(pending):
            if error := future.exception():
                sys.stderr.write(f"{' '.join(map(str, pending[future]))}: {type(error).__name__}: {error}\n")
                continue
            done[pending[future]] = future.result()
            with out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(future.result()) + "\n")
    runs = [r for r in done.values() if r["space"] in spaces and r["strategy"] in strategies and r["seed"] < seeds]
    sys.stdout.write(table(runs, spaces))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())


def table(runs: Sequence[Mapping[str, Any]], spaces: Mapping[str, Recorded]) -> str:
    """A line for each strategy that has run on all spaces, the best P first."""
    by: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        by[run["strategy"]][run["space"]].append(run)
    lines = {}
    for strategy, own in by.items():
        if own.keys() != spaces.keys():
            continue
        ranks = {name: np.array([spaces[name].ranks(run) for run in of]) for name, of in own.items()}
        middle = _over_spaces(spaces, ranks)
        drawn = [
            _over_spaces(spaces, {n: r[draw.integers(0, len(r), len(r))] for n, r in ranks.items()})
            for draw in np.random.default_rng(0).spawn(RESAMPLED)
        ]
        low, high = np.quantile(drawn, (0.025, 0.975), axis=0)
        numbers = [f"{m:.3f} ({a:.3f} to {b:.3f})" for m, a, b in zip(middle, low, high, strict=True)]
        seconds = np.median([1e3 * r["cpu_s"] / r["cases"] for of in own.values() for r in of])
        ends = f"{seconds:.2g} | {min(map(len, own.values()))} | {sum(r['cut'] for of in own.values() for r in of)}"
        lines[strategy] = (middle[-1], f"| {strategy} | {' | '.join(numbers)} | {ends} |\n")
    head = f"| strategy | {' | '.join(f'{s:.0%}' for s in SHARES)} | P | ms a case | seeds | cut |\n|{'---|' * 8}\n"
    order = sorted(lines, key=lambda s: float(lines[s][0]), reverse=True)
    return f"{len(spaces)} space{'s' * (len(spaces) > 1)}\n\n{head}" + "".join(lines[s][1] for s in order)


def _over_spaces(spaces: Mapping[str, Recorded], ranks: Mapping[str, NDArray[np.int64]]) -> NDArray[np.float64]:
    """The geometric mean of the shares' numbers, and the mean of P."""
    scores = np.array([spaces[name].score(own) for name, own in ranks.items()])
    return np.r_[np.exp(np.log(scores[:, :-1]).mean(axis=0)), scores[:, -1].mean()]


def main() -> None:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    replays = parser.add_subparsers(dest="mode", required=True).add_parser("replay")
    replays.add_argument("folder", type=Path)
    replays.add_argument("--seeds", type=int, default=30)
    replays.add_argument("--strategies", default=",".join([*(f".{name}" for name in OURS), *THEIRS]))
    replays.add_argument("--out", type=Path, default=Path("search.jsonl"))
    replays.add_argument("--processes", type=int, default=1)
    replays.add_argument("--limit", type=float, default=120.0)
    replays.add_argument("--batch", type=int, default=BATCH)
    given = parser.parse_args()
    replay(given.folder, given.strategies.split(","), given.seeds, given.out, given.processes, given.limit, given.batch)


if __name__ == "__main__":
    main()
