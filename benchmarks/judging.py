"""What each further candidate costs `runner judge FOLDER` on the CPU device, beyond compiling and measuring.

    python benchmarks/judging.py [--candidates 100] [--setting KEY=VALUE ...]

The candidates are saxpy with a line of their own, and share its YAML. A folder of few and one of many are judged in
turns: the difference of their times, divided by the number of further candidates, is what one more costs. With a cold
cache this includes its compilation. With a warm one it still includes launching it and checking its outputs, so it is
an upper bound of the overhead.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KERNELS = ROOT / "tests" / "kernels"
FEW = 2
CHEAP = ("device=cpu", "size=1000", "timing=quick", "racecheck=none", "lines=none")


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--candidates", type=int, default=100, help="in the larger folder; default: 100")
    parser.add_argument("--times", type=int, default=3, help="how often each folder is judged; default: 3")
    parser.add_argument("--setting", action="append", default=[], help="an override, such as lines=all")
    options = parser.parse_args()
    chosen = {setting.partition("=")[0] for setting in options.setting}
    settings = [*(s for s in CHEAP if s.partition("=")[0] not in chosen), *options.setting]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        few, many = (laid(folder / f"of{n}", n) for n in (FEW, options.candidates))
        more = options.candidates - FEW
        seconds(folder, few, settings)  # builds what all kernels of the device need
        print(
            f"cold cache: {(seconds(folder, many, settings) - seconds(folder, few, settings)) / more:.3f} s a candidate"
        )
        each = [(seconds(folder, many, settings) - seconds(folder, few, settings)) / more for _ in range(options.times)]
        print(f"warm cache: {statistics.median(each):.3f} s a candidate ({min(each):.3f} to {max(each):.3f})")
    return 0


def laid(folder: Path, number: int) -> Path:
    """A folder of candidates, each with a text of its own."""
    folder.mkdir()
    text = (KERNELS / "kernel" / "saxpy.cu").read_text(encoding="utf-8")
    for n in range(number):
        (folder / f"c{n:04}.cu").write_text(text.replace("y[i] = a * x[i]", f"y[i] = {n} * (y[i] - y[i]) + a * x[i]"))
    return folder


def seconds(scratch: Path, folder: Path, settings: list[str]) -> float:
    """How long it takes to judge a folder. All candidates are right, and undecided without a GPU."""
    words = ["judge", str(folder), "--baseline", "saxpy", "--config-dir", str(KERNELS), *settings]
    variables = {**os.environ, "XDG_CACHE_HOME": str(scratch / "cache"), "PYTHONPATH": str(ROOT)}
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "runner", *words],
        cwd=scratch,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    taken = time.monotonic() - began
    if done.returncode != 4:
        raise SystemExit(f"{done.stdout}\n{done.stderr}")
    return taken


if __name__ == "__main__":
    sys.exit(main())
