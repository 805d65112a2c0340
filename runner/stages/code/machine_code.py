"""Read, write and compare the machine code (SASS) of binaries in a run folder.

A sweep keeps its binaries as `machine/BINARY.cubin`; the cubin of a second source is `BINARY-1.cubin`. The file
`machine/BINARY.txt`, written on demand, lists the instructions of each function with their offsets. A line with `@`
names the source line of the instructions below it:

    reduceShfl:
     @ reduceShfl.cu:24
     0090 @!P0 LDG.E.CONSTANT R4, desc[UR6][R4.64]
    .L_x_1:

`machine/BINARY.ptx` has the PTX as the compiler wrote it.
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePosixPath

from runner.device.cuda.disassembly import disassemble
from runner.errors import UsageError
from runner.record.folder import RunFolder

MAX_INSTRUCTIONS = 4000  # per binary; the file says how many lines are left out
MAX_COMPARED = 3000  # lines per binary
MAX_BYTES = 1 << 20
MAX_CUBIN_BYTES = 16 << 20

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
    kept: list[str] = []
    place = ""  # of the next instructions, until it is written
    count = left_out = 0
    for line in disassembly.splitlines():
        entries = []
        if (match := _FUNCTION.match(line)) or (match := _LABEL.match(line)):
            entries = [f"{match[1]}:"]
        elif match := _FILE_AND_LINE.match(line):
            place = f" @ {PurePosixPath(match[1]).name}:{match[2]}"
        elif match := _INSTRUCTION.match(line):
            entries, place = [*([place] if place else []), f" {match[1]} {match[2]}"], ""
        for entry in entries:
            count += entry[0] == " " and entry[1] != "@"
            if count > MAX_INSTRUCTIONS:
                left_out += 1
            else:
                kept.append(entry)
    while kept and re.search(r" NOP$|^\.L_\w+:$", kept[-1]):
        kept.pop()
    return "\n".join([*kept, *([f"; {left_out} further lines are left out"] if left_out else []), ""])


def instructions(text: str) -> list[str]:
    """Return functions, labels and instructions, one string each, without offsets and source lines."""
    lines = [line for line in text.splitlines() if line and line[:2] != " @" and line[0] != ";"]
    return [line.split(" ", 2)[2] if line[0] == " " and line.count(" ") > 1 else line for line in lines]


def with_lines(text: str, lined: str) -> str:
    """Return `lined`, compiled with line numbers, if its instructions equal those of `text`, otherwise `text`."""
    return lined if instructions(lined) == instructions(text) else text


def count(text: str) -> int:
    """Count the instructions."""
    return sum(not line.endswith(":") for line in instructions(text))


def spills(text: str) -> int:
    """Count the instructions that load from or store to local memory."""
    return sum(bool(re.search(r"\b(LDL|STL)\b", line)) for line in instructions(text))


def difference(before: str, after: str) -> Difference:
    """Compare two binaries. Label names are ignored; register names are ignored if that gives a shorter diff."""
    sides = [instructions(text)[:MAX_COMPARED] for text in (before, after)]
    diffs = [_unified(sides, [_renamed(side, registers=renamed) for side in sides]) for renamed in (False, True)]
    shortest = min(diffs, key=lambda lines: sum(line[0] in "+-" for line in lines))
    removed, added = (sum(line[0] == sign and not line.endswith(":") for line in shortest) for sign in "-+")
    return Difference(removed, added, "\n".join(shortest))


def _unified(sides: Sequence[Sequence[str]], keys: Sequence[Sequence[str]]) -> list[str]:
    """Make a unified diff of two lists of lines, which are compared by their keys."""
    diff = []
    for group in difflib.SequenceMatcher(None, keys[0], keys[1], autojunk=False).get_grouped_opcodes(3):
        diff.append(f"@@ -{group[0][1] + 1} +{group[0][3] + 1} @@")
        for tag, begin, end, new_begin, new_end in group:
            if tag != "equal":
                diff += [f"-{line}" for line in sides[0][begin:end]]
            diff += [f"{' ' if tag == 'equal' else '+'}{line}" for line in sides[1][new_begin:new_end]]
    return diff


def _renamed(lines: Sequence[str], *, registers: bool) -> list[str]:
    """Number labels, and registers if wanted, in the order of their first use."""
    names: dict[str, str] = {}
    numbers: dict[str, Iterator[int]] = defaultdict(itertools.count)

    def name(match: re.Match[str]) -> str:
        kind = match[1] or ".L"
        if kind != ".L" and not registers:
            return match[0]
        if match[0] not in names:
            names[match[0]] = f"{kind}{next(numbers[kind])}"
        return names[match[0]]

    return [_NAMED.sub(name, line) for line in lines]


def disassembled(folder: RunFolder, binary: str) -> str:
    """The machine code of the binary of this name, disassembled now if the folder has only its cubin.

    Returns:
        The code in the form of `text_of`; empty if the folder has neither, or nvdisasm is not installed or fails.
    """
    if text := read(folder, binary):
        return text
    with suppress(OSError, UsageError):
        return text_of_cubins(cubins(folder, binary))
    return ""


def text_of_cubins(cubins: Sequence[bytes]) -> str:
    """Disassemble a binary, which has a cubin for each source. Raises OSError if nvdisasm fails."""
    return "".join(text_of(disassemble(one)) for one in cubins)


def cubins(folder: RunFolder, binary: str) -> list[bytes]:
    """Read a binary that the sweep kept, source by source. Raises OSError or UsageError if the folder lacks it."""
    if not _BINARY.fullmatch(binary):
        raise FileNotFoundError(binary)
    further = itertools.takewhile(folder.has, (folder.cubin(binary, part) for part in itertools.count(1)))
    return [folder.read(path, MAX_CUBIN_BYTES) for path in (folder.cubin(binary), *further)]


def keep_cubins(folder: RunFolder, binary: str, cubins: Sequence[bytes]) -> None:
    """Write the cubins of a binary, the first one last, as it stands for all; none if they are too large."""
    if sum(map(len, cubins)) <= MAX_CUBIN_BYTES:
        for part, content in reversed(list(enumerate(cubins))):
            folder.write(folder.cubin(binary, part), content)


def keep(folder: RunFolder, binary: str, text: str, ptx: str) -> None:
    """Write a binary's machine code, as `text_of` returns it, and its PTX cut off at `MAX_BYTES`."""
    folder.write(folder.machine_code(binary), text)
    folder.write(folder.ptx(binary), ptx.encode()[:MAX_BYTES].decode(errors="ignore"))


def read(folder: RunFolder, binary: str, *, ptx: bool = False) -> str:
    """Read the machine code or PTX of the binary of this name; empty if the folder does not have it."""
    if not _BINARY.fullmatch(binary):
        return ""
    with suppress(OSError, UsageError):
        return folder.read((folder.ptx if ptx else folder.machine_code)(binary), MAX_BYTES).decode(errors="replace")
    return ""
