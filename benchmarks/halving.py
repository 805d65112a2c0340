"""Compares what a search spends on samples, and what it finds, with and without successive halving of the samples.

    python benchmarks/halving.py FOLDER [--seeds 10] [--cases 150]

Takes the T4 files below a folder that have the raw samples of each combination, such as those of
https://github.com/AutoTuningAssociation/benchmark_hub, which have 32 each, taken without a warm-up. A case that is
measured with n samples gets the first n of them. The default sampler is told their median, and so has their noise. The
cases that a scheme takes for the best get all samples at the end, and the fastest of these is the winner. The table has
geometric means over the spaces of the means over the seeds:

- samples, and time of the GPU in these, as shares of what all samples of all cases take;
- winner: the space's best median over the winner's;
- of its cases: the best median of the cases that the search has asked for over the winner's: 1 if it was recognized.
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

from runner import t4  # noqa: E402
from runner.search import samplers  # noqa: E402
from runner.search.contenders import contenders  # noqa: E402
from runner.search.loop import Budget, Search, Trial, Values  # noqa: E402
from runner.search.space import Axis, Point, Space  # noqa: E402
from runner.statistics import Noise, Side, Times, summarize  # noqa: E402

ALL = 10**9  # samples
BATCH = 8
SCHEMES = {
    "all samples of every case": (ALL,),
    "10 samples, then all": (10,),
    "3 samples, then all": (3,),
    "3, 10, then all": (3, 10),
    "3, 10, 20, then all": (3, 10, 20),
}


@dataclass
class Recorded:
    """A space with the samples of each combination; `None` where it failed."""

    name: str
    space: Space
    times: Mapping[Point, Times | None]
    spent: int = 0
    spent_us: float = 0.0
    sides: dict[Point, Side] = field(default_factory=dict)

    def measure(self, point: Point, samples: int) -> Values | None:
        """The median of the first samples."""
        us = self.times[point]
        if us is None:
            return None
        few = us[:samples]
        self.spent, self.spent_us = self.spent + len(few), self.spent_us + float(few.sum())
        found = summarize(few)
        self.sides[point] = Side.of([found.median], found.min, found.q1, found.q3, fresh=True)
        return (found.median,)

    def near(self, trials: Sequence[Trial]) -> list[Trial]:
        """The trials that cannot be told from the best one."""
        measured = {t.point: t for t in trials if t.values}
        kept = contenders({p: self.sides[p] for p in measured}, Noise()) if measured else []
        return [measured[p] for p in kept]


def recorded(path: Path) -> Recorded | None:
    """Read a T4 file; `None` if it has no samples."""
    entries, _ = t4.read(path)
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


def run(on: Recorded, looks: Sequence[int], seed: int, cases: int) -> tuple[int, float, float, float]:
    """Search; gives the samples, their seconds, and what the winner is worth in the space and among the cases."""
    on.spent, on.spent_us, on.sides = 0, 0.0, {}
    search = Search(
        samplers.made("guided", on.space, seed, 1, Path("unused")),
        Budget(max_cases=cases, patience=0),
        lambda points: {p: on.measure(p, looks[level]) for p, level in points.items()},
        levels=len(looks),
        near=on.near,
    )
    search.run(BATCH)
    last = [t.point for t in on.near(search.trials)]
    if looks[-1] < ALL:
        for point in last:
            on.measure(point, ALL)
    medians = {p: float(np.median(us)) for p, us in on.times.items() if us is not None}
    winner = min(medians[p] for p in last)
    found = min(medians[t.point] for t in search.trials if t.point in medians)
    return on.spent, on.spent_us / 1e6, min(medians.values()) / winner, found / winner


def table(spaces: Sequence[Recorded], seeds: int, cases: int) -> str:
    """A line for each scheme."""
    found: dict[str, list[list[float]]] = {}
    for on in spaces:
        for name, looks in SCHEMES.items():
            runs = [run(on, looks, seed, cases) for seed in range(seeds)]
            found.setdefault(name, []).append(np.mean(runs, axis=0).tolist())
            sys.stderr.write(f"{on.name}: {name}: {' '.join(f'{v:.4g}' for v in found[name][-1])}\n")
    whole = np.array(found[next(iter(SCHEMES))])
    lines = [
        f"{len(spaces)} space{'s' * (len(spaces) > 1)}, {cases} cases, {seeds} seed{'s' * (seeds > 1)}", "",
        "| | samples | GPU time | winner | of its cases |", "|---|---|---|---|---|",
    ]  # fmt: skip
    for name, rows in found.items():
        ratio = np.array(rows) / np.where([True, True, False, False], whole, 1.0)
        samples, seconds, winner, own = np.exp(np.log(ratio).mean(axis=0))
        lines.append(f"| {name} | {samples:.1%} | {seconds:.1%} | {winner:.3f} | {own:.3f} |")
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
