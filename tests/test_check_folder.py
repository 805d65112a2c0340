"""`runner check FOLDER` reads every YAML of a folder, says what is wrong with each, and runs nothing."""

import subprocess
import sys

import pytest
import yaml
from processes import run
from test_looking import KERNEL, REFERENCE, SOURCE


@pytest.fixture
def mine(tmp_path):
    """A folder with a right kernel, whose reference leaves a file when it is imported."""
    folder = tmp_path / "mine" / "kernel"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(yaml.safe_dump(KERNEL))
    (folder / "mine.cu").write_text(SOURCE)
    (folder / "beside.py").write_text(REFERENCE.format(str(tmp_path / "seen"), str(tmp_path / "seen")))
    return folder


def check(folder):
    """`runner check mine`: its status, its lines, and nothing left behind."""
    before = sorted(folder.rglob("*"))
    done = run(folder, "mine", module="runner.check")
    assert not done.err, done.err
    assert sorted(folder.rglob("*")) == before
    return done.code, done.out.splitlines()


def test_a_folder_without_a_mistake(mine, tmp_path):
    """All files are counted, a search is read as far as its space, and the reference is not imported."""
    experiment = tmp_path / "mine" / "experiment"
    experiment.mkdir()
    swept = "hydra: {sweeper: {params: {block: '64,128'}}}\n"
    (experiment / "ladder.yaml").write_text(f"# @package _global_\ndefaults: [override /kernel: mine]\n{swept}")
    search = (
        "defaults: [override /kernel: mine, override /hydra/sweeper: search]\nsearch: {block: {choice: [64, 128]}}\n"
    )
    (experiment / "found.yaml").write_text(f"# @package _global_\n{search}")
    assert check(tmp_path) == (0, ["mine: 1 kernel, 2 experiments: no mistake"])


def test_each_mistake_is_a_line_with_its_file(mine, tmp_path):
    """One wrong file does not hide the others, whatever it is a file of."""
    (mine / "other.yaml").write_text(yaml.safe_dump({**KERNEL, "gird": 1}))
    (mine / "other.cu").write_text(SOURCE)
    (mine / "lost.yaml").write_text(yaml.safe_dump({**KERNEL, "reference": "nowhere.expected"}))
    (mine / "lost.cu").write_text(SOURCE)
    (mine / "third.yml").write_text("")
    for group, name, text in (
        ("experiment", "ladder", "# @package _global_\nhydra: {sweeper: {params: {blokc: '64,128'}}}\n"),
        ("timing", "long", "defaults: [/schema/timing@_here_]\nrounds: many\n"),
        ("family", "torn", "parameters: {block: [\n"),
    ):
        (tmp_path / "mine" / group).mkdir()
        (tmp_path / "mine" / group / f"{name}.yaml").write_text(text)
    code, lines = check(tmp_path)
    assert code == 1
    assert lines.pop() == "mine: 1 family, 4 kernels, 1 timing, 1 experiment: 6 mistakes"
    for words in (
        ("family/torn.yaml", "invalid YAML"),
        ("lost.yaml", "nowhere.expected"),
        ("other.yaml", "'gird' is not a valid key; did you mean grid?"),
        ("third.yml: rename it to third.yaml",),
        ("timing/long.yaml", "rounds"),
        ("experiment/ladder.yaml", "blokc"),
    ):
        (line,) = (line for line in lines if words[0] in line)
        assert all(word in line for word in words)


@pytest.mark.parametrize("folder", ["nowhere", "mine/kernel"])
def test_a_folder_in_which_nothing_is_read_is_a_mistake(mine, tmp_path, folder):
    """It is missing, or it is the folder below: `no mistake` would mislead."""
    done = run(tmp_path, folder, module="runner.check")
    assert done.code == 2
    assert folder in done.err
    assert "kernel/" in done.err


@pytest.mark.parametrize("name", ["runner.py", "runner/__init__.py"])
def test_a_file_that_hides_the_program_is_told(tmp_path, name):
    """`python -m runner` would run that file; the command `runner` runs the program, and says so."""
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("")
    command = [sys.executable, "-P", "-m", "runner", "show"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == f"runner: {name} in this folder runs in place of `python -m runner`; write `runner` here\n"
    path.unlink()
    assert not subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60, check=True).stderr


def test_a_text_that_controls_a_terminal_is_escaped(mine, tmp_path):
    """A stranger's YAML may not move the cursor or colour what it says."""
    arguments = [{**KERNEL["arguments"][0], "passed": "\0\x1b[31mred\a\x9b\r\u202e"}, *KERNEL["arguments"][1:]]
    (mine / "mine.yaml").write_text(yaml.safe_dump({**KERNEL, "arguments": arguments}))
    code, lines = check(tmp_path)
    assert code == 1
    assert all(line.isprintable() for line in lines)
    for words in (("show", "--config-dir", "mine"), ("--help", "--config-dir", "mine")):
        shown = run(tmp_path, *words).out
        assert "\x1b" not in shown
        assert "cannot be run: mine.yaml" in shown
    (mine / "mine.yaml").write_text(yaml.safe_dump({**KERNEL, "summary": "\x1b[31mred", "family": "\x1b[31mred"}))
    (tmp_path / "mine" / "experiment").mkdir()
    (tmp_path / "mine" / "experiment" / "red.yaml").write_text("# @package _global_\n# \x1b[31mred\n\nseed: 1\n")
    for words in (
        ("show",),
        ("show", "mine"),
        ("show", "red"),
        ("--help",),
        ("kernel=mine", "device=cpu", "--dry-run"),
    ):
        done = run(tmp_path, *words, "--config-dir", "mine")
        assert "\x1b" not in done.out + done.err
