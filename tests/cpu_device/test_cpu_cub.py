"""What the CPU device finds in the wrong use of CUB."""

import re

import numpy as np
import pytest

from runner.errors import Hazard

MISUSED = """#include <cub/cub.cuh>
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


@pytest.fixture
def misuse(bench, tmp_path):
    """Launch it with one of its mistakes."""

    def run(mistake):
        out = bench.place(np.zeros(64, np.int32))
        source = bench.text(tmp_path, MISUSED, macros=(("MISTAKE", mistake),))
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
