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


EIGHT_BLOCKS = """
parameters: {block: 32}
arguments: [{name: y, role: out, dtype: float32, shape: 8 * block}]
grid: 8
reference: {y: 'full(1, 8 * block)'}
"""


def rows_of_text(runner, folder, texts, *arguments):
    """The rows of a sweep over kernels whose 8 blocks set each element to 1, by name and text."""
    (folder / "own" / "kernel").mkdir(parents=True)
    for name, text in texts.items():
        (folder / "own" / "kernel" / f"{name}.cu").write_text(text)
        (folder / "own" / "kernel" / f"{name}.yaml").write_text(EIGHT_BLOCKS)
    done = runner("--config-dir", folder / "own", f"kernel={','.join(texts)}", *arguments)
    assert "Traceback" not in done.err
    return pd.read_csv(done.folder / "results.csv")


# The kernel, its status on the CPU device and on a GPU, and the CPU device's reason.
FAULTS = {
    "an illegal address": ("writesBeyond", "hazard", "launch_error", "writesBeyond.cu:6: "),
    "a failed assertion": ("asserts", "hazard", "launch_error", "asserts.cu:5: assertion `i != 70` failed; block (1,0,0)"),
    "a trap": ("traps", "hazard", "launch_error", "traps.cu:5: __trap() was called; block (1,0,0), thread (6,0,0)"),
    "a wild function pointer": ("callsWild", "hazard", "launch_error", "callsWild.cu:9: memory fault"),
    "an endless kernel": ("hangs", "timeout", "timeout", "hangs.cu:"),
    "an endless loop without effect": ("spins", "timeout", "timeout", "spins.cu:"),
}  # fmt: skip


# Of the CPU device alone: a GPU's threads have stacks of their own size, its printf another C library, and no processes.
OF_THE_HOST = {
    "a recursion without end": ("recurses", "hazard", "recurses.cu:4: local variables need more than 64 KiB of stack"),
    "a segmentation fault in the C library": ("printsWild", "crashed", "ended by signal SIGSEGV while checking"),
    "a killed process": ("killsItself", "crashed", "ended by signal SIGKILL while checking"),
    "a cancelled job": ("isTerminated", "not_run", "ended by signal SIGTERM while checking"),  # so resume tries again
}


@EACH_DEVICE
def test_each_fault_costs_its_own_row(device, runner):
    """Whatever a kernel does, its row says what and where; the cases between are right, and so are faults in a row."""
    on_cpu = device == "cpu"
    expected = {name: (cpu if on_cpu else gpu, reason if on_cpu else "") for name, cpu, gpu, reason in FAULTS.values()}
    expected |= {name: (status, reason) for name, status, reason in OF_THE_HOST.values()} if on_cpu else {}
    first, *further = expected
    names = ["saxpy", first, "speaks", *further, "scaled"]
    rows = rows_of(runner, names, device, f"device.time_limit_s={1 if on_cpu else 20}")
    assert rows["status"].to_dict() == {name: expected.get(name, ("ok",))[0] for name in names}
    for name, (_, reason) in expected.items():
        assert rows.loc[name, "reason"]
        assert reason in rows.loc[name, "reason"]
        assert pd.isna(rows.loc[name, "median_us"])


@EACH_DEVICE
def test_too_much_memory_costs_its_own_row(device, runner):
    """An array that no machine has is refused before it is made, and the cases beside it run."""
    sizes = "size=1000,2**43,2000"
    done = runner("--config-dir", str(OWN), "kernel=accumulates", sizes, f"device={device}")
    assert done.code == 1, done.err
    rows = pd.read_csv(done.folder / "results.csv")
    assert list(rows["status"]) == ["ok", "out_of_memory", "ok"]
    assert f"the arrays need {2**43 * 4 + 4} bytes" in rows["reason"][1]


BOUNDED = """
__global__ void __launch_bounds__(64) bounded(float* y) { y[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
"""


@EACH_DEVICE
def test_a_block_larger_than_the_launch_bounds_costs_its_own_row(device, runner, tmp_path):
    """With the number of threads that are allowed; the cases beside it run."""
    rows = rows_of_text(runner, tmp_path, {"bounded": BOUNDED}, f"device={device}", "block=32,64,96,128")
    assert list(rows.sort_values("block")["status"]) == ["ok", "ok", "launch_error", "launch_error"]
    assert "a block of 96 threads, but the kernel's blocks have at most 64: " in rows.set_index("block")["reason"][96]


LEAKS = """
__global__ void leaks(float* y)
{
    volatile char* p = (char*)malloc(1 << 13);
    p[5] = 1;
    y[blockIdx.x * blockDim.x + threadIdx.x] = p[5];
}
"""
FREES = LEAKS.replace("leaks", "frees").replace("= p[5];", "= p[5];\n    free((void*)p);")


@EACH_DEVICE
def test_a_kernel_that_leaks_until_the_heap_is_full_fails(device, runner, tmp_path):
    """One launch fits; the next ones find less room, here as on a GPU. One that frees what it took is right."""
    rows = rows_of_text(runner, tmp_path, {"leaks": LEAKS, "frees": FREES}, f"device={device}").set_index("kernel")
    assert rows["status"].to_dict() == {"leaks": "hazard" if device == "cpu" else "launch_error", "frees": "ok"}
    if device == "cpu":
        assert "leaks.cu:5: write through a null pointer, which malloc() or new returned" in rows["reason"]["leaks"]


ALLOCATES = """
__global__ void allocates(float* y)
{
    for (int k = 0; k < 100000000; ++k) {
        char* volatile p = (char*)malloc(1 << 10);
        if (!p) break;
        free(p);
    }
    y[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}
"""
RIGHT = """
__global__ void right(float* y)
{
    __shared__ float s[1024];
    s[threadIdx.x] = 1;
    __syncthreads();
    y[blockIdx.x * blockDim.x + threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
"""


def test_a_kernel_that_is_ended_within_malloc_leaves_no_lock(runner, tmp_path):
    """The C library's lock would stop the launches that follow, so these get a process of their own."""
    texts = {"allocates": ALLOCATES, "right": RIGHT}
    rows = rows_of_text(runner, tmp_path, texts, "block=32,64,96,128", "device=cpu", "device.time_limit_s=0.5")
    assert set(rows[rows["kernel"] == "allocates"]["status"]) == {"timeout"}
    assert all("still running after" in reason for reason in rows[rows["kernel"] == "allocates"]["reason"])
    assert set(rows[rows["kernel"] == "right"]["status"]) == {"ok"}
