"""`python -m runner resume`: what is missing is run from the folder alone, and what is there stays."""

import json
import random
import shutil
import stat

import numpy as np
import pytest
from processes import OWN, call, content, kill_all, planned_one_by_one, resume, start, table, wait_until
from sharded import rows

from runner.record.run import read

SWEEP = (
    "lines=false",
    "--config-dir", OWN, "kernel=scaled,saxpy,writesPart", "block=64,128", "size=100Ki", "device=cpu",
    "timing.cpu_rounds=3", "timing.cpu_samples=20",
)  # fmt: skip
JOBS, ROUNDS = 6, 3


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """The folder of a sweep that nobody interrupted."""
    directory = tmp_path_factory.mktemp("uninterrupted")
    done = call(directory, *SWEEP, "hydra.sweep.dir=sweep")
    assert done.returncode == 1, done.stderr  # writesPart is wrong
    return directory / "sweep"


def names(folder):
    """The files of a sweep; what a killed program was writing has a name that nobody knows.

    But for the figures: which cases have one of their own depends on how their times scatter.
    """
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.parent.name != "figures"}


def rounds_of(folder):
    """How many rounds the cases of a folder have, by job."""
    found = {}
    for path in folder.glob("*/result.json"):
        row = json.loads(path.read_text())
        found[path.parent.name] = 0 if row["status"] == "not_run" else row.get("rounds") or ROUNDS
    return found


def moments(seed):
    """When a sweep is killed: early, and in the middle of a later round."""
    drawn = random.Random(seed)
    early, late = drawn.randrange(1, JOBS), drawn.randrange(1, JOBS - 2)
    return {
        f"after {early} rows": lambda folder: len(rounds_of(folder)) >= early,
        f"after {late} cases of round 2": lambda folder: sum(n >= 2 for n in rounds_of(folder).values()) >= late + 2,
    }


@pytest.mark.parametrize("moment", moments(20))
def test_a_killed_sweep_is_made_whole(moment, uninterrupted, tmp_path):
    """After kill -9 of all its processes, the table is whole, and resuming leaves what an uninterrupted sweep leaves."""
    folder = tmp_path / "sweep"
    process = start(tmp_path, *SWEEP, "hydra.sweep.dir=sweep")
    wait_until(lambda: folder.is_dir() and moments(20)[moment](folder), process)
    kill_all(process)
    if (folder / "results.csv").exists():
        assert set(table(folder)["status"]) <= {"ok", "mismatch", "not_run"}
    finished = {job for job, rounds in rounds_of(folder).items() if rounds >= ROUNDS}
    kept = {p: p.read_bytes() for job in finished for p in [folder / job / "result.json"]}
    kept |= {p: p.read_bytes() for job in finished for p in folder.glob(f"samples/*-{job}.npy")}
    earlier = {p: np.load(p) for p in folder.glob("samples/*.npy")}
    record = (folder / "multirun.yaml").stat()
    begun = json.loads((folder / "environment.json").read_text())

    done = resume("/", folder)

    assert done.returncode == 1, done.stderr
    assert f"{len(finished)} of {JOBS} cases are finished" in done.stderr
    assert names(folder) == names(uninterrupted)
    assert rows(folder) == rows(uninterrupted)
    for name in ("plan.json", "0/.hydra/config.yaml", "5/.hydra/overrides.yaml", "3/case.json"):
        assert (folder / name).read_bytes() == (uninterrupted / name).read_bytes()
    again = (folder / "multirun.yaml").stat()
    assert (again.st_ino, again.st_mtime_ns) == (record.st_ino, record.st_mtime_ns), "Hydra would not write it whole"
    assert all(path.read_bytes() == bytes_ for path, bytes_ in kept.items())
    for path, samples in earlier.items():
        job = path.stem.rpartition("-")[2]
        rounds = json.loads((folder / job / "result.json").read_text())["rounds"]
        assert rounds == ROUNDS
        whole = np.load(path)
        assert len(whole) == 20 * ROUNDS
        # A round whose row was not written yet is measured again; those before it are not.
        before = samples[samples["round"] < samples["round"].max()]
        assert np.array_equal(whole[: len(before)], before)
    known = json.loads((folder / "environment.json").read_text())
    assert known["command"] == begun["command"]
    assert known["started_utc"] == begun["started_utc"]
    assert len(known["resumed_utc"]) == 1
    assert "report.html" in done.stdout


def test_a_sweep_in_batches_of_an_older_version_is_resumed(tmp_path):
    """Every job that was planned is run, and one sentence says that further ones are not known."""
    done = call(tmp_path, "block=64,128,256", "size=3000", "device=cpu", "hydra.sweep.dir=sweep")
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "sweep"
    planned_one_by_one(folder)
    (folder / "1" / "result.json").unlink()
    (folder / "2" / "case.json").unlink()  # as if it had been killed before it planned the last job
    for file in ("result.json", "../plan.json"):
        (folder / "2" / file).unlink()
    first = (folder / "0" / "result.json").read_bytes()
    done = resume(tmp_path, "sweep")
    assert done.returncode == 0, done.stderr
    assert "planned one by one" in done.stderr
    rows = table(folder)
    assert list(rows["status"]) == ["ok"] * 2
    assert set(rows["launcher"]) == {"batch"}
    assert (folder / "0" / "result.json").read_bytes() == first


