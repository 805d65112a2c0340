"""The launcher `batch`: it gets all jobs of a sweep at once, so nothing runs before every job is understood.

Hydra takes some 50 ms to compose a job, nearly all of it for the files that the groups choose. So Hydra composes each
choice of groups once, and the jobs with this choice share it as plain dictionaries. An override is a value if it sets a
parameter or the seed to a plain scalar; values are set job by job. Hydra composes everything else, and every job in
which one value refers to another (`${...}`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.utils import JobReturn, JobStatus, setup_globals
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf

from runner import all_stages
from runner.config import Job
from runner.display.terminal import SweepProgress
from runner.errors import KernelMistake, UsageError
from runner.files import atomic
from runner.hydra import command_line, schema
from runner.record.folder import RunFolder
from runner.session import Session, current
from runner.shards import clusters
from runner.sweep import engine

BASIC_SWEEPER = "hydra._internal.core_plugins.basic_sweeper.BasicSweeper"  # as configurations name it
_INTEGER = re.compile(r"([a-z_][a-z0-9_]*)=(-?(?:0|[1-9][0-9]{0,17}))")
CHOICES = 128  # that are kept: where kernels vary fastest, all kernels on two devices come in turn


class BatchLauncher(Launcher):
    """Hands all jobs of a sweep to the engine at once."""

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Called by Hydra before its sweeper composes all jobs to check them."""
        _ = task_function  # the engine is called directly
        self._config = config
        loader: Any = hydra_context.config_loader
        self.composer = Composer(loader, config)
        require_reserved(RunFolder(Path(str(config.hydra.sweep.dir))))
        if (session := current.get()).options.dry_run:
            session.launcher = str(config.hydra.runtime.choices["hydra/launcher"])
            _require_plan(config)
        if config.hydra.sweeper.get("_target_") == BASIC_SWEEPER:
            # It throws away what it composes, and `launch` composes all jobs before any is run.
            loader.load_sweep_config = lambda master_config, sweep_overrides: master_config  # noqa: ARG005

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Plan all jobs, then run them; if one of them cannot be understood, none is run."""
        setup_globals()
        if not job_overrides:
            texts = [str(override) for override in self._config.hydra.overrides.task]
            folders = schema.folders_of(self._config.hydra)
            empty = [text for text in texts if 0 in command_line.lengths([text], folders).values()]
            why = "has no value" if empty and "glob(" not in empty[0] else "matches no name"
            raise UsageError(f"{' '.join(empty) or 'there is nothing to run: kernel=glob(...)'}: {why}")
        folder = RunFolder(Path(str(self._config.hydra.sweep.dir)))
        session = current.get()
        with SweepProgress(quiet=session.options.quiet) as progress:
            progress.stage("reading the configuration", len(job_overrides))
            plan: list[Job] = []
            mistakes: dict[str, KernelMistake] = {}
            for number, overrides in enumerate(job_overrides, initial_job_idx):
                progress.now(" ".join(overrides))
                try:
                    kept = None if session.options.dry_run else folder.job(number)
                    plan.append(self.composer.job(overrides, number, kept))
                except KernelMistake as e:
                    mistakes.setdefault(_kernel(overrides), e)
                progress.step()
                if len(plan) == 1 and not session.options.dry_run:
                    self._begin(plan[0], session)  # while the rest is read
            if not plan:
                raise next(iter(mistakes.values()))
            session.left_out = list(mistakes)
            _say_what_differs(job_overrides, plan, mistakes, progress)
            if session.options.dry_run:
                session.planned += self._planned(plan)
            else:
                self._run(plan, folder, progress, session)
        # Whatever becomes of a case is in its row, so the job itself always succeeds.
        return [JobReturn(overrides=overrides, status=JobStatus.COMPLETED) for overrides in job_overrides]

    def environments(self, first: Job) -> list[dict[str, str]]:
        """Those of the workers with which a search measures at the same time: one."""
        _ = first
        return [{}]

    def _begin(self, first: Job, session: Session) -> None:
        session.open_device(first.device)

    def _planned(self, plan: Sequence[Job]) -> Sequence[Job]:
        return plan

    def _run(self, plan: Sequence[Job], folder: RunFolder, progress: SweepProgress, session: Session) -> None:
        engine.run(plan, folder, progress, "batch", session.take_worker(), stages=all_stages.ALL)


class ShardLauncher(BatchLauncher):
    """Splits the jobs of a sweep over several GPUs. Its arguments are those of `hydra.launcher`."""

    def __init__(self, **settings: Any) -> None:
        """Called by Hydra."""
        super().__init__()
        plain: Any = OmegaConf.to_container(OmegaConf.create(settings), resolve=True)
        self._settings = dict(plain)

    def environments(self, first: Job) -> list[dict[str, str]]:
        """One for each GPU; a `UsageError` if a setting has no sense for a search."""
        clusters.refuse_index([first])
        if self._settings.get("replicate") or not self._settings.get("wait", True):
            name, value = ("replicate", "true") if self._settings.get("replicate") else ("wait", "false")
            raise UsageError(f"hydra.launcher.{name}={value}: a search cannot do this")
        return clusters.gpus(self._settings, [first]).environments()

    def _begin(self, first: Job, session: Session) -> None:
        """Each shard opens its own device."""

    def _planned(self, plan: Sequence[Job]) -> Sequence[Job]:
        """Each case as often as it would be measured; a `UsageError` if a setting is wrong."""
        return clusters.planned(str(self._config.hydra.runtime.choices["hydra/launcher"]), plan, self._settings)

    def _run(self, plan: Sequence[Job], folder: RunFolder, progress: SweepProgress, session: Session) -> None:
        kept = {**self._settings, "record_host": bool(self._config.get("record_host", False))}
        name = str(self._config.hydra.runtime.choices["hydra/launcher"])
        session.ended_early = not clusters.run(name, plan, folder, progress, kept)
        session.detached = not kept.get("wait", True)


def require_reserved(folder: RunFolder) -> None:
    """Refuse a sweep whose folder the runner's callback has not reserved: two sweeps could share it."""
    if not folder.environment.exists():
        raise UsageError("hydra.callbacks: an experiment cannot replace or switch off 'reserve', the runner's own")


