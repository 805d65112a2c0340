"""The rule of the shuffles: against PTX's own pseudo code, and the kernels against the rule."""

import numpy as np
import pytest
from support import case_of, shipped
from test_drawn_cases import drawn

from runner.kernel.check import check
from runner.kernel.lanes import exchange, exchange_of, source_lanes
from runner.kernel.reference import expect
from runner.sweep.trial import contents

SHUFFLES = {
    "shflBroadcast": "src_lane", "shflUp": "delta", "shflDown": "delta", "shflWrap": "offset", "shflXor": "lane_mask",
}  # fmt: skip
ARRAYS = ["shflXorArray", "shflSwap"]


def by_ptx(mode, lane, b, width):
    """PTX ISA 8.5, 9.7.9.6 shfl.sync, line by line, with c as CUDA's headers make it."""
    c = (32 - width) << 8 | (0 if mode == "up" else 0x1F)
    bval, cval, segmask = b & 0x1F, c & 0x1F, c >> 8 & 0x1F
    max_lane = (lane & segmask) | (cval & ~segmask)
    min_lane = lane & segmask
    j = {"up": lane - bval, "down": lane + bval, "xor": lane ^ bval, "idx": min_lane | (bval & ~segmask)}[mode]
    valid = j >= max_lane if mode == "up" else j <= max_lane
    return j if valid else lane


@pytest.mark.parametrize("mode", ["idx", "up", "down", "xor"])
def test_the_rule_is_that_of_ptx(mode):
    """All widths, all lanes, arguments below 0, up to 31 and beyond."""
    for width in (1, 2, 4, 8, 16, 32):
        for argument in (*range(-40, 80), 2**63, 2**64 - 1):
            expected = [by_ptx(mode, lane, argument & 0xFFFFFFFF, width) for lane in range(32)]
            assert list(source_lanes(mode, np.arange(32), argument, width)) == expected


def test_exactly_what_the_rule_leaves_undefined_is_read_undefined(bench):
    """The CPU device counts a read for each lane that calls and whose source the rule calls undefined; no more."""
    if bench.device.info.kind != "cpu":
        pytest.skip("a GPU does not count undefined reads")
    seen = 0
    for case in drawn("shuffle", 40):
        outcome = bench.run(case)
        if not case.kernel.shuffle or outcome.status not in ("ok", "unproven"):  # the latter where nothing is defined
            continue
        rule = exchange_of(case.kernel.shuffle.operation, case.kernel.shuffle.argument(case.variables), case.variables)
        per_thread = int(case.variables.get("per_thread", 1))
        lanes = (rule.calls & ~rule.defined).reshape(-1, per_thread)
        # The swap shuffles one element a lane, the array kernel each of them.
        reads = lanes.any(axis=1) if case.kernel.name == "shflSwap" else lanes
        assert outcome.undefined_reads == np.count_nonzero(reads) * case.grid[0], case.label
        seen += outcome.undefined_reads > 0
    assert seen >= 10


AMBIGUOUS = [{"fill": "ones"}, {"fill": "c_rand", "dtype": "bfloat16"}]
MANY = [{"per_thread": 3}, {"per_thread": 8, "lane_mask": 16, "block": 32}]


@pytest.mark.parametrize("parameters", [*AMBIGUOUS, *MANY])
def test_a_right_shuffle_never_looks_wrong(parameters, bench):
    """What was received is either the rule's own map, or not told where two elements are alike."""
    case = case_of(shipped("shflXorArray"), **{"block": 128, "size": 4096, **parameters})
    outcome = bench.run(case)
    assert outcome.status == "ok"
    rule = exchange_of("xor", case.variables["lane_mask"], case.variables)
    expected = () if parameters in AMBIGUOUS else tuple(rule.source[:128])
    assert outcome.received == expected


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float16x2"])
def test_a_half_that_is_one_lane_off_is_a_mismatch(dtype, bench):
    """A shuffle does not round: large halves lie a whole number apart, and the neighbour's is still another."""
    case = case_of(shipped("shflUp"), block=32, size=1500, dtype=dtype, fill="index", delta=1)
    outputs, _ = bench.outputs(case)
    expected = expect(case, contents(case))
    assert check(outputs, expected.outputs, None).ok
    outputs["out"] = np.roll(outputs["out"], 1, axis=0)
    assert check(outputs, expected.outputs, None).mismatches > 500


@pytest.mark.parametrize("name", [*SHUFFLES, *ARRAYS])
def test_a_case_says_what_its_first_block_received(name, bench):
    """`received` is the rule's own map, as all values are distinct and all lanes take part."""
    kernel = shipped(name)
    case = case_of(kernel, block=32, size=32 * 4, width=16, fill="random")
    outcome = bench.run(case)
    operation, argument = kernel.shuffle.operation, kernel.shuffle.argument(case.variables)
    per_thread = int(case.variables.get("per_thread", 1))
    rule = exchange(operation, argument, 16, 0xFFFFFFFF, 32, per_thread, (0, 3))
    assert list(outcome.received) == list(rule.source)


def test_a_source_without_an_element_is_not_told(bench):
    """Of 20 elements in a block of 32, lanes 10 to 19 read threads that have none: what they hold tells nothing."""
    outcome = bench.run(case_of(shipped("shflDown"), block=32, size=20, delta=10))
    assert outcome.status == "ok"
    assert outcome.received == (*range(10, 20), *[None] * 10)


def test_an_undefined_read_is_counted_and_not_compared(bench):
    """A lane that reads one outside the mask makes no mismatch; the CPU device counts it."""
    outcome = bench.run(case_of(shipped("shflUp"), mask=0x0000FFF0, delta=1, fill="count"))
    assert outcome.status == "ok"
    if bench.device.info.kind == "cpu":
        assert outcome.undefined_reads == 1
        assert outcome.received[4] is None
