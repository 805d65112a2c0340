"""Nsight Compute's counters of a run's cases: accesses, instructions, L1 hits, and what the warps waited for.

    python tools/counters.py OUT.csv --run outputs/X  # each kernel's fastest case at each size of that run

Needs a GPU, PyCUDA, nvcc and ncu. One process launches each case once, in order, under one ncu. Exit status: 0, or 2
if nothing could be counted.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ncu
import pandas as pd
import shipped

from runner.errors import RunnerError
from runner.kernel.case import Case
from runner.kernel.lanes import WARP
from runner.kernel.resolve import make


def of_run(folder: Path) -> list[Case]:
    """Each kernel's fastest case of a run at each size and dtype.

    Raises:
        RunnerError: if there is none, or a kernel's YAML has changed so that the case has another id today.
    """
    with (folder / "results.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["status"] == "ok" and row["median_us"]]
    best: dict[tuple[str, ...], dict[str, str]] = {}
    for row in sorted(rows, key=lambda row: float(row["median_us"])):
        best.setdefault(tuple(row.get(name, "") for name in ("kernel", "size", "rows", "cols", "dtype")), row)
    if not best:
        raise RunnerError(f"{folder}: no case of it has a time")
    found = []
    for row in best.values():
        kernel = shipped.kernel(row["kernel"])
        given = {p.name: row[p.name] for p in kernel.parameters if row.get(p.name)}
        if row.get("rows"):
            given["size"] = f"{row['rows']}x{row['cols']}"
        case = make(kernel, given, int(row["seed"]))
        if case.id != row["case"]:
            raise RunnerError(f"{case.label} is another case today ({case.id}) than in the run ({row['case']})")
        found.append(case)
    return found


def row(case: Case, launch: ncu.Launched) -> dict[str, Any]:
    """A case's row: its accesses, then what `further` counts."""
    found: dict[str, Any] = {"kernel": case.kernel.name}
    found["parameters"] = " ".join(f"{n}={v}" for n, v in case.chosen.items())
    return found | {f"{column}_measured": ncu.ratio(launch, *metrics) for column, metrics in ncu.REQUESTS.items()}


def further(case: Case, launch: ncu.Launched) -> dict[str, Any]:
    """Instructions per element, L1 hits, and what the warps waited for, in percent."""
    hits = ncu.ratio(launch, ncu.HIT, ncu.REQUESTS["global_load_sectors"][0])
    instructions = ncu.number(launch, ncu.INSTRUCTIONS) * WARP / int(case.variables["size"])
    found = {"instructions_per_element": instructions, "l1_hit_percent": None if hits is None else 100 * hits}
    whole = ncu.number(launch, ncu.LATENCY)
    for what, reasons in ncu.WAITS.items():
        waited = sum(ncu.number(launch, ncu.STALLED.format(reason)) for reason in reasons)
        found[f"waits_{what.replace(' ', '_')}_percent"] = 100 * waited / whole
    return {name: None if value is None else f"{value:.4g}" for name, value in found.items()}


def page(rows: Sequence[Mapping[str, Any]]) -> str:
    """A run's rows as text: accesses as load/store, and what a warp waits for at least 5 % of its time."""

    def both(r: Mapping[str, Any], column: str) -> str:
        values = (r[f"{column.format(kind)}_measured"] for kind in ("load", "store"))
        return "/".join("-" if value is None else f"{value:.3g}" for value in values)

    lines = [("kernel", "instructions", "sectors", "wavefronts", "L1 hits %", "waits, %", "parameters")]
    for r in rows:
        waits = {n.removeprefix("waits_").removesuffix("_percent"): float(v) for n, v in r.items() if "waits_" in n}
        stalls = ", ".join(f"{what.replace('_', ' ')} {share:.0f}" for what, share in waits.items() if share >= 5)
        accesses = both(r, "global_{}_sectors"), both(r, "shared_{}_wavefronts")
        hits = r["l1_hit_percent"] or ""
        lines.append((r["kernel"], r["instructions_per_element"], *accesses, hits, stalls, r["parameters"]))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def write(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the table."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows).to_csv(path, index=False, lineterminator="\n")


def main() -> int:
    """Compile, count, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="the table to write")
    parser.add_argument("--run", type=Path, required=True, help="a run folder whose fastest cases are counted")
    parser.add_argument("--launch", action="store_true", help=argparse.SUPPRESS)  # what runs under ncu
    given = parser.parse_args()
    try:
        chosen = of_run(given.run)
        if given.launch:
            ncu.launch(chosen)
            return 0
        ncu.prepare(chosen)
        launches = ncu.count([sys.executable, *sys.argv, "--launch"], chosen, ncu.ALL)
        rows = [row(*pair) | further(*pair) for pair in zip(chosen, launches, strict=True)]
        write(given.out, rows)
    except (RunnerError, OSError) as e:
        print(f"Nothing could be counted: {e}", file=sys.stderr)
        return 2
    print(page(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
