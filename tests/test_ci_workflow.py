"""docs/ci-workflow.yml: its steps run, in a repository with a kernel, a regression and candidates."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml
from processes import environment
from support import ROOT

WORKFLOW = yaml.safe_load((ROOT / "docs" / "ci-workflow.yml").read_text())
(JOB,) = WORKFLOW["jobs"].values()
STEPS = {step["name"]: step for step in JOB["steps"] if "run" in step}
OWN = Path(__file__).parent / "kernels" / "kernel"
SCATTERED = ("y[i] = a * x[i] + y[i];", "const int j = int(i * 7919LL % n); y[j] = a * x[j] + y[j];")
"""What the pull request changes: the result stays right, and lanes of a warp read far apart."""


def git(folder, *words):
    """Run git as somebody."""
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """A clone of a repository: its branch has a slower kernel than main, another that main lacks, and two candidates."""
    folder = tmp_path_factory.mktemp("workflow")
    origin, clone = folder / "origin", folder / "clone"
    (origin / "conf" / "kernel").mkdir(parents=True)
    for path in OWN.glob("saxpy.*"):
        shutil.copy(path, origin / "conf" / "kernel")
    for words in (["init"], ["add", "."], ["commit", "-m", "a kernel"]):
        git(origin, *words)
    git(folder, "clone", str(origin), str(clone))
    source = clone / "conf" / "kernel" / "saxpy.cu"
    (clone / "candidates").mkdir()
    shutil.copy(source, clone / "candidates" / "same.cu")
    (clone / "candidates" / "wrong.cu").write_text(source.read_text().replace("+ y[i]", ""))
    for suffix in (".cu", ".yaml"):
        text = source.with_suffix(suffix).read_text().replace("saxpy", "added")
        source.with_name(f"added{suffix}").write_text(text)
    assert SCATTERED[0] in source.read_text()
    source.write_text(source.read_text().replace(*SCATTERED))
    return clone


@pytest.fixture(scope="module")
def statuses(repository, tmp_path_factory):
    """The exit status and the output of each step, as GitHub runs it: bash -e, with the variables of a pull request."""
    scratch = tmp_path_factory.mktemp("runner_temp")
    variables = {
        **{name: str(value) for name, value in WORKFLOW["env"].items()}, "RUNNER_TEMP": str(scratch),
        "KERNELS": "saxpy,added",
        "GITHUB_WORKSPACE": str(repository), "GITHUB_BASE_REF": "main",
        "GITHUB_STEP_SUMMARY": str(scratch / "summary.md"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }  # fmt: skip
    found = {}
    for name, step in STEPS.items():
        if "pip install" in step["run"]:
            continue  # the tests have installed it
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        done = subprocess.run(
            shell, cwd=repository, env=environment(**variables), capture_output=True, text=True, check=False
        )
        found[name] = done
    return found


def test_its_actions_are_named_with_a_version():
    """Each step runs something, or uses an action of a version."""
    used = [step["uses"] for step in JOB["steps"] if "uses" in step]
    assert all(re.fullmatch(r"[\w-]+/[\w/-]+@v\d+", name) for name in used), used
    assert len(used) + len(STEPS) == len(JOB["steps"])


def test_base_and_head_are_measured(repository, statuses):
    """Each in a folder of its own, from its own sources."""
    for name in ("Run the kernels of the base", "Run the kernels of the pull request"):
        assert statuses[name].returncode == 0, statuses[name].stderr
    kept = [next((repository / "outputs" / run / "sources").rglob("saxpy.cu")).read_text() for run in ("base", "head")]
    assert [SCATTERED[1] in text for text in kept] == [False, True]
    rows = [(repository / "outputs" / run / "results.csv").read_text() for run in ("base", "head")]
    assert ["added" in text for text in rows] == [False, True]


def test_the_regression_fails_the_job(repository, statuses):
    """The line that needs more sectors is annotated in the pull request's own file."""
    done = statuses["Compare them"]
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"^::error file=conf/kernel/saxpy\.cu,line=\d+,title=costlier_line::", done.stdout, re.MULTILINE)
    results = json.loads((repository / "compare.sarif").read_text())["runs"][0]["results"]
    assert {result["ruleId"] for result in results} == {"costlier_line"}
    failed = [
        case for case in ET.parse(repository / "compare.xml").iter("testcase") if case.find("failure") is not None
    ]
    assert [(case.get("classname"), case.find("failure").get("type")) for case in failed] == [
        ("saxpy", "costlier_line")
    ]


def test_a_right_candidate_passes(repository, statuses):
    """The wrong one beside it is annotated, and is a failure in the XML."""
    done = statuses["Judge the candidates"]
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^::error file=candidates/wrong\.cu,line=\d+,title=mismatch::", done.stdout, re.MULTILINE)
    cases = ET.parse(repository / "judge.xml").iter("testcase")
    failed = {case.get("classname"): case.find("failure") is not None for case in cases}
    assert failed == {"saxpy": False, "same": False, "wrong": True}
