"""`runner compare --junit --sarif --github`: regressions are failures, what only predicts one is a warning."""

import json
import shutil
from xml.etree import ElementTree as ET

import pytest
from compare_runs import WILD, failed, timed

from runner.ci.results import Outcome
from runner.compare import ci_results

OPTIONS = ("--junit", "j.xml", "--sarif", "s.sarif", "--github")
SOURCES = {name: {"kernels/reduceShfl.cu": '// one\nextern "C" __global__ void reduceShfl() {}\n'} for name in "AB"}


@pytest.fixture
def reported(compare, tmp_path, monkeypatch):
    """Compare two runs: the result, the test cases by outcome, the rules and levels of findings, the annotations."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))

    def call(base, other, *options, **written):
        for name in "AB":
            shutil.rmtree(tmp_path / name, ignore_errors=True)
        result = compare(base, other, options=(*OPTIONS, *options), sources=SOURCES, **written)
        outcomes = {"failure": [], "skipped": [], "passed": []}
        for case in ET.parse(tmp_path / "j.xml").iter("testcase"):
            kind = next((name for name in ("failure", "skipped") if case.find(name) is not None), "passed")
            outcomes[kind].append(case)
        (only,) = json.loads((tmp_path / "s.sarif").read_text())["runs"]
        rules = {(each["ruleId"], each["level"]) for each in only["results"]}
        lines = [line for line in result.out.splitlines() if line.startswith("::")]
        return result, outcomes, rules, lines

    return call


def test_a_slower_and_a_broken_case_are_failures(reported, tmp_path):
    """Each is a failed test case and an error at the kernel; a case that stayed the same passes, and its time is the run's."""
    base = [timed(n, 100, block=32 * (n + 1)) for n in range(3)]
    other = [timed(0, 130, block=32), failed(1, block=64), timed(2, 100, block=96)]
    result, outcomes, rules, lines = reported(base, other)
    assert result.code == 1
    assert sorted(each.find("failure").get("type") for each in outcomes["failure"]) == ["broken", "slower"]
    assert rules == {("broken", "error"), ("slower", "error")}
    assert all(line.startswith("::error file=") and "reduceShfl.cu,line=2," in line for line in lines), lines
    assert len(lines) == 2
    (same,) = outcomes["passed"]
    assert float(same.get("time")) == pytest.approx(100e-6, rel=0.01)
    assert "BROKEN" in (tmp_path / "summary.md").read_text()


def test_an_undecided_case_fails_with_strict_only(reported):
    """As the exit status does."""
    base, other = [timed(0, 100, spread=WILD)], [timed(0, 104, spread=WILD)]
    result, outcomes, rules, lines = reported(base, other)
    assert (result.code, len(outcomes["passed"]), rules, lines) == (0, 1, set(), [])
    result, outcomes, rules, _ = reported(base, other, "--strict")
    assert (result.code, len(outcomes["failure"]), rules) == (3, 1, {("undecided", "warning")})


def test_a_run_that_is_left_out_fails_with_strict_only():
    """It is no case, but the command exits with 3, so the XML has a failure with its sentence."""
    sentence = "B is left out: it has no case in common with A"
    assert ci_results.results([], [sentence]).cases == ()
    (only,) = ci_results.results([], [sentence], strict=True).cases
    assert (only.outcome, only.reason) == (Outcome.FAILED, sentence)


def test_a_case_that_is_missing_is_skipped(reported):
    """It says in which run it is."""
    _, outcomes, rules, _ = reported([timed(0, 100), timed(1, 100, block=64)], [timed(0, 100)])
    assert [each.find("skipped").get("message") for each in outcomes["skipped"]] == ["only in baseline"]
    assert rules == set()
