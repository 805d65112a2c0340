"""The benchmarks, as far as they need no GPU: each starts, and tells what it cannot do."""

from __future__ import annotations

import os
import random
import runpy
import subprocess
import sys

import pandas as pd
import pytest
from support import CONF, ROOT, read_kernel

sys.path.append(str(ROOT / "benchmarks"))
sys.path.insert(0, str(ROOT / "tools"))

import agreement
import limits

STARTED = [
    path
    for path in sorted([*(ROOT / "benchmarks").glob("*.py"), *(ROOT / "tools").glob("*.py")])
    if "__main__" in (text := path.read_text()) and ("ArgumentParser(" in text or "= options(" in text)
]


@pytest.mark.parametrize("path", STARTED, ids=lambda path: path.stem)
def test_each_script_starts_and_says_what_it_takes(path, monkeypatch, capsys):
    """With --help, though none of the libraries is there that it measures."""
    if "\nfrom pycuda import" in path.read_text():
        pytest.importorskip("pycuda", reason="PyCUDA is not installed")
    monkeypatch.setattr(sys, "argv", [path.name, "--help"])
    monkeypatch.syspath_prepend(str(path.parent))
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(path), run_name="__main__")
    assert not ended.value.code
    assert "--" in capsys.readouterr().out


TABLE = {
    "status": ["ok", "ok", "ok", "ok", "mismatch"],
    "kernel": ["mine", "mine", "theirs", "copy", "mine"],
    "block": [128, 256, None, 256, 512],
    "ceiling": [False, False, False, True, False],
    "median_us": [12.0, 10.0, 15.0, 9.0, 1.0],
    "finish": "device", "dtype": "int32", "size": 2**20, "gbps": 800.0, "percent_copy": 25.0,
}  # fmt: skip


def test_the_table_of_limits_has_the_fastest_right_case_of_each_kernel():
    """Contenders and ceilings are shown relative to the fastest of the other kernels, whose case stands below."""
    head, _, row, _, case = limits.page(limits.fastest(pd.DataFrame(TABLE))).splitlines()
    assert head.split("  ")[-1] == "% of a copy"
    assert row.split() == ["int32", "2^20", "9.0", "10.0", "15.0", "0.9", "1.5", "800", "25.0"]
    assert case == "int32 2^20: mine block=256"


def test_the_table_of_limits_has_the_other_kind_of_load():
    """The fastest case with the other value of `stream` stands behind each of our cases, where both were swept."""
    (line,) = limits.page(limits.fastest(pd.DataFrame(TABLE | {"stream": [0, 1, None, None, 1]}))).splitlines()[4:]
    assert line == "int32 2^20: mine block=256 stream=1; with stream=0 12.00 us"


def test_a_run_that_is_not_there_is_one_sentence(monkeypatch, capsys):
    """Its folder, and what lists those that are."""
    monkeypatch.setattr(sys, "argv", ["limits.py", "nosuch"])
    with pytest.raises(SystemExit) as ended:
        limits.main()
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("nosuch: there is no such folder")


SHARED = {kernel.name for kernel in map(read_kernel, (CONF / "kernel").glob("*.yaml")) if not kernel.gpu_only}


def run(*arguments, **environment):
    """The command, as its head tells it."""
    command = [sys.executable, "tools/agreement.py", *map(str, arguments)]
    own = {**os.environ, **environment}
    return subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True, timeout=200, check=False)


def test_every_kernel_that_both_devices_run_is_drawn():
    """Also one that was added since: a parameter for which nothing can be drawn would end the command."""
    cases = list(agreement.drawn(len(SHARED), random.Random(1)))
    assert {case.kernel.name for case in cases} == SHARED


@pytest.mark.gpu
def test_a_case_of_each_kernel_gives_the_same_on_both(tmp_path):
    """The table has a row for each, and all agree."""
    done = run(tmp_path / "table.csv", "--cases", len(SHARED), "--seed", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    table = pd.read_csv(tmp_path / "table.csv")
    assert set(table.kernel) == SHARED
    assert table.agree.all()
