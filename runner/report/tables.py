"""The tables of the pages: their columns and cells, and the data of the page's script. No HTML here."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from runner.columns import BY_NAME, COLUMNS, shown
from runner.display.column import Shown
from runner.display.table import ZERO_IS_NOTHING, Cell, Line, Table
from runner.display.text import HEADS_EXPLAINED, PAIRS, absent, exact, one_line, pair, plain, rough, size_of, value_of
from runner.kernel.metrics import Metric
from runner.record import gpus
from runner.record.ranking import IDLE, Ranking, Ratio, best_of, differing_peers, ranker, ratio, steps
from runner.record.run import Run, size_key

Row = dict[str, Any]
Case = tuple[Row, Ratio]

RANGES = {"ci_low_us to ci_high_us": ("ci_low_us", "ci_high_us"), "q1_us to q3_us": ("q1_us", "q3_us")}
EXACT = ("us", "GB/s", "GFLOP/s")
SMALL = ("J", "GB/s/W")  # units whose values may be far below 1
BEST = "best against best"
HOST_TIMES = "emulated time, which says nothing about a GPU"

_HEAD_OF = {column: head for head, both in {**RANGES, **PAIRS}.items() for column in both}

TIPS = {
    **{name: re.sub(r"`|\[(.+?)\]\(.+?\)", r"\1", column.meaning) for name, column in BY_NAME.items()},
    **HEADS_EXPLAINED,
    "ci_low_us to ci_high_us": "95 % confidence interval of median_us.",
    "q1_us to q3_us": "The middle half of the samples.",
    "speedup": "Time of the baseline divided by the time of the case, at the same parameters.",
    BEST: "Time of the baseline's fastest case at this size, divided by that of the kernel's fastest case.",
    "cases": "Cases at each size.",
    "tied": "This measurement cannot tell these cases apart in speed: any of them is an equally good choice. "
    "Undecided cases may be as fast or slower.",
}
"""Explanations of column heads."""


def all_cases(run: Run, ratios: dict[int, Ratio]) -> Table:
    """The table of all cases, without the columns of `same_in_all`.

    Args:
        run: The run.
        ratios: The speed-ups of its cases by row number.
    """
    same = _same_results(run)
    first, *others = shown(Shown.ALWAYS)
    calculated = _heads(name for name in shown(Shown.CALCULATED) if name not in same)
    hidden = _heads(name for name in shown(Shown.ON_REQUEST) if name not in same)
    metrics = run.metrics
    if run.frame["median_us"].isna().all():
        names = [*run.varying, first, *calculated, *metrics, *others, "emulated_us", *hidden]
    else:
        hidden = [*calculated, *hidden]
        times = [*_heads(shown(Shown.MEASURED)), *metrics, "speedup", *others, "emulated_us"]
        names = [*run.varying, first, *times, *hidden]
    marks = anchors(run)
    lines = [Line(marks[row["row"]], [_cell(name, row, ratios, metrics) for name in names]) for row in run.rows]
    return Table(names, lines).filled("kernel", on_request=hidden)


def fastest_cases(run: Run, best: list[Ranking]) -> Table:
    """The table of the fastest case of each size, compared with the fastest case of its kernel's baseline."""
    apart = [name for name in differing_peers(run) if name not in run.varying]
    parameters = [name for name in run.varying if name != "size"]
    beside = [head for head in PAIRS if len({pair(one.fastest, head) for one in best}) > 1]
    front, *others = _heads(shown(Shown.MEASURED))
    names = ["size", *parameters, *apart, front, BEST, "tied", *others, *run.metrics, *beside]
    marks, every, ranked, metrics = anchors(run), best_of(run), ranker(run), run.metrics
    lines = []
    for one in best:
        row = one.fastest
        base = every.get((row["device"], row["place"], row["dtype"], row["baseline"]), {}).get(size_of(row))
        gain = _gain(row, base if row["baseline"] != row["kernel"] else None, ranked)
        against = replace(gain, text=gain.text.replace("x", f"x {row['baseline']}", 1))
        own = {BEST: against, "tied": _tied(one)}
        lines.append(Line(marks[row["row"]], [own[n] if n in own else _cell(n, row, {}, metrics) for n in names]))
    return Table(names, lines).filled()


