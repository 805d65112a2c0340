"""tools/counters.py and tools/ncu.py: what Nsight Compute counts of cases, as far as that needs no GPU."""

import os
import shutil
import subprocess
import sys

import pytest
from processes import environment
from support import ROOT, case_of, shipped

sys.path.insert(0, str(ROOT / "tools"))

import counters
import ncu

from runner.errors import RunnerError

NCU = """#!/bin/sh
while [ "$1" != --log-file ]; do shift; done
cat >"$2" <<'END'
==PROF== Connected
==ERROR== the reason
"ID","Kernel Name","a.sum"
"","","inst"
"0","{kernel}(int)","1,024"
END
exit {code}
"""


@pytest.fixture
def fake_ncu(tmp_path, monkeypatch):
    """Puts an ncu first on the PATH that counted one launch of a kernel, and ends with a code."""

    def put(kernel, code):
        (tmp_path / "ncu").write_text(NCU.format(kernel=kernel, code=code))
        (tmp_path / "ncu").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    return put


def test_what_ncu_counted_is_read(fake_ncu):
    """A row a launch, whatever else it said; a metric that it did not give is named."""
    fake_ncu("reduceShfl", 0)
    (launched,) = ncu.count(["true"], [case_of(shipped("reduceShfl"))], ["a.sum"])
    assert ncu.number(launched, "a.sum") == 1024
    with pytest.raises(RunnerError, match=r"ncu gave no b\.sum for reduceShfl"):
        ncu.number(launched, "b.sum")


@pytest.mark.parametrize(("kernel", "code"), [("reduceSmem", 0), ("reduceShfl", 3)])
def test_what_ncu_says_is_told_where_it_failed(kernel, code, fake_ncu):
    """Another kernel than was launched, or an exit status: its errors, and not its table."""
    fake_ncu(kernel, code)
    with pytest.raises(RunnerError, match="==ERROR== the reason"):
        ncu.count(["true"], [case_of(shipped("reduceShfl"))], ["a.sum"])


def test_a_run_is_shown_as_a_table():
    """A line a case; rare waits and accesses that are not there are left out."""
    columns = {f"{column}_measured": None for column in ncu.REQUESTS} | {"global_load_sectors_measured": 16.0}
    row = {"kernel": "copy", "parameters": "size=4", "instructions_per_element": "2.5", "l1_hit_percent": None}
    waits = {"waits_shared_memory_percent": "40.2", "waits_barrier_percent": "3"}
    head, line = counters.page([row | columns | waits]).splitlines()
    assert head.split()[:2] == ["kernel", "instructions"]
    assert line.split() == ["copy", "2.5", "16/-", "-/-", "shared", "memory", "40", "size=4"]


def test_a_runs_fastest_cases_are_found_again(runner):
    """One for each kernel and size, with the ids of the run; not the slower ones."""
    done = runner("kernel=reduceShfl,copyGmem", "block=64,128", "fill=random", "device=cpu", "timing=quick")
    assert done.code == 0, done.err
    cases = counters.of_run(done.folder)
    rows = (done.folder / "results.csv").read_text()
    assert sorted(case.kernel.name for case in cases) == ["copyGmem", "reduceShfl"]
    assert all(case.id in rows for case in cases)


def test_without_ncu_it_says_so_in_one_line(tmp_path):
    """No traceback, and no table."""
    command = [sys.executable, str(ROOT / "tools" / "counters.py"), str(tmp_path / "out.csv"), "--run", str(tmp_path)]
    own = {**os.environ, "PATH": str(tmp_path), "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=own, capture_output=True, text=True, timeout=200, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert not list(tmp_path.iterdir())


@pytest.mark.gpu
@pytest.mark.skipif(not shutil.which("ncu"), reason="ncu is not on the PATH")
def test_it_counts_what_a_copy_moves(runner, tmp_path):
    """A warp's vectors of 16 bytes are 16 sectors a load and a store; each warp waits for memory."""
    done = runner("kernel=copyVector", "size=1Mi", "device=cuda", "timing=quick")
    command = [sys.executable, str(ROOT / "tools" / "counters.py"), str(tmp_path / "c.csv")]
    own = environment()
    counted = subprocess.run(
        [*command, "--run", str(done.folder)], env=own, capture_output=True, text=True, check=False
    )
    if "ERR_NVGPUCTRPERM" in counted.stderr:
        pytest.skip("this user may not read the GPU's counters")
    assert counted.returncode == 0, counted.stderr
    head, line = (tmp_path / "c.csv").read_text().splitlines()
    row = dict(zip(head.split(","), line.split(","), strict=True))
    assert float(row["global_load_sectors_measured"]) == float(row["global_store_sectors_measured"]) == 16
    assert row["shared_load_wavefronts_measured"] == ""
    assert float(row["waits_memory_percent"]) > 0
