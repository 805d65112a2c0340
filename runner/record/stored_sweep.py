"""Restore the jobs of a sweep from its folder, without Hydra.

The jobs come from plan.json and case.json and their kernels from sources/, so later changes to a kernel do not matter.
Running the jobs runs the folder's code.
"""

from __future__ import annotations

import io
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from runner.device.config import DeviceConfig
from runner.device.kinds import require_compiler
from runner.errors import UsageError
from runner.files import limited, limited_yaml
from runner.jobs.job import LAUNCHERS, Job, Origin, read_kernel
from runner.jobs.settings import RACES_NONE, ProfileConfig, TimingConfig, lines_setting
from runner.kernel import from_yaml, metrics
from runner.kernel.declaration import Kernel
from runner.kernel.resolve import make
from runner.record import runs, sources
from runner.record.folder import RunFolder

MAX_NAMES = 3  # of missing files in a message


@dataclass(frozen=True)
class StoredSweep:
    """A sweep as stored in its folder."""

    folder: RunFolder  # with an absolute path
    jobs: tuple[Job, ...]  # all planned jobs
    launcher: str  # its name in the rows; older folders have names that are not in `LAUNCHERS`
    one_by_one: bool  # whether jobs were planned one by one, so that the plan may be incomplete
    fingerprints: Mapping[str, Mapping[str, str]]  # for each kernel, the hash of each file by name


def read(path: Path) -> StoredSweep:
    """Read a sweep from its folder.

    Raises:
        UsageError: The folder has no planned sweep, lacks sources, is locked by a running sweep, or contains links,
            pipes or devices. These are refused here because kernels' files are later opened by their paths.
    """
    if not path.is_dir():
        raise UsageError(f"{path} is a file, not a run folder" if path.exists() else f"{path}: there is no such folder")
    folder = RunFolder(path.absolute())
    if folder.locked:
        raise UsageError(f"{path}: a sweep is running in this folder right now; wait until it has ended")
    folder.require_plain()
    _require_own_sources(folder)
    with runs.reading(path):
        entries = dict(_entries(folder))
        if not entries:
            raise UsageError(f"{path}: not the folder of a sweep: it holds no planned case; start a new sweep")
        complete = [entry for entry in entries.values() if "row" in entry]
        launcher = str(complete[0]["row"]["launcher"]) if complete else "batch"
        one_by_one = not runs.environment(path).get("planned_at_once", launcher in (*LAUNCHERS, "none"))
        if not one_by_one and (unknown := [n for n in folder.jobs() if n not in entries]):
            raise UsageError(f"{path}: the plan is incomplete: it lacks job {unknown[0]}; start a new sweep")
        fingerprints = {str(entry["kernel"]): entry["fingerprint"] for entry in complete}
        _require_sources(path, folder, fingerprints)
        jobs = _jobs(folder, entries)
    return StoredSweep(folder, jobs, launcher, one_by_one, fingerprints)


def jobs_of(folder: RunFolder, numbers: Collection[int]) -> tuple[Job, ...]:
    """The planned jobs of these numbers, each case once. Raises `UsageError` if the folder is malformed."""
    with runs.reading(folder.path):
        return _jobs(folder, {n: entry for n, entry in _entries(folder, numbers) if "same_as" not in entry})


def kernel_of(folder: RunFolder, name: str) -> Kernel:
    """A kernel as its YAML in the folder declares it. Nothing is imported or run.

    Raises:
        UsageError: The YAML is missing or malformed, or names a file outside the folder.
    """
    _require_own_sources(folder)
    file, content = _stored_yaml(folder, name)
    kernel = from_yaml.read(name, content, file)
    _require_files_inside(folder, kernel)
    return kernel


def changed_sources(sweep: StoredSweep) -> Iterator[str]:
    """The stored sources and installed references that changed since the sweep's rows were measured."""
    for name, job in {job.case.kernel.name: job for job in sweep.jobs}.items():
        then, now = sweep.fingerprints.get(name, {}), sources.fingerprint(job.case.kernel, job.origin.kernel)
        for file in (file for file in then if now.get(file) != then[file]):
            copy = next(sweep.folder.sources.rglob(Path(file).name), None)
            yield copy.relative_to(sweep.folder.path).as_posix() if copy else file