def test_a_complete_sweep_is_reported_again(uninterrupted, tmp_path):
    """Of a sweep that lacks nothing, table and report are made again, wherever the folder is; the status is its rows'."""
    folder = tmp_path / "moved, and (elsewhere)" / "sweep"
    shutil.copytree(uninterrupted, folder)
    before = content(folder)
    (folder / "results.csv").unlink()
    (folder / "1" / "case.json").write_text("{")
    (folder / "report.html").unlink()
    done = resume(tmp_path, folder)
    assert done.returncode == 1, done.stderr
    assert f"the sweep is complete: {JOBS} of {JOBS} cases are finished" in done.stderr
    assert content(folder) == before


@pytest.mark.parametrize("value", [float("inf"), [32], "many"])
@pytest.mark.parametrize("command", [("resume", "sweep"), ("profile", "sweep", "races")])
def test_a_damaged_row_of_a_complete_sweep_is_one_sentence(value, command, uninterrupted, tmp_path):
    """A number of threads that no integer of the table can be."""
    folder = shutil.copytree(uninterrupted, tmp_path / "sweep")
    row = json.loads((folder / "0" / "result.json").read_text())
    (folder / "0" / "result.json").write_text(json.dumps({**row, "block_x": value}))
    module, *words = command
    done = call(tmp_path, *words, module=f"runner.{module}")
    assert done.returncode == 2, done.stderr
    assert f"block_x={value!r}: no whole number; a row in the run's folder is damaged" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_of_an_older_version_goes_on_as_one_of_today(uninterrupted, tmp_path):
    """Another device is refused, though the settings of then had a key more; old times give way to new ones."""
    folder = tmp_path / "sweep"
    shutil.copytree(uninterrupted, folder)
    for path in folder.glob("[0-9]/case.json"):
        case = json.loads(path.read_text())
        case["asked"]["recording"] = ""
        path.write_text(json.dumps(case))
    path, row_file = folder / "environment.json", folder / "0" / "result.json"
    known = json.loads(path.read_text())
    (name,) = known["devices"]
    known["devices"][name]["asked"]["recording"] = ""
    row = json.loads(row_file.read_text())
    row.update(median_us=9e9, gflops=1.0, q1_us=8e9, emulated_us=None, rounds=ROUNDS - 1)
    row_file.write_text(json.dumps(row))
    path.write_text(json.dumps({**known, "devices": {name: {**known["devices"][name], "name": "another"}}}))
    assert "device.name changed" in resume(tmp_path, "sweep").stderr
    path.write_text(json.dumps(known))
    assert resume(tmp_path, "sweep").returncode == 1  # writesPart is wrong
    assert list(json.loads(path.read_text())["devices"]) == [name]
    again = json.loads(row_file.read_text())
    assert again["rounds"] == ROUNDS
    assert again["median_us"] is again["gflops"] is again["q1_us"] is None
    assert read(folder).frame["emulated_us"][0] == again["emulated_us"] < 9e9


def test_what_a_power_cut_tore_is_measured_again(uninterrupted, tmp_path):
    """A case whose row or samples cannot be read is run again, in a folder that was moved; half a file goes away."""
    folder = tmp_path / "moved, and (elsewhere)" / "sweep"
    shutil.copytree(uninterrupted, folder)
    (folder / "0" / "result.json").write_bytes(b"")
    (torn,) = folder.glob("samples/*-2.npy")
    torn.write_bytes(torn.read_bytes()[:100])
    (folder / "1" / "case.json").write_bytes(b"{")
    (folder / "samples" / ".half.npy.abcd_123").write_bytes(b"half")
    kept = (folder / "3" / "result.json").read_bytes()
    done = resume(tmp_path, folder)
    assert done.returncode == 1, done.stderr
    assert "4 of 6 cases are finished" in done.stderr
    assert names(folder) == names(uninterrupted)
    assert table(folder)["rounds"].equals(table(uninterrupted)["rounds"])
    assert (folder / "3" / "result.json").read_bytes() == kept


def test_a_sweep_that_is_running_is_refused(tmp_path):
    """While a sweep writes into its folder, it is not taken up a second time."""
    process = start(tmp_path, "block=64,128", "size=4Mi", "device=cpu", "timing.cpu_samples=500", "hydra.sweep.dir=s")
    wait_until((tmp_path / "s" / "plan.json").exists, process)
    done = resume(tmp_path, "s")
    assert process.poll() is None
    kill_all(process)
    assert done.returncode == 2
    assert "a sweep is running in this folder right now" in done.stderr


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Kernels of one's own, and a sweep of one of them that lacks a case."""
    directory = tmp_path_factory.mktemp("lab")
    shutil.copytree(OWN, directory / "own")
    swept = call(
        directory, "--config-dir", "own", "kernel=scaled", "block=32,64", "device=cpu", "hydra.sweep.dir=sweep"
    )
    assert swept.returncode == 0, swept.stderr
    (directory / "sweep" / "1" / "result.json").rename(directory / "expected.json")
    return directory


