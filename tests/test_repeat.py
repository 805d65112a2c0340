"""`python -m runner repeat`: the same sweep again from its folder alone, and what is different from then."""

import fcntl
import json
import os
import shutil
import signal
from pathlib import Path

import pytest
from processes import OWN, PATIENCE_S, content, run, start, table, wait_until
from sharded import rows

SMALL = ("device=cpu", "size=2000")


def swept(directory, *arguments, to="first", status=0):
    """The folder of a sweep."""
    done = run(directory, *arguments, f"hydra.sweep.dir={to}")
    assert done.code == status, done.err
    return directory / to


def repeat(directory, *arguments):
    """`python -m runner repeat` in a folder."""
    return run(directory, *arguments, module="runner.repeat")


def repeated(directory, *arguments):
    """The folder of a sweep that was repeated into a new folder below outputs/, whatever its times are."""
    before = set(directory.glob("outputs/*/*"))
    done = repeat(directory, *arguments)
    assert done.code in (0, 1), done.err
    (found,) = set(directory.glob("outputs/*/*")) - before
    assert (found / "report.html").is_file()
    assert (found / "compare.html").is_file()
    return found


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A folder with kernels of one's own, and a sweep of one of them, whose reference is in Python."""
    directory = tmp_path_factory.mktemp("lab")
    shutil.copytree(OWN, directory / "own")
    swept(directory, "--config-dir", "own", "kernel=scaled", "block=32,64", "device=cpu", "seed=1,2")
    return directory


@pytest.fixture
def original(lab, tmp_path):
    """A copy of that sweep's folder, all by itself."""
    return Path(shutil.copytree(lab / "first", tmp_path / "first"))


