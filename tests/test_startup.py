"""The worker that is started before the configuration is read."""

import subprocess
import sys

import pytest

from runner.device.config import DeviceConfig
from runner.sweep import session


@pytest.mark.parametrize(
    ("arguments", "device"),
    [
        ([], DeviceConfig()),
        (["-m", "kernel=reduceShfl", "block=64,128"], DeviceConfig()),
        (["device=cpu"], DeviceConfig(kind="cpu")),
        (["device=cpu,cuda", "size=100"], DeviceConfig(kind="cpu")),
        (["device=cpu", "device.threads=2"], None),
        (["experiment=first"], None),
        (["device=mine"], None),
        (["--config-dir=folder", "kernel=own"], None),
        (["--config-dir=folder", "device=cuda"], DeviceConfig(kind="cuda")),
    ],
)
def test_the_device_is_read_off_the_command_line(arguments, device, monkeypatch):
    """The worker opens the device that the command line names, and waits where the configuration decides."""
    monkeypatch.setattr(session, "Worker", lambda config: ("worker", config))
    assert session.start_worker(arguments) == ("worker", device)


@pytest.mark.parametrize("kind", ["auto", "cpu", "cuda"])
def test_a_worker_lets_the_driver_begin_before_it_imports_anything_slow(kind):
    """A GPU is opened beside the imports; where there is none, nothing is said yet."""
    code = f"""if True:
        import sys
        from runner.device.kinds import start_opening_gpu
        start_opening_gpu({kind!r}, 0)
        print([m for m in ("numpy", "pycuda", "runner.device.cpu") if m in sys.modules])"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.parametrize("argument", ["--help", "--cfg=job", "hydra/launcher=gpus"])
def test_no_worker_is_started_in_vain(argument):
    """Commands that run nothing, and launchers with workers of their own, start none."""
    assert session.start_worker([argument]) is None


def test_a_worker_opens_the_device_that_it_is_told_later():
    """A worker without a device takes the first one; one with another device does not."""
    config = DeviceConfig(kind="cpu", threads=1)
    worker = session.Worker()
    try:
        assert worker.takes(config)
        assert worker.info.details["threads"] == 1
        assert worker.takes(config)
        assert not worker.takes(DeviceConfig(kind="cpu", threads=2))
    finally:
        worker.kill()


def test_starting_the_worker_imports_nothing_slow():
    """Neither NumPy nor anything else that takes long is imported before the worker is started."""
    slow = "numpy", "pandas", "hydra", "omegaconf", "matplotlib", "rich", "yaml"
    code = f"import sys, runner.sweep.session; print([m for m in {slow} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_report_without_figures_needs_no_matplotlib():
    """It is imported by what draws."""
    code = "import sys, runner.report.page, runner.report.figures; print([m for m in sys.modules if 'matplotlib' in m])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_worker_needs_neither_configuration_nor_tables():
    """The worker imports what runs a case, not Hydra and pandas."""
    slow = "pandas", "hydra", "omegaconf", "matplotlib", "rich", "yaml", "scipy"
    code = f"import sys, runner.sweep.run_case; print([m for m in {slow} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_sweep_imports_nothing_that_few_runs_need():
    """The launchers and the search are known in every run; SciPy and submitit are imported where one is used."""
    slow = "pandas", "scipy", "matplotlib", "submitit"
    code = f"import runner.compose.app, sys; print([m for m in {slow} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
