"""The page of a history: what changed, then a line for each case, then the runs. One file that needs no network."""

from __future__ import annotations

import json
import math
import os
import urllib.parse
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from markupsafe import Markup

from runner.compare.changes import Word
from runner.compare.runs import Row
from runner.device.kinds import label
from runner.display.text import absent, count, exact, one_line, plain, value_of
from runner.errors import UsageError
from runner.history.steps import FEWER, MORE, STEPS, Event, Key, Line, Step, names_of
from runner.history.summary import COUNTS, Summary, is_failed
from runner.report.page import template

NAME = "index.html"
MARK = "<!-- written by `runner history`, which replaces this file -->\n"

SHOWN_EVENTS = 5  # others are behind a click
MAX_EVENTS = 150  # in the page, as is each of the following
MAX_CASES = 40  # of an event
MAX_CAUSES = 6  # of an event
MAX_POINTS = 40_000
MAX_LINES = 500
MAX_RUNS = 4_000
SHORT = 9  # digits of a commit


@dataclass(frozen=True)
class History:
    """All that the page shows."""

    root: Path
    runs: list[Summary]  # the oldest first
    lines: list[Line]
    events: list[Event]  # the newest first
    words: list[str]  # of the filter
    left_out: list[str]  # a sentence for each run that could not be read

    @cached_property
    def names(self) -> dict[Key, str]:
        """The names of the cases."""
        return names_of(self.lines)

    @cached_property
    def ordered(self) -> list[Line]:
        """The lines: those that are worse since their newest step first, then others with steps, then by name."""
        return sorted(
            self.lines,
            key=lambda line: (not line.is_worse, not line.steps, *self._newest(line), self.names[line.key], line.key),
        )

    @cached_property
    def used(self) -> list[int]:
        """The numbers of the runs that the lines have points of."""
        return sorted({number for line in self.lines for number in line.rows})

    @cached_property
    def worse(self) -> list[tuple[Line, Step]]:
        """The lines whose newest step made them worse, with that step; the newest and worst first."""
        bad = [(line, next(s for s in reversed(line.steps) if s.is_bad)) for line in self.lines if line.is_worse]
        return sorted(bad, key=lambda one: (-one[1].run, one[1].rank))

    def _newest(self, line: Line) -> tuple[Any, ...]:
        """Sorts lines with steps, the newest first."""
        return (-line.steps[-1].run, line.steps[-1].rank) if line.steps else (0, (0, 0.0))


def refuse_to_replace(target: Path) -> None:
    """Raise `UsageError` if a page cannot replace a file, because something else wrote it."""
    if not target.exists() and not target.is_symlink():
        return
    own = False
    if target.is_file() and not target.is_symlink():
        with target.open("rb") as file:
            own = file.read(len(MARK)) == MARK.encode()
    if not own:
        raise UsageError(f"{target}: was not written by `runner history`, so it stays; --to FILE names another file")


def level(history: History) -> str:
    """The result as a style of the page: `bad`, `good` or `none`."""
    return "bad" if history.worse else "good" if history.events else "none"


def headline(history: History) -> str:
    """Whether anything got slower: which case, by how much, and since which commit."""
    cases, worse = count(len(history.lines), "case"), history.worse
    failing = sum(is_failed(line.newest) for line in history.lines if not line.is_worse)
    also = f" {count(failing, 'further case')} failed in the newest run." if failing else ""
    if len(worse) == 1:
        return f"1 of {cases} is worse since its last change. {_told(history, *worse[0])}.{also}"
    if worse:
        numbers = Counter(step.word for _, step in worse)
        words = ", ".join(f"{numbers[word]:,} {word}" for word in STEPS if numbers[word])
        start = f"{len(worse):,} of {cases} are worse since their last change ({words})"
        return f"{start}. The newest is {_told(history, *worse[0])}.{also}"
    if history.events:
        newest = _told(history, *history.events[0].steps[0])
        return f"No case is worse since its last change. The newest is {newest}.{also}"
    return f"No real change in {cases} over {count(len(history.used), 'run')}.{also}"


