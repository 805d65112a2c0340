"""How the machine code of cases differs from the baseline's, if both folders have it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runner.compare.changes import Change, Comparison, Word
from runner.display.text import count, described
from runner.stages.code import machine_code
from runner.stages.code.machine_code import Difference

MOST_PAIRS = 24  # pairs of binaries that are compared
MOST_LINES = 300  # lines of a diff in the page


@dataclass(frozen=True)
class ChangedCode:
    """Two binaries of the same cases."""

    cases: Sequence[Change]
    name: str  # of the first case
    difference: Difference

    @property
    def sentence(self) -> str:
        """The number of removed and added instructions, in words."""
        more = f" and {count(len(self.cases) - 1, 'other case')}" if len(self.cases) > 1 else ""
        d = self.difference
        if not d.removed + d.added:
            return f"{self.name}{more}: the same instructions"
        return f"{self.name}{more}: {count(d.removed, 'instruction')} removed, {d.added:,} added"

    @property
    def diff(self) -> str:
        """The diff, up to `MOST_LINES`."""
        lines = self.difference.diff.splitlines()
        left = [f"... {len(lines) - MOST_LINES} further lines"] if len(lines) > MOST_LINES else []
        return "\n".join([*lines[:MOST_LINES], *left])


def changed_code(comparison: Comparison) -> list[ChangedCode]:
    """Compare the binaries of common cases. Cases whose result or time changed come first."""
    pairs: dict[tuple[str, str], list[Change]] = {}
    for change in sorted(comparison.common, key=lambda change: list(Word).index(change.word)):
        names = str(change.pair.base.get("binary") or ""), str(change.pair.other.get("binary") or "")
        if all(names) and names[0] != names[1]:
            pairs.setdefault(names, []).append(change)
    found = []
    for (before, after), cases in list(pairs.items())[:MOST_PAIRS]:
        was, now = machine_code.read(comparison.base.folder, before), machine_code.read(comparison.other.folder, after)
        if was and now:
            name = described(cases[0].row, comparison.varying)
            found.append(ChangedCode(cases, name, machine_code.difference(was, now)))
    return found
