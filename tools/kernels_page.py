"""Writes docs/kernels.md, a page for each family and their pictures, from the YAMLs and the headers of the sources.

python tools/kernels_page.py            # write them
python tools/kernels_page.py --check    # write nothing; exit status 1 if they are not current
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import shipped
import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from kernel_page import header, memory  # noqa: E402  (the path must be there first)
from kernel_page.pictures import Studio  # noqa: E402

from runner.device import Form  # noqa: E402
from runner.display.text import count  # noqa: E402
from runner.files import atomic  # noqa: E402
from runner.kernel.declaration import NEUTRAL, Kernel, value_text  # noqa: E402
from runner.kernel.yaml_parameters import CACHES  # noqa: E402
from runner.stages.lines import costs as lines  # noqa: E402

PAGE = ROOT / "docs" / "kernels.md"
TEMPLATES = Path(__file__).resolve().parent / "kernel_page"
COMMAND = "make kernels-page"

# The families in the index's order, with their introductions. Other families come last.
FAMILIES = {
    "reduction": "The sum of an array. The first kernels reduce a block's elements in memory, the next use shuffles, "
    "and the last ones keep many vector loads in flight. "
    "[What each step gained](../optimizing.md#reductions).",
    "shuffle": "Each kernel exchanges registers within a warp once. Together they show how each of CUDA's shuffles "
    "uses its argument, its `width` and its `mask`.",
    "broadcast": "The smallest use of a shuffle: all lanes read one lane's register.",
    "warp": "Several shuffles within one warp: a scan and a sum.",
    "shared_memory": "A tile of shared memory, written and read by rows or by columns. The order of the accesses "
    "determines how many lanes of a warp request different words of one bank.",
    "bank_access": "The stride of a warp's loads from shared memory determines their bank conflicts.",
    "transpose": "Matrix transposes. Global loads and stores are both fastest along rows. A tile in shared memory "
    "makes both possible, but its accesses can have bank conflicts. "
    "[What each step gained](../optimizing.md#transposes).",
    "stencil": "The derivative from eight neighbours. The first three kernels differ in where the coefficients are "
    "stored, the others in how a thread gets its neighbours' elements. "
    "[What each step gained](../optimizing.md#stencils).",
    "matmul": "The product of two matrices. One kernel has half a million variants, for [a search](../search.md).",
    "softmax": "The softmax of each row of a matrix, beside those of [PyTorch and Triton](../contenders.md).",
    "counterexample": "Kernels that break a rule of CUDA on purpose, each with its repaired form in the same source. "
    "The CPU device reports the violation. On a GPU the broken form has undefined behaviour, so it is skipped.",
    "race": "Kernels that race on purpose, each with its repaired form in the same source. The broken form may give "
    "the right values, on the CPU device and on a GPU. The [checked CPU device](../checked.md) reports the race.",
}


def main() -> int:
    """Write the page, or list what is not current."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    arguments = parser.parse_args()
    files = made()
    left_over = [path for path in written() if path not in files]
    if arguments.check:
        stale = [path for path, content in files.items() if not path.is_file() or path.read_bytes() != content]
        if names := [str(path.relative_to(ROOT)) for path in (*stale, *left_over)]:
            print(f"Not current: {', '.join(names)}. Run '{COMMAND}'.", file=sys.stderr)
        return bool(names)
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic.write(path, content)
    for path in left_over:
        path.unlink()
    pictures = sum(path.suffix == ".svg" for path in files)
    print(f"{len(files) - pictures} pages and {pictures} pictures")
    return 0


def written() -> list[Path]:
    """The files of the pages and their pictures that are there."""
    return sorted([PAGE, *PAGE.with_suffix("").glob("*.md"), *(PAGE.parent / "pictures").glob("*.svg")])


