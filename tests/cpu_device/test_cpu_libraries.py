"""What the CPU device finds in the wrong use of CUB and wmma."""

import numpy as np
import pytest

from runner.errors import CompileError, Hazard


@pytest.fixture
def misuse(bench):
    """Launch a file with one of its mistakes."""

    def run(file, mistake):
        out = bench.place(np.zeros(64, np.int32))
        source = bench.source(f"misuse/{file}", "kernel", macros=(("MISTAKE", str(mistake)),))
        bench.launch(bench.load(source), out, block=64)
        return out.read()

    return run


def test_what_cub_and_wmma_leave_undefined_is_seen(misuse):
    """Only the first thread has a reduction, and no lane sees another's element of a matrix before a __syncwarp."""
    assert list(misuse("cub.cu", 1)) == [63 * 32] + [0x7FFBADC0] * 63
    assert (misuse("wmma.cu", 4)[:32] != 1).any()


MISUSES = {
    "a divergent call": (
        "cub.cu", 2, r"cub\.cu:10: deadlock: lanes 0-7 of warp 1 wait .* lanes 8-31; these wait at __syncthreads on line 11",
    ),
    "a block of another size": ("cub.cu", 3, "cub.cu:13: cub::BlockReduce is for blocks of 128 threads, but the block has 64; block"),
    "rows that are not aligned": ("wmma.cu", 1, "wmma.cu:8: store_matrix_sync: the leading dimension 17 is not a multiple of 4"),
    "a matrix that is not aligned": ("wmma.cu", 2, "wmma.cu:10: store_matrix_sync: the matrix does not begin at a multiple of 16 bytes"),
    "half a warp": (
        "wmma.cu", 3, r"wmma.cu:12: deadlock: lanes 0-15 of warp 0 .* lanes 16-31; these wait at __syncthreads on line 13",
    ),
    "a shape that is not there": ("wmma.cu", 5, "wmma.cu:18: .*16x16x16, 32x8x16 or 8x32x16 .*gpu_only"),
}  # fmt: skip


@pytest.mark.parametrize("what", MISUSES)
def test_misuse_is_told_at_its_line(misuse, what):
    """All threads, or lanes, must make the call, with what CUDA allows."""
    file, mistake, message = MISUSES[what]
    with pytest.raises(CompileError if "shape" in what else Hazard, match=message):
        misuse(file, mistake)
