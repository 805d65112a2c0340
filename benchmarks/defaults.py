"""What a default sweep costs beside the same sweep with everything optional off: whole processes, in turn.

    python benchmarks/defaults.py [--device cpu|cuda] [--rounds 5] [--most 1.15] [--out TABLE.txt]

Optional is what runs after verdicts and times: line costs, the binaries that are kept and, on a GPU, the check for
races. On the CPU device the check of one variant of each kernel for races is a part of the verdict. The caches are
empty (`cold`), those of a sweep of other variants and of `runner profile` (`new`), or of the same variants (`warm`).
Exit status 1 if a ratio of medians is above `--most`.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from sweeps import called

SWEEPS = {
    "cpu": ("kernel=reduceShfl,reduceSmem", "device=cpu"),
    "cuda": ("kernel=reduceShflUnroll", "size=2**24", "unroll=1,2,4,8", "timing=quick", "device=cuda"),
}
BLOCKS = {"cpu": ("128,256", "64,512"), "cuda": ("64,128,256,512,1024", "96,192,384,768")}
OFF = {"cpu": ("lines=none",), "cuda": ("lines=none", "racecheck=none", "profile.code=false")}
STATES = ("cold", "new", "warm")


def sweep(device: str, blocks: str, folder: Path, cache: Path, options: Sequence[str] = ()) -> float:
    """Seconds of a sweep's process, with its report, in a new folder."""
    words = [*SWEEPS[device], f"block={blocks}", *options, f"hydra.sweep.dir={folder}", "--quiet"]
    started = time.perf_counter()
    _run(words, folder.parent, cache)
    return time.perf_counter() - started


def prepared(device: str, state: str, parent: Path, cache: Path) -> Path:
    """A copy of the caches in a state. They name their own path, so they are used where they were made."""
    cache.mkdir()
    if state != "cold":
        sweep(device, BLOCKS[device][state == "new"], parent / f"sweep of {state}", cache)
        _run(["profile", str(parent / f"sweep of {state}"), "races", "lines", "--quiet"], parent, cache)
    return Path(shutil.move(cache, parent / state))


def _run(words: Sequence[str], folder: Path, cache: Path) -> None:
    command = [sys.executable, "-m", "runner", *words]
    called(command, str(folder), XDG_CACHE_HOME=str(cache), CUDA_CACHE_PATH=str(cache / "driver"))


def main() -> int:
    """Take turns, then print the medians and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=SWEEPS, default="cpu")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--most", type=float, default=1.15, help="the largest ratio; default: 1.15")
    parser.add_argument("--out", type=Path, metavar="TABLE.txt")
    options = parser.parse_args()
    taken: dict[tuple[str, bool], list[float]] = {}
    with tempfile.TemporaryDirectory() as name:
        parent = Path(name)
        cache = parent / "cache"
        caches = {state: prepared(options.device, state, parent, cache) for state in STATES}
        for number in range(options.rounds):
            for state in STATES:
                for on in (True, False):
                    which = f"{state}, {'default' if on else 'all off'}"
                    print(f"round {number + 1} of {options.rounds}: {which}", file=sys.stderr)
                    shutil.copytree(caches[state], cache)
                    folder = parent / f"{number} {state} {on}"
                    seconds = sweep(
                        options.device, BLOCKS[options.device][0], folder, cache, () if on else OFF[options.device]
                    )
                    taken.setdefault((state, on), []).append(seconds)
                    shutil.rmtree(cache)
    medians = {key: statistics.median(values) for key, values in taken.items()}
    ratios = {state: medians[state, True] / medians[state, False] for state in STATES}
    lines = [
        f"python benchmarks/defaults.py --device {options.device} --rounds {options.rounds}",
        f"seconds of whole processes, medians: {' '.join(SWEEPS[options.device])} block={BLOCKS[options.device][0]}",
        "",
        f"{'caches':8}{'default':>10}{'all off':>10}{'ratio':>8}",
        *(f"{s:8}{medians[s, True]:10.2f}{medians[s, False]:10.2f}{ratios[s]:8.2f}" for s in STATES),
    ]
    text = "\n".join(lines) + "\n"
    print(text, end="")
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    return int(max(ratios.values()) > options.most)


if __name__ == "__main__":
    sys.exit(main())
