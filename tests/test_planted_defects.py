"""A slice of benchmarks/planted_defects.py: every planted defect is found, no correct variant is refused."""

import sys

import pytest
from support import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))

import planted_defects

# Kernels, with a type of each: sums, branches, indices, integers, half types and kernels of a run-time width.
QUICK = [
    ("plantedSum", "float32"),
    ("plantedNorm", "float32"),
    ("plantedRelu", "float32"),
    ("plantedSoftmax", "float32"),
    ("plantedHalfMap", "bfloat16"),
    ("plantedRmsNorm", "float16"),
    ("plantedQuarter", "int32"),
    ("plantedClip6", "int8"),
    ("plantedOnline", "bfloat16"),
    ("plantedProduct", "bfloat16"),
    ("plantedMost", "float16"),
    ("plantedArgsort", "int32"),
    ("plantedSign", "float32"),
    ("plantedSign", "int32"),
    ("plantedThirds", "int32"),
    ("plantedColumns", "float32"),
]


@pytest.mark.parametrize(("name", "dtype"), QUICK)
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
    assert "correct for the measured inputs, wrong for exact ones (seed 1)" in outcome.reason
    assert "(allowed 0: the result is exact)" in outcome.reason
