"""A sweep over several GPUs, for which workers on the CPU device stand: one table, whole groups, and nothing is lost."""

import dataclasses
import itertools
import json
import os
import signal

import pytest
from processes import PATIENCE_S, call, kill_all, members, resume, start, table, wait_until
from sharded import rows, workers
from support import case_of, shipped

from runner.device import DeviceInfo, gpus
from runner.device.config import DeviceConfig
from runner.device.cpu.build import CpuCompiler
from runner.display.terminal import SweepProgress
from runner.errors import DeviceUnavailable
from runner.jobs.job import Job
from runner.jobs.settings import TimingConfig
from runner.record.folder import RunFolder
from runner.record.run import read
from runner.shards import parent
from runner.sweep import engine, local, pool
from runner.sweep.ledger import Ledger
from runner.sweep.worker import Worker

GPUS = ("hydra/launcher=gpus", "hydra.sweep.dir=sweep", "device=cpu", "lines=false", "racecheck=none")
CASES = ("kernel=reduceShfl,reduceSmem", "size=4Ki,8Ki")
LONG = ("kernel=reduceShfl,reduceSmem", "size=4Ki,8Ki", "timing.cpu_rounds=40", *GPUS)


def jobs(sizes, **device):
    """Jobs of a reduction at each size."""
    config = DeviceConfig(kind="cpu", threads=1, **device)
    cases = [case_of(shipped("reduceShfl"), size=size) for size in sizes]
    return [Job(case, config, TimingConfig(warmup_ms=0), "nvcc", n, lines=False) for n, case in enumerate(cases)]


def test_workers_give_the_rows_of_one(tmp_path):
    """Two workers leave the table of `batch`; what both have to say is told once."""
    done = call(tmp_path, *CASES, *GPUS, "hydra.launcher.shards=2", "profile=ncu")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("cannot profile on the CPU device") == 1
    assert "runs on one GPU" not in done.stderr
    alone = call(tmp_path, *CASES, *GPUS, "hydra/launcher=batch", "hydra.sweep.dir=alone")
    assert alone.returncode == 0, alone.stderr
    folder = tmp_path / "sweep"
    assert rows(folder) == rows(tmp_path / "alone")
    assert set(table(folder)["launcher"]) == {"gpus"}
    assert len(list(folder.glob("samples/*.npy"))) == 4
    assert (folder / "report.html").is_file()
    assert "cpu" in json.loads((folder / "environment.json").read_text())["devices"]


def test_a_sweep_that_fits_one_gpu_says_so(tmp_path):
    """Cases that are compared stay together, so one size is measured by one of three workers."""
    done = call(tmp_path, "kernel=reduceShfl", "block=64,128", "size=1Ki", *GPUS, "hydra.launcher.shards=3")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("runs on one GPU") == 1


def test_each_device_of_a_sweep_decides_for_its_own_cases(tmp_path):
    """A device that is not there, and what the CPU device refuses, leave the other device's cases alone."""
    call(tmp_path, "kernel=reduceBulk,reduceShfl", "size=4Ki", *GPUS, "device=cuda,cpu", "hydra.launcher.shards=2")
    found = table(tmp_path / "sweep")
    assert list(found["device"]) == ["cuda", "cpu"] * 2
    assert list(found["status"][found["device"] == "cpu"]) == ["skipped", "ok"]
    others = found[found["device"] == "cuda"]
    assert not others["reason"].fillna("").str.contains("GPU only|exit status").any()


def test_a_worker_ctrl_c_and_the_parent_may_be_killed(tmp_path):
    """A killed worker costs its case alone. Ctrl-C: status 130 and no process left; so after kill -9. Resume runs the rest."""
    process = start(tmp_path, *LONG)
    folder = tmp_path / "sweep"
    wait_until(lambda: len(workers(process)) == 2 and any(folder.glob("*/result.json")), process)
    assert process.poll() is None, process.communicate()
    os.kill(workers(process)[1], signal.SIGKILL)
    wait_until(lambda: len(workers(process)) == 2, process)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "python -m runner resume sweep" in err
    assert not members(process)
    assert len(table(folder)) == 4
    assert (table(folder)["status"] == "crashed").sum() <= 1

    process = start(tmp_path, "sweep", module="runner.resume")
    wait_until(lambda: len(workers(process)) == 2, process)
    pids = workers(process)
    kill_all(process)
    wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids))  # noqa: PTH110
    done = resume(tmp_path, "sweep")
    assert done.returncode in (0, 1), done.stderr
    found = table(folder)
    assert set(found["rounds"][found["status"] == "ok"]) == {40}
    assert (found["status"] == "ok").sum() >= 3


