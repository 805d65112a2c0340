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
from runner.display.text import MEANINGS, PAIRS, absent, cost_pair, exact, one_line, plain, rough, size_of, value_of
from runner.kernel.metrics import Metric
from runner.record import gpus
from runner.record.ranking import (
    IDLE,
    Ranking,
    Ratio,
    best_beside,
    best_of,
    differing_peers,
    first_baseline,
    ranker,
    ratio,
    steps,
)
from runner.record.run import Run, size_key

Row = dict[str, Any]

RANGES = {"ci_low_us to ci_high_us": ("ci_low_us", "ci_high_us"), "q1_us to q3_us": ("q1_us", "q3_us")}
LIMITS = {"percent_peak": "peak", "percent_copy": "copy"}
EXACT_UNITS = ("us", "GB/s", "GFLOP/s")
SMALL_UNITS = ("J", "GB/s/W")  # their values may be far below 1
BEST = "best against best"

_HEADS = {column: head for head, both in {**RANGES, **PAIRS}.items() for column in both}

TIPS = {
    **{name: re.sub(r"`|\[(.+?)\]\(.+?\)", r"\1", column.meaning) for name, column in BY_NAME.items()},
    **MEANINGS,
    "ci_low_us to ci_high_us": "95 % confidence interval of median_us.",
    "q1_us to q3_us": "The middle half of the samples.",
    "speedup": "Time of the baseline divided by the time of the case, at the same parameters.",
    BEST: "Time of the first baseline's fastest case at this size, divided by that of the kernel's fastest case.",
    "cases": "Cases at each size.",
    "tied": "This measurement cannot tell these cases apart in speed: any of them is an equally good choice. "
    "Undecided cases may be as fast or slower.",
}
"""Explanations of column heads."""

HEADS = {
    "median_us": "median time, µs",
    "ci_low_us to ci_high_us": "95 % interval, µs",
    "q1_us to q3_us": "middle half, µs",
    "hot_median_us": "median with warm caches, µs",
    "round_spread_percent": "rounds differ by, %",
    "gbps": "bandwidth, GB/s",
    "percent_peak": "of the peak, %",
    "percent_copy": "of a copy, %",
    "gflops": "GFLOP/s",
    "emulated_us": "emulated, µs",
    "speedup": "speed-up",
    "reference_us": "reference, µs",
    "above_fastest_percent": "slower than the fastest, %",
    "drift_percent": "drift, %",
    "max_error_ulp": "largest error, ulp",
    "wavefronts ld/st": "shared wavefronts, load/store",
    "sectors ld/st": "global sectors, load/store",
}
"""The heads of columns in words, with units, where the name says less."""

AT_SIZE = ("median_us", "percent_copy", "percent_peak")
"""Columns that the table of steps has at the largest size."""

_UNIT_ENDINGS = {"us": "_us", "%": "_percent", "bytes": "_bytes", "W": "_w", "MHz": "_mhz", "J": "_j"}

EMBEDDED_DIGITS = 5
NOT_EMBEDDED = frozenset(("jobs", "case", "reason", "note", "received", "value", "reference", "rows", "cols", "row"))
"""Columns with long texts, and columns that repeat others."""


def note_on_host_times(run: Run) -> str:
    """What the times of the CPU device are; empty if the run has none."""
    return "emulated time, which says nothing about a GPU" if run.has_emulated_times else ""


def all_cases(run: Run, ratios: dict[int, Ratio]) -> Table:
    """The table of all cases, without the columns of `same_in_all`; `ratios` has the speed-ups by row number."""
    same, metrics, marks = _same_results(run), run.metrics, anchors(run)
    first, *others = shown(Shown.ALWAYS)
    calculated = _heads(name for name in shown(Shown.CALCULATED) if name not in same)
    hidden = _heads(name for name in shown(Shown.ON_REQUEST) if name not in same)
    if run.frame["median_us"].isna().all():
        names = [*run.varying, first, *calculated, *metrics, *others, "emulated_us", *hidden]
    else:
        hidden = [*calculated, *hidden]
        times = [*_heads(shown(Shown.MEASURED)), *metrics, "speedup", *others, "emulated_us"]
        names = [*run.varying, first, *times, *hidden]
    lines = [Line(marks[row["row"]], [_cell(name, row, ratios, metrics) for name in names]) for row in run.rows]
    return Table(names, lines).filled("kernel", on_request=hidden)


