"""Compares what `runner.kernel.access` calculates of accesses with what a GPU counts, by Nsight Compute's counters.

    python tools/count_accesses.py OUT.csv

Needs a GPU, PyCUDA, nvcc and ncu. One process launches every case once, in order, under one ncu. Sizes divide evenly,
so that every block does what the first does, which is the one that the model looks at. Exit status: 0 all agree to
1 %, 1 some do not, 2 nothing could be counted.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import generated
import ncu
import shipped

from runner.errors import RunnerError
from runner.kernel import access
from runner.kernel.case import Case
from runner.kernel.resolve import make

TOLERANCE = 0.01

TILES = "setRowReadRow setColReadCol setRowReadCol setColReadRow setRowReadColDyn setRowReadColPad setRowReadColDynPad"
TRANSPOSES = (
    "copyGmem transposeGmem transposeSmem transposeSmemPad transposeSmemDyn transposeSmemUnroll transposeSmemUnrollPad"
)
VECTORS = "copyVector transposeTile transposeSwizzle transposeVector"  # not transposeShifted: its first block is unlike


def cases() -> Iterator[Case]:
    """What is launched, in this order. Beside 4-byte elements some of 8 and 2: their rules are others."""
    for name in TILES.split():
        for block in ("32x32", "32x16", "16x32"):
            yield _case(name, block=block, blocks=64)
        yield _case(name, block="32x32", blocks=64, dtype="int64")
    for stride in (0, 1, 2, 4, 8, 16, 32, 33):
        yield _case("bankAccess", stride=stride, block=256, blocks=64)
    for stride in (0, 1, 2, 16):
        yield _case("bankAccess", stride=stride, block=256, blocks=64, dtype="int64")
    for name in TRANSPOSES.split():
        for block in ("32x32", "32x8"):
            yield _case(name, block=block, size="1024x2048")
        for dtype in ("float64", "float16"):
            yield _case(name, block="32x32", size="1024x2048", dtype=dtype)
    for name in VECTORS.split():
        for dtype in ("float32", "float64"):
            yield _case(name, block=256, size="1024x2048", dtype=dtype)


def _case(name: str, **requested: object) -> Case:
    case = make(shipped.kernel(name), requested, 0)
    if case.excluded:
        raise SystemExit(f"{case.label}: {case.excluded}")
    return case


def measured(launch: ncu.Launched) -> dict[str, float | None]:
    """Wavefronts or sectors a request, by column; `None` where there was no request."""
    found: dict[str, float | None] = {}
    for column, metrics in ncu.REQUESTS.items():
        found[column] = ncu.ratio(*(ncu.number(launch, metric) for metric in metrics))
    return found


def agree(computed: float | None, counted: float | None) -> bool:
    """Whether both say the same, to 1 %; or both say that there is no such access."""
    if computed is None or counted is None:
        return computed is counted
    return abs(computed - counted) <= TOLERANCE * max(computed, counted)


def table(launches: list[ncu.Launched]) -> list[dict[str, Any]]:
    """Calculated beside measured, a row a case."""
    rows = []
    for case, launch in zip(cases(), launches, strict=True):
        computed, counted = access.costs(case), measured(launch)
        row: dict[str, Any] = {"kernel": case.kernel.name, "block": dict(case.parameters)["block"]}
        row["parameters"] = " ".join(f"{n}={v}" for n, v in case.chosen.items() if n != "block")
        for column in ncu.REQUESTS:
            row[f"{column}_computed"], row[f"{column}_measured"] = computed[column], counted[column]
        row["differ"] = " ".join(c for c in ncu.REQUESTS if not agree(computed[c], counted[c]))
        rows.append(row)
    return rows


def main() -> int:
    """Compile, count, compare, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=Path, help="the table to write")
    parser.add_argument("--launch", action="store_true", help="only launch all cases: what runs under ncu")
    arguments = parser.parse_args()
    try:
        if arguments.launch:
            ncu.launch(list(cases()))
            return 0
        if arguments.out is None:
            parser.error("a file to write the table to is expected")
        generated.ready(arguments.out)
        ncu.prepare(list(cases()))
        metrics = [metric for pair in ncu.REQUESTS.values() for metric in pair]
        rows = table(ncu.count([sys.executable, __file__, "--launch"], list(cases()), metrics))
    except (RunnerError, OSError) as e:
        return _gave_up(str(e))
    with arguments.out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    wrong = [f"{row['kernel']} {row['block']} {row['parameters']}: {row['differ']}" for row in rows if row["differ"]]
    compared = sum(row[f"{c}_computed"] is not None for row in rows for c in ncu.REQUESTS)
    differing = sum(len(row["differ"].split()) for row in rows)
    print("".join(f"differ: {line}\n" for line in wrong), end="")
    print(f"{compared - differing} of {compared} quantities of {len(rows)} cases agree to 1 %")
    return 1 if wrong else 0


def _gave_up(reason: str) -> int:
    ncu.say(f"nothing could be counted: {reason}")
    return 2


if __name__ == "__main__":
    sys.exit(main())