class Lost(Worker):
    """A worker whose GPU falls off the bus after some cases; the second GPU cannot even be opened again."""

    left = itertools.repeat(1)

    @property
    def info(self):
        """The device's properties, if it can be opened."""
        if self._environment.get("GPU") == "1" and not next(Lost.left):
            raise DeviceUnavailable("it fell off the bus")
        return super().info

    def run(self, task, on_step, meanwhile):
        """One case."""
        outcome = super().run(task, on_step, meanwhile)
        if self._environment.get("GPU") == "1":
            self.kill()
        return outcome


def run_on_two(plan, folder):
    """Run a plan on two pretend GPUs: what each measured."""
    folder.mkdir(exist_ok=True)
    with SweepProgress() as progress, pool.Pool([{"GPU": "0"}, {"GPU": "1"}]) as workers:
        return engine.run(Ledger(plan, RunFolder(folder), "gpus"), progress, workers)


def test_what_a_lost_gpu_has_not_measured_is_not_run_and_resumed(tmp_path, monkeypatch, capsys):
    """The other GPU finishes its share; the user is told; a second run measures the rest."""
    plan = jobs([1024, 2048, 3072, 4096])
    monkeypatch.setattr(pool, "Worker", Lost)
    monkeypatch.setattr(Lost, "left", iter([1] * 6 + [0] * 99))
    measured = run_on_two(plan, tmp_path / "sweep")
    assert [bool(share.lost) for share in measured] == [False, True]
    assert "GPU 1 is no longer used" in capsys.readouterr().err
    folder = RunFolder(tmp_path / "sweep")
    lost = {job.number for job in measured[1].jobs}
    assert len(lost) == 2
    found = {number: folder.row(number)["status"] for number in range(4)}
    assert all(found[number] == "ok" for number in set(range(4)) - lost)
    assert "not_run" in {found[number] for number in lost}
    monkeypatch.undo()
    run_on_two(plan, tmp_path / "sweep")
    assert {folder.row(number)["status"] for number in range(4)} == {"ok"}


class Pretend(Worker):
    """A worker on the CPU device that says it is a GPU with a UUID."""

    @property
    def info(self):
        """The properties of a GPU."""
        real = super().info
        details = {**real.details, "flush_us": 1.0, "empty_kernel_us": 1.0, "uuid": f"GPU-{self._environment['GPU']}"}
        return DeviceInfo("cuda", "GPU", "sm_90", None, 0, real.shared_limit, real.memory_bytes, details=details)


def test_every_gpu_measures_the_reference_case(tmp_path, monkeypatch):
    """environment.json has its time on each GPU, also on one whose share has other sizes; it is a row of one GPU only."""
    monkeypatch.setattr(pool, "Worker", Pretend)
    monkeypatch.setattr("runner.sweep.pool.compiler_for", cpu_compiler)
    run_on_two(jobs([1024, 2048, 3072, 4096]), tmp_path / "sweep")
    known = json.loads((tmp_path / "sweep" / "environment.json").read_text())
    assert set(known["gpus"]) == {"GPU-0", "GPU-1"}
    references = [gpu["reference"]["0"] for gpu in known["gpus"].values()]
    assert len({reference["case"] for reference in references}) == 1
    assert all(us > 0 for reference in references for us in reference["rounds_us"])
    assert len(table(tmp_path / "sweep")) == 4


def cpu_compiler(config, info, _):
    """The compiler of the CPU device, whatever the device says it is."""
    return CpuCompiler()


