"""Writes docs/ladder.md and its pictures: of each step what is new, what it gained, why, how far from the limit it is.

    python tools/ladder_page.py            # write it anew
    python tools/ladder_page.py --check    # write nothing; exit status 1 if it is not what would be written

From sweeps that `sh docs/ladder.sh docs/h200/ladder` made on a GPU, what tools/count_ladder.py counted of their cases
there, the bandwidth of reading that benchmarks/reduction.py measured, the headers of the kernels, and
tools/ladder/why.yaml. Which kernels are the
steps of a ladder, and in which configurations they were measured, stands in conf/experiment/ladder_*.yaml and nowhere
else.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import generated  # noqa: E402  (the path must be there first)
import shipped  # noqa: E402
from kernel_page import header  # noqa: E402
from kernel_page.sections import relative  # noqa: E402
from ladder import counters, limits, picture, reasons, tables, text  # noqa: E402
from ladder.counters import Counted  # noqa: E402
from ladder.reasons import Reason  # noqa: E402
from ladder.steps import LADDERS, PAYS, Ladder, Sweep, best, climbed, defined, read, shown  # noqa: E402
from ladder.tables import Climb  # noqa: E402

from runner.errors import UsageError  # noqa: E402

PAGE = ROOT / "docs" / "ladder.md"
FOLDER = Path("docs/h200/ladder")
READING = Path("docs/h200/limits/reduction.csv")
WHY = ROOT / "tools" / "ladder" / "why.yaml"
PICTURES = "pictures/ladders"
COMMAND = "python tools/ladder_page.py"


@dataclass(frozen=True)
class Measured:
    """What the page is made of.

    Attributes:
        conf: The configuration, whose experiments say what the steps are.
        sweeps: By name; those that there are.
        counted: By case.
        gbps: The best bandwidth of reading.
        told: By step, why it pays, and why it may not.
    """

    conf: Path
    sweeps: Mapping[str, Sweep]
    counted: Mapping[str, Counted]
    gbps: float
    told: Mapping[str, Reason]


def main() -> int:
    """Write the page and its pictures, or say what is not current."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    arguments = parser.parse_args()
    try:
        files = made(folder=FOLDER, page=PAGE, why=WHY, reading=READING)
        if not arguments.check:
            generated.write(files)
            print(f"{PAGE.relative_to(ROOT)} and {len(files) - 1} pictures")
            return 0
    except (OSError, ValueError, UsageError) as e:
        print(e, file=sys.stderr)
        return 2
    if stale := generated.outdated(files):
        print(generated.told(stale, COMMAND), file=sys.stderr)
    return bool(stale)


