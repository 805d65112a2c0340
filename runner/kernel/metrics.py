"""Metrics: columns that a user defines from parameters and other columns, and the ranking of cases by them.

A metric is an expression in the kernel's YAML or in an experiment, evaluated for each row. A metric of launch times can
replace the time in rankings and comparisons: the same statistics apply, after each time and each end of an interval is
converted to the metric.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from runner import columns
from runner.bounds.formula import expanded
from runner.errors import UsageError
from runner.kernel.expression import RealExpression

Names = Mapping[str, Any]

TIME = "median_us"
GFLOPS = {"gflops": {"value": "operations / median_us / 1e3", "unit": "GFLOP/s", "better": "higher"}}
"""The metric of every kernel that declares its operations."""

BETTER = {TIME: "lower", "gbps": "higher", "percent_peak": "higher", "percent_copy": "higher"}
"""The columns that cases can be ranked by, and which values are better."""

_SMALL = 1e-4  # the relative step of the numerical derivative
LAUNCH_TIMES = ("median_us", "ci_low_us", "ci_high_us", "min_us", "q1_us", "q3_us")
"""The columns that are times of launches."""
TIME_COLUMNS = (*LAUNCH_TIMES, "hot_median_us", "hot_ci_low_us", "hot_ci_high_us", "round_spread_percent", "gflops")
"""The columns that the CPU device leaves empty, though older versions filled them."""
_RATES = ("gbps", "percent_peak", "percent_copy")
_KNOWN = frozenset((*columns.of_type("integer", "real"), "gflops")) - {"job"}


@dataclass(frozen=True)
class Metric:
    """A column: its expression, its unit, and whether `lower` or `higher` is better, or empty."""

    name: str
    value: RealExpression  # of parameters and columns
    unit: str = ""
    better: str = ""

    @property
    def depends_on_time(self) -> bool:
        """Whether the metric depends on the times of launches."""
        return not self.value.names.isdisjoint((*LAUNCH_TIMES, *_RATES))

    @property
    def depends_on_clock(self) -> bool:
        """Whether it depends on a measured time: of launches, rounds or the host."""
        names = (name for name in self.value.names if name.endswith(("_us", "_s", "_spread_percent")))
        return self.depends_on_time or any(name in columns.BY_NAME for name in names)

    @property
    def plain(self) -> dict[str, str]:
        """The metric in the form of a YAML's entry."""
        return {"value": self.value.full, "unit": self.unit, "better": self.better}

    def __call__(self, names: Names) -> float | None:
        """Evaluate with columns and parameters by name; `None` if one is missing or the result is not a number."""
        if any(_absent(names.get(name)) for name in self.value.names):
            return None
        try:
            found = float(self.value(names))
        except UsageError:  # such as a division by zero
            return None
        return found if math.isfinite(found) else None


def read(
    content: Any,
    where: str,
    own: Collection[str],
    *,
    let: Mapping[str, str] | None = None,
    others: Collection[str] = (),
) -> tuple[Metric, ...]:
    """Read the key `metrics` of a kernel or an experiment. Raises UsageError, which names the metric and what is wrong.

    Args:
        content: Expressions, or `{value, unit, better}`, by the metric's name.
        where: File and key, for messages.
        own: The names that the kernel's expressions may use.
        let: Definitions by name.
        others: Parameters of other kernels. Metrics that use them are left out, and no metric may have such a name.
    """
    if not isinstance(content, Mapping):
        raise UsageError(f"{where}: expected metrics by name, such as {{gflops: operations / median_us / 1e3}}")
    entries = {name: _entry(f"{where}.{name}", name, given, {*own, *others}) for name, given in content.items()}
    texts = {name: str(entry["value"]) for name, entry in entries.items()}
    found = []
    for name, entry in entries.items():
        code = expanded(texts[name], {**(let or {}), **texts}, f"{where}.{name}", (name,))
        value = RealExpression(texts[name], f"{where}.{name}", "" if code == texts[name] else code, number=True)
        unknown = sorted(value.names - _KNOWN - set(own))
        if strange := [n for n in unknown if n not in others]:
            raise UsageError(f"{value.shown} names {_unknown(strange[0], own)}")
        if not value.names:
            value({})  # raises UsageError for a constant that has no value, such as 1/0
        if not unknown:
            found.append(Metric(name, value, str(entry.get("unit", "")), str(entry.get("better", ""))))
    return tuple(found)


