"""Compares a sweep of one kernel by this program and by Kernel Tuner: whole processes, cold caches, in turn.

    python benchmarks/kernel_tuner.py --cases 20 --rounds 5 [--compilers nvrtc,nvcc] [--out TABLE.csv]

Both compile kernels/reduceShflUnroll.cu for the same blocks and unroll factors, sum the same 2^24 integers, check the
sums, and time every case. Ours is `python -m runner ... timing=quick` with its report. The peer's is `tune_kernel`
with its cuda-python backend, brute force, and its other defaults. The wall time of the process is compared. Needs a
GPU, PyCUDA, nvcc, cuda.core and kernel_tuner.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
KERNEL = ROOT / "kernels" / "reduceShflUnroll.cu"
SIZE = 1 << 24
SPACES = {
    20: ((64, 128, 256, 512, 1024), (1, 2, 4, 8)),
    384: (tuple(range(32, 1025, 32)), tuple(range(1, 13))),
}
DEFINES = "#define WIDTH 32\n#define MASK 0xffffffffu\n#define SCALAR int\n"  # BLOCK and UNROLL come from the peer
MARK = "PEER"  # starts the line in which the peer's process tells its winner


@dataclass(frozen=True)
class Finished:
    """One process.

    Attributes:
        seconds: From its start to its end.
        winner: The case that it calls the fastest.
        winner_us: Its time.
    """

    seconds: float
    winner: str
    winner_us: float


def ours(compiler: str, blocks: tuple[int, ...], unrolls: tuple[int, ...]) -> Finished:
    """Our sweep, with a folder and a cache that nobody has used."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        command = [sys.executable, "-m", "runner", "kernel=reduceShflUnroll", f"size={SIZE}", "device=cuda"]
        command += [f"block={','.join(map(str, blocks))}", f"unroll={','.join(map(str, unrolls))}", "timing=quick"]
        command += [f"compiler={compiler}", f"hydra.sweep.dir={run}"]
        seconds = _timed(command, folder)[0]
        table = pd.read_csv(run / "results.csv")
    if len(table) != len(blocks) * len(unrolls) or set(table["status"]) != {"ok"}:
        raise SystemExit(f"our sweep is not right: {table['status'].value_counts().to_dict()}")
    best = table.loc[table["median_us"].idxmin()]
    return Finished(seconds, f"block {best['block']}, unroll {best['unroll']}", float(best["median_us"]))


def peer(blocks: tuple[int, ...], unrolls: tuple[int, ...]) -> Finished:
    """Kernel Tuner's sweep, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        # -P, as this file's own folder would hide the peer: they have one name.
        command = [sys.executable, "-P", __file__, "--peer", str(len(blocks) * len(unrolls))]
        seconds, said = _timed(command, folder)
    told = next(line for line in said.splitlines() if line.startswith(MARK))
    _, winner, time_us = told.split("|")
    return Finished(seconds, winner, float(time_us))


def _timed(command: list[str], folder: str) -> tuple[float, str]:
    from sweeps import called  # noqa: PLC0415  (the peer's process cannot import what lies beside this file)

    started = time.perf_counter()
    said = called(command, folder, XDG_CACHE_HOME=f"{folder}/cache", CUDA_CACHE_PATH=f"{folder}/driver")
    return time.perf_counter() - started, said


def tune(cases: int) -> None:
    """The peer's process: what a user of Kernel Tuner would write."""
    import kernel_tuner  # noqa: PLC0415  (only this process needs it)

    blocks, unrolls = SPACES[cases]
    numbers = np.random.default_rng(0).integers(0, 256, SIZE).astype(np.int32)
    partials = np.zeros(SIZE // min(blocks), np.int32)

    def right(answer: list[object], result: list[object], atol: float) -> bool:
        _ = answer, atol
        return int(np.sum(result[1], dtype=np.int32)) == int(np.sum(numbers, dtype=np.int32))

    results, _ = kernel_tuner.tune_kernel(  # type: ignore[attr-defined]  # mypy takes this file for the package
        "reduceShflUnroll",
        DEFINES + KERNEL.read_text(encoding="utf-8"),
        SIZE,
        [numbers, partials, np.int64(SIZE)],
        {"BLOCK": list(blocks), "UNROLL": list(unrolls)},
        grid_div_x=["BLOCK", "UNROLL"],
        block_size_names=["BLOCK"],
        answer=[None, partials, None],
        verify=right,
        lang="nvcuda",
        quiet=True,
    )
    times = [r for r in results if isinstance(r["time"], float)]
    if len(times) != cases:
        raise SystemExit(f"the peer measured {len(times)} of {cases} cases")
    best = min(times, key=lambda r: r["time"])
    print(f"{MARK}|block {best['BLOCK']}, unroll {best['UNROLL']}|{best['time'] * 1000:.2f}")


def main() -> int:
    """Take turns, then show the medians and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, choices=SPACES, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--compilers", default="nvrtc,nvcc")
    parser.add_argument("--out", type=Path, help="the table to write: one line a process")
    parser.add_argument("--peer", type=int, choices=SPACES, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.peer:
        tune(given.peer)
        return 0
    blocks, unrolls = SPACES[given.cases]
    sides = ["kernel_tuner", *given.compilers.split(",")]
    found: dict[str, list[Finished]] = {side: [] for side in sides}
    for number, side in itertools.product(range(given.rounds), sides):
        print(f"round {number + 1} of {given.rounds}: {side}", file=sys.stderr)
        found[side].append(
            peer(blocks, unrolls) if side == "kernel_tuner" else ours(side, blocks, unrolls),
        )
    _show(given.cases, found)
    from sweeps import write_table  # noqa: PLC0415  (see `_timed`)

    rows = (
        (given.cases, side, number, f"{p.seconds:.3f}", p.winner, f"{p.winner_us:.2f}")
        for side, processes in found.items()
        for number, p in enumerate(processes, 1)
    )
    write_table(given.out, ["cases", "side", "round", "seconds", "winner", "winner_us"], rows)
    return 0


def _show(cases: int, found: dict[str, list[Finished]]) -> None:
    base = statistics.median(f.seconds for f in found["kernel_tuner"])
    rounds, compilers = len(found["kernel_tuner"]), ",".join(side for side in found if side != "kernel_tuner")
    print(f"python benchmarks/kernel_tuner.py --cases {cases} --rounds {rounds} --compilers {compilers}")
    print(f"{cases} cases of reduceShflUnroll at 2^24 int32, seconds of whole processes with cold caches\n")
    print(f"{'':24} {'median':>7} {'least':>7} {'most':>7} {'ratio':>6}   called the fastest, in each process")
    for side, processes in found.items():
        seconds = [p.seconds for p in processes]
        name = "Kernel Tuner" if side == "kernel_tuner" else f"runner, compiler={side}"
        middle = statistics.median(seconds)
        winners = "; ".join(f"{p.winner} at {p.winner_us:.1f} us" for p in processes)
        print(f"{name:24} {middle:7.2f} {min(seconds):7.2f} {max(seconds):7.2f} {middle / base:6.2f}   {winners}")


if __name__ == "__main__":
    sys.exit(main())
