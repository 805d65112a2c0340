"""Kernels that are wrong, each in its own way, on the real devices."""

import dataclasses
import re
import warnings
from pathlib import Path

import pytest
from outcomes import all_right, altered
from support import ROOT, case_of, read_kernel, shipped

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
    all_right([bench.run(case_of(own("scaled")))])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_a_scalar_and_given_numbers_may_be_halves(dtype, bench):
    """A number passed to the kernel, and an array filled with given numbers, have the case's own type."""
    outcome = bench.run(case_of(own("halfScaled"), dtype=dtype))
    assert (outcome.status, outcome.reason) == ("ok", "")
    assert case_of(own("halfScaled"), times=70000).excluded == "factor = 70000 is not a valid float16"
    with pytest.raises(UsageError, match=r"fill: 0.5 is not a valid int32"):
        case_of(own("halfScaled"), dtype="int32")
    with pytest.raises(UsageError, match="expected 5 numbers for the shape"):
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


LATER = "correct at the first launch, wrong later"
# Each kernel's status, how many elements differ, and the reason: a word stands for all devices, a pair for CPU device and GPU.
WRONG = {
    "writesNothing": ("mismatch", 1000, r"\] is unwritten memory, expected"),
    "writesPart": ("mismatch", 40, r"\] is unwritten memory, expected"),
    "zeroish": ("mismatch", 1000, ""),  # the poison of floats is NaN, for which no bound is wide enough
    "tires": ("mismatch", None, LATER),
    "rightOnce": ("mismatch", None, LATER),
    "fromThird": ("mismatch", 60, LATER),
    "everyOther": ("mismatch", 60, LATER),
    "lastAnswer": ("mismatch", 1000, "^(?!.*wrong later)"),  # it gives what it kept from the launch before
    "addsOn": ("mismatch", 1000, "^(?!.*wrong later)"),
    "wrongPlaces": ("mismatch", 1000, ""),  # whose sum is right
    "firstBlock": ("mismatch", 936, r"out\[64\] is 64, expected 65"),
    "leavesNaN": ("mismatch", 1, r"y\[500\] is nan, expected 501"),
    "races": (("mismatch", "ok|mismatch"), None, ""),  # a GPU may be lucky
    "writesBefore": (
        ("hazard", "mismatch"), None,
        (r"out-of-bounds write of 'out': index -1, but it has 1001 elements", "outside 'out', before its start"),
    ),
    "writesAfter": (
        ("hazard", "mismatch"), None,
        (r"out-of-bounds write of 'out': index 1000, but it has 1000 elements", "outside 'out', beyond its end"),
    ),
    "writesAfterLater": (
        ("hazard", "mismatch"), None,
        (r"out-of-bounds write of 'out': index 60, but it has 60 elements", "outside 'out', beyond its end"),
    ),
    "writesInput": (
        ("hazard", "mismatch"), None,
        (r"writesInput.cu:6: write to read-only input 'in', element \d+;", "wrong later"),
    ),
    "divides": (("hazard", "ok|mismatch"), None, (r"divides.cu:5: integer division by zero", "")),
    "exits": ("compile_error", None, r"exits\.cu.*6"),
    "aborts": ("compile_error", None, r"aborts\.cu.*6"),
    "broken": ("compile_error", None, r"(?s)(?=.*undeclared)broken\.cu.*3"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_kernel_is_found(name, bench):
    """Whatever it does, its case has its status and a reason, no times, and the next kernel is right."""
    status, mismatches, reason = (
        one[bench.device.info.is_gpu] if isinstance(one, tuple) else one for one in WRONG[name]
    )
    outcome = bench.run(case_of(own(name)), samples=4)
    assert re.fullmatch(status, outcome.status), outcome
    assert mismatches in (None, outcome.mismatches)
    assert re.search(reason, outcome.reason), outcome.reason
    assert outcome.measured is None or outcome.status == "ok"
    assert bench.run(case_of(own("speaks")), samples=1).status == "ok"


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_a_sum_with_the_poison_is_told_from_a_wrong_kernel(dtype, bench):
    """An array that a kernel adds to needs another role; what is merely wrong does not say so."""
    outcome = bench.run(case_of(own("addsToOut"), dtype=dtype))
    assert outcome.status == "mismatch"
    assert "if the kernel adds to 'out', use role: inout and fill: zeros" in outcome.reason
    assert "role" not in bench.run(case_of(own("writesPart"))).reason
    assert "role" not in bench.run(case_of(own("leavesNaN"), size=1)).reason  # a NaN of its own


@pytest.mark.parametrize("samples", [3, 4])
def test_whichever_launch_is_the_wrong_one(samples, bench):
    """A kernel that is wrong at every other launch is found after an odd number of launches, and after an even one."""
    assert bench.run(case_of(own("everyOther")), samples=samples).status == "mismatch"


def test_too_much_shared_memory_is_skipped(bench):
    """What the device has not got is a skipped case with both numbers."""
    outcome = bench.run(case_of(own("greedy")))
    assert outcome.status == "skipped"
    assert "1048576 bytes of shared memory" in outcome.reason


def reference(folder, body):
    """A kernel whose reference is Python code."""
    head = "import numpy as np\nfrom runner.kernel.reference import ExpectedArray as Expected\n"
    (folder / "wanted.py").write_text(f"{head}def expected(inputs, parameters, grid):\n    {body}\n")
    return read_kernel(altered(HERE.parent / "written" / "fourOnes.yaml", folder))


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
        ("return {'out': Expected(np.ones(4), error=np.ones(3))}", "'error' of 'out' has the shape (3,), the values ("),
        (
            "return {'out': Expected(np.ones(4), defined=np.ones(3, bool))}",
            "'defined' of 'out' has the shape (3,), the",
        ),
        (
            "return {'out': Expected(np.ones(4), defined=np.ones(4))}",
            "expected booleans in 'defined' of 'out', not float64",
        ),
        ("return {'out': Expected(np.ones(4), error='0.5')}", "numbers of 0 or more"),
        (
            "return {'out': np.take(np.ones(4), 10**9)}",
            "(wanted.py:4)",
        ),  # the user's own line, although NumPy raised it
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("return {}\nraise SystemExit(0)", "SystemExit"),  # while it is imported
        ("raise ValueError('x' * 100_000)", "ValueError: xxx"),
        (
            "raise type('Mute', (Exception,), {'__str__': lambda e: 1 / 0})",
            "reference wanted.expected: Mute (wanted.py:4)",
        ),
    ],
)
def test_a_reference_that_does_not_work_is_told(body, told, bench, tmp_path):
    """Whatever a reference does, its case gets a reason, and never an ok."""
    outcome = bench.run(case_of(reference(tmp_path, body)))
    assert outcome.status == "crashed"
    assert told in outcome.reason