def test_a_plan_has_each_copy_of_a_case():
    """As many rows as the sweep would have: on every GPU, or once for each constraint of Slurm."""
    two = jobs([1024, 2048])
    assert [job.copy for job in local.planned(two, {"shards": 2, "replicate": True})] == [0, 0, 1, 1]
    assert [job.copy for job in parent.planned(two, {"shards": 3, "constraint": ["a", "b"]})] == [0, 0, 1, 1]
    assert local.planned(two, {"shards": 2}) == two


def test_hidden_gpus_are_not_used(monkeypatch):
    """An empty list of visible GPUs, or one that begins with -1, leaves none, as CUDA reads it."""
    for given, left in {"": [], "-1": [], "GPU-a, GPU-b": ["GPU-a", "GPU-b"], "1,-1,0": ["1"]}.items():
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", given)
        assert gpus.visible() == left


def test_the_cpu_device_has_its_workers_on_a_machine_with_gpus(monkeypatch):
    """`device=cpu` needs no GPU, so `shards` counts; a GPU's cases take all GPUs."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-a,GPU-b")
    (cpu,) = jobs([1024])
    gpu = dataclasses.replace(cpu, device=DeviceConfig(kind="cuda"))
    assert local.environments([cpu], {"shards": 3}) == [{}] * 3
    assert local.environments([gpu], {"shards": 3}) == [{"CUDA_VISIBLE_DEVICES": f"GPU-{name}"} for name in "ab"]


def test_every_gpu_measures_all_cases(tmp_path):
    """With `replicate`: a row for each case and GPU. The report and compare have one; repeat measures each case once."""
    replicated = ("hydra.launcher.shards=2", "hydra.launcher.replicate=true", "timing.cpu_rounds=2")
    done = call(tmp_path, *CASES, *GPUS, *replicated)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "sweep"
    found = table(folder)
    assert list(found["job"]) == list(range(8))
    assert set(found["status"]) == {"ok"}
    assert list(found["case"][:4]) == list(found["case"][4:])
    (folder / "6" / "result.json").unlink()
    assert resume(tmp_path, "sweep").returncode == 0
    assert set(table(folder)["status"]) == {"ok"}
    assert len(read(folder).frame) == 4
    done = call(tmp_path, "sweep", module="runner.repeat")
    assert done.returncode == 0, done.stderr
    assert [len(table(path)) for path in tmp_path.glob("outputs/*/*")] == [4]
    done = call(tmp_path, "sweep", next(tmp_path.glob("outputs/*/*")), module="runner.compare")
    assert done.returncode == 0, done.stderr
    assert "several rows of this case" not in done.stdout


def on_two_gpus(directory, *arguments):
    """The table of a sweep over all GPUs of this machine, at least two."""
    if len(gpus.visible()) < 2:
        pytest.skip("there are fewer than two GPUs")
    cases = ("kernel=reduceShfl,reduceSmem", "size=1Mi,4Mi", "device=cuda", "lines=false", "racecheck=none")
    done = call(directory, *cases, "hydra/launcher=gpus", "hydra.sweep.dir=sweep", *arguments)
    assert done.returncode == 0, done.stderr
    return table(directory / "sweep")


@pytest.mark.gpu
def test_two_gpus_measure_all_cases(tmp_path):
    """A row for each case and GPU; a case's interval reaches over both GPUs; the report shows both."""
    found = on_two_gpus(tmp_path, "hydra.launcher.replicate=true")
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


@pytest.mark.gpu
def test_two_gpus_share_a_sweep_and_its_profile(tmp_path):
    """Each size is measured on one GPU, which also measures its energy; both measure the reference case."""
    found = on_two_gpus(tmp_path, "profile.energy=true")
    assert found["gpu"].nunique() == 2
    assert all(found[found["size"] == size]["gpu"].nunique() == 1 for size in set(found["size"]))
    assert (found["joules"] > 0).all()
    known = json.loads((tmp_path / "sweep" / "environment.json").read_text())
    assert all(gpu["reference"]["0"]["rounds_us"] for gpu in known["gpus"].values())
    assert len(known["gpus"]) == 2
