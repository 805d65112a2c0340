"""What the CPU device finds in the wrong use of CUB and wmma."""

import re

import numpy as np
import pytest

from runner.errors import CompileError, Hazard

CUB = """#include <cub/cub.cuh>
extern "C" __global__ void kernel(int *out) {
    using Reduce = cub::BlockReduce<int, 64>;
    using TooLarge = cub::BlockReduce<int, 128>;
    __shared__ typename Reduce::TempStorage shared;
    const int t = threadIdx.x;
#if MISTAKE == 1
    out[t] = Reduce(shared).Sum(t);
#elif MISTAKE == 2
    if (t < 40) out[t] = Reduce(shared).Sum(t); else
        __syncthreads();
#else
    out[t] = TooLarge().Reduce(t, cub::Sum());
#endif
}
"""

WMMA = """#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void kernel(int *out) {
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    __shared__ float tile[16 * 32];
    wmma::fill_fragment(sum, 1.0f);
#if MISTAKE == 1
    wmma::store_matrix_sync(tile, sum, 17, wmma::mem_row_major);
#elif MISTAKE == 2
    wmma::store_matrix_sync(tile + 1, sum, 16, wmma::mem_row_major);
#elif MISTAKE == 3
    if (threadIdx.x < 16) wmma::store_matrix_sync(tile, sum, 16, wmma::mem_row_major);
    __syncthreads();
#elif MISTAKE == 4
    wmma::store_matrix_sync(tile, sum, 16, wmma::mem_row_major);
    out[threadIdx.x] = tile[255 - threadIdx.x];
#else
    wmma::fragment<wmma::matrix_a, 8, 8, 32, half, wmma::row_major> bits;
#endif
}
"""


@pytest.fixture
def misuse(bench, tmp_path):
    """Launch a text with one of its mistakes."""

    def run(mistake, text=CUB):
        out = bench.place(np.zeros(64, np.int32))
        source = bench.text(tmp_path, text, macros=(("MISTAKE", str(mistake)),))
        bench.launch(bench.load(source), out, block=64)
        return out.read()

    return run


def test_only_the_first_thread_has_a_reduction(misuse):
    """What CUB leaves undefined is poison, so that its use is seen."""
    assert list(misuse(1)) == [63 * 32] + [0x7FFBADC0] * 63


def test_a_divergent_call_is_a_hazard_at_its_line(misuse):
    """All threads must make the call; lane 8 of warp 1 waits elsewhere."""
    said = r"own\.cu:10: deadlock: lanes 0-7 of warp 1 wait .* lanes 8-31; these wait at __syncthreads on line 11"
    with pytest.raises(Hazard, match=said):
        misuse(2)


def test_a_block_of_another_size_is_a_hazard(misuse):
    """CUB reads what no thread has written then."""
    said = "own.cu:13: cub::BlockReduce is for blocks of 128 threads, but the block has 64; block"
    with pytest.raises(Hazard, match=re.escape(said)):
        misuse(3)


def test_a_matrix_whose_rows_are_not_aligned_is_a_hazard(misuse):
    """CUDA leaves it undefined; the message has the number and what is allowed."""
    with pytest.raises(Hazard, match=r"own.cu:8: store_matrix_sync: the leading dimension 17 is not a multiple of 4"):
        misuse(1, WMMA)
    with pytest.raises(
        Hazard, match=r"own.cu:10: store_matrix_sync: the matrix does not begin at a multiple of 16 bytes"
    ):
        misuse(2, WMMA)


def test_half_a_warp_cannot_store_a_matrix(misuse):
    """All 32 lanes must make the call."""
    said = r"own.cu:12: deadlock: lanes 0-15 of warp 0 .* lanes 16-31; these wait at __syncthreads on line 13"
    with pytest.raises(Hazard, match=said):
        misuse(3, WMMA)


def test_a_stored_matrix_is_not_read_without_a_barrier(misuse):
    """A lane that reads another's element before a __syncwarp does not see it."""
    assert (misuse(4, WMMA)[:32] != 1).any()


def test_a_shape_that_is_not_there_is_named(misuse):
    """The message says what there is, and that a GPU has more."""
    with pytest.raises(CompileError, match=r"own.cu:18: .*16x16x16, 32x8x16 or 8x32x16 .*gpu_only"):
        misuse(5, WMMA)
