"""Kernels that are wrong, each in its own way, on the real devices."""

from pathlib import Path

import pytest
from support import case_of, read_kernel

HERE = Path(__file__).parent / "kernels" / "kernel"


def own(name):
    """One of the kernels beside these tests."""
    return read_kernel(HERE / f"{name}.yaml")


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_an_array_changed_in_place_is_restored_before_each_launch(dtype, bench):
    """However often it is launched, y = a * x + y is right, as y is brought back each time."""
    outcome = bench.run(case_of(own("saxpy"), dtype=dtype), samples=5)
    assert (outcome.status, outcome.reason) == ("ok", "")
    assert len(outcome.samples) == 5


def test_constants_dynamic_shared_memory_state_includes_and_own_references_work(bench):
    """A kernel may use all that a YAML can declare."""
    outcome = bench.run(case_of(own("scaled")))
    assert (outcome.status, outcome.reason) == ("ok", "")


@pytest.mark.parametrize(("name", "elements"), [("writesNothing", 1000), ("writesPart", 40)])
def test_what_is_not_written_is_found(name, elements, bench):
    """Outputs are poisoned, so that an element left unwritten differs; a wrong kernel has no times."""
    outcome = bench.run(case_of(own(name)))
    assert outcome.status == "mismatch"
    assert outcome.mismatches == elements
    assert len(outcome.samples) == 0


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
