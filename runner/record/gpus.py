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

WORST = {"min_us": min, "ci_low_us": min, "ci_high_us": max, "sm_mhz": min, "temperature_c": max, "power_w": max}


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
            Gpu(uuid, str(known["name"]), str(taken["case"]), tuple(map(float, taken["rounds_us"])))
            for uuid, known in environment.get("gpus", {}).items()
            for taken in known.get("reference", {}).values()
            if taken["rounds_us"]
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
    every = gpus(environment)
    found: dict[str, list[Gpu]] = {}
    for name in dict.fromkeys(gpu.name for gpu in every):
        alike = [gpu for gpu in every if gpu.name == name]
        usual = Counter(gpu.case for gpu in alike).most_common(1)[0][0]
        found[name] = [gpu for gpu in alike if gpu.case == usual]
    return found


def _model(gpu: str) -> str:
    return gpu.rpartition(" ")[0]


def pooled(frame: pd.DataFrame, environment: Mapping[str, Any]) -> pd.DataFrame:
    """Pool the rows of each case that several GPUs of one model measured, if all cases were replicated.

    The time is the mean over the rounds of all GPUs. Its interval spans the intervals of all GPUs, so it includes their
    difference. A case that failed on a GPU keeps that GPU's row. Rows stay separate if the GPUs differ by more than the
    smallest change that counts, or if a GPU did not reach the case.
    """
    settings = section(environment, "launcher")
    if not settings.get("replicate") or frame.empty:
        return frame
    known = by_model(environment)
    models = [_model(gpu) for gpu in frame["gpu"]]
    parts = []
    for (_, _, model), rows in frame.groupby(["case", "device", pd.Series(models, frame.index)], sort=False):
        apart = len(rows) == 1 or spread(known.get(str(model), [])) > THRESHOLD or "not_run" in set(rows["status"])
        parts.append(rows if apart else _one(rows, str(model)))
    found = pd.concat(parts).sort_index()
    return found.astype(frame.dtypes)


def _one(rows: pd.DataFrame, model: str) -> pd.DataFrame:
    """The pooled row of a case that several GPUs measured."""
    jobs = tuple(job for own in rows["jobs"] for job in own)
    if not (rows["status"] == "ok").all():
        row = rows[rows["status"] != "ok"].iloc[:1].copy()
        row["jobs"] = [jobs]
        return row
    row, weights = rows.iloc[:1].copy(), rows["rounds"].fillna(1).astype(float)
    for name in rows.columns:
        column, known = columns.BY_NAME.get(str(name)), rows[name][[not absent(value) for value in rows[name]]]
        if name == "jobs" or known.empty:
            continue
        if name in WORST:
            row[name] = WORST[str(name)](known)
        elif name in ("rounds", "samples", "checked_launches", "wall_s"):
            row[name] = known.sum()
        elif column and column.type == "flag":
            row[name] = "True" if "True" in set(known) else known.iloc[0]
        elif rows[name].dtype == "float64":
            row[name] = float((known * weights[known.index]).sum() / weights[known.index].sum())
    if rows["median_us"].notna().all():
        row["round_spread_percent"] = _spread(rows, weights)
    row["jobs"] = [jobs]
    row["gpu"] = f"{model} ({len(set(rows['gpu']))})" if model else ""
    return row


def _spread(rows: pd.DataFrame, weights: pd.Series[float]) -> float:
    """The standard deviation between all rounds, in percent of their mean: within the GPUs and between them."""
    means, own = rows["median_us"], rows["round_spread_percent"].fillna(0.0) / 100 * rows["median_us"]
    mean = float((means * weights).sum() / weights.sum())
    squares = float(((weights - 1) * own**2 + weights * (means - mean) ** 2).sum())
    return 100 * math.sqrt(squares / max(float(weights.sum()) - 1, 1.0)) / mean
