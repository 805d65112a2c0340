"""The summary of a run as text: in the terminal, and as Markdown for a pull request.

The terminal's summary has the form in which CUDA samples print results: kernel, time, sum, launch.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console

from runner.device.kinds import label
from runner.display.console import say, say_table
from runner.display.table import Table, escaped
from runner.display.text import absent, beside, count, described, exact, explained, one_line, rough, size_of, value_of
from runner.record.ranking import IDLE, fastest
from runner.record.run import Run, read
from runner.record.runs import section
from runner.report import bottlenecks, tables
from runner.report.findings import WORDS, Verdict, judge

Row = dict[str, Any]

ALL_UP_TO = 20  # up to this many rows, all are shown; otherwise each kernel's fastest by size

MOST_GROUPS, MOST_LINES, MOST_SENTENCES = 12, 48, 4
MOST_PROBLEMS, MOST_IN_MARKDOWN = 10, 20
MOST_LETTERS = 800  # of a reason; long enough for the end of a mismatch, which has the largest error and advice

LISTING = ("kernel", ":", "time", "sum", "launch", "speed")
GROUP = ["device", "dtype", "family", "finish", "size", "rows", "cols"]
FINISH = {"host": "host sums the partial results", "device": "full result on the device"}
STYLES = {"good": "bold green", "bad": "bold red", "partial": "bold yellow", "none": "bold yellow"}


def print_summary(run: Run, judged: Verdict, console: Console) -> None:
    """Print a run's values and times, the verdict, and the failures."""
    if not run.frame.empty:
        _print_listing(run, console)
    print_verdict(judged, console)
    for sentence in judged.further[:MOST_SENTENCES]:
        say(console, sentence)
    for sentence in judged.cautions:
        say(console, sentence, "yellow")
    _print_problems(run, judged, console)


def print_verdict(judged: Verdict, console: Console) -> None:
    """Print the level and the headline."""
    say(console, f"{WORDS[judged.level]}: {judged.headline}", STYLES[judged.level])