COMMANDS = {
    "a pattern, and a list": ("kernel=glob(reduceShfl*)", "block=32,64", "seed=3", *SMALL),
    "a part of an experiment": ("experiment=block_ladder", "kernel=reduceShfl,reduceSmem", "block=64", *SMALL),
    "quotes": ("kernel=reduceSmem", "size='2**10','1000'", "device=cpu"),
    "two ways of timing": ("kernel=reduceSmem", "timing=glob(*,exclude=thorough)", "++device.threads=1", *SMALL),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_repeated_sweep_has_the_same_rows(command, tmp_path):
    """Cases and values are those of then, however the sweep was asked for; the original stays as it was."""
    first = swept(tmp_path, *COMMANDS[command])
    before = content(first)
    assert rows(repeated(tmp_path, "first")) == rows(first)
    assert content(first) == before


HOSTILE = "a b 'c' \"d\", e=$f {x} [1] é漢"


def test_nothing_but_the_folder_is_needed(tmp_path):
    """With its kernels changed, then gone, and its folder moved, a sweep is repeated from anywhere, and so is that one."""
    own = Path(shutil.copytree(OWN, tmp_path / "own"))
    first = swept(tmp_path, "--config-dir", own, "kernel=scaled,saxpy", "block=32,64", "device=cpu")
    expected = rows(first)
    (own / "kernel" / "scaled.cuh").write_text("__device__ inline float twice(float x) { return 3.0f * x; }\n")
    assert rows(repeated(tmp_path, "first")) == expected
    shutil.rmtree(own)
    (tmp_path / HOSTILE).mkdir()
    moved = first.rename(tmp_path / HOSTILE / "moved")
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    second = repeated(elsewhere, f"../{HOSTILE}/moved")
    assert rows(second) == expected
    shutil.rmtree(moved)
    assert rows(repeated(elsewhere, "latest")) == expected
    assert "kernel=scaled,saxpy" in json.loads((second / "environment.json").read_text())["command"]


def test_overrides_take_the_place_of_those_of_then(original, tmp_path):
    """What is given after the folder counts instead of what was recorded for the same key; the rest stays."""
    second = repeated(tmp_path, "first", "++seed=2,5", "timing.cpu_samples=7", "hydra.sweep.dir=outputs/chosen/place")
    assert second == tmp_path / "outputs/chosen/place"
    told = table(second)
    assert sorted(zip(told["block"], told["seed"], strict=True)) == [("32", 2), ("32", 5), ("64", 2), ("64", 5)]
    assert set(told["samples"]) == {7}
    assert json.loads((second / "plan.json").read_text())["jobs"] == len(told)
    assert set(told["case"]) & set(table(original)["case"])


def test_an_interrupted_sweep_is_repeated_whole(original, tmp_path):
    """Of a sweep that did not get to all of its cases, the repetition runs all."""
    expected = rows(original)
    for job in "123":
        (original / job / "result.json").unlink()
    assert run(tmp_path, "first", module="runner.report.__main__").code == 0
    assert list(table(original)["status"]) == ["ok", *["not_run"] * 3]
    assert rows(repeated(tmp_path, "first")) == expected


@pytest.mark.parametrize("job", ["0", "none"])
def test_a_killed_sweep_is_repeated_and_compared_as_far_as_it_got(job, original, tmp_path):
    """A sweep that was killed before it wrote a table is compared by its rows; without a row, nothing is compared."""
    (original / "results.csv").unlink()
    for path in original.glob("*/result.json"):
        if path.parent.name != job:
            path.unlink()
    done = repeat(tmp_path, "first")
    assert done.code == 0, done.err
    assert ("first has no finished case, so nothing is compared" in done.err) == (job == "none")
    assert len(table(done.folder)) == 4
    assert not (original / "results.csv").exists()


def test_a_damaged_table_is_refused_before_anything_runs(original, tmp_path):
    """It cannot be compared with, so nothing is measured."""
    text = (original / "results.csv").read_text()
    (original / "results.csv").write_text(text[:-40])
    refused(
        repeat(tmp_path, "first"), "results.csv, line 5: the row is cut off; `python -m runner report first` rebuilds"
    )


@pytest.mark.parametrize("environment", ["another", "absent", "torn"])
def test_another_version_is_told_and_no_obstacle(environment, original, tmp_path):
    """A sweep of another version of the runner, or one that does not say, is repeated; the version is told."""
    path = original / "environment.json"
    match environment:
        case "another":
            path.write_text(json.dumps({**json.loads(path.read_text()), "runner": "0.0.1"}))
        case "absent":
            path.unlink()
        case "torn":
            path.write_text('{"runner": "0.')
    done = repeat(tmp_path, "first", "block=32", "seed=1")
    assert done.code in (0, 1), done.err
    assert f"the run used version {'0.0.1' if environment == 'another' else 'unknown'} of the runner" in done.err
    assert len(table(done.folder)) == 1


def test_a_failure_of_then_is_no_news(tmp_path):
    """Where a kernel is as wrong as it was, the status is 0; where one fails that did not, it is 1."""
    swept(tmp_path, "--config-dir", OWN, "kernel=writesPart", "device=cpu", status=1)
    done = repeat(tmp_path, "first")
    assert done.code == 0, done.err
    assert "mismatch" in done.out
    changed = swept(tmp_path, "--config-dir", OWN, "kernel=scaled", "device=cpu", to="second")
    header = changed / "sources/kernels/scaled.cuh"
    header.write_text(header.read_text().replace("2.0f", "3.0f"))
    done = repeat(tmp_path, "second")
    assert done.code == 1
    assert "second: sources/kernels/scaled.cuh has changed since the run" in done.err


def lacking(name):
    """A change of a folder: a file less."""
    return lambda folder: (folder / "sources" / name).unlink()


REFUSED = {
    "without a kernel": (lacking("kernels/scaled.cu"), "its sources/ lacks scaled.cu"),
    "without any sources": (lambda folder: shutil.rmtree(folder / "sources"), "its sources/ lacks"),
    "which is no run": (lambda folder: [(folder / n).unlink() for n in ("results.csv", "plan.json")], "not a run folder"),
}  # fmt: skip

NOT_COMPOSED = {
    "without a configuration": (lacking("conf/config.yaml"), "sources/conf/config.yaml is missing"),
    "with a torn record": (lambda folder: (folder / "multirun.yaml").write_text("hydra:\n  run"), "multirun.yaml"),
}  # fmt: skip


@pytest.mark.parametrize("change", NOT_COMPOSED)
def test_a_folder_that_cannot_be_composed_again_is_repeated_as_it_is(change, original, tmp_path):
    """Without Hydra's record or the configuration, only overrides are refused."""
    make_it, words = NOT_COMPOSED[change]
    expected = rows(original)
    make_it(original)
    refused(repeat(tmp_path, "first", "block=32"), words)
    assert rows(repeated(tmp_path, "first")) == expected


@pytest.mark.parametrize("change", REFUSED)
def test_a_folder_that_is_not_whole_is_refused(change, original, tmp_path):
    """A folder that cannot tell what was run, or lacks a part of it, is refused in one sentence, and nothing is left."""
    make_it, words = REFUSED[change]
    make_it(original)
    refused(repeat(tmp_path, "first"), words)


def refused(done, words):
    """One sentence with these words, status 2, and no folder of a new sweep."""
    assert done.code == 2, done.err
    assert done.err.startswith("runner: ")
    assert done.err.count("\n") == 1, done.err
    assert words in done.err
    assert not (done.directory / "outputs").exists()


def test_one_run_is_expected_that_has_ended(original, tmp_path):
    """A pattern that several runs match or none, a name that is not there, and a running sweep, are refused."""
    with (original / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        refused(repeat(tmp_path, "first"), "a sweep is running in this folder right now")
    shutil.copytree(original, tmp_path / "firsts")
    refused(repeat(tmp_path, "first*"), "2 runs match")
    refused(repeat(tmp_path, "second*"), "no run folder matches")
    refused(repeat(tmp_path, "second"), "there is no such folder")
    refused(repeat(tmp_path, "first", "nosuch=3"), "nosuch: unknown key")


def test_ctrl_c_ends_a_repetition(original, tmp_path):
    """The status is 130 without a traceback or a comparison, and the new folder can be gone on with."""
    process = start(tmp_path, "first", "timing.cpu_samples=20", "size=256Ki", "seed=1,2,3,4", module="runner.repeat")
    wait_until(lambda: list(tmp_path.glob("outputs/*/*/*/result.json")), process)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    assert "Traceback" not in out + err
    assert "python -m runner resume outputs/" in err
    assert not list(tmp_path.glob("outputs/*/*/compare.html"))


def test_what_has_no_case_in_common_is_not_compared(tmp_path):
    """With another size no case is one of the original's: that is said, and the status is the new sweep's."""
    swept(tmp_path, *SMALL)
    done = repeat(tmp_path, "first", "size=3000")
    assert (done.code, "there is nothing to compare" in done.err) == (0, True)
