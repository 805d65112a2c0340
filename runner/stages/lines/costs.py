"""Read and write lines.csv of a run folder: what each line costs. `columns.OF_LINES` defines its columns."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterable, Mapping, Sequence
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
    grid_requests: int | None = None  # of all blocks, an estimate; unknown in folders of earlier versions

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


REQUIRED = {f.name: f.default is MISSING for f in fields(LineCost)}
_REQUIRED = {name for name, required in REQUIRED.items() if required}
_TYPES: dict[str, type[str | int | float]] = {"text": str, "integer": int, "real": float}
TYPE_OF = {c.name: _TYPES[c.type] for c in columns.OF_LINES}


def key(cost: LineCost) -> tuple[str, int, str, str]:
    """Identify a cost within a case: file, line, memory, kind."""
    return cost.file, cost.line, cost.memory, cost.kind


def averages(costs: Sequence[LineCost]) -> dict[str, float | None]:
    """Average the sectors or wavefronts per request over all lines.

    Returns:
        A value by column of results.csv, such as `shared_load_wavefronts`; `None` if the case has no such access.
    """
    row: dict[str, float | None] = {}
    for memory, kind in itertools.product((SHARED, GLOBAL), (LOAD, STORE)):
        own = [cost for cost in costs if (cost.memory, cost.kind) == (memory, kind)]
        requests = sum(cost.requests for cost in own)
        total = sum(cost.actual * cost.requests for cost in own)
        row[f"{memory}_{kind}_{UNITS[memory]}"] = round(total / requests, DIGITS) if requests else None
    return row


def keep(folder: RunFolder, job: int, case: str, kernel: str, costs: Iterable[LineCost], reason: str = "") -> None:
    """Write N/lines.json: the costs of a job's case, or the reason why they could not be counted."""
    record = {"case": case, "kernel": kernel, "lines": [asdict(cost) for cost in costs]}
    folder.write_json(folder.line_costs(job), {**record, **({"reason": reason} if reason else {})})


def write(folder: RunFolder) -> None:
    """Write lines.csv from the jobs' records, if there are any. It has no rows if no case could be counted."""
    if records := _records(folder):
        folder.write(folder.lines, as_csv(records))


def _records(folder: RunFolder) -> list[dict[str, Any]]:
    """The valid records of the jobs. A job whose lines could not be counted has a reason and no lines."""
    records = (folder.json(folder.line_costs(job)) for job in folder.jobs())
    return [record for record in records if _is_record(record)]


def _is_record(record: Any) -> bool:
    """Whether a record has the form that `keep` writes; the folder may come from an untrusted source."""

    def fits(name: str, value: Any) -> bool:
        number = isinstance(value, int) and TYPE_OF[name] is float
        return number or isinstance(value, TYPE_OF[name]) or (value is None and not REQUIRED[name])

    return (
        isinstance(record, dict)
        and isinstance(record.get("case"), str)
        and isinstance(record.get("kernel"), str)
        and isinstance(record.get("lines"), list)
        and all(isinstance(line, dict) and _REQUIRED <= line.keys() <= REQUIRED.keys() for line in record["lines"])
        and all(fits(*item) for line in record["lines"] for item in line.items())
    )


def as_csv(jobs: Iterable[Mapping[str, Any]]) -> str:
    """Format jobs' records as CSV. A case that ran on several devices appears once."""
    target = io.StringIO()
    table = csv.DictWriter(target, list(TYPE_OF), lineterminator="\n")  # `None` becomes an empty cell
    table.writeheader()
    for case, job in {str(job["case"]): job for job in jobs}.items():
        table.writerows({"case": case, "kernel": job["kernel"], **line} for line in job["lines"])
    return target.getvalue()


def read(folder: RunFolder) -> dict[str, list[LineCost]]:
    """Read the costs from lines.csv, or from the jobs' records while the sweep has not written the table.

    Returns:
        Costs by case id.

    Raises:
        UsageError: lines.csv cannot be read.
    """
    if not folder.has(folder.lines):
        records = _records(folder) if folder.path.is_dir() else []
        return {
            str(record["case"]): [LineCost(**line) for line in record["lines"]]
            for record in records
            if not record.get("reason")
        }
    costs: dict[str, list[LineCost]] = {}
    try:
        head, *rows = limited.read_csv(folder.read(folder.lines))
        for row in rows:
            cells = dict(zip(head, row, strict=True))
            values: dict[str, Any] = {
                n: TYPE_OF[n](text)
                for n in REQUIRED
                if (text := cells.get(n, "") if n not in _REQUIRED else cells[n]) or n == "memory"
            }
            costs.setdefault(cells["case"], []).append(LineCost(**values))
    except (OSError, ValueError, KeyError, TypeError, csv.Error) as error:
        what = f"no column {error}" if isinstance(error, KeyError) else " ".join(str(error).split())
        raise UsageError(f"{folder.lines}: cannot be read as a table of lines ({what}); remove it") from None
    return costs
