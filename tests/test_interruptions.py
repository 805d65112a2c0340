"""Whatever ends a sweep, a signal or a disk that is full: what was finished can be read, nobody is left behind, nothing is torn."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from mistakes import write_files
from processes import (
    OWN,
    PATIENCE_S,
    call,
    cold_cache,
    content,
    environment,
    kill_all,
    members,
    start,
    table,
    wait_until,
)

from runner.files import scratch
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
            assert "python -m runner resume sweep" in page
            assert f"{(rows['rounds'] < 40).sum()} cases have fewer rounds than planned" in page
    if stage != "report":
        assert "python -m runner resume sweep" in err


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
    said = subprocess.check_output([sys.executable, "-c", SWALLOWED], env=environment(), text=True, timeout=PATIENCE_S)
    assert said.split("\n") == ["swallowed KeyboardInterrupt", "heard again", ""]


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
    """`python -m runner report` first rebuilds a table that was left behind, from the rows that are there."""
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


def test_what_a_killed_compiler_left_is_removed_by_the_next_start(tmp_path):
    """A kill -9 while compiling leaves a folder in the temporary folder; the next sweep removes it, not those in use."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    variables = {**cold_cache(tmp_path), "TMPDIR": str(temporary)}
    left = lambda: list(temporary.glob(f"{scratch.PREFIX}*"))  # noqa: E731
    process = start(tmp_path, "kernel=reduceShfl", *SMALL, **variables)
    wait_until(left, process)
    process.kill()
    process.communicate()
    assert left()
    with scratch.folder(temporary) as used:
        for folder in left():
            os.utime(folder, (0, 0))
        done = call(tmp_path, "kernel=reduceShfl", *SMALL, **variables)
        assert done.returncode == 0, done.stderr
        assert left() == [used]
    assert not left()


def test_what_a_killed_dry_run_left_is_removed_by_the_next_one(tmp_path):
    """It composes its cases in a folder of its own in the temporary folder."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    sizes = ",".join(map(str, range(1, 3001)))
    process = start(tmp_path, "--dry-run", "device=cpu", f"size={sizes}", TMPDIR=str(temporary))
    wait_until(lambda: list(temporary.iterdir()), process)
    process.kill()
    process.communicate()
    (left,) = temporary.iterdir()
    os.utime(left, (0, 0))
    done = call(tmp_path, "--dry-run", "device=cpu", TMPDIR=str(temporary))
    assert done.returncode == 0, done.stderr
    assert not list(temporary.iterdir())


def test_sweeps_that_start_together_do_not_disturb_each_other(tmp_path):
    """Two sweeps of one second, with one cold cache and the same kernels, have a folder each and right rows."""
    cold, cache = cold_cache(tmp_path), tmp_path / "cache"
    arguments = ("--config-dir", OWN, "kernel=saxpy,scaled", "block=64", *SMALL)
    started = [start(tmp_path, *arguments, **cold) for _ in range(2)]
    for process in started:
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, err
    folders = sorted(tmp_path.glob("outputs/*/*"))
    assert len(folders) == 2
    first, second = (table(f) for f in folders)
    for rows in (first, second):
        assert list(rows["status"]) == ["ok"] * 2
        assert (rows["mismatches"] == 0).all()
        assert list(rows["job"]) == [0, 1]
    for name in ("case", "value", "reference", "binary"):
        assert list(first[name].fillna("")) == list(second[name].fillna(""))
    for name in ("plan.json", "sources/kernels/scaled.cu"):
        assert content(folders[0])[Path(name)] == content(folders[1])[Path(name)]
    assert not [*cache.rglob(".new-*"), *cache.rglob(f"{scratch.PREFIX}*")]
    assert json.loads((folders[0] / "environment.json").read_text())["command"].startswith("python -m runner")


SHORT = ("size=64Ki", "device=cpu", "lines=false", "racecheck=none")

FILLING = """
import subprocess, sys, time
from pathlib import Path
here, runner = Path.cwd(), [sys.executable, "-m"]
subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=3m,{sys.argv[1]}", "tmpfs", here / "disk"], check=True)
folder = here / "disk" / "sweep"
sweep = subprocess.Popen([*runner, "runner", *sys.argv[3:], f"hydra.sweep.dir={folder}"], stderr=subprocess.PIPE, text=True)
while sweep.poll() is None and not (len([*folder.glob("*/result.json")]) > 1 and (folder / "results.csv").exists()):
    time.sleep(0.002)
