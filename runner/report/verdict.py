"""verdict.json: what a run found, for programs. Its schema is in docs/trust.md."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from runner.folder import RunFolder
from runner.report.findings import level, ranker, ratio, ratios
from runner.report.table import load, parameters, records
from runner.report.text import absent
from runner.runs import environment, section

SCHEMA = 1
WORDS = {"good": "right", "partial": "incomplete", "bad": "wrong", "none": "nothing ran"}
GUARDS = (
    "outputs_poisoned", "every_launch_checked", "variables_reset", "inputs_unchanged", "writes_outside_arrays",
    "launches_without_reset",
)  # fmt: skip
RESULTS = (
    "mismatches", "max_error_ulp", "tolerance", "undefined_reads", "note", "checked_launches", "input_sets", "samples",
    "median_us", "ci_low_us", "ci_high_us",
)  # fmt: skip


def write(folder: Path, baseline: str = "", frame: pd.DataFrame | None = None) -> dict[str, Any]:
    """Write the verdict on a run, and give it. `frame` is its table, if it has been read.

    `baseline` is the kernel with which the others are compared. Without one it is that of the verdict before, and
    otherwise that of each kernel's YAML.
    """
    run = RunFolder(folder)
    before = run.json(run.verdict)
    baseline = baseline or str((before if isinstance(before, dict) else {}).get("baseline") or "")
    frame = load(folder) if frame is None else frame
    if baseline:
        others: list[Any] = [None if kernel == baseline else baseline for kernel in frame["kernel"]]
        frame = frame.assign(baseline=others)
    devices = section(environment(folder), "devices")
    sized = {kind for kind in devices if section(section(devices, kind), "timing").get("check_sizes")}
    content = verdict(frame, sized) | ({"baseline": baseline} if baseline else {})
    run.write(run.verdict, json.dumps(content, indent=2, allow_nan=False) + "\n")
    return content


def verdict(frame: pd.DataFrame, sized: Collection[str] = ()) -> dict[str, Any]:
    """The verdict as plain values, ready for JSON; `sized` are the devices on which other sizes were checked, too."""
    rows = {row["row"]: row for row in records(frame)}
    found, ranked = ratios(frame), ranker(frame)
    cases = []
    for number, row in rows.items():
        case = {
            "case": row["case"],
            "kernel": row["kernel"],
            "device": row["device"],
            "parameters": _given(row, [name for name in parameters(frame) if name not in ("kernel", "device")]),
            "status": row["status"],
            "reason": None if absent(row["reason"]) else str(row["reason"]),
            "emulated": bool(row["emulated"]),
            **_given(row, RESULTS),
            "guards": _guards(row, sizes=row["device"] in sized),
        }
        if number in found and not row["emulated"]:
            base = rows[found[number].baseline_row]
            times, pair = ratio(base, row), ranked([base, row])
            faster = "faster" if times.times > 1 else "slower"
            word = "tied" if pair.tied else "undecided" if pair.undecided else faster
            numbers = {"speedup": times.times, "low": times.low, "high": times.high}
            case["against"] = {"kernel": base["kernel"], "case": base["case"], "word": word, **numbers}
        cases.append(case)
    counts = {str(status): int(n) for status, n in frame["status"].value_counts().items()}
    return {"schema": SCHEMA, "verdict": WORDS[level(frame)], "statuses": counts, "cases": cases}


def _guards(row: Mapping[str, Any], *, sizes: bool) -> list[str]:
    """What was done against wrong answers and untrue times; docs/trust.md explains each."""
    if absent(row["checked_launches"]):
        return []
    on_gpu = ["l2_flushed", "shared_memory_cleared", "local_memory_cleared", "plausible_time"]
    own = ["other_orders"] if row["emulated"] else on_gpu
    more = {"alternating_inputs": row["input_sets"] > 1, "other_sizes": sizes, "races": not absent(row["races_at"])}
    return [*GUARDS, *(name for name, ran in more.items() if ran), *own]


def _given(row: Mapping[str, Any], names: Any) -> dict[str, Any]:
    """The values that a row has, as JSON's own types."""
    held = {name: row[name] for name in names if name in row and not absent(row[name])}
    return {name: value.item() if hasattr(value, "item") else value for name, value in held.items()}
