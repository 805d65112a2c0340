"""The stencils: right at both ends, in every tile, with every block."""

import numpy as np
import pytest
from support import KERNELS, case_of, shipped

STENCILS = [n for n in KERNELS if shipped(n).family == "stencil"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", STENCILS)
def test_every_size_is_right_at_both_ends(name, dtype, bench):
    """Arrays shorter than the halo, as long as a tile, one longer; one block or several take the tiles."""
    sizes = [1, 3, 4, 5, 31, 32, 33, 36, 63, 64, 65, 1000]
    cases = [case_of(shipped(name), size=n, block=32, blocks=b, dtype=dtype) for n in sizes for b in (1, 2, 1000)]
    for outcome in bench.run_all(cases):
        assert (outcome.status, outcome.reason) == ("ok", "")


@pytest.mark.parametrize("block", [4, 5, 96, 1000, 1024])
@pytest.mark.parametrize("name", STENCILS)
def test_every_block_is_right(name, block, bench):
    """A block needs no more than the four threads that load the halo, and need not be a power of two; or whole warps."""
    outcome = bench.run(case_of(shipped(name), size=5000, block=block, blocks=2))
    if name == "stencil1dShfl" and block % 32:
        assert outcome.status == "skipped"
        assert "whole warps" in outcome.reason
    else:
        assert (outcome.status, outcome.reason) == ("ok", "")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["stencil1dVector", "stencil1dShfl"])
def test_vectors_are_right_where_warps_and_blocks_end(name, dtype, bench):
    """The array ends before, with and behind a vector, a warp and a block, and in the first vectors of the next one."""
    sizes = [n + more for n in (64, 128, 256, 512) for more in range(-9, 10)]
    for outcome in bench.run_all([case_of(shipped(name), size=n, block=64, dtype=dtype) for n in sizes]):
        assert (outcome.status, outcome.reason) == ("ok", "")


@pytest.mark.parametrize("name", ["stencil1dVector", "stencil1dShfl"])
def test_a_block_takes_one_tile_of_vectors(name):
    """16 bytes a thread: 4 or 2 elements, and as many blocks as that takes."""
    grids = [case_of(shipped(name), size=1025, block=64, dtype=d).grid for d in ("float32", "float64")]
    assert grids == [(5, 1, 1), (9, 1, 1)]


@pytest.mark.parametrize("name", STENCILS)
def test_the_derivative_of_a_straight_line_is_its_slope(name, bench):
    """Of 0, 1, 2, ... it is 1 everywhere but in the halo, where the zeros outside count."""
    outputs, _ = bench.outputs(case_of(shipped(name), size=100, block=32, dtype="float64", fill="index"))
    assert np.allclose(outputs["out"][4:-4], 1, atol=1e-12)
    assert not np.isclose(outputs["out"][[0, 1, 2, 3, -4, -3, -2, -1]], 1).any()


def test_a_block_too_small_for_the_halo_is_skipped(bench):
    """Three threads cannot load four elements on each side."""
    outcome = bench.run(case_of(shipped("stencil1dLdg"), block=3))
    assert outcome.status == "skipped"
    assert "halo" in outcome.reason
