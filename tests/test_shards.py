"""A sweep in shards: comparable cases stay together, rows are those of one process, and nothing is lost or run twice."""

import gc
import itertools
import json
import os
import random
import subprocess
import sys
import time
import tracemalloc

import numpy as np
import pytest
from processes import call, table, wait_until
from processes import environment as child_environment
from sharded import measured, rows, shard_of
from support import case_of, shipped

from runner.device.config import DeviceConfig
from runner.display.terminal import SweepProgress
from runner.errors import UsageError
from runner.jobs.job import Job
from runner.jobs.settings import TimingConfig
from runner.record import environment
from runner.record.folder import RunFolder
from runner.record.shards import ShardFolder, append_line, merge, require_one_toolchain
from runner.record.stored_sweep import jobs_of
from runner.report.live import page
from runner.shards import parent
from runner.shards.watch import State, WatchedShard, Watcher
from runner.sweep import case_row, split
from runner.sweep.ledger import Ledger

ROUNDS = 16


def jobs(kernels, sizes, **further):
    """Jobs of the kernels at each size, as Hydra numbers them."""
    cases = [case_of(shipped(name), size=size, **further) for name in kernels for size in sizes]
    return [Job(case, DeviceConfig(kind="cpu"), TimingConfig(), "nvcc", n) for n, case in enumerate(cases)]


SHAPES = {
    "one size": jobs(["reduceShfl", "reduceSmem", "reduceGmem"], ["1Ki"]),
    "many sizes": jobs(["reduceShfl", "reduceSmem"], [f"{n}Ki" for n in range(1, 14)]),
    "two families": jobs(["reduceShfl", "warpReduce", "shflUp", "bcast"], ["1Ki"]),
    "one case": jobs(["reduceShfl"], ["1Ki"]),
    "no case": [],
}


@pytest.mark.parametrize("count", [1, 2, 3, 8, 64])
@pytest.mark.parametrize("shape", SHAPES)
def test_cases_that_are_compared_share_a_gpu(shape, count, monkeypatch):
    """Each job is in one share, in the sweep's order; comparable jobs are together; no share is far too long."""
    for seed in range(5):
        drawn = random.Random(seed)
        seconds = {job.number: drawn.uniform(0.1, 9.0) for job in SHAPES[shape]}
        monkeypatch.setattr(split, "estimated_cost", lambda job, seconds=seconds: seconds[job.number])
        shares = split.split(SHAPES[shape], count)
        numbers = [[job.number for job in share] for share in shares]
        assert sorted(itertools.chain(*numbers)) == sorted(seconds)
        assert all(share == sorted(share) for share in numbers)
        keys = [{split.compared_with(job) for job in share} for share in shares]
        assert sum(map(len, keys)) == len(set().union(*keys))
        assert len(shares) == count
        assert sum(map(bool, shares)) == min(count, len(set().union(*keys)))
        took = [sum(seconds[n] for n in share) for share in numbers]
        groups = {}
        for job in SHAPES[shape]:
            key = split.compared_with(job)
            groups[key] = groups.get(key, 0.0) + seconds[job.number]
        best = max([sum(took) / count, *groups.values()], default=0.0)  # no split can be shorter
        assert max(took, default=0.0) <= (4 / 3) * best + best  # Graham: 4/3 of the best, which is at most twice this


def test_a_resumed_sweep_measures_cases_where_it_measured_comparable_ones():
    """A group that a GPU has begun stays on it, however the rest is balanced."""
    plan = SHAPES["many sizes"]
    last = split.compared_with(plan[-1])
    shares = split.split(plan, 2, {last: 1})
    assert all(split.compared_with(job) != last for job in shares[0])
    assert abs(len(shares[0]) - len(shares[1])) <= 2


class Processes:
    """A cluster of two processes on this machine."""

    name, max_running, every_s, silent = "slurm", 2, 0.2, ""

    def __init__(self):
        self.started = {}

    def start(self, shards):
        """Start the shards that are not running."""
        for shard in shards:
            if self.state(shard).ended:
                command = [sys.executable, "-m", "runner.shards.process", str(shard.sweep.path), str(shard.number)]
                with shard.log.open("ab") as log:
                    self.started[shard.number] = subprocess.Popen(
                        command, env=child_environment(), stdout=log, stderr=log
                    )

    def state(self, shard):
        """Whether its process has ended."""
        process = self.started.get(shard.number)
        ended = process is None or process.poll() is not None
        why = f"exit status {process.returncode}" if process and process.returncode else ""
        return State(ended=ended, location="" if ended else "a process", reason=why)

    def cancel(self):
        """Terminate all."""
        for process in self.started.values():
            process.terminate()
            process.wait()


