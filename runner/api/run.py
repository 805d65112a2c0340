"""A run in Python: its tables, samples, comparisons and chart, as pandas data frames and a matplotlib figure.

Each property reads the run's folder on first use, and raises `UsageError` if it cannot be read.
"""

from __future__ import annotations

import html
import io
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from runner import columns, report
from runner.compare import changes, views
from runner.compare import runs as compared
from runner.display.console import short_path
from runner.display.text import absent, described
from runner.errors import UsageError
from runner.kernel.metrics import criterion
from runner.record import ranking, runs, samples
from runner.record import run as reader
from runner.record.folder import RunFolder
from runner.report import findings, tables
from runner.stages.lines import costs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_ROWS = 60  # of a table in a notebook
_TYPES = {"text": "string", "integer": "Int64", "real": "float64", "flag": "boolean"}


class Run:
    """A finished or running sweep, read from its folder. It changes nothing there.

    Attributes:
        path: The run folder.
    """

    def __init__(self, path: Path) -> None:
        """Open a folder. Reading starts with the first property."""
        self.path = path

    @cached_property
    def table(self) -> pd.DataFrame:
        """The results, one row per case, in the order of results.csv.

        It has every column of docs/results.md, then those of the kernels' own parameters and metrics. Text is `string`,
        integers are `Int64`, real numbers `float64` and flags `boolean`. Empty cells are NA. The column `emulated` is
        true if a row was run without a GPU.
        """
        frame = self._run.frame.drop(columns="cost")
        own = {name: _convert_column(name, frame[name]) for name in frame.columns}
        return pd.DataFrame(own, columns=[*columns.NAMES, *(n for n in own if n not in columns.BY_NAME)])

    @cached_property
    def lines(self) -> pd.DataFrame:
        """The costs of each source line: lines.csv, in the types of `table`; empty if no lines were counted."""
        path = RunFolder(self.path).lines
        with runs.reading(self.path):
            text = path.read_text(encoding="utf-8") if path.is_file() else costs.as_csv(())
        types: Any = {column.name: _TYPES[column.type] for column in columns.OF_LINES}
        return pd.read_csv(io.StringIO(text), dtype=types)

    @cached_property
    def environment(self) -> dict[str, Any]:
        """The content of environment.json: the device, the versions, the command and the commit."""
        return runs.environment(self.path)

    @cached_property
    def verdict(self) -> str:
        """One or two sentences on how many cases match their reference, and which is the fastest."""
        return findings.judge(self._run).headline

    @property
    def ok(self) -> bool:
        """Whether every case was run and is correct. Skipped cases do not count, but at least one must be correct."""
        return findings.level(self._run) == "good"

    @cached_property
    def problems(self) -> list[str]:
        """A sentence for each case that failed: the case, its status, and why; then those that were not reached.

        If no case is correct, skipped ones follow.
        """
        rows = [row for row in self._run.rows if row["status"] not in ("ok", *ranking.IDLE)]
        rows += [row for row in self._run.rows if row["status"] == "not_run"]
        if "ok" not in set(self._run.frame["status"]):
            rows += [row for row in self._run.rows if row["status"] == "skipped"]
        names = [name for name in self._run.parameters if name != "seed"]
        return [f"{described(row, names)}: {row['status']}: {row['reason']}" for row in rows]

    @property
    def report(self) -> Path:
        """The path of report.html. It does not exist before the sweep's end."""
        return RunFolder(self.path).report

    def plot(self) -> Figure:
        """Draw the report's first chart: the best case of each kernel, or the variants of one, the fastest first.

        Without a GPU it shows counted memory work, as times of the CPU device say nothing about a GPU. A notebook
        displays the figure; `savefig` of it writes a file.

        Raises:
            UsageError: The run has no two comparable cases, or none whose memory work was counted.
        """
        return report.plot(self.path)

    def samples(self, case: str | Mapping[str, Any] | pd.Series[Any]) -> pd.DataFrame:
        """The timed launches of a case.

        Args:
            case: A row of `table`, or the case's id if only one row has it.

        Returns:
            One row per launch, in order: `round`, `us` (its time), `enqueue_us` (the time the host took to queue it),
            `throttled` (whether the GPU was throttled).

        Raises:
            UsageError: The case was not timed, or its samples are missing.
        """
        row = self._row(case) if isinstance(case, str) else dict(case) if isinstance(case, Mapping | pd.Series) else {}
        if not {"case", "job"} <= row.keys():
            raise UsageError(f"samples: expected a row of `table` or the id of a case, not {type(case).__name__}")
        folder = RunFolder(self.path)
        file = folder.samples(str(row["case"]), -1 if absent(row["job"]) else int(row["job"]))
        stored = samples.read(folder, file)
        if stored is None:
            why = "the case was not timed, or its samples file is missing"
            raise UsageError(f"{self.path}: case {row['case']} has no samples: {why}")
        return pd.DataFrame({name: stored[name] for name in stored.dtype.names or ()})

    def best(self, by: str = "") -> pd.DataFrame:
        """The best case of each size among comparable cases: those of one device, dtype, family and finish.

        Emulated times of the CPU device are not ranked.

        Args:
            by: The column or metric that ranks cases, such as `gflops`; by default the run's own choice.

        Returns:
            Rows of `table` with the column `tied`, the number of further cases that are statistically equal.
        """
        if not isinstance(by, str):
            raise UsageError(f"by: expected the name of a column or a metric, not {type(by).__name__}")
        run = self._run
        groups = ranking.fastest(run.ranked_by(criterion(run.plan, by)) if by else run)
        rows = self.table.loc[[group.fastest["row"] for group in groups]]
        return rows.assign(tied=[len(group.tied) for group in groups])

    def compare(self, baseline: Run | str | Path) -> Comparison:
        """Compare this run with an earlier one, case by case, as `python -m runner compare BASELINE RUN` does.

        Args:
            baseline: The earlier run, its folder, or `latest~1` and the like.
        """
        if not isinstance(baseline, Run | str | Path):
            raise UsageError(f"compare: expected a run, a folder or a name, not {type(baseline).__name__}")
        before = baseline if isinstance(baseline, Run) else Run(runs.find_one(str(baseline)))
        with runs.reading(f"{before.path}, {self.path}"):
            base, after = compared.united(list(compared.read([before.path, self.path])))
            return Comparison(changes.compare(base, after, lambda _: None))

    @cached_property
    def _run(self) -> reader.Run:
        with runs.reading(self.path):
            return reader.read(self.path)

    def _row(self, case: str) -> Mapping[str, Any]:
        rows = self._run.frame[self._run.frame["case"] == case]
        if len(rows) != 1:
            none = f"no case '{case}'; the column `case` of `table` has the cases"
            several = f"{len(rows)} rows have the case '{case}'; pass one row of `table` instead"
            raise UsageError(f"{self.path}: {none if rows.empty else several}")
        return dict(rows.iloc[0])

    def __repr__(self) -> str:
        return f"<Run {short_path(self.path)}: {self.verdict}>"

    def _repr_html_(self) -> str:
        table = tables.all_cases(self._run, ranking.ratios(self._run))
        more = f"<p>{len(table.lines) - MAX_ROWS} more cases</p>" if len(table.lines) > MAX_ROWS else ""
        title = f"<p>{html.escape(short_path(self.path))}<br>{html.escape(self.verdict)}</p>"
        return f"{title}{table.html(MAX_ROWS)}{more}"