def same_in_all(run: Run) -> str:
    """Describe the parameters and results that are the same in all cases, and therefore have no column."""
    everywhere = [name for name in (*run.constant, *_same_results(run)) if name != "kernel"]
    same = ", ".join(f"{name} {_first(run, name)}" for name in everywhere)
    some = ", ".join(f"{name} {_first(run, name)}" for name in run.where_read)
    return "; ".join(words for words in (same, some and f"where used: {some}") if words)


def tips(run: Run) -> dict[str, str]:
    """Explain the column heads of a run's tables; a metric is explained by its expression."""
    found = run.metrics
    units = {name: f" ({metric.unit})" if metric.unit else "" for name, metric in found.items()}
    return TIPS | {name: f"{metric.value.text}{units[name]}." for name, metric in found.items()}


def anchors(run: Run) -> dict[int, str]:
    """Make an HTML anchor for each row number from the case's id, so that links stay valid after a rebuild."""
    marks: dict[str, int] = {}
    for row, case in zip(run.frame.index, run.frame["case"], strict=True):
        mark = "case-" + re.sub(r"[^A-Za-z0-9_-]", "-", str(case))[:60]
        while mark in marks:
            mark += f"-{row}"
        marks[mark] = int(row)
    return {row: mark for mark, row in marks.items()}


def geometric_means(run: Run, ratios: dict[int, Ratio]) -> Table:
    """The table of geometric mean speed-ups by kernel and size, over configurations that the baseline has, too.

    It has no lines if no size has several such configurations.
    """
    groups = by_baseline(run, ratios)
    if all(len(cases) < 2 for by_size in groups.values() for cases in by_size.values()):
        return Table([], [])
    sizes = _sizes(row for by_size in groups.values() for cases in by_size.values() for row, _ in cases)
    lines = [
        Line("", [Cell(name), Cell(against), _cases(by_size), *(_mean(by_size.get(size, [])) for size in sizes)])
        for (name, against), by_size in groups.items()
    ]
    return Table(["kernel", "baseline", "cases", *(size or "speedup" for size in sizes)], lines)


def by_baseline(run: Run, ratios: Mapping[int, Ratio]) -> dict[tuple[str, str], dict[str, list[Case]]]:
    """Group the cases with a ratio by kernel and baseline (as titled in tables), then by ascending size."""
    rows, apart = {row["row"]: row for row in run.rows}, separating(run)
    groups: dict[tuple[str, str], dict[str, list[Case]]] = {}
    for one in sorted(ratios.values(), key=lambda one: one.row):
        row, base = rows[one.row], rows[one.baseline_row]
        groups.setdefault(titles(apart, row, base), {}).setdefault(size_of(row), []).append((row, one))
    return {
        key: dict(sorted(by_size.items(), key=lambda item: size_key(item[1][0][0]))) for key, by_size in groups.items()
    }


def separating(run: Run) -> list[str]:
    """The columns whose value becomes part of a kernel's title."""
    several = ["place"] if len(set(run.frame["place"])) > 1 else []
    return [name for name in differing_peers(run) if name in ("dtype", "device")] + several


def titles(apart: Sequence[str], row: Row, base: Row) -> tuple[str, str]:
    """The titles of a kernel and its baseline, with the values of the columns `apart`, and finishes if they differ."""
    finish = f" (finish {row['finish']})", f" (finish {base['finish']})"
    apart_too = finish if row["finish"] != base["finish"] else ("", "")
    return _named(row, apart) + apart_too[0], f"{base['kernel']}{apart_too[1]}"


