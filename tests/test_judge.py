"""verdict.json, and `python -m runner judge`: right or not, faster or not, by an exit status."""

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from processes import call

from runner.commands.judgement import judgement
from runner.record.run import read
from runner.report.verdict import write

OWN = Path(__file__).parent / "kernels"
H200 = Path(__file__).parent / "h200_sweep"


@pytest.fixture
def measured(tmp_path):
    """A sweep that was measured on an H200."""
    return Path(shutil.copytree(H200, tmp_path / "run"))


def judge(folder, *arguments):
    """`python -m runner judge ...` in a folder."""
    return call(folder, "judge", *arguments)


def test_a_run_leaves_its_verdict_for_programs(runner):
    """Statuses, reasons, errors and guards stand in verdict.json, whether the cases are right or not."""
    done = runner("--config-dir", str(OWN), "kernel=saxpy,writesPart", "device=cpu")
    found = json.loads((done.folder / "verdict.json").read_text())
    assert (found["schema"], found["verdict"], found["statuses"]) == (1, "wrong", {"ok": 1, "mismatch": 1})
    right, wrong = sorted(found["cases"], key=lambda case: case["kernel"])
    assert (right["status"], right["reason"], right["mismatches"], right["emulated"]) == ("ok", None, 0, True)
    assert right["max_error_ulp"] < 1
    assert {"outputs_poisoned", "every_launch_checked", "other_orders", "other_sizes"} <= set(right["guards"])
    assert wrong["status"] == "mismatch"
    assert "elements differ" in wrong["reason"]
    assert wrong["guards"] == []


def test_a_baseline_may_be_named_afterwards(measured):
    """Each case says how it stands against the baseline's, and the folder remembers which that is."""
    content = write(read(measured), "reduceSmem")
    against = {case["kernel"]: case["against"] for case in content["cases"] if "against" in case}
    assert "reduceSmem" not in against
    assert all(one["low"] <= one["speedup"] <= one["high"] for one in against.values())
    assert write(read(measured)) == content == json.loads((measured / "verdict.json").read_text())


@pytest.mark.parametrize(
    ("word", "status", "sentence"),
    [
        ("faster", 0, "Right and faster"), ("tied", 3, "Right, not faster"), ("slower", 3, "Right, not faster"),
        ("undecided", 4, "Right, undecided"), (None, 4, "Right, speed unknown"),
    ],
)  # fmt: skip
def test_the_exit_status_says_how_the_kernel_stands(word, status, sentence):
    """Faster, not faster, and not known are three things."""
    numbers = {"kernel": "b", "case": "1", "speedup": 1.2, "low": 1.1, "high": 1.3, "word": word}
    against = {"against": numbers} if word else {}
    case = {"kernel": "k", "status": "ok", "reason": None, "parameters": {"size": 1}, **against}
    words, found = judgement("k", "b", [case, {**case, "kernel": "b", "against": None}])
    assert found == status
    assert words[-1].startswith(sentence)


def test_a_kernel_that_is_skipped_is_not_called_wrong(tmp_path):
    """The sentence says why nothing ran, the exit status is 2, and the results for CI are written all the same."""
    done = judge(tmp_path, "--kernel", "reduceShfl", "--baseline", "reduceSmem", "block=2048", "--junit", "j.xml")
    assert done.returncode == 2, done.stderr
    last = done.stdout.splitlines()[-1]
    assert last.startswith("Skipped: no case of reduceShfl ran: a block of 2048 threads is not within"), done.stdout
    assert "Wrong" not in done.stdout
    suite = ET.parse(tmp_path / "j.xml").getroot()
    assert (suite.get("tests"), suite.get("skipped"), suite.get("failures")) == ("2", "2", "0")


def test_a_wrong_kernel_is_wrong_however_fast(tmp_path):
    """One command, from the shell, with an exit status of 1."""
    done = judge(tmp_path, "--config-dir", str(OWN), "--kernel", "writesPart", "--baseline", "saxpy", "device=cpu",
                 "timing=quick")  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "Wrong: writesPart" in done.stdout
