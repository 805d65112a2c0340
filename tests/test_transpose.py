"""The transposes, for matrices and tiles of any shape. The GPU with `-m gpu`."""

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
TILED = ["transposeTile", "transposeSwizzle", "transposeVector", "transposeShifted"]
IN_X_ALONE = ["copyVector", *TILED]  # how they number their threads
SIZES = ["1x1", "1x100", "100x1", "37x101", "64x64", "33x31", "128x96", "2x1000", "1000", "3x4"]
EVEN_SIZES = ["4x4", "4x100", "100x4", "36x100", "64x64", "128x96", "192x64", "8x1000", "60x68"]
DTYPES = ["uint32", "float64", "bfloat16"]  # one of each width: the kernels only move elements


def all_right(outcomes):
    """Every one is ok; says what the others are."""
    assert [(o.status, o.reason) for o in outcomes] == [("ok", "")] * len(outcomes)


@pytest.mark.parametrize("name", FAMILY)
def test_every_size_and_dtype_is_right(name, bench):
    """Matrices that tiles fill, and that they do not; a row, a column, one element; tiles that are no squares."""
    kernel = shipped(name)
    cases = [case_of(kernel, size=s, block=b, dtype="int32") for b in ("32x8", "7x5", "1x32") for s in SIZES]
    cases += [case_of(kernel, size="33x70", block="16x8", dtype=d) for d in DTYPES]
    all_right(bench.run_all(cases))


@pytest.mark.parametrize("name", TRANSPOSES)
def test_the_tutorials_worked_example(name, bench):
    """Of a matrix of 3 by 4, element 7 of (1, 3) goes to (3, 1); the thread of number 7 writes (2, 1), element 6.

    The tutorial takes the two for the same: its thread 7 reads tile[2][1], element 9.
    """
    case = case_of(shipped(name), size="3x4", block="4x3", fill="index", dtype="int32")
    told = expect(case, {"in": np.arange(12)})
    out = np.asarray(told.outputs["out"].values).reshape(4, 3)
    assert out.tolist() == [[0, 4, 8], [1, 5, 9], [2, 6, 10], [3, 7, 11]]
    assert (out[3, 1], out[2, 1], out.ravel()[7]) == (7, 6, 6)
    all_right([bench.run(case)])


@pytest.mark.parametrize(("block", "rows", "cols"), [(256, 64, 64), (64, 32, 64), (96, 96, 32)])
@pytest.mark.parametrize("name", TILED)
def test_every_size_is_right_by_tiles_of_any_shape(name, block, rows, cols, bench):
    """Matrices that tiles fill, and that they do not; tiles that are no squares, and of which a thread has 12 to 32."""
    sizes = EVEN_SIZES if name == "transposeVector" else [*SIZES, *EVEN_SIZES]
    tile = {"block": block, "tile_rows": rows, "tile_cols": cols}
    all_right(bench.run_all([case_of(shipped(name), size=s, dtype="int32", **tile) for s in sizes]))


def test_a_copy_by_vectors_is_right_for_every_size(bench):
    """Whatever is left of the last vector, and of the last block."""
    sizes = [*SIZES, *EVEN_SIZES, *range(120, 137)]
    cases = [case_of(shipped("copyVector"), size=s, block=b, dtype="float16") for b in (32, 100, 1) for s in sizes]
    all_right(bench.run_all(cases))


@pytest.mark.parametrize("name", IN_X_ALONE)
def test_every_dtype_is_moved_by_threads_in_x_alone(name, bench):
    """A vector has 2, 4 or 8 elements; tiles that fit, and what sticks out on both sides."""
    sizes = ("64x64", "72x136")
    all_right(bench.run_all([case_of(shipped(name), size=s, block=64, dtype=d) for d in DTYPES for s in sizes]))


@pytest.mark.parametrize(("dtype", "sector"), [("float64", 4), ("int32", 8), ("bfloat16", 16)])
def test_rows_may_begin_anywhere_in_a_sector(dtype, sector, bench):
    """Rows and columns of every number that may be left of whole sectors."""
    tile = {"block": 64, "tile_rows": 32, "tile_cols": 32, "dtype": dtype}
    sizes = [f"{57 + r}x{c}" for r in range(sector) for c in (30 + r, 64 - r, 33, 64)]
    all_right(bench.run_all([case_of(shipped("transposeShifted"), size=s, **tile) for s in sizes]))


@pytest.mark.parametrize(
    ("name", "changed", "reason"),
    [
        ("transposeSmemUnrollPad", {"size": f"{65535 * 8 + 1}x1", "block": "8x8"}, "a grid of 65536 blocks in y"),
        ("transposeSmemUnrollPad", {"pad": 33}, "the bank pattern repeats"),
        ("transposeSmemUnrollPad", {"pad": -1}, "0 to 32 columns"),
        ("transposeSmemUnrollPad", {"unroll": 0}, "the compiler unrolls"),
        ("transposeSmemUnrollPad", {"unroll": 17}, "the compiler unrolls"),
        ("transposeSmemUnrollPad", {"unroll": 8, "dtype": "float64"}, "limited to 48 KiB"),
        ("transposeTile", {"size": f"1x{65535 * 64 + 1}"}, "a grid of 65536 blocks in y is not within CUDA's"),
        ("transposeTile", {"tile_rows": 48}, "a warp loads elements of one row"),
        ("transposeTile", {"tile_cols": 0}, "a warp loads elements of one row"),
        ("transposeTile", {"block": 96}, "whole rows of the tile or stores whole columns"),
        ("transposeTile", {"block": 192}, "the same number of elements"),
        ("transposeTile", {"pad": 33}, "the bank pattern repeats"),
        ("transposeTile", {"block": 128, "tile_rows": 128, "tile_cols": 128}, "limited to 48 KiB"),
        ("transposeSwizzle", {"tile_cols": 16}, "columns in groups of 32"),
        ("transposeSwizzle", {"tile_rows": 128, "dtype": "int64"}, "limited to 48 KiB"),
        ("transposeVector", {"size": "4096x4095"}, "transposeShifted takes any shape"),
        ("transposeVector", {"size": "4094x4096"}, "transposeShifted takes any shape"),
        ("transposeVector", {"tile_rows": 32, "block": 32, "dtype": "float16"}, "in groups of 8 vectors"),
        ("transposeVector", {"dtype": "float16"}, "the same number of square blocks"),
        ("transposeVector", {"block": 16, "dtype": "int64"}, "in registers"),
        ("transposeShifted", {"tile_rows": 40}, "whole 32-byte sectors"),
        ("transposeShifted", {"block": 1000}, "the same number of 16-byte vectors"),
        ("transposeShifted", {"block": 16}, "in registers"),
        ("transposeShifted", {"tile_rows": 96, "dtype": "float64"}, "limited to 48 KiB"),
    ],
)
def test_a_tile_that_cannot_be_is_skipped_with_a_reason(name, changed, reason):
    """A tile that the block cannot share out, or that does not fit, is excluded, and says why."""
    assert reason in case_of(shipped(name), **changed).excluded
