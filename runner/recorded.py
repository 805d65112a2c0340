"""Run a recorded sweep: what it lacks, or all of it again. Its folder gives the jobs back; Hydra is not needed.

The jobs come from plan.json and case.json, their kernels from sources/, so a kernel that changed since does not matter.
This runs the folder's code.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from runner import __version__, environment, limited, limited_yaml, runs, sources
from runner.config import TOGETHER, Job, Origin, read_kernel
from runner.device.kinds import REPLAY, compiler_for
from runner.errors import UsageError
from runner.folder import RunFolder, named
from runner.kernel import metrics
from runner.kernel.declaration import Kernel
from runner.kernel.resolve import make
from runner.profiling import steps
from runner.racecheck import looking
from runner.session import Session
from runner.settings import RACES_NONE, DeviceConfig, ProfileConfig, TimingConfig
from runner.shards import clusters
from runner.shards.folder import merge
from runner.sweep import engine, ledger
from runner.sweep.worker import Worker
from runner.terminal import SweepProgress

MOST = 3  # missing files that are named
ONE_BY_ONE = "its jobs were planned one by one, so the folder lacks those that it had not reached"


@dataclass(frozen=True)
class RecordedSweep:
    """A sweep as its folder keeps it."""

    folder: RunFolder  # with an absolute path
    jobs: tuple[Job, ...]  # all that were planned
    launcher: str  # as rows name it; older folders have others than `TOGETHER`
    one_by_one: bool  # whether Hydra planned the jobs one by one, so that there may have been more
    fingerprints: Mapping[str, Mapping[str, str]]  # by kernel: hashes by the name of the file


def read(path: Path) -> RecordedSweep:
    """Read a sweep's folder.

    A `UsageError` if it does not hold a planned sweep, or lacks sources, or if a sweep is running in it; also if it
    holds links, pipes or the like: the kernels' files are opened by their paths from here on.
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
        complete = [e for e in entries.values() if "row" in e]
        launcher = str(complete[0]["row"]["launcher"]) if complete else "batch"
        one_by_one = not runs.environment(path).get("planned_at_once", launcher in (*TOGETHER, "none"))
        if not one_by_one and (unknown := [n for n in folder.jobs() if n not in entries]):
            raise UsageError(f"{path}: the plan is incomplete: it lacks job {unknown[0]}; start a new sweep")
        fingerprints = {str(e["kernel"]): e["fingerprint"] for e in complete}
        _require_sources(path, folder, fingerprints)
        kernels: dict[str, tuple[Kernel, Origin]] = {}
        jobs = tuple(_job(number, e, folder, kernels) for number, e in sorted(entries.items()))
    return RecordedSweep(folder, jobs, launcher, one_by_one, fingerprints)


def jobs_of(folder: RunFolder, numbers: Collection[int]) -> tuple[Job, ...]:
    """Some of the jobs that a sweep has planned, each case once."""
    with runs.reading(folder.path):
        kernels: dict[str, tuple[Kernel, Origin]] = {}
        entries = {n: e for n, e in _entries(folder, numbers) if "same_as" not in e}
        return tuple(_job(number, entry, folder, kernels) for number, entry in sorted(entries.items()))


