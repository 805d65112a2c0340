"""`runner judge FOLDER --baseline B`: many candidates in one process, ranked; a bad one harms no other."""

import json
import shutil
from pathlib import Path

import pytest
from mistakes import assert_refused
from processes import run
from support import ROOT

from runner.commands.judgement import judged, table

OWN = Path(__file__).parent / "kernels"
SAXPY = (OWN / "kernel" / "saxpy.cu").read_text()
SETTINGS = ("--config-dir", str(OWN), "size=1000", "device=cpu", "device.time_limit_s=2", "timing=quick",
            "racecheck=none", "lines=none")  # fmt: skip
LINE = "y[i] = a * x[i] + y[i];"

SOURCES = {
    "right": SAXPY,
    "ownName": SAXPY.replace("saxpy(", "ownName("),
    "wrong": SAXPY.replace(LINE, "y[i] = a * x[i];"),
    "loops": SAXPY.replace(LINE, "while (*(volatile SCALAR*)y != SCALAR(-7)) {}"),
    "endsItsProcess": "#include <csignal>\n#include <unistd.h>\n" + SAXPY.replace(LINE, "kill(getpid(), SIGKILL);"),
    "crashes": SAXPY.replace(LINE, "*(volatile int*)nullptr = 1;"),
    "fails": SAXPY.replace(LINE, "y[i] = undeclared;"),
}
"""Candidates without a YAML of their own."""


def folder_of(directory, sources):
    """A folder of candidates."""
    folder = directory / "candidates"
    folder.mkdir()
    for name, text in sources.items():
        (folder / f"{name}.cu").write_text(text)
    return folder


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Candidates of all kinds, judged together."""
    directory = tmp_path_factory.mktemp("folder")
    folder = folder_of(directory, SOURCES)
    yaml = (OWN / "kernel" / "saxpy.yaml").read_text().replace("factor", "slope") + "function: saxpy\n"
    (folder / "withYaml.cu").write_text(SAXPY)
    (folder / "withYaml.yaml").write_text(yaml)
    (folder / "divides.cu").write_text(SAXPY)  # a kernel of --config-dir has this name
    (folder / "mistaken.cu").write_text(SAXPY)
    (folder / "mistaken.yaml").write_text(yaml + "nonsense: 1\n")
    (folder / "not-a-name.cu").write_text(SAXPY)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    finished = run(directory, "judge", "candidates", "--baseline", "saxpy", *SETTINGS, "--json", "--junit", "j.xml")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before, (
        "nothing is written beside the sources"
    )
    return finished


def ranked(done):
    """The candidates by name."""
    return {each["kernel"]: each for each in json.loads(done.out)["candidates"]}


def test_each_candidate_has_its_own_judgement(done):
    """One that hangs, crashes, does not compile or has a mistake in its YAML is wrong, and says why; the others are right."""
    found = ranked(done)
    words = {name: each["word"] for name, each in found.items()}
    right = {name for name, word in words.items() if word == "undecided"}
    assert right == {"right", "ownName", "withYaml"}, done.err
    assert {name for name, word in words.items() if word == "wrong"} == {
        "wrong", "loops", "crashes", "endsItsProcess", "fails", "mistaken", "not-a-name", "divides",
    }  # fmt: skip
    reasons = {
        "wrong": "mismatch", "loops": "timeout", "divides": "is also the name of", "fails": "undeclared", "mistaken": "nonsense", "not-a-name": "valid",
    }  # fmt: skip
    for name, reason in reasons.items():
        assert reason in found[name]["sentence"], found[name]
    assert all(each["correct"] == each["cases"] == 1 for name, each in found.items() if name in right)


def test_the_best_candidate_comes_first_and_gives_the_exit_status(done):
    """On the CPU device nothing is faster, so what is right is undecided."""
    entries = json.loads(done.out)["candidates"]
    assert [each["rank"] for each in entries] == list(range(1, len(entries) + 1))
    assert [each["word"] for each in entries] == ["undecided"] * 3 + ["wrong"] * 8
    assert done.code == 4


def test_the_json_is_the_verdict_of_one_run(done):
    """It is that of verdict.json, and has a case for the baseline and for each candidate that could be run."""
    content = json.loads(done.out)
    (verdict,) = done.directory.glob("outputs/*/*/verdict.json")
    written = json.loads(verdict.read_text())
    assert {key: value for key, value in content.items() if key != "candidates"} == written
    assert {case["kernel"] for case in written["cases"]} == {"saxpy", "withYaml", *SOURCES}


def test_the_run_can_be_repeated(done):
    """The folder has the sources of the candidates, though their configuration was temporary."""
    (folder,) = done.directory.glob("outputs/*/*")
    command = json.loads((folder / "environment.json").read_text())["command"]
    assert command.startswith("python -m runner judge candidates --baseline saxpy --config-dir ")
    assert "runner-judge-" not in command, "it names no temporary folder"
    again = run(done.directory, "repeat", str(folder))
    assert "mismatch" in again.err, again.err
    assert len(list(done.directory.glob("outputs/*/*/results.csv"))) == 2


def test_a_stored_run_is_ranked_as_it_was(done):
    """As after `resume`: the same judgements without running anything, but for candidates that could not be read."""
    (first, *_) = sorted(done.directory.glob("outputs/*/*"))
    again = run(done.directory, "judge", str(first), "--baseline", "saxpy", "--json")
    entries = json.loads(again.out)["candidates"]
    assert again.code == done.code
    expected = [each["kernel"] for each in json.loads(done.out)["candidates"] if each["cases"]]
    assert [each["kernel"] for each in entries] == expected
    for words, phrase in (
        (["--baseline", "absent"], "--baseline absent: "),
        (["--baseline", "saxpy", "size=7"], "size=7: "),
    ):
        refused = run(done.directory, "judge", str(first), *words)
        assert (refused.code, refused.out) == (2, "")
        assert phrase in refused.err


def test_a_run_that_has_not_ended_is_not_ranked(done, tmp_path):
    """It says how to run what is missing."""
    (first, *_) = sorted(done.directory.glob("outputs/*/*"))
    folder = shutil.copytree(first, tmp_path / "run")
    table = (folder / "results.csv").read_text()
    (folder / "results.csv").write_text(table.replace(",timeout,", ",not_run,", 1))
    refused = run(tmp_path, "judge", "run", "--baseline", "saxpy")
    assert (refused.code, refused.out) == (2, "")
    assert "1 case not run yet; python -m runner resume run runs the rest" in refused.err


def test_the_table_is_on_stdout(tmp_path):
    """One line for each candidate, the best first, and nothing else but the sweep's own sentence."""
    folder_of(tmp_path, {name: SOURCES[name] for name in ("right", "wrong")})
    finished = run(tmp_path, "judge", "candidates", "--baseline", "saxpy", *SETTINGS)
    lines = finished.out.splitlines()
    heads = next(n for n, line in enumerate(lines) if line.startswith("rank "))
    assert [line.split()[:3] for line in lines[heads + 1 :]] == [["1", "right", "undecided"], ["2", "wrong", "wrong"]]


