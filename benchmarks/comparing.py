"""Does `runner.compare` call unchanged kernels unchanged, and does it find a slowed kernel? On a GPU.

    python benchmarks/comparing.py [--out DIR] [--again 3] [--one-in 18]

Each sweep has 20 cases with thorough timing. Several sweeps run the kernels unchanged. In one sweep every 18th block of
the first half of reduceShflUnroll's grid loads twice as much. A slow block at the end of the grid would delay the whole
launch by its own time, so only the first half is slowed. DIR keeps what `python -m runner compare` writes, and what the
rule decides on all pairs of unchanged sweeps from the times alone, without knowing that the machine code is the same.

Exit status: 0 if no unchanged case is called changed and the slower kernel is found, else 1.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from runner.compare.changes import known_noise, side
from runner.compare.runs import join, read, united
from runner.statistics import decide

ROOT = Path(__file__).resolve().parents[1]
SLOWED = "reduceShflUnroll"
KERNELS = ("reduceSmem", "reduceShfl", "reduceGmemUnroll", "reduceSmemUnroll", SLOWED)
SWEEP = (
    f"kernel={','.join(KERNELS)}",
    "block=256",
    "unroll=8",
    "size=8Mi,16Mi,32Mi,64Mi",
    "device=cuda",
    "timing=thorough",
)
BEFORE = "    SCALAR sum = 0;\n    if (MASK >> (t % 32) & 1u) {"
LOADS = """    SCALAR sum = 0;
    if (blockIdx.x < gridDim.x / 2 && blockIdx.x % {one_in} == 0) {{
        // Slowed on purpose by unused loads, half the array away.
        for (int k = 0; k < UNROLL; ++k) {{
            (void)((const volatile SCALAR*)in)[(first + t + (long long)k * BLOCK + n / 2) % n];
        }}
    }}
    if (MASK >> (t % 32) & 1u) {{"""


def main() -> int:
    """Sweep, compare, show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="a folder for the comparisons")
    parser.add_argument("--again", type=int, default=3, help="unchanged sweeps after the first")
    parser.add_argument("--one-in", type=int, default=18, help="one in so many blocks is slowed")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        plain = _kernels(work / "plain", "")
        slowed = _kernels(work / "slowed", LOADS.format(one_in=given.one_in))
        first = _sweep(work / "first", plain)
        changed = _sweep(work / "slower", slowed)
        others = [_sweep(work / f"again-{n}", plain) for n in range(1, given.again + 1)]
        out = given.out or work / "out"
        out.mkdir(parents=True, exist_ok=True)
        status = {
            name: _compare(out / name, first, other) for name, other in [("unchanged", others[0]), ("slowed", changed)]
        }
        words = Counter(word for pair in itertools.combinations([first, *others], 2) for word in _by_times(*pair))
        found = ", ".join(f"{words[word]} {word}" for word in ("faster", "slower", "tied", "undecided"))
        line = f"{words.total()} pairs of unchanged cases, by their times alone: {found}\n"
        (out / "by_times.txt").write_text(line, encoding="utf-8")
        print(line, end="")
    return 0 if status == {"unchanged": 0, "slowed": 1} and not words["faster"] + words["slower"] else 1


def _kernels(where: Path, loads: str) -> Path:
    """A copy of the configuration and of the kernels, one of them slowed."""
    for name in ("conf", "kernels"):
        shutil.copytree(ROOT / name, where / name)
    path = where / "kernels" / f"{SLOWED}.cu"
    text = path.read_text(encoding="utf-8")
    if BEFORE not in text:
        raise SystemExit(f"{path.name} changed: this script cannot slow it")
    if loads:
        path.write_text(text.replace(BEFORE, loads), encoding="utf-8")
    return where / "conf"


def _sweep(run: Path, conf: Path) -> Path:
    print(f"sweep: {run.name}", file=sys.stderr)
    _call("runner", "--config-path", str(conf), *SWEEP, f"hydra.sweep.dir={run}", status={0})
    return run


def _compare(target: Path, base: Path, other: Path) -> int:
    """Compare two runs, and keep the terminal output, the page and the table."""
    further = ("--html", f"{target}.html", "--csv", f"{target}.csv")
    done = _call("runner.compare", str(base), str(other), *further, status={0, 1})
    said = [line for line in done.stdout.splitlines() if not line.startswith("Written:")]
    target.with_suffix(".txt").write_text("\n".join(said).rstrip() + "\n", encoding="utf-8")
    print(done.stdout, end="")
    return done.returncode


def _call(module: str, *arguments: str, status: set[int]) -> subprocess.CompletedProcess[str]:
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "140"}
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in status:
        raise SystemExit(
            f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-2000:]}{done.stdout[-2000:]}"
        )
    return done


def _by_times(base: Path, other: Path) -> list[str]:
    """The decisions on the common cases of two runs, as if their machine code were not known to be the same."""
    first, second = united(list(read([base, other])))
    common = join(first, second).common
    pairs = [(side(first, pair.base), side(second, pair.other)) for pair in common]
    return [d.word for d in decide(pairs, [known_noise(first, second, pair) for pair in common])]


if __name__ == "__main__":
    sys.exit(main())
