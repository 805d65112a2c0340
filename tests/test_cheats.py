"""Kernels that cheat, as evaluators of kernels have been cheated: none is ok. The GPU with `-m gpu`."""

import dataclasses
from contextlib import ExitStack
from pathlib import Path

import pytest
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