def fastest_cases(run: Run, rankings: list[Ranking]) -> Table:
    """The table of the fastest case of each size, compared with the fastest case of its kernel's baseline."""
    peers = [name for name in differing_peers(run) if name not in run.varying]
    parameters = [name for name in run.varying if name != "size"]
    pairs = [head for head in PAIRS if len({cost_pair(ranking.fastest, head) for ranking in rankings}) > 1]
    front, *others = _heads(shown(Shown.MEASURED))
    names = ["size", *parameters, *peers, front, BEST, "tied", *others, *run.metrics, *pairs]
    marks, best, rank = anchors(run), best_of(run), ranker(run)
    lines = []
    for ranking in rankings:
        row = ranking.fastest
        base = first_baseline(row, best_beside(row, best))
        gain = _gain(row, None if base is row else base, rank)
        tied, undecided = len(ranking.tied), len(ranking.undecided)
        counts = f"{tied} tied, {undecided} undecided" if undecided else f"{tied}"
        own = {
            BEST: replace(gain, text=gain.text.replace("x", f"x {base['kernel']}", 1)),
            "tied": Cell("the only one" if ranking.among == 1 else counts),
        }
        cells = [own[name] if name in own else _cell(name, row, {}, run.metrics) for name in names]
        lines.append(Line(marks[row["row"]], cells))
    return Table(names, lines).filled()


def same_in_all(run: Run) -> str:
    """Describe the parameters and results that are the same in all cases, and therefore have no column."""

    def words(name: str) -> str:
        row = next(row for row in run.rows if not absent(row[name]))
        return f"{name} {one_line(_cell(name, row, {}).text, 60)}"

    same = ", ".join(words(name) for name in (*run.constant, *_same_results(run)) if name != "kernel")
    where_used = ", ".join(map(words, run.where_read))
    return "; ".join(filter(None, (same, where_used and f"where used: {where_used}")))


def tips(run: Run) -> dict[str, str]:
    """Explain the column heads of a run's tables; a metric is explained by its expression."""
    units = {name: f" ({metric.unit})" if metric.unit else "" for name, metric in run.metrics.items()}
    return TIPS | {name: f"{metric.value.text}{units[name]}." for name, metric in run.metrics.items()}


def heads(run: Run) -> dict[str, str]:
    """The heads of a run's tables in words, with units, by the name of the column. Parameters keep their names."""
    units = {name: metric.unit for name, metric in run.metrics.items()}
    results = {column.name: column.unit for column in COLUMNS if column.shown is not Shown.NEVER} | units
    sizes = _sizes(run.measured.rows)
    at_sizes = {f"{name} at {size}": f"{HEADS[name]}, at {size}" for name in AT_SIZE for size in sizes}
    return {name: _in_words(name, unit) for name, unit in results.items()} | HEADS | at_sizes


def _in_words(name: str, unit: str) -> str:
    words = name.removesuffix(_UNIT_ENDINGS.get(unit, "\0")).replace("_", " ")
    symbol = {"us": "µs"}.get(unit, unit)
    return f"{words}, {symbol}" if symbol else words


def anchors(run: Run) -> dict[int, str]:
    """Make an HTML anchor for each row number from the case's id, so that links stay valid after a rebuild."""
    marks: dict[str, int] = {}
    for row, case in zip(run.frame.index, run.frame["case"], strict=True):
        mark = "case-" + re.sub(r"[^A-Za-z0-9_-]", "-", str(case))[:60]
        while mark in marks:
            mark += f"-{row}"
        marks[mark] = int(row)
    return {row: mark for mark, row in marks.items()}


