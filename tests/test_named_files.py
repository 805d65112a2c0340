"""A file that a user names for a result: devices, pipes and runs are never replaced, and a mistake is one sentence."""

import os
import shutil
import stat
import tempfile
import threading
from pathlib import Path

import pytest
from processes import run

NAMES = ("compare", "judge", "report", "history")
WORDS = {
    "compare": ("a", "b", "--csv", "{}"),
    "judge": ("a", "--baseline", "reduceSmem", "--junit", "{}"),
    "report": ("a", "--to", "{}"),
    "history": ("a", "b", "--to", "{}"),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A folder with two runs of two kernels."""
    folder = tmp_path_factory.mktemp("named")
    done = run(folder, "kernel=reduceShfl,reduceSmem", "size=1000", "device=cpu", "hydra.sweep.dir=a")
    assert done.code == 0, done.err
    shutil.copytree(folder / "a", folder / "b")
    return folder


def command(folder, name, path):
    """A command that writes its result to the path; what it printed, without a traceback."""
    module = {
        "compare": "runner.compare",
        "report": "runner.report",
        "history": "runner.history",
        "judge": "runner.judge",
    }
    done = run(folder, *(word.format(path) for word in WORDS[name]), module=module[name])
    assert "Traceback" not in done.err
    return done


@pytest.mark.parametrize("name", NAMES)
def test_a_device_stays_a_device(runs, name, tmp_path):
    """`--junit /dev/null` discards the result. A temporary file moved there would replace the machine's /dev/null."""
    null = tmp_path / "null"
    try:
        os.mknod(null, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root may make a device")
    command(runs, name, null)
    assert stat.S_ISCHR(null.stat().st_mode)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "history"])  # which replaces its own pages alone
def test_a_pipe_gets_the_result_and_stays(runs, name, tmp_path):
    """As `>(...)` of a shell; a pipe that nobody reads is told, not waited for."""
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    assert "cannot be written" in command(runs, name, pipe).err
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    done = command(runs, name, pipe)
    reader.join(timeout=30)
    assert "cannot be written" not in done.err
    assert got[0].strip()[-1:] in (b">", b'"', b",") or got[0].count(b"\n") >= 2
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "what", ["a folder", "a link to a folder", "a circle", "too long", "a file of the run", "its lock"]
)
def test_what_cannot_be_the_file_of_a_result_is_one_sentence(runs, name, what, tmp_path):
    """It names what was given, and everything stays as it was."""
    path = tmp_path / "named"
    if what == "a folder":
        path.mkdir()
    elif what == "a link to a folder":
        (tmp_path / "there").mkdir()
        path.symlink_to("there")
    elif what == "a circle":
        path.symlink_to("named")
    elif what == "too long":
        path = tmp_path / ("x" * 300)
    else:
        path = runs / "a" / {"a file of the run": "results.csv", "its lock": ".lock"}[what]
    before = path.lstat() if what != "too long" else None
    content = (runs / "a" / "results.csv").read_bytes()
    done = command(runs, name, path)
    assert done.code == 2
    lines = [line for line in done.err.splitlines() if line.startswith("runner: ")]
    assert len(lines) == 1
    assert str(path)[:100] in lines[0]
    assert before is None or path.lstat().st_ino == before.st_ino
    assert (runs / "a" / "results.csv").read_bytes() == content


def test_a_file_in_memory_is_replaced_and_an_open_one_gets_the_result_at_its_end(runs):
    """Files of the shared memory are like any other; /dev/stdout may be a file that others write to."""
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as kept:
        for _ in range(2):
            command(runs, "compare", kept.name)
        assert Path(kept.name).read_text().count("case,") == 1
    done = command(runs, "compare", "/dev/stdout")
    assert "\ncase," in f"\n{done.out}"


def test_a_link_to_a_file_stays_a_link(runs, tmp_path):
    """The file that it leads to gets the result."""
    (tmp_path / "link").symlink_to("file")
    command(runs, "compare", tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text().startswith("case,")


@pytest.mark.parametrize("name", ["compare", "judge", "report"])
def test_a_circle_of_links_in_a_run_is_no_traceback(runs, name, tmp_path):
    """In place of its folder of sources, or of a source."""
    for what in ("sources", "sources/kernels/reduceShfl.cu"):
        folder = tmp_path / what.replace("/", "-")
        shutil.copytree(runs, folder)
        path = folder / "a" / what
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        path.symlink_to(path.name)
        for target in ("--sarif", "--junit") if name != "report" else ("--to",):
            words = [word.format("written") for word in WORDS[name][:-2]] + [target, "written"]
            done = run(folder, *words, module=f"runner.{name}")
            assert "Traceback" not in done.err


def test_a_summary_for_a_pipe_that_nobody_reads_is_told(runs, tmp_path):
    """$GITHUB_STEP_SUMMARY is a file; a pipe in its place must not stop a job for hours."""
    os.mkfifo(tmp_path / "pipe")
    done = run(runs, "a", "b", "--github", module="runner.compare", GITHUB_STEP_SUMMARY=str(tmp_path / "pipe"))
    assert done.code == 2
    assert f"GITHUB_STEP_SUMMARY={tmp_path}/pipe: No such device or address" in done.err
