"""The listings and figures of the tutorials, number by number, on the real devices."""

import numpy as np
import pytest
from support import case_of, shipped

INDEX, COUNT = {"fill": "index"}, {"fill": "count"}
BLOCK_OF_16 = {"block": 16, "size": 16, "width": 16, **INDEX}
ARRAY_OF_4 = {**BLOCK_OF_16, "lane_mask": 1, "per_thread": 4, "block": 4}
NUMBERS = {
    # Tutorial 000, "Sharing Data within a Warp", and tutorial 002, 5.6.2: one block, 16 elements that hold their own numbers.
    "000: shuffle broadcast": ("shflBroadcast", {"src_lane": 2, **BLOCK_OF_16}, [2] * 16),
    "000: shuffle up": ("shflUp", {"delta": 2, **BLOCK_OF_16}, [0, 1, *range(14)]),
    "000: shuffle down": ("shflDown", {"delta": 2, **BLOCK_OF_16}, [*range(2, 16), 14, 15]),
    "000: shuffle wrap left": ("shflWrap", {"offset": 2, **BLOCK_OF_16}, [*range(2, 16), 0, 1]),
    "000: shuffle wrap right": ("shflWrap", {"offset": -2, **BLOCK_OF_16}, [14, 15, *range(14)]),
    "000: shuffle xor 1": ("shflXor", {"lane_mask": 1, **BLOCK_OF_16}, [i ^ 1 for i in range(16)]),
    "000: shuffle xor array 1": ("shflXorArray", ARRAY_OF_4, [i ^ 4 for i in range(16)]),
    "000: shuffle xor swap": (
        "shflSwap", {**ARRAY_OF_4, "first": 0, "second": 3}, [7, 1, 2, 3, 4, 5, 6, 0, 15, 9, 10, 11, 12, 13, 14, 8],
    ),
    # Tutorial 003: every thread gets the argument; inclusive sums of 31 - lane within groups of 8 lanes; 31 + 30 + ... + 0.
    "003: 3.1": ("bcast", {"block": 32, "size": 32, "arg": 1234}, [1234] * 32),
    "003: 3.2": ("warpScan", {}, [
        31, 61, 90, 118, 145, 171, 196, 220, 23, 45, 66, 86, 105, 123, 140, 156,
        15, 29, 42, 54, 65, 75, 84, 92, 7, 13, 18, 22, 25, 27, 28, 28,
    ]),
    "003: 3.3": ("warpReduce", {}, [496] * 32),
    # Tutorial 003, section 2: each lane receives the register that the figure's arrow comes from.
    "003: idx 2": ("shflBroadcast", {"src_lane": 2, "width": 32, **INDEX}, [2] * 32),
    "003: idx 2, width 16": ("shflBroadcast", {"src_lane": 2, "width": 16, **INDEX}, [2] * 16 + [18] * 16),
    "003: idx 3, width 16": ("shflBroadcast", {"src_lane": 3, "width": 16, **INDEX}, [3] * 16 + [19] * 16),
    "003: up 2": ("shflUp", {"delta": 2, "width": 32, **INDEX}, [0, 1, *range(30)]),
    "003: up 2, width 16": ("shflUp", {"delta": 2, "width": 16, **INDEX}, [0, 1, *range(14), 16, 17, *range(16, 30)]),
    "003: down 2": ("shflDown", {"delta": 2, "width": 32, **INDEX}, [*range(2, 32), 30, 31]),
    "003: down 2, width 16": (
        "shflDown", {"delta": 2, "width": 16, **INDEX}, [*range(2, 16), 14, 15, *range(18, 32), 30, 31],
    ),
    "003: xor 1": ("shflXor", {"lane_mask": 1, "width": 32, **INDEX}, [i ^ 1 for i in range(32)]),
    "003: xor 3": ("shflXor", {"lane_mask": 3, "width": 32, **INDEX}, [i ^ 3 for i in range(32)]),
    # Tutorial 004 numbers lanes from 0 to 32, and tutorial 000 has widths from 2 on: 32 is lane 0, and 1 is a width.
    "004: lane 32": ("shflBroadcast", {"src_lane": 32, **COUNT}, [1] * 32),
    "000: width 1": ("shflXor", {"width": 1, "lane_mask": 0, **INDEX}, list(range(32))),
}  # fmt: skip


def launched(bench, name, **parameters):
    """The output of one launch, and what the device noticed."""
    outputs, diagnostics = bench.outputs(case_of(shipped(name), **parameters))
    return outputs["out"], diagnostics


@pytest.mark.parametrize("listing", NUMBERS)
def test_a_listing_or_a_figure_comes_out(listing, bench):
    """Each number that a tutorial prints or draws is what its kernel gives here."""
    name, parameters, expected = NUMBERS[listing]
    got, _ = launched(bench, name, **parameters)
    assert list(got) == expected


# Tutorial 001: __shfl_down_sync by 16 of a float in blocks of 32, 64 and 35 threads; element i is i + 1. Printed are the
# thread, its value, and what it received.
PRINTED = {
    32: {0: 17, 1: 18, 2: 19, 26: 27, 27: 28, 28: 29, 29: 30, 30: 31, 31: 32},
    64: {32: 49, 33: 50, 34: 51, 61: 62, 62: 63, 63: 64, 0: 17, 1: 18, 2: 19, 29: 30, 30: 31, 31: 32},
    35: {0: 17, 1: 18, 2: 19, 29: 30, 30: 31, 31: 32},
}


@pytest.mark.parametrize("block", PRINTED)
def test_the_listings_of_tutorial_001_come_out(block, bench):
    """Every line of the three listings whose value CUDA defines is what the kernel gives here."""
    got, _ = launched(bench, "shflDown", block=block, size=block, delta=16, dtype="float32", fill="count")
    for thread, value in PRINTED[block].items():
        assert got[thread] == value


def test_lanes_that_are_not_there_give_undefined_values(bench):
    """Lanes 32 to 34 of tutorial 001's block of 35: 0 on an H200, counted and made visible on the CPU device."""
    got, diagnostics = launched(bench, "shflDown", block=35, size=35, delta=16, dtype="float32", fill="count")
    if bench.device.info.kind == "cpu":
        assert diagnostics.undefined_reads == 3
        assert np.isnan(got[32:]).all()
    elif "H200" in bench.device.info.name:
        assert list(got[32:]) == [0, 0, 0]  # as tutorial 001 prints; undefined all the same


@pytest.mark.parametrize("name", ["shflBroadcast", "shflUp", "shflDown", "shflXor"])
def test_lanes_outside_the_mask_keep_their_own_value(name, bench):
    """Tutorial 003 says that they return 0; a lane that does not call keeps what it has."""
    got, _ = launched(bench, name, mask=0x0000FFFF, fill="count")
    assert list(got[16:]) == list(range(17, 33))
