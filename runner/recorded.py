"""The jobs of a sweep, rebuilt from plan.json, case.json and sources/ in its folder. Hydra is not needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from runner import runs, sources
from runner.config import Job, Origin, read_kernel
from runner.errors import UsageError
from runner.folder import RunFolder, read_json
from runner.kernel.declaration import Kernel
from runner.kernel.resolve import make
from runner.settings import DeviceConfig, TimingConfig

MOST = 3  # missing files that are named


@dataclass(frozen=True)
class RecordedSweep:
    """A sweep as its folder keeps it.

    Attributes:
        folder: With an absolute path.
        jobs: All that were planned.
        launcher: Of Hydra, as rows name it; `none` for a plain run.
        one_by_one: Whether its launcher or sweeper planned the jobs one by one, so that there may have been more.
        fingerprints: What each kernel was made of, by its name: hashes by the name of the file.
    """

    folder: RunFolder
    jobs: tuple[Job, ...]
    launcher: str
    one_by_one: bool
    fingerprints: Mapping[str, Mapping[str, str]]


def read(path: Path) -> RecordedSweep:
    """Read a sweep's folder.

    Raises:
        UsageError: if it does not hold a planned sweep, or lacks sources.
    """
    if not path.is_dir():
        raise UsageError(f"{path}: there is no such folder")
    folder = RunFolder(path.absolute())
    with runs.reading(path):
        entries = dict(_entries(folder))
        if not entries:
            raise UsageError(f"{path}: not the folder of a sweep: it holds no planned case; start a new sweep")
        complete = [e for e in entries.values() if "row" in e]
        launcher = str(complete[0]["row"]["launcher"]) if complete else "batch"
        one_by_one = not runs.environment(path).get("planned_at_once", launcher in ("batch", "none"))
        if not one_by_one and (unknown := [n for n in folder.jobs() if n not in entries]):
            raise UsageError(f"{path}: the plan is incomplete: it lacks job {unknown[0]}; start a new sweep")
        fingerprints = {str(e["kernel"]): e["fingerprint"] for e in complete}
        _require_sources(path, folder, fingerprints)
        kernels: dict[str, tuple[Kernel, Origin]] = {}
        jobs = tuple(_job(number, e, folder, kernels) for number, e in sorted(entries.items()))
    return RecordedSweep(folder, jobs, launcher, one_by_one, fingerprints)


def require_same_sources(found: RecordedSweep) -> None:
    """Refuse kernels whose kept sources, or whose installed references, are not those of the sweep's rows.

    Raises:
        UsageError: naming the file.
    """
    for kernel in {job.case.kernel.name: job.case.kernel for job in found.jobs}.values():
        then, now = found.fingerprints.get(kernel.name, {}), sources.fingerprint(kernel)
        # The kept YAML names its source by another path.
        if changed := [name for name in then if name != kernel.yaml.name and now.get(name) != then[name]]:
            raise UsageError(f"Cannot resume: {changed[0]} changed. Restore it or start a new sweep.")


def _entries(folder: RunFolder) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """What is known of each job: its case.json, or else its entry in plan.json."""
    plan = read_json(folder.plan) or {}
    for case in plan.get("cases", []):
        if "way" in case:
            yield case["job"], {**case, "asked": plan["ways"][case["way"]]}
    for number in folder.jobs():
        if content := read_json(folder.case(number)):
            yield number, content


def _require_sources(path: Path, folder: RunFolder, fingerprints: Mapping[str, Mapping[str, str]]) -> None:
    # A reference may be in an installed module; its kernel names it.
    wanted = {Path(name).name for files in fingerprints.values() for name in files if not name.endswith(".py")}
    if missing := sorted(wanted - {p.name for p in folder.sources.rglob("*")}):
        more = f" and {len(missing) - MOST} more" if len(missing) > MOST else ""
        raise UsageError(
            f"{path}: the folder cannot be run again: its sources/ lacks {', '.join(missing[:MOST])}{more}"
        )


def _job(number: int, entry: Mapping[str, Any], folder: RunFolder, kernels: dict[str, tuple[Kernel, Origin]]) -> Job:
    name = str(entry["kernel"])
    if name not in kernels:
        yaml = folder.sources / "conf" / "kernel" / f"{name}.yaml"
        content: Any = OmegaConf.to_container(OmegaConf.load(yaml))
        kernels[name] = read_kernel(name, content, yaml), Origin((folder.sources / "conf",), (), content)
    kernel, origin = kernels[name]
    asked = dict(entry["asked"])
    compiler, timing = asked.pop("compiler"), asked.pop("timing")
    case = make(kernel, entry["parameters"], entry["seed"])
    return Job(case, DeviceConfig(**asked), TimingConfig(**timing), compiler, number, origin)
