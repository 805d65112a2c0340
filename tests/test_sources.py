"""What a sweep is made of: kept beside it, and noticed when it changes."""

import json
import os
import subprocess
import sys

import pandas as pd
import pytest
from support import ROOT

YAML = """
parameters: {block: 64, size: 1000}
arguments:
  - {name: y, role: out, dtype: int32, shape: size}
  - {name: n, scalar: int32, value: size}
grid: ceil_div(size, block)
reference: REFERENCE
"""
CU = """
#define HEADER "number.cuh"
#include HEADER
extern "C" __global__ void numbers(int* y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = i + NUMBER;
}
"""


@pytest.fixture
def own(tmp_path):
    """A folder with a kernel that includes a file by a macro, and whose reference imports another module."""
    folder = tmp_path / "own" / "kernel"
    folder.mkdir(parents=True)
    (folder / "numbers.yaml").write_text(YAML.replace("REFERENCE", "outputs_of.numbers"))
    (folder / "numbers.cu").write_text(CU)
    (folder / "number.cuh").write_text("#define NUMBER 0\n")
    (folder / "outputs_of.py").write_text(
        "from helper import first\ndef numbers(inputs, p, grid): return {'y': first(p['size'])}\n"
    )
    (folder / "helper.py").write_text("import numpy as np\ndef first(n): return np.arange(n, dtype=np.int32)\n")
    return folder


def status(done):
    """The statuses of a sweep's rows."""
    return list(pd.read_csv(done.folder / "results.csv")["status"])


def resumed(folder):
    """`python -m runner.resume` of a folder."""
    command = [sys.executable, "-m", "runner.resume", str(folder)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


def test_a_file_that_a_macro_includes_is_looked_at(own, runner, tmp_path):
    """When a header that only a macro names has changed, the kernel is compiled anew, and is wrong."""
    first = runner("--config-dir", str(own.parent), "kernel=numbers", "device=cpu", "hydra.sweep.dir=first")
    assert (first.code, list(pd.read_csv(tmp_path / "first" / "results.csv")["status"])) == (0, ["ok"])
    (own / "number.cuh").write_text("#define NUMBER 7\n")
    again = runner("--config-dir", str(own.parent), "kernel=numbers", "device=cpu", "hydra.sweep.dir=again")
    assert (again.code, list(pd.read_csv(tmp_path / "again" / "results.csv")["status"])) == (1, ["mismatch"])


@pytest.mark.parametrize("changed", ["number.cuh", "helper.py"])
def test_what_is_reached_indirectly_is_watched(changed, own, runner, tmp_path):
    """A sweep is not taken up with another header that a macro names, nor with another module that the reference imports."""
    done = runner("--config-dir", str(own.parent), "kernel=numbers", "block=32,64", "device=cpu")
    assert status(done) == ["ok", "ok"]
    (done.folder / "0" / "result.json").unlink()
    with (own / changed).open("a") as stream:
        stream.write("\n")
    refused = resumed(done.folder)
    assert refused.returncode == 2
    assert changed in refused.stderr


def test_everything_that_is_needed_is_kept(own, runner, tmp_path):
    """With its own folder gone, a kernel runs again from what was kept: headers and the reference's modules included."""
    done = runner("--config-dir", str(own.parent), "kernel=numbers", "device=cpu")
    own.parent.rename(tmp_path / "gone")
    kept = str((done.folder / "sources" / "conf").absolute())
    again = runner("--config-path", kept, "kernel=numbers", "device=cpu", "hydra.sweep.dir=again")
    assert again.code == 0, again.err


def test_a_sweep_without_the_default_kernel_can_be_repeated(runner):
    """The kept configuration composes though its default kernel had no part in the sweep."""
    done = runner("-m", "kernel=reduceSmem,reduceGmem", "size=4096", "device=cpu")
    kept = str((done.folder / "sources" / "conf").absolute())
    again = runner("-m", "kernel=reduceSmem,reduceGmem", "size=4096", "--config-path", kept, "hydra.sweep.dir=again")
    assert again.code == 0, again.err


def test_earlier_sweeps_on_the_search_path_are_not_kept(own, runner, tmp_path):
    """With outputs/ in the folder of the kernels, each sweep keeps the same files, not those of the sweeps before."""
    counts = []
    for number in range(3):
        folder = own.parent / "outputs" / str(number)
        done = runner("--config-dir", str(own.parent), "kernel=numbers", "device=cpu", f"hydra.sweep.dir={folder}")
        assert done.code == 0, done.err
        counts.append(len(list((folder / "sources").rglob("*"))))
    assert len(set(counts)) == 1


def test_each_way_of_timing_is_recorded(runner):
    """A sweep over the way of timing tells all of them in its environment."""
    done = runner("size=4096", "device=cpu", "timing=quick,thorough")
    devices = json.loads((done.folder / "environment.json").read_text())["devices"]
    assert sorted(device["timing"]["rounds"] for device in devices.values()) == [1, 5]