def test_the_faster_candidate_is_ranked_before_the_slower_one():
    """By the speed-up, and a faster one before those that are not."""
    numbers = {"kernel": "b", "case": "1", "low": 0.9, "high": 3.0}

    def cases(word, *speedups):
        against = [{**numbers, "speedup": s, "word": word} for s in speedups]
        return [{"kernel": "k", "status": "ok", "reason": None, "parameters": {}, "against": each} for each in against]

    words = {"a": ("faster", 2.0), "b": ("faster", 1.0, 9.0), "c": ("tied", 1.0), "d": ("undecided", 1.5)}
    found = sorted((judged("k", "b", cases(*given)) for given in words.values()), key=lambda each: each.order)
    assert [(each.word, each.speedup) for each in found] == [
        ("faster", pytest.approx(3.0)), ("faster", 2.0), ("undecided", 1.5), ("not faster", 1.0),
    ]  # fmt: skip
    assert [line.cells[2].text for line in table(found).lines] == ["faster", "faster", "undecided", "not faster"]


def test_json_of_one_kernel_has_its_judgement(tmp_path):
    """Stdout has nothing but the JSON; the sweep speaks on stderr."""
    names = ("--kernel", "writesPart", "--baseline", "saxpy")
    finished = run(tmp_path, "judge", *names, "--json", *SETTINGS)
    found = json.loads(finished.out)
    assert finished.code == found["judgement"]["exit_status"] == 1
    assert found["judgement"]["word"] == "wrong"
    assert "elements differ" in found["judgement"]["sentence"]
    assert "Report:" in finished.err


@pytest.mark.parametrize(
    ("words", "phrase"),
    [
        ((), "expected one kernel, as --kernel NAME, or one folder of candidates"),
        (("candidates", "--kernel", "saxpy"), "expected one kernel"),
        (("candidates", "other"), "expected one kernel"),
        (("nowhere",), "nowhere: there is no such folder"),
        (("empty",), "there is no candidate; expected NAME.cu"),
        (("candidates", "--baseline", "saxpi"), "did you mean saxpy?"),
        (("candidates", "--baseline", "right"), "has the name of the baseline"),
        (("candidates", "kernel=saxpy"), "--kernel and --baseline name the kernels"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path, words, phrase):
    """Nothing is run."""
    folder_of(tmp_path, {"right": SAXPY})
    (tmp_path / "empty").mkdir()
    assert_refused(run(tmp_path, "judge", "--baseline", "saxpy", *words, *SETTINGS), phrase)


def test_a_candidate_has_the_headers_and_the_reference_of_the_baseline(tmp_path):
    """It was made from the baseline, so it includes the same; a module beside it does not become its reference."""
    text = (ROOT / "kernels" / "reduceInFlight.cu").read_text()
    assert '#include "' in text
    folder = folder_of(tmp_path, {"mine": text})
    (folder / "sums.py").write_text("raise ValueError('not the reference of the baseline')\n")
    settings = ("size=10000", "device=cpu", "timing=quick", "racecheck=none", "lines=none")
    finished = run(tmp_path, "judge", "candidates", "--baseline", "reduceInFlight", *settings, "--json")
    (entry,) = json.loads(finished.out)["candidates"]
    assert (finished.code, entry["word"], entry["correct"]) == (4, "undecided", entry["cases"]), entry
