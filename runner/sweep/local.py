"""A sweep over the GPUs of this machine, with a worker on each (`hydra/launcher=gpus`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runner.device import gpus
from runner.device.kinds import is_gpu, kind_of
from runner.display.terminal import SweepProgress
from runner.errors import UsageError
from runner.jobs.job import Job
from runner.record.folder import RunFolder
from runner.sweep import engine, split
from runner.sweep.ledger import Ledger
from runner.sweep.pool import Pool
from runner.sweep.stage import Stage

NAME = "gpus"
MAX_WORKERS = 1024  # on the CPU device


def environments(plan: Sequence[Job], settings: Mapping[str, Any]) -> list[dict[str, str]]:
    """The environment variables of each worker. For a plan without a GPU, and without one, they use the CPU device.

    Args:
        plan: Jobs of the sweep.
        settings: `hydra.launcher`: `gpus`, `shards`.

    Raises:
        UsageError: A setting is invalid.
    """
    split.refuse_index(plan)
    shards = settings.get("shards")
    if not isinstance(shards, int) or not 1 <= shards <= MAX_WORKERS:
        raise UsageError(f"hydra.launcher.shards={shards}: expected 1 to {MAX_WORKERS}")
    chosen = [str(name) for name in settings.get("gpus") or ()]
    wanted = any(is_gpu(kind_of(job.device)) for job in plan)
    found = gpus.environments(chosen) if wanted or chosen else []
    return found or [{} for _ in range(shards)]


def planned(plan: Sequence[Job], settings: Mapping[str, Any]) -> list[Job]:
    """The plan, with a copy of each case for each GPU if `replicate` is set.

    Raises:
        UsageError: A setting is invalid.
    """
    count = len(environments(plan, settings))
    return split.copied(plan, count if settings.get("replicate") else 1)


def run(
    plan: Sequence[Job],
    folder: RunFolder,
    progress: SweepProgress,
    settings: Mapping[str, Any],
    stages: Sequence[Stage],
) -> bool:
    """Run the unfinished jobs of a sweep.

    Args:
        plan: All jobs of the sweep.
        folder: The sweep's folder.
        progress: Where rows and messages go.
        settings: The launcher's settings, which are kept in environment.json.
        stages: The stages to run once verdicts and times are on disk.

    Returns:
        Whether no GPU was lost.

    Raises:
        UsageError: A setting is invalid.
        DeviceUnavailable: No GPU can be opened.
    """
    if not folder.has(folder.plan):
        plan = planned(plan, settings)
    folder.write_json(folder.environment, {**(folder.json(folder.environment) or {}), "launcher": dict(settings)})
    with Pool(environments(plan, settings)) as pool:
        measured = engine.run(Ledger(plan, folder, NAME), progress, pool, stages=stages)
    return not any(share.lost for share in measured)
