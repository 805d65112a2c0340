"""What the header of a kernel's `.cu` says. CONTRIBUTING.md gives the order of its parts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_LABEL = re.compile(r"(New(?: against (\w+))?|Macros|Constraints|From): (.*)")
_MACRO = re.compile(r"([A-Z][A-Z0-9_]{3,})(?: and ([A-Z][A-Z0-9_]{3,}))? (.+)")


@dataclass(frozen=True)
class Header:
    """A header.

    Attributes:
        formula: What the kernel computes, in the lines of the source.
        previous: The kernel that it is new against; empty if there is none.
        new: What is new.
        macros: What each macro means.
        constraints: What must hold, in words.
    """

    formula: str
    previous: str
    new: str
    macros: dict[str, str]
    constraints: str


def read(source: Path) -> Header:
    """The header of a source: the comment that it begins with.

    Raises:
        ValueError: if the header lacks its first paragraph or the paragraph `New`.
    """
    lines = []
    for line in source.read_text(encoding="utf-8").splitlines():
        if not line.startswith("//"):
            break
        lines.append(line[2:].strip())
    if "" not in lines or not lines[0].startswith(f"{source.stem}: "):
        raise ValueError(f"{source.name}: the header has no first paragraph that begins with '{source.stem}: '")
    end = lines.index("")
    parts: dict[str, str] = {}
    previous = label = ""
    for line in lines[end + 1 :]:
        if matched := _LABEL.match(line):
            label, previous = matched[1].split()[0], matched[2] or previous
            parts[label] = matched[3]
        elif label:
            parts[label] += f" {line}"
    if "New" not in parts:
        raise ValueError(f"{source.name}: the header has no paragraph 'New' or 'New against ...'")
    macros = {}
    for part in parts.get("Macros", "").rstrip(".").split(", "):
        if matched := _MACRO.fullmatch(part):
            macros.update({name: matched[3] for name in matched.groups()[:2] if name})
    formula = "\n".join([lines[0].partition(": ")[2], *lines[1:end]])
    return Header(formula, previous, _sentence(parts["New"]), macros, _sentence(parts.get("Constraints", "")))


def _sentence(text: str) -> str:
    return text and text[0].upper() + text[1:] + ("" if text.endswith((".", ")")) else ".")
