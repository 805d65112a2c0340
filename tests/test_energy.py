"""`profile.energy`: joules of a launch from a GPU's energy counter."""

import json
import math
import os
import types
from dataclasses import asdict

import pytest
from outcomes import rows
from support import ROOT, case_of, shipped

from runner.device import Energy
from runner.device.cuda import energy
from runner.stages.profile.energy import batch
from runner.statistics import mean_interval


class Gpu:
    """A GPU whose launches take 10 us at 300 W, behind a clock of its own; its counter is updated every 100 ms."""

    US, WATTS, PERIOD = 10.0, 300.0, 0.1

    def __init__(self, monkeypatch):
        self.now, self.free, self.launches = 0.0, 0.0, 0
        clock = types.SimpleNamespace(perf_counter=lambda: self.now, monotonic=lambda: self.now, sleep=self.sleep)
        monkeypatch.setattr(energy, "time", clock)

    def sleep(self, seconds):
        """Let time pass."""
        self.now += seconds

    def read(self):
        """A reading takes 3 ms."""
        self.now += 0.003
        return self.WATTS * math.floor(self.now / self.PERIOD) * self.PERIOD

    def call(self, launches):
        """Queue launches behind those that run."""
        self.free = max(self.free, self.now) + launches * self.US * 1e-6

    def record(self):
        """An event behind what is queued."""
        at = self.free
        return types.SimpleNamespace(
            at=at, query=lambda: self.now >= at, time_till=lambda other: (other.at - at) * 1000.0
        )

    def queue(self):
        """Calls of as many launches as the device would queue in one."""
        count = energy.launches_per_call(self.US)
        return energy.Queue(self.record, lambda: self.call(count), count, 1.0)


def test_a_batch_gives_power_and_time_of_a_launch(monkeypatch):
    """Between two updates of the counter, however long a reading takes; the duration is that of launches without gaps."""
    gpu = Gpu(monkeypatch)
    found = energy.measure(gpu.read, gpu.queue(), 2.0, 120.0)
    assert isinstance(found, Energy)
    assert found.watts == pytest.approx(gpu.WATTS, rel=0.01)
    assert found.us == pytest.approx(gpu.US, rel=1e-6)
    assert found.joules == pytest.approx(3e-3, rel=0.01)
    assert 2.0 <= found.seconds < 2.3
    assert energy.idle_watts(gpu.read) == pytest.approx(gpu.WATTS, rel=0.01)


@pytest.mark.parametrize(("reading", "words"), [(None, "no energy counter"), (7.0, "has not changed")])
def test_a_counter_that_does_not_count_is_a_sentence(reading, words, monkeypatch):
    """Neither a missing counter nor one that stands still gives a number."""
    gpu = Gpu(monkeypatch)

    def read():
        gpu.now += 0.003
        return reading

    for found in (energy.measure(read, gpu.queue(), 2.0, 120.0), energy.idle_watts(read)):
        assert isinstance(found, str)
        assert words in found


def test_the_interval_is_students():
    """Half the 95 % interval of a mean of five; unknown for one value."""
    mean, half = mean_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (mean, half) == (3.0, pytest.approx(1.9632, abs=1e-4))  # 2.7764 * sqrt(2.5 / 5)
    assert math.isnan(mean_interval([4.0])[1])


def test_the_cpu_device_has_no_energy(runner):
    """One sentence says so, and the times stay."""
    done = runner("kernel=reduceShfl", "size=1000", "device=cpu", "profile=energy")
    assert done.code == 0, done.err
    (row,) = rows(done.folder)
    assert (row["status"], row["joules"]) == ("ok", "")
    assert (done.out + done.err).count("energy") == 1


@pytest.mark.gpu
def test_a_sweep_measures_joules(runner):
    """Each case has its energy and the figure; without NVML, one sentence says so, and the times stay."""
    given = ("kernel=copyVector", "size=4096x4096", "block=128,256", "device=cuda", "timing=quick", "profile=energy")
    given += ('+metrics.above_idle_j="(energy_w - idle_w) * energy_us / 1e6"',)
    done = runner(*given)
    assert done.code == 0, done.err
    for row in rows(done.folder):
        assert float(row["energy_w"]) > float(row["idle_w"]) > 0
        profile = json.loads((done.folder / row["job"] / "profile.json").read_text())
        batches = profile["energy"]["batches"]
        joules = [batch["watts"] * batch["us"] * 1e-6 for batch in batches]
        assert float(row["joules"]) == pytest.approx(sum(joules) / len(joules))
        assert 0 < float(row["joules_ci"]) < float(row["joules"])
        assert 0 < float(row["above_idle_j"]) < float(row["joules"])
    assert (done.folder / "figures" / "energy.csv").is_file()
    (done.directory / "broken").mkdir()
    (done.directory / "broken" / "pynvml.py").write_text("raise ImportError('there is no NVML')\n")
    (done.directory / "other").mkdir()
    first = [str(done.directory / "broken"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    again = runner(*given, "hydra.sweep.dir=other/run", PYTHONPATH=os.pathsep.join(first))
    assert again.code == 0, again.err
    assert "no energy" in again.out + again.err
    assert {row["joules"] for row in rows(done.directory / "other" / "run")} == {""}


class _Metered:
    """A device whose energy counter works."""

    def __init__(self, device, found):
        self._device, self._found = device, found

    def __getattr__(self, name):
        return getattr(self._device, name)

    def energy(self, *_):
        return self._found


@pytest.mark.parametrize("found", [Energy(300.0, 2.0, 10.0, 120.0, exclusive=False), "the counter stands still"])
def test_a_batch_gives_the_parent_plain_data(found, bench):
    """What a worker measured crosses the pipe as numbers, or as the reason why there are none."""
    case = case_of(shipped("reduceShfl"), size="1000")
    binary = bench.compiler.compile(case.source())
    steps = []
    given = batch(_Metered(bench.device, found), steps.append, case, binary, 10.0, 2.0)
    assert given == (found if isinstance(found, str) else asdict(found))
    assert steps == ["inputs", "checking", "energy"]
