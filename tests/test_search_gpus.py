"""A search over several GPUs, for which processes on the CPU device stand: shares, lost GPUs, interruptions."""

import json
import os
import signal
from dataclasses import replace

import pytest
from processes import PATIENCE_S, members, resume, start, table, wait_until
from sharded import workers
from support import MINE_CU, case_of, mine_yaml, read_kernel, shipped

from runner.device.cache import default_folder
from runner.device.config import DeviceConfig
from runner.display.terminal import SweepProgress
from runner.errors import DeviceUnavailable, UsageError
from runner.jobs.job import Job
from runner.jobs.settings import TimingConfig
from runner.kernel import metrics
from runner.record.folder import RunFolder
from runner.search.batches import Batches
from runner.search.devices import Devices
from runner.search.loop import Trial
from runner.sweep import pool, worker

SEARCH = (
    "kernel=reduceShfl", "block=range(32,513,32)", "width=8,16,32", "size=16Ki", "device=cpu", "timing.cpu_samples=9",
    "hydra/sweeper=search", "hydra.sweeper.max_cases=20", "hydra.sweeper.patience=0", "hydra.sweeper.batch=4",
    "hydra/launcher=gpus", "hydra.launcher.shards=2", "hydra.sweep.dir=sweep",
)  # fmt: skip


def told(folder):
    """How many cases a search has told its sampler of."""
    file = folder / "search.jsonl"
    return len(file.read_text().splitlines()) if file.exists() else 0


def check_whole(folder, failed=0):
    """All cases are there once; the best has the whole protocol."""
    found = table(folder)
    assert len(found) == 20 == told(folder) == found["case"].nunique()
    assert set(found["launcher"]) == {"gpus"}
    assert (found["status"] != "ok").sum() <= failed
    assert set(found["samples"].dropna()) <= {3, 9}
    assert json.loads((folder / "search.json").read_text())["ended"]
    assert not (folder / "gpus").exists()


def test_a_search_on_two_gpus_outlives_a_worker_ctrl_c_and_its_parent(tmp_path):
    """A killed worker costs at most its case. Ctrl-C: status 130, a report, no process left; resume uses both GPUs.

    After kill -9 no worker is left; resume runs the rest, and measures nothing again.
    """
    folder = tmp_path / "sweep"
    process = start(tmp_path, *SEARCH)
    wait_until(lambda: told(folder) >= 4 and len(workers(process)) == 2, process)
    assert process.poll() is None, process.communicate()
    os.kill(workers(process)[1], signal.SIGKILL)
    after = told(folder) + 4
    wait_until(lambda: told(folder) >= after, process)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "python -m runner resume sweep" in err
    assert (
        "legal combinations; sampler guided, seed 0; the search has not ended" in (folder / "report.html").read_text()
    )
    assert not members(process)

    process = start(tmp_path, "sweep", module="runner.resume")
    wait_until(lambda: len(workers(process)) == 2, process)
    assert process.poll() is None, process.communicate()
    pids = workers(process)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids))  # noqa: PTH110
    before = (folder / "search.jsonl").read_text().splitlines()
    done = resume(tmp_path, "sweep")
    assert done.returncode in (0, 1), done.stderr
    assert f"the search continues after {len(before)} cases" in done.stderr
    check_whole(folder, failed=1)
    points = [json.loads(line)["point"] for line in (folder / "search.jsonl").read_text().splitlines()]
    assert points[: len(before)] == [json.loads(line)["point"] for line in before]


def jobs(sizes):
    """Looks at cases."""
    cases = [case_of(shipped("reduceShfl"), size=size) for size in sizes]
    return [Job(c, DeviceConfig(kind="cpu"), TimingConfig(), "", n, lines=False, look=3) for n, c in enumerate(cases)]


GPUS = [{"GPU": str(n)} for n in range(3)]


class Lost(worker.Worker):
    """A worker of one of three pretend GPUs, some of which cannot be opened."""

    lost = frozenset()

    @property
    def info(self):
        """The device's properties."""
        if self._environment["GPU"] in self.lost:
            raise DeviceUnavailable("it fell off the bus")
        return super().info


@pytest.fixture
def devices(tmp_path, monkeypatch):
    """Three pretend GPUs of a search."""
    monkeypatch.setattr(pool, "Worker", Lost)
    folder = RunFolder(tmp_path)
    folder.write_json(folder.environment, {})
    with SweepProgress() as progress, pool.Pool(GPUS, keep_workers=True) as opened:
        yield Devices(folder, opened, "gpus", progress)