def resume(path: Path, session: Session) -> None:
    """Run the cases and rounds that a sweep's folder lacks.

    Device and toolchain must be the same, since all rows enter one table. If it cannot be resumed, nothing is changed.
    """
    found = _taken_up(path, session)
    with runs.reading(path):
        merge(found.folder)
        known = ledger.previous_rows(found.jobs, found.folder)
        keys = {
            job.key
            for job in found.jobs
            if ledger.finished(job, row := known.get(job.number))
            and not steps.lacks(job, row, found.folder)
            and not looking.lacks(job, row)
        }
    missing = list({job.key: job for job in found.jobs if job.key not in keys}.values())
    done = sum(job.key in keys for job in found.jobs)
    found.folder.sweep_up()
    words = f"{path}: {done} of {len(found.jobs)} cases are finished; running the rest, with the folder's own code"
    if missing and found.launcher in clusters.NAMES:
        settings = {**runs.section(runs.environment(path), "launcher"), "wait": True}
        note_resumed(found.folder)
        with SweepProgress(quiet=session.options.quiet) as progress:
            progress.say(words)
            session.ended_early = not clusters.run(found.launcher, found.jobs, found.folder, progress, settings)
    elif missing:
        with SweepProgress(quiet=session.options.quiet) as progress:
            if missing[0].device.kind != REPLAY:  # a recording has no device to open
                session.worker = Worker(missing[0].device)
                info = session.worker.info
                compiler = compiler_for(missing[0].device, info, missing[0].compiler)
                environment.require_same_device(path, environment.device(info, missing[0], compiler))
            note_resumed(found.folder)
            progress.say(words)
            engine.run(found.jobs, found.folder, progress, found.launcher, session.take_worker())
    else:
        ledger.write_plan(found.jobs, found.folder, found.launcher)  # a power cut may have torn a case.json
        sys.stderr.write(
            f"{path}: the sweep is complete: {done} of {done} cases are finished; writing its report again\n"
        )
    if found.one_by_one:
        sys.stderr.write(f"{path}: {ONE_BY_ONE}\n")


def is_search(path: Path) -> bool:
    """Whether a folder holds a search, which chooses its cases while it runs."""
    return path.is_dir() and RunFolder(path).has(RunFolder(path).told)


def resume_search(path: Path, session: Session) -> RunFolder | None:
    """Take up the folder of a search that was interrupted; `None` if it is complete."""
    found = _taken_up(path, session)
    if not found.folder.unfinished:
        sys.stderr.write(f"{path}: the search is complete; writing its report again\n")
        return None
    found.folder.sweep_up()
    note_resumed(found.folder)
    measured = len(found.folder.text(found.folder.told).splitlines())
    sys.stderr.write(f"{path}: the search goes on after {measured} cases, with the folder's own code\n")
    return found.folder


def repeat(path: Path, session: Session) -> None:
    """Run a sweep again in a new folder; nothing is written in the old one."""
    found = read_to_repeat(path)
    old, known = found.folder, runs.environment(path)
    what = named(re.sub(r"^\d\d-\d\d-\d\d-", "", old.path.name)) or "sweep"
    new = session.reserve(runs.OUTPUTS / f"{datetime.now().astimezone():%Y-%m-%d/%H-%M-%S}-{what}")
    here = environment.gather((), record_host="host" in known)
    kept = {name: known[name] for name in ("command", "sources") if name in known}  # the kernels are those of then
    new.write_json(new.environment, {**here, **kept, "planned_at_once": True})
    for job in found.jobs:
        if (files := old.job(job.number) / ".hydra").is_dir():
            shutil.copytree(files, new.job(job.number) / ".hydra")
    if old.has(old.multirun):
        new.write(new.multirun, old.read(old.multirun))
    sys.stderr.write(f"{path}: running it again, with the folder's own code\n")
    with SweepProgress() as progress:
        engine.run([job for job in found.jobs if not job.copy], new, progress, "batch")
    if found.one_by_one:
        sys.stderr.write(f"{path}: {ONE_BY_ONE}\n")


def read_to_repeat(path: Path) -> RecordedSweep:
    """Read a sweep's folder, and say if the runner or the kept sources have changed since."""
    found = read(path)
    for changed in _changed_sources(found):
        sys.stderr.write(f"{path}: {changed} has changed since the run; the new run uses it as it is now\n")
    if (then := runs.environment(path).get("runner")) != __version__:
        sys.stderr.write(f"{path}: run by version {then or 'unknown'} of the runner; this is version {__version__}\n")
    return found


def _taken_up(path: Path, session: Session) -> RecordedSweep:
    """A sweep to resume, whose folder is locked; neither the runner nor its sources may have changed."""
    found = read(path)
    session.resume(found.folder)
    if not (known := runs.environment(path)):
        raise UsageError(f"{path}: environment.json is missing or corrupt; start a new sweep")
    if (then := known.get("runner")) != __version__:
        raise UsageError(
            f"{path}: the runner has changed from version {then} to {__version__} since the run; restore it or start a "
            f"new sweep"
        )
    if changed := next(_changed_sources(found), None):
        raise UsageError(f"{path}: {changed} has changed since the run; restore it or start a new sweep")
    return found


