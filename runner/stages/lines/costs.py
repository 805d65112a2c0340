"""Read and write lines.csv of a run folder: what each line costs. `columns.OF_LINES` defines its columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any

from runner import columns
from runner.errors import UsageError
from runner.files import limited
from runner.record.folder import RunFolder

DIGITS = 6

GLOBAL, SHARED = "global", "shared"
LOAD, STORE, BRANCH = "load", "store", "branch"  # kinds of `LineCost`; the fourth is `atomic`

UNITS = {GLOBAL: "sectors", SHARED: "wavefronts"}  # unit of a request's cost, by memory


@dataclass(frozen=True)
class LineCost:
    """Cost of one line's loads, stores, atomics or branches in one case; averages are per request (one warp)."""

    file: str
    line: int
    memory: str  # `global` or `shared`; empty for a branch
    kind: str  # `load`, `store`, `atomic` or `branch`
    blocks: int  # that were run
    requests: int
    lanes: float | None = None
    bytes: float | None = None
    sectors: float | None = None
    ideal_sectors: float | None = None
    wavefronts: float | None = None
    ideal_wavefronts: float | None = None
    divergent_branches: int | None = None

    @property
    def actual(self) -> float:
        """Sectors or wavefronts per request; for a branch, the fraction that diverged."""
        if self.kind == BRANCH:
            return (self.divergent_branches or 0) / max(1, self.requests)
        return (self.sectors if self.memory == GLOBAL else self.wavefronts) or 0.0

    @property
    def ideal(self) -> float:
        """The same for ideal addresses; 0 for a branch (no divergence)."""
        if self.kind == BRANCH:
            return 0.0
        return (self.ideal_sectors if self.memory == GLOBAL else self.ideal_wavefronts) or 0.0

    @property
    def excess(self) -> float:
        """Sectors or wavefronts of all requests beyond the ideal; for a branch, the number that diverged."""
        return self.requests * max(0.0, self.actual - self.ideal)

    @property
    def unit(self) -> str:
        """The unit of `actual`."""
        return UNITS.get(self.memory, "divergent branches")


Key = tuple[str, int, str, str]


def key(cost: LineCost) -> Key:
    """Identify a cost within a case: file, line, memory, kind."""
    return cost.file, cost.line, cost.memory, cost.kind


def column(memory: str, kind: str) -> str:
    """Name the column of results.csv for a kind of access, such as `shared_load_wavefronts`."""
    return f"{memory}_{kind}_{UNITS[memory]}"


REQUESTED = tuple((memory, kind) for memory in (SHARED, GLOBAL) for kind in (LOAD, STORE))


def averages(costs: Sequence[LineCost]) -> dict[str, float | None]:
    """Average the sectors or wavefronts per request over all lines.

    Returns:
        A value by column of results.csv; `None` if the case has no such access.
    """
    row: dict[str, float | None] = {}
    for memory, kind in REQUESTED:
        own = [cost for cost in costs if (cost.memory, cost.kind) == (memory, kind)]
        requests = sum(cost.requests for cost in own)
        total = sum(cost.actual * cost.requests for cost in own)
        row[column(memory, kind)] = round(total / requests, DIGITS) if requests else None
    return row


def keep(folder: RunFolder, job: int, case: str, kernel: str, costs: Iterable[LineCost], reason: str = "") -> None:
    """Write N/lines.json: the costs of a job's case, or the reason why they could not be counted."""
    why = {"reason": reason} if reason else {}
    known = {"case": case, "kernel": kernel, "lines": [asdict(cost) for cost in costs], **why}
    folder.write_json(folder.line_costs(job), known)


def write(folder: RunFolder) -> None:
    """Write lines.csv from the jobs' records, if there are any."""
    if found := _of_jobs(folder):
        folder.write(folder.lines, as_csv(found))


def _of_jobs(folder: RunFolder) -> list[dict[str, Any]]:
    """The valid records of the jobs whose lines were counted."""
    found = (folder.json(folder.line_costs(job)) for job in folder.jobs())
    return [one for one in found if _is_record(one) and not one.get("reason")]


def _is_record(one: Any) -> bool:
    """Whether a record has the form that `keep` writes; the folder may come from an untrusted source."""
    kinds: dict[str, Any] = {"text": str, "integer": int, "real": (int, float)}
    of = {c.name: kinds[c.type] for c in columns.OF_LINES}
    needed = {f.name for f in fields(LineCost) if f.default is MISSING}
    return (
        isinstance(one, dict)
        and isinstance(one.get("case"), str)
        and isinstance(one.get("kernel"), str)
        and isinstance(one.get("lines"), list)
        and all(
            isinstance(line, dict)
            and line.keys() == {f.name for f in fields(LineCost)}
            and all(isinstance(v, of[n]) or (v is None and n not in needed) for n, v in line.items())
            for line in one["lines"]
        )
    )


def as_csv(jobs: Iterable[Mapping[str, Any]]) -> str:
    """Format jobs' records as CSV. A case that ran on several devices appears once."""
    target = io.StringIO()
    lines = csv.writer(target, lineterminator="\n")
    lines.writerow([c.name for c in columns.OF_LINES])
    for case, job in {str(job["case"]): job for job in jobs}.items():
        for line in job["lines"]:
            row = {"case": case, "kernel": job["kernel"], **line}
            lines.writerow(["" if row[c.name] is None else row[c.name] for c in columns.OF_LINES])
    return target.getvalue()


def read(folder: RunFolder) -> dict[str, list[LineCost]]:
    """Read the costs from lines.csv, or from the jobs' records while the sweep has not written the table.

    Returns:
        Costs by case id.

    Raises:
        UsageError: lines.csv cannot be read.
    """
    if not folder.has(folder.lines):
        jobs = _of_jobs(folder) if folder.path.is_dir() else []
        return {str(job["case"]): [LineCost(**line) for line in job["lines"]] for job in jobs}
    found: dict[str, list[LineCost]] = {}
    try:
        head, *rows = limited.read_csv(folder.read(folder.lines))
        for case, cost in _parsed(dict(zip(head, row, strict=True)) for row in rows):
            found.setdefault(case, []).append(cost)
    except (OSError, ValueError, KeyError, TypeError, csv.Error) as error:
        what = f"no column {error}" if isinstance(error, KeyError) else " ".join(str(error).split())
        raise UsageError(f"{folder.lines}: cannot be read as a table of lines ({what}); remove it") from None
    return found


def _parsed(rows: Iterable[Mapping[str, str]]) -> Iterator[tuple[str, LineCost]]:
    kinds: dict[str, Callable[[str], Any]] = {"text": str, "integer": int, "real": float}
    read = {c.name: kinds[c.type] for c in columns.OF_LINES}
    for row in rows:
        values: dict[str, Any] = {f.name: row[f.name] for f in fields(LineCost)}
        known = {name: read[name](text) for name, text in values.items() if text or name == "memory"}
        yield row["case"], LineCost(**known)
