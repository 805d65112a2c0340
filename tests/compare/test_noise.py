import json
import sys
from pathlib import Path

import numpy as np
import pytest
from compare_runs import environment, timed, write

from runner.commands import calibrate
from runner.device import DeviceInfo
from runner.display.terminal import Console
from runner.record import noise
from runner.record.folder import RunFolder

A_GPU = DeviceInfo("cuda", "NVIDIA H200", "sm_90", None, 0, 0, 0)


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """The noise of devices is kept below a folder of the test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_noise_between_rounds_and_between_cases_is_separate():
    """Rounds that differ by 2 % and cases that differ by 1 % give those standard deviations."""
    random = np.random.default_rng(3)
    cases = 50.0 * np.exp(random.normal(0, 0.01, (400, 1)) + random.normal(0, 0.02, (400, 5)))
    found = noise.deviations_percent(list(cases))
    assert found["round_percent"] == pytest.approx(2.0, rel=0.1)
    assert found["alike_percent"] == pytest.approx(100 * np.hypot(0.01, 0.02 / np.sqrt(5)), rel=0.1)


def test_the_noise_of_a_device_is_found_by_its_name():
    """A torn file counts as none."""
    noise.make_folder()
    path = noise.store("NVIDIA H200", {"points": []})
    assert noise.stored(A_GPU) == {"device": "NVIDIA H200", "points": []}
    path.write_text("{")
    assert noise.stored(A_GPU) is None


def test_a_calibration_is_stored_and_shown(tmp_path, capsys):
    """Each size has its noise, and identical cases are not called slower."""
    random = np.random.default_rng(5)
    rows = [
        timed(n, us, tuple(random.normal(0, 0.003, 5)), size=size, seed=n % 4, round_spread_percent=0.3)
        for n, (size, us) in enumerate((size, us) for size, us in ((2**16, 5.0), (2**20, 50.0)) for _ in range(4))
    ]
    folder = write(tmp_path / "A", rows, given={**environment(), "devices": {"cuda": {"name": A_GPU.name}}})
    noise.make_folder()
    calibrate.store_noise(RunFolder(folder), Console(width=200))
    points = (noise.stored(A_GPU) or {})["points"]
    assert [p["median_us"] for p in points] == pytest.approx([5.0, 50.0], rel=0.01)
    assert [p["round_percent"] for p in points] == pytest.approx([0.3, 0.3], rel=0.5)
    assert all(0 < p["alike_percent"] < 0.5 for p in points)
    out = capsys.readouterr().out
    assert out.count("0 of 3") == 2
    assert "Stored in" in out


@pytest.mark.parametrize("arguments", [["--device", "tpu"], ["size=5"], ["--device", "cpu"]])
def test_a_mistake_in_calibrating_is_refused(arguments, tmp_path, monkeypatch, capsys):
    """An unknown argument, or a device with emulated times, ends with status 2 and leaves nothing."""
    monkeypatch.chdir(tmp_path)
    try:
        status = calibrate.main(arguments)
    except SystemExit as e:
        status = e.code
    assert (status, list(tmp_path.iterdir())) == (2, [])
    assert capsys.readouterr().err


@pytest.mark.gpu
def test_calibrating_a_gpu(tmp_path, monkeypatch, capsys):
    """The sweep of identical cases runs, and its noise is stored."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["runner.calibrate"])
    assert calibrate.main([]) == 0, capsys.readouterr().err
    (kept,) = Path(tmp_path / "state").rglob("*.json")
    points = json.loads(kept.read_text())["points"]
    assert len(points) == len(calibrate.SIZES)
    assert all(p["alike_percent"] > 0 and p["round_percent"] > 0 for p in points)
