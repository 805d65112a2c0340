"""Writes docs/ladder.md: of each step of the ladders what is new, what it gained, why, how far from the limit it is.

    python tools/ladder_page.py            # write it anew
    python tools/ladder_page.py --check    # write nothing; exit status 1 if it is not what would be written

From sweeps that `sh docs/ladder.sh docs/h200/ladder` made on a GPU, the headers of the kernels, and
tools/ladder/why.yaml. Which kernels are a ladder's steps, and in which configurations they were measured, stands in
conf/experiment/ladder_*.yaml and nowhere else.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from kernel_page import header  # noqa: E402  (the path must be there first)
from ladder import tables, text  # noqa: E402
from ladder.steps import LADDERS, PAYS, Ladder, Step, Sweep, climbed, defined, read  # noqa: E402

from runner.kernel import from_yaml  # noqa: E402
from runner.kernel.declaration import Kernel  # noqa: E402

PAGE = ROOT / "docs" / "ladder.md"
FOLDER = Path("docs/h200/ladder")
WHY = ROOT / "tools" / "ladder" / "why.yaml"
COMMAND = "python tools/ladder_page.py"


def main() -> int:
    """Write the page, or say what is not current."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    arguments = parser.parse_args()
    try:
        content = made()
    except (OSError, ValueError) as e:
        print(e, file=sys.stderr)
        return 2
    if not arguments.check:
        PAGE.write_text(content, encoding="utf-8")
        print(PAGE.relative_to(ROOT))
        return 0
    current = PAGE.is_file() and PAGE.read_text(encoding="utf-8") == content
    if not current:
        print(f"Not current: {PAGE.relative_to(ROOT)}; mend it with '{COMMAND}'.", file=sys.stderr)
    return not current


def made(root: Path = ROOT, folder: Path = FOLDER, page: Path = PAGE, why: Path = WHY) -> str:
    """What the page should hold.

    Args:
        root: Of the project, or of something like it: `conf/` below it is read.
        folder: With the sweeps, relative to the root.
        page: Where it will lie; links go by that.
        why: The YAML with a reason for each step.

    Raises:
        OSError: if a file is missing; one sentence.
        ValueError: if something in one is; one sentence.
    """
    if not (root / folder).is_dir():
        raise FileNotFoundError(f"{folder}: there are no sweeps yet; on a GPU 'sh docs/ladder.sh {folder}' makes them.")
    reasons = yaml.safe_load(why.read_text(encoding="utf-8"))
    sweeps = {name: _read(root, folder, name) for ladder in LADDERS for name in ladder.sweeps}
    lines = [text.INTRODUCTION.format(command=COMMAND, percent=100 * (PAYS - 1))]
    lines += text.made_by(list(sweeps.values()), folder, page)
    for ladder in LADDERS:
        lines += _part(ladder, [sweeps[name] for name in ladder.sweeps], root / "conf", reasons)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def _read(root: Path, folder: Path, name: str) -> Sweep:
    try:
        return read(root / folder, name)
    except (OSError, ValueError) as e:
        missing = f"{folder}/{name}: {getattr(e, 'strerror', None) or e}"
        raise ValueError(f"{missing}; on a GPU 'sh docs/ladder.sh {folder} {name}' makes it.") from None


def _part(ladder: Ladder, sweeps: list[Sweep], conf: Path, reasons: Mapping[str, str]) -> Iterator[str]:
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
            dtype = next(str(row["dtype"]) for row in sweep.rows if row["dtype"])
            yield f"\n### {ladder.title}: {dtype}, {size}\n"
            yield from tables.table(ladder, sweep, size, names, axes, previous)
            for step in climbed(sweep, size, steps, previous):
                found[step.kernel][dtype, size] = step
    for name in steps:
        if not reasons.get(name):
            raise ValueError(f"tools/ladder/why.yaml: there is no reason for {name}")
        yield from text.section(kernels[name], found[name], reasons[name])


def _kernel(conf: Path, name: str) -> Kernel:
    path = conf / "kernel" / f"{name}.yaml"
    return from_yaml.read(name, yaml.safe_load(path.read_text(encoding="utf-8")), path)


if __name__ == "__main__":
    raise SystemExit(main())