def test_a_reference_that_empties_its_inputs_does_not_empty_the_cases(bench, tmp_path):
    """The dictionary is the reference's own."""
    (tmp_path / "wanted.py").write_text(
        "def expected(inputs, parameters, grid):\n"
        "    x, y = inputs['x'], inputs['y']\n"
        "    inputs.clear()\n"
        "    return {'y': y + parameters['factor'] * x}\n"
    )
    pieces = ("reference: {y: factor * x + y}", "reference: wanted.expected")
    changed = altered(HERE / "saxpy.yaml", tmp_path, pieces)
    assert bench.run(case_of(read_kernel(changed))).status == "ok"


def test_a_reference_sets_warnings_for_itself_alone(bench, tmp_path):
    """A filter that it sets, when it is imported or called, is gone afterwards: other kernels have the same process."""
    filters = list(warnings.filters)
    change = "warnings.simplefilter('always', {})"
    when_called, when_imported = change.format("BytesWarning"), change.format("FutureWarning")
    body = f"{when_called}\n    return {{'out': np.ones(4)}}\nimport warnings\n{when_imported}"
    assert bench.run(case_of(reference(tmp_path, body))).status == "ok"
    assert warnings.filters == filters


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
    """A mismatch with kept inputs is tried again with fresh ones before it is believed; a wrong kernel stays wrong."""
    for name, status in (("saxpy", "ok"), ("writesPart", "mismatch")):
        spoilt = dataclasses.replace(bench, device=Spoilt(bench.device))
        assert spoilt.run(case_of(own(name))).status == status
        assert not spoilt.device.spoilt


