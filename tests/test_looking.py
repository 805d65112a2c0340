"""Commands that only look run no code of a kernel's author, and what a YAML says is data."""

import json
import os
import subprocess
import sys

import pytest
import yaml
from processes import run

KERNEL = {
    "parameters": {"size": 100, "block": 64},
    "grid": "ceil_div(size, block)",
    "arguments": [
        {"name": "in", "role": "in", "dtype": "float32", "shape": "size", "fill": "random"},
        {"name": "out", "role": "out", "dtype": "float32", "shape": "size"},
        {"name": "n", "scalar": "int32", "value": "size"},
    ],
    "reference": "beside.expected",
}
SOURCE = """extern "C" __global__ void mine(const float* in, float* out, int n)
{ const int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = in[i]; }
"""
REFERENCE = """import os
from pathlib import Path
print("imported", file=Path({!r}).open("a"))
print(os.getppid(), file=Path({!r}).open("a"))
def expected(inputs, parameters, grid):
    return {{"out": inputs["in"]}}
"""
SWEEP = ("--config-dir", "theirs", "kernel=mine", "device=cpu")


@pytest.fixture
def theirs(tmp_path):
    """A folder of somebody else, whose reference leaves a file when it is imported; that file and its importer's."""
    folder = tmp_path / "theirs" / "kernel"
    folder.mkdir(parents=True)
    seen, parents = tmp_path / "seen", tmp_path / "parents"
    (folder / "mine.yaml").write_text(yaml.safe_dump(KERNEL))
    (folder / "mine.cu").write_text(SOURCE)
    (folder / "beside.py").write_text(REFERENCE.format(str(seen), str(parents)))
    return seen


@pytest.mark.parametrize(
    "words",
    [
        ("--help", "--config-dir", "theirs"), ("show", "--config-dir", "theirs"), ("show", "mine", "--config-dir", "theirs"),
        (*SWEEP, "--dry-run"), (*SWEEP, "--cfg", "job"), (*SWEEP, "--info"), (*SWEEP, "block=2048"),
    ],
)  # fmt: skip
def test_looking_imports_no_reference(theirs, tmp_path, words):
    """Neither help nor a dry run does, nor a sweep whose cases are all skipped."""
    done = run(tmp_path, *words)
    assert done.code in (0, 2), done.err
    assert "mine" in done.out or "--cfg" in words
    assert not theirs.exists()


def test_only_the_worker_imports_a_reference(theirs, tmp_path):
    """A sweep imports it once, in the worker; reading the run afterwards imports nothing."""
    done = run(tmp_path, *SWEEP, "hydra.sweep.dir=out")
    assert done.code == 0, done.err
    assert theirs.read_text().split() == ["imported"]
    theirs.unlink()
    for words in (("report", "out"), ("show", "out/sources/conf/kernel/mine.yaml"), ("list", "out")):
        run(tmp_path, *words)
    assert not theirs.exists()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("def other(): ...\n", "mine.yaml: reference beside.expected: the module 'beside' has no function 'expected'"),
        ("def expected(:\n", "mine.yaml: reference beside.expected: cannot be imported: SyntaxError: invalid syntax"),
        (
            "(" * 5000,
            "mine.yaml: reference beside.expected: cannot be imported: SyntaxError: too many nested parentheses",
        ),
    ],
)
def test_a_reference_is_found_wanting_by_its_text(theirs, tmp_path, text, sentence):
    """A dry run tells what is certainly wrong with it."""
    (tmp_path / "theirs" / "kernel" / "beside.py").write_text(text)
    done = run(tmp_path, *SWEEP, "--dry-run")
    assert (done.code, sentence in done.err) == (2, True), done.err


@pytest.mark.parametrize(
    "text",
    [
        "from math import *\n", "globals()['expected'] = 1\n", "if True:\n    expected = other = len\n",
        "from os.path import join as expected\n", "def __getattr__(name): ...\n",
    ],
)  # fmt: skip
def test_what_cannot_be_known_without_running_is_left_to_the_worker(theirs, tmp_path, text):
    """A function may be defined in other ways than by def."""
    (tmp_path / "theirs" / "kernel" / "beside.py").write_text(text)
    assert run(tmp_path, *SWEEP, "--dry-run").code == 0


CALLS = {
    "a callback": ("hydra: {callbacks: {x: {_target_: pathlib.Path.unlink, self: victim}}}", "no callback is run"),
    "a sweeper": ("hydra: {sweeper: {_target_: io.open, file: victim, mode: w}}", "hydra.sweeper.file: unknown key"),
    "a launcher": ("hydra: {launcher: {_target_: io.open, file: victim}}", "hydra.launcher._target_: unknown key"),
    "a handler": ("hydra: {hydra_logging: {handlers: {f: {'()': io.open, file: victim}}}}", "configures no logging"),
    "a class": ("hydra: {job_logging: {handlers: {f: {class: logging.FileHandler}}}}", "configures no logging"),
    "a device": ("device: {_target_: os.remove, path: victim}", "device._target_: unknown key"),
    "timing": ("timing: {_target_: os.remove, path: victim}", "timing._target_: unknown key"),
    "a job": ("hydra: {job: {_target_: os.remove, path: victim}}", "hydra.job._target_: unknown key"),
    "another callback": ("defaults: [{/hydra/callbacks: evil}]", "hydra/callbacks: chosen twice"),
    "an override": ("defaults: [override /hydra/callbacks: evil]", "no callback is run"),
}


