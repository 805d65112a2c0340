"""The differences between the folders of runs: possible causes of a change, the likeliest first.

Names of folders and times of day are not causes. A measured property of a device counts only if it changed by more than
`MEASURED`.
"""

from __future__ import annotations

import difflib
import hashlib
import math
import shlex
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.compare.changes import Comparison
from runner.compare.runs import KINDS, SURROUNDINGS, Compared, kind_of, values
from runner.display.text import absent, count, listed, one_line
from runner.files import safe
from runner.record.runs import flat

_FOLDER_OPTIONS = ("--config-path", "-cp", "--config-dir", "-cd")
_FOLDERS = ("hydra.sweep.dir=", "hydra.run.dir=", *(f"{option}=" for option in _FOLDER_OPTIONS))
"""Words that name folders are not causes, because the folders' contents are compared."""

MEASURED = 0.02  # relative; a measured property of a device varies by less
CONDITIONS = {"sm_mhz": "clock while measuring, median (MHz)", "temperature_c": "temperature, median (°C)"}
CASE_COLUMNS = ("compiler", "launcher", "grid", "shared_dynamic", "registers", "local_bytes")

MAX_BYTES = 200_000  # of a source file with a diff
MAX_LINES = 400  # of a diff


@dataclass(frozen=True)
class Cause:
    """A difference between runs."""

    kind: str  # one of `runs.KINDS`
    name: str
    values: tuple[str, ...]  # in each run, the baseline first


@dataclass(frozen=True)
class Causes:
    """What differs between runs, and what is the same."""

    differing: list[Cause]  # the likeliest cause first
    same: list[tuple[str, str]]  # entries of environment.json

    def surroundings(self) -> list[str]:
        """List the kinds of differences that change times even if the kernel is the same."""
        return list(dict.fromkeys(cause.kind for cause in self.differing if cause.kind in SURROUNDINGS))


@dataclass(frozen=True)
class FileChange:
    """A source file that differs."""

    name: str  # path below sources/
    summary: str  # what changed, in a few words
    diff: str = ""  # unified; empty if only one run has the file, or if it is too large


def _without_folders(command: str) -> str:
    """A recorded command line without the words that name folders."""
    try:
        words = shlex.split(command)
    except ValueError:  # of a folder that somebody edited
        return command
    values = {number + 1 for number, word in enumerate(words) if word in _FOLDER_OPTIONS}
    options = {number - 1 for number in values}
    kept = [w for n, w in enumerate(words) if n not in values | options and not w.startswith(_FOLDERS)]
    return shlex.join(kept)


def causes(base: Compared, comparisons: Sequence[Comparison]) -> Causes:
    """Find the differences between the baseline and the runs that were compared with it."""
    runs = [base, *(comparison.other for comparison in comparisons)]
    environments = [
        {name: _without_folders(text) if name == "command" else text for name, text in flat(run.environment)}
        for run in runs
    ]
    names = dict.fromkeys(name for environment in environments for name in environment)
    entries = [
        (kind, name.removeprefix("devices."), tuple(environment.get(name, "") for environment in environments))
        for name in names
        if (kind := kind_of(name))
    ]
    known = [n for n, environment in enumerate(environments) if environment]
    differing = [
        Cause(kind, name, tuple(map(_readable, values)))
        for kind, name, values in entries
        if _differ(kind, [values[n] for n in known])
    ]
    if len(known) < len(runs):
        states = tuple("" if environment else "missing or corrupt" for environment in environments)
        differing.append(Cause("runner", "environment.json", states))
    differing += [*_source_causes(comparisons), *_parameter_causes(runs), *_case_causes(comparisons)]
    differing.sort(key=lambda cause: KINDS.index(cause.kind))
    return Causes(differing, [(name, values[0]) for _, name, values in entries if len(set(values)) == 1])


def changed_sources(base: Compared, other: Compared) -> list[FileChange]:
    """List the source files that differ, kernels first, and those that one run lacks although both ran the kernel."""
    before, after = _files(base), _files(other)
    if not before or not after:
        return []
    lone = {str(row["kernel"]) for row in base.rows} ^ {str(row["kernel"]) for row in other.rows}
    names = [name for name in dict.fromkeys((*before, *after)) if Path(name).stem not in lone]
    changes = (_file_change(n, _content(base, before.get(n)), _content(other, after.get(n))) for n in names)
    return [change for change in changes if change]


def _readable(value: str) -> str:
    """Shorten a measured number to four digits; other values stay unchanged."""
    return f"{float(value):.4g}" if "." in value and len(value) > 7 and _number(value) else value


def _differ(kind: str, values: Sequence[str]) -> bool:
    if kind == "clocks" and all(map(_number, values)):
        numbers = list(map(_number, values))
        return max(numbers) > (1 + MEASURED) * min(numbers)
    return len(set(values)) > 1


def _number(text: str) -> float:
    """Parse a positive number; 0 for other texts."""
    try:
        number = float(text)
    except ValueError:
        return 0.0
    return number if 0 < number < math.inf else 0.0


