"""`python -m runner list`: the run folders, newest first, with what was run and what came of it."""

import contextlib
import fcntl
import io
import json
import re
import shlex
import shutil
import signal
import time
from pathlib import Path

import pytest
from processes import PATIENCE_S, start
from report.report_runs import COLUMNS, ENVIRONMENT, emulated, failed, failures, row, sweep, timing, write
from rich.console import Console
from support import ROOT

from runner.commands import overview
from runner.commands.list import main
from runner.record.run import read
from runner.report.findings import judge

HEADS = ["folder", "started", "what", "device", "cases", "failures", "best"]
DEVICES = {"cuda": {"kind": "cuda", "name": "NVIDIA H200"}, "cpu": {"kind": "cpu", "name": "some processor"}}


def make(folder, rows, *, minute=0, **given):
    """A run's folder, started at that minute."""
    known = {**ENVIRONMENT, "devices": DEVICES, "started_utc": f"2026-01-02T03:{minute:02d}:05+00:00", **given}
    return write(folder, rows, environment=known, columns=(*COLUMNS, "shuffle"))


@pytest.fixture(autouse=True)
def _utc(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def printed(directory, folder="outputs", most=20):
    """What the command prints."""
    out = io.StringIO()
    with contextlib.chdir(directory), contextlib.redirect_stdout(out):
        overview.print_runs(Path(folder), most)
    return out.getvalue()


def listed(directory, *arguments):
    """The runs, by the heads of the columns; only the last cell may be empty."""
    head, *lines = printed(directory, *arguments).splitlines()
    assert re.split(" {2,}", head.strip()) == HEADS
    return [dict(zip(HEADS, re.split(" {2,}", line.strip()), strict=False)) for line in lines]


def test_a_search_that_has_not_ended_is_interrupted(tmp_path):
    """All its cases have rows, but more would follow: neither the list nor the verdict calls it finished."""
    folder = make(tmp_path / "outputs" / "a", sweep())
    (folder / "search.jsonl").write_text("")
    for ended, word, level in (("", "interrupted", "partial"), ("the budget is spent", "none", "good")):
        (folder / "search.json").write_text(json.dumps({"ended": ended}))
        assert [run["failures"] for run in listed(tmp_path)] == [word]
        assert judge(read(folder)).level == level


def test_runs_are_listed_newest_first(tmp_path):
    """Each with its folder, its start, its kernels or experiment, its devices, cases, failures and fastest case."""
    outputs = tmp_path / "outputs"
    make(outputs / "2026-01-02" / "b", sweep(), minute=1)
    make(outputs / "2026-01-02" / "a", emulated(), minute=2, command="python -m runner experiment=ladder device=cpu")
    two = [row(0) | timing(7.5, 2**24), row(1, kernel="reduceSmem") | timing(9, 2**24)]
    make(outputs / "c", two, minute=0)
    assert listed(tmp_path) == [
        {"folder": "outputs/2026-01-02/a", "started": "2026-01-02 03:02 UTC", "what": "experiment ladder",
         "device": "the CPU device (emulated)", "cases": "6", "failures": "none"},
        {"folder": "outputs/2026-01-02/b", "started": "2026-01-02 03:01 UTC", "what": "6 kernels",
         "device": "NVIDIA H200", "cases": "72", "failures": "none",
         "best": "reduceShflUnroll, block 256 at 2^24: 27.6 µs"},
        {"folder": "outputs/c", "started": "2026-01-02 03:00 UTC", "what": "reduceShfl, reduceSmem",
         "device": "NVIDIA H200", "cases": "2", "failures": "none", "best": "reduceShfl at 2^24: 7.50 µs"},
    ]  # fmt: skip


def shuffles():
    """Launches of one block that only shuffle: their times are no news."""
    return [row(n, kernel=f"k{n}", shuffle="down 2", grid="1") | timing(2 + n, 32) for n in range(3)]


def on_both():
    """A sweep on the GPU and on the CPU device, which has more cases of one kind."""
    return [*sweep(blocks=(256,))[:8], *(r | {"device": "cpu", "gbps": ""} for r in sweep(blocks=(128,)))]


SWEEPS = {
    "a GPU's": sweep, "emulated": emulated, "with failures": failures, "shuffles alone": shuffles, "on both": on_both,
    "of one case": lambda: sweep()[:1],
    "of two finishes": lambda: [*sweep()[:8], *(r | {"finish": "device", "median_us": 1.5} for r in sweep()[:3])],
    "of nothing to compare": lambda: [r | {"family": str(n)} for n, r in enumerate(sweep()[:3])],
}  # fmt: skip


@pytest.mark.parametrize("which", [*SWEEPS, "measured"])
def test_list_and_report_name_the_same_case(which, tmp_path):
    """The fastest case of the list is the one that the report's first sentence names; where it names none, there is none."""
    if which == "measured":
        shutil.copytree(ROOT / "tests" / "h200_sweep", tmp_path / "run")
    else:
        make(tmp_path / "run", SWEEPS[which]())
    best = overview.read(tmp_path / "run").best
    headline = judge(read(tmp_path / "run")).headline
    assert bool(best) == ("µs" in headline)
    if not best:
        return
    names, time = best.split(": ")
    assert re.search(rf"(\(|takes ){time}\b", headline)
    kernel, *values = names.partition(" at ")[0].split(", ")
    assert re.search(rf"\b{kernel}\b", headline)
    assert all(value in headline for value in values)
    assert names.partition(" at ")[2] in headline


def test_failures_and_what_was_not_reached_are_shown(tmp_path):
    """Failed cases, those that were not reached, and whether the run goes on or was interrupted; skipped ones are neither."""
    planned = [
        {"case": f"{n:08x}", "kernel": "reduceShfl", "parameters": {}, "job": n, "device": "cuda"} for n in range(5)
    ]
    right = row(0) | timing(9, 2**24)
    make(tmp_path / "failed", [right, failed(1, "mismatch", "wrong"), failed(2, "hazard", "racy")], minute=3)
    make(tmp_path / "skipped", [right, failed(1, "skipped", "too wide")], minute=2)
    for name, minute in (("interrupted", 1), ("running", 0)):
        make(tmp_path / name, [right, failed(1, "crashed", "gone")], minute=minute)
        (tmp_path / name / "plan.json").write_text(json.dumps({"jobs": 5, "cases": planned}))
    with (tmp_path / "running" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = {line["folder"]: (line["cases"], line["failures"]) for line in listed(tmp_path, ".")}
    assert found == {
        "failed": ("3", "2 failed"),
        "skipped": ("2", "none"),
        "interrupted": ("5", "interrupted, 1 failed, 3 not run"),
        "running": ("5", "running, 1 failed, 3 not run"),
    }


def test_torn_and_foreign_folders_do_not_break_the_list(tmp_path):
    """What cannot be read of a run is left out; the others are shown, and a folder that is no run is not there."""
    make(tmp_path / "whole", [row() | timing(9, 2**24)])
    for name, files in {
        "empty table": {"results.csv": b""},
        "no table at all": {"results.csv": b'\xff\x00\xfe,,\n"', "environment.json": b"[1, 2]"},
        "other columns": {"results.csv": b"a,b\n1,2\n", "environment.json": b'{"started_utc": 7, "command": "a \' b"}'},
        "other values": {"results.csv": b"kernel,status,median_us,size\nk,ok,fast,big\n",
                         "plan.json": b'{"cases": [{"case": "x", "job": 1, "parameters": [1]}]}',
                         "environment.json": b'{"devices": {"cuda": 3}, "started_utc": "0001-01-01T00:00:00+23:00"}'},
        "begun": {"plan.json": b'{"cases": [{"kernel": "reduceShfl"}, {"kernel": "reduceShfl"}]}',
                  "environment.json": b'{"started_utc": "2026-01-02T0'},
        "deep": {"plan.json": b"[" * 100_000, "environment.json": b'{"a":' * 100_000},
        "no run": {"notes.txt": b"mine"},
    }.items():  # fmt: skip
        (tmp_path / name).mkdir()
        for file, content in files.items():
            (tmp_path / name / file).write_bytes(content)
    out = printed(tmp_path, ".")
    lines = {shlex.split(line)[0]: line for line in out.splitlines()[1:]}
    names = {"whole", "empty table", "no table at all", "other columns", "other values", "begun"}
    assert set(lines) == names | {"Skipped"}
    assert "deep" in lines["Skipped"]
    assert "reduceShfl at 2^24: 9.00 µs" in lines["whole"]
    for name in ("empty table", "no table at all", "other columns", "other values"):
        assert "results.csv cannot be read" in lines[name]
    assert re.search(r"reduceShfl +2  no results.csv, 2 not run", lines["begun"])


def test_folders_can_be_pasted(tmp_path):
    """Whatever a folder is called, the list has its name as a shell takes it, relative to where the command is given."""
    names = ["plain", "a b", "it's", 'say "so"', "$HOME", "a,b=c", "[1]", "é漢字", "x" * 120]
    for name in names:
        make(tmp_path / "lab" / name, [row() | timing(9, 2**24)])
    (tmp_path / "here").mkdir()
    for directory, prefix in ((tmp_path, "lab"), (tmp_path / "here", str(tmp_path / "lab"))):
        lines = printed(directory, tmp_path / "lab").splitlines()[1:]
        assert {shlex.split(line)[0] for line in lines} == {f"{prefix}/{name}" for name in names}


def test_so_many_are_shown_as_asked_for(tmp_path):
    """Of more runs than 20, or than -n says, the newest are shown, and how all are."""
    for minute in range(23):
        make(tmp_path / "outputs" / f"r{minute}", [row() | timing(9, 2**24)], minute=minute)
    lines = printed(tmp_path).splitlines()
    assert lines[0].split()[0] == "folder"
    assert [line.split()[0] for line in lines[1:-1]] == [f"outputs/r{n}" for n in range(22, 2, -1)]
    assert lines[-1] == "3 more; `python -m runner list -n 23` shows all."
    few = printed(tmp_path, "outputs", 2).splitlines()
    assert [line.split()[0] for line in few[1:]] == ["outputs/r22", "outputs/r21", "21"]
    assert len(printed(tmp_path, "outputs", 23).splitlines()) == 24
    for wrong in ("0", "-1", "few"):
        with pytest.raises(SystemExit, match="2"):
            main([f"-n={wrong}"])


def test_without_runs_it_says_how_to_make_one(tmp_path):
    """Where there are no runs yet, one sentence says how to make one."""
    assert printed(tmp_path) == "No runs below outputs yet; `python -m runner device=cpu` makes one.\n"
    (tmp_path / "lab").mkdir()
    assert printed(tmp_path, "lab") == "No runs below lab.\n"


@pytest.mark.parametrize("width", [60, 80, 200])
def test_a_terminal_shows_folders_whole(width, tmp_path):
    """In a terminal of any width no folder is cut, and what does not fit beside it stands below, in lines that fit."""
    name = "14-51-17-reduceGmem+reduceSmem+reduceShfl+reduceShflUnroll"
    make(tmp_path / name, sweep())
    make(tmp_path / "other", failures())
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=True, color_system=None)
    found = [overview.read(tmp_path / n) for n in (name, "other")]
    overview.show(found, console)
    lines = out.getvalue().splitlines()
    assert sum(str(tmp_path / name) in line for line in lines) == 1
    assert "…" not in out.getvalue()
    beside = [line for line in lines if line.startswith("    ")]
    assert all(len(line) <= width for line in beside)
    assert " ".join(out.getvalue().split()).count("reduceShflUnroll, block 256 at 2^24: 27.6 µs") >= 1
    if width == 80:
        assert any("72 cases" in line for line in beside)
        assert any("failed" in line for line in beside)


def test_ctrl_c_is_quiet(tmp_path):
    """While runs are read, Ctrl-C ends it with 130 and without a word."""
    make(tmp_path / "outputs" / "a", sweep())
    (tmp_path / "slow.py").write_text(
        "import time\nfrom runner.commands import list, overview\n"
        "overview.read = lambda path: (print('reading', flush=True), time.sleep(600))\nraise SystemExit(list.main([]))\n"
    )
    process = start(tmp_path, module="slow")
    assert process.stdout.readline() == "reading\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out, err) == (130, "", "runner: interrupted\n")
