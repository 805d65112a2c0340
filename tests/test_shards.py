"""A sweep in shards: comparable cases stay together, rows are those of one process, and nothing is lost or run twice."""

import gc
import itertools
import json
import os
import random
import signal
import subprocess
import time
import tracemalloc

import numpy as np
import pytest
from processes import PATIENCE_S, call, kill_all, resume, start, table, wait_until
from sharded import kill_shard, measured, pids, reached, rows, shard_of
from support import case_of, shipped

from runner.device.config import DeviceConfig
from runner.display.terminal import SweepProgress
from runner.errors import UsageError
from runner.jobs.job import Job
from runner.jobs.settings import TimingConfig
from runner.record import environment
from runner.record.folder import RunFolder
from runner.record.run import read
from runner.record.shards import ShardFolder, append_line, merge, require_one_toolchain, shards
from runner.report.__main__ import page
from runner.shards import clusters
from runner.shards import plan as planning
from runner.shards.local import LocalGpus, gpus
from runner.shards.watch import State, WatchedShard, Watcher
from runner.sweep import case_row
from runner.sweep.ledger import Ledger

GPUS = ("hydra/launcher=gpus", "hydra.sweep.dir=sweep", "device=cpu", "lines=false", "racecheck=none")
CASES = ("kernel=reduceShfl,reduceSmem", "size=4Ki,8Ki,12Ki")
ROUNDS = 40
LONG = ("kernel=reduceShfl,reduceSmem", "size=4Ki,8Ki", f"timing.cpu_rounds={ROUNDS}", *GPUS)


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


@pytest.mark.parametrize("most", [1, 2, 3, 8, 64])
@pytest.mark.parametrize("shape", SHAPES)
def test_cases_that_are_compared_share_a_shard(shape, most):
    """Each job is in one shard, in the sweep's order; comparable jobs are together; no shard is empty or far too long."""
    for seed in range(5):
        drawn = random.Random(seed)
        seconds = {job.number: drawn.uniform(0.1, 9.0) for job in SHAPES[shape]}
        shards = planning.split(SHAPES[shape], most, seconds)
        numbers = [[job.number for job in shard] for shard in shards]
        assert sorted(itertools.chain(*numbers)) == sorted(seconds)
        assert all(shard and shard == sorted(shard) for shard in numbers)
        keys = [{planning.compared_with(job) for job in shard} for shard in shards]
        assert sum(map(len, keys)) == len(set().union(*keys))
        assert len(shards) == min(most, len(set().union(*keys)))
        took = [sum(seconds[n] for n in shard) for shard in numbers]
        groups = {}
        for job in SHAPES[shape]:
            key = planning.compared_with(job)
            groups[key] = groups.get(key, 0.0) + seconds[job.number]
        best = max([sum(took) / most, *groups.values()], default=0.0)  # no split can be shorter
        assert max(took, default=0.0) <= (4 / 3) * best + best  # Graham: 4/3 of the best, which is at most twice this


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    """The rows of a sweep that one process ran."""
    directory = tmp_path_factory.mktemp("together")
    done = call(directory, *CASES, *GPUS, "hydra/launcher=batch")
    assert done.returncode == 0, done.stderr
    return rows(directory / "sweep")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The rows of the long sweep, of one process."""
    directory = tmp_path_factory.mktemp("undisturbed")
    done = call(directory, *LONG, "hydra/launcher=batch")
    assert done.returncode == 0, done.stderr
    return rows(directory / "sweep")


def test_shards_give_the_rows_of_one_process(together, tmp_path):
    """Three shards leave one table with the rows of `batch`, in one folder with samples and a report; each size is whole.

    What the shards have to say is told once.
    """
    done = call(tmp_path, *CASES, *GPUS, "hydra.launcher.shards=3", "profile=ncu")
    folder = tmp_path / "sweep"
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("cannot profile on the CPU device") == 1  # all of them say so
    assert "runs in one shard" not in done.stderr
    assert rows(folder) == together
    assert set(table(folder)["launcher"]) == {"gpus"}
    assert len(list(folder.glob("shards/*/shard.json"))) == 3
    assert {shard_of(folder, n) for n in range(3)} == {shard_of(folder, n) for n in range(3, 6)} == {0, 1, 2}
    assert [shard_of(folder, n) for n in range(3)] == [shard_of(folder, n) for n in range(3, 6)]
    assert len(list(folder.glob("samples/*.npy"))) == 6
    assert (folder / "report.html").is_file()
    assert "cpu" in json.loads((folder / "environment.json").read_text())["devices"]


def test_a_sweep_that_fits_one_shard_says_so(tmp_path):
    """Cases that are compared stay together, so three shards of one size are one shard; a message gives the reason."""
    done = call(tmp_path, "kernel=reduceShfl", "block=64,128", "size=1Ki", *GPUS, "hydra.launcher.shards=3")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("runs in one shard") == 1
    assert len(list((tmp_path / "sweep").glob("shards/*/shard.json"))) == 1


def test_each_device_of_a_sweep_decides_for_its_own_cases(tmp_path):
    """A device that is not there, and what the CPU device refuses, leave the other device's cases alone."""
    call(tmp_path, "kernel=reduceBulk,reduceShfl", "size=4Ki", *GPUS, "device=cuda,cpu", "hydra.launcher.shards=1")
    found = table(tmp_path / "sweep")
    assert list(found["device"]) == ["cuda", "cpu"] * 2
    assert list(found["status"][found["device"] == "cpu"]) == ["skipped", "ok"]
    others = found[found["device"] == "cuda"]
    assert not others["reason"].fillna("").str.contains("GPU only|exit status").any()