@pytest.mark.parametrize("what", CALLS)
@pytest.mark.parametrize("dry", [True, False])
def test_an_experiment_is_data(theirs, tmp_path, what, dry):
    """What would name a function to call is refused in a sentence, and calls nothing."""
    text, sentence = CALLS[what]
    conf, victim = tmp_path / "theirs", tmp_path / "victim"
    victim.write_text("precious")
    for name, content in (
        ("experiment/bad.yaml", f"# @package _global_\n{text}\n"),
        ("hydra/callbacks/evil.yaml", "x: {_target_: os.remove, path: victim}\n"),
    ):
        (conf / name).parent.mkdir(parents=True, exist_ok=True)
        (conf / name).write_text(content)
    done = run(tmp_path, *SWEEP, "experiment=bad", *(["--dry-run"] if dry else []))
    assert (done.code, sentence in done.err) == (2, True), done.err
    assert done.err.count("\n") == 1
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("name", ["pipe.h", "/dev/zero"])
def test_an_include_of_a_pipe_or_a_device_is_refused(theirs, tmp_path, name):
    """The case is a compile error with the line, and no compiler waits for what never ends."""
    folder = tmp_path / "theirs" / "kernel"
    os.mkfifo(folder / "pipe.h")
    (folder / "mine.cu").write_text(f'\n#include "{name}"\n{SOURCE}')
    done = run(tmp_path, *SWEEP, "hydra.sweep.dir=out")
    assert done.code == 1, done.err
    assert f"mine.cu:2: #include {name.rpartition('/')[2]}: expected a file, not a pipe or a device" in done.out


def test_an_include_that_leads_in_a_circle_is_a_header_that_is_missing(theirs, tmp_path):
    """It is left out, and said."""
    folder = tmp_path / "theirs" / "kernel"
    (folder / "a.h").symlink_to("b.h")
    (folder / "b.h").symlink_to("a.h")
    (folder / "mine.cu").write_text(f'#include "a.h"\n{SOURCE}')
    done = run(tmp_path, *SWEEP, "hydra.sweep.dir=out")
    assert (done.code, "Traceback" in done.err) == (0, False), done.err
    assert "compiled without <a.h>, which is missing" in done.err


@pytest.mark.parametrize(
    "command",
    [
        ("-m", "runner", "--dry-run", *SWEEP), ("-m", "runner", "show"), ("-m", "runner.list"),
        ("-P", "-c", "from runner.__main__ import main; main()", "--dry-run", *SWEEP),
    ],
)  # fmt: skip
def test_no_module_of_the_working_folder_is_imported(theirs, tmp_path, command):
    """A stranger's folder may have a numpy.py, which neither the program nor its workers take for NumPy."""
    for name in ("numpy", "yaml", "random", "typing"):
        (tmp_path / f"{name}.py").write_text("open('ran', 'w')\n")
    done = subprocess.run([sys.executable, *command], cwd=tmp_path, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("resumed", [False, True])
def test_a_sweep_runs_no_command_of_the_folders_git(theirs, tmp_path, resumed):
    """A repository's own configuration may name a monitor and filters. What is uncommitted is found without them."""
    folder, ran = tmp_path / "theirs", tmp_path / "ran"
    evil = tmp_path / "evil.sh"
    evil.write_text(f"#!/bin/sh\necho ran >> {ran}\ncat\n")
    evil.chmod(0o755)

    def git(*words):
        subprocess.run(["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True)

    git("init", "-q")
    (folder / ".gitattributes").write_text("*.cu filter=x\n*.yaml filter=x\n")
    git("add", "kernel/mine.cu", "kernel/beside.py", ".gitattributes")
    git("commit", "-q", "-m", "theirs")
    for key in ("core.fsmonitor", "filter.x.clean", "filter.x.process", "diff.external", "core.sshCommand"):
        git("config", key, str(evil))
    (folder / "kernel" / "beside.py").touch()
    (folder / "kernel" / "mine.cu").write_text(SOURCE + "\n")
    done = run(tmp_path, *SWEEP, "hydra.sweep.dir=swept")
    assert done.code == 0, done.err
    if resumed:
        done = run(tmp_path, "swept", module="runner.repeat")
        assert done.code == 0, done.err
    assert not ran.exists()
    known = json.loads((tmp_path / "swept" / "environment.json").read_text())["sources"]
    assert known["uncommitted"] == ["mine.cu", "mine.yaml"]
