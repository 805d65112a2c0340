"""Kernels that are wrong, each in its own way, on the real devices."""

import dataclasses
import re
from pathlib import Path

import pytest
from support import case_of, read_kernel, shipped

from runner.device import Role
from runner.errors import UsageError

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
    assert case_of(own("halfScaled"), times=70000).excluded == "factor = 70000 is not a valid float16"
    with pytest.raises(UsageError, match=r"fill: 0.5 is not a valid int32"):
        case_of(own("halfScaled"), dtype="int32")
    with pytest.raises(UsageError, match="4 numbers for float16 of the shape"):
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
    assert "] is unwritten memory, expected" in outcome.reason
    assert outcome.measured is None


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_a_sum_with_the_poison_is_told_from_a_wrong_kernel(dtype, bench):
    """An array that a kernel adds to needs another role; what is merely wrong does not say so."""
    outcome = bench.run(case_of(own("addsToOut"), dtype=dtype))
    assert outcome.status == "mismatch"
    assert "if the kernel adds to 'out', use role: inout and fill: zeros" in outcome.reason
    assert "role" not in bench.run(case_of(own("writesPart"))).reason
    assert "role" not in bench.run(case_of(own("leavesNaN"), size=1)).reason  # a NaN of its own


def test_a_float_that_is_not_written_is_found_though_zero_is_expected(bench):
    """The poison of floats is NaN: no bound is wide enough for it."""
    outcome = bench.run(case_of(own("zeroish")))
    assert (outcome.status, outcome.mismatches) == ("mismatch", 1000)


@pytest.mark.parametrize("name", ["tires", "rightOnce"])
def test_a_kernel_that_was_right_once_is_found(name, bench):
    """After the timing the outputs are poisoned and checked once more: it may stop writing, or write something else."""
    outcome = bench.run(case_of(own(name)))
    assert outcome.status == "mismatch"
    assert "right at the first launch, wrong later" in outcome.reason


@pytest.mark.parametrize("name", ["fromThird", "everyOther"])
def test_a_kernel_that_counts_its_launches_is_found(name, bench):
    """Right when it is checked first, wrong at a later launch: the timed launches and the last one are checked, too."""
    outcome = bench.run(case_of(own(name)), samples=4)
    assert (outcome.status, outcome.mismatches) == ("mismatch", 60)
    assert "right at the first launch, wrong later" in outcome.reason
    assert outcome.measured is None


@pytest.mark.parametrize("samples", [3, 4])
def test_whichever_launch_is_the_wrong_one(samples, bench):
    """A kernel that is wrong at every other launch is found after an odd number of launches, and after an even one."""
    assert bench.run(case_of(own("everyOther")), samples=samples).status == "mismatch"


def test_the_answer_of_the_last_launch_is_found(bench):
    """A kernel that keeps its result for the next launch, and gives what it has kept, is wrong at the first."""
    outcome = bench.run(case_of(own("lastAnswer")))
    assert (outcome.status, outcome.mismatches) == ("mismatch", 1000)


def test_an_output_is_not_zero_before_the_launch(bench):
    """A kernel that adds onto its output counts on zeros that nobody has promised."""
    outcome = bench.run(case_of(own("addsOn")))
    assert (outcome.status, outcome.mismatches) == ("mismatch", 1000)
    assert "wrong later" not in outcome.reason


def test_right_values_in_wrong_places_are_found(bench):
    """Elements are compared one by one: their sum, 1 + 2 + ... + 1000, is the right one."""
    outcome = bench.run(case_of(own("wrongPlaces")))
    assert (outcome.status, outcome.mismatches) == ("mismatch", 1000)
    assert outcome.value == 500500


def test_a_kernel_that_is_right_for_its_first_block_is_found(bench):
    """Every element of every block is compared, and the first ones that differ are named."""
    outcome = bench.run(case_of(own("firstBlock")))
    assert (outcome.status, outcome.mismatches) == ("mismatch", 936)
    assert "out[64] is 64, expected 65" in outcome.reason


def test_one_nan_is_found(bench):
    """No bound is wide enough for a NaN, in whatever element."""
    outcome = bench.run(case_of(own("leavesNaN")))
    assert (outcome.status, outcome.mismatches) == ("mismatch", 1)
    assert "y[500] is nan, expected 501" in outcome.reason


def test_a_missing_barrier_is_found(bench):
    """A warp that reads shared memory before another has written it gets poison on the CPU device; a GPU may be lucky."""
    outcome = bench.run(case_of(own("races")))
    if bench.device.info.kind == "cpu":
        assert outcome.status == "mismatch"
        assert outcome.mismatches >= 32
    else:
        assert outcome.status in ("ok", "mismatch")