def geometric_means(run: Run, ratios: Mapping[int, Ratio]) -> Table:
    """The table of geometric mean speed-ups by kernel and size, over configurations that the baseline has, too.

    It has no lines if no size has several such configurations.
    """
    rows, peers = run.by_number, separating_columns(run)
    groups: dict[tuple[str, str], dict[str, list[Ratio]]] = {}  # by kernel and baseline, then by size
    for _, pair in sorted(ratios.items()):
        row = rows[pair.row]
        by_size = groups.setdefault(titles(peers, row, rows[pair.baseline_row]), {})
        by_size.setdefault(size_of(row), []).append(pair)
    if all(len(cases) < 2 for by_size in groups.values() for cases in by_size.values()):
        return Table([], [])
    sizes = _sizes(rows[number] for number in ratios)
    lines = []
    for (name, baseline), by_size in groups.items():
        few, most = min(map(len, by_size.values())), max(map(len, by_size.values()))
        cases = Cell(f"{few} to {most}" if few < most else str(few))
        lines.append(Line("", [Cell(name), Cell(baseline), cases, *(_mean(by_size.get(size, [])) for size in sizes)]))
    return Table(["kernel", "baseline", "cases", *(size or "speedup" for size in sizes)], lines)


def separating_columns(run: Run) -> list[str]:
    """The columns whose value becomes part of a kernel's title."""
    places = ["place"] if len(set(run.frame["place"])) > 1 else []
    return [name for name in differing_peers(run) if name in ("dtype", "device")] + places


def titles(columns: Sequence[str], row: Row, base: Row) -> tuple[str, str]:
    """The titles of a kernel and its baseline, with the values of the columns, and finishes if they differ."""
    finishes = [f" (finish {row['finish']})", f" (finish {base['finish']})"]
    own, other = finishes if row["finish"] != base["finish"] else ("", "")
    return _title(row, columns) + own, f"{base['kernel']}{other}"


def best_against_best(run: Run) -> Table:
    """The table of each kernel's fastest case per size against its baseline's; no lines if no baseline was run."""
    pairs, rank, marks = steps(run), ranker(run), anchors(run)
    rows = [row for step in pairs for row in step.fastest.values()]
    if not rows:
        return Table([], [])
    columns = separating_columns(run) + (["finish"] if len({row["finish"] for row in rows}) > 1 else [])
    sizes = _sizes(rows)
    best = best_of(run)
    firsts = {first_baseline(row, best_beside(row, best))["kernel"] for row in rows}
    first = firsts.pop() if len(firsts) == 1 and len({step.before for step in pairs if step.before}) > 1 else ""
    numbers = ["median_us", *[name for name in ("percent_copy", "percent_peak") if not absent(rows[0][name])][:1]]
    lines = []
    for step in pairs:
        gains = [_gain(step.fastest.get(size), step.against.get(size), rank) for size in sizes]
        last = step.fastest.get(sizes[-1])
        cells = [_cell(name, last, {}) if last else Cell("") for name in numbers]
        if first:
            base = best_beside(last, best).get(first) if last else None
            cells.insert(0, _gain(last, base, rank) if last and last["kernel"] != first else Cell(""))
        kernel = Cell(_title(next(iter(step.fastest.values())), columns))
        lines.append(Line(marks[last["row"]] if last else "", [kernel, Cell(step.before), *gains, *cells]))
    at_size = f" at {sizes[-1]}" if sizes[-1] else ""
    heads = [*(size or "speedup" for size in sizes), *([f"over {first}{at_size}"] if first else [])]
    heads += [name + at_size for name in numbers]
    return Table(["kernel", "baseline", *heads], lines)


def gpu_table(run: Run) -> Table:
    """The table of a sweep's GPUs: one row per shard that measured the reference case; empty for a single GPU."""
    measured, cases = gpus.gpus(run.gpus), run.gpus.get("cases", {})
    if len({gpu.uuid for gpu in measured}) < 2:
        return Table([], [])
    rows = []
    for gpu in measured:
        name = gpus.short(f"{gpu.name} {gpu.uuid}")
        above = 100 * (gpu.us / min(other.us for other in measured if other.name == gpu.name) - 1)
        numbers = (f"{cases.get(name, 0)}", exact(gpu.us), f"{above:.2f}", f"{100 * gpu.drift:.2f}")
        rows.append([one_line(text, 60) for text in (name, *numbers, gpu.case)])
    return Table.of(["GPU", "cases", "reference_us", "above_fastest_percent", "drift_percent", "reference case"], rows)


def _heads(names: Iterable[str]) -> list[str]:
    """The column heads of a table with these columns; two columns may share a head."""
    return list(dict.fromkeys(_HEADS.get(name, name) for name in names))


