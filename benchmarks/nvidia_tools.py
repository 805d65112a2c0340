"""Reads what Nsight Compute prints about kernels: counters by line and access."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path

# The first word of an instruction behind its predicate: memory and kind of access, as lines.csv calls them.
OPCODES = {
    "LDG": ("global", "load"),
    "LD": ("global", "load"),
    "STG": ("global", "store"),
    "ST": ("global", "store"),
    "RED": ("global", "atomic"),
    "REDG": ("global", "atomic"),
    "ATOM": ("global", "atomic"),
    "ATOMG": ("global", "atomic"),
    "LDS": ("shared", "load"),
    "STS": ("shared", "store"),
    "ATOMS": ("shared", "atomic"),
}
SECTORS = ("L2 Theoretical Sectors Global", "memory_l2_theoretical_sectors_global")
IDEAL_SECTORS = ("L2 Theoretical Sectors Global Ideal", "memory_l2_theoretical_sectors_global_ideal")
WAVEFRONTS = ("L1 Wavefronts Shared", "memory_l1_wavefronts_shared")
IDEAL_WAVEFRONTS = ("L1 Wavefronts Shared Ideal", "memory_l1_wavefronts_shared_ideal")
REQUESTS = ("Instructions Executed", "inst_executed")
LANES = ("Predicated-On Thread Instructions Executed", "thread_inst_executed_true", "Thread Instructions Executed")

Key = tuple[str, str, int, str, str]
"""Kernel, file, line, memory (`global` or `shared`), kind (`load`, `store` or `atomic`)."""


@dataclass
class Counted:
    """What Nsight Compute counted of one kind of access on one line, in all launches of the kernel."""

    requests: float = 0.0
    lanes: float = 0.0
    units: float = 0.0  # sectors, or wavefronts in shared memory
    ideal: float = 0.0
    instructions: int = 0


def source_counters(text: str) -> dict[Key, Counted]:
    """The counters of `--page source --csv --print-source cuda,sass`.

    Each file of a launch has a heading (`File Path`, `Function Name`) and a table. In it, a source line (`Line No`) has
    the sums of the instructions that follow it; only the instructions (`Address`) are counted here.

    Raises:
        ValueError: if there is no such table, or a column is missing from it.
    """
    found: dict[Key, Counted] = {}
    kernel, file, line = "", "", 0
    header: list[str] = []
    for row in csv.reader(io.StringIO(text)):
        if len(row) > 1 and row[0] in ("Function Name", "Kernel Name"):
            kernel, header = _plain(row[1]), []
        elif len(row) > 1 and row[0] in ("File Path", "File Name"):
            file, header = Path(row[1]).name, []
        elif row and row[0] in ("Line No", "Line"):
            header = row
        elif header and len(row) >= len(header):
            line = int(row[0]) if row[0].strip().isdigit() else line
            address = header.index("Address")
            if row[address].strip() in ("", "-", "..."):
                continue
            access = _access(row[address + 1])
            if access and line:
                _count(found.setdefault((kernel, file, line, *access), Counted()), header, row, access[0])
    if not found:
        raise ValueError("no table of source lines with instructions")
    return found


DISASSEMBLED = re.compile(r"/\*[0-9a-f]{4,}\*/\s+([^;]+?)\s*;")
LINE_INFO = re.compile(r'//## File "([^"]+)", line (\d+)')


def instruction_lines(text: str) -> dict[str, list[tuple[str, int, str]]]:
    """File, line and text of each instruction of each function, from `nvdisasm -g -c`."""
    found: dict[str, list[tuple[str, int, str]]] = {}
    function, file, line, is_first = "", "", 0, True
    for row in text.splitlines():
        if section := re.match(r"\s*\.text\.([^\s:]+):", row):
            function, file, line = section[1], "", 0
        elif info := LINE_INFO.search(row):
            if is_first:  # where a function is inlined, the callers' lines follow
                file, line = Path(info[1]).name, int(info[2])
            is_first = False
        elif instruction := DISASSEMBLED.search(row):
            found.setdefault(function, []).append((file, line, instruction[1]))
            is_first = True
    return found


def sass_counters(text: str, disassembled: dict[str, list[tuple[str, int, str]]]) -> dict[Key, Counted]:
    """The same counters from `--print-source sass`, whose instructions have no lines; `nvdisasm` tells these.

    Raises:
        ValueError: if the instructions of a kernel are not those of its cubin, or there are none.
    """
    found: dict[Key, Counted] = {}
    kernel, at = "", 0
    header: list[str] = []
    for row in csv.reader(io.StringIO(text)):
        if len(row) > 1 and row[0] in ("Function Name", "Kernel Name"):
            kernel, header, at = _plain(row[1]), [], 0
        elif row and "Address" in row and "Source" in row:
            header, at = row, 0
        elif header and len(row) >= len(header) and kernel in disassembled:
            instruction = row[header.index("Source")].strip()
            file, line, expected = disassembled[kernel][at] if at < len(disassembled[kernel]) else ("", 0, "")
            at += 1
            if expected and _opcode(instruction) != _opcode(expected):
                raise ValueError(f"instruction {at} of {kernel} is {instruction}, but {expected} in its cubin")
            access = _access(instruction)
            if access and line:
                _count(found.setdefault((kernel, file, line, *access), Counted()), header, row, access[0])
    if not found:
        raise ValueError("no table of instructions")
    return found


def _plain(function: str) -> str:
    """A function's name without its type, parameters, namespaces and template arguments."""
    name = re.sub(r"<.*>", "", function.partition("(")[0])
    return name.split()[-1].rpartition(":")[2] if name.split() else ""


def _access(instruction: str) -> tuple[str, str] | None:
    return OPCODES.get(_opcode(instruction))


def _opcode(instruction: str) -> str:
    words = [word for word in instruction.split() if not word.startswith("@")]
    return words[0].partition(".")[0] if words else ""


def _count(counted: Counted, header: list[str], row: list[str], memory: str) -> None:
    is_global = memory == "global"
    counted.requests += _number(header, row, REQUESTS)
    counted.lanes += _number(header, row, LANES)
    counted.units += _number(header, row, SECTORS if is_global else WAVEFRONTS)
    counted.ideal += _number(header, row, IDEAL_SECTORS if is_global else IDEAL_WAVEFRONTS)
    counted.instructions += 1


def _number(header: list[str], row: list[str], names: tuple[str, ...]) -> float:
    """The value of the first of these columns that is there; the last of equal names, which is the instructions'."""
    for name in names:
        if name in header:
            value = row[header.index(name)].replace(",", "").strip()
            try:
                return float(value)
            except ValueError:
                return 0.0  # "-", or n/a for this instruction
    raise ValueError(f"ncu's table has no column {' or '.join(names)}; it has {', '.join(header)}")
