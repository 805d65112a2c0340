"""The summary of a run as text: in the terminal, and as Markdown for a pull request.

The terminal's summary has the form in which CUDA samples print results: kernel, time, sum, launch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console

from runner.device.kinds import label
from runner.display.console import fits, say, say_table
from runner.display.table import Table, escaped
from runner.display.text import absent, costs, count, described, exact, listed, one_line, rough, size_of, value_of
from runner.kernel.metrics import Criterion
from runner.record.ranking import IDLE, fastest
from runner.record.run import Run
from runner.record.runs import section
from runner.report import bottlenecks, tables
from runner.report.findings import LEVEL_NAMES, Verdict
from runner.report.missing import for_mismatches

Row = dict[str, Any]

MAX_ROWS = 20  # up to this many rows, all are shown; otherwise each kernel's fastest by size
MAX_GROUPS, MAX_LINES, MAX_SENTENCES = 12, 48, 4
MAX_PROBLEMS, MAX_MARKDOWN_PROBLEMS = 10, 20
MAX_REASON = 800  # characters; long enough for the end of a mismatch, which has the largest error and advice

LISTING = ("kernel", ":", "time", "costs", "sum", "launch", "speed")
LEFT_OUT = ("launch", "sum", "costs")  # of the listing, in this order, where a terminal is too narrow
LEGENDS = {"shared": "shared: wavefronts", "global": "global: 32-byte sectors"}
GROUP = ["device", "dtype", "family", "finish", "size", "rows", "cols"]
FINISH = {"host": "host sums the partial results", "device": "full result on the device"}
STYLES = {"good": "bold green", "bad": "bold red", "partial": "bold yellow", "none": "bold yellow"}

StyledCells = tuple[tuple[str, ...], str]
"""The cells of a line, and its style."""


def print_summary(run: Run, verdict: Verdict, console: Console) -> None:
    """Print a run's values and times, the verdict, and the failures."""
    if not run.frame.empty:
        _print_listing(run, console)
    print_verdict(verdict, console)
    for sentence in verdict.further[:MAX_SENTENCES]:
        say(console, sentence)
    for sentence in verdict.brief_cautions:
        say(console, sentence, "yellow")
    _print_problems(run, verdict, console)


def print_brief(run: Run, verdict: Verdict, console: Console) -> None:
    """Print the verdict; the reasons, too, if no case ran."""
    print_verdict(verdict, console)
    if verdict.level == "none":
        _print_problems(run, verdict, console)


def print_verdict(verdict: Verdict, console: Console) -> None:
    """Print the level and the headline."""
    say(console, f"{LEVEL_NAMES[verdict.level]}: {verdict.headline}", STYLES[verdict.level])


def _print_problems(run: Run, verdict: Verdict, console: Console) -> None:
    for failed, status, cases, reason in _problems(run, verdict, MAX_PROBLEMS):
        say(console, f"{status}: {cases}: {reason}", "red" if failed else "dim")
    if len(verdict.problems) > MAX_PROBLEMS:
        say(console, f"{count(len(verdict.problems) - MAX_PROBLEMS, 'more reason')}: see the report.")
    if advice := for_mismatches(run):
        say(console, advice)