def _same_results(run: Run) -> list[str]:
    """The result columns with the same value in all cases, except zeros that mean nothing."""
    names = [name for name in shown(Shown.CALCULATED, Shown.ON_REQUEST) if name not in _HEADS and len(run.frame) > 1]
    single = {name: run.frame[name].iloc[0] for name in names if len(run.frame[name].unique()) == 1}
    return [name for name, v in single.items() if not absent(v) and (name not in ZERO_IS_NOTHING or v != 0)]


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
        return Cell(cost_pair(row, name))
    if name == "size":
        return Cell(size_of(row))
    value, column = row[name], BY_NAME.get(name)
    if absent(value):
        return Cell("")
    if column and column.type == "real" and column.unit not in SMALL_UNITS:
        return Cell(exact(value) if column.unit in EXACT_UNITS else rough(value))
    if (column and column.type == "real") or name in (metrics or {}):
        return Cell(f"{value:.4g}")
    return Cell(one_line(value_of(name, row), 80))


def _gain(row: Row | None, base: Row | None, rank: Callable[[Sequence[Row]], Ranking]) -> Cell:
    """The cell of a speed-up over a baseline: the ratio, and whether it is tied or undecided."""
    if row is None or base is None:
        return Cell("")
    ranking, times = rank([base, row]), ratio(base, row).times
    word = ", tied" if ranking.tied else ", undecided" if ranking.undecided else ""
    return Cell(f"{times:.2f}x{word}", kind="level" if word else "good" if times > 1 else "slow")


def _mean(ratios: list[Ratio]) -> Cell:
    if not ratios:
        return Cell("")
    mean = statistics.geometric_mean(ratio.times for ratio in ratios)
    low, high = min(ratio.low for ratio in ratios), max(ratio.high for ratio in ratios)
    kind = "level" if low <= 1 <= high else "good" if low > 1 else "slow"
    return Cell(f"{mean:.2f}x ({low:.2f} to {high:.2f})", kind=kind)


def _title(row: Row, columns: Sequence[str]) -> str:
    return ", ".join([row["kernel"], *(row[name] if name == "place" else f"{name} {row[name]}" for name in columns)])


def _sizes(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(size_of(row) for row in sorted(rows, key=size_key)))


def limits(rows: list[Row]) -> dict[str, float]:
    """The bandwidth in GB/s that is 100 % of each column of `LIMITS`, by its name, unless rows disagree."""
    bandwidths = {}
    for column, name in LIMITS.items():
        known = sorted(100 * row["gbps"] / row[column] for row in rows if not absent(row[column]) and row[column] > 0)
        if known and known[-1] <= 1.03 * known[0]:  # more than rounding
            bandwidths[name] = float(known[len(known) // 2])
    return bandwidths


def embedded(run: Run, in_table: Sequence[str], views: Sequence[dict[str, Any]]) -> str:
    """Format the data of the page's script as JSON that is safe inside HTML.

    It has the columns that are not in the table (a single value if all rows share it), parameters, units, limits,
    charts and row numbers.
    """
    columns: dict[str, Any] = {}
    left_out = (NOT_EMBEDDED - {*run.own_parameters}) | {*in_table}
    for name in sorted(str(name) for name in run.frame.columns if name not in left_out):
        values = [_plain(value) for value in run.frame[name].tolist()]
        column = values[0] if values and all(value == values[0] for value in values) else values
        columns |= {} if column is None else {name: column}
    bandwidths = {name: round(limit, 1) for name, limit in limits(run.rows).items()}
    content = {
        "columns": columns,
        "parameters": run.parameters,
        "results": [name for name in ("gbps", "median_us", *shown(Shown.MEASURED)) if name in in_table],
        "heads": heads(run) if views else {},
        "units": {column.name: column.unit for column in COLUMNS if column.unit and views},
        "limits": {"gbps": bandwidths} if views else {},
        "views": [view for view in views if "kind" not in view],
        "panels": [view for view in views if "kind" in view],
        "rows": [int(row) for row in run.frame.index],
    }
    return json.dumps(content, allow_nan=False, separators=(",", ":"), default=_plain).replace("<", "\\u003c")


def _plain(value: Any) -> Any:
    if absent(value):
        return None
    if isinstance(value, float):
        return float(f"{value:.{EMBEDDED_DIGITS}g}")
    return plain(value) if isinstance(value, str) else value.item() if hasattr(value, "item") else value
