"""A slice of benchmarks/planted_defects.py: every planted defect is found, no correct variant is refused."""

import sys

import pytest
from support import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))

import planted_defects

QUICK = [k for k in planted_defects.KERNELS if k.name in ("plantedSum", "plantedNorm", "plantedRelu", "plantedSoftmax")]


@pytest.mark.parametrize("kernel", QUICK, ids=lambda kernel: kernel.name)
def test_planted_defects_are_found_and_correct_variants_pass(kernel, bench):
    """In a few thousand elements; the benchmark takes more, of more kernels."""
    for trial in planted_defects.trials([kernel], [4096], ["float32"]):
        outcome = planted_defects.run(trial, bench.device, bench.compiler)
        assert not planted_defects.failed(trial, outcome), (trial.label, outcome.status, outcome.reason)


def test_a_sum_of_a_million_that_skips_its_last_element_is_found_by_the_further_inputs(bench):
    """The bound of any order of additions is wider than that element; sums of quarters have no bound."""
    kernel = planted_defects.read("plantedSum")
    wrong = planted_defects.Trial(planted_defects.make(kernel, {"size": 2**20, "defect": 2}, 0), "skips the last")
    outcome = planted_defects.run(wrong, bench.device, bench.compiler)
    assert outcome.status == "mismatch"
    assert "right for the measured inputs, wrong for exact ones (seed 1)" in outcome.reason
    assert "(allowed 0: the result is exact)" in outcome.reason