def best_against_best(run: Run) -> Table:
    """The table of each kernel's fastest case per size against its baseline's; no lines if no baseline was run."""
    found, ranked, marks = steps(run), ranker(run), anchors(run)
    rows = [row for step in found for row in step.fastest.values()]
    if not rows:
        return Table([], [])
    apart = separating(run)
    apart += ["finish"] if len({row["finish"] for row in rows}) > 1 else []
    sizes = _sizes(rows)
    numbers = ["median_us", *[name for name in ("percent_copy", "percent_peak") if not absent(rows[0][name])][:1]]
    lines = []
    for step in found:
        gains = [_gain(step.fastest.get(size), step.against.get(size), ranked) for size in sizes]
        last = step.fastest.get(sizes[-1])
        cells = [_cell(name, last, {}) if last else Cell("") for name in numbers]
        kernel = Cell(_named(next(iter(step.fastest.values())), apart))
        lines.append(Line(marks[last["row"]] if last else "", [kernel, Cell(step.before), *gains, *cells]))
    at = f" at {sizes[-1]}" if sizes[-1] else ""
    return Table(
        ["kernel", "baseline", *(size or "speedup" for size in sizes), *(name + at for name in numbers)], lines
    )


def of_gpus(run: Run) -> Table:
    """The table of a sweep's GPUs: one row per shard that measured the reference case; empty for a single GPU."""
    found, cases = gpus.gpus(run.gpus), run.gpus.get("cases", {})
    if len({gpu.uuid for gpu in found}) < 2:
        return Table([], [])
    fastest = {gpu.name: min(one.us for one in found if one.name == gpu.name) for gpu in found}
    lines = []
    for gpu in found:
        name = gpus.short(f"{gpu.name} {gpu.uuid}")
        above = 100 * (gpu.us / fastest[gpu.name] - 1)
        numbers = (f"{cases.get(name, 0)}", exact(gpu.us), f"{above:.2f}", f"{100 * gpu.drift:.2f}")
        lines.append(Line("", [Cell(one_line(text, 60)) for text in (name, *numbers, gpu.case)]))
    return Table(["GPU", "cases", "reference_us", "above_fastest_percent", "drift_percent", "reference case"], lines)


def _heads(names: Iterable[str]) -> list[str]:
    """The column heads of a table with these columns; two columns may share a head."""
    return list(dict.fromkeys(_HEAD_OF.get(name, name) for name in names))


def _same_results(run: Run) -> list[str]:
    """The result columns with the same value in all cases, except zeros that mean nothing."""
    names = [name for name in shown(Shown.CALCULATED, Shown.ON_REQUEST) if name not in _HEAD_OF and len(run.frame) > 1]
    single = {name: run.frame[name].iloc[0] for name in names if len(run.frame[name].unique()) == 1}
    return [name for name, v in single.items() if not absent(v) and (name not in ZERO_IS_NOTHING or v != 0)]


def _first(run: Run, name: str) -> str:
    held = run.frame[[not absent(value) for value in run.frame[name]]].iloc[:1]
    return one_line(_cell(name, run.with_frame(held).rows[0], {}).text, 60)


def _cell(name: str, row: Row, ratios: dict[int, Ratio], metrics: Mapping[str, Metric] | None = None) -> Cell:
    if name == "status":
        kind = "good" if row["status"] == "ok" else "idle" if row["status"] in IDLE else "bad"
        return Cell(one_line(row["status"].replace("_", " "), 80), kind=kind)
    if name == "speedup":
        return Cell(f"{ratios[row['row']].times:.2f}x" if row["row"] in ratios else "")
    if name in RANGES:
        low, high = (row[part] for part in RANGES[name])
        return Cell("" if absent(low) or absent(high) else f"{exact(low)} to {exact(high)}")
    if name in PAIRS:
        return Cell(pair(row, name))
    if name == "size":
        return Cell(size_of(row))
    column, metrics = BY_NAME.get(name), metrics or {}
    if absent(row[name]):
        return Cell("")
    if column and column.type == "real":
        return Cell(_number(column.unit, row[name]))
    if name in metrics:
        return Cell(f"{row[name]:.4g}")
    return Cell(one_line(value_of(name, row), 80))


