"""tools/agreement.py: both devices give the same, over cases that are drawn from every kernel of both."""

import os
import random
import subprocess
import sys

import pandas as pd
import pytest
from support import CONF, ROOT, read_kernel

sys.path.insert(0, str(ROOT / "tools"))

import agreement

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


def test_what_cannot_be_done_is_one_sentence(tmp_path):
    """Too few cases, or no second device: status 2, no traceback and no table."""
    few = run(tmp_path / "table.csv", "--cases", "0")
    assert (few.returncode, "--cases 0: must be at least 1" in few.stderr) == (2, True)
    alone = run(tmp_path / "table.csv", "--cases", "1", CUDA_VISIBLE_DEVICES="")
    assert alone.returncode == 2
    assert alone.stderr.startswith("agreement: device=cuda: ")
    assert len(alone.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.gpu
def test_a_case_of_each_kernel_gives_the_same_on_both(tmp_path):
    """The table has a row for each, and all agree."""
    done = run(tmp_path / "table.csv", "--cases", len(SHARED), "--seed", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    table = pd.read_csv(tmp_path / "table.csv")
    assert set(table.kernel) == SHARED
    assert table.agree.all()
