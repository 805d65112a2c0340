"""The plugin of pytest: `check_kernel` judges a kernel in a test, and costs nothing where it is not used."""

import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest
from processes import environment
from support import MINE_CU, ROOT, mine_yaml

PLUGIN = "runner.pytest_plugin"
INI = """
[pytest]
kernel_config_dir = mine
kernel_overrides = timing=quick lines=none racecheck=none
"""


@pytest.fixture
def project(tmp_path):
    """A user's project with the kernels `mine`, which is right, and `outside`, which reads one element too many."""
    kernels = tmp_path / "mine" / "kernel"
    kernels.mkdir(parents=True)
    for name, condition in (("mine", "i < n"), ("outside", "i <= n")):
        (kernels / f"{name}.yaml").write_text(mine_yaml())
        source = MINE_CU.replace("i < n", condition).replace("void mine", f"void {name}")
        (kernels / f"{name}.cu").write_text(source)
    (tmp_path / "pytest.ini").write_text(INI)
    return tmp_path


def pytest_of(folder, tests, *arguments):
    """Run pytest in a project, in a process of its own, with no other plugin; give its exit status and its words.

    -rN leaves out pytest's summary, which repeats each message in full where CI is set, and cuts it off elsewhere.
    """
    (folder / "test_kernels.py").write_text(textwrap.dedent(tests))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        PLUGIN,
        "-p",
        "no:cacheprovider",
        "-rN",
        "--basetemp",
        folder / "temp",
    ]
    done = subprocess.run(
        [*command, *arguments],
        cwd=folder,
        env=environment(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", PYTEST_ADDOPTS=""),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_kernel_is_judged_in_one_line(project):
    """A right kernel passes, on the checked device by default; the test gets its run."""
    tests = """
        def test_mine(check_kernel):
            run = check_kernel("mine", size=[1, 1000])
            assert set(run.table.device) == {"checked"}
            assert check_kernel("mine", block=32, device="cpu").table.device[0] == "cpu"
    """
    code, told = pytest_of(project, tests)
    assert (code, "1 passed" in told) == (0, True), told


def test_a_failure_is_the_finding_and_no_traceback(project):
    """The message has the file and the line of each failing case and the path of the report; a mistake is its sentence."""
    tests = """
        def test_outside(check_kernel):
            check_kernel("outside", size=[1000, 1001])
        def test_unknown(check_kernel):
            check_kernel("mine", size="large")
        def test_skipped(check_kernel):
            check_kernel("mine", block=2048)
        def test_unnamed(check_kernel):
            check_kernel()
        def test_odd(check_kernel):
            check_kernel("mine", overrides=3)
        def test_beside(check_kernel):
            check_kernel(["copyGmem", "torchTranspose"], size="33x65")
    """
    code, told = pytest_of(project, tests)
    assert (code, "6 failed" in told) == (1, True), told
    assert "torchTranspose: no case was checked: a Python function, into which this device cannot look" in told
    assert told.count("outside.cu:4: out-of-bounds read of 'in': index 1001, but it has 1001 elements") == 1
    assert "check_kernel: expected the name of a kernel" in told
    assert "check_kernel: overrides=3: expected a text KEY=VALUE" in told
    assert "size=large: expected a number of elements" in told
    assert "device checked: skipped: a block of 2048 threads is not within" in told
    assert "Traceback" not in told
    assert "another exception" not in told
    assert "pytest_plugin.py" not in told
    assert "check_kernel(" not in told
    (report,) = {
        line.removeprefix("Report: ") for line in told.splitlines() if line.startswith("Report: ") and "outside" in line
    }
    assert Path(report).is_file()


def test_the_command_line_overrides_the_ini_file(project):
    """Device and folders come from either."""
    (project / "pytest.ini").write_text("[pytest]\nkernel_device = auto\nkernel_overrides = timing=quick lines=none\n")
    tests = """
        def test_device(check_kernel):
            print(set(check_kernel("mine").table.device))
    """
    code, told = pytest_of(project, tests, "-s", "--kernel-device", "cpu", "--kernel-config-dir", "mine")
    assert (code, "{'cpu'}" in told) == (0, True), told
    code, told = pytest_of(project, tests)
    assert (code, "kernel=mine: unknown kernel" in told and "`kernel_config_dir` in the ini-file" in told) == (
        1,
        True,
    ), told


def test_tests_without_kernels_import_nothing(project):
    """Every run of pytest loads the plugin: no module of ours but it, and nothing that takes long."""
    tests = """
        import sys
        def test_nothing():
            assert [name for name in sys.modules if name.split(".")[0] == "runner"] == ["runner", "runner.pytest_plugin"]
            assert not {"numpy", "pandas", "hydra", "yaml"} & set(sys.modules)
    """
    code, told = pytest_of(project, tests)
    assert (code, "1 passed" in told) == (0, True), told


def test_the_package_declares_the_plugin():
    """A test finds it wherever the runner is installed, by the name that `-p` uses."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {PLUGIN: PLUGIN}


def test_the_page_on_pytest_is_true(tmp_path):
    """The tests of docs/python.md pass with its ini-file and the README's kernel, and its options exist."""
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (tmp_path / "my_kernels" / "kernel").mkdir(parents=True)
    for ending, kind in (("yaml", "yaml"), ("cu", "cuda")):
        text = readme.partition(f"saxpy.{ending}`")[2].partition(f"```{kind}\n")[2].partition("```")[0]
        (tmp_path / "my_kernels" / "kernel" / f"saxpy.{ending}").write_text(text)
    (tmp_path / "pytest.ini").write_text(page.partition("```ini pytest.ini\n")[2].partition("```")[0])
    tests = page.partition("```python test_kernels.py\n")[2].partition("```")[0]
    code, told = pytest_of(tmp_path, tests)
    assert (code, "4 passed" in told) == (0, True), told
    code, told = pytest_of(tmp_path, tests, "--help")
    for option in ("--kernel-device", "--kernel-config-dir", "kernel_device", "kernel_config_dir", "kernel_overrides"):
        assert f"`{option}" in page
        assert option in told