FOLDER = ROOT / "tests" / "kernels" / "strangers"


@pytest.fixture
def kernel(tmp_path):
    """A case of a kernel of tests/kernels/strangers, with pieces of its YAML replaced."""
    return lambda name, *pieces: case_of(read_kernel(altered(FOLDER / f"{name}.yaml", tmp_path / name, *pieces)))


def test_a_pointer_may_point_behind_the_halo(bench, kernel):
    """`lead` elements of the array lie before it. The kernel need not be `extern "C"`, nor the constant array full."""
    outcome = bench.run(kernel("halo"), samples=1)
    assert (outcome.status, outcome.reason) == ("ok", "")


def test_a_halo_is_compared_and_ends_where_the_array_ends(bench, kernel):
    """The halo of an output is written, too; an element before it is outside."""
    right, wrong = (kernel("haloOfOutput", ("FIRST", first)) for first in ("0", "0 - 1"))
    assert bench.run(right, samples=1).status == "ok"
    outcome = bench.run(wrong, samples=1)
    assert outcome.status in ("hazard", "mismatch")
    assert (
        "outside 'out', before its start" in outcome.reason
        or "write of 'out': index -1, but it has 1006" in outcome.reason
    )


def test_the_elements_before_an_offset_are_guarded(bench, kernel):
    """They belong to nobody: a kernel that writes there is wrong on every device."""
    outcome = bench.run(kernel("beforeItsArray"), samples=1)
    assert outcome.status in ("hazard", "mismatch")
    assert (
        "outside 'out', before its start" in outcome.reason
        or "write of 'out': index -2, but it has 1000" in outcome.reason
    )


def test_a_lead_beyond_the_array_is_excluded_and_an_offset_of_a_constant_array_is_a_mistake(kernel):
    """Before anything runs, or when the YAML is read."""
    case = kernel("beforeItsArray", ("offset: 5", "lead: size + 1"))
    assert case.excluded == "the array 'out' of 1000 elements cannot have 1001 of them before its pointer"
    with pytest.raises(UsageError, match="offset: not allowed with a __constant__"):
        kernel("beforeItsArray", ("role: out", "role: in, fill: ones, constant: true"))


@pytest.fixture
def on_cpu(bench):
    """The device that can run what CUDA leaves open in several orders."""
    if bench.device.info.is_gpu:
        pytest.skip("undefined on a GPU")
    return bench


@pytest.mark.parametrize(
    ("name", "found"),
    [
        (
            "noBarrier",
            r"correct in order, wrong in reverse order: 9\d\d of 1000 elements differ: out\[1\] is -\d+, expec",
        ),
        ("noSyncwarp", r"correct in order, wrong in (reverse|a random) order: \d+ of 1000 elements differ"),
        ("blockByBlock", r"correct in order, wrong in reverse order: \d+ of 1000 elements differ"),
        (
            "waitsForTheBlockBefore",
            r"correct in order after .* s, but in reverse order strangers.cu:\d+: still running",
        ),
    ],
)
def test_a_result_that_depends_on_the_order_is_a_hazard(on_cpu, kernel, monkeypatch, name, found):
    """A missing barrier or __syncwarp, and blocks that count on others: another order shows what the usual one hides."""
    monkeypatch.setattr("runner.sweep.further_checks.MIN_LIMIT_S", 0.5)
    monkeypatch.setattr(on_cpu.device, "threads", 1)  # so that the usual order is that of the blocks' numbers
    outcome = on_cpu.run(kernel(name), samples=1)
    assert outcome.status == "hazard"
    sentence = "^the result depends on the order in which lanes, warps and blocks run: "
    assert re.search(sentence + found, outcome.reason), outcome.reason


