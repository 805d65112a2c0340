"""Kernels that are wrong, each in its own way, on the real devices."""

from pathlib import Path

import pytest
from support import case_of, read_kernel, shipped

from runner.errors import Mistake

HERE = Path(__file__).parent / "kernels" / "kernel"


def own(name):
    """One of the kernels beside these tests."""
    return read_kernel(HERE / f"{name}.yaml")


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_an_array_changed_in_place_is_restored_before_each_launch(dtype, bench):
    """However often it is launched, y = a * x + y is right, as y is brought back each time."""
    outcome = bench.run(case_of(own("saxpy"), dtype=dtype), samples=5)
    assert (outcome.status, outcome.reason) == ("ok", "")
    assert len(outcome.measured.samples) == 5


def test_constants_dynamic_shared_memory_state_includes_and_own_references_work(bench):
    """A kernel may use all that a YAML can declare."""
    outcome = bench.run(case_of(own("scaled")))
    assert (outcome.status, outcome.reason) == ("ok", "")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_a_scalar_and_given_numbers_may_be_halves(dtype, bench):
    """A number passed to the kernel, and an array filled with given numbers, have the case's own type."""
    outcome = bench.run(case_of(own("halfScaled"), dtype=dtype))
    assert (outcome.status, outcome.reason) == ("ok", "")
    assert case_of(own("halfScaled"), times=70000).excluded == "factor = 70000 is no float16"
    with pytest.raises(Mistake, match=r"fill: 0.5 is no int32"):
        case_of(own("halfScaled"), dtype="int32")
    with pytest.raises(Mistake, match="4 numbers for float16 of the shape"):
        case_of(own("halfScaled"), size=5)


@pytest.mark.parametrize("bench", ["cpu"], indirect=True)
def test_a_hazard_that_is_not_found_is_told(bench):
    """A kernel that its YAML calls broken, and that the CPU device finds nothing wrong with, says so in its row."""
    outcome = bench.run(case_of(own("soundAfterAll")))
    assert outcome.status == "ok"
    assert outcome.note == "the hazard that its YAML declares was not found: it is said to be broken"


@pytest.mark.parametrize("dtype", ["float16", "float16x2"])
def test_a_fill_that_counts_too_far_is_skipped(dtype):
    """float16 ends at 65504: an array that counts beyond it would hold infinities."""
    assert case_of(shipped("shflUp"), dtype=dtype, size=32752).excluded == ""
    assert "float16" in case_of(shipped("shflUp"), dtype=dtype, size=65505).excluded


@pytest.mark.parametrize(("name", "elements"), [("writesNothing", 1000), ("writesPart", 40)])
def test_what_is_not_written_is_found(name, elements, bench):
    """Outputs are poisoned, so that an element left unwritten differs; a wrong kernel has no times."""
    outcome = bench.run(case_of(own(name)))
    assert outcome.status == "mismatch"
    assert outcome.mismatches == elements
    assert outcome.measured is None


def test_a_float_that_is_not_written_is_found_though_zero_is_expected(bench):
    """The poison of floats is NaN: no bound is wide enough for it."""
    outcome = bench.run(case_of(own("zeroish")))
    assert (outcome.status, outcome.mismatches) == ("mismatch", 1000)


def test_a_kernel_that_stops_writing_is_found(bench):
    """After the timing the outputs are poisoned and checked once more."""
    outcome = bench.run(case_of(own("tires")))
    assert outcome.status == "mismatch"
    assert "wrong later" in outcome.reason


def test_a_kernel_that_was_right_once_is_found(bench):
    """The outputs are checked after the timing, too."""
    outcome = bench.run(case_of(own("rightOnce")))
    assert outcome.status == "mismatch"
    assert "right at the first launch, wrong later" in outcome.reason


def test_a_kernel_that_does_not_compile_is_told_at_its_own_line(bench):
    """The compiler's message names the .cu and the line in it, not a temporary file."""
    outcome = bench.run(case_of(own("broken")))
    assert outcome.status == "compile_error"
    assert "broken.cu" in outcome.reason
    assert "undeclared" in outcome.reason
    assert "3" in outcome.reason


def test_too_much_shared_memory_is_skipped(bench, tmp_path):
    """What the device has not got is a skipped case with both numbers."""
    (tmp_path / "greedy.cu").write_text('extern "C" __global__ void greedy(int* out) { out[0] = 0; }\n')
    (tmp_path / "greedy.yaml").write_text(
        "parameters: {kib: 1024}\ngrid: 1\nshared: kib * 1024\nreference: {out: 0 * kib}\n"
        "arguments: [{name: out, role: out, dtype: int32, shape: 1}]\n"
    )
    outcome = bench.run(case_of(read_kernel(tmp_path / "greedy.yaml")))
    assert outcome.status == "skipped"
    assert "1048576 bytes of shared memory" in outcome.reason


def reference(folder, body):
    """A kernel whose reference is Python code."""
    (folder / "mine.cu").write_text('extern "C" __global__ void mine(int* out) { out[threadIdx.x] = 1; }\n')
    (folder / "mine.yaml").write_text(
        "parameters: {block: 4}\ngrid: 1\nreference: wanted.expected\n"
        "arguments: [{name: out, role: out, dtype: int32, shape: block}]\n"
    )
    (folder / "wanted.py").write_text(f"import numpy as np\ndef expected(inputs, parameters, grid):\n    {body}\n")
    return read_kernel(folder / "mine.yaml")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("return {}", "the reference gives nothing; out is expected"),
        ("return {'other': np.ones(4)}", "the reference gives other; out is expected"),
        ("return None", "a dictionary of arrays is expected"),
        ("return {'out': np.ones(5)}", "shape"),
        ("raise RuntimeError('no idea')", "RuntimeError: no idea"),
        ("return {'out': np.array(['a'] * 4)}", "UFunc"),
    ],
)
def test_a_reference_that_does_not_work_is_told(body, told, bench, tmp_path):
    """Whatever a reference does, its case gets a reason, and never an ok."""
    outcome = bench.run(case_of(reference(tmp_path, body)))
    assert outcome.status == "crashed"
    assert told in outcome.reason


def test_references_of_one_name_in_two_folders_are_two(bench, tmp_path):
    """Each kernel is held against the module that lies beside its own YAML."""
    for name, value in (("right", 1), ("wrong", 2)):
        (tmp_path / name).mkdir()
        outcome = bench.run(case_of(reference(tmp_path / name, f"return {{'out': np.full(4, {value})}}")))
        assert outcome.status == ("ok" if name == "right" else "mismatch")


def test_a_device_that_took_a_fault_gets_no_further_case(bench, monkeypatch):
    """An unusable device is told with the outcome, so that the parent starts another process."""
    monkeypatch.setattr(type(bench.device), "usable", False)
    assert not bench.run(case_of(own("writesNothing"))).usable
