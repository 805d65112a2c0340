"""`device=replay`: recorded results in place of a device; T4 files are written and read."""

import csv
import gzip
import json
import shutil

import pytest
from told import is_a_told_mistake, run

CASES = ("kernel=reduceShfl", "block=64,100,128", "size=1000")


def table(folder):
    """The rows of a run."""
    with (folder / "results.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


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


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A folder with a run on the CPU device, `first`."""
    folder = tmp_path_factory.mktemp("recorded")
    assert run(folder, *CASES, "device=cpu", "hydra.sweep.dir=first").code == 0
    return folder


def test_a_run_is_replayed_with_its_statuses_times_and_samples(recorded):
    """A replayed case has the row and the samples of the recording; one that is not in it is skipped, with a reason."""
    done = run(recorded, *CASES[:1], "block=64,100,128,256", "size=1000", "device=replay", "device.recording=first",
               "hydra.sweep.dir=again")  # fmt: skip
    assert done.code == 0
    first, again = table(recorded / "first"), table(recorded / "again")
    assert [row["median_us"] for row in again[:3]] == [row["median_us"] for row in first]
    assert [row["status"] for row in again] == ["ok", "skipped", "ok", "skipped"]
    assert "first: the recording has no such case" in again[3]["reason"]
    assert {row["device"] for row in again[:3:2]} == {"cpu"}  # emulated times stay what they are
    kept = [(recorded / f / "samples" / f"{first[0]['case']}-0.npy").read_bytes() for f in ("first", "again")]
    assert kept[0] == kept[1]
    assert json.loads((recorded / "again" / "environment.json").read_text())["replayed"] == "first"


def test_an_exported_run_is_replayed_from_its_t4_file(recorded):
    """`runner export` writes what Kernel Tuner's schema says, and replaying it gives the same medians."""
    exported = run(recorded, "export", "--format", "t4", "first", "--to", "first.json")
    assert exported.code == 0
    assert "Written: first.json" in exported.err
    content = json.loads((recorded / "first.json").read_text())
    assert [r["invalidity"] for r in content["results"]] == ["correct", "constraints", "correct"]
    assert all({"configuration", "times", "invalidity", "correctness"} <= r.keys() for r in content["results"])
    done = run(recorded, *CASES, "device=replay", "device.recording=first.json", "hydra.sweep.dir=from_t4")
    assert done.code == 0
    medians = [[float(row["median_us"] or 0) for row in table(recorded / f)] for f in ("first", "from_t4")]
    assert medians[1] == pytest.approx(medians[0])
    assert {row["device"] for row in table(recorded / "from_t4")[::2]} == {"cpu"}
    is_a_told_mistake(run(recorded, "export", "first", "--to", "first.json"), "already exists")


def test_an_export_of_several_kernels_has_the_parameters_that_only_some_have(tmp_path):
    """Cases that differ in one of these would else be one configuration, and all would get the time of the last."""
    cases = ("-m", "kernel=reduceShfl,reduceSmem", "block=64", "size=1000", "width=8,32")
    assert run(tmp_path, *cases, "device=cpu", "hydra.sweep.dir=both").code == 0
    assert run(tmp_path, "export", "--format", "t4", "both", "--to", "both.json").code == 0
    replay = ("device=replay", "device.recording=both.json")
    assert run(tmp_path, *cases, *replay, "hydra.sweep.dir=again").code == 0

    def times(name):
        return {(row["kernel"], row["width"]): float(row["median_us"]) for row in table(tmp_path / name)}

    assert len(set(times("both").values())) == 3
    assert times("again") == pytest.approx(times("both"))
    search = ("kernel=reduceShfl", "block=64", "size=1000", "hydra/sweeper=search", "hydra.sweep.dir=search")
    done = run(tmp_path, *search, *replay)
    assert "2 cases, 100.00%" in done.err, done.err


def test_a_t4_file_of_another_tuner_is_imported_and_replayed(tmp_path):
    """Importing a T4 file writes a kernel that stands for it; failures are told as such, times are medians."""
    lay_t4(tmp_path)
    assert run(tmp_path, "import", "theirs_T4.json.gz", "--into", "mine").code == 0
    done = run(tmp_path, "--config-dir", "mine", "kernel=theirs_T4", "device=replay", "tile=1,2,4", "vector=1,2",
               "device.recording=theirs_T4.json.gz", "hydra.sweep.dir=replayed")  # fmt: skip
    assert done.code == 1
    rows = {(row["tile"], row["vector"]): row for row in table(tmp_path / "replayed")}
    assert {key: row["status"] for key, row in rows.items()} == {
        ("1", "1"): "ok", ("1", "2"): "compile_error", ("2", "1"): "ok",
        ("2", "2"): "skipped", ("4", "1"): "skipped", ("4", "2"): "launch_error",
    }  # fmt: skip
    assert float(rows["2", "1"]["median_us"]) == pytest.approx(200)
    assert int(rows["2", "1"]["samples"]) == 3
    assert rows["2", "1"]["device"] == "replay"
    page = (tmp_path / "replayed" / "report.html").read_text()
    assert "2 of 6 cases are correct in the recording" in page, "nobody compared them with our reference"
    assert "CPU reference" not in done.out + page
    assert "block >>>" not in done.out, "what stands for their kernel has no block"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "not a T4 file"),
        ('{"results": []}', "has no 'results'"),
        ('{"results": [{"invalidity": "fine"}]}', "invalidity 'fine'"),
        ('{"results": [{"invalidity": []}]}', "invalidity []"),
        (gzip.compress(b'{"results": []}', mtime=0)[:-12], "cut off"),
        ('{"results": [{"invalidity": "correct", "configuration": {"a": 1}}]}', "results[0]"),
    ],
)
def test_a_file_that_is_no_t4_is_refused(tmp_path, content, words):
    """The message names the file, and the entry if there is one."""
    (tmp_path / "bad.json").write_bytes(content.encode() if isinstance(content, str) else content)
    is_a_told_mistake(run(tmp_path, "--quiet", *CASES, "device=replay", "device.recording=bad.json"), "bad.json", words)