def _source_causes(comparisons: Sequence[Comparison]) -> Iterator[Cause]:
    changed = [{f.name: f.summary for f in changed_sources(c.base, c.other)} for c in comparisons]
    for name in dict.fromkeys(name for files in changed for name in files):
        yield Cause("kernel source", name, ("", *(files.get(name, "as the baseline") for files in changed)))
    lacking = [not _files(run) for run in (comparisons[0].base, *(c.other for c in comparisons))]
    if any(lacking) and not all(lacking):
        yield Cause("kernel source", "sources/", tuple("not in the folder" if lacks else "" for lacks in lacking))
    other_code = []
    for comparison in comparisons:
        pairs = [(str(change.pair.base["binary"]), str(change.pair.other["binary"])) for change in comparison.common]
        differing = [was != now for was, now in pairs if was and now]
        words = f"differs in {sum(differing):,} of {count(len(differing), 'case')}"
        other_code.append(words if any(differing) else "")
    if any(other_code):
        yield Cause("kernel source", "machine code", ("", *other_code))


def _parameter_causes(runs: Sequence[Compared]) -> Iterator[Cause]:
    """Yield the parameters whose sets of values differ between runs."""
    for name in runs[0].parameters:
        by_run = [values(run.rows, name) for run in runs]
        if len(set(map(frozenset, by_run))) > 1:
            words = (one_line(", ".join(value or "none" for value in own), 120) for own in by_run)
            yield Cause("parameters", name, tuple(words))


def _case_causes(comparisons: Sequence[Comparison]) -> Iterator[Cause]:
    """Yield differences in how common cases were compiled, launched and measured, from their rows."""
    for name in CASE_COLUMNS:
        kind = "method" if name == "launcher" else "toolkit" if name == "compiler" else "kernel source"
        changed = [_changed(comparison, name) for comparison in comparisons]
        if any(changed):
            yield Cause(kind, name, ("", *changed))
    tables = [
        [change.pair.base for change in comparisons[0].common],
        *([change.pair.other for change in comparison.common] for comparison in comparisons),
    ]
    for name, meaning in CONDITIONS.items():
        medians = [statistics.median([r[name] for r in rows if not absent(r[name])] or [0]) for rows in tables]
        if min(medians) and max(medians) > (1 + MEASURED) * min(medians):
            yield Cause("clocks", meaning, tuple(f"{median:,.0f}" for median in medians))
    throttled = [sum(row["throttled"] == "True" for row in rows) for rows in tables]
    if len(set(throttled)) > 1:
        yield Cause("clocks", "times of a throttled GPU", tuple(f"{n:,}" for n in throttled))


def _changed(comparison: Comparison, name: str) -> str:
    """Describe how a column changed in correct cases: `16 to 24 in 3 cases`; empty if it did not."""
    rows = [(c.pair.base, c.pair.other) for c in comparison.common]
    cells = [(a[name], b[name]) for a, b in rows if a["status"] == b["status"] == "ok" and a["device"] == b["device"]]
    differing = [(was, now) for was, now in cells if not absent(was) and not absent(now) and was != now]
    if not differing:
        return ""
    words = [f"{one_line(str(was), 20)} to {one_line(str(now), 20)}" for was, now in dict.fromkeys(differing)]
    examples = listed(words) if len(words) <= 3 else f"{', '.join(words[:2])} and others"
    return f"{examples} in {count(len(differing), 'case')}"


def _files(run: Compared) -> dict[str, Path]:
    root = run.folder.sources
    paths = [path for part in ("kernels", "conf/kernel") for path in run.folder.files(root / part)]
    return {path.relative_to(root).as_posix(): path for path in paths}


def _content(run: Compared, path: Path | None) -> bytes | None:
    """Read a file; of a large one, the beginning and a digest of the rest."""
    if path is None:
        return None
    with safe.stream(run.folder.path, path) as file:
        content, rest = file.read(MAX_BYTES + 1), hashlib.sha256()
        for block in iter(lambda: file.read(2**20), b""):
            rest.update(block)
        return content if len(content) <= MAX_BYTES else content + rest.digest()


def _file_change(name: str, before: bytes | None, after: bytes | None) -> FileChange | None:
    if before is None or after is None:
        return FileChange(name, "missing" if after is None else "new")
    if before == after:
        return None
    if max(len(before), len(after)) > MAX_BYTES:
        return FileChange(name, "changed")
    old, new = (content.decode("utf-8", errors="replace").splitlines() for content in (before, after))
    lines = list(difflib.unified_diff(old, new, f"baseline/{name}", f"run/{name}", lineterm=""))
    added, removed = (sum(line.startswith(sign) for line in lines[2:]) for sign in "+-")
    left_out = len(lines) - MAX_LINES
    shown = [*lines[:MAX_LINES], *([f"[{count(left_out, 'more line')}]"] if left_out > 0 else [])]
    return FileChange(name, f"{count(added, 'line')} added, {removed:,} removed", "\n".join(shown))
