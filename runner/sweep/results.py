"""Rows: one flat dictionary per case, and the table that is rebuilt from them.

`runner.columns` says what each column means.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from runner import atomic, columns
from runner.config import Job
from runner.device import Binary, DeviceInfo, kinds
from runner.errors import UsageError
from runner.folder import RunFolder, read_json
from runner.kernel import access
from runner.kernel.case import Case
from runner.kernel.declaration import VOCABULARY, Kind, pair, written
from runner.sweep.outcome import Outcome
from runner.sweep.times import occupancy

Row = dict[str, Any]

FINE = frozenset(("ok", "skipped"))


def described(job: Job, device: str, launcher: str) -> Row:
    """The part of a row that is known before anything is run."""
    case, kernel = job.case, job.case.kernel
    return {
        "case": case.id,
        "kernel": kernel.name,
        **_parameters(case),
        "seed": case.seed,
        "grid": "x".join(str(n) for n in _trimmed(case.grid)) if not case.excluded else None,
        "shared_dynamic": None if case.excluded else case.shared,
        "finish": kernel.finish,
        "family": kernel.family,
        "baseline": kernel.baseline or None,
        "compiler": job.compiler if kinds.has_compilers(device) else None,
        "launcher": launcher,
        "job": job.number,
    }


def unfinished(job: Job, device: str, launcher: str, status: str, reason: str) -> Row:
    """A row for a case that was not run."""
    return {**described(job, device, launcher), "device": device, "status": status, "reason": reason}


def finished(job: Job, info: DeviceInfo, launcher: str, outcome: Outcome, binary: Binary) -> Row:
    """A row for a case that was run on a device, without the times of `runner.sweep.times`."""
    case, resources = job.case, outcome.resources
    return {
        **described(job, info.kind, launcher),
        "device": info.kind,
        "status": outcome.status,
        "reason": outcome.reason or None,
        **_accesses(case, outcome.note),
        "value": _exact(outcome.value),
        "reference": _exact(outcome.reference),
        "reference_us": outcome.reference_us,
        "mismatches": outcome.mismatches,
        "undefined_reads": outcome.undefined_reads,
        "shuffle": _shuffle(case),
        "received": " ".join("?" if i is None else str(i) for i in outcome.received) or None,
        "bytes_read": case.count("bytes_read"),
        "bytes_written": case.count("bytes_written"),
        "operations": case.count("operations"),
        "registers": resources.registers if resources else None,
        "shared_bytes": resources.shared_bytes if resources else None,
        "local_bytes": resources.local_bytes if resources else None,
        **occupancy(case, info, outcome.active_blocks),
        "compile_s": binary.seconds,
        "binary": binary.name,
    }


def _parameters(case: Case) -> Row:
    row: Row = {}
    for p in case.kernel.parameters:
        value = dict(case.parameters)[p.name]
        match p.kind:
            case Kind.BLOCK:
                row[p.name] = value
                row[f"{p.name}_x"], row[f"{p.name}_y"] = pair(value)
            case Kind.SIZE:
                row[p.name] = case.variables[p.name]
                if isinstance(value, str):
                    row["rows"], row["cols"] = pair(value)
            case Kind.MASK:
                row[p.name] = written(p.kind, value)
            case _:
                row[p.name] = value
    return row


def _shuffle(case: Case) -> str | None:
    declared = case.kernel.shuffle
    return f"{declared.operation} {declared.argument(case.variables)}" if declared else None


def _accesses(case: Case, note: str) -> Row:
    """The cost of a warp's accesses; a declaration that cannot be evaluated becomes a note, so the row is kept."""
    try:
        return {"note": note or None, **access.costs(case)}
    except UsageError as e:
        return {"note": f"{note}; {e}" if note else str(e)}


def _trimmed(grid: tuple[int, int, int]) -> tuple[int, ...]:
    """The grid without the ones at its end."""
    x, y, z = grid
    return (x, y, z) if z > 1 else (x, y) if y > 1 else (x,)


def _exact(value: int | float | None) -> str | None:
    """As text: a 64-bit integer is more than a float can hold."""
    return None if value is None else repr(value)


def names(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """The columns of a table of these rows, in order."""
    own = dict.fromkeys(name for row in rows for name in row if name not in columns.BY_NAME)
    order = {name: i for i, name in enumerate(VOCABULARY)}
    return columns.with_own(sorted(own, key=lambda name: (order.get(name, len(order)), name)))


def write(folder: RunFolder, rows: list[Row]) -> None:
    """Replace the table."""
    import pandas as pd  # noqa: PLC0415  (imported while the device is opened)

    table = pd.DataFrame(rows, columns=names(rows), dtype=object)
    for name in columns.of_type("integer"):
        table[name] = table[name].astype("Int64")
    atomic.write_text(folder.results, table.to_csv(index=False, lineterminator="\n"))


def collect(folder: RunFolder) -> list[Row]:
    """The rows of a folder, in the order of its jobs.

    A case that was planned but has no row is `not_run`.
    """
    rows: dict[tuple[str, ...], Row] = {}
    for number in folder.jobs():
        case = read_json(folder.case(number))
        if case is not None and "same_as" not in case:
            rows.setdefault(tuple(case["run"]), read_json(folder.result(number)) or case["row"])
    return list(rows.values())


def exit_status(rows: Iterable[Mapping[str, Any]]) -> int:
    """0 if all is ok or skipped, 1 if a case failed, 2 if every case is skipped."""
    statuses = {row["status"] for row in rows}
    if statuses <= {"skipped"}:
        return 2
    return 0 if statuses <= FINE else 1
