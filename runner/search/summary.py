"""Summarize a search for its report: the cases measured again, which parameters mattered, slices around the best case.

The summary goes into search.json, because the report has neither the constraints of the space nor the kernels' metrics.
Values have the sign and unit of the objective's column. Three numbers are a value and the ends of its 95 % interval.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from runner.kernel.metrics import TIME, Criterion, Metric, Names
from runner.record.searched import Point, Three, Trial, Values
from runner.search.importance import Model, Sensitivity
from runner.search.space import Space

MAX_VALUES = 48  # per slice, besides the measured ones


def summary(
    space: Space,
    trials: Sequence[Trial],
    remeasured: Sequence[Point],
    row: Callable[[Point], Names],
    objectives: Sequence[Metric],
) -> dict[str, Any]:
    """Compute the entries of search.json.

    Args:
        space: The search's space.
        trials: The measured points.
        remeasured: The points that were measured again at the end.
        row: Looks up a point's row, with the parameters as metrics name them; empty if the point has no row.
        objectives: What was minimized or maximized.

    Returns:
        `anew`, `importance` (one entry per objective) and, for a single objective, `slices`.
    """
    measured = {t.point: t.values for t in trials}
    again = {p: v for p in remeasured if (v := [_with_interval(m, row(p)) for m in objectives]) and all(v)}
    models = []
    for n, metric in enumerate(objectives):
        values = {p: _sign(metric) * v[n] for p, v in measured.items() if v}
        models.append(Model(space, values) if len(set(values.values())) > 1 else None)
    entries: dict[str, Any] = {"anew": [{"point": p, "values": v} for p, v in again.items()]}
    entries["importance"] = [_plain(m.sensitivity()) if m else None for m in models] if len(space.axes) > 1 else []
    if len(objectives) == 1 and any(measured.values()):
        entries["slices"] = _slices(space, measured, again, row, objectives[0], models[0])
    return entries


def _slices(
    space: Space,
    measured: Mapping[Point, Values | None],
    again: Mapping[Point, Sequence[Three | None]],
    row: Callable[[Point], Names],
    metric: Metric,
    model: Model | None,
) -> dict[str, Any]:
    """Vary each parameter of the best case alone: measured and predicted values along each axis."""
    sign = _sign(metric)

    def interval(point: Point) -> Three | None:
        """The value of a point with the interval of its row, from the last measurement."""
        values = measured.get(point)
        if point in again or not values:
            return again[point][0] if point in again else None
        value, own = sign * values[0], _with_interval(metric, row(point))
        scale = value / own[0] if own and own[0] else 1.0
        return (value, scale * own[1], scale * own[2]) if own else (value, value, value)

    values = {p: v[0][0] for p, v in again.items() if v[0]} or {p: sign * v[0] for p, v in measured.items() if v}
    best = min(values, key=lambda p: (sign * values[p], p))
    along = {}
    for n, axis in enumerate(space.axes):
        line = [(*best[:n], value, *best[n + 1 :]) for value in range(len(axis.values))]
        drawn = set(np.linspace(0, len(line) - 1, min(len(line), MAX_VALUES)).astype(int).tolist())
        line = [p for p in line if p[n] in drawn or p in measured]
        legal = [p for p in line if p in measured or space.legal(p)]
        expected = dict(zip(legal, model.intervals(legal), strict=True)) if model else {}
        along[axis.name] = [
            {
                "value": str(axis.values[p[n]]),
                "legal": p in legal,
                "failed": p in measured and not measured[p],
                "measured": interval(p),
                "anew": p in again,
                "model": expected.get(p),
            }
            for p in line
        ]
    return {"best": best, "along": along}


def _sign(metric: Metric) -> float:
    return -1.0 if metric.better == "higher" else 1.0


def _with_interval(metric: Metric, row: Names) -> Three | None:
    """The value of a row's objective, with the interval that follows from the median time's interval."""
    if row.get("status") != "ok":
        return None
    if not metric.depends_on_time:
        value = metric(row)
        return None if value is None else (value, value, value)
    by = Criterion(metric.name, metric.better, metric.unit, {str(row.get("kernel")): metric})
    times = [row.get(name) for name in (TIME, "ci_low_us", "ci_high_us")]
    values = [by.value(row, t) for t in times if isinstance(t, int | float) and t > 0]
    numbers = [v for v in values if v is not None]
    return (numbers[0], min(numbers), max(numbers)) if numbers else None


def _plain(sensitivity: Sensitivity) -> dict[str, Any]:
    shares = {name: [round(number, 4) for number in share] for name, share in sensitivity.shares.items()}
    return {"cases": sensitivity.cases, "explained": round(sensitivity.explained, 4), "shares": shares}
