"""The same cases on one GPU and on two: the ratio of the times, the winners, and how much the GPUs differ.

    python benchmarks/gpus.py [--device cuda|cpu] [--rounds N] [--sizes N] [--keep FOLDER]

Ten sizes of ten reductions with two blocks are 200 cases. They run with `hydra.launcher.gpus=[0]` and then with
`hydra.launcher.gpus=[0,1]`; before both, a sweep of one round compiles all kernels and is not counted. On the CPU
device there are one and two workers; the times are then of workers that share the cores, so the ratio says nothing.
`seconds` are of the whole command, from the shell to the report; `measuring` are those that the GPU with the most to
do spent on its cases. The winner of a size is the case with the least median. Winners agree if the case that one GPU
calls the fastest is within 1 % of the fastest of two GPUs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
KERNELS = (
    "reduceGmem", "reduceGmemUnroll", "reduceSmem", "reduceSmemDyn", "reduceSmemUnroll", "reduceSmemUnrollDyn",
    "reduceShfl", "reduceShflUnroll", "reduceVector", "reduceGridStride",
)  # fmt: skip
BLOCKS = (128, 256)
EQUAL = 0.01


def main() -> int:
    """Print the table; the status is 1 if winners disagree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--rounds", type=int, default=3, help="default: 3")
    parser.add_argument("--sizes", type=int, default=10, help="so many sizes; default: 10")
    parser.add_argument("--keep", type=Path, help="a new folder for the sweeps")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        # Sizes that differ little: the groups of comparable cases then take equal times.
        first = 2**12 if options.device == "cpu" else 2**24
        sizes = [first + n * first // 64 for n in range(options.sizes)]
        run(folder / "warm", options, sizes, 2, rounds=1)
        seconds = {count: run(folder / f"gpus-{count}", options, sizes, count, options.rounds) for count in (1, 2)}
        rows = {count: pd.read_csv(folder / f"gpus-{count}" / "results.csv") for count in (1, 2)}
        spread = told(folder / "gpus-2")
    print(f"$ python benchmarks/gpus.py {' '.join(sys.argv[1:])}".rstrip())
    print(f"{'GPUs':>4} {'cases':>6} {'ok':>5} {'seconds':>8} {'measuring':>10}")
    for count, frame in rows.items():
        ok = (frame["status"] == "ok").sum()
        print(f"{count:>4} {len(frame):>6} {ok:>5} {seconds[count]:>8.1f} {measuring(frame):>10.1f}")
    part = measuring(rows[2]) / measuring(rows[1])
    print(f"time ratio: {seconds[2] / seconds[1]:.3f}; of the measuring alone: {part:.3f}")
    for line in spread or ["no reference case: emulated, or one GPU"]:
        print(line)
    wrong = disagreeing(rows[1], rows[2], EQUAL)
    same = sum(best(rows[1]).loc[size, "case"] == best(rows[2]).loc[size, "case"] for size in sizes)
    agree = len(sizes) - len(wrong)
    print(f"winners: the same case at {same} of {len(sizes)} sizes, within {100 * EQUAL:g} % at {agree}")
    return 1 if wrong and spread else 0


def run(folder: Path, options: argparse.Namespace, sizes: list[int], count: int, rounds: int) -> float:
    """Run the cases on so many GPUs; the seconds from start to end of the command."""
    if options.device == "cpu":
        where = [f"hydra.launcher.shards={count}", f"timing.cpu_rounds={rounds}"]
    else:
        where = [f"hydra.launcher.gpus=[{','.join(map(str, range(count)))}]", f"timing.rounds={rounds}"]
    command = [
        sys.executable, "-m", "runner", f"kernel={','.join(KERNELS)}", f"block={','.join(map(str, BLOCKS))}",
        f"size={','.join(map(str, sizes))}", f"device={options.device}", *where,
        "hydra/launcher=gpus", f"hydra.sweep.dir={folder}", "lines=false", "--quiet",
    ]  # fmt: skip
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    begun = time.monotonic()
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)}, check=False, stdout=subprocess.DEVNULL
    )
    if done.returncode:
        raise SystemExit(f"exit status {done.returncode}: {' '.join(command)}")
    return time.monotonic() - begun


def measuring(frame: pd.DataFrame) -> float:
    """The seconds that the GPU with the most to do spent on its cases; without GPUs, those of all processes."""
    return float(frame.groupby("gpu", dropna=False)["wall_s"].sum().max())


def best(frame: pd.DataFrame) -> pd.DataFrame:
    """The fastest case of each size."""
    return frame.loc[frame.groupby("size")["median_us"].idxmin()].set_index("size")


def disagreeing(one: pd.DataFrame, two: pd.DataFrame, margin: float) -> list[int]:
    """The sizes at which the winner of the first run is slower than the second's by more than a margin."""
    found = []
    for size, winner in best(one).iterrows():
        there = two[two["size"] == size].set_index("case")["median_us"]
        if there[winner["case"]] > there.min() * (1 + margin):
            found.append(int(str(size)))
    return found


def told(folder: Path) -> list[str]:
    """The reference case on each GPU: the mean of the rounds' medians, and the spread."""
    gpus = json.loads((folder / "environment.json").read_text()).get("gpus", {})
    means = {}
    for uuid, known in gpus.items():
        for taken in known.get("reference", {}).values():
            means[uuid] = sum(taken["rounds_us"]) / len(taken["rounds_us"])
    lines = [f"{gpus[uuid]['name']} {uuid[:12]}: reference case {us:.3f} us" for uuid, us in means.items()]
    if len(means) > 1:
        lines.append(f"spread between the GPUs: {100 * (max(means.values()) / min(means.values()) - 1):.2f} %")
    return lines


if __name__ == "__main__":
    sys.exit(main())
