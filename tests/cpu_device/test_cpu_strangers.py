"""Kernels that others wrote: a right one is not refused, and a wrong one does not pass."""

import numpy as np
import pytest

from runner.errors import Hazard

FILE = "strangers.cu"
N = 64


@pytest.fixture
def out(bench):
    """An output of 64 integers, all 0."""
    return bench.place(np.zeros(N, np.int32))


def test_a_static_shared_array_of_floats_can_be_read_by_float4(bench):
    """Whatever lies before it: shared arrays are aligned to 16 bytes, as on a GPU."""
    out = bench.place(np.zeros(N, np.float32))
    bench.launch(bench.load(bench.source(FILE, "floatsAsVectors")), out, block=N)
    assert (out.read() == np.arange(N)).all()


def test_dynamic_shared_memory_can_be_declared_at_file_scope(bench):
    """For every block, on every OS thread, of every size, in a namespace, too."""
    program = bench.load(bench.source(FILE, "dynamicAtFileScope"))
    assert program.resources.shared_bytes == 0
    out = bench.place(np.zeros(8 * N, np.int32))
    for shared in (4 * N, 4 * N + 4096):
        bench.launch(program, out, grid=8, block=N, shared=shared)
        assert (out.read() == np.tile(np.arange(N)[::-1] + 1, 8)).all()


def test_dynamic_shared_memory_in_rows_and_under_several_names(bench, out):
    """Each name is the same memory."""
    bench.launch(bench.load(bench.source(FILE, "dynamicWithRows")), out, block=N, shared=4 * N)
    assert (out.read() == np.arange(N).reshape(8, 8).T.ravel()).all()
    bench.launch(bench.load(bench.source(FILE, "dynamicTwice")), out, block=N, shared=4 * N)
    assert (out.read() == 2).all()


@pytest.mark.parametrize(
    ("kernel", "shift", "expected"),
    [
        (
            "overrunsShared",
            1,
            r"strangers\.cu:<line>: .* shared variable 'first': byte 256 of 256 \(found at this barr",
        ),
        ("overrunsShared", 60, r"strangers\.cu:<line>: .* shared variable '(first|second)': byte -?\d+ of 256 "),
        (
            "overrunsAtTheEnd",
            1,
            r"out-of-bounds write of the shared variable 'only': byte -4 of 256 \(found at the end",
        ),
        ("overrunsAtTheEnd", -1, r".* shared variable 'only': byte 256 of 256 .*; block \(0,0,0\)"),
    ],
)
def test_a_write_beside_a_shared_array_is_a_hazard(bench, lines, out, kernel, shift, expected):
    """The next barrier, or the end of the block, names the array and the byte. The right kernel passes."""
    program = bench.load(bench.source(FILE, kernel))
    bench.launch(program, out, np.int32(0), block=N)
    with pytest.raises(Hazard, match="^" + expected.replace("<line>", str(lines(FILE, "overrunsShared")))):
        bench.launch(program, out, np.int32(shift), block=N)
