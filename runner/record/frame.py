"""Read results.csv into a data frame with the types that `runner.columns` declares.

The frame has every column of `runner.columns`. Empty text is `""`, integers are nullable, and real numbers are NaN if
empty or not finite. Planned cases without a row are `not_run`.
"""

from __future__ import annotations

import csv
import io
import math
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from runner import columns
from runner.device.kinds import RECORDING, is_gpu
from runner.display.column import Type
from runner.errors import UsageError
from runner.files import limited
from runner.kernel.metrics import TIME_COLUMNS
from runner.record import runs, stored_rows
from runner.record.folder import RunFolder

OLD_VALUES = {"fill": {"seed_rand": "c_rand"}, "device": {"replay": RECORDING}}
"""Values that older versions wrote, and their present names, by column."""

NOT_REACHED = "the run ended before this case was reached"


def load(folder: Path, plan: Any, *, newest: bool = False) -> pd.DataFrame:
    """Load the results of a run folder; the arguments are those of `run.read`, and the content of plan.json.

    Returns:
        One row per job, with one more column, `emulated`: whether the row was run without a GPU.
    """
    raw = _read(folder, newest=newest)
    own = own_parameters(list(raw.columns))
    raw = _with_planned(raw, plan)
    # Lists and arrays, not series: of a small table these take most of the time.
    texts = dict(zip(raw.columns, raw.to_numpy(dtype=object).T.tolist(), strict=True))
    texts |= {name: [""] * len(raw) for name in columns.NAMES if name not in texts}
    frame = pd.DataFrame({name: _typed(name, cells, own=name in own) for name, cells in texts.items()})
    frame["status"] = frame["status"].where(frame["status"] != "", "not_run")
    frame["emulated"] = pd.Series([not is_gpu(kind) for kind in frame["device"]], dtype=bool)
    frame["case"] = [case or f"row-{number}" for number, case in enumerate(frame["case"])]
    for name in metric_names(list(texts)):
        frame[name] = _reals(frame[name])
    return frame


def own_parameters(names: Sequence[str]) -> list[str]:
    """The parameters that kernels declare: the unknown columns before the seed, the device and the status."""
    end = min((names.index(name) for name in ("seed", "device", "status") if name in names), default=0)
    return [name for name in names[:end] if name not in columns.BY_NAME]


def own_parts(frame: pd.DataFrame) -> list[str]:
    """`rows` and `cols`, where a kernel without a size has them as parameters of its own."""
    return [name for name in ("rows", "cols") if (frame[name].notna() & frame["size"].isna()).any()]


def metric_names(names: Sequence[str]) -> list[str]:
    """The metrics that kernels declare: the unknown columns after the status."""
    return [name for name in names[names.index("status") :] if name not in columns.BY_NAME and name != "emulated"]


def move_emulated(frame: pd.DataFrame, metrics: Sequence[str]) -> None:
    """Move times of the CPU device, which older versions wrote into `median_us`, to `emulated_us`, in place.

    `metrics` are those that follow from times; they are cleared in these rows.
    """
    old = frame["emulated"] & frame["median_us"].notna()
    if old.any():
        frame["emulated_us"] = frame["emulated_us"].fillna(frame["median_us"].where(old))
        for name in (*TIME_COLUMNS, *metrics):
            frame[name] = frame[name].where(~old)


def _read(folder: Path, *, newest: bool) -> pd.DataFrame:
    """The table as text. If a killed sweep left no table, it is rebuilt from the rows of its jobs."""
    run = RunFolder(folder)
    if run.has(run.results) and not (newest and run.jobs()):
        raw = _parsed(run)
    elif rows := stored_rows.collect(run):
        raw = pd.read_csv(io.StringIO(stored_rows.as_csv(rows)), dtype=object, keep_default_na=False)
    else:
        raise UsageError(runs.NO_TABLE.format(folder))
    for name in OLD_VALUES.keys() & set(raw.columns):
        raw[name] = raw[name].replace(OLD_VALUES[name])
    return raw.fillna("")


def _parsed(run: RunFolder) -> pd.DataFrame:
    """The cells of results.csv; `UsageError` if the table is cut off or damaged."""
    path = run.results
    try:
        content = run.read(path)
        rows = list(limited.read_csv(content))
        damage = _damage(rows, whole=content.endswith(b"\n"))
    except limited.TooMuch as error:
        raise UsageError(f"{path}: {error}") from None
    except (OSError, ValueError, csv.Error) as error:
        damage = f": cannot be read as a table ({' '.join(str(error).split())})"
    if not damage:
        return pd.DataFrame(rows[1:], columns=rows[0], dtype=object)
    rebuild = f"`python -m runner report {shlex.quote(str(path.parent))}` rebuilds the table"
    raise UsageError(f"{path}{damage}; {rebuild if run.jobs() else 'copy the folder again'}")