def long_sweep(directory, *arguments):
    """The long sweep in two shards, once both have begun."""
    process = start(directory, *LONG, "hydra.launcher.shards=2", *arguments)
    folder = directory / "sweep"
    wait_until(lambda: {shard_of(folder, job) for job, _ in measured(folder)} == {0, 1}, process)
    return process, folder


def check_whole(folder, undisturbed):
    """All rows are there, and nothing was measured twice."""
    assert rows(folder) == undisturbed
    assert max(measured(folder).values()) == 1
    assert not pids(folder)


def test_a_killed_shard_is_not_run_and_resumed(undisturbed, tmp_path):
    """The others finish, the cases of the killed shard say so, and resume runs only what it lacks."""
    process, folder = long_sweep(tmp_path)
    (folder / "shards" / "0" / "log.txt").write_text("what a kernel printed\n")
    kill_shard(folder, 0)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1, err
    assert "shard 0" in err
    assert "SIGKILL" in err
    assert "python -m runner.resume sweep" in err
    found = table(folder)
    mine = [shard_of(folder, n) == 0 for n in found["job"]]
    assert (found[~np.array(mine)]["rounds"] == ROUNDS).all()
    assert not (found[mine]["rounds"] == ROUNDS).all()
    assert set(found["status"]) <= {"ok", "not_run"}
    assert resume(tmp_path, "sweep").returncode == 0
    check_whole(folder, undisturbed)


def test_shards_outlive_their_parent(undisturbed, tmp_path):
    """After kill -9 of the parent its shards run on; resume waits for them and measures nothing again."""
    process, folder = long_sweep(tmp_path)
    kill_all(process)
    assert len(pids(folder)) == 2
    assert "running" in call(tmp_path, tmp_path, module="runner.list").stdout
    done = resume(tmp_path, "sweep")
    assert done.returncode == 0, done.stderr
    check_whole(folder, undisturbed)
    assert set(measured(folder)) == {(job, n) for job in range(4) for n in range(1, ROUNDS + 1)}
    assert len(list(folder.glob("shards/*/shard.json"))) == 2


