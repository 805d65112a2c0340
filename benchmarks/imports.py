"""How many kernels of programs can be used as `runner import` writes them: no blank to fill in, and `ok` when run.

    python benchmarks/imports.py SEED CLONE... [--most 6] [--keep FOLDER]

`draw.py --programs` draws the kernels, each of a file with a `main`. Each is imported, and run on the CPU device if
there is no blank. The table has a line for each kernel: its outcome, its number of blanks, and what is in the way.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from draw import drawn
from sweeps import ROOT

BLANK = re.compile(r"^(?!\s*#).*\?\?\?.*$", re.MULTILINE)
LIMIT_S = 120  # for a command
SETTINGS = ("device=cpu", "timing=quick", "lines=none", "racecheck=none", "device.time_limit_s=20")


def row(clone: Path, file: str, kernel: str, into: Path) -> tuple[str, int, str]:
    """A kernel's outcome, its number of blanks, and what is in the way."""
    source = clone.parent / file
    code, said = _run("import", str(source), "--kernel", kernel, "--into", str(into))
    names = [path.stem for path in into.glob("kernel/*.yaml")]
    if len(names) != 1:
        return "not imported", 0, said or f"exit status {code}"
    text = (into / "kernel" / f"{names[0]}.yaml").read_text(encoding="utf-8")
    if blanks := BLANK.findall(text):
        return "blanks", sum(line.count("???") for line in blanks), blanks[0].strip()
    out = into / "out"
    _, said = _run("--config-dir", str(into), f"kernel={names[0]}", *SETTINGS, f"hydra.sweep.dir={out}")
    if not (out / "results.csv").exists():
        return "refused", 0, said
    (result,) = pd.read_csv(out / "results.csv", keep_default_na=False).to_dict("records")
    return str(result["status"]), 0, str(result["reason"])


def _run(*words: str) -> tuple[int, str]:
    """The exit status of a command, and its last sentence."""
    command = (sys.executable, "-m", "runner", *words)
    try:
        done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return 124, f"no answer in {LIMIT_S} s"
    return done.returncode, " ".join((done.stderr.strip().splitlines() or [""])[-1].split())


def table(clones: list[Path], seed: int, most: int, keep: Path) -> Iterator[str]:
    """The lines of the table; the last one counts."""
    rng = random.Random(seed)  # noqa: S311  (a draw is no secret)
    counts, blanks = Counter[str](), []
    for clone in clones:
        for number, (file, kernel) in enumerate(drawn(clone, most, rng, programs=True)):
            outcome, lacking, why = row(clone, file, kernel, keep / f"{clone.name}-{number}-{kernel}")
            counts[outcome] += 1
            blanks.append(lacking)
            yield f"{outcome:12}  {lacking:2}  {file}: {kernel}  {why[:160]}".rstrip()
    total = sum(counts.values())
    words = ", ".join(f"{n} {outcome}" for outcome, n in counts.most_common())
    median = statistics.median(blanks)
    yield f"\n{counts['ok']} of {total} are ok as imported; {words}; the median has {median:g} blanks"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int)
    parser.add_argument("clones", nargs="+", type=Path, metavar="CLONE")
    parser.add_argument("--most", type=int, default=6, help="kernels of a clone")
    parser.add_argument("--keep", type=Path, help="a folder for the YAMLs and the runs")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for line in table([c.resolve() for c in given.clones], given.seed, given.most, given.keep or Path(scratch)):
            print(line, flush=True)


if __name__ == "__main__":
    main()
