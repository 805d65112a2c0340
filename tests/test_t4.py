"""T4 files: a run is exported as one, and the results of another tuner are imported as a run folder."""

import gzip
import json

import pytest
from mistakes import assert_refused
from outcomes import rows as table
from processes import run

import runner

CASES = ("kernel=reduceShfl", "block=64,100,128", "size=1000", "device=cpu")


def entry(times, invalidity="correct", **configuration):
    """A result as Kernel Tuner writes it; times in milliseconds."""
    measured = [{"name": "time", "value": sum(times) / len(times), "unit": "ms"}] if times else []
    return {
        "configuration": configuration,
        "times": {"runtimes": times, "compilation": 90.0},
        "invalidity": invalidity,
        "correctness": 1,
        "measurements": measured,
        "objectives": ["time"],
    }


THEIRS = [
    entry([0.5, 0.4, 0.6], tile=1, vector=1),
    entry([0.2, 0.25, 0.15], tile=2, vector=1),
    entry([], "compile", tile=1, vector=2),
    entry([], "runtime", tile=4, vector=2),
]


def lay_t4(folder, name="theirs_T4.json.gz", results=THEIRS):
    """Write a T4 file."""
    text = json.dumps({"metadata": {"timeunit": "miliseconds"}, "results": results})
    (folder / name).write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    return name


def test_an_exported_run_comes_back_when_it_is_imported(tmp_path):
    """`runner export` writes what Kernel Tuner's schema says; importing it gives the statuses, times and samples again."""
    assert run(tmp_path, *CASES, "hydra.sweep.dir=first").code == 0
    exported = run(tmp_path, "export", "--format", "t4", "first", "--to", "first.json")
    assert exported.code == 0
    assert "Written: first.json" in exported.err
    content = json.loads((tmp_path / "first.json").read_text())
    assert [r["invalidity"] for r in content["results"]] == ["correct", "constraints", "correct"]
    assert all({"configuration", "times", "invalidity", "correctness"} <= r.keys() for r in content["results"])
    assert run(tmp_path, "import", "first.json", "--kernel", "reduceShfl", "--into", "again").code == 0
    first, again = table(tmp_path / "first"), table(tmp_path / "again")
    for name in ("kernel", "block", "block_x", "size", "width", "mask", "status"):
        assert [row[name] for row in again] == [row[name] for row in first], name
    times = [[float(row["emulated_us"] or 0) for row in rows] for rows in (first, again)]
    assert times[1] == pytest.approx(times[0])
    assert [row["median_us"] for row in again] == [""] * 3, "the CPU device's times stay what they are"
    taken = runner.open(tmp_path / "again").samples(again[0]["case"])
    assert list(taken.us) == pytest.approx(list(runner.open(tmp_path / "first").samples(first[0]["case"]).us))
    assert_refused(run(tmp_path, "export", "first", "--to", "first.json"), "already exists")
    assert_refused(run(tmp_path, "import", "first.json", "--into", "again"), "again: already exists", "--into")
    assert_refused(run(tmp_path, "export", "again"), "this run was imported from first.json")
    said = run(tmp_path, "report", "again").out
    assert "2 of 3 cases are correct in the recording" in said
    assert "Checked on" not in said, "we have checked nothing of what somebody's file says"


def test_an_export_of_several_kernels_has_the_parameters_that_only_some_have(tmp_path):
    """Cases that differ in one of these would else be one configuration, and all would get the time of the last."""
    cases = ("-m", "kernel=reduceShfl,reduceSmem", "block=64", "size=1000", "width=8,32", "device=cpu")
    assert run(tmp_path, *cases, "hydra.sweep.dir=both").code == 0
    assert run(tmp_path, "export", "both", "--to", "both.json").code == 0
    assert run(tmp_path, "import", "both.json", "--into", "again").code == 0

    def times(name):
        return {(row["kernel"], row["width"]): float(row["emulated_us"]) for row in table(tmp_path / name)}

    assert len(set(times("both").values())) == 3
    assert times("again") == pytest.approx(times("both"))


def test_the_results_of_another_tuner_are_a_run(tmp_path):
    """Failures are told as such, times are medians, the fastest is named, and nobody claims that we checked them."""
    lay_t4(tmp_path)
    done = run(tmp_path, "import", "theirs_T4.json.gz")
    assert done.code == 0
    folder = tmp_path / "outputs" / "imported" / "theirs_T4"
    assert "outputs/imported/theirs_T4: 4 results of theirs_T4.json.gz" in done.out
    rows = {(row["tile"], row["vector"]): row for row in table(folder)}
    assert {key: row["status"] for key, row in rows.items()} == {
        ("1", "1"): "ok", ("1", "2"): "compile_error", ("2", "1"): "ok", ("4", "2"): "launch_error",
    }  # fmt: skip
    assert float(rows["2", "1"]["median_us"]) == pytest.approx(200)
    assert int(rows["2", "1"]["samples"]) == 3
    assert rows["2", "1"]["device"] == "recording"
    report = run(tmp_path, "report", "latest")
    assert "2 of 4 cases are correct in the recording" in report.out, "nobody compared them with our reference"
    assert "Fastest: theirs_T4, tile 2 (200 µs)" in report.out
    assert "CPU reference" not in report.out + (folder / "report.html").read_text()
    assert "block >>>" not in report.out, "their kernel has no block"
    assert "theirs_T4, tile 2: 200 µs" in run(tmp_path, "list").out


def test_two_imports_are_compared_case_by_case(tmp_path):
    """Cases with the same parameters belong together, and their times are compared as those of any two runs."""
    lay_t4(tmp_path, "base.json", [entry([0.5, 0.51, 0.49] * 8, tile=tile) for tile in (1, 2)])
    lay_t4(tmp_path, "other.json", [entry([0.25, 0.26, 0.24] * 8, tile=1), entry([0.5, 0.51, 0.49] * 8, tile=2)])
    for name in ("base", "other"):
        assert run(tmp_path, "import", f"{name}.json", "--kernel", "theirs", "--into", name).code == 0
    said = run(tmp_path, "compare", "base", "other").out
    assert "2 common cases" in said, said
    assert "2.00x faster" in said, said


NO_T4 = [
    ("{", "not a T4 file"),
    ('{"results": []}', "has no 'results'"),
    ('{"results": [{"invalidity": "fine"}]}', "invalidity 'fine'"),
    ('{"results": [{"invalidity": []}]}', "invalidity []"),
    (gzip.compress(b'{"results": []}', mtime=0)[:-12], "cut off"),
    ('{"results": [{"invalidity": "correct", "configuration": {"a": 1}}]}', "results[0]"),
    # Parameters that would be taken for something that was measured, and values of another kind than ours have.
    *(({name: 1}, name) for name in ("status", "x y", "job")),
    *(({name: value}, name) for name, value in {"size": "abc", "unroll": "yes", "width": 1.5, "block": "x"}.items()),
    ({"size": 10**22}, "size"),
]


@pytest.mark.parametrize(("content", "words"), NO_T4)
def test_a_file_that_is_no_t4_is_refused(tmp_path, content, words):
    """The message names the file, and the entry if there is one; nothing is left in the way of the next try."""
    if isinstance(content, dict):
        lay_t4(tmp_path, "bad.json.gz", [entry([0.5], **content)])
    else:
        (tmp_path / "bad.json.gz").write_bytes(content.encode() if isinstance(content, str) else content)
    assert_refused(run(tmp_path, "import", "bad.json.gz", "--into", "x"), "bad.json.gz", words)
    assert not (tmp_path / "x").exists()