def test_ctrl_c_ends_the_shards(undisturbed, tmp_path):
    """Status 130, no process is left, each case has a row; resume runs the rest."""
    process, folder = long_sweep(tmp_path)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    assert "cancelling the shards" in err
    assert "python -m runner.resume sweep" in err
    assert not pids(folder)
    assert len(table(folder)) == 4
    assert resume(tmp_path, "sweep").returncode == 0
    check_whole(folder, undisturbed)


def test_the_parent_may_go_away(undisturbed, tmp_path):
    """With `wait=false` the command ends while its shards run; `runner.report` shows what is there, resume waits.

    Another command may cancel them, as resume does after Ctrl-C.
    """
    done = call(tmp_path, *LONG, "hydra.launcher.shards=2", "hydra.launcher.wait=false")
    folder = tmp_path / "sweep"
    assert done.returncode == 0, done.stderr
    assert "runner.resume sweep" in done.stderr
    wait_until(reached(folder, 8))
    reported = call(tmp_path, folder, module="runner.report")
    assert reported.returncode in (0, 1)
    assert "still running" in reported.stderr
    assert "Running: " in page(folder)
    assert len(table(folder)) == 4
    later = LocalGpus((), 2)
    assert not any(later.state(shard).ended for shard in shards(RunFolder(folder)))
    later.cancel()
    assert not pids(folder)
    assert resume(tmp_path, "sweep").returncode == 0
    check_whole(folder, undisturbed)


