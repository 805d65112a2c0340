"""The words of a filter: `kernel=reduceShfl`, `size>2^20`, or text. The filter of the pages understands the same.

A word `name=value` (also `!=`, `<`, `>`, `<=`, `>=`) asks one column. All other words ask the whole text of a case. A
case matches if all words hold. Sizes may be written as `2^24`, `16Mi` or `4096x4096`.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from runner.compare.runs import Row
from runner.display.terminal import SweepProgress
from runner.display.text import absent, value_of
from runner.errors import UsageError
from runner.history.index import Index
from runner.history.summary import Summary, is_failed, read
from runner.record import runs

_QUESTION = re.compile(r"(\w+)(<=|>=|!=|=|<|>)(.+)")
_NUMBER = re.compile(r"([-+]?(?:\d[\d,]*)?\.?\d+(?:e[-+]?\d+)?)(ki|mi|gi)?x?(?: to .*| \(.*|/.*)?")
_POWER, _RECTANGLE = re.compile(r"(\d+)(?:\^|\*\*)(\d+)"), re.compile(r"([1-9]\d*)x([1-9]\d*)")
_UNITS = {None: 1.0, "ki": 2.0**10, "mi": 2.0**20, "gi": 2.0**30}
_OF_ALL = {"=": operator.eq, "!=": operator.ne}
_OF_NUMBERS = {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge}
OF_RUN = ("commit", "experiment", "folder")
OF_CASE = ("kernel", "device", "gpu", "status", "median_us")
FAILED = "failed"


@dataclass(frozen=True)
class Case:
    """A case of a run, as the words of a filter see it."""

    run: Summary
    row: Row

    @cached_property
    def texts(self) -> dict[str, str]:
        """Its values by name, both in small letters: a kernel of another run may have `m` where this one has `M`."""
        run, row = self.run, self.row
        us = "" if absent(row["median_us"]) else f"{row['median_us']:.6g}"
        texts = {name: value_of(name, row) for name in run.parameters}
        texts |= {"gpu": run.model(row), "status": str(row["status"]), "median_us": us}
        texts |= {"commit": run.commit, "experiment": run.experiment, "folder": run.name}
        found: dict[str, str] = {}
        for name, text in texts.items():  # of such two, one is empty
            found[name.lower()] = found.get(name.lower()) or text.lower()
        return found

    @cached_property
    def text(self) -> str:
        """All of them, and `failed` for a case that failed."""
        return " ".join([*self.texts.values(), FAILED if is_failed(self.row) else ""])


def split(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split the words of a command line: folders and patterns, and the words of the filter.

    A word is a folder if there is one of this name, or if it has a slash or is a pattern.
    """
    places = [text for text in texts if Path(text).is_dir() or _is_place(text)]
    return places, [text for text in texts if text not in places and text.strip()]


def matching(cases: Sequence[Case], words: Sequence[str], where: str) -> list[Case]:
    """The cases for which all words hold.

    Args:
        cases: All cases.
        words: The words; without any, all cases match.
        where: The folder of the runs, for messages.

    Raises:
        UsageError: A word asks for a column that no case has, or compares with a text.
    """
    questions = [_question(word.lower(), cases, where) for word in words]
    return [case for case in cases if all(holds(case) for holds in questions)]


def matching_runs(root: Path, words: Sequence[str], progress: SweepProgress) -> tuple[list[Path], list[str]]:
    """The runs with a case that matches all words, newest first, and a sentence on each that cannot be read."""
    with Index(root) as index:
        found, mistakes = read(root, list(runs.walk(root)), index, progress)
    matches = {case.run.name for case in matching(list(cases_of(found)), words, str(root))}
    return [root / run.name for run in reversed(found) if run.name in matches], mistakes


def _is_place(text: str) -> bool:
    return not _QUESTION.fullmatch(text) and any(letter in text for letter in "/*?[")


def _question(word: str, cases: Sequence[Case], where: str) -> Callable[[Case], bool]:
    """A word as a question to a case."""
    parts = _QUESTION.fullmatch(word)
    name, sign, wanted = parts.groups() if parts else ("", "", "")
    if name and any(name in case.texts for case in cases):
        if sign in _OF_NUMBERS and isinstance(as_value(wanted), str):
            raise UsageError(f"{word}: expected a number after {sign}, not '{wanted}'")
        return lambda case: _holds(name, sign, wanted, case.texts.get(name, ""))
    if any(word in case.text for case in cases):
        return lambda case: word in case.text
    if name and cases:
        names = dict.fromkeys(known for case in cases for known in case.texts)
        raise UsageError(f"{word}: no case has the column {name}; available: {', '.join(names)}")
    statuses = {FAILED, *(str(case.row["status"]) for case in cases)}
    if name or word in statuses:
        return lambda _: False
    raise UsageError(f"{word}: there is no such folder, and no case below {where} has this text")


def _holds(name: str, sign: str, wanted: str, text: str) -> bool:
    own, value = as_value(text.replace(" ", "_")), as_value(wanted)
    if name == "commit" and sign in _OF_ALL:  # people write the first digits
        return bool(wanted and text.startswith(wanted)) == (sign == "=")
    if sign in _OF_ALL:
        return bool(_OF_ALL[sign](own, value))
    return isinstance(own, float) and isinstance(value, float) and bool(_OF_NUMBERS[sign](own, value))


def as_value(text: str) -> float | str:
    """A text as a number, if it is one: `1,024`, `2^20`, `16Ki`, `32x16`, `1.05x`, `4.1 to 4.6`; as in the pages."""
    try:
        if power := _POWER.fullmatch(text):
            return math.pow(float(power[1]), float(power[2]))
        if sides := _RECTANGLE.fullmatch(text):
            return float(sides[1]) * float(sides[2])
        if number := _NUMBER.fullmatch(text):
            return float(number[1].replace(",", "")) * _UNITS[number[2]]
    except (ValueError, OverflowError):
        pass
    return text


def cases_of(runs: Sequence[Summary]) -> Iterator[Case]:
    """All cases of some runs."""
    return (Case(run, row) for run in runs for row in run.rows)
