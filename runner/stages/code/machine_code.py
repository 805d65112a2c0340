"""Read, write and compare the machine code (SASS) of binaries in a run folder.

`machine/BINARY.txt` lists the instructions of each function with their offsets. A line with `@` names the source line
that the instructions below it were compiled from:

    reduceShfl:
     @ reduceShfl.cu:24
     0090 @!P0 LDG.E.CONSTANT R4, desc[UR6][R4.64]
    .L_x_1:

`machine/BINARY.ptx` has the PTX as the compiler wrote it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePosixPath

from runner.errors import UsageError
from runner.record.folder import RunFolder

MOST_INSTRUCTIONS = 4000  # per binary; the file says how many lines are left out
MOST_COMPARED = 3000  # lines per binary
MOST_BYTES = 1 << 20

_FILE_AND_LINE = re.compile(r'\s*//## File "([^"]*)", line (\d+)')
_FUNCTION = re.compile(r"\.text\.([^\s:]+):")
_LABEL = re.compile(r"(\.L_\w+):")
_INSTRUCTION = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s*(\S.*?)\s*;?\s*$")
_NAMED = re.compile(r"\b(UR|UP|R|P|B)(\d+)\b|(\.L_\w+)")
_BINARY = re.compile(r"[0-9a-f]{12}")


@dataclass(frozen=True)
class Difference:
    """The difference between two binaries."""

    removed: int  # number of instructions
    added: int  # number of instructions
    diff: str  # unified diff, without offsets and source lines


def text_of(disassembly: str) -> str:
    """Convert nvdisasm's output to the file's form, without directives and trailing padding."""
    return "\n".join([*_short(_entries(disassembly.splitlines())), ""])


def _entries(lines: Iterable[str]) -> Iterator[str]:
    place = ""
    for line in lines:
        if (found := _FUNCTION.match(line)) or (found := _LABEL.match(line)):
            yield f"{found[1]}:"
        elif found := _FILE_AND_LINE.match(line):
            place = f" @ {PurePosixPath(found[1]).name}:{found[2]}"
        elif found := _INSTRUCTION.match(line):
            if place:
                yield place
                place = ""
            yield f" {found[1]} {found[2]}"


def _short(entries: Iterable[str]) -> list[str]:
    kept: list[str] = []
    count = left_out = 0
    for entry in entries:
        count += entry[0] == " " and entry[1] != "@"
        if count > MOST_INSTRUCTIONS:
            left_out += 1
        else:
            kept.append(entry)
    while kept and re.search(r" NOP$|^\.L_\w+:$", kept[-1]):
        kept.pop()
    return [*kept, *([f"; {left_out} further lines are left out"] if left_out else [])]


def instructions(text: str) -> list[str]:
    """Return functions, labels and instructions, one string each, without offsets and source lines."""
    lines = [line for line in text.splitlines() if line and line[:2] != " @" and line[0] != ";"]
    return [line.split(" ", 2)[2] if line[0] == " " and line.count(" ") > 1 else line for line in lines]


def with_lines(text: str, lined: str) -> str:
    """Return `lined` if its instructions equal those of `text`, otherwise `text`.

    Args:
        text: The code of the measured binary.
        lined: The code of a second compilation with line numbers.
    """
    return lined if instructions(lined) == instructions(text) else text


def count(text: str) -> int:
    """Count the instructions."""
    return sum(not line.endswith(":") for line in instructions(text))


def spills(text: str) -> int:
    """Count the instructions that load from or store to local memory."""
    return sum(bool(re.search(r"\b(LDL|STL)\b", line)) for line in instructions(text))


def difference(before: str, after: str) -> Difference:
    """Compare two binaries. Label names are ignored; register names are ignored if that gives a shorter diff."""
    sides = [instructions(text)[:MOST_COMPARED] for text in (before, after)]
    diffs = [_unified(sides, [_renamed(side, registers=renamed) for side in sides]) for renamed in (False, True)]
    best = min(diffs, key=lambda lines: sum(line[0] in "+-" for line in lines))
    gone, new = (sum(line[0] == sign and not line.endswith(":") for line in best) for sign in "-+")
    return Difference(gone, new, "\n".join(best))


def _unified(sides: Sequence[Sequence[str]], keys: Sequence[Sequence[str]]) -> list[str]:
    """Make a unified diff of two lists of lines, which are compared by their keys."""
    found = []
    for group in difflib.SequenceMatcher(None, keys[0], keys[1], autojunk=False).get_grouped_opcodes(3):
        found.append(f"@@ -{group[0][1] + 1} +{group[0][3] + 1} @@")
        for tag, begin, end, new_begin, new_end in group:
            if tag != "equal":
                found += [f"-{line}" for line in sides[0][begin:end]]
            found += [f"{' ' if tag == 'equal' else '+'}{line}" for line in sides[1][new_begin:new_end]]
    return found


def _renamed(lines: Sequence[str], *, registers: bool) -> list[str]:
    """Number labels, and registers if wanted, in the order of their first use."""
    known: dict[str, str] = {}
    numbers: dict[str, int] = {}

    def name(found: re.Match[str]) -> str:
        kind = found[1] or ".L"
        if kind != ".L" and not registers:
            return found[0]
        if found[0] not in known:
            numbers[kind] = numbers.get(kind, -1) + 1
            known[found[0]] = f"{kind}{numbers[kind]}"
        return known[found[0]]

    return [_NAMED.sub(name, line) for line in lines]


def keep(folder: RunFolder, binary: str, text: str, ptx: str) -> None:
    """Write a binary's machine code, and its PTX cut off at `MOST_BYTES`.

    Args:
        folder: The run folder.
        binary: The binary's name, as in the column `binary`.
        text: The machine code, as `text_of` returns it.
        ptx: The PTX; empty if unknown.
    """
    folder.write(folder.machine_code(binary), text)
    folder.write(folder.ptx(binary), ptx.encode()[:MOST_BYTES].decode(errors="ignore"))


def read(folder: RunFolder, binary: str, *, ptx: bool = False) -> str:
    """Read a binary's machine code or PTX; empty if the folder does not have it.

    Args:
        folder: The run folder.
        binary: The binary's name, as in the column `binary`.
        ptx: Read the PTX instead of the machine code.
    """
    if not _BINARY.fullmatch(binary):
        return ""
    with suppress(OSError, UsageError):
        return folder.read((folder.ptx if ptx else folder.machine_code)(binary), MOST_BYTES).decode(errors="replace")
    return ""
