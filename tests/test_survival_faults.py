"""Kernels that fault, each between two that do not: a row with its reason, and nothing else is harmed."""

from pathlib import Path

import pandas as pd
import pytest

OWN = Path(__file__).parent / "kernels"
EACH_DEVICE = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])


def rows_of(runner, names, device, *arguments):
    """The rows of a sweep over some kernels, in order; the exit status says that some failed."""
    done = runner("--config-dir", str(OWN), f"kernel={','.join(names)}", f"device={device}", *arguments)
    assert done.code == 1, done.err
    assert "Traceback" not in done.err
    rows = pd.read_csv(done.folder / "results.csv").set_index("kernel")
    assert list(rows.index) == list(names)
    return rows


def harmed(rows):
    """The kernels whose rows are not ok."""
    return list(rows.index[rows["status"] != "ok"])


# The kernel, its status on the CPU device and on a GPU, and the CPU device's reason.
FAULTS = {
    "an illegal address": ("writesBeyond", "hazard", "launch_error", "writesBeyond.cu:6: "),
    "a failed assertion": ("asserts", "hazard", "launch_error", "asserts.cu:5: assertion `i != 70` failed; block (1,0,0)"),
    "a trap": ("traps", "hazard", "launch_error", "traps.cu:5: __trap() was called; block (1,0,0), thread (6,0,0)"),
    "a wild function pointer": ("callsWild", "hazard", "launch_error", "callsWild.cu:9: memory fault"),
    "an endless kernel": ("hangs", "timeout", "timeout", "hangs.cu:"),
    "an endless loop without effect": ("spins", "timeout", "timeout", "spins.cu:"),
}  # fmt: skip


@EACH_DEVICE
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_costs_its_own_row(fault, device, runner):
    """Whatever a kernel does, its row says what and where, and the cases before and after it are right."""
    name, on_cpu, on_gpu, reason = FAULTS[fault]
    limit = 20 if device == "cuda" and on_gpu != "timeout" else 1  # a busy GPU takes seconds to report a fault
    rows = rows_of(runner, ["saxpy", name, "speaks"], device, f"device.time_limit_s={limit}")
    assert harmed(rows) == [name]
    assert rows.loc[name, "status"] == (on_cpu if device == "cpu" else on_gpu)
    assert rows.loc[name, "reason"] if device == "cuda" else reason in rows.loc[name, "reason"]
    assert pd.isna(rows.loc[name, "median_us"])


@EACH_DEVICE
def test_fault_after_fault(device, runner):
    """Faults one behind the other, and a right kernel among them: each row is its own kernel's."""
    names = ["traps", "asserts", "saxpy", "writesBeyond", "hangs", "speaks"]
    rows = rows_of(runner, names, device, "device.time_limit_s=1")
    assert harmed(rows) == ["traps", "asserts", "writesBeyond", "hangs"]


# Of the CPU device alone: a GPU's threads have stacks of their own size, its printf another C library, and no processes.
OF_THE_HOST = {
    "a recursion without end": ("recurses", "hazard", "recurses.cu:4: local variables need more than 64 KiB of stack"),
    "a segmentation fault in the C library": ("printsWild", "crashed", "ended by signal SIGSEGV while checking"),
    "a killed process": ("killsItself", "crashed", "ended by signal SIGKILL while checking"),
    "a cancelled job": ("isTerminated", "not_run", "ended by signal SIGTERM while checking"),  # so resume tries again
}


@pytest.mark.parametrize("fault", OF_THE_HOST)
def test_a_fault_of_the_process_costs_its_own_row(fault, runner):
    """A worker that dies in the middle of a case is told in the case's row, and another takes the next."""
    name, status, reason = OF_THE_HOST[fault]
    rows = rows_of(runner, ["saxpy", name, "speaks"], "cpu")
    assert harmed(rows) == [name]
    assert rows.loc[name, "status"] == status
    assert reason in rows.loc[name, "reason"]


def test_a_worker_that_dies_each_time_is_replaced_each_time(runner):
    """Three killed workers are three rows; the fourth worker runs the cases that are left."""
    done = runner("--config-dir", str(OWN), "kernel=killsItself,speaks", "block=32,64,128", "device=cpu")
    assert done.code == 1, done.err
    rows = pd.read_csv(done.folder / "results.csv")
    assert list(rows["status"]) == ["crashed"] * 3 + ["ok"] * 3


@EACH_DEVICE
def test_too_much_memory_costs_its_own_row(device, runner):
    """An array that no machine has is refused before it is made, and the cases beside it run."""
    sizes = "size=1000,2**43,2000"
    done = runner("--config-dir", str(OWN), "kernel=accumulates", sizes, f"device={device}")
    assert done.code == 1, done.err
    rows = pd.read_csv(done.folder / "results.csv")
    assert list(rows["status"]) == ["ok", "out_of_memory", "ok"]
    assert f"the arrays need {2**43 * 4 + 4} bytes" in rows["reason"][1]
