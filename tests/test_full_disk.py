"""A disk that takes no more: a small one is mounted, and really filled."""

import re
import subprocess
import sys

import pytest
from processes import OWN, PATIENCE_S, environment

QUICK = ("block=64,128", "size=64Ki", "device=cpu", "lines=false", "hydra.sweep.dir=sweep")

FULL = """
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
                 "lines=false", "timing.cpu_samples=50")  # fmt: skip
    done = subprocess.run(
        ["unshare", "-rm", sys.executable, "-c", FULL, "mode=755", how, *arguments],
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
    assert "aside []" in done.stdout
    if how == "full":
        assert "python -m runner.resume" in told
        assert "again 0 " in done.stdout
        assert "rows 4" in done.stdout


SMALL = {  # which folder is on a disk of so many KiB, and what is said, or not said
    "the cache": (32, "cache", ["the cache of compiled kernels"], []),
    "the plan": (24, "disk", [], ["resume"]),  # which would refuse the folder
}


@pytest.mark.parametrize("what", SMALL)
def test_a_disk_without_room_from_the_first_ends_a_sweep_in_one_sentence(what, tmp_path):
    """No case counts as one that does not compile, and no command is named that would refuse the folder."""
    if why := cannot_mount(tmp_path):
        pytest.skip(f"no disk can be mounted: {why}")
    kib, name, said, unsaid = SMALL[what]
    (tmp_path / name).mkdir()
    line = f"mount -t tmpfs -o size={kib}k tmpfs {name} && exec {sys.executable} -m runner {' '.join(QUICK)}"
    further = {"XDG_CACHE_HOME": str(tmp_path / "cache")} if what == "the cache" else {}
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", line.replace("dir=sweep", "dir=disk/sweep") if what == "the plan" else line],
        cwd=tmp_path, env=environment(**further), capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert all(words in done.stderr for words in said)
    assert not any(words in done.stderr for words in unsaid)
    assert not list(tmp_path.glob("sweep/*/result.json"))
