"""tools/count_ladder.py: what Nsight Compute counts of the cases that docs/ladder.md shows."""

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import CONF, ROOT, case_of, shipped

sys.path.insert(0, str(ROOT / "tools"))

import count_ladder
import ladder_page
import ncu
from ladder import counters
from ladder.steps import shown
from ladder_rows import write

from runner.errors import RunnerError

MEASURED = ROOT / ladder_page.FOLDER
measured = pytest.mark.skipif(not MEASURED.is_dir(), reason="the ladders were not measured yet")


def run(folder, **environment):
    """The command, as its head tells it."""
    command = [sys.executable, "tools/count_ladder.py", str(folder)]
    own = {**os.environ, **environment}
    return subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True, timeout=300, check=False)


@measured
def test_the_cases_that_were_measured_are_those_of_today():
    """Each row that the page shows makes the very case that the sweep measured."""
    rows = [row for _, row in shown(count_ladder.read_all(MEASURED), CONF)]
    cases = [count_ladder.case_of(row) for row in rows]
    assert [case.id for case in cases] == [row["case"] for row in rows]
    assert {case.kernel.family for case in cases} == {"reduction", "transpose", "stencil"}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"unroll": "2"}, r"^reduceShflUnroll block=.* was measured as case \w+ and is \w+ today$"),
        ({"width": "33"}, r"^reduceShflUnroll .* was measured and cannot be run today: .*width=33"),
    ],
)
@measured
def test_another_case_is_not_counted_for_the_one_that_was_measured(change, told):
    """A parameter that is another one, or is no longer allowed: one sentence says which case."""
    row = next(row for _, row in shown(count_ladder.read_all(MEASURED), CONF) if row["kernel"] == "reduceShflUnroll")
    with pytest.raises(ValueError, match=told):
        count_ladder.case_of({**row, **change})


def test_another_kernel_or_gpu_is_not_counted_for_the_one_that_was_measured(tmp_path):
    """By the machine code and by the GPU's name; what measures it anew is told."""
    write(tmp_path, {})
    sweep, row = next(shown(count_ladder.read_all(tmp_path), CONF))
    mend = f"; 'sh docs/ladder.sh {tmp_path} reduction-int32' measures it anew"
    count_ladder.same(sweep, row, "NVIDIA H200", "0123abcd", tmp_path)
    with pytest.raises(ValueError, match="on an NVIDIA H200, and this is an NVIDIA T400") as other:
        count_ladder.same(sweep, row, "NVIDIA T400", "0123abcd", tmp_path)
    assert str(other.value).endswith(mend)
    with pytest.raises(ValueError, match=r"reduceGmem has changed .*: its machine code was 0123abcd and is 4567 now"):
        count_ladder.same(sweep, row, "NVIDIA H200", "4567", tmp_path)


def test_a_folder_without_sweeps_is_one_sentence(tmp_path):
    """What is missing, and what makes it."""
    done = run(tmp_path)
    told = f"nothing could be counted: {tmp_path}: there are no sweeps; 'sh docs/ladder.sh {tmp_path}' makes them\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", told)


@measured
def test_without_ncu_it_says_so_before_anything_is_compiled(tmp_path):
    """One sentence, and nothing is written."""
    for name in ("stencil.csv", "stencil.json"):
        shutil.copy(MEASURED / name, tmp_path)
    done = run(tmp_path, PATH=str(Path(sys.executable).parent))
    told = "nothing could be counted: ncu, of Nsight Compute, is not on the PATH; it comes with the CUDA toolkit\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", told)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["stencil.csv", "stencil.json"]


def test_a_line_is_written_a_case_and_read_again(tmp_path):
    """Requests become ratios, stall reasons shares of a warp's time."""
    write(tmp_path, {})
    rows = [row for _, row in shown(count_ladder.read_all(tmp_path), CONF)]
    launched = dict.fromkeys(counters.METRICS, "1,000") | {"Kernel Name": "any", counters.IN_ALL: "10000"}
    path = tmp_path / counters.FILE
    path.write_text(count_ladder.table(rows, [launched] * len(rows)))
    read = counters.read(path, rows)
    assert list(read) == [row["case"] for row in rows]
    one = read[rows[0]["case"]]
    assert one.instructions == 32_000
    assert set(one.requests.values()) == {1.0}
    assert one.waits["memory"] == 0.2
    assert one.waits["barrier"] == 0.1


NCU = """#!/bin/sh
while [ $# -gt 0 ]; do case $1 in --log-file) log=$2 ;; esac; shift; done
printf '%s\\n' '==PROF== Connected' '"ID","Kernel Name","a.sum"' '"","","byte"' '"0","{kernel}(int)","1,024"' >"$log"
echo '==ERROR== the reason' >>"$log"
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
    """A row a launch, whatever else it said."""
    fake_ncu("reduceShfl", 0)
    (launched,) = ncu.count(["true"], [case_of(shipped("reduceShfl"))], ["a.sum"])
    assert ncu.number(launched, "a.sum") == 1024


@pytest.mark.parametrize(
    ("kernel", "code", "told"),
    [
        ("reduceSmem", 0, "ended with 0 and counted 1 of 1 launches: reduceSmem in place of reduceShfl"),
        ("reduceShfl", 3, "ended with 3 and counted 1 of 1 launches"),
    ],
)
def test_what_ncu_says_is_told_where_it_failed(kernel, code, told, fake_ncu):
    """Another kernel than was launched, or an exit status: its errors, and not its table."""
    fake_ncu(kernel, code)
    with pytest.raises(RunnerError) as failed:
        ncu.count(["true"], [case_of(shipped("reduceShfl"))], ["a.sum"])
    assert str(failed.value) == f"ncu {told}; it said: ==ERROR== the reason"


def test_a_metric_that_ncu_did_not_give_is_named():
    """Not a number that nobody counted."""
    with pytest.raises(RunnerError, match=r"ncu gave no smsp__inst_executed\.sum for any"):
        ncu.number({"Kernel Name": "any", counters.INSTRUCTIONS: "n/a"}, counters.INSTRUCTIONS)


@pytest.mark.gpu
@pytest.mark.skipif(not shutil.which("ncu"), reason="ncu is not on the PATH")
@measured
def test_it_counts_what_a_copy_moves(tmp_path):
    """A warp's vectors of 16 bytes are 16 sectors a load and a store; each warp copies 512 bytes."""
    for name in ("stencil.csv", "stencil.json"):
        shutil.copy(MEASURED / name, tmp_path)
    done = run(tmp_path)
    if "ERR_NVGPUCTRPERM" in done.stderr:
        pytest.skip("this user may not read the GPU's counters")
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader((tmp_path / counters.FILE).open()))
    copy = next(row for row in rows if row["kernel"] == "copyVector")
    counted = counters.read(Path(tmp_path / counters.FILE), [])[copy["case"]]
    assert counted.requests["global_load_sectors"] == counted.requests["global_store_sectors"] == 16
    assert counted.requests["shared_load_wavefronts"] is None
    assert counted.waits["memory"] > 0