def _say_what_differs(
    job_overrides: Sequence[Sequence[str]],
    plan: Sequence[Job],
    mistakes: Mapping[str, KernelMistake],
    progress: SweepProgress,
) -> None:
    """Say what of the command line has no part in the plan, and which kernels take the place of ours."""
    for mistake in mistakes.values():
        progress.warn(f"{mistake}; this kernel is left out")
    for name in _unread(job_overrides, plan):
        progress.say(f"{name}: no kernel in this sweep uses it, so it has no effect")
    for kernel in {job.case.kernel.name: job for job in plan}.values():
        if replaced := _replaced(kernel):
            progress.say(f"kernel={kernel.case.kernel.name}: {kernel.case.kernel.yaml} replaces {replaced}")


def _require_plan(config: DictConfig) -> None:
    """Refuse --dry-run where the cases are not known before they run."""
    if config.hydra.sweeper.get("_target_") != BASIC_SWEEPER:
        name = config.hydra.runtime.choices["hydra/sweeper"]
        raise UsageError(
            f"--dry-run: hydra/sweeper={name} chooses its cases while it runs, so there is no plan to show"
        )


def _kernel(overrides: Sequence[str]) -> str:
    """The kernel that a job chooses; empty if its default says."""
    return next((text.partition("=")[2] for text in overrides if text.startswith("kernel=")), "")


def _replaced(job: Job) -> Path | None:
    """The kernel of the same name that another folder of the configuration has."""
    yaml = job.case.kernel.yaml
    found = (p for f in job.origin.folders if (p := f / "kernel" / yaml.name).is_file())
    return next((p for p in found if not p.samefile(yaml)), None)


def _unread(job_overrides: Sequence[Sequence[str]], plan: Sequence[Job]) -> list[str]:
    """Parameters that the command line sets and no kernel of the sweep has."""
    given = {override.partition("=")[0] for overrides in job_overrides for override in overrides}
    read = {name for job in plan for name, _ in job.case.parameters}
    return sorted(given & set(schema.parameter_names()) - read)


@dataclass(frozen=True)
class _Choice:
    """A composed choice of groups."""

    task: Mapping[str, Any]  # the job's configuration, unresolved, as plain values
    hydra: Mapping[str, Any]  # Hydra's own node, likewise
    composed: schema.Composed  # the job's configuration, resolved and checked
    refers: bool  # whether a value refers to another


