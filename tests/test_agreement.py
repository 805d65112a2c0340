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


@pytest.mark.gpu
def test_a_case_of_each_kernel_gives_the_same_on_both(tmp_path):
    """The table has a row for each, and all agree."""
    done = run(tmp_path / "table.csv", "--cases", len(SHARED), "--seed", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    table = pd.read_csv(tmp_path / "table.csv")
    assert set(table.kernel) == SHARED
    assert table.agree.all()