def merged(
    kernels: Iterable[Metric], given: Mapping[str, Any], own: Collection[str], others: Collection[str]
) -> tuple[Metric, ...]:
    """Merge the metrics of a kernel and an experiment, which may use each other; the experiment's take precedence."""
    return read({**{m.name: m.plain for m in kernels}, **given}, "metrics", own, others=others)


def require_rankable(rank_by: str, metrics: Iterable[Metric], where: str, declared: Collection[str]) -> None:
    """Raise UsageError if cases cannot be ranked by this column or metric.

    `where` names the kernel or the run, and `declared` has `bytes` and `operations` if the kernel declares them.
    """
    if rank_by in BETTER or rank_by == "gflops":
        needed = "operations" if rank_by == "gflops" else "bytes"
        if rank_by != TIME and needed not in declared:
            raise UsageError(f"rank_by={rank_by}: {where} declares no {needed}, so it has no such rate")
        return
    known = {m.name: m for m in metrics}
    if rank_by not in known:
        names = ", ".join([*BETTER, *(n for n in dict.fromkeys(("gflops", *known)) if n not in BETTER)])
        raise UsageError(f"rank_by={rank_by}: {where} has no such metric; available: {names}")
    if not known[rank_by].better:
        raise UsageError(
            f"rank_by={rank_by}: metrics.{rank_by} does not say which values are better; set better: lower or higher"
        )
    if not known[rank_by].depends_on_time:
        raise UsageError(
            f"rank_by={rank_by}: this metric does not depend on times such as {TIME}, so all rounds are equal"
        )


@dataclass(frozen=True)
class Criterion:
    """The column or metric that ranks the cases of a run; each kernel may declare its own expression."""

    name: str = TIME
    better: str = "lower"
    unit: str = "us"
    by_kernel: Mapping[str, Metric] = field(default_factory=dict)
    constants: Mapping[int, Names] = field(default_factory=dict)  # the parameters in the expression, by job

    @property
    def is_time(self) -> bool:
        """Whether cases are ranked by the time itself."""
        return self.name == TIME

    @property
    def is_bandwidth(self) -> bool:
        """Whether the memory's limits say how good a case is: whoever ranks by operations does not ask for them."""
        return self.is_time or self.name == "gbps"

    @property
    def label(self) -> str:
        """The criterion in words."""
        return f"{self.name} ({self.better} is better)"

    def value(self, row: Names, us: float) -> float | None:
        """The value of a row if its launches took `us` microseconds; `None` if an input is missing."""
        if self.is_time:
            return us
        job = -1 if _absent(row.get("job")) else int(row["job"])
        rates = (
            {}
            if _absent(median := row.get(TIME))
            else {n: row[n] * median / us for n in _RATES if not _absent(row.get(n))}
        )
        names = {**row, **dict.fromkeys(LAUNCH_TIMES, us), **rates, **self.constants.get(job, {})}
        metric = self.by_kernel.get(str(row.get("kernel")))
        found = metric(names) if metric else names.get(self.name) if self.name in _RATES else None
        return None if found is None or _absent(found) else float(found)

    def elasticity(self, row: Names, us: float) -> float:
        """The elasticity d log(cost) / d log(time): 1 for times and rates."""
        low, high = self.cost(row, us), self.cost(row, us * (1 + _SMALL))
        return abs(math.log(high / low)) / math.log1p(_SMALL) if low > 0 and high > 0 else 1.0

    def cost(self, row: Names, us: float) -> float:
        """The quantity that replaces the time in comparisons: lower is better, ratios are the column's; else NaN."""
        value = self.value(row, us)
        if value is None or not 0 < value < math.inf:
            return math.nan
        return value if self.better == "lower" else 1.0 / value


