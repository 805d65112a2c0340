"""The work of `runner history`: find the runs, read them, compare them, and write the page."""

from __future__ import annotations

import glob
import os
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from runner.display.console import say, say_path
from runner.display.terminal import Console, SweepProgress
from runner.display.text import count, limited
from runner.errors import UsageError
from runner.files import atomic, named_file
from runner.history import page, steps, summary, words
from runner.history.index import Index
from runner.history.summary import Summary
from runner.record import runs
from runner.record.folder import RunFolder

MAX_LEFT_OUT = 5  # runs that are named in the terminal


def history(options: Namespace) -> None:
    """Write the page of the runs that the options name, and print a summary of it."""
    places, asked = words.split(options.words)
    root, paths = find(places)
    target = options.to or root / page.NAME
    page.refuse_to_replace(target)
    _refuse_to_write_into_a_run(target)
    console = Console()
    with SweepProgress() as progress, Index(root) as index:
        found, left_out = summary.read(root, paths, index, progress)
        if not places:
            index.forget_unless(lambda name: runs.is_run(root / name))
        older, found = found[: -page.MAX_RUNS], found[-page.MAX_RUNS :]
        lines = chosen(steps.lines(found), found, asked, str(root))
        events = steps.find(root, found, lines, index, progress)
    for sentence in limited(left_out, MAX_LEFT_OUT):
        say(console, f"Left out: {sentence}", "yellow")
    if older:
        say(
            console,
            f"{count(len(older), 'older run')} left out: the page has {page.MAX_RUNS:,}; a pattern names others.",
        )
    if index.problem:
        say(console, index.problem, "yellow")
    if not lines:
        which = f" matches {' '.join(asked)}" if asked else " has a case that ran"
        say(console, f"No run below {root}{which}, so no page was written.")
        return
    content = page.History(root, found, list(lines.values()), events, asked, left_out)
    named_file.write(target, atomic.encoded(page.render(content, target)))
    real = count(sum(len(line.steps) for line in lines.values()), "real step")
    say(console, f"{count(len(found), 'run')}, {count(len(lines), 'case')}, {real}.")
    say(console, page.headline(content), {"bad": "red", "good": "green"}.get(page.level(content), ""))
    say_path(console, "Page: ", target.absolute())


def find(places: Sequence[str]) -> tuple[Path, list[Path]]:
    """Find the run folders below some folders, or that patterns match; by default those below `outputs`.

    Returns:
        The folder that all of them are in, and the run folders.

    Raises:
        UsageError: A folder does not exist, or there is no run.
    """
    if not places and not runs.OUTPUTS.is_dir():
        raise UsageError(f"no runs below {runs.OUTPUTS} yet; `python -m runner device=cpu` makes one")
    found, roots = dict[Path, None](), list[Path]()
    absolute = any(Path(place).is_absolute() for place in places)
    for given in places or [str(runs.OUTPUTS)]:
        place = str(Path(given).absolute()) if absolute else given
        path, matches = Path(place), [Path(place)]
        if not path.exists() and any(letter in place for letter in "*?["):
            matches = [match for match in map(Path, sorted(glob.glob(place, recursive=True))) if match.is_dir()]  # noqa: PTH207
        elif not path.is_dir():
            raise UsageError(f"{place}: there is no such folder")
        below = [run for match in matches for run in runs.walk(match)]
        if not below:
            raise UsageError(f"{place}: no run folder is there")
        found.update(dict.fromkeys(below))
        roots.append(_root(path, below))
    return Path(os.path.commonpath(roots)), list(found)


def chosen(
    lines: dict[steps.Key, steps.Line], found: Sequence[Summary], asked: Sequence[str], where: str
) -> dict[steps.Key, steps.Line]:
    """The lines of the cases that match all words in one of their runs."""
    if not asked:
        return lines
    cases = {id(row): key for key, line in lines.items() for row in line.rows.values()}
    every = [case for case in words.cases_of(found) if id(case.row) in cases]
    keys = {cases[id(case.row)] for case in words.matching(every, asked, where)}
    return {key: line for key, line in lines.items() if key in keys}


def _root(place: Path, below: Sequence[Path]) -> Path:
    """The folder whose history it is: `outputs` for what lies below it, else the folder, or where a pattern begins."""
    if runs.OUTPUTS in place.parents and any(letter in str(place) for letter in "*?["):
        return runs.OUTPUTS
    parts = [part for part in (place, *place.parents) if not any(letter in str(part) for letter in "*?[")]
    root = place if place.is_dir() else parts[0]
    return root.parent if root in below else root


def _refuse_to_write_into_a_run(target: Path) -> None:
    for parent in named_file.resolved(target).parents:
        if runs.is_run(parent):
            RunFolder(parent).refuse_to_replace(target)
