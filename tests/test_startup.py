"""The worker that is started before the configuration is read, the device that it opens, and programs as users start them."""

import re
import subprocess
import sys

import pytest
from processes import fresh, run
from support import MINE_CU, case_of, mine_yaml, read_kernel

from runner.device.config import DeviceConfig
from runner.device.kinds import kind_of, open_device
from runner.sweep import session
from runner.sweep.pool import Pool
from runner.sweep.trial import make_inputs


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
    monkeypatch.setattr(session, "start_compiler", lambda *_: None)
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


def test_a_worker_that_ends_while_it_makes_inputs_is_replaced(tmp_path):
    """The call was in vain. Nobody waits for it but the first case, which gets a worker that lives."""
    (tmp_path / "mine.cu").write_text(MINE_CU)
    (tmp_path / "mine.yaml").write_text(mine_yaml(reference="dying.now"))
    (tmp_path / "dying.py").write_text("import os, time\n\ndef now(*_):\n    time.sleep(1)\n    os._exit(3)\n")
    config = DeviceConfig(kind="cpu", threads=1)
    with Pool() as pool:
        (slot,) = pool.slots
        first = slot.worker(config)
        first.start_call(make_inputs, case_of(read_kernel(tmp_path / "mine.yaml")), False)  # noqa: FBT003
        assert slot.worker(config) is first
        second = slot.idle_worker(config)
        assert not first.alive
        assert second.alive


IMPORTS = {  # what is imported, and what is not needed for it
    "runner": "numpy pandas hydra omegaconf matplotlib rich yaml",
    "runner.sweep.session": "numpy pandas hydra omegaconf matplotlib rich yaml",  # it starts the worker
    "runner.api.process": "numpy pandas hydra omegaconf matplotlib rich yaml",  # so does this one
    "runner.sweep.run_case": "pandas hydra omegaconf matplotlib rich yaml scipy",  # the worker
    "runner.compose.app": "pandas scipy matplotlib submitit",  # the launchers and the search are known in every run
    "runner.commands.kernel_yaml": "hydra omegaconf pandas matplotlib scipy",
    "runner.report": "matplotlib pandas jinja2",
    "runner.report.page, runner.report.figures": "matplotlib",
}


@pytest.mark.parametrize("modules", IMPORTS)
def test_nothing_is_imported_before_it_is_needed(modules):
    """What takes long is imported by what uses it."""
    code = f"import sys, {modules}; print({set(IMPORTS[modules].split())} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


@pytest.mark.parametrize("index", [0, 99])
def test_the_device_that_will_be_opened_is_known_beforehand(index):
    """`auto` is a GPU if there is one of that number, else the CPU device; `kind_of` opens neither."""
    config = DeviceConfig(kind="auto", index=index, threads=1)
    device = open_device(config)
    assert kind_of(config) == device.info.kind
    device.close()
    assert [kind_of(DeviceConfig(kind=kind)) for kind in ("cpu", "cuda")] == ["cpu", "cuda"]  # without a search


SMALL = ("size=1000", "device=cpu", "timing.cpu_samples=3")


def really(directory, *arguments, **more):
    """Start a process of its own; give what it says."""
    process = fresh(directory, *arguments, **more)
    out, err = process.communicate()
    return process.returncode, out, err


def without_numbers(text):
    """Times differ from run to run, and so do the widths of their columns; what takes long is told in lines of its own."""
    text = re.sub(r"^(\w+ )?\d+/\d+\b.*\n", "", text, flags=re.MULTILINE)
    return re.sub(r" +", " ", re.sub(r"\s*\d[\d.,:-]*", " #", text))


@pytest.mark.parametrize(
    ("module", "arguments"),
    [("runner", SMALL), ("runner", ("no_such_key=1",)), ("runner", ("--help",)), ("runner.list", ("nowhere",))],
    ids=["a sweep", "a mistake", "help", "another command"],
)
def test_a_fork_does_what_a_fresh_process_does(module, arguments, tmp_path):
    """The same exit status, words and files."""
    here, there = tmp_path / "here", tmp_path / "there"
    left = []
    for folder, way in ((here, really), (there, run)):
        folder.mkdir()
        done = way(folder, *arguments, module=module)
        code, out, err = done if way is really else (done.code, done.out, done.err)
        words = without_numbers(out.replace(str(folder), "")), without_numbers(err.replace(str(folder), ""))
        left.append((code, *words, sorted(path.name for path in folder.glob("outputs/*/*/*"))))
    assert left[0] == left[1]
