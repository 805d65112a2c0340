"""Times the shipped experiments with two checkouts of this project, in turns.

    python benchmarks/suite.py OTHER [--device cpu] [--only dtypes,stencil] [--turns 2] [--out TABLE.txt]

OTHER is the folder of the other checkout, such as a `git worktree` of an earlier commit. Each checkout compiles into a
cache of its own, which is empty at the first turn: that one is `cold`, the others are `warm`. Each sweep is a process,
timed from its start to its end, report included. The ratio is this checkout's time over the other one's, the
minimum of the warm turns for `warm`. Searches are left out: their time is a budget.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sweeps import ROOT, reason, stop

SEARCHES = ("matmul_search",)
FINE = (0, 1)  # exit statuses: experiments of hazards have cases that fail


@dataclass(frozen=True)
class Taken:
    """Seconds of an experiment in each turn, of this checkout and of the other one."""

    experiment: str
    own: tuple[float, ...]
    other: tuple[float, ...]

    @property
    def cold(self) -> float:
        """The ratio of the first turns."""
        return self.own[0] / self.other[0]

    @property
    def warm(self) -> float:
        """The ratio of the fastest later turns; NaN if there is but one turn."""
        return min(self.own[1:]) / min(self.other[1:]) if len(self.own) > 1 else math.nan


def seconds(checkout: Path, cache: Path, experiment: str, device: str) -> float:
    """How long a sweep takes."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "runner", f"experiment={experiment}", f"device={device}"]
        paths = [str(checkout), *filter(None, [os.environ.get("PYTHONPATH")])]
        own = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "XDG_CACHE_HOME": str(cache)}
        started = time.perf_counter()
        done = subprocess.run(command, env=own, cwd=folder, capture_output=True, text=True, check=False)
        spent = time.perf_counter() - started
    if done.returncode not in FINE:
        stop(f"{checkout.name}: experiment={experiment} ended with {done.returncode}: {reason(done.stderr)}")
    return spent


def timed(other: Path, caches: Path, experiment: str, device: str, turns: int) -> Taken:
    """An experiment with both checkouts, in turns; which comes first changes."""
    spent: dict[Path, list[float]] = {ROOT: [], other: []}
    for turn in range(turns):
        for number, checkout in enumerate((ROOT, other) if turn % 2 else (other, ROOT)):
            print(f"\r{experiment}: {turn * 2 + number + 1} of {turns * 2} ", end="", file=sys.stderr, flush=True)
            spent[checkout].append(seconds(checkout, caches / str(checkout == ROOT), experiment, device))
    return Taken(experiment, tuple(spent[ROOT]), tuple(spent[other]))


HEAD = f"{'experiment':22} {'cold s':>8} {'ratio':>6}   {'warm s':>8} {'ratio':>6}"


def line(t: Taken) -> str:
    """A line of the table."""
    warm = f"{min(t.own[1:]):8.2f} {t.warm:6.2f}" if len(t.own) > 1 else ""
    return f"{t.experiment:22} {t.own[0]:8.2f} {t.cold:6.2f}   {warm}".rstrip()


def together(taken: Sequence[Taken]) -> Taken:
    """All experiments as one."""
    own, other = ([getattr(t, which) for t in taken] for which in ("own", "other"))
    return Taken("all", *(tuple(map(sum, zip(*times, strict=True))) for times in (own, other)))


def main() -> None:
    """Time the experiments and print the table."""
    parser = argparse.ArgumentParser(description="Time the shipped experiments with two checkouts, in turns.")
    parser.add_argument("other", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", default="", help="experiments, separated by commas")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    other = options.other.resolve()
    if not (other / "runner" / "__main__.py").is_file():
        stop(f"{options.other}: there is no checkout of this project")
    shipped = sorted(p.stem for p in (ROOT / "conf" / "experiment").glob("*.yaml") if p.stem not in SEARCHES)
    chosen = options.only.split(",") if options.only else shipped
    if unknown := sorted(set(chosen) - set(shipped)):
        stop(f"--only {','.join(unknown)}: expected some of {', '.join(shipped)}")
    lines = [f"device={options.device}, {options.turns} turns; seconds of this checkout, over the other one's", HEAD]
    print("\n".join(lines), flush=True)
    found: list[Taken] = []
    with tempfile.TemporaryDirectory() as caches:
        for name in chosen:  # each line as it is known: the whole takes a while
            found.append(timed(other, Path(caches), name, options.device, options.turns))
            lines.append(line(found[-1]))
            print(f"\r{lines[-1]}", flush=True)
    lines.append(line(together(found)))
    print(lines[-1])
    if options.out:
        options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
