"""Writes docs/ladder.md: of each step of the ladders what is new, what it gained, why, how far from the limit it is.

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
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from kernel_page import header  # noqa: E402  (the path must be there first)
from kernel_page.sections import relative  # noqa: E402
from ladder import counters, limits, reasons, tables, text  # noqa: E402
from ladder.counters import Counted  # noqa: E402
from ladder.files import of_yaml  # noqa: E402
from ladder.reasons import Reason  # noqa: E402
from ladder.steps import LADDERS, PAYS, Ladder, Step, Sweep, climbed, defined, fastest, read  # noqa: E402

from runner import atomic  # noqa: E402
from runner.errors import Mistake  # noqa: E402
from runner.kernel import from_yaml  # noqa: E402
from runner.kernel.declaration import Kernel  # noqa: E402

PAGE = ROOT / "docs" / "ladder.md"
FOLDER = Path("docs/h200/ladder")
READING = Path("docs/h200/limits/reduction.csv")
WHY = ROOT / "tools" / "ladder" / "why.yaml"
COMMAND = "python tools/ladder_page.py"


def main() -> int:
    """Write the page, or say what is not current."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    arguments = parser.parse_args()
    try:
        content = made(folder=FOLDER, page=PAGE, why=WHY, reading=READING)
        if not arguments.check:
            atomic.write_text(PAGE, content)
            print(PAGE.relative_to(ROOT))
            return 0
    except (OSError, ValueError, Mistake) as e:
        print(e, file=sys.stderr)
        return 2
    current = PAGE.is_file() and PAGE.read_text(encoding="utf-8") == content
    if not current:
        print(f"Not current: {PAGE.relative_to(ROOT)}; mend it with '{COMMAND}'.", file=sys.stderr)
    return not current


def made(root: Path = ROOT, folder: Path = FOLDER, page: Path = PAGE, why: Path = WHY, reading: Path = READING) -> str:
    """What the page should hold.

    Args:
        root: Of the project, or of something like it: `conf/` below it is read.
        folder: With the sweeps, relative to the root.
        page: Where it will lie; links go by that.
        why: The YAML with the reasons for each step.
        reading: The table with the bandwidth of reading, relative to the root.

    Raises:
        OSError: if the folder is missing; one sentence.
        ValueError: if a file is missing or something in one is wrong; one sentence.
        Mistake: likewise.
    """
    if not (root / folder).is_dir():
        raise FileNotFoundError(f"{folder}: there are no sweeps yet; on a GPU 'sh docs/ladder.sh {folder}' makes them.")
    steps = [name for ladder in LADDERS for name in defined(ladder, root / "conf")[0] if name not in ladder.copies]
    with _beside(why.parent, root):
        told = reasons.read(why, steps)
    missing = {n for ladder in LADDERS for n in ladder.sweeps if not (root / folder / f"{n}.csv").is_file()}
    sweeps = {}
    for name in (name for ladder in LADDERS for name in ladder.sweeps if name not in missing):
        with _beside(root / folder, root, f"; on a GPU 'sh docs/ladder.sh {folder} {name}' makes it."):
            sweeps[name] = read(root / folder, name)
    shown = [
        row
        for ladder in LADDERS
        for name in ladder.sweeps
        if name in sweeps
        for row in fastest(sweeps[name], defined(ladder, root / "conf")[0])
    ]
    with _beside(root / folder, root, f"; on a GPU 'python tools/count_ladder.py {folder}' counts anew."):
        counted = counters.read(root / folder / counters.FILE, shown)
    mend = f"; on a GPU 'sh docs/limits.sh {reading.parent}' makes it."
    with _beside(root / reading.parent, root, mend):
        gbps = limits.reading(root / reading)
    link = relative(page.parent / text.below(reading), page)
    tables_of = relative(page.parent / text.below(reading.parent / "README.md"), page)
    lines = [
        text.INTRODUCTION.format(
            command=COMMAND, percent=100 * (PAYS - 1), noticed=100 * counters.NOTICED, reading=link, limits=tables_of
        )
    ]
    lines += text.made_by(list(sweeps.values()), folder, page)
    for ladder in LADDERS:
        if lacking := [name for name in ladder.sweeps if name in missing]:
            lines += text.unmeasured(ladder.title, lacking, folder)
        else:
            lines += _part(ladder, [sweeps[name] for name in ladder.sweeps], root / "conf", told, gbps, counted)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


@contextlib.contextmanager
def _beside(folder: Path, root: Path, mend: str = "") -> Iterator[None]:
    """Where a sentence about a file of this folder gets the folder's path, and what mends it."""
    try:
        yield
    except (ValueError, Mistake) as e:
        where = folder.relative_to(root) if folder.is_relative_to(root) else folder
        raise ValueError(f"{where.as_posix()}/{e}{mend}") from None


def _part(
    ladder: Ladder,
    sweeps: list[Sweep],
    conf: Path,
    told: Mapping[str, Reason],
    gbps: float,
    counted: Mapping[str, Counted],
) -> Iterator[str]:
    """The part of one ladder: its tables, then its steps."""
    names, axes = defined(ladder, conf)
    steps = [name for name in names if name not in ladder.copies]
    kernels = {name: _kernel(conf, name) for name in steps}
    previous = {name: header.read(kernel.source).previous for name, kernel in kernels.items()}
    yield f"\n## {ladder.title}\n"
    yield f"The steps: {' > '.join(f'[{name}](#{name.lower()})' for name in steps)}."
    found: dict[str, dict[tuple[str, str], Step]] = {name: {} for name in steps}
    for sweep in sweeps:
        for size in sweep.sizes:
            dtype = next((str(row["dtype"]) for row in sweep.rows if row["dtype"]), "")
            yield f"\n### {ladder.title}: {dtype}, {size}\n"
            most = limits.limit(ladder, sweep, size, gbps)
            yield from tables.table(ladder, sweep, size, names, axes, previous, most, counted)
            for step in climbed(sweep, size, steps, previous):
                found[step.kernel][dtype, size] = step
    for name in steps:
        yield from text.section(kernels[name], found[name], told[name])


def _kernel(conf: Path, name: str) -> Kernel:
    path = conf / "kernel" / f"{name}.yaml"
    return from_yaml.read(name, of_yaml(path), path)


if __name__ == "__main__":
    raise SystemExit(main())
