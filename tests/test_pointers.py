"""Arrays of pointers, and structures of them: each array that they point to has guards of its own, and a name.

That their results are right on each device, test_own_arguments.py has.
"""

import re

import pytest
import yaml
from outcomes import altered
from support import ROOT, Bench, case_of, read_kernel

from runner.device.checked.device import CheckedDevice
from runner.device.cpu.build import CpuCompiler
from runner.device.cpu.device import CpuDevice
from runner.kernel import from_yaml

FOLDER = ROOT / "tests" / "kernels" / "arguments"


@pytest.fixture(scope="module")
def checked(own_cache):
    """The checked device."""
    return Bench(CheckedDevice(threads=1), CpuCompiler(checked=True))


def ran(bench, tmp_path, name, old, new):
    """The outcome of a kernel whose source has a mistake."""
    path = altered(FOLDER / f"{name}.yaml", tmp_path)
    text = (tmp_path / "own.cu").read_text()
    assert old in text
    (tmp_path / "own.cu").write_text(text.replace(old, new))
    return bench.run(case_of(read_kernel(path)))


# The kernel, the mistake, and what the CPU device and the checked device say.
MISTAKES = {
    "a write behind a part": (
        "batchedProduct", "c[matrix][row * n + col] +=", "c[matrix][n * n + row * n + col] =",
        r"own\.cu:\d+: out-of-bounds write of 'c\[\d\]': index \d+, but it has 64 elements",
    ),
    "a read behind a part": (
        "batchedProduct", "a[matrix][row * n + k]", "a[matrix][n * n + row * n + k]",
        r"own\.cu:\d+: out-of-bounds read of 'a\[\d\]': index \d+, but it has 64 elements",
    ),
    "a part of a part too many": (
        "batchedProduct", "c[matrix][row * n", "c[matrix + gridDim.x][row * n",
        r"own\.cu:\d+: out-of-bounds read of 'c': index \d+, but it has 7 elements",
    ),
    "a write to an input": (
        "batchedProduct", "c[matrix][row * n + col] +=", "((float**)b)[matrix][row * n + col] +=",
        r"own\.cu:\d+: write to read-only input 'b\[\d\]'",
    ),
    "a write to the table": (
        "batchedProduct", "c[matrix][row * n + col] +=", "c[matrix] = 0, sum +=",
        r"own\.cu:\d+: write to read-only input 'c', element",
    ),
    "a read behind a named array": (
        "joinLists", "i < lengths[k]) sum", "i < lengths[2]) sum",
        r"own\.cu:\d+: out-of-bounds read of 'short': index \d+, but it has 150 elements",
    ),
    "a pointer too many": (
        "joinLists", "k < count", "k <= count",
        r"own\.cu:\d+: out-of-bounds read of 'lists': index 3, but it has 3 elements",
    ),
    "a write behind an array of a structure": (
        "rows", "rows.sums[i] = rows", "rows.sums[rows.count] = 0, rows.sums[i] = rows",
        r"own\.cu:\d+: out-of-bounds write of 'sums': index 300, but it has 300 elements",
    ),
    "a read behind an array of a structure": (
        "rows", "i + 1]; ++k) sum += rows.values[k]", "i + 1]; ++k) sum += rows.values[k + rows.starts[rows.count]]",
        r"own\.cu:\d+: out-of-bounds read of 'values': index \d+, but it has 600 elements",
    ),
    "a write to an input of a structure": (
        "rows", "    float sum = 0;\n    for (int k = rows", "    float sum = 0;\n    ((int*)rows.starts)[i] = 7;\n    for (int k = rows",
        r"own\.cu:\d+: write to read-only input 'starts', element",
    ),
    "a race in an array of a structure": (
        "rows", "rows.sums[i] = rows", "rows.sums[0] = sum, rows.sums[i] = rows",
        r"own\.cu:\d+: race \(write after write\) on global 'sums' element 0",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "message"), MISTAKES.values(), ids=MISTAKES)
def test_what_leaves_an_array_that_a_pointer_reaches_is_found(checked, tmp_path, name, old, new, message):
    """The checked device names the part or the table, and the line."""
    outcome = ran(checked, tmp_path, name, old, new)
    assert outcome.status == "hazard"
    assert re.match(message, outcome.reason), outcome.reason


@pytest.mark.parametrize(
    "what",
    [
        "a write behind a part", "a write to an input", "a write to the table", "a write behind an array of a structure",
        "a write to an input of a structure",
    ],
)  # fmt: skip
def test_each_device_finds_a_write_outside_of_a_part(bench, tmp_path, what):
    """The CPU device by guard pages, a GPU by guard bytes or a changed input."""
    name, old, new, message = MISTAKES[what]
    outcome = ran(bench, tmp_path, name, old, new)
    assert outcome.status in ("hazard", "mismatch", "launch_error")
    if bench.device.info.kind == "cpu":
        assert re.search(message.removeprefix(r"own\.cu:\d+: "), outcome.reason), outcome.reason


def test_a_part_that_is_not_written_is_a_mismatch(bench, tmp_path):
    """The parts of an output are compared as one array: part 5 begins at element 5 * 64."""
    outcome = ran(
        bench, tmp_path, "batchedProduct", "c[matrix][row * n + col] +=", "if (matrix != 5) c[matrix][row * n + col] +="
    )
    assert outcome.status == "mismatch"
    assert re.match(r"\d+ of 448 elements differ: c\[320\] is ", outcome.reason), outcome.reason


@pytest.mark.parametrize("dtype", ["double", "int", "long long"])
def test_pointers_to_another_type_are_refused(checked, tmp_path, dtype):
    """The kernel would read the arrays' bytes as something else."""
    outcome = ran(checked, tmp_path, "joinLists", "const float* const* lists", f"const {dtype}* const* lists")
    assert outcome.status == "launch_error"
    assert "the YAML passes pointers to the array 'short' of float" in outcome.reason


def test_a_python_function_gets_a_list_of_arrays(tmp_path):
    """A contender in Python takes the arrays themselves, as its library does."""
    (tmp_path / "batched.py").write_text(PYTHON)
    keys = yaml.safe_load((FOLDER / "batchedProduct.yaml").read_text())
    keys = {key: value for key, value in keys.items() if key != "grid"} | {"source": "batched.py"}
    keys["parameters"] = {"batch": 7, "block": "8x8"}
    bench = Bench(CpuDevice(1), CpuCompiler())
    outcome = bench.run(case_of(from_yaml.read("batched", keys, tmp_path / "batched.yaml")))
    assert (outcome.status, outcome.reason) == ("ok", "")


PYTHON = """
def batched(a, b, c, n, stream):
    assert len(a) == len(b) == len(c) and a[0].shape == (n, n)
    for left, right, sums in zip(a, b, c):
        sums += left @ right
"""
