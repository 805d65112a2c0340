"""The sweeper `search`: the command line defines the space, and `runner.search` chooses cases based on results."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra.core.config_loader import ConfigLoader
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.types import Override, QuotedString
from omegaconf import DictConfig, OmegaConf

from runner import report
from runner.compose import checks, schema, sweeps
from runner.compose import overrides as grammar
from runner.compose.composer import Composer
from runner.compose.group_files import FILES
from runner.compose.launchers import Launcher
from runner.device.kinds import compiles_fast, is_gpu, kind_ahead, kind_of
from runner.display.terminal import SweepProgress
from runner.display.text import count
from runner.errors import UsageError
from runner.jobs.job import Job
from runner.jobs.settings import LINES_ALL, LINES_NONE
from runner.kernel import metrics
from runner.kernel.metrics import Metric
from runner.record import searched, sources, stored_rows
from runner.record.folder import RunFolder
from runner.record.searched import Point
from runner.search import batches, samplers
from runner.search.devices import Devices
from runner.search.loop import Budget, Sampler, Search, latest
from runner.search.space import MAX_VALUES, Space, kernel_space
from runner.stages.all import ALL
from runner.stages.lines.columns import COLUMNS as LINE_COLUMNS
from runner.sweep.session import Session

SEARCHING = ("batch", "gpus")  # launchers that can search
OBJECTIVE = "hydra.sweeper.objective"
COUNTED = frozenset(column.name for column in LINE_COLUMNS)
SEEDS = range(2**32)  # accepted by all samplers
FORMS = ("choice", "range")  # of the values of a parameter under `search`
Axes = Mapping[str, Sequence[Any]]


@dataclass
class SearchConf:
    """The configuration of `hydra/sweeper=search`."""

    sampler: str = "guided"  # or random, grid
    max_cases: int = 0  # 0: no limit
    max_seconds: float = 0.0  # 0: no limit
    patience: int = 50  # the search ends after this many cases without an improvement of 1 %; 0: no limit
    seed: int = 0
    batch: int = 8  # cases that are compiled in parallel and measured side by side
    objective: Any = ""  # a column, a metric or an expression, or a list of two; empty: rank_by
    params: dict[str, Any] | None = None  # the space, written as for a sweep of all combinations


def register() -> None:
    """Register the sweeper with Hydra."""
    ConfigStore.instance().store(group="hydra/sweeper", name="search", node=SearchConf, provider="runner")


def run(config: DictConfig, loader: ConfigLoader, launcher: Launcher, folder: RunFolder, session: Session) -> None:
    """Search the space that a command line and an experiment define. The arguments are those of `sweeps.run`.

    Raises:
        UsageError: A setting is invalid, or the launcher cannot search.
    """
    _Searching(config, loader, launcher, folder, session).run()


class _Searching:
    """One search."""

    def __init__(
        self, config: DictConfig, loader: ConfigLoader, launcher: Launcher, folder: RunFolder, session: Session
    ) -> None:
        if launcher.name not in SEARCHING:
            raise UsageError(
                f"hydra/launcher={launcher.name}: a search cannot use this launcher; expected "
                "batch or gpus (all GPUs of this machine)"
            )
        keys: Any = OmegaConf.to_container(config.hydra.sweeper, resolve=True)
        self._settings = dict(keys)
        self._config, self._launcher, self._folder, self._session = config, launcher, folder, session
        self._composer = Composer(loader, config)

    def run(self) -> None:
        folder, given = self._folder, self._settings
        budget = Budget(given["max_cases"], given["max_seconds"], given["patience"])
        if not 1 <= given["batch"] <= 1024:
            raise UsageError(f"hydra.sweeper.batch={given['batch']}: expected 1 to 1024")
        if given["seed"] not in SEEDS:
            raise UsageError(f"hydra.sweeper.seed={given['seed']}: expected {SEEDS[0]} to {SEEDS[-1]}")
        if self._config.zip:
            raise UsageError("zip: a search varies each parameter by itself; a constraint excludes combinations")
        fixed, axes = split(
            grammar.parse(sweeps.sweep_overrides(self._config, resolve=True)),
            declared(OmegaConf.to_container(self._config.search, resolve=True)),
        )
        base = self._composer.job(fixed, 0, None)
        wanted = given["objective"]
        objectives = _objectives(base.rank_by if wanted in (None, "") else wanted, base)
        if counts := _counted(objectives, base):
            fixed = [*fixed, f"lines={LINES_ALL}"]
            base = self._composer.job(fixed, 0, None)
            _require_countable(base, counts)
        chosen = {*base.case.independent, *map(grammar.key_of, fixed)} - {*axes}
        own = {name: value for name, value in base.case.parameters if name in chosen}
        space = kernel_space(base.case.kernel, own, axes)
        legal = _Legal(self._composer, fixed, base, space)
        sampler = samplers.make_sampler(given["sampler"], space, given["seed"])
        if self._session.options.dry_run:
            self._session.search_plan = f"{space.count:,} legal of {space.size:,} combinations"
            return
        folder.write(folder.multirun, OmegaConf.to_yaml(self._config))
        sources.keep(folder, [base])
        with SweepProgress(quiet=self._session.options.quiet) as progress:
            times = is_gpu(kind_ahead(base.device.kind))
            self._session.renderers = report.prepare(times=times, figures=times)
            progress.say(f"searching {space.count:,} legal of {space.size:,} combinations")
            self._search(sampler, budget, objectives, legal, progress)

    def _search(
        self,
        sampler: Sampler,
        budget: Budget,
        objectives: Sequence[Metric],
        legal: _Legal,
        progress: SweepProgress,
    ) -> None:
        folder, session, space = self._folder, self._session, legal.space
        known = batches.read(folder, space) if not session.new else {}
        looks = batches.looks(legal.base, len(objectives))
        devices = Devices(folder, self._launcher.pool(legal.base), self._launcher.name, progress)
        measuring = batches.Batches(
            folder, devices, progress, lambda p, number: legal.job(p, number, folder.job(number)), objectives, looks
        )
        measuring.restore(known)
        searched.write_trials(folder, list(known.values()))
        # Times of the CPU device do not show which case is the best on a GPU.
        rehearsal = not is_gpu(kind_of(legal.base.device)) and any(m.depends_on_clock for m in objectives)
        about = {
            "parameters": [axis.name for axis in space.axes],
            "values": [[str(v) for v in axis.values] for axis in space.axes],
            "combinations": space.size,
            "legal": space.count,
            "objectives": [m.name for m in objectives],
            "better": [m.better for m in objectives],
            "rehearsal": rehearsal,
            "settings": {name: value for name, value in self._settings.items() if name != "params"},
        }
        folder.write_json(folder.search, {**about, "ended": ""})  # the report of an interrupted search needs it
        search = Search(sampler, budget, measuring.measure, known, legal, levels=len(looks), tied=measuring.tied)
        search.halves = compiles_fast(kind_of(legal.base.device), legal.base.compiler)
        search.prepare = measuring.prepare
        search.noted = lambda trials: searched.write_trials(folder, latest(known, trials))
        try:
            search.run(self._settings["batch"])
            remeasured = measuring.finish([t.point for t in measuring.tied(search.trials)])
        finally:
            devices.close()
            if search.trials or known:  # without rows the empty folder is removed
                stored_rows.write(folder, stored_rows.collect(folder))
                for stage in ALL:
                    stage.gather(folder)
        from runner.search.summary import summary  # noqa: PLC0415  (SciPy, which only a search needs)

        by_case = {row["case"]: row for row in stored_rows.collect(folder)}

        def row_of(point: Point) -> dict[str, Any]:
            case = legal.job(point, 0, None).case
            return {**by_case.get(case.id, {}), **case.variables}

        found = {} if rehearsal else summary(space, search.trials, remeasured, row_of, objectives)
        end = {"cases": len(search.trials), "ended": search.ended}
        folder.write_json(folder.search, {**about, **end, **found})
        share = len(search.trials) / max(1, space.count)
        progress.say(f"{count(len(search.trials), 'case')}, {share:.2%} of the legal combinations: {search.ended}")
        if objectives[0].name != legal.base.rank_by and "slices" in found:  # the table is ranked by another column
            best = found["slices"]["best"]
            value, label = objectives[0](row_of(best)), legal.job(best, 0, None).case.label
            progress.say(f"best {objectives[0].name}: {value:.4g}, {label}")


class _Legal:
    """Whether a point of the space is legal, including constraints that the space's tables lack; and its job."""

    def __init__(self, composer: Composer, fixed: Sequence[str], base: Job, space: Space) -> None:
        self._composer, self._fixed, self.base, self.space = composer, list(fixed), base, space
        self._answers: dict[Point, bool] = {}

    def __call__(self, point: Point) -> bool:
        """Whether the case of a point can run."""
        if point not in self._answers:
            self._answers[point] = not self.job(point, 0, None).case.excluded
        return self._answers[point]

    def job(self, point: Point, number: int, folder: Path | None) -> Job:
        """The job of a point."""
        values = [f"{name}={value}" for name, value in self.space.values(point).items()]
        return self._composer.job([*self._fixed, *values], number, folder)