if sys.argv[2] == "full":
    with open(here / "disk" / "filler", "wb", 0) as filler:
        try:
            while True:
                filler.write(bytes(512))
        except OSError:
            pass
else:
    sweep.kill()
    sweep.wait()
    subprocess.run(["mount", "-o", "remount,ro", here / "disk"], check=True)
    sweep = subprocess.Popen([*runner, "runner.resume", folder], stderr=subprocess.PIPE, text=True)
print(sweep.communicate()[1])
print("status", sweep.returncode)
print("finished", sum('"ok"' in p.read_text() for p in folder.glob("*/result.json")))
print("header", (folder / "results.csv").read_text().partition(",")[0])
if sys.argv[2] == "full":
    (here / "disk" / "filler").unlink()
else:
    subprocess.run(["mount", "-o", "remount,rw", here / "disk"], check=True)
again = subprocess.run([*runner, "runner.resume", folder], capture_output=True, text=True)
print("again", again.returncode, again.stderr)
print("rows", (folder / "results.csv").read_text().count(",ok,"))
print("aside", [p.name for p in folder.rglob(".*") if p.name.startswith(".res")])
"""


def cannot_mount(directory):
    """Why no small disk can be mounted here; empty if one can be."""
    done = subprocess.run(
        ["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", str(directory)], capture_output=True, text=True, check=False
    )
    return done.stderr


@pytest.mark.parametrize(
    ("how", "words"), [("full", "No space left on device"), ("read-only", "Read-only file system")]
)
def test_a_disk_that_takes_no_more_ends_a_sweep_in_one_sentence(how, words, tmp_path):
    """What and where, status 1, what was finished can be read, and resume does the rest when there is room again."""
    if why := cannot_mount(tmp_path):
        pytest.skip(f"no disk can be mounted: {why}")
    (tmp_path / "disk").mkdir()
    arguments = ("--config-dir", str(OWN), "kernel=saxpy", "factor=2,3,5,7", "size=512Ki", "device=cpu",
                 "lines=false", "racecheck=none", "timing.cpu_samples=50")  # fmt: skip
    done = subprocess.run(
        ["unshare", "-rm", sys.executable, "-c", FILLING, "mode=755", how, *arguments],
        cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (told,) = re.findall(r"^runner: .*", done.stdout, re.MULTILINE)
    assert f"{tmp_path}/disk/sweep" in told
    assert words in told
    assert "Traceback" not in done.stdout
    assert "status 1\n" in done.stdout
    assert int(re.search(r"finished (\d)", done.stdout)[1]) >= 1
    assert "header case" in done.stdout
    assert ("python -m runner resume" in told) == (how == "full")
    assert "again 0 " in done.stdout
    assert "rows 4" in done.stdout
    assert "aside []" in done.stdout  # also what a kill left half written where nothing could be removed


SMALL_DISK = {  # which folder is on a disk of so many KiB, the sweep, and what is said, or not said
    "the cache": (32, "cache", "hydra.sweep.dir=sweep", ["the cache of compiled kernels"], []),
    "the sources": (96, "disk", "block=64,128 hydra.sweep.dir=disk/sweep", ["nothing was measured"], ["resume"]),
    "the plan": (24, "disk", "block=64,128 hydra.sweep.dir=disk/sweep", [], ["resume"]),  # it would refuse the folder
}


@pytest.mark.parametrize("what", SMALL_DISK)
def test_a_disk_without_room_from_the_first_ends_a_sweep_in_one_sentence(what, tmp_path):
    """No case counts as one that does not compile, and no command is named that would refuse the folder."""
    if why := cannot_mount(tmp_path):
        pytest.skip(f"no disk can be mounted: {why}")
    kib, name, sweep, said, unsaid = SMALL_DISK[what]
    (tmp_path / name).mkdir()
    line = f"mount -t tmpfs -o size={kib}k tmpfs {name} && exec {sys.executable} -m runner {sweep} {' '.join(SHORT)}"
    further = cold_cache(tmp_path) if what == "the cache" else {}
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", line],
        cwd=tmp_path, env=environment(**further), capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert all(words in done.stderr for words in said)
    assert not any(words in done.stderr for words in unsaid)
    assert not list(tmp_path.glob("sweep/*/result.json"))


def test_a_program_may_end_while_the_library_is_compiled(tmp_path):
    """A program that ends as soon as its library's compilation has begun prints nothing."""
    code = "from runner.device.cpu.backend import start_compiler; start_compiler('auto')"
    own = environment(XDG_CACHE_HOME=str(tmp_path))
    ended = subprocess.run([sys.executable, "-c", code], env=own, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
