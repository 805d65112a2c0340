"""Tiles in shared memory, by row and by column; strides over the banks. The GPU with `-m gpu`."""

import pytest
from support import case_of, shipped

from runner.kernel.reference import expect

STRAIGHT = ["setRowReadRow", "setColReadCol"]
TURNED = ["setRowReadCol", "setColReadRow", "setRowReadColDyn", "setRowReadColPad", "setRowReadColDynPad"]
SHAPES = ["1", "32x32", "32x16", "16x32", "13x37", "1x1024", "1024"]
DTYPES = ["int32", "uint32", "int64", "uint64", "float32", "float64"]


def expected(case):
    """What the case's output should be."""
    return expect(case, {}).outputs["out"].values.tolist()


def all_right(outcomes):
    """Every one is ok; says what the others are."""
    assert [(o.status, o.reason) for o in outcomes] == [("ok", "")] * len(outcomes)


@pytest.mark.parametrize("name", [*STRAIGHT, *TURNED])
def test_every_block_dtype_and_number_of_blocks_is_right(name, bench):
    """Square or not, prime, a single row or column, one thread; many blocks with indices of their own."""
    kernel = shipped(name)
    cases = [case_of(kernel, block=b, blocks=2) for b in SHAPES]
    cases += [case_of(kernel, block="16x8", dtype=d) for d in DTYPES]
    cases += [case_of(kernel, block="8x4", blocks=n) for n in (1, 3, 100, 1024)]
    all_right(bench.run_all(cases))


@pytest.mark.parametrize("name", ["setRowReadColPad", "transposeSmemPad", "transposeSmemUnrollPad"])
def test_padding_is_there(name, bench):
    """Each column of padding makes the tile wider by an element a row; no output would tell."""
    plain, padded = (
        bench.run(case_of(shipped(name), block="16x8", dtype="int32", pad=p, size=4096, blocks=2)) for p in (0, 4)
    )
    assert padded.resources.shared_bytes - plain.resources.shared_bytes == 8 * 4 * 4


@pytest.mark.parametrize("name", TURNED)
def test_a_small_tile_is_turned_as_by_hand(name):
    """The reference of a block of 4 by 3 reads the three rows of four column by column, in each block."""
    first = [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]
    assert expected(case_of(shipped(name), block="4x3", blocks=2)) == [*first, *(12 + v for v in first)]


@pytest.mark.parametrize("name", STRAIGHT)
def test_what_is_read_as_it_was_written_is_in_order(name):
    """The reference is the plain indices."""
    assert expected(case_of(shipped(name), block="4x3", blocks=2)) == list(range(24))


@pytest.mark.parametrize(
    ("name", "changed", "reason"),
    [
        ("setRowReadRow", {"blocks": 2**14 + 1}, "float32 represents every integer only up to"),
        ("setRowReadRow", {"blocks": 0}, "a grid of 0 blocks"),
        ("setRowReadColPad", {"pad": -1}, "0 to 32 columns"),
        ("setRowReadColDynPad", {"pad": 33}, "the bank pattern repeats"),
        ("setRowReadColPad", {"block": "1x1024", "pad": 12}, "static shared memory is limited to 48 KiB"),
        ("bankAccess", {"stride": 34}, "inside the chain"),
        ("bankAccess", {"stride": -1}, "inside the chain"),
        ("bankAccess", {"block": 48}, "whole warps"),
        ("bankAccess", {"block": "32x2"}, "in x alone"),
        ("bankAccess", {"loads": 0}, "each load depends on the one before"),
    ],
)
def test_what_cannot_be_is_skipped_with_a_reason(name, changed, reason):
    """A combination that the kernel is not made for is excluded, and says why."""
    assert reason in case_of(shipped(name), **changed).excluded


def test_every_stride_reads_what_it_should(bench):
    """From broadcast to beyond serial, each lane follows the chain from its own element."""
    all_right(bench.run_all([case_of(shipped("bankAccess"), stride=s, block=64, loads=3) for s in range(34)]))


def test_the_chain_ends_where_it_does_by_hand():
    """Lane 31 at stride 33 starts at the last element, so one load takes it to the first."""
    out = expected(case_of(shipped("bankAccess"), block=32, blocks=2, stride=33, loads=1))
    assert out[:3] == [1, 34, 67]
    assert out[31] == 0
    assert out[32:34] == [32 + 1, 32 + 34]
