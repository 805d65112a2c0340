"""Draws kernels of repositories for a trial: of each clone, from as many files as possible.

    python benchmarks/draw.py SEED CLONE... [--most 6] [--programs]

A line is a file and a kernel. The same seed and the same clones, in the same order, give the same kernels. Tests, code
for other GPUs and copies of other projects are left out. With `--programs`, only files with a `main` are drawn from.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator
from pathlib import Path

ENDINGS = (".cu", ".cuh", ".hpp", ".h")
LEFT_OUT = re.compile(r"3rdparty|third_party|/tests?/|hip")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_MAIN = re.compile(r"\bmain\s*\(")
_BOUNDS = r"(?:(?:__launch_bounds__|C10_LAUNCH_BOUNDS_\d)\s*\([^)]*\)\s*)?"
_KERNEL = re.compile(rf"__global__\s+(?:static\s+)?(?:inline\s+)?{_BOUNDS}(?:void\s+)?{_BOUNDS}(\w+)\s*\(")


def drawn(clone: Path, most: int, rng: random.Random, *, programs: bool = False) -> Iterator[tuple[str, str]]:
    """Files and kernels of a clone, at most so many: one of each file, then a second one, and so on.

    Args:
        clone: Its folder.
        most: The largest number of kernels.
        rng: The source of chance.
        programs: Whether only files with a `main` count.
    """
    files = []
    for path in sorted(clone.rglob("*")):
        name = f"{clone.name}/{path.relative_to(clone)}"
        if path.suffix in ENDINGS and path.is_file() and not LEFT_OUT.search(name):
            text = _COMMENT.sub("", path.read_text(encoding="utf-8", errors="replace"))
            if programs and not _MAIN.search(text):
                continue
            if kernels := sorted(set(_KERNEL.findall(text))):
                files.append((name, kernels))
    rng.shuffle(files)
    orders = [(name, rng.sample(kernels, len(kernels))) for name, kernels in files]
    turns = range(max((len(kernels) for _, kernels in orders), default=0))
    found = [(name, kernels[turn]) for turn in turns for name, kernels in orders if turn < len(kernels)]
    yield from found[:most]


def main() -> None:
    """Print the kernels."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int)
    parser.add_argument("clones", nargs="+", type=Path, metavar="CLONE")
    parser.add_argument("--most", type=int, default=6, help="kernels of a clone")
    parser.add_argument("--programs", action="store_true", help="only kernels of files with a `main`")
    given = parser.parse_args()
    rng = random.Random(given.seed)  # noqa: S311  (a draw is no secret)
    for clone in given.clones:
        for name, kernel in drawn(clone, given.most, rng, programs=given.programs):
            print(name, kernel)


if __name__ == "__main__":
    main()
