"""The summary in the terminal, shaped like the listing that CUDA programs print: kernel, time, sum, launch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from runner.report.table import load, records, timed, varying, where_read
from runner.report.text import EMULATED, absent, count, described, exact, one_line, rough, size_of, value_of
from runner.report.traffic import beside, explained
from runner.report.verdict import WORDS, Verdict, judge

ALL_UP_TO = 20
"""So many rows are all shown; of more, the fastest of each size."""

GROUP = ["device", "dtype", "family", "finish", "size", "rows", "cols"]
STYLES = {"good": "bold green", "bad": "bold red", "partial": "bold yellow", "none": "bold yellow"}


@dataclass(frozen=True)
class Entry:
    """A line of the listing: a name, a time and what stands beside it, what it summed to, and the rest."""

    name: str
    time: str
    beside: str
    total: str
    rest: str
    style: str = ""


def print_summary(folder: Path, console: Console) -> None:
    """Print what a run found: the times, the verdict, the failures, and where the report lies."""
    frame = load(folder)
    judged = judge(frame)
    if not frame.empty:
        _print_listing(frame, console)
    _say(console, f"{WORDS[judged.level]}: {judged.headline}", STYLES[judged.level])
    for sentence in judged.fastest[:4]:
        _say(console, sentence)
    for sentence in judged.cautions:
        _say(console, sentence, "yellow")
    _print_problems(frame, judged, console)
    report = folder / "report.html"
    _say(console, f"Report: {report}" if report.is_file() else f"Results: {folder / 'results.csv'}")


def _print_listing(frame: pd.DataFrame, console: Console) -> None:
    ordered = frame.sort_values(["size", "rows", "cols"], kind="stable")
    groups = [group for _, group in ordered.groupby(GROUP, dropna=False, sort=False)]
    names = [name for name in varying(frame) if name not in ("size", "dtype", "device", "block")]
    most = len(frame) if len(frame) <= ALL_UP_TO else max(3, min(12, 48 // len(groups)))
    shown = groups if len(frame) <= ALL_UP_TO else groups[-12:]
    entered: list[dict[str, Any]] = []
    if (frame["device"] == "cpu").any():
        _say(console, f"Device cpu: {EMULATED}.", "bold")
    for group in shown:
        rows = _chosen(group, most)
        entered += rows
        _say(console, _heading(rows[0] if rows else records(group)[0], _shared(frame)), "bold")
        _print_entries([*_references(group), *(_entry(row, names) for row in rows)], console)
    if told_beside := explained([row for row in entered if row["status"] == "ok"]):
        _say(console, told_beside, "dim")
    if len(entered) < len(frame):
        shown_of = f"{len(entered)} of {count(len(frame), 'case')}"
        _say(console, f"Shown: {shown_of}, each kernel's fastest by size; results.csv has all.")
    console.print()


def _chosen(group: pd.DataFrame, most: int) -> list[dict[str, Any]]:
    """All rows in the order of the run; of too many, each kernel's fastest, or the fastest if there is one kernel.

    Where none has a time, the first of them.
    """
    rows = records(group)
    if len(rows) <= most:
        return rows
    right = sorted(records(timed(group)), key=lambda row: row["median_us"])
    first: dict[str, dict[str, Any]] = {}
    for row in right:
        first.setdefault(row["kernel"], row)
    return (list(first.values()) if len(first) > 1 else right or rows)[:most]


def _shared(frame: pd.DataFrame) -> str:
    """Parameters that only some kernels read, with the same value in all of these: said once, above the listing."""
    rows, names = records(frame), [name for name in where_read(frame) if name not in ("size", "block")]
    first = {name: next(row for row in rows if not absent(row[name])) for name in names}
    said = ", ".join(f"{name} {one_line(value_of(name, row), 40)}" for name, row in first.items())
    return f"{said} where read" if said else ""


def _heading(row: dict[str, Any], shared: str) -> str:
    size = size_of(row)
    elements = "" if absent(row["size"]) or size == f"{row['size']:,}" else f" ({row['size']:,})"
    finish = {"host": "the host adds partial sums", "device": "the launch leaves the whole result"}.get(
        row["finish"], ""
    )
    words = [f"size {size}{elements}" if size else "", row["dtype"], one_line(row["family"], 30), finish, shared]
    emulated = ["emulated on the CPU device"] if row["device"] == "cpu" else []
    return "> " + ", ".join([*emulated, *(word for word in words if word)])


def _references(group: pd.DataFrame) -> list[Entry]:
    """The CPU's own sums; several where masks leave elements out."""
    known = group[(group["reference"] != "")].drop_duplicates("reference")
    entries = []
    for row in records(known)[:3]:
        name = "cpu reduce" if row["family"].startswith("reduc") else "cpu"
        mask = f"mask {row['mask']}" if len(known) > 1 and row["mask"] else ""
        time = "" if absent(row["reference_us"]) else f"{exact(row['reference_us'])} µs"
        entries.append(Entry(name, time, "", f"cpu sum: {one_line(row['reference'], 40)}", mask, "dim"))
    return entries


def _entry(row: dict[str, Any], names: list[str]) -> Entry:
    launch = "" if absent(row["grid"]) else f"<<<grid {one_line(row['grid'], 30)} block {one_line(row['block'], 30)}>>>"
    name = described(row, names)
    if row["status"] != "ok":
        return Entry(
            name,
            row["status"].replace("_", " "),
            "",
            "",
            launch,
            "dim" if row["status"] in ("skipped", "not_run") else "red",
        )
    time = "not timed" if absent(row["median_us"]) else f"{exact(row['median_us'])} µs"
    whose = "emulated sum" if row["device"] == "cpu" else "gpu sum"
    total = "" if absent(row["value"]) else f"{whose}: {one_line(row['value'], 40)}"
    speed = "" if absent(row["gbps"]) else f"  {rough(row['gbps'])} GB/s"
    return Entry(name, time, beside(row), total, launch + speed)


def _print_entries(entries: list[Entry], console: Console) -> None:
    name, time, numbers, total = (
        max((cell_len(part) for part in column), default=0)
        for column in zip(*((e.name, e.time, e.beside, e.total) for e in entries), strict=True)
    )
    for entry in entries:
        start = f"{_padded(entry.name, name)} : {_padded(entry.time, time, right=True)}"
        told = f"{_padded(entry.beside, numbers)}   " if numbers else ""
        _say(console, f"{start}   {told}{_padded(entry.total, total)}  {entry.rest}".rstrip(), entry.style)


def _padded(text: str, width: int, *, right: bool = False) -> str:
    space = " " * (width - cell_len(text))
    return space + text if right else text + space


def _print_problems(frame: pd.DataFrame, judged: Verdict, console: Console) -> None:
    rows = {row["row"]: row for row in records(frame)}
    for problem in judged.problems[:10]:
        first = described(rows[problem.rows[0]], varying(frame))
        whose = first if len(problem.rows) == 1 else f"{count(len(problem.rows), 'case')}, such as {first}"
        reason = one_line(problem.reason) or "no reason was recorded"
        _say(console, f"{problem.status.replace('_', ' ')}: {whose}: {reason}", "red" if problem.failed else "dim")
    if len(judged.problems) > 10:
        _say(console, f"{count(len(judged.problems) - 10, 'further reason')}: see the report.")


def _say(console: Console, text: str, style: str = "") -> None:
    """One line as it is: no markup, and wrapped by the terminal, so that a pipe gets it whole."""
    console.print(Text(one_line(text, 2000) if "\x1b" in text else text, style=style), soft_wrap=True)
