"""The launcher `slurm`: a job array, one GPU per task, through submitit (https://github.com/facebookincubator/submitit).

The settings are those of Hydra's submitit launcher. Slurm may cancel, preempt and requeue a task at any time: finished
measurements are on disk, and the next start of the shard continues from there.
"""

from __future__ import annotations

import math
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runner import children
from runner.errors import UsageError
from runner.record.folder import RunFolder
from runner.record.shards import ShardFolder
from runner.record.shards import shards as every_shard
from runner.shards.watch import State

ENDED = frozenset(
    "BOOT_FAIL CANCELLED COMPLETED DEADLINE FAILED NODE_FAIL OUT_OF_MEMORY PREEMPTED TIMEOUT".split()
)  # https://slurm.schedmd.com/squeue.html#lbAG
PLAIN = ("timeout_min", "cpus_per_task", "gpus_per_node", "tasks_per_node", "mem_gb", "nodes", "name")
OF_SLURM = (
    "partition", "qos", "comment", "constraint", "exclude", "gres", "cpus_per_gpu", "gpus_per_task", "mem_per_gpu",
    "mem_per_cpu", "account", "signal_delay_s", "additional_parameters", "array_parallelism", "setup", "srun_args",
)  # fmt: skip
ENDED_BY_SLURM = frozenset("BOOT_FAIL NODE_FAIL PREEMPTED TIMEOUT unknown".split())  # not by the shard or a user
INTERRUPTED = "interrupted"  # the last message of a shard that was terminated, as when its node is shut down
ANSWER_S = 60.0  # time limit of a Slurm command
LAST_LINE = 400  # characters of a failed shard's last message
CONFIRMATIONS = 2  # how often a task must be seen ended before it counts as ended, since Slurm may requeue it