def test_a_search_of_a_t4_file_takes_booleans(tmp_path):
    """Kernel Tuner writes them as such; without values on the command line all that were recorded are taken."""
    lay_t4(tmp_path, "some.json", [entry([0.5], wide=flag, scale=1.5) for flag in (True, False)])
    assert run(tmp_path, "import", "some.json", "--into", "mine").code == 0
    done = run(tmp_path, "--config-dir", "mine", "kernel=some", "device=replay", "device.recording=some.json",
               "hydra/sweeper=search")  # fmt: skip
    assert done.code == 0, done.err
    assert "2 cases, 100.00%" in done.err, done.err


@pytest.mark.parametrize(("configuration", "word"), [({"MWG": 16}, "MWG"), ({"mode": "x y"}, "x y"), ({"if": 1}, "if")])
def test_a_t4_file_for_which_no_kernel_can_stand_is_refused(tmp_path, configuration, word):
    """The import says so, in place of the kernel that it writes when that is used."""
    lay_t4(tmp_path, "theirs.json", [entry([0.5], **configuration)])
    is_a_told_mistake(run(tmp_path, "import", "theirs.json", "--into", "mine"), "theirs.json", word)


def test_latest_is_the_run_before_a_replay_which_may_be_interrupted(recorded, tmp_path):
    """Its folder names the recording itself, so that resuming it replays the same one, after other runs too."""
    shutil.copytree(recorded / "first", tmp_path / "outputs" / "first")
    done = run(tmp_path, *CASES, "device=replay", "device.recording=latest", "hydra.sweep.dir=outputs/again")
    assert done.code == 0, done.err
    whole = table(tmp_path / "outputs" / "again")
    for name in ("results.csv", "0/case.json", "0/result.json"):
        (tmp_path / "outputs" / "again" / name).unlink()
    resumed = run(tmp_path, "resume", "outputs/again")
    assert resumed.code == 0, resumed.err
    assert table(tmp_path / "outputs" / "again") == whole


def test_a_recording_must_be_named_and_only_for_replay(tmp_path):
    """Each mistake is one sentence."""
    is_a_told_mistake(run(tmp_path, "--quiet", *CASES, "device=replay"), "device.recording=")
    is_a_told_mistake(run(tmp_path, "--quiet", *CASES, "device=cpu", "device.recording=x"), "only device=replay")
    is_a_told_mistake(run(tmp_path, "--quiet", *CASES, "device=replay", "device.recording=nowhere"), "no such folder")


def test_a_recording_from_elsewhere_cannot_reach_beyond_its_folder(recorded, tmp_path):
    """A link in place of samples is refused and what it names is not copied; a malformed row is told; missing samples are no fault."""
    (tmp_path / "secret").write_text("not yours")
    replay = ("--quiet", *CASES, "device=replay", "device.recording=theirs", "hydra.sweep.dir=again")
    rows = sorted((recorded / "first").glob("[0-9]/result.json"))
    name = f"{json.loads(rows[0].read_text())['case']}-0.npy"

    def lay(change):
        for folder in ("theirs", "again"):
            shutil.rmtree(tmp_path / folder, ignore_errors=True)
        shutil.copytree(recorded / "first", tmp_path / "theirs")
        change(tmp_path / "theirs")
        return run(tmp_path, *replay)

    def link(folder):
        (folder / "samples" / name).unlink()
        (folder / "samples" / name).symlink_to(tmp_path / "secret")

    done = lay(link)
    assert done.code == 2
    assert "link" in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "again" / "samples" / name).exists()

    done = lay(lambda folder: (folder / "0" / "result.json").write_text(
        json.dumps(json.loads(rows[0].read_text()) | {"job": []})))  # fmt: skip
    assert done.code == 2
    assert "Malformed run folder: theirs" in done.err

    done = lay(lambda folder: shutil.rmtree(folder / "samples"))
    assert done.code == 0, done.err
    assert table(tmp_path / "again")[0]["median_us"] == table(recorded / "first")[0]["median_us"]