def split(overrides: Sequence[Override], further: Axes) -> tuple[list[str], dict[str, list[Any]]]:
    """Split overrides into fixed values and axes of the space.

    Args:
        overrides: Parsed overrides; a later one replaces an earlier one with the same key.
        further: The axes of the configuration's key `search`, which overrides replace.

    Returns:
        The fixed values as overrides, and the values of each axis by name.

    Raises:
        UsageError: An override varies a group or a dotted key, or has too many values.
    """
    fixed: dict[str, str] = {}
    axes: dict[str, list[Any]] = {name: list(values) for name, values in further.items()}
    for override in overrides:
        key = override.get_key_element()
        axes.pop(key, None)
        fixed.pop(key, None)
        if not override.is_sweep_override():
            fixed[key] = f"{key}={override.get_value_element_as_str()}"
        elif key in FILES or "." in key:
            instead = f"run one search for each {key}"
            raise UsageError(f"{override.input_line}: a search varies parameters of one kernel; {instead}")
        else:
            count = checks.length(override, ())  # a range may not fit into memory
            if not 0 < count <= MAX_VALUES:
                raise UsageError(f"{override.input_line}: {count:,} values; 1 to {MAX_VALUES:,} are searched")
            axes[key] = [v.text if isinstance(v, QuotedString) else v for v in override.sweep_iterator()]
    return list(fixed.values()), axes