def _print_listing(run: Run, console: Console) -> None:
    ordered, total = run.frame.sort_values(["size", "rows", "cols"], kind="stable"), len(run.frame)
    groups = [run.part(group) for _, group in ordered.groupby(GROUP, dropna=False, sort=False)]
    names = [name for name in run.varying if name not in ("size", "dtype", "device")]
    most = total if total <= MAX_ROWS else max(3, min(12, MAX_LINES // len(groups)))
    in_part = [name for name in run.where_read if name not in ("size", "block")]
    shown, left_out = list[Row](), dict[str, None]()
    for group in groups if total <= MAX_ROWS else groups[-MAX_GROUPS:]:
        rows = _choose(group, most)
        shown += rows
        if heading := _heading(rows[0] if rows else group.rows[0], _where_used(group, in_part)):
            say(console, f"> {heading}", "bold")
        table, without = _table([*_references(group)], rows, names, run.criterion, console)
        left_out |= dict.fromkeys(without)
        say_table(console, table, right=["time"], heads=False, gap=1)
    if legend := "" if "costs" in left_out else _legend(shown):
        say(console, legend, "dim")
    if len(shown) < total:
        which = "each kernel's best" if len(run.kernels) > 1 else "the best"
        say(console, f"{len(shown)} of {count(total, 'case')} are shown, {which}; results.csv has all.")
    if left_out:
        say(console, f"Left out at this width: {listed(list(left_out))}.", "dim")
    console.print()


def _table(
    references: list[StyledCells], rows: list[Row], names: list[str], by: Criterion, console: Console
) -> tuple[Table, tuple[str, ...]]:
    """The listing of some cases, and its columns that a terminal of this width has no room for."""
    table = Table([], [])
    for number in range(len(LEFT_OUT) + 1):
        without = LEFT_OUT[:number]
        # The launch has the block already.
        own = [name for name in names if name != "block" or "launch" in without]
        lines = [*references, *(_line(row, own, by) for row in rows)]
        kept = [place for place, name in enumerate(LISTING) if name not in without]
        cells = [tuple((first, ":", *others)[place] for place in kept) for (first, *others), _ in lines]
        table = Table.of([LISTING[place] for place in kept], cells, [style for _, style in lines]).filled("kernel", ":")
        if not console.is_terminal or fits(console, table, heads=False, gap=1):
            return table, without
    return table, LEFT_OUT


def _legend(rows: list[Row]) -> str:
    """What the costs of these rows are, on one line; empty if they have none."""
    texts = [costs(row) for row in rows if row["status"] == "ok"]
    words = [words for name, words in LEGENDS.items() if any(name in text for text in texts)]
    return f"{', '.join(words)} of a warp's request, load/store" if words else ""


def _choose(group: Run, most: int) -> list[Row]:
    """Choose at most `most` rows: each kernel's fastest, or the fastest of one kernel. Emulated times are ignored."""
    rows = group.rows
    if len(rows) <= most:
        return rows
    ranked = sorted((row for row in group.measured.rows if row["cost"] > 0), key=lambda row: row["cost"]) or rows
    first = {row["kernel"]: row for row in reversed(ranked)}
    kernels = [row for row in ranked if first[row["kernel"]] is row]
    return (kernels if len(kernels) > 1 else ranked)[:most]


def _where_used(group: Run, names: Sequence[str]) -> str:
    """The values of parameters that only some kernels of a sweep read, for a group of its rows.

    `names` are those with one value in the sweep. Parameters that no row of the group has are left out.
    """
    in_all, in_some = list[str](), list[str]()
    for name in names:
        if having := [row for row in group.rows if not absent(row[name])]:
            words = in_all if len(having) == len(group.rows) else in_some
            words.append(f"{name} {one_line(value_of(name, having[0]), 40)}")
    return ", ".join([*in_all, *in_some]) + (" (where used)" if in_some else "")


def _heading(row: Row, common: str) -> str:
    size = size_of(row)
    elements = "" if absent(row["size"]) or size == f"{row['size']:,}" else f" ({row['size']:,})"
    emulated = f"on {label(row['device'])}" if row["emulated"] else ""
    about = (row["dtype"], one_line(row["family"], 30), FINISH.get(row["finish"], ""), common)
    return ", ".join(word for word in (emulated, f"size {size}{elements}" if size else "", *about) if word)


def _references(group: Run) -> Iterator[StyledCells]:
    """The lines with the sums of the CPU reference; several if masks leave elements out."""
    references = group.frame[group.frame["reference"] != ""].drop_duplicates("reference")
    for row in group.part(references).rows[:3]:
        name = "cpu reduce" if row["family"].startswith("reduc") else "CPU reference"
        time = "" if absent(row["reference_us"]) else f"{exact(row['reference_us'])} µs"
        mask = f"mask {row['mask']}" if len(references) > 1 and row["mask"] else ""
        yield (name, time, "", f"cpu sum: {one_line(row['reference'], 40)}", mask, ""), "dim"


def _line(row: Row, names: list[str], by: Criterion) -> StyledCells:
    has_launch = not absent(row["grid"]) and row["block"]  # rows imported from another tuner lack them
    launch = f"<<<grid {one_line(row['grid'], 30)} block {one_line(row['block'], 30)}>>>" if has_launch else ""
    name, status = described(row, names), row["status"].replace("_", " ")
    if row["status"] != "ok":
        return (name, status, "", "", launch, ""), "dim" if row["status"] in IDLE else "red"
    total = "" if absent(row["value"]) else f"sum: {one_line(row['value'], 40)}"
    if not row["emulated"]:
        time = "not timed" if absent(row["median_us"]) else f"{exact(row['median_us'])} µs"
        value = by.value(row, row["median_us"]) if not by.is_bandwidth and not absent(row["median_us"]) else None
        bandwidth = "" if absent(row["gbps"]) else f"{rough(row['gbps'])} GB/s"
        speed = bandwidth if value is None else f"{rough(value)} {by.unit or by.name}"
        return (name, time, costs(row), total and f"gpu {total}", launch, speed), ""
    undefined = 0 if absent(row["undefined_reads"]) else row["undefined_reads"]
    words = [costs(row), count(undefined, "undefined read") if undefined else ""]
    return (name, status, ", ".join(filter(None, words)), total, launch, ""), ""


def _problems(run: Run, verdict: Verdict, most: int) -> Iterator[tuple[bool, str, str, str]]:
    """Yield, for each problem, whether it is a failure, its status, its cases, and the reason."""
    for problem in verdict.problems[:most]:
        first = described(problem.rows[0], run.varying)
        cases = first if len(problem.rows) == 1 else f"{count(len(problem.rows), 'case')}, such as {first}"
        yield problem.failed, problem.status.replace("_", " "), cases, _cut(problem.reason) or "no reason was recorded"


def _cut(reason: str) -> str:
    """A reason of at most `MAX_REASON` characters, which ends between two findings if it has several."""
    whole, cut = one_line(reason, len(reason)), one_line(reason, MAX_REASON)
    findings, _, last = cut.rpartition("; also ")
    return f"{findings}; the report has more" if len(cut) < len(whole) and findings and last else cut


def as_markdown(run: Run, verdict: Verdict) -> str:
    """Format the verdict, the fastest case of each size, the failures and the environment as Markdown."""
    from runner.report.page import heading  # noqa: PLC0415 - Jinja would slow the runner's start

    rankings, problems = fastest(run), list(_problems(run, verdict, MAX_MARKDOWN_PROBLEMS))
    more = len(verdict.problems) - len(problems)
    blocks = [
        [f"### {escaped(heading(run))}"],
        [f"**{LEVEL_NAMES[verdict.level]}:** {escaped(verdict.headline)}"],
        [f"- {escaped(sentence)}" for sentence in (*verdict.further, *verdict.cautions)],
        [f"- {escaped(words)}" for _, words in bottlenecks.sentences(run)],
        [tables.fastest_cases(run, rankings).markdown()] if any(one.among > 1 for one in rankings) else [],
        [f"- **{escaped(status)}**: {escaped(cases)}: {escaped(reason)}" for _, status, cases, reason in problems]
        + ([f"- and {count(more, 'more reason')}"] if more else []),
        [escaped(_environment(run.environment))],
    ]
    return "\n\n".join("\n".join(lines) for lines in blocks if lines) + "\n"


def _environment(environment: dict[str, Any]) -> str:
    """One line with the recorded device, driver, toolkit, runner version and commit."""
    devices, git = section(environment, "devices"), section(environment, "git")
    words = []
    for kind in devices:
        device = section(devices, kind)
        driver = [f"driver {device['nvidia_driver']}"] if device.get("nvidia_driver") else []
        nvcc = re.search(r"\bV(\d[\d.]*)", str(device.get("toolchain")))
        words.append(", ".join([str(device.get("name", kind)), *driver, *([f"nvcc {nvcc[1]}"] if nvcc else [])]))
    words += [f"runner {environment['runner']}"] if environment.get("runner") else []
    changed = " with uncommitted changes" if git.get("dirty") is True else ""
    words += [f"commit {str(git['commit'])[:12]}{changed}"] if git.get("commit") else []
    return one_line(f"Environment: {'; '.join(words) or 'not recorded'}.", 1000)
