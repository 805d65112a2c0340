"""The checked device says what is missing where two accesses race, and between which lines it would stand."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import planted_races
import pytest
from support import Bench

from runner.device import Source
from runner.device.checked.device import CheckedDevice
from runner.device.cpu.build import CpuCompiler
from runner.errors import Hazard

SOURCE = Path(__file__).parent / "kernels" / "checked" / "advice.cu"
PLANTED = {kernel.name: kernel for kernel in planted_races.planted()}


def between(one, other):
    """Two lines."""
    return f"between lines {one} and {other}"


# For each rule planted kernels, and what is said of a race of the lines that are marked a and b.
ADVICE = {
    # threads of one block
    "neighbourNoBarrier": lambda a, b: f"missing: `__syncthreads()` {between(a, b)}",
    "neighbourVote": lambda a, b: f"missing: `__syncthreads()` {between(a, b)}",
    "neighbourWarp": lambda a, b: f"missing: `__syncthreads()` {between(a, b)}",
    "hillisSteeleOneBarrier": lambda a, b: f"missing: `__syncthreads()` {between(a, b)}",
    # ... in different iterations
    "tileOverwritten": lambda a, b: (
        f"missing: `__syncthreads()` at the end of the loop of line {a - 1}, "
        f"between line {b} and line {a} of the next iteration"
    ),
    "reverseRounds": lambda a, b: (
        f"missing: `__syncwarp()` at the end of the loop of line {a - 1}, "
        f"between line {b} and line {a} of the next iteration"
    ),
    "treeSumOneBarrier": lambda a, _: f"missing: `__syncwarp()` in each iteration of the loop of line {a - 1}",
    "hillisSteeleBuffersSkip": lambda a, _: f"missing: `__syncthreads()` in each iteration of the loop of line {a - 2}",
    "summedTwiceCarelessly": lambda a, b: f"`__syncthreads()` between line {b} and line {a} of the next call",
    # lanes of one warp
    "reverseShuffle": lambda a, b: f"missing: `__syncwarp()` {between(a, b)}",
    "reverseHalves": lambda a, b: f"missing: `__syncwarp()` of both threads {between(a, b)}",
    "unrolledHalfSync": lambda a, _: f"missing: `__syncwarp()` between the read and the write on line {a}",
    # atomic, and not
    "histogramPlain": lambda a, _: f"the update on line {a} must be atomic (such as `atomicAdd`)",
    "strideEven": lambda _, __: "each thread needs elements of its own, or the writes must be atomic",
    "foundSame": lambda _, __: "one thread alone should write it",
    "histogramCleared": lambda a, b: f"missing: `__syncthreads()` {between(a, b)}, or an atomic write on line {a}",
    "totalMixed": lambda a, _: f"the write on line {a} must be atomic, too",
    "largestLook": lambda a, _: f"the read on line {a} must be atomic, too",
    "visitedTestThenSet": lambda a, b: f"the test on line {a} and the access on line {b} must be one step",
    # blocks
    "totalPlain": lambda a, _: f"the update on line {a} must be atomic (such as `atomicAdd`)",
    "smoothedInPlace": lambda _, __: "blocks of one launch have no order",
    "rangesOverlap": lambda _, __: "each block needs elements of its own, or the writes must be atomic",
    "gridStagesBlock": lambda _, __: "missing: a barrier of the grid, such as `grid.sync()`, between the two",
    "totalBlockScope": lambda a, _: f"the atomic on line {a} needs the scope of the device (no `_block`)",
    # a word that signals
    "lastBlockNoFence": lambda a, _: (
        f"the signal on line {a + 1} orders them only with a `__threadfence()` {between(a, a + 1)}"
    ),
    "lastBlockBlockFence": lambda a, _: (
        f"only with `__threadfence()` in place of `__threadfence_block()` {between(a, a + 2)}"
    ),
    "flagProducerFence": lambda _, b: f"only with a `__threadfence()` (or an acquire) {between(b - 1, b)}",
    "flagConsumerFence": lambda a, _: f"only with a `__threadfence()` {between(a, a + 1)}",
    "flagRefRelaxed": lambda _, b: f"only with an acquire on line {b}",
    "flagForBlockEarly": lambda a, _: f"only with a `__syncthreads()` {between(a, a + 3)}",
    "flagStoredAgain": lambda a, _: (
        f"line {a - 1} signals too early: it must stand behind line {a} and a `__threadfence()`"
    ),
    "flagWithinBlockNoFence": lambda a, _: f"only with a `__threadfence_block()` {between(a, a + 1)}",
    "lastBlockBlockCounter": lambda _, __: "orders them only with the scope of the device (no `_block`)",
    "lockOther": lambda a, _: f"the update on line {a} must be atomic",
    "flagTooLate": lambda _, __: "blocks of one launch have no order",
}


@pytest.fixture(scope="module")
def bench(own_cache):
    """The checked device with one thread, so that the first occurrences are the same in every run."""
    return Bench(CheckedDevice(threads=1), CpuCompiler(checked=True))


def found(bench, name, *, broken=True):
    """What is found in a kernel of advice.cu."""
    source = Source(SOURCE, SOURCE.read_text(), name, (("BROKEN", str(int(broken))),))
    with pytest.raises(Hazard) as raised:
        bench.call(source, np.arange(64, dtype=np.int32), np.zeros(64, np.int32), block=64)
    return raised.value.findings


def line_of(text, kernel):
    """The number of a line of a kernel in advice.cu."""
    lines = SOURCE.read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if f" {kernel}(" in line)
    return next(i for i in range(start, len(lines)) if text in lines[i]) + 1


@pytest.mark.parametrize("file", sorted({PLANTED[name].file for name in ADVICE}), ids=lambda path: path.stem)
def test_a_race_says_what_is_missing_and_where(bench, file):
    """Each rule, on kernels that are broken in this way: the advice has the marked lines."""
    kernels = [PLANTED[name] for name in ADVICE if PLANTED[name].file == file]
    cases = planted_races.cases(kernels)
    wrong = {}
    for kernel in kernels:
        a, b = (min(kernel.lines.get(f"RACE {side}", [0])) for side in "ab")
        advice = [finding.advice for finding in bench.run(cases[kernel.name]).findings]
        if not any(ADVICE[kernel.name](a, b) in said for said in advice):
            wrong[kernel.name] = (ADVICE[kernel.name](a, b), advice)
    assert wrong == {}


def test_an_iteration_that_overtakes_another_is_told(bench):
    """The write of the next iteration races with the read of this one: the barrier at the loop's end is missing."""
    (finding,) = found(bench, "afterTheLoop")
    write, read, loop = (line_of(text, "afterTheLoop") for text in ("s[t] =", "sum +=", "for ("))
    assert finding.advice == (
        f"missing: `__syncthreads()` at the end of the loop of line {loop}, "
        f"between line {read} and line {write} of the next iteration"
    )
    assert finding.text.endswith(f"; {finding.advice}")
    assert json.loads(json.dumps(dataclasses.asdict(finding)))["advice"] == finding.advice


def test_a_copy_that_is_not_waited_for_is_told(bench):
    """Reading what an asynchronous copy is still to write names the copy and the missing wait."""
    (finding,) = found(bench, "copied")
    copy, read = line_of("__pipeline_memcpy_async", "copied"), line_of("out[t] =", "copied")
    assert (finding.kind, finding.array, finding.count) == ("unwaited", "s", 64)
    assert (finding.line, finding.other_line) == (f"advice.cu:{read}", f"advice.cu:{copy}")
    assert f"before the asynchronous copy of advice.cu:{copy} was waited for" in finding.text
    assert f"`__pipeline_wait_prior(0)`, {between(copy, read)}" in finding.advice


@pytest.mark.parametrize(("name", "array"), [("beforeOne", "one"), ("beforeTwo", "two")])
def test_an_access_before_a_shared_array_names_it(bench, name, array):
    """An index far below zero belongs to the array behind it, not to the one that ends 48 KiB before."""
    (finding,) = found(bench, name)
    assert (finding.kind, finding.array) == ("outside", array)
