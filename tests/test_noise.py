import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from support import ROOT

from runner import noise
from runner.device import DeviceInfo

A_GPU = DeviceInfo("cuda", "NVIDIA H200", "sm_90", None, 0, 0, 0)


def test_noise_between_rounds_and_between_cases_is_told_apart():
    """Rounds that differ by 2 % and cases that differ by 1 % give those standard deviations."""
    generator = np.random.default_rng(3)
    groups = []
    for time in (5.0, 50.0, 500.0):
        cases = time * np.exp(generator.normal(0, 0.01, (400, 1)) + generator.normal(0, 0.02, (400, 5)))
        groups.append(list(cases))
    found = noise.measured(groups)
    assert found["round_percent"] == pytest.approx(2.0, rel=0.1)
    assert found["alike_percent"] == pytest.approx(100 * np.hypot(0.01, 0.02 / np.sqrt(5)), rel=0.1)


def test_cases_of_different_groups_are_not_compared():
    """That one size takes ten times as long as another is no noise."""
    groups = [[np.array([5.0, 5.0])] * 3, [np.array([50.0, 50.0])] * 3]
    assert noise.measured(groups) == {"alike_percent": 0.0, "round_percent": 0.0}


def test_what_is_kept_of_a_device_is_found_again(tmp_path, monkeypatch):
    """The noise is found by the device's name, and by no other."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    noise.keep("NVIDIA H200", {"points": []})
    assert noise.known(A_GPU) == {"device": "NVIDIA H200", "points": []}
    noise.place("NVIDIA H200").write_text("{")
    assert noise.known(A_GPU) is None


def test_calibrating_is_taken_into_account_by_later_sweeps(runner, tmp_path):
    """runner.calibrate shows and keeps the noise; the next sweep has it in its environment, its times and its report."""
    state = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "runner.calibrate", "--device", "cpu"]
    done = subprocess.run(command, cwd=tmp_path, env=state, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    assert "wrongly called" in done.stdout
    (kept,) = (tmp_path / "state").rglob("*.json")
    points = json.loads(kept.read_text())["points"]
    assert [p["median_us"] for p in points] == sorted(p["median_us"] for p in points)
    assert all(p["alike_percent"] > 0 and p["round_percent"] > 0 for p in points)
    (first,) = tmp_path.glob("outputs/*/*")
    assert list(pd.read_csv(first / "results.csv")["rounds"]) == [5] * 12
    again = runner("size=4096", "device=cpu", "hydra.sweep.dir=again", XDG_STATE_HOME=str(tmp_path / "state"))
    assert again.code == 0, again.err
    environment = json.loads((tmp_path / "again" / "environment.json").read_text())
    assert environment["devices"]["cpu"]["noise"]["points"] == points


@pytest.mark.parametrize("arguments", [["--device", "tpu"], ["size=5"]])
def test_a_mistake_in_calibrating_is_told(arguments, tmp_path):
    """What cannot be understood ends with status 2 and leaves nothing."""
    command = [sys.executable, "-m", "runner.calibrate", *arguments]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())
