"""tools/count_ladder.py: what Nsight Compute counts of the cases that docs/ladder.md shows."""

import csv
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT

sys.path.insert(0, str(ROOT / "tools"))

import count_ladder
import ladder_page
import ncu
from ladder import counters
from ladder_rows import write

MEASURED = ROOT / ladder_page.FOLDER
measured = pytest.mark.skipif(not MEASURED.is_dir(), reason="the ladders were not measured yet")


def run(folder, *arguments):
    """The command, as its head tells it."""
    command = [sys.executable, "tools/count_ladder.py", str(folder), *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


@measured
def test_the_cases_that_were_measured_are_those_of_today():
    """Each row that the page shows makes the very case that the sweep measured."""
    rows = list(count_ladder.rows(MEASURED, ROOT / "conf"))
    cases = [count_ladder.case_of(row, ROOT / "conf") for _, row in rows]
    assert [case.id for case in cases] == [row["case"] for _, row in rows]
    assert {case.kernel.family for case in cases} == {"reduction", "transpose", "stencil"}


@measured
def test_a_kernel_that_has_changed_is_not_counted_for_the_one_that_was_measured():
    """One sentence says which, and what measures it anew."""
    row = next(row for _, row in count_ladder.rows(MEASURED, ROOT / "conf") if row["kernel"] == "reduceShflUnroll")
    with pytest.raises(
        ValueError, match=r"^reduceShflUnroll has changed since it was measured: .*'sh docs/ladder\.sh'"
    ):
        count_ladder.case_of({**row, "unroll": "2"}, ROOT / "conf")


def test_a_folder_without_sweeps_is_one_sentence(tmp_path):
    """What is missing, and what makes it."""
    done = run(tmp_path)
    told = f"nothing could be counted: {tmp_path}: there are no sweeps; 'sh docs/ladder.sh {tmp_path}' makes them\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", told)


def test_a_line_is_written_a_case_and_read_again(tmp_path):
    """Requests become ratios, stall reasons shares of a warp's time."""
    write(tmp_path, {})
    shown = list(count_ladder.rows(tmp_path, ROOT / "conf"))
    launched = dict.fromkeys(counters.METRICS, "1,000") | {"Kernel Name": "any", counters.IN_ALL: "10000"}
    path = tmp_path / counters.FILE
    path.write_text(count_ladder.table(shown, [launched] * len(shown)))
    read = counters.read(path, [row for _, row in shown])
    assert list(read) == [row["case"] for _, row in shown]
    one = read[shown[0][1]["case"]]
    assert one.instructions == 32_000
    assert set(one.requests.values()) == {1.0}
    assert one.waits == {"memory": 0.2, "shared memory": 0.2, "barrier": 0.1, "fence": 0.1, "end": 0.1}


def test_a_metric_that_ncu_did_not_give_is_named():
    """Not a number that nobody counted."""
    with pytest.raises(ncu.RunnerError, match=r"ncu gave no smsp__inst_executed\.sum for any"):
        ncu.number({"Kernel Name": "any", counters.INSTRUCTIONS: "n/a"}, counters.INSTRUCTIONS)


def test_the_table_of_ncu_is_read_without_its_messages():
    """The line of units is none of the launches."""
    text = '==PROF== Connected\n"ID","Kernel Name","a.sum"\n"","","byte"\n"0","k(int)","1,024"\n'
    assert ncu.parsed(text) == [{"ID": "0", "Kernel Name": "k(int)", "a.sum": "1,024"}]


@pytest.mark.gpu
@pytest.mark.skipif(not shutil.which("ncu"), reason="ncu is not on the PATH")
@measured
def test_it_counts_what_a_copy_moves(tmp_path):
    """A warp's vectors of 16 bytes are 16 sectors a load and a store; each warp copies 512 bytes."""
    for name in ("stencil.csv", "stencil.json"):
        shutil.copy(MEASURED / name, tmp_path)
    done = run(tmp_path)
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader((tmp_path / counters.FILE).open()))
    copy = next(row for row in rows if row["kernel"] == "copyVector")
    counted = counters.read(Path(tmp_path / counters.FILE), [])[copy["case"]]
    assert counted.requests["global_load_sectors"] == counted.requests["global_store_sectors"] == 16
    assert counted.requests["shared_load_wavefronts"] is None
    assert 0.5 < counted.waits["memory"] <= 1.1
