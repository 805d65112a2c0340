"""Reading results.csv: the only place of the report that knows what its columns hold.

Every column named here exists in the frame, so that nobody downstream asks whether it does: text is text, `""` where
empty; whole numbers are nullable integers; measurements are floats, NaN where empty or not finite. `emulated` is added:
whether the row's device only emulates a GPU.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd

from runner import runs
from runner.device.kinds import is_emulated
from runner.errors import UsageError
from runner.folder import read_json
from runner.report.folder import section
from runner.report.text import absent

PARAMETERS = ("kernel", "size", "block", "width", "mask", "unroll", "dtype")
TEXT = (
    *("case", "kernel", "block", "mask", "dtype", "device", "status", "reason", "grid", "value", "reference"),
    *("finish", "family", "baseline", "launcher", "note", "shuffle", "received", "stop_reason", "host_bound"),
    *("timer_limited", "throttled", "clock_reasons", "compiler"),
)
WHOLE = (
    *("block_x", "block_y", "size", "rows", "cols", "width", "unroll", "seed", "shared_dynamic", "mismatches"),
    *("undefined_reads", "rounds", "samples", "hot_samples", "bytes_read", "bytes_written", "registers"),
    *("shared_bytes", "local_bytes", "blocks_per_sm", "bytes_in_flight", "remeasured", "sm_mhz", "temperature_c"),
)
REAL = (
    *("reference_us", "median_us", "ci_low_us", "ci_high_us", "min_us", "q1_us", "q3_us"),
    *("gbps", "percent_peak", "percent_copy", "compile_s", "shared_load_wavefronts", "shared_store_wavefronts"),
    *("global_load_sectors", "global_store_sectors", "round_spread_percent", "hot_median_us", "hot_ci_low_us"),
    *("hot_ci_high_us", "enqueue_us", "power_w", "occupancy_percent", "waves"),
)
KNOWN = frozenset((*TEXT, *WHOLE, *REAL))
PEERS = ["device", "dtype", "family", "finish"]
"""Cases that differ in one of these are never ranked against each other."""

NEUTRAL = {"cache": "none"}
"""Parameters of every kernel, with the value at which they change nothing: told only where some case has another."""

NOT_REACHED = "the run ended before this case was reached"


class Shared(dict[str, Any]):
    """A mapping that is not copied: pandas copies what a frame carries along with each column that is taken from it."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Shared:
        return self


def load(folder: Path) -> pd.DataFrame:
    """The results of a run folder, one row a case; planned cases without a row are `not_run`."""
    raw = _read(folder / "results.csv")
    further = _further(list(raw.columns))
    raw = _with_planned(raw, folder / "plan.json")
    for name in KNOWN.difference(raw.columns):
        raw[name] = ""
    frame = pd.DataFrame({name: _typed(name, raw[name], declared=name in further) for name in raw.columns})
    frame["status"] = frame["status"].where(frame["status"] != "", "not_run")
    frame["emulated"] = [is_emulated(str(kind)) for kind in frame["device"]]
    frame["case"] = [case or f"row-{number}" for number, case in enumerate(frame["case"])]
    frame.attrs["devices"] = Shared(section(runs.environment(folder), "devices"))
    frame.attrs["further"] = [name for name in further if name not in NEUTRAL or not _neutral(frame, name)]
    return frame


def parameters(frame: pd.DataFrame) -> list[str]:
    """The columns that tell cases apart, in the order in which a reader wants them."""
    return [*PARAMETERS, *frame.attrs.get("further", []), "seed", "device"]


def varying(frame: pd.DataFrame) -> list[str]:
    """The parameters with more than one value among the kernels that read them. `kernel` is always told."""
    return [name for name in parameters(frame) if name == "kernel" or len(_values(frame, name)) > 1]


def constant(frame: pd.DataFrame) -> list[str]:
    """The parameters that have the same value in all cases."""
    apart = where_read(frame)
    return [name for name in _single(frame) if name not in apart]


