"""A sweep of all combinations. All jobs are planned before the first one runs, and the launcher gets them at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra.core.config_loader import ConfigLoader
from omegaconf import DictConfig, OmegaConf

from runner import report
from runner.cli import printable
from runner.compose import checks, schema, zipped
from runner.compose import overrides as grammar
from runner.compose.composer import Composer, kernel_of
from runner.compose.launchers import Launcher
from runner.device.kinds import is_gpu, kind_ahead
from runner.display.terminal import SweepProgress
from runner.errors import KernelMistake, UsageError
from runner.files.limited import MAX_ROWS
from runner.jobs.job import Job
from runner.record.folder import RunFolder
from runner.sweep.session import Session

BASIC = "basic"


def sweeper(config: DictConfig) -> str:
    """The choice of the group `hydra/sweeper`."""
    return str(config.hydra.runtime.choices["hydra/sweeper"])


def require_few_cases(config: DictConfig) -> None:
    """Refuse a sweep of more than `max_cases` cases before composing them. A search chooses its own number.

    Raises UsageError if the sweep is too large, or `max_cases` itself is out of range.
    """
    most = config.get("max_cases", schema.MAX_CASES)
    if not 1 <= most <= MAX_ROWS:
        raise UsageError(f"max_cases={most}: expected 1 to {MAX_ROWS}")
    if sweeper(config) != BASIC:
        return
    folders, overrides = schema.folders_of(config.hydra), grammar.parse(sweep_overrides(config, resolve=True))
    for override in overrides:
        checks.refuse_equal_values(override)
    lengths = {override.get_key_element(): checks.length(override, folders) for override in overrides}
    lengths[zipped.KEY] = len(zipped.rows(config, overrides))
    if (cases := math.prod(lengths.values())) > most:
        product = " x ".join(f"{n:,} of {key}" for key, n in lengths.items() if n > 1)
        raise UsageError(f"the sweep has {cases:,} cases ({product}), above max_cases={most}; sweep fewer values")


def run(config: DictConfig, loader: ConfigLoader, launcher: Launcher, folder: RunFolder, session: Session) -> None:
    """Plan all jobs, then run them. An invalid job stops the sweep before any runs; an invalid kernel is left out.

    `session` gets the plan of a dry run and the kernels that were left out.

    Raises UsageError if a value is invalid, or the sweep is empty.
    """
    parsed = grammar.parse(sweep_overrides(config), loader)
    pairs = zipped.rows(config, parsed)
    combined = grammar.product(override for override in parsed if not zipped.is_zip(override))
    job_overrides = [[*one, *pair] for one in combined for pair in pairs]
    folder.write(folder.multirun, OmegaConf.to_yaml(config))
    if not job_overrides:
        parsed = grammar.parse(grammar.as_written(config.hydra.overrides.task))
        folders = schema.folders_of(config.hydra)
        empty = [str(override.input_line) for override in parsed if checks.length(override, folders) == 0]
        why = "has no value" if empty and "glob(" not in empty[0] else "matches no name"
        raise UsageError(f"{' '.join(empty) or 'nothing to run: kernel=glob(...)'}: {why}")
    composer, dry = Composer(loader, config), session.options.dry_run
    with SweepProgress(quiet=session.options.quiet) as progress:
        progress.stage("reading the configuration", len(job_overrides))
        plan: list[Job] = []
        mistakes: dict[str, KernelMistake] = {}
        for number, overrides in enumerate(job_overrides):
            progress.show_step(" ".join(overrides))
            try:
                plan.append(composer.job(overrides, number, None if dry else folder.job(number)))
            except KernelMistake as e:
                mistakes.setdefault(kernel_of(overrides), e)
            progress.step()
            if len(plan) == 1 and not dry:
                launcher.begin(plan[0], session)  # while the rest is read
        if not plan:
            raise next(iter(mistakes.values()))
        _refuse_similar_names(plan)
        session.left_out = {name: str(mistake) for name, mistake in mistakes.items()}
        _report_left_out_and_replaced(job_overrides, plan, mistakes, progress)
        _check_baseline(config.get("baseline"), plan, progress)
        if dry:
            session.planned += launcher.planned(plan)
        else:
            # A single case has few figures, and a run on the CPU device has none.
            times = is_gpu(kind_ahead(plan[0].device.kind))
            session.renderers = report.prepare(times=times, figures=times and len(plan) > 1)
            launcher.run(plan, folder, progress, session)


def _refuse_similar_names(plan: Sequence[Job]) -> None:
    """Raise UsageError if parameters of two kernels differ only by case: columns and files would, too."""
    owners = {p.name: job.case.kernel.name for job in plan for p in job.case.kernel.parameters}
    by_lower: dict[str, str] = {}
    for name, kernel in owners.items():
        if (other := by_lower.setdefault(name.lower(), name)) != name:
            instead = "a sweep cannot have both, as filters and file names do not tell them apart"
            raise UsageError(f"parameters '{other}' of {owners[other]} and '{name}' of {kernel}: {instead}")


def _check_baseline(chosen: str | None, plan: Sequence[Job], progress: SweepProgress) -> None:
    """Raise UsageError if a kernel has two baselines, and report a chosen one that the sweep does not measure."""
    own = {job.case.kernel.name: job.case.kernel.baseline for job in plan}
    if two := next((job for job in plan if job.case.kernel.baseline != own[job.case.kernel.name]), None):
        values = f"{two.case.kernel.baseline},{own[two.case.kernel.name]}"
        raise UsageError(f"baseline={values}: a sweep compares with one baseline; run a sweep for each")
    if chosen is not None and chosen not in own:
        progress.warn(f"baseline={chosen}: it is no kernel of this sweep, so none is compared with it")


def sweep_overrides(config: DictConfig, *, resolve: bool = False) -> list[str]:
    """The overrides that define the jobs: an experiment's, then those of the command line, which override them."""
    params: Any = OmegaConf.to_container(config.hydra.sweeper.get("params") or OmegaConf.create({}), resolve=resolve)
    return [*(f"{key}={value}" for key, value in params.items()), *grammar.as_written(config.hydra.overrides.task)]


def _report_left_out_and_replaced(
    job_overrides: Sequence[Sequence[str]],
    plan: Sequence[Job],
    mistakes: Mapping[str, KernelMistake],
    progress: SweepProgress,
) -> None:
    """Report kernels that are left out, parameters without effect, and kernels that replace the runner's own."""
    for mistake in mistakes.values():
        progress.warn(f"{printable(str(mistake))}; this kernel is left out")
    overridden = {override.partition("=")[0] for overrides in job_overrides for override in overrides}
    read = {name for job in plan for name, _ in job.case.parameters}
    for name in sorted(overridden & set(schema.parameter_names()) - read):
        progress.say(f"{name}: no kernel in this sweep uses it, so it has no effect")
    for name, job in {job.case.kernel.name: job for job in plan}.items():
        if replaced := _replaced(job):
            progress.say(f"kernel={name}: {job.case.kernel.yaml} replaces {replaced}")


def _replaced(job: Job) -> Path | None:
    """The YAML of the same name in another configuration folder."""
    yaml = job.case.kernel.yaml
    paths = (folder / "kernel" / yaml.name for folder in job.origin.folders)
    return next((path for path in paths if path.is_file() and not path.samefile(yaml)), None)
