"""The stencils: right at both ends, in every tile, with every block."""

import pytest
from support import KERNELS, case_of, shipped

STENCILS = [n for n in KERNELS if shipped(n).family == "stencil"]


def all_right(outcomes):
    """Every one is ok; says what the others are."""
    assert [(o.status, o.reason) for o in outcomes] == [("ok", "")] * len(outcomes)


@pytest.mark.parametrize("name", STENCILS)
def test_every_size_and_block_is_right(name, bench):
    """Arrays shorter than the halo, as long as a tile, one longer; one block or several take the tiles."""
    kernel, sizes = shipped(name), [1, 3, 4, 5, 31, 32, 33, 36, 63, 64, 65, 1000]
    shapes = [(n, b, d) for n in sizes for b in (1, 2, 40) for d in ("float32", "float64")]
    cases = [case_of(kernel, size=n, block=32, blocks=b, dtype=d) for n, b, d in shapes]
    cases = list({case.id: case for case in cases}.values())  # the number of blocks is not every kernel's parameter
    all_right(bench.run_all([*cases, case_of(kernel, size=5000, block=96, blocks=2)]))
    odd = bench.run_all([case_of(kernel, size=5000, block=b, blocks=2) for b in (4, 5, 1000)])
    if name == "stencil1dShfl":
        assert all(o.status == "skipped" and "whole warps" in o.reason for o in odd)
    else:
        all_right(odd)


@pytest.mark.parametrize("name", ["stencil1dVector", "stencil1dShfl"])
def test_vectors_are_right_where_warps_and_blocks_end(name, bench):
    """The array ends before, with and behind a vector, a warp and a block, and in the first vectors of the next one."""
    ends = [(32 * per, d) for d, per in (("float32", 4), ("float64", 2))]  # of the first of two warps
    sizes = [(end * warps + more, d) for end, d in ends for warps in (1, 2) for more in range(-9, 10)]
    all_right(bench.run_all([case_of(shipped(name), size=n, block=64, dtype=d) for n, d in sizes]))


def test_a_block_too_small_for_the_halo_is_skipped(bench):
    """Three threads cannot load four elements on each side."""
    outcome = bench.run(case_of(shipped("stencil1dLdg"), block=3))
    assert outcome.status == "skipped"
    assert "halo" in outcome.reason