def _number(unit: str, value: float) -> str:
    return f"{value:.4g}" if unit in SMALL else exact(value) if unit in EXACT else rough(value)


def _tied(one: Ranking) -> Cell:
    if one.among == 1:
        return Cell("the only one")
    return Cell(f"{len(one.tied)}" + (f" tied, {len(one.undecided)} undecided" if one.undecided else ""))


def _gain(row: Row | None, base: Row | None, ranked: Callable[[Sequence[Row]], Ranking]) -> Cell:
    """The cell of a speed-up over a baseline: the ratio, and whether it is tied or undecided."""
    if row is None or base is None:
        return Cell("")
    found, times = ranked([base, row]), ratio(base, row).times
    word = ", tied" if found.tied else ", undecided" if found.undecided else ""
    return Cell(f"{times:.2f}x{word}", kind="level" if word else "good" if times > 1 else "slow")


def _cases(by_size: dict[str, list[Case]]) -> Cell:
    numbers = sorted({len(found) for found in by_size.values()})
    return Cell(f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else str(numbers[0]))


def _mean(cases: list[Case]) -> Cell:
    if not cases:
        return Cell("")
    mean = statistics.geometric_mean(ratio.times for _, ratio in cases)
    low, high = min(ratio.low for _, ratio in cases), max(ratio.high for _, ratio in cases)
    kind = "level" if low <= 1 <= high else "good" if low > 1 else "slow"
    return Cell(f"{mean:.2f}x ({low:.2f} to {high:.2f})", kind=kind)


def _named(row: Row, apart: Sequence[str]) -> str:
    return ", ".join([row["kernel"], *(row[name] if name == "place" else f"{name} {row[name]}" for name in apart)])


def _sizes(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(size_of(row) for row in sorted(rows, key=size_key)))


LEFT_OUT = frozenset(("jobs", "case", "reason", "note", "received", "value", "reference", "rows", "cols", "row"))
"""Columns with long texts, and columns that repeat others."""

DIGITS = 5


def embedded(run: Run, in_table: Sequence[str], views: Iterable[dict[str, Any]]) -> str:
    """Format the data of the page's script as JSON that is safe inside HTML.

    Args:
        run: The run.
        in_table: The columns of the table, which are left out.
        views: The charts.

    Returns:
        Further columns (a single value if all rows share it), parameters, units, limits, charts and row numbers.
    """
    views = list(views)
    rest = sorted(str(name) for name in run.frame.columns if name not in LEFT_OUT and name not in in_table)
    further = {name: known for name in rest if (known := _column(run.frame[name].tolist())) is not None}
    content = {
        "columns": further,
        "parameters": run.parameters,
        "results": [name for name in ("gbps", "median_us", *shown(Shown.MEASURED)) if name in in_table],
        "units": {column.name: column.unit for column in COLUMNS if column.unit and views},
        "limits": _limits(run.rows) if views else {},
        "views": [view for view in views if "kind" not in view],
        "panels": [view for view in views if "kind" in view],
        "rows": [int(row) for row in run.frame.index],
    }
    return json.dumps(content, allow_nan=False, separators=(",", ":"), default=_plain).replace("<", "\\u003c")


def _column(values: list[Any]) -> Any:
    known = [_plain(value) for value in values]
    return known[0] if known and all(value == known[0] for value in known) else known


def _plain(value: Any) -> Any:
    if absent(value):
        return None
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    return plain(value) if isinstance(value, str) else value.item() if hasattr(value, "item") else value


def _limits(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """The bandwidths in GB/s that are 100 % of `percent_peak` and `percent_copy`, unless rows disagree."""
    from runner.report.figures.times import LIMITS, limits  # noqa: PLC0415 - the figures import this module

    return {"gbps": {LIMITS[column][0]: round(limit, 1) for column, limit in limits(rows).items()}}
