"""verdict.json: the verdict on a run, for programs. docs/trust.md has its schema."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from runner.display.text import absent
from runner.record.ranking import ranker, ratio, ratios
from runner.record.run import Run
from runner.report.findings import level

SCHEMA = 1
LEVELS = {"good": "right", "partial": "incomplete", "bad": "wrong", "none": "nothing ran"}
GUARDS = (
    "outputs_poisoned", "every_launch_checked", "variables_reset", "inputs_unchanged", "writes_outside_arrays",
    "launches_without_reset",
)  # fmt: skip
GPU_GUARDS = ("l2_flushed", "shared_memory_cleared", "local_memory_cleared", "plausible_time")
LAUNCH_GUARDS = {"input_launches": "further_inputs", "size_launches": "other_sizes", "order_launches": "other_orders"}
"""Guards that further launches provide, by the column of results.csv that counts these launches."""

RESULTS = (
    "mismatches", "max_error_ulp", "allowed_error", "undetected", "tolerance", "undefined_reads", "note",
    "checked_launches", "input_sets", "input_launches", "size_launches", "order_launches", "samples", "emulated_us",
    "median_us", "ci_low_us", "ci_high_us",
)  # fmt: skip


def write(run: Run, baseline: str = "") -> dict[str, Any]:
    """Write the verdict on a run to verdict.json, and return its content.

    `baseline` is the kernel with which the others are compared; by default that of the existing verdict.json, or else
    that of each kernel's YAML.
    """
    before = run.folder.json(run.folder.verdict)
    baseline = baseline or str(before.get("baseline") or "" if isinstance(before, dict) else "")
    if baseline:
        baselines: list[Any] = [None if kernel == baseline else baseline for kernel in run.frame["kernel"]]
        run = run.with_frame(run.frame.assign(baseline=baselines))
    content = verdict(run) | ({"baseline": baseline} if baseline else {})
    run.folder.write(run.folder.verdict, json.dumps(content, indent=2, allow_nan=False) + "\n")
    return content


def verdict(run: Run) -> dict[str, Any]:
    """Compute the content of verdict.json."""
    rows = run.by_number
    by_row, rank = ratios(run), ranker(run)
    cases = []
    for number, row in rows.items():
        case = {
            "case": row["case"],
            "kernel": row["kernel"],
            "device": row["device"],
            "parameters": _parameters(run, row),
            "status": row["status"],
            "reason": None if absent(row["reason"]) else str(row["reason"]),
            "emulated": bool(row["emulated"]),
            **_values(row, RESULTS),
            "guards": _guards(row),
        }
        if not absent(row["sizes_not_tried"]):
            case["not_tried"] = {"other_sizes": str(row["sizes_not_tried"])}
        if number in by_row:
            base = rows[by_row[number].baseline_row]
            speedup, pair = ratio(base, row), rank([base, row])
            faster = "faster" if speedup.times > 1 else "slower"
            word = "tied" if pair.tied else "undecided" if pair.undecided else faster
            numbers = {"speedup": speedup.times, "low": speedup.low, "high": speedup.high}
            case["against"] = {"kernel": base["kernel"], "case": base["case"], "word": word, **numbers}
        cases.append(case)
    counts = {str(status): int(n) for status, n in run.frame["status"].value_counts().items()}
    return {"schema": SCHEMA, "verdict": LEVELS[level(run)], "statuses": counts, "cases": cases}


def _guards(row: Mapping[str, Any]) -> list[str]:
    """The measures that were taken against wrong results and untrue times; docs/trust.md explains each."""
    if absent(row["checked_launches"]):
        return []
    further = [name for column, name in LAUNCH_GUARDS.items() if not absent(row[column]) and row[column] > 0]
    alternating = ["alternating_inputs"] * bool(row["input_sets"] > 1)
    races = ["races"] * (not absent(row["races_at"]))
    return [*GUARDS, *alternating, *further, *races, *([] if row["emulated"] else GPU_GUARDS)]


def _parameters(run: Run, row: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a case as an override writes them: of a size in two dimensions, `16x64`."""
    found = _values(row, [name for name in run.parameters if name not in ("kernel", "device")])
    sides = _values(row, ["rows", "cols"])
    return {**found, "size": f"{sides['rows']}x{sides['cols']}"} if "size" in found and len(sides) == 2 else found


def _values(row: Mapping[str, Any], names: Any) -> dict[str, Any]:
    """The present values of a row, as JSON types."""
    present = {name: row[name] for name in names if name in row and not absent(row[name])}
    plain = {name: value.item() if hasattr(value, "item") else value for name, value in present.items()}
    return {name: str(value) if value == math.inf else value for name, value in plain.items()}