class Comparison:
    """A comparison of a run with an earlier one.

    Attributes:
        verdict: One sentence on the outcome of all cases.
        remarks: Sentences on what limits the comparison.
        worse: Whether a case is slower or broken.
        table: One row per case, the worst first, with the columns that `python -m runner compare --csv` writes.
    """

    def __init__(self, comparison: changes.Comparison) -> None:
        """Read a comparison into a table and sentences."""
        self.verdict = views.headline(comparison)
        self.remarks = tuple(views.remarks(comparison))
        self.worse = views.exit_status([comparison], strict=False) == views.WORSE
        text = views.as_csv([comparison], views.entries([comparison])).decode(errors="replace")
        self.table = pd.read_csv(io.StringIO(text))

    def __repr__(self) -> str:
        return f"<Comparison {self.verdict}>"

    def _repr_html_(self) -> str:
        sentences = "<br>".join(map(html.escape, (self.verdict, *self.remarks)))
        return f"<p>{sentences}</p>{self.table.to_html(max_rows=MAX_ROWS, index=False, na_rep='')}"


def _convert_column(name: str, values: pd.Series[Any]) -> pd.Series[Any]:
    """Convert a column to its declared type, or a kernel's own parameter to the type that its values suggest."""
    column = columns.BY_NAME.get(name)
    kind: Any = _TYPES[column.type] if column else "string"
    if not column and values.dtype != object:
        return values
    cells = [None if absent(value) else str(value) for value in values]
    texts = set(cells) - {None}
    if kind == "boolean" or (not column and texts and texts <= {"true", "false"}):
        flags = {"True": True, "true": True, "False": False, "false": False}
        return pd.Series([flags.get(cell or "") for cell in cells], index=values.index, dtype="boolean")
    return pd.Series(cells, index=values.index, dtype=kind) if kind == "string" else values.astype(kind)
