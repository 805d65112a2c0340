"""Defects that rounding errors, or inputs where they do not show, could hide, and planted ones. The GPU with `-m gpu`."""

import sys
from pathlib import Path

import numpy as np
import pytest
from support import ROOT, case_of

from runner.bounds.array_expression import ArrayExpression
from runner.bounds.rounding import Arithmetic
from runner.kernel import from_yaml

sys.path.insert(0, str(ROOT / "benchmarks"))

import planted_defects

SOURCE = Path(__file__).parent / "kernels" / "cheats" / "hidden.cu"
CHAOS = {"x1": "3.99 * in * (1 - in)", **{f"x{i + 1}": f"3.99 * x{i} * (1 - x{i})" for i in range(1, 30)}}


def case(name, defect, reference, length="size", fill="random", dtype="float32", size=10_000, **keys):
    """A case of one of the kernels."""
    content = {
        "source": str(SOURCE),
        "parameters": {"size": size, "block": 128, "defect": defect},
        "arguments": [
            {"name": "in", "role": "in", "dtype": "float32", "shape": "size", "fill": fill},
            {"name": "out", "role": "out", "dtype": dtype, "shape": length},
            {"name": "n", "scalar": "int32", "value": "size"},
            {"name": "which", "scalar": "int32", "value": "defect"},
        ],
        "grid": "ceil_div(size, block)",
        "reference": reference if isinstance(reference, str) else {"out": reference["out"]},
        **keys,
    }
    return case_of(from_yaml.read(name, content, SOURCE.with_name(f"{name}.yaml")))


ROWS = {"length": "size // 200", "constraints": {"size % 200 == 0": "whole rows"}}
ROW = "reshape(in, size // 200, 200)"
KERNELS = {
    "a sum of random numbers that knows exact inputs": (
        "sumsQuartersOnly", 1, {"out": "sum(in, keepdims=True)"}, {"length": 1, "size": 2**18},
    ),
    "a largest number that begins with 0": (
        "extremes", 1, {"out": "stack(max(in), min(in))"}, {"length": 2},
    ),
    "extremes without the last number": ("extremes", 2, {"out": "stack(max(in), min(in))"}, {"length": 2}),
    "a mean that is divided by one too many": (
        "variances", 1, {"out": f"mean(({ROW} - mean({ROW}, axis=1, keepdims=True)) ** 2, axis=1)"},
        {**ROWS, "fill": {"normal": [1.0, 2.0]}},
    ),
    "means of numbers of one sign": ("means", 1, {"out": f"mean({ROW}, axis=1)"}, {**ROWS, "fill": {"range": [4, 6]}}),
    "more than, or at least": ("halves", 1, {"out": "in >= 0.5"}, {"dtype": "int32"}),
    "more than, or at least, in Python": ("halves", 1, "counted.halves", {"dtype": "int32"}),
}  # fmt: skip


@pytest.mark.parametrize("what", KERNELS)
def test_a_defect_that_could_hide_is_found(what, bench):
    """The right kernel is ok without a note, the wrong one is not."""
    name, defect, reference, keys = KERNELS[what]
    right, wrong = (bench.run(case(name, d, reference, **keys), samples=1) for d in (0, defect))
    assert (right.status, right.reason, right.note) == ("ok", "", "")
    assert wrong.status == "mismatch"


@pytest.mark.parametrize("defect", [0, 1])
def test_outputs_of_which_nothing_can_be_checked_are_not_ok(defect, bench):
    """If rounding errors may change each element by any amount, the reason says so."""
    keys = {"fill": {"range": [0.1, 0.9]}, "let": CHAOS, "size": 200}
    outcome = bench.run(case("chaos", defect, {"out": "x30"}, **keys), samples=1)
    assert outcome.status == "unproven"
    assert "the check of 'out' accepts any error of a typical element" in outcome.reason
    tolerant = bench.run(case("chaos", defect, {"out": "x30"}, **keys, tolerance={"atol": 1.0}), samples=1)
    assert tolerant.status == "unproven"
    assert "'tolerance' (rtol=0 atol=1) is too large for these values" in tolerant.reason


def test_the_error_of_a_python_reference_holds_for_integers(bench):
    """An escape count may be off by one where rounding decides."""
    outcome = bench.run(case("halves", 1, "counted.halves_or_so", dtype="int32", size=100), samples=1)
    assert outcome.status == "ok"


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("text", ["sum(x * y, axis=1)", "einsum('ij,ij->i', x, y)"])
def test_sums_of_random_signs_have_a_narrow_bound_that_no_order_leaves(dtype, text):
    """It is far below the bound of all signs, and one after the other, backwards and by turns stay within it."""
    generator = np.random.default_rng(5)
    x, y = (generator.uniform(-1, 1, (40, 4096)).astype(dtype) for _ in range(2))
    inputs, how = {"x": x, "y": y}, np.dtype(dtype)
    wide, narrow = (ArrayExpression(text, "test")(inputs, Arithmetic(how, random_signs=r)) for r in (False, True))
    assert (narrow.high - narrow.low).max() < 0.3 * (wide.high - wide.low).max()
    terms = x * y
    for order in (slice(None), slice(None, None, -1), np.arange(4096).reshape(64, 64).T.reshape(-1)):
        sums = np.zeros(40, dtype)
        for column in terms[:, order].T:
            sums += column
        assert ((narrow.low <= sums) & (sums <= narrow.high)).all()


# By type, kernels of it: sums, branches, indices, integers, half types and kernels of a run-time width.
QUICK = {
    "float32": "plantedSum plantedNorm plantedRelu plantedSoftmax plantedSign plantedColumns",
    "bfloat16": "plantedHalfMap plantedOnline plantedProduct",
    "float16": "plantedRmsNorm plantedMost",
    "int32": "plantedQuarter plantedArgsort plantedSign plantedThirds",
    "int8": "plantedClip6",
}


@pytest.mark.parametrize(("dtype", "name"), [(dtype, name) for dtype, names in QUICK.items() for name in names.split()])
def test_planted_defects_are_found_and_correct_variants_pass(name, dtype, bench):
    """In a few thousand elements; the benchmark takes more, of more kernels and types."""
    kernels = planted_defects.chosen(name)
    for trial in planted_defects.trials(kernels, [4096], [dtype]):
        outcome = planted_defects.run(trial, bench.device, bench.compiler)
        assert not planted_defects.failed(trial, outcome), (trial.label, outcome.status, outcome.reason)


def test_a_sum_of_a_million_that_skips_its_last_element_is_found_by_the_further_inputs(bench):
    """The bound of any order of additions is wider than that element; sums of quarters have no bound."""
    kernel = planted_defects.read("plantedSum")
    case = planted_defects.made(kernel, {"size": 2**20, "defect": 2})
    outcome = planted_defects.run(
        planted_defects.Trial(case, "sums", "random", "the last"), bench.device, bench.compiler
    )
    assert outcome.status == "mismatch"
    assert "correct for the measured inputs, wrong for further ones with exact results (seed 1)" in outcome.reason
    assert "(allowed 0: the result is exact)" in outcome.reason
