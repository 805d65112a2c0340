"""How the machine code of cases differs from the baseline's, if both folders have it."""

from __future__ import annotations

from dataclasses import dataclass

from runner.compare.changes import Comparison, Word
from runner.compare.runs import Row
from runner.display.text import count, described, limited_lines
from runner.stages.code import machine_code

MAX_PAIRS = 24  # pairs of binaries that are compared
MAX_LINES = 300  # lines of a diff in the page


@dataclass(frozen=True)
class ChangedCode:
    """Two binaries of the same cases: the number of removed and added instructions in words, and the diff."""

    sentence: str
    diff: str


def changed_code(comparison: Comparison) -> list[ChangedCode]:
    """Compare the binaries of common cases. Cases whose result or time changed come first."""
    pairs: dict[tuple[str, str], list[Row]] = {}
    for change in sorted(comparison.common, key=lambda change: list(Word).index(change.word)):
        names = str(change.pair.base.get("binary") or ""), str(change.pair.other.get("binary") or "")
        if all(names) and names[0] != names[1]:
            pairs.setdefault(names, []).append(change.row)
    changed = []
    for (before, after), rows in list(pairs.items())[:MAX_PAIRS]:
        was = machine_code.disassembled(comparison.base.folder, before)
        now = machine_code.disassembled(comparison.other.folder, after)
        if was and now:
            difference = machine_code.difference(was, now)
            others = f" and {count(len(rows) - 1, 'other case')}" if len(rows) > 1 else ""
            numbers = f"{count(difference.removed, 'instruction')} removed, {difference.added:,} added"
            words = numbers if difference.removed + difference.added else "the same instructions"
            sentence = f"{described(rows[0], comparison.varying)}{others}: {words}"
            changed.append(ChangedCode(sentence, "\n".join(limited_lines(difference.diff.splitlines(), MAX_LINES))))
    return changed
