"""Compares what a search spends on samples, and what it finds, with and without successive halving of the samples.

    python benchmarks/halving.py FOLDER [--seeds 10] [--cases 150]

Takes the T4 files below a folder that have the raw samples of each combination, such as those of
https://github.com/AutoTuningAssociation/benchmark_hub, which have 32 each. A sample of a case is drawn from its own, so
it has their noise, and no drift. The default sampler is told medians of such samples. The whole protocol is three
rounds of 30 samples; the fastest of the cases that get it is the winner. The table has geometric means over the spaces
of the means over the seeds:

- samples, and time of the GPU in these, as shares of what the whole protocol takes for all cases of the search;
- winner: the space's best median over the winner's;
- of its cases: the best median of the cases that the search has asked for over the winner's: 1 if it was recognized;
- anew: cases that got the whole protocol at the end.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:] = [str(ROOT), *(p for p in sys.path if Path(p).resolve() != ROOT / "benchmarks")]

from runner.importer import t4_format  # noqa: E402
from runner.record.searched import Point  # noqa: E402
from runner.search import samplers  # noqa: E402
from runner.search.contenders import contenders, side  # noqa: E402
from runner.search.loop import Budget, Search, Trial, Values, front  # noqa: E402
from runner.search.space import Axis, Space  # noqa: E402
from runner.statistics import ASSUMED, Noise, Side, Times, summarize  # noqa: E402

WHOLE = 90  # samples
BATCH = 8
FIXED = "30 samples; then those within 3 %, at most 16"
SCHEMES = {
    "the whole protocol for every case": (WHOLE,),
    FIXED: (30,),
    "30 samples; then all contenders": (30,),
    "3 samples; then all contenders": (3,),
    "3, 10, 30 samples; then all contenders": (3, 10, 30),
}


@dataclass
class Recorded:
    """A space with the samples of each combination; `None` where it failed."""

    name: str
    space: Space
    times: Mapping[Point, Times | None]
    random: np.random.Generator = field(default_factory=np.random.default_rng)
    spent: int = 0
    spent_us: float = 0.0
    sides: dict[Point, Side] = field(default_factory=dict)

    def measure(self, point: Point, samples: int) -> Values | None:
        """The median of some samples."""
        us = self.times[point]
        if us is None:
            return None
        few = self.random.choice(us, samples)
        self.spent, self.spent_us = self.spent + len(few), self.spent_us + float(few.sum())
        found = summarize(few)
        self.sides[point] = side(found)
        return (found.median,)

    def near(self, trials: Sequence[Trial]) -> list[Trial]:
        """The trials that cannot be told from the best one."""
        measured = {t.point: t for t in trials if t.values}
        kept = contenders({p: self.sides[p] for p in measured}, Noise(alike=ASSUMED)) if measured else []
        return [measured[p] for p in kept]


def recorded(path: Path) -> Recorded | None:
    """Read a T4 file; `None` if it has no samples."""
    entries, _ = t4_format.read(path)
    values = {p: sorted({e.configuration[p] for e in entries}) for p in entries[0].configuration}
    axes = tuple(Axis(name, tuple(own)) for name, own in values.items() if len(own) > 1)
    times = {
        tuple(a.values.index(e.configuration[a.name]) for a in axes): e.times_us if e.status == "ok" else None
        for e in entries
    }
    if any(us is not None and len(us) < 2 for us in times.values()):
        return None
    legal = np.zeros([len(a.values) for a in axes], np.bool_)
    legal[tuple(np.array(list(times)).T)] = True
    name = f"{path.parent.name}/{path.name.partition('.')[0]}"
    return Recorded(name, Space(axes, ((tuple(range(len(axes))), legal),)), times)


def run(on: Recorded, looks: Sequence[int], seed: int, cases: int, *, fixed: bool) -> tuple[float, ...]:
    """Search; gives samples, their seconds, what the winner is worth in the space and among the cases, finalists."""
    on.spent, on.spent_us, on.sides, on.random = 0, 0.0, {}, np.random.default_rng(seed)
    search = Search(
        samplers.make_sampler("guided", on.space, seed),
        Budget(max_cases=cases, patience=0),
        lambda points: {p: on.measure(p, looks[level]) for p, level in points.items()},
        levels=len(looks),
        tied=on.near,
    )
    search.run(BATCH)
    last = on.near(search.trials)
    if fixed:
        limit = 1.03 * (front(search.trials)[0].values or (0.0,))[0]
        last = sorted((t for t in search.trials if t.values and t.values[0] <= limit), key=lambda t: t.values or ())[
            :16
        ]
    found = {t.point: t.values if looks[-1] == WHOLE else on.measure(t.point, WHOLE) for t in last}
    medians = {p: float(np.median(us)) for p, us in on.times.items() if us is not None}
    winner = medians[min(found, key=lambda p: found[p] or ())]
    best = min(medians[t.point] for t in search.trials if t.point in medians)
    return on.spent, on.spent_us / 1e6, min(medians.values()) / winner, best / winner, len(last)


def table(spaces: Sequence[Recorded], seeds: int, cases: int) -> str:
    """A line for each scheme."""
    found: dict[str, list[list[float]]] = {}
    for on in spaces:
        for name, looks in SCHEMES.items():
            runs = [run(on, looks, seed, cases, fixed=name == FIXED) for seed in range(seeds)]
            found.setdefault(name, []).append(np.mean(runs, axis=0).tolist())
            sys.stderr.write(f"{on.name}: {name}: {' '.join(f'{v:.4g}' for v in found[name][-1])}\n")
    whole = np.array(found[next(iter(SCHEMES))])
    lines = [
        f"{len(spaces)} space{'s' * (len(spaces) > 1)}, {cases} cases, {seeds} seed{'s' * (seeds > 1)}", "",
        "| | samples | GPU time | winner | of its cases | anew |", "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for name, rows in found.items():
        ratio = np.array(rows) / np.where([True, True, False, False, False], whole, 1.0)
        samples, seconds, winner, own, anew = np.exp(np.log(ratio).mean(axis=0))
        lines.append(f"| {name} | {samples:.1%} | {seconds:.1%} | {winner:.3f} | {own:.3f} | {anew:.1f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--cases", type=int, default=150)
    given = parser.parse_args()
    files = sorted(p for p in given.folder.rglob("*_T4.json*") if p.is_file())
    spaces = [on for path in files if (on := recorded(path))]
    if not spaces:
        raise SystemExit(f"{given.folder}: there is no file *_T4.json or *_T4.json.gz with samples")
    sys.stdout.write(table(spaces, given.seeds, given.cases))


if __name__ == "__main__":
    main()
