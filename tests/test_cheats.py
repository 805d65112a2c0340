"""Kernels that cheat, as evaluators of kernels have been cheated, and what a check would let through. The GPU with `-m gpu`."""

import dataclasses
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml
from support import case_of

from runner.kernel import from_yaml
from runner.sweep.further_checks import implausible
from runner.sweep.trial import contents, trials

SOURCE = Path(__file__).parent / "kernels" / "cheats" / "cheats.cu"
CHEATS = [
    "lazyOutput", "readsPoison", "remembers", "remembersInScratch", "countsLaunches", "skipsByClock", "writesTheEnds",
    "knowsOneSeed", "overruns", "underruns", "changesItsInput", "roundsToHalf", "writesNaN", "writesInfinity",
    "doesNothing", "forgetsTheTail", "addsToNothing", "addsToNothingShared",
]  # fmt: skip


def kernel(name, **keys):
    """One of the kernels, whose reference is 3 * in + 1."""
    content = {
        "source": str(SOURCE),
        "summary": "3 * in + 1",
        "parameters": {"size": 10_000, "block": 256, "fill": "random"},
        "arguments": [
            {"name": "in", "role": "in", "dtype": "float32", "shape": "size", "fill": "fill"},
            {"name": "out", "role": "out", "dtype": "float32", "shape": "size"},
            {"name": "n", "scalar": "int32", "value": "size"},
        ],
        "grid": "ceil_div(size, block)",
        "reference": {"out": "3 * in + 1"},
        **keys,
    }
    if name == "remembersInScratch":
        content["arguments"].append({"name": "scratch", "role": "scratch", "dtype": "float32", "shape": "size"})
    return from_yaml.read(name, content, SOURCE.with_name(f"{name}.yaml"))


def test_the_honest_kernel_is_ok(bench):
    """What the others should do is right, so that it is the cheating that is found."""
    outcome = bench.run(case_of(kernel("honest")))
    assert (outcome.status, outcome.reason) == ("ok", "")


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_is_found(name, bench):
    """Whatever a kernel remembers, leaves out or spoils, it is not ok."""
    case = case_of(kernel(name))
    if name == "knowsOneSeed":
        first = int(contents(case)["in"][:1].view("int32")[0])
        case = case_of(kernel(name, macros=[{"FIRST": str(first)}]))
    outcome = bench.run(case)
    assert outcome.status in ("mismatch", "hazard"), outcome
    assert outcome.measured is None


@pytest.mark.gpu
@pytest.mark.parametrize("bench", ["cuda"], indirect=True)
def test_a_timed_launch_finds_nothing_that_an_earlier_one_left(bench):
    """Local, shared and managed memory are cleared or reset before it, and variables that only their file sees."""
    # As many blocks as fit on the GPU at once: a later block would find what an earlier one of the same launch left.
    size = 256 * bench.device.info.details["multiprocessors"]
    case = case_of(
        kernel("leftovers", source=str(SOURCE.with_name("leftovers.cu")), reference={"out": "in * 0"}), size=size
    )
    source = case.source()
    program = bench.device.load(source, bench.compiler.compile(source))
    left = []
    with ExitStack() as stack:
        trial = next(trials(bench.device, program, case, stack, fast=False))

        def look(_):
            left.append(set(trial.arrays["out"].read()))

        bench.device.sample([trial.launch] * 3, 20.0, lambda _: trial.prepare(), look)
        trial.launch.program.reset()
        bench.device.launch(trial.launch, 20.0)
        unprepared = set(trial.arrays["out"].read())
    assert left == [{0.0}] * 3
    assert max(unprepared) > 0, "the kernel finds nothing at all"


@pytest.mark.gpu
@pytest.mark.parametrize("bench", ["cuda"], indirect=True)
def test_a_time_that_the_memory_does_not_allow_is_implausible(bench):
    """A sum of ones is known without a look at them: right, and faster than any memory."""
    content = {
        "reference": {"out": "in[:1] * size"},
        "bytes": {"read": "4 * size", "written": "4"},
        "parameters": {"size": 2**26, "block": 1024, "fill": "ones"},
        "grid": "1",
        "arguments": [
            {"name": "in", "role": "in", "dtype": "float32", "shape": "size", "fill": "fill"},
            {"name": "out", "role": "out", "dtype": "float32", "shape": "1"},
            {"name": "n", "scalar": "int32", "value": "size"},
        ],
    }
    outcome = bench.run(case_of(kernel("knowsTheSum", **content)))
    assert outcome.status == "implausible"
    assert "GB/s" in outcome.reason


def test_a_time_is_implausible_where_the_memory_or_the_launch_is_slower(bench):
    """By the DRAM's peak for inputs, by the L2 cache's for all declared bytes, and by an empty kernel's time."""
    case = case_of(kernel("honest", bytes={"read": "4 * size", "written": "4 * size"}), size=2**24)
    details = {"empty_kernel_us": 2.0, "clock_mhz": 1980.0, "multiprocessors": 132}
    gpu = dataclasses.replace(bench.device.info, kind="cuda", peak_gbps=4800.0, l2_bytes=50 << 20, details=details)
    assert "less than an empty kernel" in implausible(case, gpu, 1.5)
    assert "the DRAM" in implausible(case, gpu, 13.0)
    assert implausible(case, gpu, 30.0) == ""
    if not bench.device.info.is_gpu:
        assert implausible(case, bench.device.info, 1.5) == ""


POWER_CU = Path(__file__).parent / "kernels" / "cheats" / "power.cu"
HALVES = ["float16", "bfloat16"]


