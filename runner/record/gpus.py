"""Several GPUs in one sweep: how much they differ, and how their rows are pooled.

Their difference is that of the reference case, which each GPU measured in every round. If every GPU measured all cases,
the GPUs of one model are pooled, provided they differ by less than the smallest change that counts.
"""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from runner import columns
from runner.display.text import absent
from runner.record.runs import MALFORMED, section
from runner.statistics import THRESHOLD

WORST_OF = {"min_us": min, "ci_low_us": min, "ci_high_us": max, "sm_mhz": min, "temperature_c": max, "power_w": max}


@dataclass(frozen=True)
class Gpu:
    """A GPU of the sweep. `rounds_us` are its medians of the reference case in microseconds, in order of rounds."""

    uuid: str
    name: str
    case: str
    rounds_us: tuple[float, ...]

    @property
    def us(self) -> float:
        """The mean of the rounds' medians."""
        return statistics.fmean(self.rounds_us)

    @property
    def drift(self) -> float:
        """The relative change from the first round to the last, as a fraction."""
        return self.rounds_us[-1] / self.rounds_us[0] - 1


def short(gpu: str) -> str:
    """A GPU's name with the first eight digits of its UUID: `NVIDIA H200 4b1c2f0a`."""
    return re.sub(r"(?:GPU|MIG)-([0-9a-f]{8})-[0-9a-f-]+", r"\1", gpu)


def gpus(environment: Mapping[str, Any]) -> list[Gpu]:
    """The GPUs of a sweep that measured the reference case, one for each shard; empty if the record is malformed."""
    try:
        return [
            Gpu(uuid, str(entry["name"]), str(reference["case"]), tuple(map(float, reference["rounds_us"])))
            for uuid, entry in environment.get("gpus", {}).items()
            for reference in entry.get("reference", {}).values()
            if reference["rounds_us"]
        ]
    except MALFORMED:
        return []


def spread(alike: Sequence[Gpu]) -> float:
    """How much slower the slowest of these GPUs is than the fastest, as a fraction."""
    times = [gpu.us for gpu in alike]
    return max(times) / min(times) - 1 if times else 0.0


def places(frame: pd.DataFrame, environment: Mapping[str, Any]) -> list[str]:
    """The GPU model or GPU by which tables and figures separate rows, one for each row; empty if there is only one.

    GPUs of one model share a place if they differ by less than the smallest change that counts and measured different
    cases: cases that are compared were then measured on the same GPU.
    """
    models = [_model(gpu) for gpu in frame["gpu"]]
    differ = any(spread(alike) > THRESHOLD for alike in by_model(environment).values())
    if differ or frame.assign(model=models).duplicated(["case", "device", "model"]).any():
        return list(frame["gpu"])
    return models if len(set(models) - {""}) > 1 else [""] * len(models)


def by_model(environment: Mapping[str, Any]) -> dict[str, list[Gpu]]:
    """The GPUs of each model that measured the model's most frequent reference case."""
    models: dict[str, list[Gpu]] = {}
    for gpu in gpus(environment):
        models.setdefault(gpu.name, []).append(gpu)
    for name, alike in models.items():
        usual = Counter(gpu.case for gpu in alike).most_common(1)[0][0]
        models[name] = [gpu for gpu in alike if gpu.case == usual]
    return models


def _model(gpu: str) -> str:
    return gpu.rpartition(" ")[0]


def pooled(frame: pd.DataFrame, environment: Mapping[str, Any]) -> pd.DataFrame:
    """Pool the rows of each case that several GPUs of one model measured, if all cases were replicated.

    The time is the mean over the rounds of all GPUs. Its interval spans the intervals of all GPUs, so it includes their
    difference. A case that failed on a GPU keeps that GPU's row. Rows stay separate if the GPUs differ by more than the
    smallest change that counts, or if a GPU did not reach the case.
    """
    if not section(environment, "launcher").get("replicate") or frame.empty:
        return frame
    alike = by_model(environment)
    models = pd.Series(map(_model, frame["gpu"]), frame.index)
    parts = []
    for (_, _, model), rows in frame.groupby(["case", "device", models], sort=False):
        apart = len(rows) == 1 or spread(alike.get(str(model), [])) > THRESHOLD or "not_run" in set(rows["status"])
        parts.append(rows if apart else _pooled_row(rows, str(model)))
    return pd.concat(parts).sort_index().astype(frame.dtypes)


def _pooled_row(rows: pd.DataFrame, model: str) -> pd.DataFrame:
    failed = rows[rows["status"] != "ok"]
    row, weights = (rows if failed.empty else failed).iloc[:1].copy(), rows["rounds"].fillna(1).astype(float)
    row["jobs"] = [tuple(job for jobs in rows["jobs"] for job in jobs)]
    if not failed.empty:
        return row
    for name in rows.columns:
        column, present = columns.BY_NAME.get(str(name)), rows[name][[not absent(value) for value in rows[name]]]
        if name == "jobs" or present.empty:
            continue
        if name in WORST_OF:
            row[name] = WORST_OF[str(name)](present)
        elif name in ("rounds", "samples", "checked_launches", "wall_s"):
            row[name] = present.sum()
        elif column and column.type == "flag":
            row[name] = "True" if "True" in set(present) else present.iloc[0]
        elif rows[name].dtype == "float64":
            row[name] = float((present * weights[present.index]).sum() / weights[present.index].sum())
    if rows["median_us"].notna().all():
        row["round_spread_percent"] = _spread_percent(rows, weights)
    row["gpu"] = f"{model} ({len(set(rows['gpu']))})" if model else ""
    return row


def _spread_percent(rows: pd.DataFrame, weights: pd.Series[float]) -> float:
    """The standard deviation between all rounds, in percent of their mean: within the GPUs and between them."""
    means, own = rows["median_us"], rows["round_spread_percent"].fillna(0.0) / 100 * rows["median_us"]
    mean = float((means * weights).sum() / weights.sum())
    squares = float(((weights - 1) * own**2 + weights * (means - mean) ** 2).sum())
    return 100 * math.sqrt(squares / max(float(weights.sum()) - 1, 1.0)) / mean