def made(conf: Path = ROOT / "conf", index: Path = PAGE) -> dict[Path, bytes]:
    """The pages and their pictures, by path; links are relative to their page."""
    # The pages show sources of our own; docs/contenders.md tells of functions of libraries.
    kernels = {name: kernel for name, kernel in shipped.kernels(conf).items() if kernel.form is Form.KERNEL}
    studio = Studio({})
    studio.kernels = kernels
    files: dict[Path, bytes] = {}
    shown: dict[str, str] = {}  # the kernel that shows a picture first
    used = experiments(conf)
    listed = []
    pages = Pages(index, kernels)
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - Markdown
        loader=jinja2.FileSystemLoader(TEMPLATES),
    )
    for family, own in families(kernels).items():
        page = pages.path(family)
        sections = []
        for kernel in own:
            section = _section(kernel, pages)
            if picture := studio.picture(kernel):
                path = index.parent / "pictures" / f"{picture.stem}.svg"
                files[path] = picture.svg
                owner = shown.setdefault(picture.stem, kernel.name)
                image = f"![{picture.alt}]({_relative(path, page)})"
                there = f"See the picture of {pages.link(owner, page)}."
                section["picture"] = image if owner == kernel.name else there
            if kernel.hazard:
                section["refusal"] = _code(studio.refusal(kernel))
            section["experiments"] = ", ".join(f"`{name}`" for name, (_, swept) in used.items() if kernel.name in swept)
            sections.append(section)
        title = family.replace("_", " ").capitalize()
        shown_family = {"name": family, "title": title, "text": FAMILIES.get(family, ""), "kernels": sections}
        files[page] = _rendered(environment, "family.md.j2", family=shown_family)
        listed.append({**shown_family, "page": _relative(page, index)})
    studio.close()
    summaries = [(name, summary) for name, (summary, _) in used.items()]
    caches = ", ".join(f"`{name}`" for name in CACHES)
    text = _rendered(environment, "index.md.j2", families=listed, experiments=summaries, caches=caches)
    return {index: text, **files}