def test_what_changed_outside_the_folder_does_not_matter(lab, tmp_path):
    """With its kernel, headers and references changed or gone, a sweep is resumed from what it kept."""
    shutil.copytree(lab, tmp_path / "lab")
    own = tmp_path / "lab" / "own" / "kernel"
    (own / "scaled.cuh").write_text("__device__ inline float twice(float x) { return 3.0f * x; }\n")
    (own / "scaled.cu").unlink()
    (own / "my_references.py").unlink()
    done = resume(tmp_path, "lab/sweep")
    assert done.returncode == 0, done.stderr
    row, expected = (
        json.loads((tmp_path / "lab" / name).read_text()) for name in ("sweep/1/result.json", "expected.json")
    )
    assert all(row[name] == expected[name] for name in ("case", "status", "value", "mismatches", "launcher"))


def changed(folder, name, old, new):
    """A file with another text in it."""
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new))


def other_compiler(folder):
    """The host's compiler, which says that it is another one."""
    path = folder / "other++"
    path.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "other++ 99.9" && exit\nexec c++ "$@"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {"CXX": str(path)}


def without_a_plan(folder):
    """A job that neither plan.json nor its case.json tells."""
    (folder / "sweep/plan.json").write_text('{"jobs": 2')
    (folder / "sweep/1/case.json").unlink()


KEPT = "sweep/sources"
CHANGES = {
    "a kept kernel": (lambda d: changed(d, f"{KEPT}/kernels/scaled.cu", "not zero", "not nought"), "kernels/scaled.cu has"),
    "a lost kernel": (lambda d: (d / KEPT / "kernels/scaled.cu").unlink(), "its sources/ lacks scaled.cu"),
    "the device": (lambda d: changed(d, "sweep/environment.json", '"arch": "', '"arch": "old_'), "device.arch changed"),
    "the toolchain": (other_compiler, "other++ 99.9"),
    "the runner": (lambda d: changed(d, "sweep/environment.json", '"runner": "', '"runner": "0.0.'), "the runner has changed"),
    "the environment": (lambda d: (d / "sweep/environment.json").write_text("{"), "environment.json is missing or corrupt"),
    "the plan": (without_a_plan, "the plan is incomplete"),
    "a case": (lambda d: changed(d, "sweep/0/case.json", '"asked"', '"wanted"'), "case.json: is damaged"),
    "no folder": (lambda d: shutil.rmtree(d / "sweep"), "there is no such folder"),
    "an empty folder": (lambda d: [shutil.rmtree(d / "sweep"), (d / "sweep").mkdir()], "not the folder of a sweep"),
    "a file for a folder": (lambda d: [shutil.rmtree(d / "sweep"), (d / "sweep").touch()], "sweep is a file, not a run"),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_what_would_mix_rows_is_refused(change, lab, tmp_path):
    """One sentence, status 2, and no file of the folder is changed."""
    shutil.copytree(lab, tmp_path / "lab")
    make_it, words = CHANGES[change]
    further = make_it(tmp_path / "lab")
    before = content(tmp_path)
    done = resume(tmp_path, "lab/sweep", **(further if isinstance(further, dict) else {}))
    assert content(tmp_path) == before
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("runner: ")
    assert done.stderr.count("\n") == 1, done.stderr
    assert words in done.stderr


@pytest.mark.parametrize("other", [{"binary": "0" * 12}, {"gpu": "another GPU"}, {}])
def test_a_half_measured_case_of_elsewhere_is_measured_anew(other, tmp_path):
    """The first round stays if machine code and GPU are those of now; otherwise all rounds are measured."""
    assert call(tmp_path, "size=1000", "device=cpu", "timing.cpu_rounds=3", "hydra.sweep.dir=sweep").returncode == 0
    folder = tmp_path / "sweep"
    row = json.loads((folder / "0" / "result.json").read_text())
    (folder / "0" / "result.json").write_text(json.dumps({**row, "rounds": 1, **other}))
    (path,) = folder.glob("samples/*-0.npy")
    before = np.load(path)
    np.save(path, before[before["round"] == 1])
    done = resume(tmp_path, "sweep")
    assert done.returncode == 0, done.stderr
    assert list(table(folder)["rounds"]) == [row["rounds"]]
    assert (folder / "0" / "result.json").read_text().count(row["binary"]) == 1
    after = np.load(path)
    kept = after[after["round"] == 1].tolist() == before[before["round"] == 1].tolist()
    assert kept == (not other)


def test_a_sweep_that_ended_before_its_plan_is_refused(tmp_path):
    """Of a sweep that was killed while it read its configuration, nobody knows the jobs; nothing was run either."""
    process = start(tmp_path, *SWEEP, "hydra.sweep.dir=sweep")
    wait_until((tmp_path / "sweep" / "0" / ".hydra" / "config.yaml").exists, process)
    kill_all(process)
    if (tmp_path / "sweep" / "plan.json").exists():
        pytest.skip("the sweep was faster")
    done = resume(tmp_path, "sweep")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "start a new sweep" in done.stderr
