"""Drawn combinations of every parameter, sensible or not: each result is right, or the row says why there is none."""

import random

import pytest
from support import KERNELS, case_of, shipped

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