def test_a_short_time_limit_does_not_hide_what_depends_on_the_order(on_cpu, kernel, monkeypatch):
    """A launch in another order has at least its own limit, and one that took 20 times the first's time counts."""
    monkeypatch.setattr("runner.sweep.further_checks.MIN_LIMIT_S", 0.5)
    monkeypatch.setattr(on_cpu.device, "threads", 1)
    outcome = on_cpu.run(kernel("waitsForTheBlockBefore"), samples=1, time_limit=0.4)
    assert outcome.status == "hazard"
    assert "in reverse order strangers.cu" in outcome.reason


@pytest.mark.parametrize("name", ["ticket", "floatAtomics"])
def test_what_is_right_in_each_order_is_no_hazard(on_cpu, kernel, name):
    """Blocks that draw their turn, and floats that atomics add up in another order, with other roundings."""
    outcome = on_cpu.run(kernel(name), samples=1)
    assert (outcome.status, outcome.reason) == ("ok", "")


HIDDEN = {  # what hides a NaN, or a large integer, that a lane reads from one that has left
    "a maximum": ("float32", "fmaxf(v, o)", "max"),
    "a minimum": ("float32", "fminf(v, o)", "min"),
    "a comparison": ("float32", "o > v ? o : v", "max"),
    "a minimum of integers": ("int32", "min(v, o)", "min"),
    "a maximum of integers": ("int32", "max(v, o)", "max"),
}


@pytest.mark.parametrize("what", HIDDEN)
def test_a_result_that_an_undefined_read_decides_is_never_right(what, bench, tmp_path):
    """The last warp has 8 threads: lanes 0 to 7 read some that have left, and the result depends on these."""
    dtype, combined, reduced = HIDDEN[what]
    (tmp_path / "reduces.yaml").write_text(
        f"parameters: {{block: 64, size: 1000}}\n"
        f"arguments:\n"
        f"  - {{name: x, role: in, dtype: {dtype}, shape: size, fill: random}}\n"
        f"  - {{name: y, role: out, dtype: {dtype}, shape: 'ceil_div(size, 32)'}}\n"
        f"  - {{name: n, scalar: int32, value: size}}\n"
        f"grid: ceil_div(size, block)\n"
        f"let: {{left: size % 32, whole: size - size % 32}}\n"
        f"constraints: {{left > 0: a warp that is not full}}\n"
        f"reference: {{y: 'concatenate({reduced}(reshape(x[:whole], whole // 32, 32), axis=1), "
        f"reshape({reduced}(x[whole:]), 1))'}}\n"
    )
    scalar = {"float32": "float", "int32": "int"}[dtype]
    (tmp_path / "reduces.cu").write_text(
        f"__global__ void reduces(const {scalar}* x, {scalar}* y, int n)\n"
        "{\n"
        "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    if (i >= n) return;\n"
        f"    {scalar} v = x[i];\n"
        "    for (int d = 16; d; d >>= 1) {\n"
        f"        const {scalar} o = __shfl_down_sync(0xffffffff, v, d);\n"
        f"        v = {combined};\n"
        "    }\n"
        "    if (threadIdx.x % 32 == 0) y[i / 32] = v;\n"
        "}\n"
    )
    outcome = bench.run(case_of(read_kernel(tmp_path / "reduces.yaml")))
    assert outcome.status in ("hazard", "mismatch")
    assert outcome.status == "mismatch" or "lanes read undefined values, which differ in each order" in outcome.reason