SWEEP = (
    "kernel=reduceShfl,reduceSmem", "size=4Ki,8Ki", f"timing.cpu_rounds={ROUNDS}", "device=cpu", "lines=false",
    "racecheck=none", "hydra.sweep.dir=sweep",
)  # fmt: skip


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The folder of a sweep that one process ran."""
    directory = tmp_path_factory.mktemp("undisturbed")
    done = call(directory, *SWEEP)
    assert done.returncode == 0, done.stderr
    return RunFolder(directory / "sweep")


def run_shards(plan, folder, cluster=None, *, whole=False, wait=True):
    """Run what a sweep's folder lacks in shards; whether none ended early."""
    with SweepProgress(quiet=True) as progress:
        known = {"record_host": False}
        return parent.Parent(plan, folder, progress, cluster or Processes(), known, whole, wait).run()


@pytest.fixture
def sweep(undisturbed, tmp_path):
    """The same sweep, planned and not run."""
    folder = RunFolder(tmp_path / "sweep")
    folder.path.mkdir()
    plan = jobs_of(undisturbed, {0, 1, 2, 3})
    folder.write_json(folder.environment, {"devices": {}})
    Ledger(plan, folder, "slurm")
    return plan, folder


def test_shards_give_the_rows_of_one_process(sweep, undisturbed):
    """Two shards leave one table with the rows of one process, in one folder with samples; each size is whole.

    With `wait=false` they run on, and the report shows what is there. The next parent waits, and measures nothing again.
    """
    plan, folder = sweep
    cluster = Processes()
    assert run_shards(plan, folder, cluster, wait=False)
    wait_until(lambda: measured(folder.path).total() >= 8)
    reported = call(folder.path.parent, folder.path, module="runner.report")
    assert "the sweep is still running" in reported.stderr
    assert "Running: " in page(folder.path)
    assert (len(table(folder.path)), len(cluster.started)) == (4, 2)
    assert run_shards(plan, folder, cluster)
    assert rows(folder.path) == rows(undisturbed.path)
    assert max(measured(folder.path).values()) == 1
    assert {shard_of(folder.path, n) for n in range(4)} == {0, 1}
    assert [shard_of(folder.path, n) for n in (0, 1)] == [shard_of(folder.path, n) for n in (2, 3)]
    assert len(list(folder.path.glob("samples/*.npy"))) == 4
    assert len(list(folder.path.glob("shards/*/shard.json"))) == 2
    assert "cpu" in folder.json(folder.environment)["devices"]


class Killing(Processes):
    """Kills its first shard in the middle of its work."""

    def state(self, shard):
        """As told, but for the kill."""
        process = self.started.get(shard.number)
        if shard.number == 0 and process and process.poll() is None and measured(shard.sweep.path).total() > 8:
            process.kill()
            process.wait()
        return super().state(shard)


def test_a_killed_shard_is_resumed_and_measures_nothing_twice(sweep, undisturbed):
    """The other shard finishes; a second parent runs only what the first lacks."""
    plan, folder = sweep
    assert not run_shards(plan, folder, Killing())
    found = [folder.row(n) for n in range(4)]
    lost = [shard_of(folder.path, n) == 0 for n in range(4)]
    assert {row["status"] for row in found} <= {"ok", "not_run"}
    assert [row.get("rounds") == ROUNDS for row in found] == [not own for own in lost]
    assert run_shards(plan, folder)
    assert rows(folder.path) == rows(undisturbed.path)
    assert max(measured(folder.path).values()) == 1


def test_each_copy_of_a_sweep_is_a_shard(sweep):
    """With `replicate`, a shard has all cases, and the table a row for each case and shard."""
    plan, folder = sweep
    for number in folder.jobs():
        folder.case(number).unlink()
    copies = split.copied(plan, 2)
    assert run_shards(copies, folder, whole=True)
    assert [shard_of(folder.path, n) for n in range(8)] == [0] * 4 + [1] * 4
    assert [folder.row(n)["status"] for n in range(8)] == ["ok"] * 8