def declared(content: Any) -> dict[str, list[Any]]:
    """The values of each parameter in the key `search` of an experiment.

    Raises:
        UsageError: The values of a parameter are malformed, empty or too many.
    """
    axes: dict[str, list[Any]] = {}
    for name, how in content.items():
        key, values = next(iter(how.items())) if isinstance(how, dict) and len(how) == 1 else ("choice", how)
        if key not in FORMS or not isinstance(values, list) or not values:
            raise UsageError(
                f"search.{name}: expected {{choice: [64, 128]}}, {{range: [1, 16]}} or {{range: [0, 64, 8]}}"
            )
        if key == "choice":
            axes[name] = values
            continue
        if not all(type(v) is int for v in values) or len(values) not in (2, 3) or values[2:] == [0]:
            raise UsageError(f"search.{name}.range: expected two or three integers: the first, the last and the step")
        first, last, step = (*values, 1)[:3]
        number = max((last - first) // step + 1, 0)
        if not 0 < number <= MAX_VALUES:
            raise UsageError(f"search.{name}.range: {values} gives {number:,} values; expected 1 to {MAX_VALUES:,}")
        axes[name] = list(range(first, last + (1 if step > 0 else -1), step))
    return axes


def _counted(objectives: Sequence[Metric], base: Job) -> list[str]:
    """The columns in the objectives that only counted lines fill."""
    names = {name for metric in objectives for name in metric.value.names}
    names |= {name for metric in base.metrics if metric.name in names for name in metric.value.names}
    if base.lines == LINES_NONE and names & COUNTED:
        raise UsageError(f"{OBJECTIVE}: {min(names & COUNTED)} is counted by lines, which lines=none leaves out")
    return sorted(names & COUNTED)


def _require_countable(base: Job, counts: Sequence[str]) -> None:
    """Raise `UsageError` if the lines of the kernel cannot be counted."""
    kernel = base.case.kernel
    why = f"runs on a GPU only: {kernel.gpu_only}" if kernel.gpu_only else kernel.opaque and f"is {kernel.opaque}"
    why = why or ("breaks a rule" if base.case.hazard else "")
    if why:
        raise UsageError(
            f"{OBJECTIVE}: {counts[0]} is counted on the CPU device, and {kernel.name} {why}; choose another objective"
        )


def _objectives(wanted: Any, base: Job) -> tuple[Metric, ...]:
    """The objectives: columns, metrics, or expressions of them, for which lower is better."""
    texts = wanted if isinstance(wanted, list) else [wanted]
    if not 1 <= len(texts) <= 2 or not all(isinstance(t, str) and t for t in texts):
        raise UsageError(f"{OBJECTIVE}={wanted}: expected one or two columns or expressions")
    known = {m.name: m for m in base.metrics}
    found = []
    for number, text in enumerate(texts):
        if text in known and not known[text].better:
            raise UsageError(f"{OBJECTIVE}={text}: the metric does not say whether lower or higher is better")
        better = known[text].better if text in known else metrics.BETTER.get(text, "lower")
        name, names, others = f"objective{number}", base.case.variables, schema.parameter_names()
        try:
            together = metrics.merged(base.metrics, {name: {"value": text, "better": better}}, names, others)
        except UsageError as e:
            raise UsageError(str(e).replace(f"metrics.{name}", OBJECTIVE)) from None
        (metric,) = [m for m in together if m.name == name]
        found.append(dataclasses.replace(metric, name=text))
    return tuple(found)
