"""`python -m runner.list`: the run folders, newest first, with what was run and what came of it."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from runner import runs
from runner.cli import run_command

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from runner.overview import Overview

MOST = 20  # runs that are shown unless more are asked for
NONE = "none"
BROAD = 100_000  # columns: more than any line has


def main(arguments: Sequence[str] | None = None) -> int:
    """List runs."""
    parser = argparse.ArgumentParser(prog="python -m runner.list", description="List the run folders, newest first.")
    parser.add_argument("folder", nargs="?", type=Path, default=runs.OUTPUTS, help="where to look; default: outputs")
    parser.add_argument("-n", type=_number, default=MOST, metavar="N", help=f"how many to show; default: {MOST}")
    given = parser.parse_args(arguments)
    return run_command(lambda: _list(given.folder, given.n))


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text}: how many runs to show is expected, 1 or more")
    return int(text)


def _list(root: Path, most: int) -> int:
    from runner.console import Console  # noqa: PLC0415  (see `run_command`)
    from runner.errors import UsageError  # noqa: PLC0415

    if root != runs.OUTPUTS and not root.is_dir():
        raise UsageError(f"{root}: there is no such folder")
    known = runs.below(root)
    console = Console()
    if not known:
        hint = " yet; `python -m runner device=cpu` makes one" if root == runs.OUTPUTS else ""
        _say(console, f"No runs below {_pasted(root)}{hint}.")
        return 0
    _show(_read(known[:most]), console)
    if len(known) > most:
        where = "" if root == runs.OUTPUTS else f" {_pasted(root)}"
        _say(console, f"{len(known) - most:,} more; `python -m runner.list{where} -n {len(known)}` shows all.")
    return 0


def _read(paths: Sequence[Path]) -> list[Overview]:
    from runner import overview  # noqa: PLC0415
    from runner.progress import SweepProgress  # noqa: PLC0415

    found = []
    with SweepProgress() as progress:
        progress.stage("reading runs", len(paths))
        for path in paths:
            progress.now(path.name)
            found.append(overview.read(path))
            progress.step()
    return found


def _show(found: Sequence[Overview], console: Console) -> None:
    """A line a run; in a terminal that is too narrow for that, the folder has a line of its own."""
    table = _table(found)
    width = console.measure(table, options=console.options.update(max_width=BROAD)).maximum
    if not console.is_terminal:
        console.width = width
    if width <= console.width:
        console.print(table)
        return
    for run in found:
        _say(console, _pasted(run.path), "bold")
        for line in _lines(_told(run), console.width):
            _say(console, line, _style(run))


def _table(found: Sequence[Overview]) -> Table:
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for head in ("folder", "started", "what", "device", "cases", "failures", "best"):
        table.add_column(head, no_wrap=True, justify="right" if head == "cases" else "left")
    for run in found:
        cells = (_pasted(run.path), _started(run), run.what, run.device, f"{run.cases:,}", _failures(run), run.best)
        table.add_row(*map(Text, cells), style=_style(run))
    return table


def _told(run: Overview) -> list[str]:
    """The cells of a run without its folder, where no column says what they are."""
    cases = f"{run.cases:,} case{'' if run.cases == 1 else 's'}"
    failures = "" if _failures(run) == NONE else _failures(run)
    best = f"best: {run.best}" if run.best else ""
    return [part for part in (_started(run), run.what, run.device, cases, failures, best) if part]


def _lines(parts: Sequence[str], width: int) -> list[str]:
    """As many lines as it takes, each a little to the right; no part is broken that fits on a line."""
    from rich.cells import cell_len  # noqa: PLC0415

    lines = [""]
    for part in parts:
        longer = f"{lines[-1]}  {part}" if lines[-1] else f"    {part}"
        if lines[-1] and cell_len(longer) > width:
            lines.append(f"    {part}")
        else:
            lines[-1] = longer
    return lines


def _started(run: Overview) -> str:
    return run.started.strftime("%Y-%m-%d %H:%M %Z") if run.started else ""


def _failures(run: Overview) -> str:
    numbers = ((run.failed, "failed"), (run.not_run, "not run"))
    return ", ".join(filter(None, [run.state, *(f"{n:,} {word}" for n, word in numbers if n)])) or NONE


def _style(run: Overview) -> str:
    return "red" if run.failed else "yellow" if run.state else ""


def _pasted(path: Path) -> str:
    """A path as a shell takes it, as seen from here."""
    here = Path.cwd()
    text = shlex.quote(str(path.relative_to(here) if path.is_relative_to(here) else path))
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def _say(console: Console, text: str, style: str = "") -> None:
    console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
