"""The times of a case, as the decision wants them: the medians of its rounds, and what is known of their noise."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from runner import samples
from runner.compare.difference import Noise, Side
from runner.compare.joining import Pair
from runner.compare.kinds import surroundings
from runner.compare.loading import Row, Run
from runner.compare.pooling import LAUNCH
from runner.report import ties
from runner.report.folder import section
from runner.report.text import absent
from runner.summary import kept


def rounds(row: Row) -> tuple[tuple[float, ...], ...]:
    """The medians of a case's rounds in microseconds, by run; none of a run whose samples cannot be read."""
    return tuple(_rounds(path) for path in row["measured"])


def _rounds(path: Path) -> tuple[float, ...]:
    known = samples.read(path)
    if known is None:
        return ()
    counted = kept(known)
    return tuple(float(np.median(counted["us"][counted["round"] == n])) for n in np.unique(counted["round"]))


def side(run: Run, row: Row, medians: tuple[tuple[float, ...], ...]) -> Side:
    """One run's times of a case, by the rounds' medians; where those are not known, by the table's."""
    median = float(row["median_us"])
    least, q1, q3 = (median if absent(row[name]) else float(row[name]) for name in ("min_us", "q1_us", "q3_us"))
    timing = section(run.device(str(row["device"])), "timing")
    single = len(medians) > 1 and all(len(of_run) == 1 for of_run in medians)  # each run is a process of its own
    known = tuple(m for of_run in medians for m in of_run)
    return Side(known or (median,), least, q1, q3, fresh=single or timing.get("fresh_process") is True)


def noise(base: Run, other: Run, pair: Pair) -> Noise:
    """What is known of the noise of a pair's times: the worse of what was measured for the two devices."""
    kind, median = str(pair.base["device"]), float(pair.base["median_us"])
    found = [ties.noise([], run.device(kind)) for run in (base, other)]
    measured = [percent for one in found if (percent := one.process_percent(median)) is not None]
    return Noise("cpu" if kind == "cpu" else "cuda", max(measured, default=None), max(one.tick_us for one in found))


def same_code(pair: Pair) -> bool:
    """Whether both runs launched the same machine code in the same way."""
    return not absent(pair.base["binary"]) and all(str(pair.base[name]) == str(pair.other[name]) for name in LAUNCH)


def alike(base: Run, other: Run, pair: Pair) -> bool:
    """Whether nothing at all is different, as far as the folders tell: what the times differ by is noise."""
    kind = str(pair.base["device"])
    around = [surroundings(run.environment, kind) for run in (base, other)]
    throttled = "True" in (pair.base["throttled"], pair.other["throttled"])
    return same_code(pair) and not throttled and bool(around[0]) and around[0] == around[1]