def _entries(folder: RunFolder, only: Collection[int] | None = None) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield each job's entry in plan.json (`only`: these jobs), then all case.json records, which override entries."""
    plan = folder.planned() or {}
    for case in plan.get("cases", []):
        if "way" in case and (only is None or case["job"] in only):
            declared, rank_by = plan.get("metrics", {}).get(case["kernel"]), plan.get("rank_by", metrics.TIME)
            settings = {"asked": plan["ways"][case["way"]], "metrics": declared, "rank_by": rank_by}
            yield case["job"], {**case, **settings}
    for number in folder.jobs() if only is None else sorted(only):
        if content := folder.record(number):
            yield number, content


def _require_sources(path: Path, folder: RunFolder, fingerprints: Mapping[str, Mapping[str, str]]) -> None:
    # Python references may be installed modules outside the folder.
    names = {Path(name).name for files in fingerprints.values() for name in files if not name.endswith(".py")}
    if missing := sorted(names - {p.name for p in folder.sources.rglob("*")}):
        more = f" and {len(missing) - MAX_NAMES} more" if len(missing) > MAX_NAMES else ""
        raise UsageError(
            f"{path}: the folder cannot be run again: its sources/ lacks {', '.join(missing[:MAX_NAMES])}{more}"
        )


def _require_own_sources(folder: RunFolder) -> None:
    """Refuse YAML that is malformed or exceeds a limit, and a kernel's YAML that names files outside sources/."""
    for file in folder.files(folder.sources):
        if file.suffix in (".yaml", ".yml"):
            try:
                declared = limited_yaml.load_yaml(folder.text(file))
            except (limited.TooMuch, yaml.YAMLError) as e:
                raise UsageError(f"{file}: {' '.join(str(e).split())}") from None
            if file.parent.name == "kernel" and isinstance(declared, dict):
                named = declared.get("include")
                for path in (declared.get("source"), *(named if isinstance(named, list) else [named])):
                    _require_inside(folder, file.parent / str(path or ""))


def _require_inside(folder: RunFolder, path: Path) -> None:
    if not Path(os.path.normpath(path)).is_relative_to(os.path.normpath(folder.sources)):
        raise UsageError(f"{folder.path}: a kernel names {path}, which lies outside sources/")


def _jobs(folder: RunFolder, entries: Mapping[int, Mapping[str, Any]]) -> tuple[Job, ...]:
    names = dict.fromkeys(str(entry["kernel"]) for _, entry in sorted(entries.items()))
    kernels = {name: _kernel(folder, name) for name in names}
    return tuple(_job(number, entry, *kernels[str(entry["kernel"])]) for number, entry in sorted(entries.items()))


def _kernel(folder: RunFolder, name: str) -> tuple[Kernel, Origin]:
    file, content = _stored_yaml(folder, name)
    kernel = read_kernel(name, content, file)
    _require_files_inside(folder, kernel)
    return kernel, Origin((folder.sources / "conf",), (), content)


def _stored_yaml(folder: RunFolder, name: str) -> tuple[Path, Any]:
    """The YAML of a kernel in the folder, and its content."""
    file = folder.sources / "conf" / "kernel" / f"{name}.yaml"
    try:
        return file, OmegaConf.to_container(OmegaConf.load(io.StringIO(folder.text(file))))
    except (yaml.YAMLError, OmegaConfBaseException) as e:
        raise UsageError(f"{file}: {' '.join(str(e).split())}") from None


def _require_files_inside(folder: RunFolder, kernel: Kernel) -> None:
    for path in (*kernel.sources, *kernel.include):  # these may come from its family's YAML
        _require_inside(RunFolder(folder.path.resolve()), path)


def _job(number: int, entry: Mapping[str, Any], kernel: Kernel, origin: Origin) -> Job:
    settings = dict(entry["asked"])
    settings.pop("recording", None)  # of older versions
    compiler, timing = settings.pop("compiler"), TimingConfig(**settings.pop("timing"))
    require_compiler(compiler)
    stages = {
        "lines": lines_setting(settings.pop("lines", True)),
        "racecheck": settings.pop("racecheck", RACES_NONE),  # older folders have no races to look for
        "profile": ProfileConfig(**settings.pop("profile", {})),
    }
    case, device = make(kernel, entry["parameters"], entry["seed"]), DeviceConfig(**settings)
    ranking = metrics.from_record(entry.get("metrics")), entry.get("rank_by", metrics.TIME)
    copy, look = (int(entry.get(name, 0)) for name in ("copy", "look"))
    return Job(case, device, timing, compiler, number, origin, *ranking, copy=copy, look=look, **stages)