WRONG = {
    "gpus hydra.launcher.gpus=[9]": "hydra.launcher.gpus=9: no such GPU",
    "gpus hydra.launcher.gpus=[-1]": "hydra.launcher.gpus=-1: expected a number",
    "gpus hydra.launcher.gpus=[GPU-a,GPU-a]": "GPU-a is listed twice",
    "gpus hydra.launcher.shards=0": "hydra.launcher.shards=0: expected 1 to 1024",
    "gpus device.index=1": "device.index=1: the launcher chooses the GPU",
    "gpus hydra.launcher.nope=1": "hydra.launcher.nope",
    "slurm hydra.launcher.shards=0": "hydra.launcher.shards=",  # without Slurm, too
    "slurm hydra.launcher.constraint=[]": "hydra.launcher.constraint=",
    "slurm hydra.launcher.array_parallelism=-3": "hydra.launcher.array_parallelism=",
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_setting_is_one_sentence(wrong, tmp_path):
    """Status 2, a sentence that names it, and no folder; the plan of a sweep says so, too."""
    launcher, setting = wrong.split()
    command = ("kernel=reduceShfl", *GPUS, f"hydra/launcher={launcher}", setting)
    planned = call(tmp_path, *command, "--dry-run")
    assert (planned.returncode, planned.stdout) == (2, "")
    assert WRONG[wrong] in planned.stderr
    assert len(planned.stderr.strip().splitlines()) == 1
    if launcher == "gpus":
        assert call(tmp_path, *command).stderr == planned.stderr
    assert not (tmp_path / "sweep").exists()


def test_a_plan_has_each_copy_of_a_case():
    """As many rows as the sweep would have: on every GPU, or once for each constraint of Slurm."""
    two = jobs(["reduceShfl"], ["1Ki", "2Ki"])
    assert [job.copy for job in clusters.planned("gpus", two, {"shards": 2, "replicate": True})] == [0, 0, 1, 1]
    assert [job.copy for job in clusters.planned("slurm", two, {"shards": 3, "constraint": ["a", "b"]})] == [0, 0, 1, 1]
    assert clusters.planned("gpus", two, {"shards": 2}) == two


def test_hidden_gpus_are_not_used(monkeypatch):
    """An empty list of visible GPUs, or one that begins with -1, leaves none, as CUDA reads it."""
    for given, left in {"": [], "-1": [], "GPU-a, GPU-b": ["GPU-a", "GPU-b"], "1,-1,0": ["1"]}.items():
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", given)
        assert gpus() == left


SHARDS = 64
MOST = int(os.environ.get("RUNNER_TEST_ROWS", "1000"))
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


def test_a_gpu_that_still_has_a_shard_gets_no_second_one(tmp_path, monkeypatch):
    """A new shard takes a free GPU; a shard of an earlier parent keeps the one that it was started on."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-a,GPU-b")
    cluster, sweep, started = LocalGpus((), 2), RunFolder(tmp_path), []
    monkeypatch.setattr(subprocess, "Popen", lambda *_, env, **__: started.append(env["CUDA_VISIBLE_DEVICES"]))
    old, new = ShardFolder(sweep, 0), ShardFolder(sweep, 1)
    for shard in (old, new):
        shard.write([shard.number])
    sweep.write_json(old.path / "place.json", "GPU-a")
    lock = RunFolder(old.path).lock()
    cluster.start([old, new])
    os.close(lock)
    assert started == ["GPU-b"]


REPLICATED = (*GPUS, "hydra.launcher.shards=2", "hydra.launcher.replicate=true", "timing.cpu_rounds=2", "lines=false")


def test_every_gpu_measures_all_cases(tmp_path):
    """Two pretend GPUs: a row for each case and GPU, all cases in either shard; a killed copy is resumed in its place."""
    process = start(tmp_path, *CASES, *REPLICATED)
    folder = tmp_path / "sweep"
    wait_until(lambda: {shard_of(folder, job) for job, _ in measured(folder)} == {0, 1}, process)
    kill_shard(folder, 1)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1, err
    assert resume(tmp_path, "sweep").returncode == 0
    found = table(folder)
    assert list(found["job"]) == list(range(12))
    assert set(found["status"]) == {"ok"}
    assert [shard_of(folder, n) for n in range(6)] == [0] * 6
    assert list(found["case"][:6]) == list(found["case"][6:])
    assert max(measured(folder).values()) == 1
    copies = {json.loads(path.read_text())["copy"] for path in folder.glob("shards/*/shard.json")}
    assert copies == {0, 1}
    assert call(tmp_path, "sweep", module="runner.report").returncode == 0
    assert len(read(folder).frame) == 6
    done = call(tmp_path, "sweep", module="runner.repeat")
    assert done.returncode == 0, done.stderr
    assert [len(table(path)) for path in tmp_path.glob("outputs/*/*")] == [6]
    done = call(tmp_path, "sweep", next(tmp_path.glob("outputs/*/*")), module="runner.compare")
    assert done.returncode == 0, done.stderr
    assert "several rows of this case" not in done.stdout


@pytest.mark.gpu
def test_two_gpus_measure_all_cases(tmp_path):
    """A row for each case and GPU; a case's interval reaches over both GPUs; the report shows both."""
    if len(gpus()) < 2:
        pytest.skip("there are fewer than two GPUs")
    cases = ("kernel=reduceShfl,reduceSmem", "size=1Mi,4Mi", "device=cuda", "lines=false", "racecheck=none")
    done = call(tmp_path, *cases, "hydra/launcher=gpus", "hydra.launcher.replicate=true", "hydra.sweep.dir=sweep")
    assert done.returncode == 0, done.stderr
    found = table(tmp_path / "sweep")
    assert len(found) == 8
    assert list(found["gpu"][:4]) != list(found["gpu"][4:])
    assert found["gpu"].nunique() == 2
    pooled = read(tmp_path / "sweep").frame
    assert len(pooled) == 4
    for _, row in pooled.iterrows():
        own = found[found["case"] == row["case"]]
        assert own["ci_low_us"].min() == pytest.approx(row["ci_low_us"])
        assert own["ci_high_us"].max() == pytest.approx(row["ci_high_us"])
    assert (tmp_path / "sweep" / "figures" / "gpus.svg").is_file()


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
    row = {**case_row.unfinished(plan[0], "cpu", "gpus", "ok", ""), "rounds": 1}
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
    RunFolder(tmp_path).sweep_up()
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
    with pytest.raises(UsageError, match="Malformed run folder"):
        assert shard.jobs == shard.copy
