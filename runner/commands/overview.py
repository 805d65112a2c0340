"""The table of `runner list`. It reads results.csv, plan.json and environment.json, any of which may be damaged."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console as RichConsole
from rich.padding import Padding
from rich.text import Text

from runner.device.kinds import AUTO, is_gpu, label, name_of
from runner.display.console import fits, say, say_table, short_path
from runner.display.table import Table
from runner.display.terminal import Console, SweepProgress
from runner.display.text import count, described, one_line, rough, size_of
from runner.errors import UsageError
from runner.record import run as reader
from runner.record import runs
from runner.record.folder import RunFolder
from runner.record.ranking import IDLE, headline_groups
from runner.record.run import Run
from runner.record.runs import section
from runner.record.shards import running

MAX_NAMES = 2  # kernels to list by name; if there are more, their number is shown


@dataclass(frozen=True)
class Overview:
    """One line of the table. A text is empty if it is unknown."""

    path: Path
    started: str
    what: str  # its experiment, or its kernels
    device: str
    cases: int  # measured or planned
    failures: str
    best: str  # the fastest case of the report's headline, with its time
    style: str


def print_matching(words: Sequence[str], most: int) -> None:
    """Print the newest runs below the folder that the words name, as far as the other words match a case of theirs.

    Raises:
        UsageError: The words name several folders or one that does not exist, or ask for an unknown column.
    """
    from runner.history.words import split  # noqa: PLC0415 - slow to import, and `print_runs` alone does not need it

    places, asked = split(words)
    if len(places) > 1:
        raise UsageError(f"{' '.join(places)}: list looks in one folder; name one")
    print_runs(Path(places[0]) if places else runs.OUTPUTS, most, asked)


def print_runs(root: Path, most: int, words: Sequence[str] = ()) -> None:
    """Print the newest runs below a folder, at most `most`.

    Args:
        root: The folder.
        most: How many.
        words: Only runs with a case that matches all of these words, see `runner.history.words`.

    Raises:
        UsageError: The folder does not exist, or a word asks for an unknown column.
    """
    if root != runs.OUTPUTS and not root.is_dir():
        raise UsageError(f"{root}: there is no such folder")
    console = Console()
    with SweepProgress() as progress:
        paths, mistakes = runs.below(root), list[str]()
        if words:
            from runner.history.words import matching_runs  # noqa: PLC0415 - slow to import, and seldom needed

            paths, mistakes = matching_runs(root, words, progress)
        overviews = []
        progress.stage("reading runs", len(paths[:most]))
        for path in paths[:most]:
            progress.show_step(path.name)
            try:
                overviews.append(read(path))
            except UsageError as e:
                mistakes.append(str(e))
            progress.step()
    if overviews:
        show(overviews, console)
    elif words and any(runs.walk(root)):
        say(console, f"No run below {_quoted(root)} has a case that matches {' '.join(words)}.")
    elif not paths:
        hint = " yet; `python -m runner device=cpu` makes one" if root == runs.OUTPUTS else ""
        say(console, f"No runs below {_quoted(root)}{hint}.")
    for sentence in mistakes:
        say(console, f"Skipped an unreadable run: {sentence}", "yellow")
    if len(paths) > most:
        given = "".join(f" {shlex.quote(word)}" for word in words)
        where = ("" if root == runs.OUTPUTS else f" {_quoted(root)}") + given
        say(console, f"{len(paths) - most:,} more; `python -m runner list{where} -n {len(paths)}` shows all.")


def read(path: Path) -> Overview:
    """Read a run's files into its line of the table."""
    environment, planned = runs.environment(path), _planned(RunFolder(path))
    try:
        run = reader.read(path)
    except (UsageError, *runs.MALFORMED):
        run = None
    kernels = dict.fromkeys(planned if run is None else run.frame["kernel"])
    statuses = pd.Series(["not_run"] * len(planned)) if run is None else run.frame["status"]
    failed, not_run = int((~statuses.isin(["ok", *IDLE])).sum()), int((statuses == "not_run").sum())
    state = _state(path, run, not_run)
    failures = [state, f"{failed:,} failed" if failed else "", f"{not_run:,} not run" if not_run else ""]
    try:
        started = datetime.fromisoformat(str(environment.get("started_utc"))).astimezone().strftime("%Y-%m-%d %H:%M %Z")
    except (ValueError, OverflowError):
        started = ""
    return Overview(
        path=path,
        started=started,
        what=_what(str(environment.get("command", "")), [str(name) for name in kernels]),
        device=_device(environment, [] if run is None else list(run.frame["device"].unique())),
        cases=len(statuses),
        failures=", ".join(filter(None, failures)),
        best="" if run is None else _best(run),
        style="red" if failed else "yellow" if state else "",
    )