class ShardTask:
    """What submitit runs on a node: starts the process of one shard."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, number: int) -> None:
        """Run a shard.

        Raises:
            RuntimeError: The shard failed. Slurm then reports the task as failed, too.
        """
        shard = ShardFolder(RunFolder(Path(self.folder)), number)
        signal.pthread_sigmask(
            signal.SIG_BLOCK, {signal.SIGUSR2}
        )  # the shard inherits the mask; the signal is for submitit
        with shard.log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "runner.shards.process", self.folder, str(number)], stdout=log, stderr=log
            )
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR2})
        try:
            status = process.wait()
        except Exception as e:  # from submitit's handler, if the time limit is near and the task cannot be requeued
            process.terminate()
            process.wait()
            if "too many times" in str(e):
                with shard.log.open("a") as log:
                    log.write("the task reached its time limit too often (hydra.launcher.max_num_timeout)\n")
            raise
        if status:
            raise RuntimeError(last_line(shard.log) or f"shard {number} ended with exit status {status}")

    def checkpoint(self, number: int) -> Any:
        """Start the same shard again. submitit calls this before the time limit, and when the task is preempted."""
        import submitit  # noqa: PLC0415  (optional)

        return submitit.helpers.DelayedSubmission(self, number)


class Slurm:
    """Runs each shard as one task of a job array."""

    name = "slurm"
    every_s = 2.0
    silent = ""

    def __init__(self, settings: Mapping[str, Any], folder: RunFolder) -> None:
        """Prepare submitit's executor.

        Args:
            settings: `hydra.launcher`; null means Slurm's default.
            folder: The sweep's folder, which every node must see under this path.

        Raises:
            UsageError: submitit or Slurm is missing, or a setting is invalid.
        """
        try:
            import submitit  # noqa: PLC0415  (optional)
        except ImportError:
            raise UsageError(
                "hydra/launcher=slurm: submitit is not installed; use pip install 'kernel-runner[slurm]'"
            ) from None
        if shutil.which("sbatch") is None:
            raise UsageError("hydra/launcher=slurm: Slurm is not installed on this machine: sbatch is not on the PATH")
        self.max_running = max_tasks(settings)
        known = {name: value for name, value in settings.items() if value is not None}
        for name in ("nodes", "tasks_per_node"):
            if known.get(name, 1) != 1:
                raise UsageError(f"hydra.launcher.{name}={known[name]}: a shard is one task on one node; expected 1")
        self._constraints = known.pop("constraint", None)
        self._jobs = folder.path / "shards" / "slurm"
        self._folder = folder
        self._executor = submitit.SlurmExecutor(self._jobs, max_num_timeout=int(known.get("max_num_timeout", 0)))
        renamed = {"timeout_min": "time", "mem_gb": "mem", "tasks_per_node": "ntasks_per_node", "name": "job_name"}
        chosen = {renamed.get(name, name): known[name] for name in (*PLAIN, *OF_SLURM) if name in known}
        if "mem" in chosen:
            chosen["mem"] = f"{chosen['mem']}GB"
        try:
            self._executor.update_parameters(**chosen)
        except (ValueError, TypeError) as e:
            why = (str(e) or type(e).__name__).splitlines()[0]
            raise UsageError(f"hydra.launcher: submitit refuses a setting: {why}") from None
        self._states: dict[str, tuple[str, str]] = {}  # state and node by job id
        self._ended: dict[str, int] = {}  # how often in a row each job was seen ended
        self._queried_at = -math.inf

    def start(self, shards: Sequence[ShardFolder]) -> None:
        """Submit the shards that have no job, or whose job has ended, as one array.

        With several constraints, each copy of the sweep gets its own array. The ended jobs are cancelled first, and
        PYTHONPATH is set for the tasks.

        Raises:
            UsageError: Slurm refuses the array.
        """
        new = [shard for shard in shards if self.state(shard).ended]
        if not new:
            return
        if ended := [job for shard in new if (job := _job(shard))]:
            _run("scancel", *ended)  # otherwise Slurm may requeue a job that it has lost
        os.environ["PYTHONPATH"] = children.python_path()
        for copy in sorted({shard.copy for shard in new}) if isinstance(self._constraints, list) else [None]:
            self._submit([shard for shard in new if copy in (None, shard.copy)], copy)

    def _submit(self, new: Sequence[ShardFolder], copy: int | None) -> None:
        """Submit an array. With several constraints, `copy` is the copy of the sweep that chooses one."""
        import submitit  # noqa: PLC0415  (optional)

        wanted = self._constraints if copy is None else self._constraints[copy % len(self._constraints)]
        try:
            self._executor.update_parameters(**({} if wanted is None else {"constraint": str(wanted)}))
            jobs = self._executor.map_array(ShardTask(str(self._folder.path)), [shard.number for shard in new])
        except (submitit.core.utils.FailedJobError, subprocess.CalledProcessError, OSError) as e:
            raise UsageError(
                f"hydra/launcher=slurm: Slurm refuses the job: {str(e).strip().splitlines()[-1]}"
            ) from None
        for shard, job in zip(new, jobs, strict=True):
            shard.sweep.write_json(shard.path / "slurm.json", {"job": job.job_id})

    def state(self, shard: ShardFolder) -> State:
        """Look up the state of a shard's job in squeue."""
        job = _job(shard)
        if not job:
            return State(ended=True)
        if time.monotonic() - self._queried_at > self.every_s or job not in self._ended:
            new = job not in self._ended
            self._query()
            if new and self._ended.get(job):  # submitted by an earlier parent
                time.sleep(self.every_s)
                self._query()
        state, node = self._states.get(job, ("unknown", ""))
        if self._ended.get(job, 0) < CONFIRMATIONS:
            return State(ended=False, location=node if state in ("RUNNING", "COMPLETING") else "")
        why = last_line(shard.log) if state in ("FAILED", "COMPLETED") else ""
        again = state in ENDED_BY_SLURM or why == INTERRUPTED
        return State(ended=True, reason=why or f"its Slurm job {job} ended: {state}", restartable=again)

    def cancel(self) -> None:
        """Cancel all tasks of the sweep that have not ended."""
        if jobs := self._all():
            _run("scancel", *jobs)

    def _all(self) -> list[str]:
        return [job for shard in every_shard(self._folder) if (job := _job(shard))]

    def _query(self) -> None:
        """Ask Slurm once for all jobs of the sweep."""
        self._queried_at = time.monotonic()
        jobs = self._all()
        arrays = ",".join(sorted({job.partition("_")[0] for job in jobs}))
        done = _run("squeue", "--noheader", "--array", "--states=all", f"--jobs={arrays}", "-o", "%i|%T|%N")
        if done is None or (done.returncode and "Invalid job id" not in done.stderr):
            said = done.stderr.strip() if done else ""
            why = said.splitlines()[-1] if said else f"squeue did not answer within {ANSWER_S:g} s"
            self.silent = f"slurm: does not answer ({why}); waiting for it, while the tasks continue"
            return
        self.silent = ""
        lines = [line.split("|") for line in done.stdout.splitlines()]
        self._states = {line[0]: (line[1], line[2]) for line in lines if len(line) == 3}
        for job in jobs:
            over = job not in self._states or self._states[job][0] in ENDED
            self._ended[job] = self._ended.get(job, 0) + 1 if over else 0


def max_tasks(settings: Mapping[str, Any]) -> int:
    """Compute how many shards may run at the same time. Slurm and submitit are not needed.

    Raises:
        UsageError: A setting is invalid.
    """
    for name in ("shards", "array_parallelism"):
        if (number := settings.get(name)) is not None and not (isinstance(number, int) and number > 0):
            raise UsageError(f"hydra.launcher.{name}={number}: expected an integer, 1 or more")
    if settings.get("replicate") and settings.get("shards") is None:  # array_parallelism only limits the tasks
        raise UsageError(
            "hydra.launcher.replicate=true: also set hydra.launcher.shards, the number of tasks that measure all cases"
        )
    models = settings.get("constraint")
    each = models if isinstance(models, list) else [models]
    if not each or any(isinstance(one, dict | list) for one in each):
        raise UsageError(f"hydra.launcher.constraint={models}: expected features of nodes, such as h100 or [h100,h200]")
    return int(settings.get("shards") or settings.get("array_parallelism") or 1)


def _run(*command: str) -> subprocess.CompletedProcess[str] | None:
    """Run a Slurm command; `None` if it times out."""
    try:
        return subprocess.run(command, check=False, capture_output=True, text=True, timeout=ANSWER_S)
    except subprocess.TimeoutExpired:
        return None


def _job(shard: ShardFolder) -> str:
    return str((shard.sweep.json(shard.path / "slurm.json") or {}).get("job", ""))


def last_line(log: Path) -> str:
    """Read the last message in a shard's log; empty if there is none."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1].removeprefix("runner: ")[:LAST_LINE] if lines else ""