def render(history: History, target: Path) -> str:
    """Render the page for a file. The same runs give the same bytes."""
    shown = list(_shown(history))
    places = {line.key: place for place, line in enumerate(shown)}
    events = [_event(history, event, places, target) for event in history.events[:MAX_EVENTS]]
    context = {
        "title": f"History of {one_line(str(history.root), 80)}",
        "about": _about(history),
        "left_out": [one_line(sentence, 200) for sentence in history.left_out],
        "level": level(history),
        "headline": headline(history),
        "events": events,
        "first": SHOWN_EVENTS,
        "more_events": len(history.events) - len(events),
        "lines": [_placeholder(history, line) for line in shown],
        "missing": len(history.lines) - len(shown),
        "runs": [_run(history, number, target) for number in reversed(history.used)],
        "data": Markup(_data(shown, history.used)),  # noqa: S704 - JSON without a `<`
    }
    return MARK + template("history.html", "runner.history", "runner.report").render(context)


def _shown(history: History) -> Iterator[Line]:
    """The lines of the page, as many as it holds."""
    points = 0
    for line in history.ordered[:MAX_LINES]:
        points += len(line.rows)
        if points > MAX_POINTS:
            return
        yield line


def _about(history: History) -> str:
    """What the page shows: numbers of runs, cases and commits, and the days."""
    runs = [history.runs[number] for number in history.used]
    cases = count(len(history.lines), "case") + (f" that match {' '.join(history.words)}" if history.words else "")
    parts = [count(len(runs), "run"), cases, count(len({run.commit for run in runs} - {""}), "commit")]
    days = " to ".join(dict.fromkeys(run.started[:10] for run in (runs[0], runs[-1]) if run.started))
    left_out = f"{count(len(history.left_out), 'run')} left out" if history.left_out else ""
    return "; ".join(filter(None, (", ".join(parts), days, left_out)))


def _told(history: History, line: Line, step: Step) -> str:
    """A step in words: `reduceShfl, size 2^24: 1.12x slower (14.80 to 16.60 µs) since commit 0123abcd (2026-11-03)`."""
    run = history.runs[step.run]
    commit = f"commit {_commit(run)}" if run.commit else run.name
    values = f" ({_values(line, step)})" if _values(line, step) else ""
    return f"{history.names[line.key]}: {_change(step)}{values} since {commit} ({run.started[:10]})"


def _change(step: Step) -> str:
    """`1.12x slower`, `4.1 % faster`, `BROKEN`, `8x more work`."""
    most = max(step.ratio, 1 / step.ratio)
    if most == 1:
        return step.word
    return f"{most:.3g}x {step.word}" if most >= 1.05 else f"{100 * abs(step.ratio - 1):.1f} % {step.word}"


def _values(line: Line, step: Step) -> str:
    """What a case took before a step and after it; for counts, which changed."""
    was, now = line.rows[step.before], line.rows[step.run]
    if step.word in (Word.SLOWER, Word.FASTER):
        return f"{exact(was['median_us'])} to {exact(now['median_us'])} µs"
    return step.note if step.word in (MORE, FEWER) else one_line(step.note, 120)


def _details(line: Line, step: Step) -> str:
    """The values before and after a step, and the interval of its change."""
    low, high = (100 * (end - 1) for end in (step.low, step.high))
    interval = "" if math.isnan(low) else f"{low:+.1f} to {high:+.1f} %"
    return ", ".join(filter(None, (_values(line, step), interval)))


def _commit(run: Summary) -> str:
    return f"{run.commit[:SHORT]}{' with uncommitted changes' if run.is_dirty else ''}"


def _event(history: History, event: Event, places: dict[Key, int], target: Path) -> dict[str, Any]:
    """An event for the template."""
    before, run = history.runs[event.before], history.runs[event.run]
    cases = [
        {
            "place": places.get(line.key, -1), "name": history.names[line.key], "word": step.word, "bad": step.is_bad,
            "change": _change(step), "details": _details(line, step), "device": _device(line),
            "later": next((_change(later) for later in line.steps if later.run > step.run), ""),
        }
        for line, step in event.steps
    ]  # fmt: skip
    told = [
        (kind, "" if name == kind else name, f"{was or 'none'} → {now or 'none'}" if was else now)
        for kind, name, was, now in event.causes
    ]
    return {
        "first": cases[0],
        "cases": cases[:MAX_CASES],
        "more": len(cases) - MAX_CASES,
        "others": len(cases) - 1,
        "number": history.used.index(event.run),
        "places": " ".join(str(case["place"]) for case in cases),
        "run": _run(history, event.run, target),
        "before": _run(history, event.before, target),
        "same_commit": bool(run.commit) and (run.commit, run.is_dirty) == (before.commit, before.is_dirty),
        "causes": told[:MAX_CAUSES],
        "more_causes": len(told) - MAX_CAUSES,
    }