SHARDS = 64
MOST = int(os.environ.get("RUNNER_TEST_ROWS", "500"))
COUNTS = (MOST // 5, MOST)


def simulate(folder, count):
    """What 64 shards leave that measured `count` cases: rows, samples and lines, without a kernel."""
    sample = np.zeros(3)
    folder.mkdir()
    for number in range(SHARDS):
        shard = ShardFolder(RunFolder(folder), number)
        own = list(range(number, count, SHARDS))
        shard.write(own, launcher="slurm")
        attempt = shard.begin()
        (attempt.path / "samples").mkdir()
        devices = {"cuda": {"kind": "cuda", "name": "GPU", "uuid": f"GPU-{number}"}}
        attempt.write_json(attempt.environment, {"devices": devices})
        for job in own:
            (folder / str(job)).mkdir()
            row = {"case": f"{job:012x}", "job": job, "device": "cuda", "status": "ok", "rounds": 5, "median_us": 1.0}
            attempt.write_json(attempt.result(job), row)
            np.save(attempt.samples(row["case"], job), sample)
            append_line(attempt.rows, {"job": job, "status": "ok", "rounds": 5})


def test_many_rows_of_many_shards_are_merged_linearly(tmp_path, monkeypatch):
    """Five times the cases: at most five times the files and the files read, eight times the memory; none is missing."""
    files, reads, memory, seconds = [], [], [], []
    opened = []
    real = RunFolder.json
    monkeypatch.setattr(RunFolder, "json", lambda self, path: (opened.append(1), real(self, path))[1])
    simulate(tmp_path / "first", SHARDS)
    merge(RunFolder(tmp_path / "first"))  # what is made once does not count
    times = COUNTS[1] / COUNTS[0]

    def measure(folder, count):
        simulate(folder, count)
        opened.clear()
        gc.collect()
        tracemalloc.start()
        begun = time.process_time()
        new = merge(RunFolder(folder))
        seconds.append(round(time.process_time() - begun, 1))
        memory.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert sorted(new) == list(range(count))

    for count in COUNTS:
        folder = tmp_path / str(count)
        measure(folder, count)
        reads.append(len(opened))
        assert len(list((folder / "samples").iterdir())) == count
        assert len(json.loads((folder / "environment.json").read_text())["gpus"]) == SHARDS
        files.append(sum(1 for path in folder.rglob("*") if path.is_file()))
        (folder / "0" / "result.json").unlink()
        assert list(merge(RunFolder(folder))) == [0]  # a resumed parent
    print(f"{COUNTS} cases: {files} files, {reads} read, {seconds} s, {memory} bytes at most")  # noqa: T201
    assert all(more / less <= times for less, more in (files, reads))
    most = 1.6 * times * memory[0]  # a dictionary doubles now and then
    if memory[1] > most:  # another thread of this process may have allocated memory meanwhile
        measure(tmp_path / "again", COUNTS[1])
    assert min(memory[1:]) <= most


def entry(name="NVIDIA H200", toolchain="nvcc 13.0", compiler="nvcc"):
    """A device as environment.json has it."""
    return {"kind": "cuda", "name": name, "versions": {}, "toolchain": toolchain, "asked": {"compiler": compiler}}


def test_shards_that_start_at_once_agree_on_a_toolchain(tmp_path):
    """The first of them decides for its model of GPU; one with another toolchain is refused before it has a row."""
    sweep = RunFolder(tmp_path)
    (tmp_path / "shards").mkdir()
    for one in (entry(), entry(), entry("NVIDIA H100", "nvcc 12.8")):
        require_one_toolchain(sweep, one)
    with pytest.raises(UsageError, match=r"device\.toolchain changed from nvcc 13\.0 to nvcc 12\.8"):
        require_one_toolchain(sweep, entry(toolchain="nvcc 12.8"))


def test_a_start_takes_over_what_earlier_ones_have(tmp_path):
    """Of several starts the latest with a row counts, though a later one died before it had any; files are complete."""
    sweep = RunFolder(tmp_path)
    shard = ShardFolder(sweep, 0)
    shard.write([0, 1], launcher="gpus")
    for rounds in ({0: 2, 1: 1}, {0: 3}, {}):
        attempt = shard.begin()
        (attempt.path / "samples").mkdir()
        for job, number in rounds.items():
            attempt.write_json(attempt.result(job), {"case": "c", "job": job, "status": "ok", "rounds": number})
            np.save(attempt.samples("c", job), np.zeros(number))
    assert {job: row["rounds"] for job, row in merge(sweep).items()} == {0: 3, 1: 1}
    assert [len(np.load(sweep.samples("c", job))) for job in (0, 1)] == [3, 1]
    assert merge(sweep) == {}


class OneShard:
    """A cluster whose only shard ends at the second look, with what it says of the reference case."""

    name, most, every_s, silent = "gpus", 1, 0.0, ""

    def __init__(self, attempt):
        self.attempt, self.looks = attempt, 0

    def state(self, shard):
        """What the watcher is told."""
        assert shard.number == 0
        self.looks += 1
        if self.looks > 1:
            known = self.attempt.json(self.attempt.environment)
            self.attempt.write_json(self.attempt.environment, {**known, "reference": {"case": "c", "rounds_us": [1.0]}})
        return State(ended=self.looks > 1)


def test_what_a_shard_says_at_its_end_is_kept(tmp_path):
    """The reference case is known when a shard ends, which is after its rows were taken over."""
    sweep, shard = RunFolder(tmp_path), ShardFolder(RunFolder(tmp_path), 0)
    plan = jobs(["reduceShfl"], ["1Ki"])
    ledger = Ledger(plan, sweep, "gpus")
    shard.write([0])
    attempt = shard.begin()
    row = {**case_row.without_result(plan[0], "cpu", "gpus", "ok", ""), "rounds": 1}
    attempt.write_json(attempt.result(0), row)
    append_line(attempt.rows, {"job": 0, "status": "ok", "rounds": 1})
    attempt.write_json(attempt.environment, {"devices": {"cpu": {"kind": "cpu", "name": "GPU", "uuid": "GPU-1"}}})
    with SweepProgress(quiet=True) as progress:
        assert Watcher(ledger, sweep, progress, OneShard(attempt), [WatchedShard(shard, frozenset([0]))]).watch()
    assert sweep.json(sweep.environment)["gpus"]["GPU-1"]["reference"]["0"]["rounds_us"] == [1.0]


def test_resume_leaves_the_files_of_running_shards(tmp_path):
    """A file that a running shard has not renamed yet stays; those of the sweep's own killed parent go."""
    files = [tmp_path / "samples" / ".1-1.npy.abcdefgh", tmp_path / "shards" / "0" / "1" / ".1-1.npy.abcdefgh"]
    for file in files:
        file.parent.mkdir(parents=True)
        file.write_text("")
    RunFolder(tmp_path).remove_temporary_files()
    assert [file.exists() for file in files] == [False, True]


def test_one_model_of_gpu_has_one_toolchain(tmp_path):
    """Another toolchain is refused for a GPU of the same model, not for another model or another compiler's cases."""
    devices = {}
    for one in (entry(), entry(), entry("NVIDIA H100", "nvcc 12.8"), entry(toolchain="nvrtc 13.0", compiler="nvrtc")):
        environment.add_device(devices, one)
    assert list(devices) == ["cuda", "cuda 2", "cuda 3"]
    RunFolder(tmp_path).write_json(RunFolder(tmp_path).environment, {"devices": devices})
    environment.require_same_toolchain(tmp_path, entry())
    environment.require_same_toolchain(tmp_path, entry("NVIDIA B200", "nvcc 12.8"))
    with pytest.raises(UsageError, match=r"device\.toolchain changed from nvcc 13\.0 to nvcc 12\.8"):
        environment.require_same_toolchain(tmp_path, entry(toolchain="nvcc 12.8"))


@pytest.mark.parametrize("plan", [{"jobs": ["x"]}, {"jobs": 3}, {"jobs": [0], "copy": []}])
def test_a_malformed_plan_of_a_shard_is_told(tmp_path, plan):
    """A folder from elsewhere may hold anything."""
    shard = ShardFolder(RunFolder(tmp_path), 0)
    shard.sweep.write_json(shard.path / "shard.json", plan)
    with pytest.raises(UsageError, match="malformed run folder"):
        assert shard.jobs == shard.copy
