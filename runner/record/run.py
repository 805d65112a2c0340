"""The only reader of a run folder: its cases as a table, its plan, environment and search.

    results.csv, plan.json ──frame──▶ cells with types ──gpus──▶ one row per case ──▶ Run

`read` returns a `Run`, from which reports, comparisons, lists, exports and the Python face start. They do not read the
files that `Run` provides. The folder may be torn or come from an untrusted source: malformed parts count as missing,
except the table itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from runner import columns
from runner.device.kinds import RECORDING
from runner.display.text import absent
from runner.errors import UsageError
from runner.kernel.declaration import NEUTRAL
from runner.kernel.metrics import Criterion, Metric, criterion, from_record
from runner.record import frame as frames
from runner.record import gpus, runs, searched
from runner.record.folder import RunFolder
from runner.record.runs import section
from runner.record.searched import Searched

PARAMETERS = ("kernel", "size", "block", "width", "mask", "unroll", "dtype")
PEERS = ["device", "gpu", "dtype", "family", "finish"]
"""The columns that separate peers: cases that differ in one of them are not ranked against each other."""


@dataclass(frozen=True, eq=False)
class Run:
    """A run, or some of its cases: `run.measured` is the same run with fewer cases.

    A run is immutable and never writes to its folder. Callers must not change `frame`, which other runs share: the
    cases, one row each, as `frame.load` gives them, with three more columns: `jobs`, the jobs that measured the case;
    `place`, see `gpus.places`; `cost`, by which cases are ranked, ascending: the time in microseconds, or another
    column or metric. The index is the row's number in results.csv.
    """

    folder: RunFolder
    frame: pd.DataFrame
    plan: Any = None  # content of plan.json; unchecked, `None` if it is missing or torn
    environment: dict[str, Any] = field(default_factory=dict)  # content of environment.json; empty if it is missing
    gpus: Mapping[str, Any] = field(default_factory=dict)  # its `gpus` and `launcher`, and the `cases` of each GPU
    metrics: Mapping[str, Metric] = field(default_factory=dict)  # declared ones that are not among `runner.columns`
    own_parameters: Sequence[str] = ()  # that kernels declare beyond the vocabulary
    criterion: Criterion = field(default_factory=Criterion)  # by which the cases are ranked
    lack_rounds: int = 0  # number of correct cases with fewer rounds than planned
    whole: Run | None = None  # the run with all cases of which this one has some

    def with_frame(self, frame: pd.DataFrame) -> Run:
        """The same run with other cells."""
        return replace(self, frame=frame, whole=None)

    def part(self, frame: pd.DataFrame) -> Run:
        """The same run with some of the rows of `frame`, in any order."""
        return replace(self, frame=frame, whole=self.whole or self)

    def ranked_by(self, by: Criterion) -> Run:
        """The same run with its cases ranked by another column or metric."""
        cost = self.frame["median_us"] if by.is_time else [by.cost(row, row["median_us"]) for row in self.rows]
        return replace(self, criterion=by, frame=self.frame.assign(cost=cost), whole=None)

    @property
    def path(self) -> Path:
        """The folder's path."""
        return self.folder.path

    @property
    def devices(self) -> dict[str, Any]:
        """The devices of environment.json, by kind."""
        return section(self.environment, "devices")

    @cached_property
    def search(self) -> Searched | None:
        """The search that chose the cases; `None` if the run is no search."""
        return searched.read(self.folder)

    @cached_property
    def unfinished(self) -> bool:
        """Whether a search has not ended, or correct cases lack rounds."""
        return self.folder.unfinished or self.lack_rounds > 0

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The rows as dictionaries; `row` is the number of the case in results.csv. A part of a run shares them."""
        if self.whole:
            return [self.whole.by_number[number] for number in self.frame.index]
        # Column by column, since `to_dict("records")` is many times slower.
        values = {str(name): self.frame[name].tolist() for name in self.frame.columns} | {
            "row": self.frame.index.tolist()
        }
        return [dict(zip(values, line, strict=True)) for line in zip(*values.values(), strict=True)]

    @cached_property
    def by_number(self) -> dict[int, dict[str, Any]]:
        """The rows by their number in results.csv."""
        return {row["row"]: row for row in self.rows}

    @cached_property
    def kernels(self) -> list[str]:
        """The names of its kernels, in the order of the rows."""
        return [str(kernel) for kernel in self.frame["kernel"].unique()]

    @cached_property
    def parameters(self) -> list[str]:
        """The columns that distinguish cases, the most interesting first."""
        return [*PARAMETERS, *self.own_parameters, "seed", "device"]

    @cached_property
    def varying(self) -> list[str]:
        """`kernel`, and the parameters with several values among the kernels that read them."""
        return [name for name in self.parameters if name == "kernel" or len(self._values(name)) > 1]

    @cached_property
    def constant(self) -> list[str]:
        """The parameters with the same value in all cases."""
        return [name for name in self._single if name not in self.where_read]

    @cached_property
    def where_read(self) -> list[str]:
        """The parameters that only some kernels have and that have one value in all their cases."""
        # Every case has a dtype, a seed and a device, but a `not_run` row may lack them.
        optional = [name for name in self._single if name not in ("dtype", "seed", "device")]
        return [name for name in optional if any(absent(value) for value in self.frame[name])]

    @cached_property
    def measured(self) -> Run:
        """The correct cases that a GPU timed."""
        return self.part(self.frame[(self.frame["status"] == "ok") & (self.frame["median_us"] > 0)])

    @cached_property
    def ranked(self) -> Run:
        """The measured cases that have a cost, without those of ceilings, which do less work."""
        frame = self.measured.frame
        return self.part(frame[(frame["ceiling"] != "True") & (frame["cost"] > 0)])

    @cached_property
    def on_gpus(self) -> Run:
        """The cases that a GPU ran."""
        return self.part(self.frame[~self.frame["emulated"]])

    @property
    def has_emulated_times(self) -> bool:
        """Whether the CPU device timed a case."""
        return bool(self.frame["emulated_us"].notna().any())

    @cached_property
    def _single(self) -> list[str]:
        return [name for name in self.parameters if len(self._values(name)) == 1]

    def _values(self, name: str) -> set[tuple[Any, ...]]:
        """The distinct values of a parameter. A two-dimensional size counts with both dimensions."""
        names = ("size", "rows", "cols") if name == "size" else (name,)
        rows = zip(*(self.frame[column].tolist() for column in names), strict=True)
        return {values for values in rows if not absent(values[0])}


def read(path: Path, *, newest: bool = False) -> Run:
    """Read a run folder.

    Args:
        path: The folder.
        newest: Whether to prefer the rows of the jobs to results.csv, which a running sweep updates late.

    Raises:
        UsageError: The folder or its table is missing, or the table is damaged or exceeds a limit.
    """
    folder = RunFolder(path)
    if not path.is_dir():
        raise UsageError(f"{path}: there is no such folder; give a run folder, such as outputs/DATE/TIME-WHAT")
    plan, environment = folder.planned(), runs.environment(path)
    frame = frames.load(path, plan, newest=newest)
    own = [*frames.own_parts(frame), *frames.own_parameters(list(frame.columns))]
    metrics = frames.metric_names(list(frame.columns))
    try:
        declared, by = _metrics(plan), criterion(plan)
    except (*runs.MALFORMED, UsageError):
        declared, by = [], Criterion()  # the results stay readable if the plan is torn
    by_name = {m.name: m for m in declared if m.name in metrics}
    lack_rounds = _lack_rounds(frame, plan)
    frames.move_emulated(frame, [name for name, metric in by_name.items() if metric.depends_on_time])
    frame["gpu"] = [gpus.short(gpu) for gpu in frame["gpu"]]
    sections = {name: section(environment, name) for name in ("gpus", "launcher")} | {"cases": Counter(frame["gpu"])}
    frame["jobs"] = [() if absent(job) else (job,) for job in frame["job"]]
    frame = gpus.pooled(frame, sections)
    frame["place"] = gpus.places(frame, sections)
    own = [name for name in own if name not in NEUTRAL or not {*frame[name].dropna()} <= {"", NEUTRAL[name]}]
    return Run(folder, frame, plan, environment, sections, by_name, own, by, lack_rounds).ranked_by(by)


def size_key(row: Mapping[str, Any]) -> tuple[int, ...]:
    """A key that sorts rows by size."""
    return tuple(0 if absent(row[name]) else int(row[name]) for name in ("size", "rows", "cols"))


def _metrics(plan: Any) -> list[Metric]:
    """The metrics that a run's kernels declare and that are not among `runner.columns`."""
    declared = plan.get("metrics", {}) if isinstance(plan, dict) else {}
    return [m for entries in declared.values() for m in from_record(entries) if m.name not in columns.BY_NAME]


def _lack_rounds(frame: pd.DataFrame, plan: Any) -> int:
    """The number of correct cases with fewer rounds than planned; short measurements of a search do not count."""
    try:
        cases = (case for case in plan["cases"] if not case.get("look"))
        timings = {int(case["job"]): plan["ways"][case["way"]]["timing"] for case in cases}
        ok = frame[(frame["status"] == "ok") & frame["job"].isin(timings) & (frame["device"] != RECORDING)]
        return sum(
            rounds < timings[job]["cpu_rounds" if emulated else "rounds"]
            for job, rounds, emulated in zip(ok["job"], ok["rounds"].fillna(0), ok["emulated"], strict=True)
        )
    except runs.MALFORMED:
        return 0  # the results stay readable if the plan is old or torn
