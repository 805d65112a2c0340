"""Several steps as one kernel: what the checked device sees of memsets and copies, and what is counted.

That their results are right on each device, test_own_arguments.py has.
"""

import pytest
from outcomes import altered
from support import ROOT, Bench, case_of, line_costs, read_kernel

from runner.device.checked.device import CheckedDevice
from runner.device.cpu.build import CpuCompiler
from runner.stages.checked import builds

FOLDER = ROOT / "tests" / "kernels" / "launches"


@pytest.fixture(scope="module")
def checked(own_cache):
    """The checked device."""
    return Bench(CheckedDevice(threads=1), CpuCompiler(checked=True))


@pytest.mark.parametrize("name", ["setThenCount", "setToMost", "copyBetween"])
def test_a_memset_and_a_copy_initialize_an_array(checked, name):
    """On the checked device the launches behind them read what they wrote."""
    outcome = checked.run(case_of(read_kernel(FOLDER / f"{name}.yaml")))
    assert (outcome.status, outcome.reason) == ("ok", "")


@pytest.mark.parametrize(
    ("name", "step", "array"),
    [
        ("setThenCount", "  - memset: counts\n", "counts"),
        ("copyBetween", "      - copy: {from: data, to: before}\n", "before"),
    ],
)
def test_without_the_step_the_array_is_uninitialized(checked, tmp_path, name, step, array):
    """The checked device names the array and the line that reads it."""
    path = altered(FOLDER / f"{name}.yaml", tmp_path, (step, ""))
    reason = checked.run(case_of(read_kernel(path))).reason
    assert f"uninitialized read of global '{array}'" in reason
    assert reason.startswith("own.cu:")


def test_a_memset_behind_a_read_does_not_excuse_it(checked, tmp_path):
    """Only the launches behind a memset read what it wrote."""
    step, launch = "  - memset: counts\n", "  - {function: countBins, arguments: [in, counts, n]}\n"
    path = altered(FOLDER / "setThenCount.yaml", tmp_path, (step + launch, launch + step))
    assert "uninitialized read of global 'counts'" in checked.run(case_of(read_kernel(path))).reason


def test_lines_of_launches_behind_a_memset_are_counted():
    """The counting launches set and copy, too: without the places that a memset sets, this kernel reads anywhere."""
    costs = line_costs(case_of(read_kernel(FOLDER / "setThenFetch.yaml")))
    lines = (FOLDER / "own.cu").read_text().splitlines()
    assert {lines[cost.line - 1].strip() for cost in costs} == {"if (i < n) to[i] = from[places[i]];"}


def test_kernels_that_differ_in_a_memset_share_no_cached_result(checked, tmp_path):
    """Both have the same binary, launches and arrays."""
    cases = [
        case_of(read_kernel(altered(FOLDER / "setThenFetch.yaml", tmp_path / value, ("size - 1}", f"{value}}}"))))
        for value in ("0", "1")
    ]
    binary = checked.compiler.compile(cases[0].source())
    builds.cache_result("races", cases[0], binary=binary, result={"late": 0})
    assert [builds.cached_result("races", case, binary=binary) for case in cases] == [{"late": 0}, None]