@pytest.mark.parametrize(
    ("name", "element", "side"),
    [
        ("writesBefore", "index -1, but 'out' has 1001 elements", "before its start"),
        ("writesAfter", "index 1000, but 'out' has 1000 elements", "beyond its end"),
        ("writesAfterLater", "index 60, but 'out' has 60 elements", "beyond its end"),
    ],
)
def test_a_write_just_outside_an_array_is_found(name, element, side, bench):
    """Right in every element, and yet wrong: the CPU device stops it, a GPU's guard bytes tell it after the launch."""
    outcome = bench.run(case_of(own(name)))
    if bench.device.info.kind == "cpu":
        assert outcome.status == "hazard"
        assert f"out-of-bounds write of 'out': {element}" in outcome.reason
    else:
        assert outcome.status == "mismatch"
        assert f"outside 'out', {side}" in outcome.reason


def test_a_write_into_an_input_is_found(bench):
    """The CPU device protects inputs; on a GPU the next launch reads what this one left, and the next case does not."""
    outcome = bench.run(case_of(own("writesInput")))
    if bench.device.info.kind == "cpu":
        assert outcome.status == "hazard"
        # Whichever block is first.
        assert re.search(r"writesInput.cu:6: write to read-only input 'in', element \d+;", outcome.reason)
    else:
        assert outcome.status == "mismatch"
        assert "wrong later" in outcome.reason
    assert bench.run(case_of(own("speaks"))).status == "ok"


@pytest.mark.parametrize("bench", ["cpu"], indirect=True)
def test_a_division_by_zero_is_found(bench):
    """Undefined on a GPU, which goes on with some number; the CPU device stops at the line."""
    outcome = bench.run(case_of(own("divides")))
    assert outcome.status == "hazard"
    assert "divides.cu:5: integer division by zero" in outcome.reason


@pytest.mark.parametrize("name", ["exits", "aborts"])
def test_a_function_of_the_host_does_not_compile(name, bench):
    """exit() and abort() would end the process that runs the kernel; both compilers refuse them, at the line."""
    outcome = bench.run(case_of(own(name)))
    assert outcome.status == "compile_error"
    assert f"{name}.cu" in outcome.reason
    assert "6" in outcome.reason


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
        ("return {}", "the reference gives nothing; expected out"),
        ("return {'other': np.ones(4)}", "the reference gives other; expected out"),
        ("return None", "expected a dictionary of arrays"),
        ("return {'out': np.ones(5)}", "shape"),
        ("raise RuntimeError('no idea')", "RuntimeError: no idea"),
        ("return {'out': np.array(['a'] * 4)}", "in 'out'"),
        ("return {'out': np.ones(4) * 1j}", "in 'out'"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("return {}\nraise SystemExit(0)", "SystemExit"),  # while it is imported
        ("raise ValueError('x' * 100_000)", "ValueError: xxx"),
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
    monkeypatch.setattr(bench.device, "usable", False)
    assert not bench.run(case_of(own("writesNothing"))).usable


class Spoilt:
    """A device whose kept inputs an earlier kernel has overwritten."""

    def __init__(self, device):
        self._device = device
        self.spoilt = True

    def __getattr__(self, name):
        return getattr(self._device, name)

    def place(self, name, value, role, offset=0, lead=0):
        """An input as it was kept."""
        wrong = value + 1 if role is Role.IN and self.spoilt else value
        return self._device.place(name, wrong, role, offset, lead)

    def forget_spoilt_inputs(self):
        """Give up what was kept, if it is spoilt."""
        kept, self.spoilt = self.spoilt, False
        return kept


def test_a_kernel_does_not_pay_for_inputs_that_another_has_spoilt(bench):
    """A mismatch with inputs that were kept on the device is tried again with fresh ones before it is believed."""
    spoilt = dataclasses.replace(bench, device=Spoilt(bench.device))
    outcome = spoilt.run(case_of(own("saxpy")))
    assert (outcome.status, outcome.reason) == ("ok", "")
    assert not spoilt.device.spoilt


def test_a_wrong_kernel_stays_wrong_with_fresh_inputs(bench):
    """Trying again changes nothing about a kernel that is wrong by itself."""
    spoilt = dataclasses.replace(bench, device=Spoilt(bench.device))
    assert spoilt.run(case_of(own("writesPart"))).status == "mismatch"
