"""CUDA C++ as kernels use it runs unmodified."""

import numpy as np
import pytest

FILE = "language.cu"


@pytest.mark.parametrize(("kernel", "factor"), [("headerShared", 10), ("alignedShared", 1)])
def test_dynamic_shared_declarations(bench, kernel, factor):
    """`extern __shared__` works in an included file, and with an alignment."""
    out = bench.place(np.zeros(64, np.int32))
    bench.launch(bench.load(bench.source(FILE, kernel)), out, block=64, shared=256)
    assert list(out.read()) == [(63 - i) * factor for i in range(64)]


def test_fresh_shared_memory_is_garbage(bench):
    """What an earlier block or launch left in shared memory is not there any more."""
    out = bench.place(np.zeros(64, np.uint32))
    program = bench.load(bench.source(FILE, "freshShared"))
    bench.launch(program, out, np.int32(1), shared=128)
    bench.launch(program, out, np.int32(0), shared=128)
    assert (out.read()[32:] == 0xCBCBCBCB).all()
    assert (out.read()[:32] == 0).all()


def test_printf(bench):
    """What the kernel prints is in the findings, not on the terminal."""
    found = bench.launch(bench.load(bench.source(FILE, "hello")), np.int32(2))
    assert found.printed == "hello from 0: 0.00 there\nhello from 1: 0.50 there\n"


def test_printing_is_bounded(bench):
    """A kernel that prints without end does not fill the memory; the message counts the missing bytes."""
    found = bench.launch(bench.load(bench.source(FILE, "chatter")), grid=100, block=256)
    assert len(found.printed) < 70000
    assert found.printed.startswith("0123456789" * 100)
    assert found.printed.endswith(f"[{100 * 256 * 40 - 65535} more bytes dropped]\n")


def test_active_masks(bench):
    """Lanes at the same __activemask() form it; two calls on one line are two."""
    out = bench.place(np.zeros(32, np.uint32))
    bench.launch(bench.load(bench.source(FILE, "activeMasks")), out)
    assert list(out.read()) == [0x55555555, 0xAAAAAAAA] * 16


def test_structures_and_all_scalar_types(bench):
    """Arguments of every kind arrive."""
    out = bench.place(np.zeros(1, np.float32))
    pair = np.array([(3, 0.5)], np.dtype([("first", "i4"), ("second", "f4")]))[0]
    bench.launch(bench.load(bench.source(FILE, "takesStructure")), pair, out, block=1)
    assert out.read()[0] == 3.5
    types = "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float32 float64 bool".split()
    total = bench.place(np.zeros(1, np.float64))
    bench.launch(bench.load(bench.source(FILE, "manyTypes")), *(np.dtype(t).type(3) for t in types), total, block=1)
    assert total.read()[0] == 3 * 10 + 1


def test_short_macros_do_not_break_the_device(bench, tmp_path):
    """Names such as N and T may be macros of a variant."""
    text = 'extern "C" __global__ void kernel(T *o) { *o = N; }\n'
    macros = (("T", "int"), ("N", "7"), ("R", "1"), ("line", "2"), ("mask", "3"), ("value", "4"))
    out = bench.place(np.zeros(1, np.int32))
    bench.launch(bench.load(bench.text(tmp_path, text, macros=macros)), out, block=1)
    assert out.read()[0] == 7


@pytest.mark.parametrize("block", [1, 31, 32, 33, 97, 1024])
def test_blocks_of_any_size(bench, block):
    """The last warp of a block may have any number of lanes; absent lanes may be named in a mask."""
    out = bench.place(np.zeros(block, np.int32))
    bench.launch(bench.load(bench.source("hazards.cu", "fine")), out, block=block, grid=3)
    expected = [i ^ 1 if i ^ 1 < block else None for i in range(block)]
    assert all(e is None or e == got for e, got in zip(expected, out.read().tolist(), strict=True))


def test_resources(bench):
    """Static shared memory is known from the binary; registers are nothing that a CPU has."""
    resources = bench.load(bench.source(FILE, "transposeFloat")).resources
    assert resources.shared_bytes >= 32 * 33 * 4
    assert (resources.registers, resources.local_bytes) == (None, None)
    assert bench.load(bench.source("conformance.cu", "votes")).resources.shared_bytes == 0
