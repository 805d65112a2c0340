"""The rule of the shuffles: against PTX's own pseudo code, and the kernels against the rule."""

import random

import numpy as np
import pytest
from support import KERNELS, case_of, shipped

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
    for case in drawn("shuffle", DRAWN["shuffle"][0]):  # those that are compiled for the test of all families
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
    assert seen >= 5


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


DTYPES = ["int32", "uint32", "int64", "uint64", "float32", "float64", "float16", "bfloat16", "float16x2"]
FILLS = ["random", "c_rand", "index", "ones", "zeros"]
ALL = 0xFFFFFFFF
MASKS = [ALL, ALL, ALL, ALL, 0, 0xFF, 0x00FF00FF, 0xFFFF0000, 0xAAAAAAAA, 0x12345678]
SHAPES = [f"{rows}x{cols}" for rows in (1, 32, 33, 64, 120) for cols in (1, 31, 64, 136)]

# By family: how many cases, how many of them can run at least, and the values of each parameter.
DRAWN = {
    "reduction": (40, 10, {
        "block": [1, 16, 32, 64, 96, 100, 128, 256, 512, 1024, 1025], "size": [0, 1, 33, 100, 1000, 4096, 65537, 99_999],
        "width": [1, 2, 4, 8, 16, 32, 3, 64, 0], "mask": MASKS, "unroll": [1, 2, 3, 4, 8, 16, 0, 65], "fill": FILLS,
        "blocks": [0, 1, 2, 100], "dtype": [*DTYPES[:6], "int32", "float32"],
    }),
    "transpose": (40, 8, {
        "block": ["1x1", "4x8", "13x3", "32x16", "64x32", 32, 64, 64, 128, 100], "size": [*SHAPES, *SHAPES, 1000, 0],
        "tile_rows": [32, 64, 64, 128, 33], "tile_cols": [32, 64, 64, 96, 0], "pad": [0, 1, 2, 5, 50],
        "unroll": [1, 2, 3, 4, 0], "dtype": DTYPES, "fill": FILLS,
    }),
    "shared_memory": (24, 8, {
        "block": ["1x1", "5x3", "32x16", "16x32", "32x32", "65x8", "64x64"], "blocks": [0, 1, 2, 5, 50, 2**16],
        "pad": [0, 1, 2, 3, 31, 40], "dtype": DTYPES[:7],
    }),
    "shuffle": (24, 12, {
        "block": [1, 4, 16, 32, 35, 64, 100, 256], "size": [1, 31, 100, 1000, 4097], "width": [1, 2, 4, 8, 16, 32],
        "mask": [m for m in MASKS if m], "dtype": [*DTYPES, "bfloat16x2"], "fill": ["random"],
        "src_lane": [0, 1, 5, 31, 40, 199], "delta": [0, 1, 3, 16, 31, 63], "offset": [-40, -16, -1, 0, 1, 31, 63],
        "lane_mask": [1, 2, 4, 8, 16, 3, 40], "per_thread": [1, 2, 4, 7], "first": [0], "second": [0, 1],
    }),
}  # fmt: skip


def drawn(family, count):
    """Cases of a family's kernels."""
    draw = random.Random(20)
    names = [n for n in KERNELS if shipped(n).family == family]
    values = DRAWN[family][2]
    for _ in range(count):
        chosen = {parameter: draw.choice(those) for parameter, those in values.items()}
        yield case_of(shipped(draw.choice(names)), seed=draw.randrange(100), **chosen)


@pytest.mark.parametrize("family", DRAWN)
def test_drawn_combinations_are_right_or_skipped(family, bench):
    """Nothing crashes, nothing is wrong, and what is skipped has a reason."""
    count, least, _ = DRAWN[family]
    cases = list(drawn(family, count))
    outcomes = bench.run_all(cases)
    for case, outcome in zip(cases, outcomes, strict=True):
        nothing = outcome.reason.startswith("no element of ")  # CUDA leaves all of them undefined
        assert outcome.status in ("ok", "skipped") or nothing, f"{case.label}: {outcome.status} {outcome.reason}"
        assert outcome.status == "ok" or outcome.reason
    assert sum(o.status == "ok" for o in outcomes) >= least
    assert sum(o.status == "skipped" for o in outcomes) >= 2
