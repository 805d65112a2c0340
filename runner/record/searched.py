"""The files of a search: search.jsonl, a line for each measured case, and search.json, its settings and results.

`read` treats malformed files as missing, so that the cases of a damaged search can still be reported.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runner.device.kinds import is_gpu
from runner.display.text import one_line
from runner.files import limited
from runner.record import runs
from runner.record.folder import RunFolder

Point = tuple[int, ...]
"""A combination: the index of each parameter's value among its values."""

Values = tuple[float, ...]
"""The minimized values: one, or two for a Pareto front. A value to be maximized is negated."""

Three = tuple[float, float, float]
"""A number, and its 95 % interval."""


@dataclass(frozen=True)
class Trial:
    """A measured point. A level is a step of successive halving: a higher level measures with more samples."""

    point: Point
    values: Values | None  # at its highest level; `None` if the case failed
    seconds: float  # from the start of the search to its first measurement
    level: int = 0
    before: tuple[tuple[int, Values], ...] = ()  # lower levels and their values

    def measured_at(self, level: int) -> bool:
        """Whether it was measured at a level."""
        return level == self.level or level in dict(self.before)

    def values_at(self, level: int) -> Values | None:
        """The values at a level; `None` if it was not measured there, or failed."""
        return self.values if level == self.level else dict(self.before).get(level)

    def with_level(self, level: int, values: Values | None) -> Trial:
        """The trial with the values of a higher level added."""
        before = (*self.before, (self.level, self.values)) if self.values is not None else self.before
        return Trial(self.point, values, self.seconds, level, before)


@dataclass(frozen=True)
class SearchedCase:
    """A measured case of a search, for reports."""

    number: int  # counted from 1
    seconds: float  # since the start of the search
    point: Point
    results: Values  # the objectives' columns, not negated; empty if the case failed


@dataclass(frozen=True)
class Importance:
    """The share of each parameter in the variance of an objective, the largest first; empty if unknown."""

    objective: str
    cases: int
    explained: float  # share of the variance that the model explains of cases that were not used to fit it
    shares: Mapping[str, Three]


@dataclass(frozen=True)
class Value:
    """A value of a parameter, with all other parameters as in the best case."""

    value: str
    legal: bool
    failed: bool
    measured: Three | None
    remeasured: bool
    is_best: bool
    model: Three | None


@dataclass(frozen=True)
class Searched:
    """A search, finished or not."""

    ended: str  # the reason; empty if it has not ended
    legal: int | None  # number of legal combinations
    settings: Mapping[str, Any]  # of its sampler
    objectives: tuple[str, ...]
    higher: tuple[bool, ...]  # whether larger values are better
    parameters: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]  # of each parameter
    cases: tuple[SearchedCase, ...]
    remeasured: Mapping[Point, tuple[Three, ...]]  # the objectives of the best points, measured again at the end
    importance: tuple[Importance, ...]
    slices: Mapping[str, tuple[Value, ...]]
    rehearsal: bool  # whether it minimized times of the CPU device, which do not show the best case

    def described(self, point: Sequence[int], names: Sequence[str]) -> str:
        """The parameters `names` of a point in words."""
        texts = {n: own[i] for n, own, i in zip(self.parameters, self.values, point, strict=True)}
        return ", ".join(f"{n} {texts[n]}" for n in names)


def write_trials(folder: RunFolder, trials: Sequence[Trial]) -> None:
    """Write the measured points, so that an interrupted search can be resumed."""
    lines = [json.dumps(dataclasses.asdict(trial)) for trial in trials]
    folder.write(folder.trials, "".join(f"{line}\n" for line in lines))


def trials(folder: RunFolder) -> Iterator[Trial]:
    """Read the measured points in order; empty in a new search. A malformed line raises one of `runs.MALFORMED`."""
    for line in folder.text(folder.trials).splitlines() if folder.has(folder.trials) else ():
        content = limited.load_json(line)
        point, seconds = tuple(map(int, content["point"])), float(content["seconds"])
        values = tuple(map(float, content["values"])) if content["values"] else None
        if not all(map(math.isfinite, (*(values or ()), seconds))):
            raise ValueError(f"{point} has a value that is not finite")
        before = tuple((int(n), tuple(map(float, v))) for n, v in content.get("before", ()))
        yield Trial(point, values, seconds, int(content.get("level", 0)), before)