def where_read(frame: pd.DataFrame) -> list[str]:
    """The parameters that only some kernels read, with the same value in all of these."""
    # Every case has a dtype, a seed and a device; a row that was never reached may not tell it.
    optional = [name for name in _single(frame) if name not in ("dtype", "seed", "device")]
    return [name for name in optional if any(absent(value) for value in frame[name])]


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows as dictionaries; `row` is the number of the case in results.csv."""
    # Column by column: `to_dict("records")` takes many times as long.
    columns = {str(name): frame[name].tolist() for name in frame.columns} | {"row": frame.index.tolist()}
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def timed(frame: pd.DataFrame) -> pd.DataFrame:
    """The cases that are right and have a time: a wrong kernel has no speed."""
    return frame[(frame["status"] == "ok") & (frame["median_us"] > 0)]


def _neutral(frame: pd.DataFrame, name: str) -> bool:
    return all(absent(value) or value == NEUTRAL[name] for value in frame[name])


def _single(frame: pd.DataFrame) -> list[str]:
    return [name for name in parameters(frame) if len(_values(frame, name)) == 1]


def _values(frame: pd.DataFrame, name: str) -> set[tuple[Any, ...]]:
    """What a parameter is set to; a size of two dimensions is both."""
    columns = ("size", "rows", "cols") if name == "size" else (name,)
    found = zip(*(frame[column].tolist() for column in columns), strict=True)
    return {values for values in found if not absent(values[0])}


def _read(path: Path) -> pd.DataFrame:
    if not path.parent.is_dir():
        raise UsageError(
            f"{path.parent}: there is no such folder; give a run's folder, such as outputs/DATE/TIME-WHAT."
        )
    if not path.is_file():
        raise UsageError(f"{path.parent}: no results.csv in it, so it is not the folder of a run.")
    try:
        raw = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8", index_col=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read as a table ({' '.join(str(error).split())}).") from error
    lacking = [name for name in ("kernel", "status") if name not in raw.columns]
    if lacking:
        raise UsageError(f"{path}: the column {lacking[0]} is missing, so it is not the table of a run.")
    return raw.fillna("")


def _further(names: list[str]) -> list[str]:
    """What kernels declared themselves: the unknown columns ahead of those that every case has."""
    end = min((names.index(name) for name in ("seed", "device", "status") if name in names), default=0)
    return [name for name in names[:end] if name not in KNOWN]


def _with_planned(raw: pd.DataFrame, path: Path) -> pd.DataFrame:
    try:
        planned = read_json(path)["cases"]
        known = "job" if "job" in raw.columns else "case"  # a case may be run on several devices, by a job each
        seen = set(raw.get(known, pd.Series(dtype=str)))
        missing = [_planned(case) for case in planned if str(case[known]) not in seen]
    except (KeyError, TypeError):
        return raw  # an old or torn plan must not keep anyone from reading the results
    extra = pd.DataFrame(missing, dtype=str)
    keep = [name for name in extra.columns if name in KNOWN or name in raw.columns]
    return pd.concat([raw, extra[keep]], ignore_index=True).fillna("") if missing else raw


def _planned(case: dict[str, Any]) -> dict[str, str]:
    given = {str(k): str(v) for k, v in case.get("parameters", {}).items() if isinstance(v, str | int | float)}
    if isinstance(mask := case.get("parameters", {}).get("mask"), int):
        given["mask"] = f"0x{mask:08x}"
    own = {name: str(case.get(name, "")) for name in ("case", "kernel", "seed", "device")}
    return {**given, **own, "status": "not_run", "reason": NOT_REACHED}


def _typed(name: str, cells: pd.Series[str], *, declared: bool) -> pd.Series[Any]:
    if name in WHOLE or (declared and all(_is_whole(cell) for cell in cells if cell)):
        return pd.Series([int(cell) if _is_whole(cell) else pd.NA for cell in cells], dtype="Int64")
    if name in REAL:
        least = 0.0 if name.endswith("_us") else -math.inf  # what took no time was not timed
        return pd.Series([n if (n := _number(cell)) > least else math.nan for cell in cells], dtype="float64")
    return cells.astype("string")


def _is_whole(cell: str) -> bool:
    digits = cell.removeprefix("-")
    return digits.isascii() and digits.isdecimal() and len(digits) < 20 and abs(int(cell)) < 2**63


def _number(cell: str) -> float:
    try:
        number = float(cell)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan
