"""Measures whether kernels that fault change the times of those beside them, by sweeps with and without them in turn.

    python benchmarks/faults.py [--rounds 3] [--device cuda] [--out TABLE.csv]

The faulty kernels (tests/kernels) make an illegal access, fail an assertion, trap, call a wild pointer, and never end.
Each costs the worker process and, on a GPU, its context. The table has each sound case's median without and with them,
and their ratio.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

import pandas as pd
from sweeps import ROOT, swept, write_table

SOUND = ("reduceSmem", "reduceShfl", "reduceShflUnroll", "reduceGmemUnroll")
FAULTY = ("writesBeyond", "asserts", "traps", "callsWild", "hangs")
SIZES = {"cuda": "16Mi", "cpu": "256Ki"}


def sweep(device: str, faulty: bool) -> dict[tuple[str, str], float]:  # noqa: FBT001  (one of the two sides)
    """Medians of the sound cases, microseconds, by kernel and block."""
    kernels = [name for pair in zip(SOUND, FAULTY[: len(SOUND)], strict=True) for name in pair] + [FAULTY[-1]]
    chosen = kernels if faulty else list(SOUND)
    arguments = [f"kernel={','.join(chosen)}", "block=128,256", f"size={SIZES[device]}", f"device={device}"]
    more = ("--config-dir", str(ROOT / "tests" / "kernels"), "device.time_limit_s=2")
    with swept(*more, *arguments, status=int(faulty)) as run:
        rows = pd.read_csv(run / "results.csv", dtype={"block": str})
    failed = set(rows["kernel"][rows["status"] != "ok"])
    if failed != (set(FAULTY) if faulty else set()):
        raise SystemExit(f"these failed: {', '.join(sorted(failed))}")
    sound = rows[rows["kernel"].isin(SOUND)]
    return {(k, b): t for k, b, t in zip(sound["kernel"], sound["block"], sound["median_us"], strict=True)}


def main() -> None:
    """Take turns, and show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", choices=SIZES, default="cuda")
    parser.add_argument("--out", type=Path, help="the table to write")
    given = parser.parse_args()
    found: dict[bool, list[dict[tuple[str, str], float]]] = {False: [], True: []}
    for number in range(given.rounds):
        for faulty in (False, True) if number % 2 == 0 else (True, False):
            print(f"round {number + 1} of {given.rounds}: {'with' if faulty else 'without'} faults", file=sys.stderr)
            found[faulty].append(sweep(given.device, faulty))
    rows = []
    for case in found[False][0]:
        without, beside = (statistics.median(one[case] for one in found[side]) for side in (False, True))
        rows.append((*case, without, beside, beside / without))
    print(f"{given.rounds} sweeps with {len(FAULTY)} faulty kernels and {given.rounds} without, {given.device}\n")
    print(f"{'kernel':18} {'block':>5} {'without, us':>12} {'with, us':>10} {'ratio':>7}")
    for kernel, block, without, beside, ratio in rows:
        print(f"{kernel:18} {block:>5} {without:12.2f} {beside:10.2f} {ratio:7.4f}")
    print(f"\nlargest difference: {100 * max(abs(ratio - 1) for *_, ratio in rows):.2f} %")
    table = ((k, b, f"{w:.3f}", f"{t:.3f}", f"{r:.5f}") for k, b, w, t, r in rows)
    write_table(given.out, ["kernel", "block", "without_us", "with_us", "ratio"], table)


if __name__ == "__main__":
    main()
