"""`runner judge --junit --sarif --github`: what a CI system reads of a run, with the user's own files and lines."""

import json
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from mistakes import assert_refused
from processes import run

from runner.ci import github, junit, sarif
from runner.ci.results import CaseResult, Finding, Level, Outcome, Place, Results, merged

OWN = Path(__file__).parent / "kernels" / "kernel"
HOSTILE = 'a,b: 100 % "<&>"\r\n::error::\x1b[2J\x00'


def repository(folder, *kernels):
    """A git repository with kernels in conf/kernel."""
    (folder / ".git").mkdir()
    (folder / "conf" / "kernel").mkdir(parents=True)
    for name in kernels:
        for path in OWN.glob(f"{name}.*"):
            shutil.copy(path, folder / "conf" / "kernel")
    return folder


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """A repository in which a kernel with a race was judged."""
    folder = repository(tmp_path_factory.mktemp("judged"), "races", "saxpy")
    (folder / "an_older_one").mkdir()
    (folder / "an_older_one" / "races.cu").write_text("// has the same name\n")
    (folder / "summary.md").write_text("# What another step said\n")
    options = ("--config-dir", "conf", "--junit", "j.xml", "--sarif", "s.sarif", "--github")
    variables = {"GITHUB_STEP_SUMMARY": str(folder / "summary.md"), "GITHUB_WORKSPACE": ""}
    settings = ("device=checked", "device.threads=1", "size=64", "timing=quick")
    done = run(folder, "judge", "--kernel", "races", "--baseline", "saxpy", *options, *settings, **variables)
    assert done.code == 1, done.err
    return done


def racing_lines():
    """The lines of the race: the write to shared memory, and the read behind the missing barrier."""
    lines = (OWN / "races.cu").read_text().splitlines()
    return {n for n, line in enumerate(lines, 1) if "staged[t] =" in line or "staged[63 - t]" in line}


def test_sarif_names_the_file_and_both_lines_of_a_race(judged):
    """The fields that SARIF 2.1.0 requires are there, and the path is that of the user's file, relative to the repository."""
    content = json.loads((judged.directory / "s.sarif").read_text())
    assert content["version"] == "2.1.0"
    (only,) = content["runs"]
    driver = only["tool"]["driver"]
    assert driver["name"] == "runner"
    assert [rule["id"] for rule in driver["rules"]] == ["race"]
    assert all(rule["shortDescription"]["text"] for rule in driver["rules"])
    (result,) = only["results"]
    assert "Written: s.sarif" in judged.err
    assert (result["ruleId"], result["ruleIndex"], result["level"]) == ("race", 0, "error")
    assert "__syncthreads()" in result["message"]["text"]
    places = [place["physicalLocation"] for place in (*result["locations"], *result["relatedLocations"])]
    assert [place["artifactLocation"]["uri"] for place in places] == ["conf/kernel/races.cu"] * 2
    assert {place["artifactLocation"]["uriBaseId"] for place in places} <= only["originalUriBaseIds"].keys()
    assert {place["region"]["startLine"] for place in places} == racing_lines()


def test_an_annotation_is_on_the_line_of_the_race(judged):
    """One line for the finding, which GitHub shows at the user's file."""
    (line,) = [line for line in judged.out.splitlines() if line.startswith("::")]
    found = re.match(r"::error file=conf/kernel/races\.cu,line=(\d+),title=race::races\.cu:\d+: race", line)
    assert found, line
    assert int(found[1]) in racing_lines()


def test_the_summary_of_the_job_is_appended(judged):
    """What other steps wrote stays; the table of judgements and the report's sentences follow."""
    text = (judged.directory / "summary.md").read_text()
    assert text.startswith("# What another step said\n")
    assert "| races | wrong |" in text
    assert "1 hazard" in text


def test_junit_has_a_case_for_each_case(judged):
    """The one that failed says why; the time of the other is that of its column, in seconds."""
    suite = ET.parse(judged.directory / "j.xml").getroot().find("testsuite")
    assert [suite.get(name) for name in ("tests", "failures", "skipped")] == ["2", "1", "0"]
    cases = {case.get("classname"): case for case in suite}
    failure = cases["races"].find("failure")
    assert failure.get("type") == "hazard"
    assert "races.cu:" in failure.get("message")
    assert cases["saxpy"].find("failure") is None
    (verdict,) = judged.directory.glob("outputs/*/*/verdict.json")
    (entry,) = [case for case in json.loads(verdict.read_text())["cases"] if case["kernel"] == "saxpy"]
    (column,) = [each.get("value") for each in cases["saxpy"].iter("property") if each.get("name") == "time"]
    assert float(cases["saxpy"].get("time")) == pytest.approx(entry[column] / 1e6, abs=1e-9)


