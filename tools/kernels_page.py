"""Writes docs/kernels.md and its pictures, from the kernels' YAMLs, the headers of their sources, and pictures.

python tools/kernels_page.py            # write them anew
python tools/kernels_page.py --check    # write nothing; exit status 1 if they are not what would be written
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import generated
import shipped
import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from kernel_page import header, sections  # noqa: E402  (the path must be there first)
from kernel_page.pictures import Studio  # noqa: E402
from kernel_page.sections import Section  # noqa: E402

from runner.kernel.declaration import Kernel  # noqa: E402
from runner.kernel.from_yaml import CACHES  # noqa: E402

PAGE = ROOT / "docs" / "kernels.md"
PICTURES = "pictures"
COMMAND = "python tools/kernels_page.py"

# In this order, then those that are not here. What a family has in common.
FAMILIES = {
    "reduction": "The sum of an array, block by block: first folded in memory, then by shuffles, then by fewer blocks "
    "that do more each, then by vectors, of which many are under way at once. A kernel adds one idea to the one that "
    "it is new against; [the ladder](ladder.md) tells what each gains on an H200.",
    "shuffle": "One exchange of registers within a warp, and nothing else. They show what each of CUDA's shuffles does "
    "with its argument, its `width` and its `mask`.",
    "broadcast": "The smallest use of a shuffle: one lane tells all others.",
    "warp": "Small programs of several shuffles that need nothing but a warp: add up to here, add up all.",
    "shared_memory": "A tile of shared memory, written and read by rows or by columns. The kernels differ in the order "
    "of their accesses, and so in how often lanes of a warp want different words of one bank.",
    "bank_access": "The banks of shared memory by themselves: a warp loads with a stride.",
    "transpose": "A matrix, transposed. Reading and writing both want to go along rows; a tile of shared memory makes "
    "that possible, and brings conflicts of its own. [The ladder](ladder.md) tells what each gains on an H200.",
    "stencil": "A derivative from eight neighbours. The first three kernels differ in where the coefficients "
    "lie, the others in how the neighbours are had: [the ladder](ladder.md).",
    "counterexample": "Kernels that break a rule of CUDA on purpose, each with its repaired form in the same source. "
    "The CPU device names the rule; a GPU may do anything, so there the broken form is skipped.",
}

INTRODUCTION = """\
# The kernels

<!-- Written by `{command}`; what is changed here by hand is lost. -->

Every kernel that comes with the project: what it computes, what is new in it, what it reads, and a picture of the
idea. This page is written by `{command}` from the kernels' YAMLs ([their keys](kernel-yaml.md)) and the
headers of their sources; with `--check` the command says whether the page is up to date. The seeds are the tutorials
that the kernels [come from](seeds.md).

Pictures of shuffles are measured: the kernel ran on the [CPU device](cpu-device.md), and the arrows say what each lane
received. Pictures of banks and sectors follow from the accesses that a YAML declares. The others are drawn.

Some words:

- A **warp** is 32 threads that run together; a thread's place in it is its **lane**. A shuffle lets a lane read a
  register of another lane. `width` divides the warp into **segments** of that many lanes; `mask` names the lanes that
  take part.
- Shared memory has 32 **banks**, to which 4-byte words belong by turns. Different words of one bank are served one
  after the other, each in a pass called a **wavefront**: 1 is best, 32 is worst.
- Global memory is moved in **sectors** of 32 bytes: 4 for a warp that reads 32 neighbouring 4-byte elements, 32 where
  they lie apart.

How values are written: an `integer` as `8`, `-2` or `2**3`; a `size` as `16Mi`, `2**24` or, rows by columns,
`4096x8192`; a `block` as `256` or `32x16`; a `mask` as `0xffffffff` or `0b1010`. Besides its own parameters every
kernel takes `cache`, {caches}: what the on-chip memory of a GPU should rather be. The default, `none`,
is no preference; the CPU device skips the others.
"""


def main() -> int:
    """Write the page, or say what is not current."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    arguments = parser.parse_args()
    files = made()
    if arguments.check:
        if stale := generated.outdated(files):
            print(generated.told(stale, COMMAND), file=sys.stderr)
        return bool(stale)
    generated.write(files)
    print(f"{PAGE.relative_to(ROOT)} and {len(files) - 1} pictures")
    return 0


