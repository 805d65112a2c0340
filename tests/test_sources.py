"""What a sweep is made of: kept beside it, and noticed when it changes."""

import json
import subprocess

import pandas as pd
import pytest
from processes import resume

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


def test_a_file_that_a_macro_includes_is_looked_at(own, runner, tmp_path):
    """When a header that only a macro names has changed, the kernel is compiled anew, and is wrong."""
    first = runner("--config-dir", str(own.parent), "kernel=numbers", "device=cpu", "hydra.sweep.dir=first")
    assert (first.code, list(pd.read_csv(tmp_path / "first" / "results.csv")["status"])) == (0, ["ok"])
    (own / "number.cuh").write_text("#define NUMBER 7\n")
    again = runner("--config-dir", str(own.parent), "kernel=numbers", "device=cpu", "hydra.sweep.dir=again")
    assert (again.code, list(pd.read_csv(tmp_path / "again" / "results.csv")["status"])) == (1, ["mismatch"])


def test_everything_that_is_needed_is_kept(own, runner, tmp_path):
    """With its own folder gone, a kernel runs again from what was kept: headers above it and the reference's modules."""
    (own / "number.cuh").rename(own.parent / "number.cuh")
    (own / "numbers.cu").write_text(
        CU.replace('#define HEADER "number.cuh"\n#include HEADER', '#include "../number.cuh"')
    )
    done = runner("--config-dir", str(own.parent), "kernel=numbers", "device=cpu")
    assert status(done) == ["ok"]
    own.parent.rename(tmp_path / "gone")
    kept = str((done.folder / "sources" / "conf").absolute())
    again = runner("--config-path", kept, "kernel=numbers", "device=cpu", "hydra.sweep.dir=again")
    assert again.code == 0, again.err


def test_each_way_of_timing_is_recorded(runner):
    """A sweep over the way of timing tells all of them in its environment."""
    done = runner("size=64", "device=cpu", "timing.cpu_rounds=1,2")
    devices = json.loads((done.folder / "environment.json").read_text())["devices"]
    assert sorted(device["timing"]["rounds"] for device in devices.values()) == [1, 2]


def test_a_kernel_that_hydra_composes_of_two_files_is_kept_whole(own, runner, tmp_path):
    """A YAML with a list of defaults is kept as it was composed, so that it can be read without Hydra."""
    (own / "common.yaml").write_text((own / "numbers.yaml").read_text())
    (own / "numbers.yaml").write_text("defaults: [common]\nsummary: numbers\n")
    done = runner("--config-dir", str(own.parent), "kernel=numbers", "device=cpu", "hydra.sweep.dir=first")
    assert done.code == 0, done.err
    own.parent.rename(tmp_path / "gone")
    (tmp_path / "first" / "0" / "result.json").unlink()
    again = resume(tmp_path, "first")
    assert again.returncode == 0, again.stderr


def test_earlier_sweeps_on_the_search_path_are_not_kept(own, runner, tmp_path):
    """With outputs/ in the folder of the kernels, each sweep keeps the same files, not those of the sweeps before."""
    counts = []
    for number in range(3):
        folder = own.parent / "outputs" / str(number)
        done = runner("--config-dir", str(own.parent), "kernel=numbers", "device=cpu", f"hydra.sweep.dir={folder}")
        assert done.code == 0, done.err
        counts.append(len(list((folder / "sources").rglob("*"))))
    assert len(set(counts)) == 1


def test_a_kernel_outside_of_a_commit_is_told(runner, tmp_path):
    """A folder in no repository, an untracked file and a changed one are named; a committed kernel is not."""
    folder = tmp_path / "k" / "kernel"
    folder.mkdir(parents=True)
    (folder / "mine.cu").write_text("__global__ void mine(int* out) { out[threadIdx.x] = 1; }\n")
    (folder / "mine.yaml").write_text(
        "parameters: {block: 32}\narguments: [{name: out, role: out, dtype: int32, shape: block}]\ngrid: 1\n"
        'reference: {out: "full(1, block)"}\n'
    )
    git = ("git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b")

    def told(name):
        done = runner("--config-dir=k", "kernel=mine", "device=cpu", f"hydra.sweep.dir={name}")
        assert done.code == 0, done.err
        known = json.loads((tmp_path / name / "environment.json").read_text()).get("sources", {})
        page = (tmp_path / name / "report.html").read_text()
        return known.get("unversioned", []), known.get("uncommitted", []), "uncommitted changes in mine" in page

    assert told("a") == (["mine.cu", "mine.yaml"], [], False)
    assert "not under version control: mine.cu and mine.yaml" in (tmp_path / "a" / "report.html").read_text()
    for command in (["init", "-q"], ["add", "k/kernel/mine.cu"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *command], check=True)
    assert told("b") == ([], ["mine.yaml"], True)
    for command in (["add", "k"], ["commit", "-qm", "two"]):
        subprocess.run([*git, *command], check=True)
    assert told("c") == ([], [], False)
    (folder / "mine.cu").write_text("__global__ void mine(int* out) { out[threadIdx.x] = 2 - 1; }\n")
    assert told("d") == ([], ["mine.cu"], True)