def test_a_mismatch_is_at_the_kernel(tmp_path):
    """No line is to blame, so the finding is where the kernel begins; kernels are found in the folder of the workflow."""
    repository(tmp_path, "writesPart", "saxpy")
    (tmp_path / "sub").mkdir()
    options = ("--config-dir", "../conf", "--sarif", "s.sarif", "--github", "device=cpu", "timing=quick")
    names = ("--kernel", "writesPart", "--baseline", "saxpy")
    done = run(tmp_path / "sub", "judge", *names, *options, GITHUB_WORKSPACE=str(tmp_path))
    line = next(n for n, text in enumerate((OWN / "writesPart.cu").read_text().splitlines(), 1) if "__global__" in text)
    assert f"::error file=conf/kernel/writesPart.cu,line={line},title=mismatch::" in done.out
    (result,) = json.loads((tmp_path / "sub" / "s.sarif").read_text())["runs"][0]["results"]
    assert result["ruleId"] == "mismatch"


def test_an_exception_of_python_is_at_its_line(tmp_path):
    """A contender's own file is found as a kernel's is."""
    folder = repository(tmp_path, "saxpy") / "conf" / "kernel"
    (folder / "raises.py").write_text("def raises(*given, stream):\n    raise ValueError('no such shape')\n")
    arguments = [{"name": "out", "role": "out", "dtype": "float32", "shape": "size"}]
    keys = {
        "parameters": {"size": 64},
        "source": "raises.py",
        "arguments": arguments,
        "reference": {"out": "full(0, size)"},
    }
    (folder / "raises.yaml").write_text(json.dumps(keys))
    words = ("--kernel", "raises", "--baseline", "saxpy", "--config-dir", "conf", "--sarif", "s.sarif", "size=64")
    done = run(tmp_path, "judge", *words, "device=cpu", "timing=quick", GITHUB_WORKSPACE="")
    assert done.code == 1, done.err
    (only,) = json.loads((tmp_path / "s.sarif").read_text())["runs"]
    (place,) = [each["physicalLocation"] for each in only["results"][0]["locations"]]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("conf/kernel/raises.py", 2)


def made(reason):
    """Results with this text everywhere."""
    case = CaseResult("k", reason, Outcome.FAILED, "mismatch", reason)
    finding = Finding("mismatch", Level.ERROR, reason, (Place("a, b:%\udcff.cu", 3),))
    return Results("judge", "1", (case, CaseResult("k", "x", Outcome.SKIPPED, reason=reason)), (finding,), reason)


def test_a_hostile_text_stays_text():
    """It ends no annotation and begins none, and XML and JSON stay well-formed."""
    results = made(HOSTILE)
    (line,) = github.text(results).splitlines()
    properties, message = re.fullmatch(r"::error (.*?)::(.*)", line).groups()
    assert properties == "file=a%2C b%3A%25\udcff.cu,line=3,title=mismatch"
    assert "100 %25" in message
    assert "\x1b" not in message
    element = ET.fromstring(junit.text(results)).find("testsuite/testcase/failure")
    assert '100 % "<&>"' in element.text
    uri = json.loads(sarif.text(results))["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert uri["artifactLocation"]["uri"] == "a%2C%20b%3A%25%FF.cu"


def test_cases_that_show_the_same_mistake_are_one_finding():
    """GitHub shows ten annotations of a step: the same line in many sizes is one of them, which says in how many cases."""
    place = (Place("k.cu", 3),)
    found = merged(Finding("race", Level.ERROR, f"at size {n}", place) for n in range(20))
    assert [(one.message, one.cases) for one in found] == [("at size 0", 20)]
    assert "(in 20 cases)" in github.command(found[0])
    assert len(merged(Finding("crashed", Level.ERROR, f"at size {n}", ()) for n in range(2))) == 2


def test_a_file_that_cannot_be_written_is_a_usage_error(tmp_path):
    """Before anything is measured, if it can be known by then."""
    names = ("--kernel", "saxpy", "--baseline", "scaled", "--config-dir", str(OWN.parent), "device=cpu")
    assert_refused(run(tmp_path, "judge", *names, "--junit", "x", "--sarif", "./x"), "two options name this file")
    assert_refused(run(tmp_path, "judge", *names, "--junit", "."), "Is a directory")
