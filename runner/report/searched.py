"""What a search leaves for its report: search.json and search.jsonl, and which parameters mattered, in words.

Malformed parts count as missing: a foreign folder must not keep anyone from its report.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from runner.device.kinds import is_gpu
from runner.kernel.metrics import TIME
from runner.record import runs
from runner.record.folder import RunFolder
from runner.report.about import about
from runner.report.text import count, listed, one_line

MATTERED = 0.05  # of the variance: a parameter whose interval is above it mattered, one that is below it hardly did
NAMED = 4  # parameters that a sentence names
Three = tuple[float, float, float]
"""A number, and its 95 % interval."""


@dataclass(frozen=True)
class Told:
    """A case of a search, as it was told."""

    number: int  # from 1
    seconds: float
    point: tuple[int, ...]
    results: tuple[float, ...]  # as the objectives' columns have them; none if the case failed


@dataclass(frozen=True)
class Importance:
    """The shares of the parameters in the variance of an objective, the largest first; none if that is not known."""

    objective: str
    cases: int
    explained: float  # of the variance of cases that the model did not know
    shares: Mapping[str, Three]


@dataclass(frozen=True)
class Value:
    """A value of a parameter, where all others are those of the best case."""

    value: str
    legal: bool
    failed: bool
    measured: Three | None
    anew: bool
    is_best: bool
    model: Three | None


@dataclass(frozen=True)
class Searched:
    """A search, finished or not."""

    about: str
    objectives: tuple[str, ...]
    higher: tuple[bool, ...]  # whether larger values are better
    parameters: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]  # of each parameter
    told: tuple[Told, ...]
    anew: Mapping[tuple[int, ...], tuple[Three, ...]]  # by point: the objectives as they were measured anew
    importance: tuple[Importance, ...]
    slices: Mapping[str, tuple[Value, ...]]
    rehearsal: bool  # on the CPU device, by its times, which say nothing about which case is the best

    def described(self, point: Sequence[int], names: Sequence[str]) -> str:
        """Some parameters of a point."""
        own = dict(zip(self.parameters, point, strict=True))
        return ", ".join(f"{n} {self.values[self.parameters.index(n)][own[n]]}" for n in names)


def read(folder: RunFolder) -> Searched | None:
    """The search of a folder; `None` if there is none."""
    known = folder.json(folder.search)
    if not isinstance(known, dict) or not folder.has(folder.told):
        return None
    devices = runs.section(folder.json(folder.environment) or {}, "devices").values()
    on_cpu = any(isinstance(d, dict) and not is_gpu(str(d.get("kind"))) for d in devices)
    try:
        return _read({"rehearsal": on_cpu, **known}, folder.text(folder.told))  # older versions did not say it
    except runs.MALFORMED:
        return None


def sentences(frame: pd.DataFrame) -> list[str]:
    """Which parameters mattered, in a sentence for each objective. A rehearsal says nothing about it."""
    found = about(frame).search
    return [] if found is None or found.rehearsal else [said(one) for one in found.importance]


def section(frame: pd.DataFrame) -> list[str]:
    """What the page says above the figures; nothing if there was no search."""
    found = about(frame).search
    if found is None:
        return []
    if found.rehearsal:
        return [found.about, "Times of the CPU device are neither ranked nor drawn."]
    return [found.about, *(said(one) for one in found.importance if not one.shares)]


def said(one: Importance) -> str:
    """Which parameters mattered for an objective."""
    objective = one_line(one.objective, 40)
    if not one.shares:
        why = f": a model of half of them explains {100 * one.explained:.0f} % of the variance of the others"
        first = f"Which parameters mattered for {objective} is unknown after {count(one.cases, 'measured case')}"
        return f"{first}{why if one.explained > 0 else ''}."
    names = list(one.shares)
    much = [n for n in names if one.shares[n][1] > MATTERED]
    little = [n for n in names if one.shares[n][2] < MATTERED]
    unsure = [n for n in names if n not in much and n not in little]
    shown = [(n, *(f"{100 * share:.0f}" for share in one.shares[n])) for n in much[:NAMED]]
    parts = [f"{n} {middle} % ({low} to {high} %)" for n, middle, low, high in shown]
    first = (
        f"What mattered for {objective} in this search (share of the variance, 95 % interval): " + ", ".join(parts)
        if parts
        else f"No parameter certainly mattered for {objective} in this search"
    )
    rest = [f"{len(much) - NAMED} more"] if len(much) > NAMED else []
    rest += [f"hardly (below {100 * MATTERED:.0f} %): {_some(little)}"] if little else []
    rest += [f"undecided: {_some(unsure)}"] if unsure else []
    return f"{'; '.join([first, *rest])}."


def _some(names: list[str]) -> str:
    return listed(names if len(names) <= NAMED else [*names[:NAMED], f"{len(names) - NAMED} more"])


def _read(known: Mapping[str, Any], told: str) -> Searched:
    objectives = tuple(one_line(str(name), 60) for name in known["objectives"])
    better = known.get("better") or ["lower"] * len(objectives)
    higher = tuple(better[n] == "higher" for n in range(len(objectives)))
    cases = tuple(_told(n, line, higher) for n, line in enumerate(told.splitlines(), 1))
    parameters = tuple(one_line(str(name), 40) for name in known["parameters"])
    values = tuple(tuple(one_line(str(v), 40) for v in own) for own in known["values"])
    importance = zip(objectives, known.get("importance") or (), strict=False)
    around = known.get("slices") or {"best": (), "along": {}}
    best = [own[n] for own, n in zip(values, around["best"], strict=False)]
    along = zip(parameters, best, strict=False)
    anew = {tuple(map(int, e["point"])): tuple(map(_three, e["values"])) for e in known.get("anew") or ()}
    results = [(case.point, case.results or objectives) for case in cases]
    for point, own in [*results, *anew.items()]:
        if len(own) != len(objectives) or not all(0 <= n < len(v) for n, v in zip(point, values, strict=True)):
            raise ValueError(f"{point} is no point of this search")
    return Searched(
        _about(known, cases),
        objectives,
        higher,
        parameters,
        values,
        cases,
        anew,
        tuple(_importance(name, content) for name, content in importance if content),
        {name: tuple(_value(e, value) for e in around["along"][name]) for name, value in along},
        known.get("rehearsal") is True,
    )


def _about(known: Mapping[str, Any], cases: Sequence[Told]) -> str:
    legal, settings = known.get("legal"), known.get("settings")
    share = f" of {legal:,} legal combinations" if isinstance(legal, int) else ""
    own = settings if isinstance(settings, dict) else {}
    how = [f"{name} {one_line(str(own[name]), 30)}" for name in ("sampler", "seed") if name in own]
    failed = sum(not case.results for case in cases)
    without = [name for name in map(str, known["objectives"]) if name != TIME]
    lacks = (
        f" or {'has' if failed == 1 else 'have'} no value of {one_line(' or '.join(without), 90)}" if without else ""
    )
    some = f" {count(failed, 'case')} failed{lacks}." if failed else ""
    ended = one_line(str(known.get("ended") or ""), 200)
    why = f"the search ended because {ended}." if ended else "the search has not ended."
    return f"{count(len(cases), 'case')}{share}; {', '.join(how)}{'; ' * bool(how)}{why}{some}"


def _importance(name: str, content: Mapping[str, Any]) -> Importance:
    shares = sorted(((one_line(str(n), 40), _three(s)) for n, s in content["shares"].items()), key=lambda s: -s[1][0])
    return Importance(name, int(content["cases"]), float(content["explained"]), dict(shares))


def _told(number: int, line: str, higher: Sequence[bool]) -> Told:
    """A line of search.jsonl. What should be large was told as its negative."""
    content: Any = json.loads(line)
    pairs = zip(higher, content["values"], strict=True) if content["values"] else ()
    results = _finite(tuple(-float(v) if high else float(v) for high, v in pairs))
    return Told(number, float(content["seconds"]), tuple(map(int, content["point"])), results)


def _value(entry: Mapping[str, Any], best: str) -> Value:
    value = one_line(str(entry["value"]), 40)
    measured, model = (None if entry[name] is None else _three(entry[name]) for name in ("measured", "model"))
    return Value(
        value, bool(entry["legal"]), bool(entry["failed"]), measured, bool(entry["anew"]), value == best, model
    )


def _three(content: Any) -> Three:
    middle, low, high = _finite(tuple(map(float, content))) or ("not", "three", "numbers")
    return float(middle), float(low), float(high)


def _finite(values: tuple[float, ...]) -> tuple[float, ...]:
    return values if all(map(math.isfinite, values)) else ()
