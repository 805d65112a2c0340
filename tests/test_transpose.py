"""The transposes, for matrices and tiles of any shape. The GPU with `-m gpu`."""

import random

import numpy as np
import pytest
from support import case_of, shipped

from runner.kernel.reference import expect

TRANSPOSES = [
    "transposeGmem",
    "transposeSmem",
    "transposeSmemPad",
    "transposeSmemDyn",
    "transposeSmemUnroll",
    "transposeSmemUnrollPad",
]
FAMILY = ["copyGmem", *TRANSPOSES]
SIZES = ["1x1", "1x100", "100x1", "37x101", "64x64", "33x31", "128x96", "2x1000", "1000", "3x4"]
DTYPES = ["int32", "uint32", "int64", "uint64", "float32", "float64", "float16", "bfloat16"]


def all_right(outcomes):
    """Every one is ok; says what the others are."""
    assert [(o.status, o.reason) for o in outcomes] == [("ok", "")] * len(outcomes)


@pytest.mark.parametrize("block", ["32x32", "32x8", "8x32", "7x5", "1x32", "64"])
@pytest.mark.parametrize("name", FAMILY)
def test_every_size_is_right(name, block, bench):
    """Matrices that tiles fill, and that they do not; a row, a column, one element; tiles that are no squares."""
    all_right(bench.run_all([case_of(shipped(name), size=s, block=block, dtype="int32") for s in SIZES]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FAMILY)
def test_every_dtype_is_moved(name, dtype, bench):
    """Elements are moved as they are, whatever they are."""
    all_right(bench.run_all([case_of(shipped(name), size="33x70", block="16x8", dtype=dtype)]))


@pytest.mark.parametrize("name", ["transposeSmemPad", "transposeSmemUnrollPad"])
def test_padding_never_changes_the_answer(name, bench):
    """Without padding, with 1 to 3 and with 32 columns, the output is the same."""
    cases = [
        case_of(shipped(name), size="45x67", block=b, pad=p) for b in ("16x16", "16x4", "5x9") for p in (0, 1, 2, 3, 32)
    ]
    all_right(bench.run_all(cases))


@pytest.mark.parametrize("name", ["transposeSmemUnroll", "transposeSmemUnrollPad"])
def test_a_block_takes_any_number_of_tiles(name, bench):
    """1 to 16 tiles a block, of which some or all of a block's may lie outside the matrix."""
    cases = [
        case_of(shipped(name), size=s, block="8x4", unroll=u) for u in (1, 2, 3, 5, 16) for s in ("45x67", "9x8", "4x1")
    ]
    all_right(bench.run_all(cases))


@pytest.mark.parametrize("name", TRANSPOSES)
def test_the_seeds_worked_example(name, bench):
    """Of a matrix of 3 by 4, element 7 of (1, 3) goes to (3, 1); the thread of number 7 writes (2, 1), element 6.

    The seed takes the two for the same: its thread 7 reads tile[2][1], element 9.
    """
    case = case_of(shipped(name), size="3x4", block="4x3", fill="index", dtype="int32")
    told = expect(case.kernel.reference, case.kernel.yaml.parent, {"in": np.arange(12)}, case.variables, case.grid)
    out = np.asarray(told.outputs["out"].values).reshape(4, 3)
    assert out.tolist() == [[0, 4, 8], [1, 5, 9], [2, 6, 10], [3, 7, 11]]
    assert (out[3, 1], out[2, 1], out.ravel()[7]) == (7, 6, 6)
    all_right([bench.run(case)])


@pytest.mark.parametrize("name", FAMILY)
def test_the_family_moves_the_same_bytes(name):
    """Every element is read once and written once, however the kernel does it: the copy is the upper bound."""
    case = case_of(shipped(name), size="100x200", dtype="float64")
    assert case.count("bytes_read") == case.count("bytes_written") == 160_000
    assert case.kernel.baseline == "copyGmem"


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"size": f"{65535 * 8 + 1}x1", "block": "8x8"}, "a grid of 65536 blocks in y is not within CUDA's"),
        ({"pad": 33}, "once around the banks"),
        ({"pad": -1}, "columns are added"),
        ({"unroll": 0}, "one by one"),
        ({"unroll": 17}, "one by one"),
        ({"unroll": 8, "dtype": "float64"}, "static shared memory of a block ends at 48 KiB"),
    ],
)
def test_what_cannot_be_is_skipped_with_a_reason(changed, reason):
    """A combination that CUDA or the kernel does not allow is excluded, and says why."""
    assert reason in case_of(shipped("transposeSmemUnrollPad"), **changed).excluded


def drawn(count):
    """Combinations over everything that the transposes read, sensible or not."""
    draw = random.Random(20)
    for _ in range(count):
        rows, cols = (draw.choice([1, 2, 31, 32, 33, draw.randrange(1, 200)]) for _ in range(2))
        x, y = draw.choice([1, 4, 8, 13, 32, 64]), draw.choice([1, 3, 8, 16, 32, 128])
        yield case_of(
            shipped(draw.choice(FAMILY)),
            size=draw.choice([f"{rows}x{cols}", f"{rows}x{cols}", rows * cols, 0]),
            block=f"{x}x{y}",
            pad=draw.choice([0, 1, 2, 5, 50]),
            unroll=draw.choice([1, 2, 3, 4, 0]),
            dtype=draw.choice([*DTYPES, "float16x2"]),
            fill=draw.choice(["random", "seed_rand", "index", "ones"]),
            seed=draw.randrange(100),
        )


def test_drawn_combinations_are_right_or_skipped(bench):
    """Whatever is asked for, the output is right or the row says why there is none; nothing crashes."""
    cases = list(drawn(80))
    outcomes = bench.run_all(cases)
    for case, outcome in zip(cases, outcomes, strict=True):
        assert outcome.status in ("ok", "skipped"), f"{case.label}: {outcome.status} {outcome.reason}"
        assert outcome.status == "ok" or outcome.reason
    assert sum(o.status == "ok" for o in outcomes) >= 25
    assert sum(o.status == "skipped" for o in outcomes) >= 25
