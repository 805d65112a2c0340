"""Sweeps on a real Slurm of two nodes: whatever ends a task, the rows are those of an undisturbed sweep.

One case of each shard waits for a file, the gate. So a task is disturbed in the middle of its work, however fast the
machine is, and no test needs long cases.
"""

import json
import os
import re
import signal
import time

import pytest
import slurm_cluster
from processes import OWN, PATIENCE_S, call, kill_all, start, table, wait_until
from sharded import kill_shard, measured, rows

pytest.importorskip("submitit", reason="submitit is not installed")
if why := slurm_cluster.missing():
    pytest.skip(why, allow_module_level=True)

ROUNDS = 2
ALONE = "+hydra.launcher.additional_parameters.exclusive=true"  # a node for each task
UNDISTURBED = {}  # the rows of one process, by the number of sizes


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A Slurm of these tests' own."""
    started = slurm_cluster.Cluster(tmp_path_factory.mktemp("slurm"))
    yield started
    started.close()


class Sweep:
    """A sweep with a shard for each size. The third case of each shard's first round waits for the gate."""

    def __init__(self, cluster, directory, shards):
        directory.mkdir(exist_ok=True)
        self.cluster, self.directory, self.shards = cluster, directory, shards
        self.folder, self.gate = directory / "sweep", directory / "gate"
        sizes = ",".join(f"{n + 1}Ki" for n in range(shards))
        own = f"kernel=waits size={sizes} block=32,64,128,256 device=cpu device.threads=1 timing.cpu_rounds={ROUNDS}"
        further = ("lines=false", "racecheck=none", "hydra.sweep.dir=sweep")
        self.cases = ("--config-dir", OWN / "gated", *own.split(), *further)

    def begin(self, *further):
        """Start it, and wait until each shard has measured a case."""
        slurm = ("hydra/launcher=slurm", f"hydra.launcher.shards={self.shards}", "hydra.launcher.cpus_per_task=1")
        process = self._start(*self.cases, *slurm, *further)
        wait_until(lambda: all(any(self.folder.glob(f"shards/{n}/*/rows.jsonl")) for n in range(self.shards)), process)
        return process

    def resume(self):
        """`python -m runner resume sweep`, to its end."""
        return self.end(self._start("sweep", module="runner.resume"))

    def end(self, process):
        """Open the gate, and wait for the parent. Slurm lets a requeued task wait for two minutes: these begin at once."""
        self.gate.touch()
        deadline = time.monotonic() + PATIENCE_S
        while process.poll() is None and time.monotonic() < deadline:
            for job in self.cluster.ask("squeue", "-h", "--array", "--states=PENDING", "-o", "%i").split():
                self.cluster.ask("scontrol", "update", f"JobId={job}", "StartTime=now")
            time.sleep(0.3)
        _, err = process.communicate(timeout=10)
        return process.returncode, err

    def job(self, shard):
        """The Slurm job of a shard."""
        return json.loads((self.folder / "shards" / str(shard) / "slurm.json").read_text())["job"]

    def starts(self):
        """How often each shard began."""
        folders = (self.folder / "shards" / str(n) for n in range(self.shards))
        return [sum(path.name.isdecimal() for path in folder.iterdir()) for folder in folders]

    def check_whole(self):
        """All rows are there as in one process, each round was measured once, and no job is left."""
        if self.shards not in UNDISTURBED:
            one = call(self.directory, *self.cases[:-1], "hydra.sweep.dir=one", RUNNER_TEST_GATE=str(self.gate))
            assert one.returncode == 0, one.stderr
            UNDISTURBED[self.shards] = rows(self.directory / "one")
        assert rows(self.folder) == UNDISTURBED[self.shards]
        assert max(measured(self.folder).values()) == 1
        wait_until(lambda: not self.cluster.ask("squeue", "-h"))

    def _start(self, *arguments, module="runner"):
        known = {name: self.cluster.environment[name] for name in ("SLURM_CONF", "PATH")}
        return start(self.directory, *arguments, module=module, RUNNER_TEST_GATE=str(self.gate), QUIET_S="1", **known)


@pytest.fixture
def sweep(cluster, tmp_path):
    """Makes a sweep of some shards."""
    return lambda shards, name="": Sweep(cluster, tmp_path / name, shards)


def test_killed_cancelled_and_requeued(cluster, sweep):
    """A requeued shard goes on by itself, so does one that is warned of its time limit; resume runs what was ended."""
    four = sweep(4)
    process = four.begin()
    cluster.ask("scontrol", "requeue", four.job(1))
    cluster.ask("scancel", four.job(2))
    cluster.ask("scancel", "--signal=USR2", four.job(3))  # as Slurm does `signal_delay_s` before the limit
    kill_shard(four.folder, 0)
    code, err = four.end(process)
    assert code == 1, err
    assert "shard 0: " in err
    assert "CANCELLED" in err
    went_on = [line for line in err.splitlines() if line.startswith(("shard 1: ", "shard 3: "))]
    assert all("starting it again" in line for line in went_on)  # by the parent, if Slurm did not take the requeue
    assert four.starts()[::2] == [1, 1]
    assert min(four.starts()[1::2]) > 1
    assert "crashed" not in rows(four.folder)
    code, err = four.resume()
    assert code == 0, err
    four.check_whole()