def _rendered(environment: jinja2.Environment, template: str, **values: Any) -> bytes:
    text = environment.get_template(template).render(**values)
    return (re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n").encode()


@dataclass(frozen=True)
class Pages:
    """Where each family's page is, and each kernel on it."""

    index: Path
    kernels: Mapping[str, Kernel]

    def path(self, family: str) -> Path:
        """The page of a family, in the folder of the index's name."""
        return self.index.with_suffix("") / f"{family}.md"

    def link(self, kernel: str, page: Path) -> str:
        """A link from a page to a kernel."""
        target = self.path(self.kernels[kernel].family)
        return f"[{kernel}]({'' if target == page else target.name}#{kernel.lower()})"


def experiments(conf: Path) -> dict[str, tuple[str, list[str]]]:
    """Each experiment's summary (the first paragraph of its YAML) and its kernels, except aliases."""
    found = {}
    for path in sorted((conf / "experiment").glob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        content = yaml.safe_load(text)
        if set(content) == {"defaults"}:  # another name of an experiment
            continue
        swept = content.get("hydra", {}).get("sweeper", {}).get("params", {}).get("kernel", "")
        kernels = [name.strip() for name in str(swept).split(",") if name.strip()]
        kernels = kernels or [d["override /kernel"] for d in content.get("defaults", []) if "override /kernel" in d]
        first = text.removeprefix("# @package _global_\n").partition("\n#\n")[0]  # the first paragraph of the comment
        words = " ".join(line.removeprefix("#").strip() for line in first.splitlines() if line.startswith("#"))
        found[path.stem] = (prose(words if words.endswith("..") else words.removesuffix(".")), kernels)
    return found


def families(kernels: Mapping[str, Kernel]) -> dict[str, list[Kernel]]:
    """The kernels by family, in the page's order: each after the kernel that it is new against."""
    names = [*FAMILIES, *sorted({k.family for k in kernels.values()} - set(FAMILIES))]
    return {name: own for name in names if (own := _grown([k for k in kernels.values() if k.family == name]))}


def _grown(own: Sequence[Kernel]) -> list[Kernel]:
    known = {k.name: k for k in own}
    previous = {name: header.read(k.source).previous for name, k in known.items()}
    order: list[str] = []

    def visit(name: str) -> None:
        if name not in order:
            order.append(name)
            for child in sorted(n for n in known if previous[n] == name):
                visit(child)

    for name in [*sorted(n for n in known if previous[n] not in known or previous[n] == n), *sorted(known)]:
        visit(name)
    return [known[name] for name in order]


def _section(kernel: Kernel, pages: Pages) -> dict[str, Any]:
    """The template's values for a kernel, in Markdown."""
    head, page = header.read(kernel.source), pages.path(kernel.family)
    hazard = kernel.hazard and f"{_code(kernel.hazard.when.text)}: {prose(kernel.hazard.reason, kernel)}"
    return {
        "name": kernel.name,
        "summary": prose(kernel.summary, kernel),
        "formula": head.formula,
        "previous": pages.link(head.previous, page) if head.previous in pages.kernels else head.previous,
        "new": prose(head.new, kernel),
        "picture": "",
        "parameters": ", ".join(_parameter(kernel, head.macros)),
        "constraints": prose(head.constraints, kernel),
        "costs": _costs(kernel),
        "gpu_only": kernel.gpu_only and prose(kernel.gpu_only, kernel),
        "origin": prose(kernel.origin, kernel),
        "source": _relative(kernel.source, page),
        "yaml": _relative(kernel.yaml, page),
        "hazard": hazard,
        "refusal": "",
        "experiments": "",
    }


def _parameter(kernel: Kernel, meanings: Mapping[str, str]) -> list[str]:
    """Each parameter except those of every kernel: default, other allowed values, the meaning of its macro."""
    macros = {e.text: meanings[name] for name, e in kernel.macros if name in meanings}
    found = []
    for p in kernel.parameters:
        if p.name in NEUTRAL:
            continue
        others = [_code(value_text(p.kind, value)) for value in p.allowed if value != p.default]
        meaning = macros.get(p.name, "")
        if meaning == " or ".join(value_text(p.kind, value) for value in p.allowed):
            meaning = ""  # it only lists the values
        notes = [f"or {', '.join(others)}" if others else "", meaning]
        words = "; ".join(filter(None, notes))
        found.append(_code(f"{p.name}={value_text(p.kind, p.default)}") + (f" ({words})" if words else ""))
    return found


def _costs(kernel: Kernel) -> str:
    """What a request costs on average, where the family is about that."""
    found = []
    for name, cost in lines.averages(memory.lines_of(kernel)).items() if memory.is_drawn(kernel) else ():
        if cost is not None:
            where, kind, unit = name.split("_")
            number = count(int(cost), unit[:-1]) if cost == int(cost) else f"{cost:.1f} {unit}"
            found.append(f"{where} {kind} {number}")
    return ", ".join(found)


def prose(text: str, kernel: Kernel | None = None) -> str:
    """Text of a header or a YAML in Markdown: names and expressions as code, other markup escaped."""
    names = [re.escape(name) for name, _ in kernel.macros] if kernel else []
    macros = "|".join(sorted(names, key=len, reverse=True)) or "(?!)"
    code = rf"`[^`]+`|__\w+|\b\w+(?:\[[^\]]*\])+|\b(?:{macros})\b(?:\(\))?|\b[a-z]\w*_\w+\b|\b\w+\^\w+"
    parts = re.split(f"({code})", text)
    return "".join(
        _code(part.strip("`")) if number % 2 else re.sub(r"([\\*_<>\[\]])", r"\\\1", part)
        for number, part in enumerate(parts)
    )


def _code(text: str) -> str:
    return f"`{' '.join(text.split())}`" if text else ""


def _relative(target: Path, page: Path) -> str:
    return Path(os.path.relpath(target, page.parent)).as_posix()


if __name__ == "__main__":
    raise SystemExit(main())
