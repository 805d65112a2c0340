"""What has changed since a sweep was interrupted is not mixed into its table."""

import stat

import pytest
from processes import OWN, call, content, resume


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A configuration of one's own, and a sweep that lacks a case."""
    directory = tmp_path_factory.mktemp("lab")
    made = call(directory, "--config-dir", OWN, "kernel=scaled", "device=cpu", "hydra.sweep.dir=kept")
    assert made.returncode == 0, made.stderr
    (directory / "kept" / "sources").rename(directory / "own")
    (directory / "own" / "conf" / "experiment" / "blocks.yaml").write_text(
        "# @package _global_\nhydra: {sweeper: {params: {block: '32,64,128'}}}\n"
    )
    swept = call(
        directory, "--config-path", directory / "own" / "conf", "kernel=scaled", "experiment=blocks", "device=cpu",
        "hydra.sweep.dir=sweep",
    )  # fmt: skip
    assert swept.returncode == 0, swept.stderr
    (directory / "sweep" / "2" / "result.json").unlink()
    return directory


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


KERNEL = "own/conf/kernel"
CHANGES = {
    "the kernel": (lambda d: changed(d, "own/kernels/scaled.cu", "not zero", "not nought"), "scaled.cu has changed"),
    "what it includes": (lambda d: changed(d, "own/kernels/scaled.cuh", "2.0f", "2.f"), "scaled.cuh has changed"),
    "its YAML": (lambda d: changed(d, f"{KERNEL}/scaled.yaml", "twice the", "2 times the"), "scaled.yaml has changed"),
    "its reference": (
        lambda d: changed(d, f"{KERNEL}/my_references.py", "2.0 *", "2 *"), "my_references.py has changed",
    ),
    "a parameter": (
        lambda d: changed(d, "own/conf/config.yaml", "size: null", "size: 2000"), "size was 1000 and is 2000 now",
    ),
    "the timing": (
        lambda d: changed(d, "own/conf/timing/default.yaml", "cpu_rounds: 1", "cpu_rounds: 2"),
        "timing.cpu_rounds was 1 and is 2 now",
    ),
    "the cases": (
        lambda d: changed(d, "own/conf/experiment/blocks.yaml", "32,64,128", "32,64"),
        "the sweep.block was 32,64,128 and is 32,64 now",
    ),
    "the device": (
        lambda d: changed(d, "sweep/environment.json", '"arch": "', '"arch": "old_'), "device.arch was old_",
    ),
    "the toolchain": (other_compiler, "and is other++ 99.9 now"),
    "the runner": (
        lambda d: changed(d, "sweep/environment.json", '"runner": "', '"runner": "0.0.'), "the runner was 0.0.",
    ),
    "the record": (lambda d: (d / "sweep/multirun.yaml").write_text("hydra:\n  run"), "its multirun.yaml is torn"),
    "the plan": (lambda d: (d / "sweep/plan.json").write_text('{"jobs": 3'), "its plan.json is torn"),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_what_has_changed_is_refused(change, lab, tmp_path):
    """Whatever would mix rows of two kinds is told in one sentence, with status 2, and nothing is changed."""
    make_it, words = CHANGES[change]
    kept = content(lab)
    try:
        further = make_it(lab)
        before = content(lab)
        done = resume(lab, "sweep", **(further if isinstance(further, dict) else {}))
        assert content(lab) == before
    finally:
        for name, bytes_ in kept.items():
            (lab / name).write_bytes(bytes_)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("runner: ")
    assert done.stderr.count("\n") == 1, done.stderr
    assert words in done.stderr