class Composer:
    """Composes the jobs of one sweep, and writes their files. It keeps what they share, and no job."""

    def __init__(self, loader: ConfigLoader, master: DictConfig) -> None:
        self._master = master
        self._compose = functools.partial(loader.load_sweep_config, master)
        groups = loader.list_groups("")  # a user's group may be called as a parameter
        self._names = frozenset(("seed", *schema.parameter_names())) - frozenset(groups)
        self._parser = OverridesParser.create()
        self._value = functools.lru_cache(maxsize=4096)(self._read_value)
        folders = schema.folders_of(master.hydra)
        self._check = functools.lru_cache(maxsize=4096)(lambda name: command_line.check_kernel(name, folders))
        self._choice = functools.lru_cache(maxsize=CHOICES)(self._compose_choice)

    def job(self, overrides: Sequence[str], number: int, folder: Path | None) -> Job:
        """Compose a job, and write what Hydra leaves in a job's folder, if there is one."""
        self._check(_kernel(overrides))
        values = {name: value for text in overrides for name, value in self._value(text)}
        choice = self._choice(tuple(text for text in overrides if not self._value(text)))
        if values and choice.refers:
            choice, values = self._compose_choice(tuple(overrides)), {}
        job = schema.job(choice.composed, values, overrides, number)
        if folder:
            _write(folder, {**choice.task, **values}, choice.hydra, overrides, number)
        return job

    def _compose_choice(self, overrides: tuple[str, ...]) -> _Choice:
        whole = self._master if self._has(overrides) else self._compose(list(overrides))
        hydra = whole.hydra
        task = OmegaConf.masked_copy(whole, [str(key) for key in whole if key != "hydra"])
        OmegaConf.copy_cache(whole, task)
        plain = _plain(task)
        return _Choice(plain, _plain(hydra), schema.read(task, hydra), "${" in repr(plain))

    def _has(self, overrides: Sequence[str]) -> bool:
        """Whether the sweep's own configuration was composed with these overrides."""
        known = self._master.hydra
        given: Any = OmegaConf.to_container(known.overrides.task, resolve=False)
        return set(overrides) <= set(given) and "???" not in known.runtime.choices.values()

    def _read_value(self, text: str) -> tuple[tuple[str, Any], ...]:
        """The name and the value that an override sets; empty if Hydra must compose it."""
        if (whole := _INTEGER.fullmatch(text)) and whole[1] in self._names:  # Hydra's parser takes milliseconds
            return ((whole[1], int(whole[2])),)
        (override,) = self._parser.parse_overrides([text])
        name, value = override.key_or_group, override.value()
        if override.package or override.type.name != "CHANGE" or name not in self._names:
            return ()
        if name == "seed":
            plain = type(value) is int
        else:
            plain = value is None or (isinstance(value, str | int | float) and "${" not in str(value))
        return ((name, value),) if plain else ()


def _plain(node: DictConfig) -> dict[str, Any]:
    plain: Any = OmegaConf.to_container(node, resolve=False, enum_to_str=True)
    return dict(plain)


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Writes YAML that OmegaConf reads as it was: it takes `1e3` for a number, too."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _text(dumper: Any, value: str) -> Any:
    style = "'" if re.match(r"[-+]?\.?[0-9]", value) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def _write(
    folder: Path, task: Mapping[str, Any], hydra: Mapping[str, Any], overrides: Sequence[str], number: int
) -> None:
    """Write the files of a job that Hydra's own launchers write."""
    own = [text for text in overrides if not text.lstrip("+~").startswith(("hydra.", "hydra/"))]
    style = hydra["job"]["config"]["override_dirname"]
    named = sorted(text for text in own if re.split("[=@]", text)[0] not in style["exclude_keys"])
    its = {
        **hydra,
        "overrides": {**hydra["overrides"], "task": own},
        "job": {
            **hydra["job"],
            "override_dirname": style["item_sep"].join(named).replace("=", style["kv_sep"]),
            "id": str(number),
            "num": number,
        },
        "runtime": {**hydra["runtime"], "output_dir": str(folder.absolute())},
    }
    for name, content in (("config", dict(task)), ("hydra", {"hydra": its}), ("overrides", own)):
        text = yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
        atomic.write_text(folder / ".hydra" / f"{name}.yaml", text)
