"""Sweeps on a real Slurm of two nodes: whatever ends a task, at most one resume leaves the rows of an undisturbed sweep."""

import json
import os
import re
import signal
import time

import pytest
import slurm_cluster
from processes import PATIENCE_S, call, kill_all, start, wait_until
from sharded import kill_shard, measured, reached, rows

pytest.importorskip("submitit", reason="submitit is not installed")
if why := slurm_cluster.missing():
    pytest.skip(why, allow_module_level=True)

SHARDS, ROUNDS = 4, 40
CASES = ("kernel=reduceShfl,reduceSmem", "size=2Ki,4Ki,6Ki,8Ki", "device=cpu", f"timing.cpu_rounds={ROUNDS}")
SLOW = (
    "kernel=reduceShfl,reduceSmem",
    "size=2Ki",
    "device=cpu",
    f"timing.cpu_rounds={ROUNDS}",
    "timing.cpu_samples=300",
)
SLURM = ("hydra/launcher=slurm", f"hydra.launcher.shards={SHARDS}", "hydra.launcher.cpus_per_task=1")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A Slurm of these tests' own."""
    started = slurm_cluster.Cluster(tmp_path_factory.mktemp("slurm"))
    yield started
    started.close()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The rows of the sweep, of one process."""
    directory = tmp_path_factory.mktemp("undisturbed")
    assert call(directory, *CASES, "hydra.sweep.dir=sweep").returncode == 0
    return rows(directory / "sweep")


def variables(cluster):
    """What a process must know of the cluster."""
    return {name: cluster.environment[name] for name in ("SLURM_CONF", "PATH")}


def begin(cluster, directory, cases=CASES, *further):
    """A sweep, started."""
    directory.mkdir(exist_ok=True)
    return start(directory, *cases, *SLURM, "hydra.sweep.dir=sweep", *further, **variables(cluster))


def end(process, cluster):
    """Wait for the parent. Slurm lets a requeued task wait for two minutes: these begin at once."""
    deadline = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < deadline:
        for job in cluster.ask("squeue", "-h", "--array", "--states=PENDING", "-o", "%i").split():
            cluster.ask("scontrol", "update", f"JobId={job}", "StartTime=now")
        time.sleep(0.3)
    _, err = process.communicate(timeout=10)
    return process.returncode, err


def job_of(folder, shard):
    """The Slurm job of a shard."""
    return json.loads((folder / "shards" / str(shard) / "slurm.json").read_text())["job"]


def begun(folder):
    """Whether each shard has measured something."""
    return lambda: all(any(folder.glob(f"shards/{n}/*/rows.jsonl")) for n in range(SHARDS))


def starts(folder, shard):
    """How often a shard began."""
    return len([p for p in (folder / "shards" / str(shard)).iterdir() if p.name.isdecimal()])


def check_whole(folder, undisturbed, cluster):
    """All rows are there, each round was measured once, and no job is left."""
    assert rows(folder) == undisturbed
    assert max(measured(folder).values()) == 1
    assert not cluster.ask("squeue", "-h")


def resume(directory, cluster):
    """`python -m runner.resume sweep`, to its end."""
    return end(start(directory, "sweep", module="runner.resume", **variables(cluster)), cluster)


def test_an_array_of_four_shards(cluster, undisturbed, tmp_path):
    """A task a shard, one array, nodes and states are told; the rows are those of one process."""
    code, err = end(begin(cluster, tmp_path), cluster)
    folder = tmp_path / "sweep"
    assert code == 0, err
    assert len({job_of(folder, n).partition("_")[0] for n in range(SHARDS)}) == 1
    assert re.search(r"shard \d on n[12]", err)
    assert [starts(folder, n) for n in range(SHARDS)] == [1] * SHARDS
    check_whole(folder, undisturbed, cluster)


def test_killed_cancelled_and_requeued(cluster, undisturbed, tmp_path):
    """A requeued shard goes on by itself, a killed and a cancelled one after a resume; no false row is left."""
    process, folder = begin(cluster, tmp_path), tmp_path / "sweep"
    wait_until(begun(folder), process)
    cluster.ask("scontrol", "requeue", job_of(folder, 1))
    cluster.ask("scancel", job_of(folder, 2))
    kill_shard(folder, 0)
    code, err = end(process, cluster)
    assert code == 1, err
    assert "shard 0: " in err
    assert "CANCELLED" in err
    assert "shard 1: " not in err
    assert starts(folder, 1) == 2
    assert "crashed" not in rows(folder)
    code, err = resume(tmp_path, cluster)
    assert code == 0, err
    check_whole(folder, undisturbed, cluster)


def test_a_killed_parent_and_a_second_sweep(cluster, undisturbed, tmp_path):
    """Two sweeps share the cluster. One parent is killed: its tasks run on, and resume measures nothing again."""
    first, folder = begin(cluster, tmp_path / "a"), tmp_path / "a" / "sweep"
    second = begin(cluster, tmp_path / "b")
    wait_until(reached(folder, 1), first)
    kill_all(first)
    assert job_of(folder, 0).partition("_")[0] in cluster.ask("squeue", "-h", "-o", "%F")
    code, err = resume(tmp_path / "a", cluster)
    assert code == 0, err
    assert [starts(folder, n) for n in range(SHARDS)] == [1] * SHARDS
    code, err = end(second, cluster)
    assert code == 0, err
    for name in ("a", "b"):
        check_whole(tmp_path / name / "sweep", undisturbed, cluster)


def test_ctrl_c_cancels_the_jobs(cluster, undisturbed, tmp_path):
    """Status 130 and an empty queue; resume runs the rest."""
    process, folder = begin(cluster, tmp_path), tmp_path / "sweep"
    wait_until(reached(folder, 1), process)
    os.killpg(process.pid, signal.SIGINT)
    code, err = end(process, cluster)
    assert code == 130, err
    assert "cancelling 4 shards" in err
    wait_until(lambda: not cluster.ask("squeue", "-h"))
    code, err = resume(tmp_path, cluster)
    assert code == 0, err
    check_whole(folder, undisturbed, cluster)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [("partition=nope", "Slurm refuses the job"), ("tasks_per_node=2", "hydra.launcher.tasks_per_node=2: ")],
)
def test_what_is_refused_is_one_sentence(wrong, said, cluster, tmp_path):
    """An unknown partition, or a shard of two tasks: status 2, and no folder is left."""
    code, err = end(begin(cluster, tmp_path, CASES, f"hydra.launcher.{wrong}"), cluster)
    assert code == 2
    assert said in err
    assert "Traceback" not in err
    assert not (tmp_path / "sweep").exists()