def test_each_gpu_measures_its_share_and_the_others_take_over_those_of_one_that_is_lost(
    devices, tmp_path, monkeypatch, capsys
):
    """Each case is in one share, and each share has a row of the case beside it; without one, there is one share.

    What a lost GPU should have measured is measured on the others, which the user is told; without a GPU the search ends.
    """
    *plan, beside = jobs([1024, 2048, 3072, 4096, 5120, 6144])
    assert len(list(devices.run(plan[:2], []))) == 1
    shares = list(devices.run(plan, [beside]))
    assert sorted(job.number for own, _ in shares for job in own) == [0, 1, 2, 3, 4]
    assert [len(own) for own, _ in shares] == [2, 2, 1]
    for own, rows in shares:
        assert {rows[job.number]["status"] for job in (*own, beside)} == {"ok"}
        assert all((tmp_path / str(job.number) / "result.json").is_file() for job in own)

    monkeypatch.setattr(Lost, "lost", {"0"})
    shares = list(devices.run(plan[:3], [beside]))
    assert sorted(job.number for own, _ in shares for job in own) == [0, 1, 2]
    assert "GPU 0 is no longer used" in capsys.readouterr().err
    monkeypatch.setattr(Lost, "lost", {"0", "1", "2"})
    with pytest.raises(DeviceUnavailable, match="bus"):
        list(devices.run(plan[:3], [beside]))


def test_the_next_cases_are_compiled_while_these_are_measured(tmp_path):
    """Their binaries are in the cache before anybody runs them."""
    (tmp_path / "mine.cu").write_text(f"{MINE_CU}// {tmp_path}")  # in no cache yet
    (tmp_path / "mine.yaml").write_text(mine_yaml(macros="{BLOCK: block}"))
    kernel = read_kernel(tmp_path / "mine.yaml")
    first, second = (replace(job, case=case_of(kernel, block=64 * n)) for n, job in enumerate(jobs([1, 2]), 1))
    (folder := RunFolder(tmp_path / "run")).path.mkdir()
    folder.write_json(folder.environment, {})
    before = set(default_folder("cpu").glob("mine-*.so"))
    with SweepProgress() as progress, pool.Pool(keep_workers=True) as opened:
        search = Devices(folder, opened, "batch", progress)
        list(search.run([first], [], [second]))
        wait_until(lambda: len(set(default_folder("cpu").glob("mine-*.so")) - before) == 2)
        search.close()


class Unequal:
    """Two GPUs on which cases take 100, 200, 300 us and so on, the second one of which is a fifth slower."""

    def run(self, plan, beside, _ahead):
        """The shares and their rows."""
        shares = [plan[::2], plan[1::2]] if beside else [plan]
        return [
            (own, {job.number: self.row(job, slower) for job in (*own, *beside)})
            for own, slower in zip(shares, (1.0, 1.2), strict=False)
        ]

    def remeasure(self, plan):
        """Only the first one has a part in the last round."""
        self.last = [job.number for job in plan]
        return {job.number: self.row(job, 1.0) for job in plan}

    @staticmethod
    def row(job, slower):
        """A row."""
        us = 100.0 * (1 + job.number) * slower
        times = dict.fromkeys(("median_us", "ci_low_us", "ci_high_us", "min_us", "q1_us", "q3_us"), us)
        gpu = f"GPU-{slower}"
        return {"kernel": "reduceShfl", "status": "ok", "device": "cuda", "job": job.number, "gpu": gpu, **times}


def test_a_slower_gpu_does_not_decide(tmp_path):
    """What it measures is scaled by the case that each GPU measures; the best are measured again on one GPU."""
    plan, gpus, folder = jobs(range(1024, 7168, 1024)), Unequal(), RunFolder(tmp_path)
    folder.write_json(folder.environment, {})
    (time,) = metrics.read({"time": "1 * median_us"}, "metrics", plan[0].case.variables)
    with SweepProgress(quiet=True) as progress:
        batches = Batches(folder, gpus, progress, lambda point, _: plan[point[0]], [time], [30])
        found = {point: values for n in (0, 2, 4) for point, values in batches.measure({(n,): 0, (n + 1,): 0}).items()}
        assert found == {(n,): (pytest.approx(100.0 * (1 + n)),) for n in range(6)}
        near = batches.tied([Trial(point, values, 0.0) for point, values in found.items()])
        assert [t.point for t in near] == [(0,)]
        batches.finish([(1,)])
    assert gpus.last == [1, 0], "the table would else have the first case ahead"


def test_gpus_of_two_models_are_refused(devices, monkeypatch):
    """Their times are not comparable, not even beside the same case."""
    info = property(lambda self: type("Info", (), {"name": f"model {self._environment['GPU']}"})())
    monkeypatch.setattr(Lost, "info", info)
    with pytest.raises(UsageError, match="model 0 and model 1 and model 2"):
        next(devices.run(jobs([1024, 2048]), []))