def _print_listing(run: Run, console: Console) -> None:
    ordered = run.frame.sort_values(["size", "rows", "cols"], kind="stable")
    groups = [group for _, group in ordered.groupby(GROUP, dropna=False, sort=False)]
    names = [name for name in run.varying if name not in ("size", "dtype", "device", "block")]
    most = len(run.frame) if len(run.frame) <= ALL_UP_TO else max(3, min(12, MOST_LINES // len(groups)))
    common, listed = _where_used(run), list[Row]()
    for group in groups if len(run.frame) <= ALL_UP_TO else groups[-MOST_GROUPS:]:
        rows = _chosen(run.with_frame(group), most)
        listed += rows
        if heading := _heading(rows[0] if rows else run.with_frame(group).rows[0], common):
            say(console, f"> {heading}", "bold")
        lines = [*_references(run.with_frame(group)), *(_line(row, names) for row in rows)]
        cells = [(first, ":", *others) for (first, *others), _ in lines]
        table = Table.of(LISTING, cells, [style for _, style in lines])
        say_table(console, table, right=["time"], heads=False, gap=1)
    if words := explained([row for row in listed if row["status"] == "ok"]):
        say(console, words, "dim")
    if len(listed) < len(run.frame):
        say(console, f"{len(listed)} of {count(len(run.frame), 'case')} are shown; results.csv has all.")
    console.print()


def _chosen(group: Run, most: int) -> list[Row]:
    """Choose at most `most` rows: each kernel's fastest, or the fastest of one kernel. Emulated times are ignored."""
    rows = group.rows
    if len(rows) <= most:
        return rows
    ranked = sorted((row for row in group.measured.rows if row["cost"] > 0), key=lambda row: row["cost"]) or rows
    first = {row["kernel"]: row for row in reversed(ranked)}
    kernels = [row for row in ranked if first[row["kernel"]] is row]
    return (kernels if len(kernels) > 1 else ranked)[:most]


def _where_used(run: Run) -> str:
    """Describe the parameters that only some kernels read, and that have one value in these."""
    rows, names = run.rows, [name for name in run.where_read if name not in ("size", "block")]
    first = {name: next(row for row in rows if not absent(row[name])) for name in names}
    words = ", ".join(f"{name} {one_line(value_of(name, row), 40)}" for name, row in first.items())
    return f"{words} (where used)" if words else ""


def _heading(row: Row, common: str) -> str:
    size = size_of(row)
    elements = "" if absent(row["size"]) or size == f"{row['size']:,}" else f" ({row['size']:,})"
    emulated = f"emulated on {label(row['device'])}" if row["emulated"] else ""
    about = (row["dtype"], one_line(row["family"], 30), FINISH.get(row["finish"], ""), common)
    return ", ".join(word for word in (emulated, f"size {size}{elements}" if size else "", *about) if word)


def _references(group: Run) -> Iterable[tuple[tuple[str, ...], str]]:
    """The lines with the sums of the CPU reference; several if masks leave elements out."""
    known = group.frame[group.frame["reference"] != ""].drop_duplicates("reference")
    for row in group.with_frame(known).rows[:3]:
        name = "cpu reduce" if row["family"].startswith("reduc") else "CPU reference"
        time = "" if absent(row["reference_us"]) else f"{exact(row['reference_us'])} µs"
        mask = f"mask {row['mask']}" if len(known) > 1 and row["mask"] else ""
        yield (name, time, "", f"cpu sum: {one_line(row['reference'], 40)}", mask), "dim"


def _line(row: Row, names: list[str]) -> tuple[tuple[str, ...], str]:
    known = not absent(row["grid"]) and row["block"]  # rows imported from another tuner lack them
    launch = f"<<<grid {one_line(row['grid'], 30)} block {one_line(row['block'], 30)}>>>" if known else ""
    name, status = described(row, names), row["status"].replace("_", " ")
    if row["status"] != "ok":
        return (name, status, "", "", launch), "dim" if row["status"] in IDLE else "red"
    us = row["emulated_us"] if row["emulated"] else row["median_us"]
    time = "not timed" if absent(us) else f"{exact(us)} µs"
    speed = "" if absent(row["gbps"]) else f"{rough(row['gbps'])} GB/s"
    total = "" if absent(row["value"]) else one_line(row["value"], 40)
    if not row["emulated"]:
        return (name, time, beside(row), total and f"gpu sum: {total}", f"{launch} {speed}".strip()), ""
    undefined = 0 if absent(row["undefined_reads"]) else row["undefined_reads"]
    known = [beside(row), count(undefined, "undefined read") if undefined else ""]
    rest = f"{launch} {time} emulated".strip()
    return (name, status, ", ".join(word for word in known if word), total and f"sum: {total}", rest), ""


def _print_problems(run: Run, judged: Verdict, console: Console) -> None:
    for failed, status, whose, reason in _problems(run, judged, MOST_PROBLEMS):
        say(console, f"{status}: {whose}: {reason}", "red" if failed else "dim")
    if len(judged.problems) > MOST_PROBLEMS:
        say(console, f"{count(len(judged.problems) - MOST_PROBLEMS, 'more reason')}: see the report.")


def _problems(run: Run, judged: Verdict, most: int) -> Iterator[tuple[bool, str, str, str]]:
    """Yield, for each problem, whether it is a failure, its status, its cases, and the reason."""
    rows, names = {row["row"]: row for row in run.rows} if judged.problems else {}, run.varying
    for problem in judged.problems[:most]:
        first = described(rows[problem.rows[0]], names)
        whose = first if len(problem.rows) == 1 else f"{count(len(problem.rows), 'case')}, such as {first}"
        reason = one_line(problem.reason, MOST_LETTERS) or "no reason was recorded"
        yield problem.failed, problem.status.replace("_", " "), whose, reason


def as_markdown(folder: Path) -> str:
    """Format the verdict, the fastest case of each size, the failures and the environment as Markdown."""
    from runner.report.page import heading  # noqa: PLC0415 - Jinja would slow the runner's start

    run = read(folder)
    verdict, best = judge(run), fastest(run)
    blocks = [
        [f"### {escaped(heading(run))}"],
        [f"**{WORDS[verdict.level]}:** {escaped(verdict.headline)}"],
        [f"- {escaped(sentence)}" for sentence in (*verdict.further, *verdict.cautions)],
        [f"- {escaped(words)}" for _, words in bottlenecks.sentences(run)],
        [tables.fastest_cases(run, best).markdown()] if any(one.among > 1 for one in best) else [],
        [
            f"- **{escaped(status)}**: {escaped(whose)}: {escaped(reason)}"
            for _, status, whose, reason in _problems(run, verdict, MOST_IN_MARKDOWN)
        ],
        [escaped(_environment(run.environment))],
    ]
    if (more := len(verdict.problems) - MOST_IN_MARKDOWN) > 0:
        blocks[-2].append(f"- and {count(more, 'more reason')}")
    return "\n\n".join("\n".join(lines) for lines in blocks if lines) + "\n"


def _environment(known: dict[str, Any]) -> str:
    """One line with the recorded device, driver, toolkit, runner version and commit."""
    devices, git = section(known, "devices"), section(known, "git")
    words = []
    for kind in devices:
        device = section(devices, kind)
        driver = [f"driver {device['nvidia_driver']}"] if device.get("nvidia_driver") else []
        nvcc = re.search(r"\bV(\d[\d.]*)", str(device.get("toolchain")))
        words.append(", ".join([str(device.get("name", kind)), *driver, *([f"nvcc {nvcc[1]}"] if nvcc else [])]))
    words += [f"runner {known['runner']}"] if known.get("runner") else []
    changed = " with uncommitted changes" if git.get("dirty") is True else ""
    words += [f"commit {str(git['commit'])[:12]}{changed}"] if git.get("commit") else []
    return one_line(f"Environment: {'; '.join(words) or 'not recorded'}.", 1000)