def made(
    root: Path = ROOT, folder: Path = FOLDER, page: Path = PAGE, why: Path = WHY, reading: Path = READING
) -> dict[Path, bytes]:
    """What the page and its pictures should hold, by path.

    Args:
        root: Of the project, or of something like it: `conf/` below it is read.
        folder: With the sweeps, relative to the root.
        page: Where it will lie; links and pictures go by that.
        why: The YAML with the reasons for each step.
        reading: The table with the bandwidth of reading, relative to the root.

    Raises:
        OSError: if the folder is missing; one sentence.
        ValueError: if a file is missing or something in one is wrong; one sentence.
        UsageError: likewise.
    """
    measured = _read(root, folder, why, reading)
    link = relative(page.parent / text.below(reading), page)
    tables_of = relative(page.parent / text.below(reading.parent / "README.md"), page)
    lines = [
        text.INTRODUCTION.format(
            command=COMMAND, percent=100 * (PAYS - 1), noticed=100 * counters.NOTICED, reading=link, limits=tables_of
        )
    ]
    files: dict[Path, bytes] = {}
    for ladder in LADDERS:
        lines.append(f"\n## {ladder.title}\n")
        if lacking := [name for name in ladder.sweeps if name not in measured.sweeps]:
            lines += text.unmeasured(lacking, folder)
        else:
            lines += _part(ladder, measured, page, files)
    lines += text.made_by(list(measured.sweeps.values()), folder, page)
    return {page: (re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n").encode(), **files}


def _read(root: Path, folder: Path, why: Path, reading: Path) -> Measured:
    if not (root / folder).is_dir():
        raise FileNotFoundError(f"{folder}: there are no sweeps yet; on a GPU 'sh docs/ladder.sh {folder}' makes them.")
    conf = root / "conf"
    names = [name for ladder in LADDERS for name in defined(ladder, conf)[0] if name not in ladder.copies]
    with _beside(why.parent, root):
        told = reasons.read(why, names)
    sweeps = {}
    for name in (name for ladder in LADDERS for name in ladder.sweeps if (root / folder / f"{name}.csv").is_file()):
        with _beside(root / folder, root, f"; on a GPU 'sh docs/ladder.sh {folder} {name}' makes it."):
            sweeps[name] = read(root / folder, name)
    rows = [row for _, row in shown(sweeps, conf)]
    with _beside(root / folder, root, f"; on a GPU 'python tools/count_ladder.py {folder}' counts anew."):
        counted = counters.read(root / folder / counters.FILE, rows) if rows else {}
    with _beside(root / reading.parent, root, f"; on a GPU 'sh docs/limits.sh {reading.parent}' makes it."):
        gbps = limits.reading(root / reading)
    return Measured(conf, sweeps, counted, gbps, told)


@contextlib.contextmanager
def _beside(folder: Path, root: Path, mend: str = "") -> Iterator[None]:
    """Where a sentence about a file of this folder gets the folder's path, and what mends it."""
    try:
        yield
    except (ValueError, UsageError) as e:
        where = folder.relative_to(root) if folder.is_relative_to(root) else folder
        raise ValueError(f"{where.as_posix()}/{e}{mend}") from None


def _part(ladder: Ladder, measured: Measured, page: Path, files: dict[Path, bytes]) -> Iterator[str]:
    """The part of one ladder: its picture, which is put to the files, its steps, then its tables."""
    names, axes = defined(ladder, measured.conf)
    kernels = {name: shipped.kernel(name, measured.conf) for name in names if name not in ladder.copies}
    previous = {name: header.read(kernel.source).previous for name, kernel in kernels.items()}
    climbs = [
        _climb(ladder, measured, measured.sweeps[name], size, previous)
        for name in ladder.sweeps
        for size in measured.sweeps[name].sizes
    ]
    drawn = [climb for climb in climbs if climb.sweep.name == ladder.sweeps[0]]  # those of the others look alike
    path = page.parent / PICTURES / f"{ladder.experiment}.svg"
    files[path] = picture.drawn(f"{ladder.title} on an {drawn[0].sweep.device['name']}", list(kernels), drawn)
    yield f"![{picture.in_words(drawn)}]({relative(path, page)})\n"
    yield f"The steps: {' > '.join(f'[{name}](#{name.lower()})' for name in kernels)}."
    links = (f"[{c.sweep.dtype}, {c.size}](#{_anchor(f'{ladder.title}: {c.sweep.dtype}, {c.size}')})" for c in climbs)
    yield f"\nTheir tables stand below them: {'; '.join(links)}."
    for name, kernel in kernels.items():
        found = {(c.sweep.dtype, c.size): step for c in climbs for step in c.steps if step.kernel == name}
        yield from text.section(kernel, found, measured.told[name])
        yield from text.changed(found, measured.counted)
    for climb in climbs:
        yield f"\n### {ladder.title}: {climb.sweep.dtype}, {climb.size}\n"
        yield from tables.times(climb, axes)
        yield from tables.missing(climb, names)
        yield "\nWhat each did in one launch:\n"
        yield from tables.causes(climb, measured.counted)


def _anchor(heading: str) -> str:
    """Where a link to a heading goes."""
    return re.sub(r"[^a-z0-9 ]", "", heading.lower()).replace(" ", "-")


def _climb(ladder: Ladder, measured: Measured, sweep: Sweep, size: str, previous: Mapping[str, str]) -> Climb:
    return Climb(
        sweep=sweep,
        size=size,
        steps=climbed(sweep, size, list(previous), previous),
        copies=[(name, row) for name in ladder.copies if (row := best(sweep, name, size))],
        limit=limits.limit(ladder, sweep, size, measured.gbps),
    )


if __name__ == "__main__":
    raise SystemExit(main())
