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
    assert "right for the measured inputs, wrong for exact ones (seed 1)" in outcome.reason
    assert "(allowed 0: the result is exact)" in outcome.reason


@pytest.mark.parametrize(
    ("defect", "status", "wrong"),
    [("x", "ok", True), ("x", "mismatch", False), ("x", "hazard", False), ("x", "unproven", False), ("x", "crashed", True),
     ("", "ok", False), ("", "mismatch", True), ("", "unproven", True)],
)  # fmt: skip
def test_a_defect_is_found_unless_it_is_ok_or_did_not_run_and_a_right_variant_must_be_ok(defect, status, wrong):
    """A check without power counts against a right variant, and for a defect."""
    case = planted_defects.made(planted_defects.read("plantedSum"), {})
    trial = planted_defects.Trial(case, "sums", "random", defect)
    outcome = planted_defects.Outcome(status)
    assert planted_defects.failed(trial, outcome) == wrong
    counted = dict(zip(*(line.split()[-6:] for line in planted_defects.summary([(trial, outcome)])[::2]), strict=True))
    kind, verdict = ("planted", "missed") if defect else ("right", "refused")
    assert counted[kind] == "1"
    assert counted[verdict] == str(int(wrong))
    assert counted["unproven"] == str(int(bool(defect) and status == "unproven"))


def test_a_planted_case_takes_its_own_defect_and_fill_only():
    """A check that varies the parameters of a kernel cannot turn a right variant into a defect."""
    kernel = planted_defects.read("plantedSum", {"range": [-1, 2]})
    case = planted_defects.made(kernel, {"size": 64, "variant": 3})
    assert not case.excluded
    assert planted_defects.make(case.kernel, {"size": 65, "variant": 3, "defect": 1}, 0).excluded
    assert planted_defects.make(case.kernel, {"size": 65, "variant": 2}, 0).excluded
    assert not planted_defects.make(case.kernel, {"size": 65, "variant": 3}, 0).excluded
    assert [a.fill.numbers for a in case.arrays() if a.name == "x"] == [(-1, 2)]