def made(conf: Path = ROOT / "conf", page: Path = PAGE) -> dict[Path, bytes]:
    """What the page and its pictures should hold, by path.

    Args:
        conf: The configuration, with `kernel/` and `experiment/`.
        page: Where the page will lie; links and pictures go by that.
    """
    kernels = shipped.kernels(conf)
    experiments = used_by(conf)
    studio = Studio(kernels)
    files: dict[Path, bytes] = {}
    first: dict[str, str] = {}  # by picture, the kernel whose section shows it
    text = [INTRODUCTION.format(command=COMMAND, caches=_or(CACHES)), *_table(kernels)]
    for family, own in families(kernels).items():
        text += [f"\n## {_title(family)}\n", f"{FAMILIES[family]}\n" if family in FAMILIES else ""]
        for kernel in own:
            picture, shown = studio.picture(kernel), ""
            if picture:
                path = page.parent / PICTURES / f"{picture.stem}.svg"
                files[path] = picture.svg
                owner = first.setdefault(picture.stem, kernel.name)
                shown = f"Its picture is that of [{owner}](#{owner.lower()})."
                if owner == kernel.name:
                    shown = f"![{picture.alt}]({sections.relative(path, page)})"
            told = Section(
                kernel=kernel,
                header=header.read(kernel.source),
                experiments=experiments.get(kernel.name, []),
                finish=any(k.finish == "host" for k in own),
                refusal=studio.refusal(kernel) if kernel.hazard else "",
                picture=shown,
            )
            text.append(sections.section(told, kernels, page))
    studio.close()
    joined = re.sub(r"\n{3,}", "\n\n", "\n".join(text)).rstrip() + "\n"
    return {page: joined.encode(), **files}


def used_by(conf: Path) -> dict[str, list[Path]]:
    """The experiments that run each kernel."""
    found: dict[str, list[Path]] = {}
    for path in sorted((conf / "experiment").glob("*.yaml")):
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        swept = content.get("hydra", {}).get("sweeper", {}).get("params", {}).get("kernel", "")
        chosen = [d["override /kernel"] for d in content.get("defaults", []) if "override /kernel" in d]
        for kernel in [name.strip() for name in str(swept).split(",") if name.strip()] or chosen:
            found.setdefault(kernel, []).append(path)
    return found


def families(kernels: Mapping[str, Kernel]) -> dict[str, list[Kernel]]:
    """The kernels by family, in the page's order: each behind the one that it is new against."""
    names = [*FAMILIES, *sorted({k.family for k in kernels.values()} - set(FAMILIES))]
    return {name: own for name in names if (own := _grown([k for k in kernels.values() if k.family == name]))}


def _grown(own: Sequence[Kernel]) -> list[Kernel]:
    known = {k.name: k for k in own}
    children: dict[str, list[str]] = {}
    for k in own:
        previous = header.read(k.source).previous
        children.setdefault(previous if previous in known and previous != k.name else "", []).append(k.name)
    order: list[str] = []

    def visit(name: str) -> None:
        if name in known and name not in order:
            order.append(name)
            for child in sorted(children.get(name, [])):
                visit(child)

    for name in [*sorted(children.get("", [])), *sorted(known)]:
        visit(name)
    return [known[name] for name in order]


def _table(kernels: Mapping[str, Kernel]) -> Iterator[str]:
    yield "\n| kernel | what it does | family | seed section |\n|---|---|---|---|"
    for family, own in families(kernels).items():
        link = f"[{_title(family).lower()}](#{_title(family).lower().replace(' ', '-')})"
        for k in own:
            summary, origin = (sections.prose(text, k) for text in (k.summary, k.origin))
            yield f"| [{k.name}](#{k.name.lower()}) | {summary} | {link} | {origin} |"


def _title(family: str) -> str:
    words = family.replace("_", " ")
    return words[0].upper() + words[1:]


def _or(words: Sequence[str]) -> str:
    quoted = [f"`{word}`" for word in words]
    return f"{', '.join(quoted[:-1])} or {quoted[-1]}"


if __name__ == "__main__":
    raise SystemExit(main())
