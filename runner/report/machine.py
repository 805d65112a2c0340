"""The machine code of the best cases, for the page: instructions below the source lines they were compiled from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from runner.display.text import absent, count, described
from runner.record.ranking import Ranking
from runner.record.run import Run
from runner.stages.code import machine_code

MOST = 8  # binaries in the page
MOST_LINES = 500  # per binary
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


def codes(run: Run, best: Sequence[Ranking], sources: Mapping[str, Mapping[str, str]]) -> CodeListings:
    """List the code of the fastest cases, largest sizes first, then of the cases that are tied with them.

    Args:
        run: The run.
        best: The ranking of each size, ascending.
        sources: The texts of each kernel's files by name.
    """
    folder, names = run.folder, run.varying
    fastest = [one.fastest for one in reversed(best)]
    cases: dict[str, list[Row]] = {}
    for row in [*fastest, *(row for one in reversed(best) for row in one.tied)]:
        cases.setdefault(str(row.get("binary") or ""), []).append(row)
    found = [(rows, text) for name, rows in cases.items() if (text := machine_code.read(folder, name))]
    if not found:
        return CodeListings()
    kept = {str(name) for name in run.frame["binary"].unique() if name and folder.has(folder.machine_code(str(name)))}
    shown = [
        CodeListing(
            described(rows[0], names) + (f", and {count(len(rows) - 1, 'other case')}" if len(rows) > 1 else ""),
            _facts(rows[0], text),
            _listing(text, sources.get(str(rows[0]["kernel"]), {})),
            _first_lines(machine_code.read(folder, str(rows[0]["binary"]), ptx=True).splitlines()),
        )
        for rows, text in found[:MOST]
    ]
    return CodeListings(shown, len(kept) - len(shown))


def _facts(row: Row, text: str) -> str:
    parts = [count(machine_code.count(text), "instruction")]
    parts += [f"{int(row[name])} {unit}" for name, unit in UNITS.items() if not absent(row.get(name))]
    spills = machine_code.spills(text)
    words = f"{spills or 'no'} instruction{'s' * (spills != 1)} that load{'s' * (spills == 1)} or store local memory"
    return ", ".join([*parts, words])


def _first_lines(lines: Sequence[str]) -> str:
    left = len(lines) - MOST_LINES
    return "\n".join(
        [*lines[:MOST_LINES], *([f"... {left} further lines: see machine/ in the folder"] if left > 0 else [])]
    )


def _listing(text: str, sources: Mapping[str, str]) -> list[tuple[str, str]]:
    """Merge source lines and instructions: each entry has one of them, and the other is empty."""
    known = {PurePosixPath(name).name: content.splitlines() for name, content in sources.items()}
    given = text.splitlines()
    alone = len({line.rpartition(":")[0] for line in given if line[:3] == " @ "}) == 1
    lines = []
    for line in given[:MOST_LINES]:
        place, _, number = line[3:].rpartition(":")
        if line[:3] != " @ " or not number.isdecimal():
            lines.append(("", f"   {line}" if line[:1] == " " else line))
            continue
        of, at = known.get(place, []), int(number) - 1
        words = of[at].strip()[:120] if at < len(of) else ""
        lines.append((f"{number if alone else line[3:]}: {words}".rstrip(), ""))
    left = len(given) - len(lines)
    return [*lines, *([("", f"... {left} further lines: see machine/ in the folder")] if left > 0 else [])]
