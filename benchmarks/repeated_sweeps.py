"""Checks that repeated sweeps of 20 close cases agree on what is fastest.

    python benchmarks/repeated_sweeps.py [--sweeps 5] [--timing default] [--out TABLE.csv]

Each sweep is its own process. Some case must be among the tied fastest ones of every sweep, and no sweep may call
slower what another holds to be tied with its fastest. Exit status: 0 both hold, 1 not.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sweeps import swept, write_table

from runner.record.ranking import fastest
from runner.record.run import read

SWEEP = ("kernel=reduceShflUnroll", "block=64,128,256,512,1024", "unroll=1,2,4,8", "size=16Mi", "device=cuda")


@dataclass(frozen=True)
class Said:
    """What one sweep said.

    Attributes:
        best: The case with the shortest median.
        best_us: Its time.
        level: The set of best ones, `best` included.
        slower: What it calls slower.
        margin_percent: By how much a time may differ and be level.
    """

    best: str
    best_us: float
    level: frozenset[str]
    slower: frozenset[str]
    margin_percent: float


def sweep(timing: str) -> Said:
    """One sweep, in a process of its own."""
    with swept(*SWEEP, f"timing={timing}") as folder:
        run = read(folder)
        (found,) = fastest(run)
        names = {_name(row) for row in run.frame.to_dict("records")}
    level = frozenset(map(_name, (found.fastest, *found.tied)))
    return Said(
        best=_name(found.fastest),
        best_us=float(found.fastest["median_us"]),
        level=level,
        slower=frozenset(names - level - set(map(_name, found.undecided))),
        margin_percent=100 * found.margin,
    )


def _name(row: dict[Any, Any]) -> str:
    return f"block {row['block']} unroll {row['unroll']}"


def main() -> int:
    """Sweep, compare, show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sweeps", type=int, default=5)
    parser.add_argument("--timing", default="default")
    parser.add_argument("--out", type=Path, help="the table to write: one line a sweep")
    given = parser.parse_args()
    said = []
    for number in range(1, given.sweeps + 1):
        print(f"sweep {number} of {given.sweeps}", file=sys.stderr)
        said.append(sweep(given.timing))
    for number, one in enumerate(said, 1):
        level = "; ".join(sorted(one.level))
        print(f"sweep {number}: {one.best} at {one.best_us:.2f} us; level within {one.margin_percent:.1f} %: {level}")
    always = frozenset.intersection(*(one.level for one in said))
    against = {(a.best, x) for a in said for b in said for x in a.slower & b.level}
    print(f"in every set: {'; '.join(sorted(always)) or 'none'}")
    print(f"called slower by one sweep, level in another: {'; '.join(x for _, x in sorted(against)) or 'none'}")
    sets = (("; ".join(sorted(one.level)), "; ".join(sorted(one.slower))) for one in said)
    rows = (
        (number, one.best, f"{one.best_us:.3f}", f"{one.margin_percent:.2f}", *both)
        for number, (one, both) in enumerate(zip(said, sets, strict=True), 1)
    )
    write_table(given.out, ["sweep", "best", "best_us", "margin_percent", "level", "slower"], rows)
    return 0 if always and not against else 1


if __name__ == "__main__":
    sys.exit(main())