def require_within(point: Point, sizes: Sequence[int]) -> None:
    """Raise a `ValueError` for a point outside a space. `sizes` are the numbers of values of its parameters."""
    if not all(0 <= n < size for n, size in zip(point, sizes, strict=True)):
        raise ValueError(f"{point} is not in the space")


def read(folder: RunFolder) -> Searched | None:
    """The search of a folder; `None` if there is none, or its files are malformed."""
    content = folder.json(folder.search)
    if not isinstance(content, dict) or not folder.has(folder.trials):
        return None
    devices = runs.section(runs.environment(folder.path), "devices").values()
    on_cpu = any(isinstance(d, dict) and not is_gpu(str(d.get("kind"))) for d in devices)
    try:
        return _searched({"rehearsal": on_cpu, **content}, list(trials(folder)))  # older versions lack the key
    except runs.MALFORMED:
        return None


def _searched(content: Mapping[str, Any], measured: Sequence[Trial]) -> Searched:
    objectives, parameters = _texts(content["objectives"], 60), _texts(content["parameters"])
    better = content.get("better") or ["lower"] * len(objectives)
    higher = tuple(better[n] == "higher" for n in range(len(objectives)))
    values = tuple(_texts(own) for own in content["values"])
    cases = []
    for n, trial in enumerate(measured, 1):
        pairs = zip(higher, trial.values or (), strict=trial.values is not None)
        cases.append(SearchedCase(n, trial.seconds, trial.point, tuple(-v if high else v for high, v in pairs)))
    remeasured = {tuple(map(int, e["point"])): tuple(map(_three, e["values"])) for e in content.get("anew") or ()}
    for point, results in [*((case.point, case.results or objectives) for case in cases), *remeasured.items()]:
        require_within(point, list(map(len, values)))
        if len(results) != len(objectives):
            raise ValueError(f"{point} has {len(results)} values")
    importance = zip(objectives, content.get("importance") or (), strict=False)
    slices = content.get("slices") or {"best": (), "along": {}}
    best = [own[n] for own, n in zip(values, slices["best"], strict=False)]
    legal, settings = content.get("legal"), content.get("settings")
    return Searched(
        ended=one_line(str(content.get("ended") or ""), 200),
        legal=legal if isinstance(legal, int) else None,
        settings=settings if isinstance(settings, dict) else {},
        objectives=objectives,
        higher=higher,
        parameters=parameters,
        values=values,
        cases=tuple(cases),
        remeasured=remeasured,
        importance=tuple(_importance(name, entry) for name, entry in importance if entry),
        slices={
            name: tuple(_value(entry, value) for entry in slices["along"][name])
            for name, value in zip(parameters, best, strict=False)
        },
        rehearsal=content.get("rehearsal") is True,
    )


def _importance(name: str, entry: Mapping[str, Any]) -> Importance:
    shares = sorted(((one_line(str(n), 40), _three(s)) for n, s in entry["shares"].items()), key=lambda s: -s[1][0])
    return Importance(name, int(entry["cases"]), float(entry["explained"]), dict(shares))


def _value(entry: Mapping[str, Any], best: str) -> Value:
    value = one_line(str(entry["value"]), 40)
    measured, model = (None if entry[name] is None else _three(entry[name]) for name in ("measured", "model"))
    legal, failed, remeasured = (bool(entry[name]) for name in ("legal", "failed", "anew"))
    return Value(value, legal, failed, measured, remeasured, value == best, model)


def _texts(names: Sequence[Any], width: int = 40) -> tuple[str, ...]:
    return tuple(one_line(str(name), width) for name in names)


def _three(numbers: Any) -> Three:
    middle, low, high = map(float, numbers)
    if not all(map(math.isfinite, (middle, low, high))):
        raise ValueError(f"{numbers} has a value that is not finite")
    return middle, low, high
