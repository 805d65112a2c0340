"""Whatever ends a sweep: what was finished can be read, nobody is left behind, and nothing is torn."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from mistakes import write_files
from processes import OWN, PATIENCE_S, call, content, environment, kill_all, members, start, table, wait_until

from runner.sweep.session import Session

SMALL = ("device=cpu", "size=1000")
LONG = ("block=64,128,256,512", "size=256Ki", "device=cpu", "timing.cpu_samples=20", "hydra.sweep.dir=sweep")


def holds(folder, pattern):
    """Whether a file of that pattern is there."""
    return any(folder.rglob(pattern))


STAGES = {
    "composing": lambda sweep, _: (sweep / "multirun.yaml").exists(),
    "compiling": lambda _, cache: holds(cache, ".new-*"),
    "measuring": lambda sweep, _: len(list(sweep.glob("*/result.json"))) >= 2,
    "rounds": lambda sweep, _: any('"rounds": 2' in p.read_text() for p in sweep.glob("*/result.json")),
    "report": lambda sweep, _: (sweep / "results.csv").exists(),
}
FAST = ("block=64,128,256,512", "size=64Ki", "device=cpu", "timing.cpu_rounds=40", "hydra.sweep.dir=sweep")
QUICK = ("block=64,128,256,512", "size=64Ki", "device=cpu", "hydra.sweep.dir=sweep")


def started_until(reached, directory, *arguments, **environment):
    """A sweep that has come to a point; on a busy machine it may be over before that is seen, and is started again."""
    for _ in range(5):
        shutil.rmtree(directory / "sweep", ignore_errors=True)
        process = start(directory, *arguments, **environment)
        wait_until(reached, process)
        if process.poll() is None:
            return process
        process.communicate()
    raise AssertionError("the sweep was over each time")


@pytest.mark.parametrize("left", ["", "3/result.json", "shards/0/1/rows.jsonl"])
def test_a_folder_from_which_jobs_were_started_stays(left, tmp_path):
    """Submitted jobs and finished rows keep a new folder; one that nothing was started from goes."""
    session = Session()
    folder = session.reserve(tmp_path / "sweep", exactly=True)
    write_files(folder.path, {"environment.json": "{}", **({left: "{}"} if left else {})})
    session.discard_if_unused()
    assert folder.path.exists() == bool(left)


@pytest.mark.parametrize("stage", STAGES)
def test_ctrl_c_ends_a_sweep_at_any_stage(stage, tmp_path):
    """Pressed twice, at any stage: status 130, no traceback, no process left; what was not reached is not_run."""
    arguments = {"rounds": FAST, "report": QUICK}.get(stage, LONG)
    cache = tmp_path / "cold" if stage == "compiling" else Path(os.environ["XDG_CACHE_HOME"])
    folder = tmp_path / "sweep"
    process = started_until(lambda: STAGES[stage](folder, cache), tmp_path, *arguments, XDG_CACHE_HOME=str(cache))
    for _ in range(2):  # a terminal sends it to all processes of the group
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.05)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    assert "Traceback" not in out + err
    wait_until(lambda: not members(process))
    if stage in ("composing", "compiling") and not folder.exists():
        return  # nothing was planned yet, so nothing is left
    rows = table(folder)
    assert len(rows) == 4
    assert set(rows["status"]) <= {"ok", "not_run"}
    assert (rows["samples"].notna() == (rows["status"] == "ok")).all()
    match stage:
        case "compiling":
            assert list(rows["status"]) == ["not_run"] * 4
        case "measuring":
            assert {"ok", "not_run"} == set(rows["status"])
        case "rounds":
            assert list(rows["status"]) == ["ok"] * 4
            assert rows["rounds"].min() < 40
            page = (folder / "report.html").read_text()
            assert "Not finished" in page
            assert "python -m runner.resume outputs/.../sweep" in page
            assert f"{(rows['rounds'] < 40).sum()} cases with fewer rounds than planned" in page
    if stage != "report":
        assert "python -m runner.resume sweep" in err


SWALLOWED = """
import os, signal
from runner import interruption
interruption.listen()
for sent in (signal.SIGINT, signal.SIGTERM):
    try:
        os.kill(os.getpid(), sent)
    except BaseException as e:
        print("swallowed", type(e).__name__)