def show(overviews: Sequence[Overview], console: RichConsole) -> None:
    """Print one line per run, or two if the terminal is narrow: the folder, then the rest."""
    heads = ("folder", "started", "what", "device", "cases", "failures", "best")
    cells = [
        (_quoted(run.path), run.started, run.what, run.device, f"{run.cases:,}", run.failures or "none", run.best)
        for run in overviews
    ]
    table = Table.of(heads, cells, [run.style for run in overviews])
    if not console.is_terminal or fits(console, table):
        say_table(console, table, right=["cases"])
        return
    for run in overviews:
        best = f"best: {run.best}" if run.best else ""
        parts = (run.started, run.what, run.device, count(run.cases, "case"), run.failures, best)
        say(console, _quoted(run.path), "bold", wrap=False)
        console.print(Padding(Text("  ".join(filter(None, parts)), style=run.style), (0, 0, 0, 4), expand=False))


def _planned(folder: RunFolder) -> list[str]:
    try:
        return [str(case["kernel"]) for case in folder.planned()["cases"]]
    except runs.MALFORMED:
        return []


def _what(command: str, kernels: Sequence[str]) -> str:
    if experiment := runs.experiment(command):
        return one_line(f"experiment {experiment}", 60)
    names = [one_line(name, 40) for name in kernels if name]
    return ", ".join(names) if len(names) <= MAX_NAMES else f"{len(names)} kernels"


def _device(environment: dict[str, Any], kinds: Sequence[str]) -> str:
    """Name the devices of a run's rows, or, without rows, the devices that were opened."""
    devices = [device for device in section(environment, "devices").values() if isinstance(device, dict)]
    used = [kind for kind in kinds if kind not in ("", AUTO)] or [str(device.get("kind", "")) for device in devices]
    labels = []
    for kind in sorted(filter(None, used), key=is_gpu):
        names = [name_of(kind, str(d.get("name") or "")) for d in devices if d.get("kind") == kind] or [label(kind)]
        labels += names if is_gpu(kind) else [f"{name} (emulated)" for name in names]
    return ", ".join(one_line(name, 40) for name in dict.fromkeys(labels))


def _state(path: Path, run: Run | None, not_run: int) -> str:
    folder = RunFolder(path)
    if running(folder):
        return "running"
    if run is None:
        return "results.csv cannot be read" if folder.results.exists() else "no results.csv"
    if len(run.frame) and (run.frame["status"] == "skipped").all():
        return "all skipped"
    return "interrupted" if not_run or run.unfinished else ""


def _best(run: Run) -> str:
    """Describe the fastest case of the report's headline; empty if there is no ranking."""
    try:
        row = headline_groups(run)[0].fastest
    except (IndexError, *runs.MALFORMED):
        return ""
    size = size_of(row)
    names = [name for name in run.measured.varying if name not in ("size", "device", "dtype", "seed")]
    return f"{described(row, names)}{f' at {size}' if size else ''}: {rough(row['median_us'])} µs"


def _quoted(path: Path) -> str:
    """Quote a path for a shell, with unprintable characters replaced."""
    text = shlex.quote(short_path(path))
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
