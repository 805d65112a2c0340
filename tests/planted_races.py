"""The kernels of tests/kernels/races: what each is to show, and the YAMLs that launch them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from runner.kernel import from_yaml
from runner.kernel.case import Case
from runner.kernel.resolve import make

FOLDER = Path(__file__).parent / "kernels" / "races"
HEAD = re.compile(r"// (ok|bug|same) (\w+): (.+)")
KERNEL = re.compile(r"__global__ void (\w+)\(")
MARK = re.compile(r"// (RACE|OUTSIDE|UNWRITTEN|BARRIER|MISALIGNED|CONSTANT)([ ab]*)$")


@dataclass(frozen=True)
class PlantedRace:
    """One kernel."""

    name: str  # the function
    file: Path
    verdict: str  # `ok`, `bug`, or `same`: a race whose two sides store the same value
    setup: str  # how it is launched, a key of races.yaml
    words: str  # what it does, or what is wrong
    lines: dict[str, frozenset[int]]  # those of each mark, such as `RACE a`, `RACE b` or `OUTSIDE`


def of_file(path: Path) -> list[PlantedRace]:
    """A kernel follows each comment that begins with `ok`, `bug` or `same`."""
    found: list[PlantedRace] = []
    parts: list[tuple[re.Match[str], list[tuple[int, str]]]] = []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        if head := HEAD.fullmatch(line):
            parts.append((head, []))
        elif parts:
            parts[-1][1].append((number, line))
    for head, body in parts:
        marks: dict[str, set[int]] = {}
        for number, line in body:
            if mark := MARK.search(line):
                for side in mark[2].split() or [""]:
                    marks.setdefault(f"{mark[1]} {side}".strip(), set()).add(number)
        function = next(match[1] for _, line in body if (match := KERNEL.search(line)))
        lines = {name: frozenset(numbers) for name, numbers in marks.items()}
        found.append(PlantedRace(function, path, head[1], head[2], head[3], lines))
    return found


def planted(folder: Path = FOLDER) -> list[PlantedRace]:
    """All kernels of a folder."""
    return [kernel for path in sorted(folder.glob("*.cu")) for kernel in of_file(path)]


def declaration(kernel: PlantedRace, written: dict[str, Any]) -> dict[str, Any]:
    """The kernel's YAML, by the content of races.yaml."""
    setup = dict(written["setups"][kernel.setup])
    fill = setup.pop("fill", None)
    arguments = []
    for given in setup.pop("arguments", ["in", "out"]):
        argument = {"name": given, **written["arguments"][given]} if isinstance(given, str) else given
        arguments.append({**argument, "fill": fill} if fill and argument["name"] == "in" else argument)
    size = setup.pop("size", 128)
    return {
        "summary": kernel.words,
        "source": str(kernel.file),
        "parameters": {"block": setup.pop("block", 64), "size": size},
        "constraints": {f"size == {size}": "the kernel is written for this size"},
        "arguments": arguments,
        "grid": setup.pop("grid", "size // 64"),
        **({} if "launches" in setup else {"function": kernel.name}),
        **setup,
    }


def cases(kernels: list[PlantedRace]) -> dict[str, Case]:
    """Each kernel's case, by its name. All are of one folder."""
    path = kernels[0].file.parent / "races.yaml"
    written = yaml.safe_load(path.read_text())
    return {k.name: make(from_yaml.read(k.name, declaration(k, written), path), {}, 0) for k in kernels}
