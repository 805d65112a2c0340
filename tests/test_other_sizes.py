"""A kernel that is right at one size is checked at others, too. The GPU with `-m gpu`."""

import dataclasses

import pytest
from support import KERNELS, case_of, few, shipped
from test_cheats import kernel

from runner.sweep.further_checks import other_sizes
from runner.sweep.run_case import run_case
from runner.sweep.worker import Task


def checked(bench, case):
    """The outcome of a case, which is checked at other sizes."""
    source = case.source()
    task = Task(case, source, bench.compiler.compile(source), dataclasses.replace(few(3), check_sizes=True), 20.0)
    return run_case(bench.device, task, lambda _: None)


def test_a_kernel_that_is_right_at_whole_blocks_only_is_a_mismatch(bench):
    """It leaves out what is behind the last whole block; the reason names the size and what to do."""
    outcome = checked(bench, case_of(kernel("wholeBlocksOnly"), size=2**14))
    assert outcome.status == "mismatch"
    assert "right at this size, wrong at size=1: " in outcome.reason
    assert "constraints" in outcome.reason


def test_a_kernel_that_says_which_sizes_it_takes_is_ok(bench):
    """Its constraint excludes the others."""
    whole = {"size % block == 0": "whole blocks only"}
    outcome = checked(bench, case_of(kernel("wholeBlocksOnly", constraints=whole), size=2**14))
    assert (outcome.status, outcome.reason) == ("ok", "")


def test_the_size_below_is_checked(bench):
    """A kernel may be wrong at one size less only."""
    case = case_of(kernel("wrongBelow"), size=2**14)
    outcome = checked(bench, case)
    assert outcome.status == "mismatch"
    assert f"size={2**14 - 1}" in outcome.reason


def test_a_slow_kernel_is_checked_at_small_sizes_only():
    """The size below its own would take as long again."""
    case = case_of(kernel("honest"), size=2**14)
    sizes = [other.variables["size"] for other in other_sizes(case, 10_000.0)]
    assert sizes == [1, 31, 63, 65, 255, 257, 997, 1023, 1025]


def test_a_kernel_whose_size_is_compiled_in_has_no_other():
    """Another size would be another program."""
    case = case_of(kernel("honest", macros=["SIZE"]), size=2**14)
    assert not list(other_sizes(case, 1.0))


@pytest.mark.parametrize("name", [n for n in KERNELS if not shipped(n).gpu_only and not case_of(shipped(n)).hazard])
def test_every_shipped_kernel_is_right_at_other_sizes(name, bench):
    """Or its constraints say that it is not meant for them."""
    size = "64x96" if "rows" in case_of(shipped(name)).variables and shipped(name).family == "transpose" else None
    outcome = checked(bench, case_of(shipped(name), size=size) if size else case_of(shipped(name), size=2**12))
    assert outcome.status in ("ok", "skipped"), outcome.reason
