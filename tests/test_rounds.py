"""Cases are measured in rounds: all of them in each, in an order of its own."""

import json
from collections import Counter

import numpy as np
import pandas as pd
from support import ROOT, case_of, read_kernel, shipped

from runner.device.config import DeviceConfig
from runner.display.terminal import SweepProgress
from runner.jobs.job import Job
from runner.jobs.settings import TimingConfig
from runner.record.folder import RunFolder
from runner.sweep import engine, pool
from runner.sweep.ledger import Ledger
from runner.sweep.worker import Outcome

OWN = ROOT / "tests" / "kernels" / "kernel"


class Told(SweepProgress):
    """Progress that notes which case was measured when."""

    def __init__(self):
        super().__init__()
        self.rows = []

    def row(self, label, row):
        """A case is done for one round."""
        self.rows.append((label, row["status"]))


def swept(folder, cases, monkeypatch, wrong=None, **timing):
    """A sweep of some cases on the CPU device: its table, the order of measuring, and how many workers it took.

    A case comes out wrong where `wrong` says so of it and of how often it was run.
    """
    workers, runs = [], Counter()

    class Counted(pool.Worker):
        def __init__(self, config, environment=None):
            workers.append(config)
            super().__init__(config, environment)

        def run(self, task, on_step, meanwhile):
            runs[task.case] += 1
            outcome = super().run(task, on_step, meanwhile)
            return (
                Outcome("mismatch", "y[0] is 1, expected 2") if wrong and wrong(task.case, runs[task.case]) else outcome
            )

    monkeypatch.setattr(pool, "Worker", Counted)
    device, how = DeviceConfig(kind="cpu", threads=1), TimingConfig(warmup_ms=0, **timing)
    plan = [Job(case, device, how, "nvcc", job) for job, case in enumerate(cases)]
    folder.mkdir()
    with Told() as progress, pool.Pool() as opened:
        engine.run(Ledger(plan, RunFolder(folder), "batch"), progress, opened)
    return pd.read_csv(folder / "results.csv"), progress.rows, len(workers)


def small(count=6):
    """Cases that take no time."""
    return [case_of(shipped("reduceShfl"), block=32 * (n + 1), size=4096) for n in range(count)]


def orders(told, count):
    """The kernels' blocks in the order of each round, from what progress was told."""
    labels = [label.split(" (")[0] for label, _ in told]
    return [labels[n : n + count] for n in range(0, len(labels), count)]


def test_each_round_measures_every_case_in_an_order_of_its_own(tmp_path, monkeypatch):
    """Three rounds are three permutations of all cases, not the same ones, and no case is measured twice in a row."""
    cases = small()
    rows, told, workers = swept(tmp_path / "a", cases, monkeypatch, cpu_rounds=3)
    found = orders(told, len(cases))
    assert len(found) == 3
    assert {frozenset(order) for order in found} == {frozenset(case.label for case in cases)}
    assert len(set(map(tuple, found))) == 3
    assert list(rows["rounds"]) == [3] * len(cases)
    assert workers == 1


def test_the_order_follows_from_its_seed(tmp_path, monkeypatch):
    """The same sweep has the same orders again, and another order_seed gives others."""
    cases = small()
    found = [
        orders(swept(tmp_path / name, cases, monkeypatch, cpu_rounds=2, order_seed=seed)[1], len(cases))
        for name, seed in (("a", 0), ("b", 0), ("c", 1))
    ]
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_a_kernel_that_is_wrong_in_a_later_round_has_no_times(tmp_path, monkeypatch):
    """What was right in the first round and is not in the next is a mismatch, and the others' rounds go on."""
    cases = small(2)
    rows, told, _ = swept(
        tmp_path / "a", cases, monkeypatch, wrong=lambda case, times: case is cases[0] and times == 2, cpu_rounds=3
    )
    assert list(rows["status"]) == ["mismatch", "ok"]
    assert rows["reason"][0] == "correct in 1 round, not in the next: y[0] is 1, expected 2"
    assert pd.isna(rows["emulated_us"][0])
    assert len(told) == 2 + 2 + 1  # a case that failed is not measured again
    assert rows["rounds"][1] == 3


def test_hot_launches_stand_beside_the_cold_ones(tmp_path, monkeypatch):
    """timing.hot adds batches of launches with nothing restored in between, also of a kernel that works in place."""
    cases = [case_of(read_kernel(OWN / "saxpy.yaml"), size=1000), *small(1)]
    rows, _, _ = swept(tmp_path / "a", cases, monkeypatch, cpu_rounds=2, hot=True)
    assert list(rows["status"]) == ["ok", "ok"]
    assert list(rows["hot_samples"]) == [20, 20]
    samples = np.load(tmp_path / "a" / "samples" / f"{rows['case'][0]}-0-hot.npy")
    assert list(samples["round"]) == [1] * 10 + [2] * 10


def test_cases_that_are_measured_otherwise_are_rounds_of_their_own(runner):
    """A sweep over the way of timing measures each way's cases by themselves; rows and environment have their rounds."""
    done = runner("block=64,128", "size=4096", "device=cpu", "timing.cpu_rounds=1,2")
    assert done.code == 0, done.err
    assert list(pd.read_csv(done.folder / "results.csv")["rounds"]) == [1, 2, 1, 2]
    devices = json.loads((done.folder / "environment.json").read_text())["devices"]
    assert sorted(device["timing"]["rounds"] for device in devices.values()) == [1, 2]