def case(
    name, dtype, reference, *, defect=0, rows=8, width=512, length="[rows_, width_]", fill="random", n="width_", **keys
):
    """A case of one of the kernels: `rows` of `width` numbers."""
    content = yaml.safe_load(f"""
parameters: {{rows_: {rows}, width_: {width}, block: 64, dtype: {dtype}, defect: {{default: {defect}, allowed: [{defect}]}}}}
macros: [{{SCALAR: dtype}}]
grid: rows_
arguments:
  - {{name: in, role: in, dtype: dtype, shape: [rows_, width_], fill: {fill}}}
  - {{name: out, role: out, dtype: dtype, shape: {length}}}
  - {{name: n, scalar: int32, value: {n}}}
  - {{name: which, scalar: int32, value: defect}}
""")
    content |= {"source": str(POWER_CU), "reference": {"out": reference}, **keys}
    return case_of(from_yaml.read(name, content, POWER_CU.with_name(f"{name}.yaml")))


def elements(name, dtype, reference, **keys):
    """A case of a kernel that takes one element after the other."""
    keys = {"rows": 1, "width": 64, "n": "rows_ * width_", "grid": "ceil_div(rows_ * width_, block)", **keys}
    return case(name, dtype, reference, **keys)


def softmax(dtype, **keys):
    """A case of `softmax`."""
    return case("softmax", dtype, "softmax(in)", **keys)


def sums(dtype, **keys):
    """A case of `rowSums`."""
    return case("rowSums", dtype, "sum(in * in, axis=1)", length="rows_", **keys)


@pytest.mark.parametrize("dtype", [*HALVES, "float32"])
@pytest.mark.parametrize(("defect", "status"), [(0, "ok"), (1, "mismatch"), (2, "mismatch")])
def test_a_softmax_of_halves_that_is_twice_too_large_or_zero_is_found(dtype, defect, status, bench):
    """As a kernel of half types is expected to add in float32."""
    assert bench.run(softmax(dtype, defect=defect), samples=1).status == status


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize(("defect", "status"), [(0, "ok"), (1, "mismatch"), (2, "mismatch"), (3, "ok")])
def test_a_sum_of_halves_has_float32s_error_and_its_terms_may_be_rounded(dtype, defect, status, bench):
    """Half of a row left out is found; so is a sum in the half type, unless the YAML says `compute`."""
    outcome = bench.run(sums(dtype, defect=defect, fill={"range": [0, 1]}, width=100), samples=1)
    assert outcome.status == status
    explained = f"sums in {dtype} explain it: if the kernel is meant to add in {dtype}, write 'compute: {dtype}'"
    assert (explained in outcome.reason) == (defect == 2 and dtype == "float16")  # in bfloat16 anything would be right


def test_a_kernel_that_adds_in_half_says_so_with_compute(bench):
    """Then its own errors are allowed, as far as they leave anything to check."""
    short = {"width": 64, "fill": {"range": [0, 1]}, "defect": 2}
    assert bench.run(sums("float16", compute="float16", **short), samples=1).status == "ok"
    outcome = bench.run(sums("bfloat16", compute="bfloat16", **{**short, "width": 500}), samples=1)
    assert outcome.status == "unproven"
    assert "write 'compute: float32' if the kernel adds in float32, or choose a smaller size" in outcome.reason


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize(("defect", "status"), [(0, "ok"), (1, "mismatch")])
def test_what_is_calculated_element_by_element_may_be_rounded_to_half_each_time(dtype, defect, status, bench):
    """A kernel of `__hmul` and `__hadd` needs no `compute`."""
    outcome = bench.run(elements("scaled", dtype, "in * 0.3 + 0.5", defect=defect), samples=1)
    assert outcome.status == status


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"undefined_where": {"out": "in == in"}, "defect": 1}, "no element of 'out' is compared"),
        ({"tolerance": {"rtol": 0.2}}, "accepts errors of 20% of a typical element (0.9 of the values)"),
        ({"tolerance": {"atol": 4}}, "the YAML's 'tolerance' (rtol=0 atol=4) is too large for these values"),
    ],
)
def test_a_case_whose_check_lets_too_much_through_is_unproven(keys, reason, bench):
    """It is not ok, has no times, and its reason says what to do."""
    outcome = bench.run(elements("copied", "float32", "in", **keys), samples=1)
    assert (outcome.status, outcome.measured) == ("unproven", None)
    assert reason in outcome.reason


def test_a_row_says_what_its_check_lets_through(bench):
    """The largest relative error, and wrong results that would pass: a shift of equal elements, a term of a sum."""
    exact = bench.run(elements("copied", "float32", "in"), samples=1)
    assert (exact.allowed_error, exact.undetected, exact.further.input_launches) == (0.0, (), 0)
    equal = bench.run(elements("copied", "float32", "in", fill="ones"), samples=1)
    assert equal.undetected == ("a shift by one element",)
    coarse = bench.run(softmax("float32", tolerance={"rtol": 0.05}), samples=1)
    assert coarse.allowed_error == pytest.approx(0.05)
    assert coarse.undetected == ()
    loose = bench.run(softmax("float32", tolerance={"rtol": 0.01, "atol": 1e-4}, rows=1), samples=1)
    assert loose.status == "ok"
    summed = case("rowSums", "float32", "sum(in * in, axis=1)", length="rows_", tolerance={"rtol": 0.01})
    assert bench.run(summed, samples=1).undetected == ("a result without one element of 'in'",)


@pytest.mark.parametrize("dtype", HALVES)
def test_a_softmax_without_one_of_its_terms_is_found_whatever_its_inputs(dtype, bench):
    """All of a softmax is expected in float32, though its arguments may be large."""
    outcome = bench.run(softmax(dtype, width=64, fill={"normal": [0, 4]}, defect=3), samples=1)
    assert outcome.status == "mismatch"