def nodes_of(cluster, sweep):
    """The node of each shard's task."""
    found = dict(line.split() for line in cluster.ask("squeue", "-h", "--array", "-o", "%i %N").splitlines())
    return [found[sweep.job(n)] for n in range(sweep.shards)]


def test_lost_nodes(cluster, sweep):
    """The shards go on by themselves: Slurm requeues one task, and the parent submits anew what Slurm may not requeue."""
    two = sweep(2)
    process = two.begin(ALONE)
    jobs, nodes = [two.job(n) for n in range(2)], nodes_of(cluster, two)
    cluster.ask("scontrol", "update", f"JobId={jobs[0]}", "Requeue=0")
    for node in nodes:
        cluster.lose_node(node)
    for node in nodes:
        wait_until(lambda node=node: "down" in cluster.ask("sinfo", "-h", "-n", node, "-o", "%T"))
        cluster.start_node(node)
        cluster.ask("scontrol", "update", f"NodeName={node}", "State=RESUME")
    code, err = two.end(process)
    assert code == 0, err
    assert "shard 0: " in err
    assert "shard 1: " not in err
    assert [two.job(n) == job for n, job in enumerate(jobs)] == [False, True]
    assert two.starts() == [2, 2]
    two.check_whole()


def test_a_time_limit_and_preemption(cluster, sweep):
    """The parent submits anew what ended at its time limit, or made room for a more urgent job."""
    two = sweep(2)
    process = two.begin(ALONE)
    jobs, nodes = [two.job(n) for n in range(2)], nodes_of(cluster, two)
    cluster.ask("scontrol", "update", f"JobId={jobs[0]}", "Requeue=0")  # or submitit has Slurm start it again
    cluster.ask("scontrol", "update", f"JobId={jobs[0]}", "EndTime=now+1")
    cluster.ask(
        "sbatch", "--partition=urgent", "--exclusive", f"--nodelist={nodes[1]}", "--output=/dev/null", "--wrap=:"
    )
    wait_until(lambda: all(two.job(n) != job for n, job in enumerate(jobs)), process)
    code, err = two.end(process)
    assert code == 0, err
    assert err.count("starting it again") == 2
    assert "PREEMPTED" in err
    assert two.starts() == [2, 2]
    two.check_whole()


def test_each_model_measures_all_cases(cluster, sweep):
    """A list of constraints: a copy of the sweep on the nodes with each, an array each."""
    one = sweep(1)
    one.shards = 2
    process = one.begin("hydra.launcher.constraint=[h100,h200]")
    assert nodes_of(cluster, one) == ["n1", "n2"]
    code, err = one.end(process)
    assert code == 0, err
    found = table(one.folder)
    assert list(found["status"]) == ["ok"] * 8
    assert list(found["case"][:4]) == list(found["case"][4:])


def test_a_killed_parent_and_a_second_sweep(cluster, sweep):
    """Two sweeps share the cluster, an array each. One parent is killed: its tasks run on, resume measures nothing again."""
    first, second = sweep(2, "a"), sweep(2, "b")
    killed = first.begin()
    kill_all(killed)
    other = second.begin()
    assert first.job(0).partition("_")[0] in cluster.ask("squeue", "-h", "-o", "%F")
    code, err = first.resume()
    assert code == 0, err
    assert first.starts() == [1, 1]
    code, err = second.end(other)
    assert code == 0, err
    assert len({second.job(n).partition("_")[0] for n in range(2)}) == 1
    assert re.search(r"shard \d on n[12]", err)
    assert second.starts() == [1, 1]
    for one in (first, second):
        one.check_whole()


def test_ctrl_c_cancels_the_jobs(cluster, sweep):
    """Status 130 and an empty queue; resume runs the rest."""
    two = sweep(2)
    process = two.begin()
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    assert "cancelling the shards" in err
    wait_until(lambda: not cluster.ask("squeue", "-h"))
    code, err = two.resume()
    assert code == 0, err
    two.check_whole()


def test_a_controller_that_does_not_answer(cluster, sweep):
    """The parent says so once, waits, and says when it answers again; nothing is lost."""
    one = sweep(1)
    process = one.begin()
    cluster.stop_controller()
    said = next(line for line in process.stderr if "does not answer" in line)
    assert said.count("\n") == 1
    cluster.start_controller()
    code, err = one.end(process)
    assert code == 0, err
    assert "does not answer" not in err
    assert "answers again" in err
    assert one.starts() == [1]
    one.check_whole()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("partition=nope", "Slurm refuses the job"),
        ("tasks_per_node=2", "hydra.launcher.tasks_per_node=2: "),
        ("constraint=[h100,h200]", "2 constraints need 2 shards"),
    ],
)
def test_what_is_refused_is_one_sentence(wrong, said, sweep):
    """An unknown partition, a shard of two tasks, too few shards: status 2, and no folder is left."""
    refused = sweep(1)
    code, err = refused.end(refused.begin(f"hydra.launcher.{wrong}"))
    assert code == 2
    assert said in err
    assert "Traceback" not in err
    assert not refused.folder.exists()