def _changed_sources(found: RecordedSweep) -> Iterator[str]:
    """The kept sources, or installed references, that are not those of the sweep's rows."""
    for name, job in {job.case.kernel.name: job for job in found.jobs}.items():
        then, now = found.fingerprints.get(name, {}), sources.fingerprint(job.case.kernel, job.origin.kernel)
        for file in (file for file in then if now.get(file) != then[file]):
            kept = next(found.folder.sources.rglob(Path(file).name), None)
            yield kept.relative_to(found.folder.path).as_posix() if kept else file


def note_resumed(folder: RunFolder) -> None:
    """Note the time in environment.json."""
    known = folder.json(folder.environment)
    known.setdefault("resumed_utc", []).append(datetime.now(UTC).isoformat(timespec="seconds"))
    folder.write_json(folder.environment, known)


def _entries(folder: RunFolder, only: Collection[int] | None = None) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """What is known of each job, or of some: its case.json, or else its entry in plan.json."""
    plan = folder.planned() or {}
    for case in plan.get("cases", []):
        if "way" in case and (only is None or case["job"] in only):
            kept = {
                "metrics": plan.get("metrics", {}).get(case["kernel"]),
                "rank_by": plan.get("rank_by", metrics.TIME),
            }
            yield case["job"], {**case, "asked": plan["ways"][case["way"]], **kept}
    for number in folder.jobs() if only is None else sorted(only):
        if content := folder.record(number):
            yield number, content


def _require_sources(path: Path, folder: RunFolder, fingerprints: Mapping[str, Mapping[str, str]]) -> None:
    # A reference may be in an installed module; its kernel names it.
    wanted = {Path(name).name for files in fingerprints.values() for name in files if not name.endswith(".py")}
    if missing := sorted(wanted - {p.name for p in folder.sources.rglob("*")}):
        more = f" and {len(missing) - MOST} more" if len(missing) > MOST else ""
        raise UsageError(
            f"{path}: the folder cannot be run again: its sources/ lacks {', '.join(missing[:MOST])}{more}"
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


def _job(number: int, entry: Mapping[str, Any], folder: RunFolder, kernels: dict[str, tuple[Kernel, Origin]]) -> Job:
    name = str(entry["kernel"])
    if name not in kernels:
        file = folder.sources / "conf" / "kernel" / f"{name}.yaml"
        try:
            content: Any = OmegaConf.to_container(OmegaConf.load(io.StringIO(folder.text(file))))
        except (yaml.YAMLError, OmegaConfBaseException) as e:
            raise UsageError(f"{file}: {' '.join(str(e).split())}") from None
        kernel = read_kernel(name, content, file)
        for path in (kernel.source, *kernel.include):  # of its family
            _require_inside(RunFolder(folder.path.resolve()), path)
        kernels[name] = kernel, Origin((folder.sources / "conf",), (), content)
    kernel, origin = kernels[name]
    asked = dict(entry["asked"])
    compiler, counts, timing = asked.pop("compiler"), asked.pop("lines", True), asked.pop("timing")
    racecheck = asked.pop("racecheck", RACES_NONE)  # an older folder lacks nothing
    profile = ProfileConfig(**asked.pop("profile", {}))
    case = make(kernel, entry["parameters"], entry["seed"])
    ranking = metrics.recorded(entry.get("metrics")), entry.get("rank_by", metrics.TIME)
    device, timing = DeviceConfig(**asked), TimingConfig(**timing)
    copy, look = (int(entry.get(name, 0)) for name in ("copy", "look"))
    return Job(
        *(case, device, timing, compiler, number, origin),
        *ranking,
        lines=counts,
        racecheck=racecheck,
        copy=copy,
        profile=profile,
        look=look,
    )