try:
    interruption.check()
except KeyboardInterrupt:
    print("heard again")
"""


def test_ctrl_c_is_not_lost():
    """The first signal interrupts; one that code of others swallows is raised again where the next case begins."""
    done = subprocess.run(
        [sys.executable, "-c", SWALLOWED],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert done.stdout.split("\n") == ["swallowed KeyboardInterrupt", "heard again", ""]


def test_a_batch_systems_sigterm_is_ctrl_c(tmp_path):
    """After SIGTERM to the program alone, the finished rows are there, the others are not_run, and the status is 130."""
    folder = tmp_path / "sweep"
    process = started_until(lambda: any(folder.glob("*/result.json")), tmp_path, *LONG)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    assert "Traceback" not in out + err
    wait_until(lambda: not members(process))
    assert {"ok", "not_run"} == set(table(folder)["status"])


def test_the_report_of_a_killed_sweep_has_all_that_was_finished(tmp_path):
    """`python -m runner.report` first rebuilds a table that was left behind, from the rows that are there."""
    folder = tmp_path / "sweep"
    process = started_until(lambda: len(list(folder.glob("*/result.json"))) >= 2, tmp_path, *LONG)
    kill_all(process)
    (folder / "results.csv").unlink(missing_ok=True)  # a running sweep writes it late
    done = call(tmp_path, "sweep", module="runner.report")
    assert done.returncode == 0, done.stderr
    statuses = list(table(folder)["status"])
    assert len(statuses) == 4
    assert statuses.count("ok") >= 2
    assert (folder / "report.html").is_file()
    before = (folder / "results.csv").read_bytes()
    for torn in (before[: len(before) * 6 // 10], bytes(range(256)), b""):  # as a power cut may leave it
        (folder / "results.csv").write_bytes(torn)
        assert call(tmp_path, "sweep", module="runner.report").returncode == 0
        assert (folder / "results.csv").read_bytes() == before
    for job in ("1", "2"):  # a folder that was passed on without the jobs' rows keeps its table
        shutil.rmtree(folder / job)
    assert call(tmp_path, "sweep", module="runner.report").returncode == 0
    assert (folder / "results.csv").read_bytes() == before


def test_a_killed_sweep_leaves_no_process_behind(tmp_path):
    """A kill -9 of the program alone ends its worker, too, though it is in the middle of a launch."""
    process = start(tmp_path, *LONG, "timing.cpu_samples=200")
    wait_until((tmp_path / "sweep" / "plan.json").exists, process)
    wait_until(lambda: len(members(process)) > 1, process)
    assert len(members(process)) > 1
    process.kill()
    process.communicate()
    wait_until(lambda: not members(process))


def test_sweeps_that_start_together_do_not_disturb_each_other(tmp_path):
    """Two sweeps of one second, with one cold cache and the same kernels, have a folder each and right rows."""
    cache = tmp_path / "cold"
    arguments = ("--config-dir", OWN, "kernel=saxpy,scaled", "block=64,128", *SMALL)
    started = [start(tmp_path, *arguments, XDG_CACHE_HOME=str(cache)) for _ in range(2)]
    for process in started:
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, err
    folders = sorted(tmp_path.glob("outputs/*/*"))
    assert len(folders) == 2
    first, second = (table(f) for f in folders)
    for rows in (first, second):
        assert list(rows["status"]) == ["ok"] * 4
        assert (rows["mismatches"] == 0).all()
        assert list(rows["job"]) == [0, 1, 2, 3]
    for name in ("case", "value", "reference", "binary"):
        assert list(first[name].fillna("")) == list(second[name].fillna(""))
    for name in ("plan.json", "sources/kernels/scaled.cu"):
        assert content(folders[0])[Path(name)] == content(folders[1])[Path(name)]
    assert not list(cache.rglob(".new-*"))
    assert json.loads((folders[0] / "environment.json").read_text())["command"].startswith("python -m runner")