def criterion(plan: Any, name: str = "") -> Criterion:
    """The criterion of a run: the one in plan.json, or the run's metric `name`. UsageError if it cannot rank cases."""
    plan = plan if isinstance(plan, dict) else {}
    name = name or str(plan.get("rank_by") or TIME)
    declared = {str(kernel): from_record(entries) for kernel, entries in (plan.get("metrics") or {}).items()}
    require_rankable(name, [m for metrics in declared.values() for m in metrics], "this run", ("bytes", "operations"))
    by_kernel = {kernel: m for kernel, metrics in declared.items() for m in metrics if m.name == name}
    first = next(iter(by_kernel.values()), None)
    constants = {int(c["job"]): c["constants"] for c in plan.get("cases", ()) if c.get("constants")}
    if first is None:
        return Criterion(name, BETTER.get(name, "higher"), columns.BY_NAME[name].unit)
    return Criterion(name, first.better, first.unit, by_kernel, constants)


def from_record(entries: Any) -> tuple[Metric, ...]:
    """The metrics of a kernel from the entries in a run's folder."""
    return tuple(
        Metric(str(name), RealExpression(str(e["value"]), f"metrics.{name}", number=True), e["unit"], e["better"])
        for name, e in (entries or {}).items()
    )


def median_us(row: Names) -> float | None:
    """The median time of a launch in microseconds: a GPU's, or the CPU device's emulated one."""
    us = row.get(TIME) or row.get("emulated_us")
    return None if us is None or _absent(us) else float(us)


def row_values(metrics: Iterable[Metric], variables: Names, row: Names) -> dict[str, float | None]:
    """The metrics of a row by name; `variables` are the parameters by their names in expressions."""
    names = {**row, **variables}
    return {m.name: m(names) for m in metrics}


def constants(metrics: Iterable[Metric], variables: Names) -> dict[str, Any]:
    """The parameters of a case that its metrics use."""
    needed = {name for m in metrics for name in m.value.names}
    return {name: value for name, value in variables.items() if name in needed}


def _entry(where: str, name: Any, given: Any, parameters: Collection[str]) -> Mapping[str, Any]:
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_]{0,31}", name):
        allowed = "up to 32 characters from a-z, 0-9 and _, starting with a letter"
        raise UsageError(f"{where}: '{name}' is not a valid name; allowed: {allowed}")
    if name in parameters or (name in columns.RESERVED and name != "gflops"):
        raise UsageError(f"{where}: '{name}' is already the name of a parameter, a column or a key")
    entry = given if isinstance(given, Mapping) else {"value": given}
    if name in GFLOPS:
        entry = {**GFLOPS["gflops"], **entry}
    if wrong := [key for key in entry if key not in ("value", "unit", "better")]:
        raise UsageError(f"{where}: '{wrong[0]}' is not a valid key; allowed: better, unit, value")
    if isinstance(value := entry.get("value"), bool) or not isinstance(value, int | float | str) or value == "":
        raise UsageError(f"{where}: expected an expression, such as operations / median_us / 1e3")
    if entry.get("better", "") not in ("", "lower", "higher"):
        raise UsageError(f"{where}: better: expected lower or higher, not '{entry['better']}'")
    return entry


def _unknown(name: str, own: Collection[str]) -> str:
    near = difflib.get_close_matches(name, [*own, *_KNOWN], n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return (
        f"'{name}', which is neither a parameter nor a column{hint}; parameters: {', '.join(sorted(own))}; columns: "
        f"{', '.join(n for n in columns.NAMES if n in _KNOWN)}"
    )


def _absent(value: Any) -> bool:
    return not isinstance(value, int | float | str) or value == "" or (isinstance(value, float) and math.isnan(value))
