"""The launchers by name. Their settings are `hydra.launcher` of the command line, recorded in environment.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runner.device.kinds import is_gpu, kind_of
from runner.display.terminal import SweepProgress
from runner.errors import UsageError
from runner.jobs.job import Job
from runner.record.folder import RunFolder
from runner.shards import plan as planning
from runner.shards.local import LocalGpus
from runner.shards.parent import Parent
from runner.shards.watch import Cluster

NAMES = ("gpus", "slurm")


def run(
    name: str, plan: Sequence[Job], folder: RunFolder, progress: SweepProgress, settings: Mapping[str, Any]
) -> bool:
    """Run the unfinished jobs of a sweep in shards.

    Args:
        name: The launcher, `gpus` or `slurm`.
        plan: All jobs of the sweep.
        folder: The sweep's folder.
        progress: Where rows and messages go.
        settings: The launcher's settings, and `record_host`.

    Returns:
        Whether no shard ended early while this process waited.

    Raises:
        UsageError: A setting is invalid.
        DeviceUnavailable: No shard could open its device.
    """
    folder = RunFolder(folder.path.absolute())  # shards may start in another working directory
    cluster = _made(name, settings, folder, plan)
    refuse_index(plan)
    if not folder.has(folder.plan) and (copies := _copies(settings, cluster.most)) > 1:
        plan = planning.copied(plan, copies)
    folder.write_json(folder.environment, {**(folder.json(folder.environment) or {}), "launcher": dict(settings)})
    known = {"record_host": bool(settings["record_host"])}
    whole, wait = bool(settings.get("replicate")), bool(settings.get("wait", True))
    return Parent(plan, folder, progress, cluster, known, whole, wait).run()


def planned(name: str, plan: Sequence[Job], settings: Mapping[str, Any]) -> list[Job]:
    """List the jobs that `run` would run. Slurm and submitit are not needed.

    Raises:
        UsageError: A setting is invalid.
    """
    from runner.shards import slurm  # noqa: PLC0415  (not for other launchers)

    most = slurm.tasks(settings) if name == "slurm" else gpus(settings, plan).most
    refuse_index(plan)
    return planning.copied(plan, _copies(settings, most))


def _made(name: str, settings: Mapping[str, Any], folder: RunFolder, plan: Sequence[Job]) -> Cluster:
    if name == "slurm":
        from runner.shards.slurm import Slurm  # noqa: PLC0415  (submitit is optional)

        return Slurm(settings, folder)
    return gpus(settings, plan)


def gpus(settings: Mapping[str, Any], plan: Sequence[Job]) -> LocalGpus:
    """Make the launcher of this machine's GPUs; for `device=cpu`, it starts processes on the CPU device.

    Raises:
        UsageError: A setting is invalid.
    """
    shards = settings.get("shards")
    if not isinstance(shards, int) or not 1 <= shards <= 1024:
        raise UsageError(f"hydra.launcher.shards={shards}: expected 1 to 1024")
    on_cpu = not any(is_gpu(kind_of(job.device)) for job in plan)
    return LocalGpus([str(one) for one in settings.get("gpus") or ()], shards, on_cpu=on_cpu)


def _copies(settings: Mapping[str, Any], most: int) -> int:
    """How often `most` shards measure each case: once per GPU with `replicate`, else once per constraint."""
    models = settings.get("constraint")
    several = len(models) if isinstance(models, list) else 1
    if several > most:
        raise UsageError(
            f"hydra.launcher.constraint={models}: {several} constraints need {several} shards, but at most "
            f"{most} may run (hydra.launcher.array_parallelism, hydra.launcher.shards)"
        )
    return most if settings.get("replicate") else several


def refuse_index(plan: Sequence[Job]) -> None:
    """Refuse a plan that sets `device.index`.

    Raises:
        UsageError: A job sets it.
    """
    if index := next((job.device.index for job in plan if job.device.index), 0):
        raise UsageError(f"device.index={index}: the launcher chooses the GPU; use hydra.launcher.gpus=[{index}]")