def _damage(rows: list[list[str]], *, whole: bool) -> str:
    """Where and how a table is damaged; empty if it is intact. `whole`: whether the last line ends in a newline."""
    if not rows:
        return ": cannot be read as a table (it is empty)"
    head, seen = rows[0], set[tuple[str, ...]]()
    if len(rows) == 1 and not whole:
        return ", line 1: the row is cut off"
    if missing := [name for name in ("kernel", "status") if name not in head]:
        return f": the column {missing[0]} is missing, so this is not the table of a run"
    if len(set(head)) < len(head):
        return ", line 1: two columns have the same name"
    needed = [n for n, name in enumerate(head) if name in ("case", "status", "device")]
    line = 1
    for number, row in enumerate(rows, 1):
        if len(row) < len(head) or (number == len(rows) and not whole):
            return f", line {line}: the row is cut off"
        if len(row) > len(head):
            return f", line {line}: the row has {len(row)} fields, not {len(head)}"
        if empty := [head[n] for n in needed if not row[n]]:
            return f", line {line}: the {empty[0]} is empty"
        if "job" in head and tuple(row) in seen:
            return f", line {line}: this row is a duplicate"
        seen.add(tuple(row))
        line += 1 + sum(cell.count("\n") for cell in row)
    return ""


def _with_planned(raw: pd.DataFrame, plan: Any) -> pd.DataFrame:
    try:
        planned = plan["cases"]
        key = "job" if "job" in raw.columns else "case"  # a case may run on several devices, in one job each
        seen = set(raw.get(key, pd.Series(dtype=object)))
        missing = [_planned(case) for case in planned if str(case[key]) not in seen]
    except (KeyError, TypeError):
        return raw  # the results stay readable if the plan is old or torn
    if len(missing) * len(raw.columns) > limited.MAX_CELLS:
        raise UsageError(f"plan.json: {len(missing):,} cases of {len(raw.columns):,} columns are too many")
    known = dict.fromkeys([*columns.BY_NAME, *raw.columns])
    extra = pd.DataFrame([{n: v for n, v in case.items() if n in known} for case in missing], dtype=object)
    return pd.concat([raw, extra], ignore_index=True).fillna("") if missing else raw


def _planned(case: dict[str, Any]) -> dict[str, str]:
    """The row of a planned case."""
    parameters = case.get("parameters", {})
    texts = {
        str(k): str(v).lower() if isinstance(v, bool) else str(v)
        for k, v in parameters.items()
        if isinstance(v, str | int | float)
    }
    if isinstance(mask := parameters.get("mask"), int):
        texts["mask"] = f"0x{mask:08x}"
    identity = {name: str(case.get(name, "")) for name in ("case", "kernel", "seed", "device")}
    return {**texts, **identity, "status": "not_run", "reason": NOT_REACHED}


def _typed(name: str, texts: list[str], *, own: bool) -> Any:
    """The cells of a column as an array of its type."""
    column = columns.BY_NAME.get(name)
    kind = column.type if column else _own_type(texts) if own else "text"
    if kind == "integer":
        numbers = {text: int(text) if _is_integer(text) else None for text in set(texts)}  # most cells are equal
        values = np.array([numbers[text] or 0 for text in texts], np.int64)
        return pd.arrays.IntegerArray(values, np.array([numbers[text] is None for text in texts], bool))
    if kind == "real":
        reals = _reals(texts)
        low = 0.0 if name.endswith("_us") else -math.inf  # a time of 0 means that nothing was timed
        return np.where((reals > low) & (reals < math.inf), reals, math.nan)
    return np.array(texts, dtype=object)


def _reals(cells: Iterable[str]) -> NDArray[np.float64]:
    """Cells as numbers, NaN for other texts. Unlike pandas' parser, `float` restores every digit."""

    def number(cell: str) -> float:
        try:
            return float(cell)
        except ValueError:
            return math.nan

    return np.array([number(cell) for cell in cells], np.float64)


def _own_type(cells: list[str]) -> Type:
    """The type of the values of a parameter that a kernel declares."""
    texts = [cell for cell in cells if cell]
    if all(map(_is_integer, texts)):
        return "integer"
    return "real" if all(re.fullmatch(r"-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?", text) for text in texts) else "text"


def _is_integer(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdecimal() and len(digits) < 20 and abs(int(text)) < 2**63