UNDEFINED = {  # a test that hides a value which no CUDA promises, with what it includes
    "CUB's sum in other threads than the first": (
        "#include <cub/cub.cuh>",
        """__shared__ cub::BlockReduce<int, 64>::TempStorage t; const int r = cub::BlockReduce<int, 64>(t).Sum(1);
        y[i] = x[i] + (r > 0);""",
    ),
    "a minimum of CUB's": (
        "#include <cub/cub.cuh>",
        """__shared__ cub::WarpReduce<int>::TempStorage t[2];
        const int r = cub::WarpReduce<int>(t[threadIdx.x / 32]).Sum(1);
        y[i] = x[i] + (max(r, 0) >= 1);""",
    ),
    "new memory below zero": ("", "int* p = new int[4]; y[i] = x[i] + (p[2] < 0); delete[] p;"),
    "memory from malloc that is not zero": (
        "", "volatile float* p = (float*)malloc(64); y[i] = x[i] + (p[2] > 0); free((void*)p);"
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", UNDEFINED)
def test_an_undefined_value_is_another_one_in_another_order(what, on_cpu, tmp_path):
    """So a comparison that holds for it in one order fails in another."""
    include, body = UNDEFINED[what]
    (tmp_path / "adds.yaml").write_text(
        "parameters: {block: 64, size: 1024}\ngrid: size // block\narguments:\n"
        "  - {name: x, role: in, dtype: int32, shape: size, fill: index}\n"
        "  - {name: y, role: out, dtype: int32, shape: size}\nreference: {y: x + 1}\n"
    )
    index = "const int i = blockIdx.x * blockDim.x + threadIdx.x;"
    (tmp_path / "adds.cu").write_text(f"{include}\n__global__ void adds(const int* x, int* y) {{ {index} {body} }}\n")
    outcome = on_cpu.run(case_of(read_kernel(tmp_path / "adds.yaml")), samples=1)
    assert outcome.status in ("hazard", "mismatch")


def test_a_reason_says_that_the_heap_was_full(on_cpu, tmp_path):
    """The kernel tests for null, and then gives up; the inputs play no part."""
    (tmp_path / "gives.yaml").write_text(
        "parameters: {block: 64, size: 1024}\ngrid: size // block\narguments:\n"
        "  - {name: x, role: in, dtype: int32, shape: size, fill: random}\n"
        "  - {name: y, role: out, dtype: int32, shape: size}\nreference: {y: x + 1}\n"
    )
    (tmp_path / "gives.cu").write_text(
        "__global__ void gives(const int* x, int* y)\n{\n"
        "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    volatile int* p = (int*)malloc(6000);\n"
        "    if (p) p[0] = x[i];\n"
        "    y[i] = p ? p[0] + 1 : 0;\n}\n"
    )
    outcome = on_cpu.run(case_of(read_kernel(tmp_path / "gives.yaml")), samples=1)
    assert outcome.status == "mismatch"
    assert "; malloc() or new returned null: the heap of 8 MiB is full (what earlier launches did not" in outcome.reason


def test_a_value_of_many_numbers_is_told(on_cpu, tmp_path):
    """With the expression and their number."""
    (tmp_path / "many.yaml").write_text(
        "parameters: {block: 64}\ngrid: 1\narguments: [{name: y, role: out, dtype: int32, shape: block}]\n"
        "reference: {y: 'full(1, block)'}\nvalue: y\n"
    )
    (tmp_path / "many.cu").write_text("__global__ void many(int* y) { y[threadIdx.x] = 1; }\n")
    outcome = on_cpu.run(case_of(read_kernel(tmp_path / "many.yaml")), samples=1)
    assert outcome.reason == "many.yaml: value: 'y' gives 64 numbers, expected one"


def test_the_padding_before_an_array_counts_as_its_memory(bench, tmp_path):
    """It would end the process."""
    (tmp_path / "far.yaml").write_text(
        "parameters: {block: 64}\ngrid: 1\nreference: {y: 'full(1, block)'}\n"
        "arguments: [{name: y, role: out, dtype: int32, shape: block, offset: 10**12}]\n"
    )
    (tmp_path / "far.cu").write_text("__global__ void far(int* y) { y[threadIdx.x] = 1; }\n")
    outcome = bench.run(case_of(read_kernel(tmp_path / "far.yaml")))
    assert outcome.status == "out_of_memory"
    assert f"the arrays need {4 * (10**12 + 64)} bytes" in outcome.reason
