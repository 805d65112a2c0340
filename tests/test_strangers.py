"""Kernels as strangers declare them: what is right passes, what is wrong is found, and the message says what to do."""

import re

import pytest
from outcomes import altered
from support import ROOT, case_of, read_kernel

from runner.errors import UsageError

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
        or "write of 'out': index -1, but 'out' has 1006" in outcome.reason
    )


def test_the_elements_before_an_offset_are_guarded(bench, kernel):
    """They belong to nobody: a kernel that writes there is wrong on every device."""
    outcome = bench.run(kernel("beforeItsArray"), samples=1)
    assert outcome.status in ("hazard", "mismatch")
    assert (
        "outside 'out', before its start" in outcome.reason
        or "write of 'out': index -2, but 'out' has 1000" in outcome.reason
    )


def test_an_offset_of_a_constant_array_is_a_mistake(kernel):
    """A sentence says so when the YAML is read."""
    with pytest.raises(UsageError, match="offset: not allowed with a __constant__"):
        kernel("beforeItsArray", ("role: out", "role: in, fill: ones, constant: true"))


def test_a_lead_beyond_the_array_is_excluded(kernel):
    """Before anything runs."""
    case = kernel("beforeItsArray", ("offset: 5", "lead: size + 1"))
    assert case.excluded == "the array 'out' of 1000 elements cannot have 1001 before its pointer"


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


@pytest.mark.parametrize("name", ["ticket", "floatAtomics"])
def test_what_is_right_in_each_order_is_no_hazard(on_cpu, kernel, name):
    """Blocks that draw their turn, and floats that atomics add up in another order, with other roundings."""
    outcome = on_cpu.run(kernel(name), samples=1)
    assert (outcome.status, outcome.reason) == ("ok", "")