def _run(history: History, number: int, target: Path) -> dict[str, Any]:
    """A run for the template."""
    run = history.runs[number]
    devices = dict.fromkeys(run.models.get(str(row["device"]), "") or str(row["device"]) for row in run.rows)
    return {
        "name": run.name, "link": _link(history.root / run.name, target), "started": run.started[:16],
        "commit": _commit(run) if run.commit else "", "device": one_line(", ".join(devices), 80),
        "what": one_line(run.experiment, 40),
        "cases": len(run.rows), "failed": sum(map(is_failed, run.rows)),
    }  # fmt: skip


def _link(folder: Path, target: Path) -> str:
    """The address of a run's report from the page's file; empty if there is no report."""
    report = folder / "report.html"
    if not report.is_file():
        return ""
    relative = os.path.relpath(report, target.absolute().parent)
    return urllib.parse.quote(os.fsencode(relative))


def _device(line: Line) -> str:
    return line.key[2] or label(line.key[1]).removeprefix("the ")


def _placeholder(history: History, line: Line) -> dict[str, Any]:
    """A line's text, which is there before the script draws it."""
    row, steps = line.newest, len(line.steps)
    now = _failure(row) or ("" if absent(row["median_us"]) else f"{exact(row['median_us'])} µs")
    parts = [one_line(_device(line), 60), f"{now} now" if now else "", count(steps, "real step") if steps else ""]
    about = "; ".join(filter(None, (*parts, count(len(line.rows), "run"))))
    return {"name": history.names[line.key], "about": about, "bad": line.is_worse}


def _failure(row: Row) -> str:
    """The status of a case that failed; empty for others."""
    return one_line(str(row["status"]).replace("_", " "), 40) if is_failed(row) else ""


def _data(shown: Sequence[Line], runs: Sequence[int]) -> str:
    """What the script draws, as JSON: the lines' points, and the columns of the filter."""
    names = dict.fromkeys(name for line in shown for name in line.parameters)
    columns: dict[str, Any] = {
        name: [value_of(name, line.newest) if name in line.newest else "" for line in shown] for name in names
    }
    columns |= {
        "gpu": [line.key[2] for line in shown],
        "status": [str(line.newest["status"]) for line in shown],
        "median_us": [_digits(line.newest["median_us"]) for line in shown],
        "step": [line.steps[-1].word.replace(" ", "_") if line.steps else "none" for line in shown],
        "change_percent": [_digits(100 * (line.steps[-1].ratio - 1)) if line.steps else None for line in shown],
    }
    places = {run: place for place, run in enumerate(runs)}
    drawn = [_points(line, places) for line in shown]
    content = {"columns": columns, "lines": drawn, "counts": list(COUNTS.values())}
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return plain(text).replace("<", "\\u003c")


def _points(line: Line, places: dict[int, int]) -> dict[str, Any]:
    """The points of a line: the places of their runs, values with interval ends, failures by point, and steps."""
    rows, order = line.rows.values(), {run: n for n, run in enumerate(line.rows)}
    timed = any(not absent(row["median_us"]) for row in rows)
    counted = [name for name in COUNTS if not timed and any(not absent(row[name]) for row in rows)]
    values = [("median_us", "ci_low_us", "ci_high_us")] if timed else [(name,) for name in counted]
    return {
        "runs": [places[run] for run in line.rows],
        "series": [[[_digits(row[name]) for row in rows] for name in names] for names in values],
        "names": [list(COUNTS).index(name) for name in counted],
        "failed": {n: _failure(row) for n, row in enumerate(rows) if is_failed(row)},
        "steps": [(order[step.run], int(step.is_bad), _change(step), _values(line, step)) for step in line.steps],
    }


def _digits(value: Any) -> float | int | None:
    """A number with five digits; `None` for an empty cell."""
    if absent(value) or not math.isfinite(value):
        return None
    number = float(f"{value:.5g}")
    return int(number) if number.is_integer() and abs(number) < 1e15 else number
