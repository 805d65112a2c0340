"""The machine code of the best cases, for the page: instructions below the source lines they were compiled from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from runner.display.text import absent, count, limited_lines
from runner.record.folder import RunFolder
from runner.record.ranking import Ranking
from runner.record.run import Run
from runner.report.annotated import described_group
from runner.stages.code import machine_code

MAX_BINARIES = 8  # in the page
MAX_LINES = 500  # per binary
ELSEWHERE = ": see machine/ in the folder"
UNITS = {"registers": "registers a thread", "local_bytes": "bytes of local memory a thread"}

Row = dict[str, Any]


@dataclass(frozen=True)
class CodeListing:
    """The code of one binary."""

    title: str
    facts: str  # instructions, registers, spills
    lines: Sequence[tuple[str, str]]  # a source line or an instruction; the other is empty
    ptx: str


@dataclass(frozen=True)
class CodeListings:
    """The binaries in the page, and the number of others in the folder."""

    shown: Sequence[CodeListing] = ()
    others: int = 0


def codes(run: Run, rankings: Sequence[Ranking], sources: Mapping[str, Mapping[str, str]]) -> CodeListings:
    """List the code of the fastest cases, largest sizes first, then of the cases that are tied with them."""
    folder, descending = run.folder, rankings[::-1]
    by_binary: dict[str, list[Row]] = {}
    for row in [*(r.fastest for r in descending), *(row for r in descending for row in r.tied)]:
        by_binary.setdefault(str(row.get("binary") or ""), []).append(row)
    listed = [(rows, text) for name, rows in by_binary.items() if (text := machine_code.read(folder, name))]
    if not listed:
        return CodeListings()
    names = {str(name) for name in run.frame["binary"].unique() if name}
    shown = [
        CodeListing(
            described_group(rows, run.varying, "other case"),
            _facts(rows[0], text),
            _listing(text, sources.get(str(rows[0]["kernel"]), {})),
            "\n".join(limited_lines(_ptx(folder, rows[0]), MAX_LINES, ELSEWHERE)),
        )
        for rows, text in listed[:MAX_BINARIES]
    ]
    return CodeListings(shown, sum(folder.has(folder.machine_code(name)) for name in names) - len(shown))


def _facts(row: Row, text: str) -> str:
    parts = [count(machine_code.count(text), "instruction")]
    parts += [f"{int(row[name])} {unit}" for name, unit in UNITS.items() if not absent(row.get(name))]
    spills = machine_code.spills(text)
    words = f"{spills or 'no'} instruction{'s' * (spills != 1)} that load{'s' * (spills == 1)} or store local memory"
    return ", ".join([*parts, words])


def _ptx(folder: RunFolder, row: Row) -> list[str]:
    return machine_code.read(folder, str(row["binary"]), ptx=True).splitlines()


def _listing(text: str, sources: Mapping[str, str]) -> list[tuple[str, str]]:
    """Merge source lines and instructions: each entry has one of them, and the other is empty."""
    by_name = {PurePosixPath(name).name: content.splitlines() for name, content in sources.items()}
    lines = text.splitlines()
    single_file = len({line.rpartition(":")[0] for line in lines if line[:3] == " @ "}) == 1
    entries = []
    for line in limited_lines(lines, MAX_LINES, ELSEWHERE):
        file, _, number = line[3:].rpartition(":")
        if line[:3] != " @ " or not number.isdecimal():
            entries.append(("", f"   {line}" if line[:1] == " " else line))
            continue
        source, index = by_name.get(file, []), int(number) - 1
        words = source[index].strip()[:120] if index < len(source) else ""
        entries.append((f"{number if single_file else line[3:]}: {words}".rstrip(), ""))
    return entries
