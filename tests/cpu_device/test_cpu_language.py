"""CUDA C++ as kernels use it runs unmodified."""

import numpy as np
import pytest

from runner.device import Launch, Role

FILE = "language.cu"


@pytest.mark.parametrize(
    ("kernel", "dtype", "tile"), [("transposeFloat", np.float32, 32), ("transposeShort", np.int16, 16)]
)
def test_templates_with_shared_tiles(bench, kernel, dtype, tile):
    """A __device__ template with a shared array of a type that depends on it; rows and columns that do not divide."""
    given = np.arange(100 * 70).reshape(70, 100).astype(dtype)
    out = bench.place(np.zeros((100, 70), dtype))
    program = bench.load(bench.source(FILE, kernel))
    grid = (-(-100 // tile), -(-70 // tile), 1)
    bench.launch(program, bench.place(given, Role.IN), out, np.int32(100), np.int32(70), grid=grid, block=(tile, 8, 1))
    assert (out.read() == given.T).all()


def test_constant_memory_and_dynamic_shared_memory(bench):
    """A stencil with __constant__ coefficients gives bit by bit what the same operations give in NumPy."""
    program = bench.load(bench.source(FILE, "stencil", constants=("coefficients",)))
    rng = np.random.default_rng(1)
    coefficients, given = rng.random(9, np.float32), rng.random(10000, np.float32)
    bench.device.set_constant(program, "coefficients", coefficients)
    out = bench.place(np.zeros_like(given))
    arguments = (bench.place(given, Role.IN), out, np.int32(given.size))
    bench.launch(program, *arguments, grid=-(-given.size // 256), block=256, shared=4 * (256 + 8))
    padded, expected = np.pad(given, 4), np.zeros_like(given)
    for k in range(9):  # a fused multiply-add rounds once; so does this
        product = coefficients[k].astype(np.float64) * padded[k : k + given.size].astype(np.float64)
        expected = (product + expected).astype(np.float32)
    assert (out.read() == expected).mean() > 0.999  # float64 sums of float32 products can round twice, very rarely
    np.testing.assert_allclose(out.read(), expected, rtol=1e-6)


def test_last_block_adds_the_partials(bench):
    """Fences and a device-wide counter let the last of many blocks, on several OS threads, see the others' results."""
    program = bench.load(bench.source(FILE, "lastBlock", constants=("counter",)))
    given = np.random.default_rng(2).integers(-99, 99, 50000).astype(np.int32)
    blocks = -(-given.size // 256)
    partials, out = bench.place(np.zeros(blocks, np.int32), Role.SCRATCH), bench.place(np.zeros(1, np.int32))
    for _ in range(5):
        out.fill_bytes(0xFF)
        bench.launch(program, bench.place(given, Role.IN), partials, out, np.int32(given.size), grid=blocks, block=256)
        assert out.read()[0] == given.sum()


def test_device_variables_last_and_are_each_programs_own(bench):
    """A __device__ variable keeps its value between launches; a program loaded again starts with its initial one."""
    source = bench.source(FILE, "countLaunches", constants=("counter",))
    first, second = bench.load(source), bench.load(source)
    out = bench.place(np.zeros(1, np.int32))
    counts = []
    for program in (first, first, second, first):
        bench.launch(program, out, block=1)
        counts.append(int(out.read()[0]))
    bench.device.set_constant(second, "counter", np.array([40], np.int32))
    bench.launch(second, out, block=1)
    assert (counts, out.read()[0]) == ([1, 2, 1, 3], 41)


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


def test_samples_restore_what_is_changed_in_place(bench, tmp_path):
    """Each timed launch finds what was prepared for it, and the state that the last launch left."""
    text = 'extern "C" __global__ void kernel(int *changed, int *state) { *changed += 1; *state += 1; }\n'
    program = bench.load(bench.text(tmp_path, text))
    changed, state = bench.place(np.array([5], np.int32), Role.INOUT), bench.place(np.zeros(1, np.int32), Role.STATE)
    launch, left = Launch(program, (1, 1, 1), (1, 1, 1), 0, (changed, state)), []
    times = bench.device.sample(
        [launch] * 6, 5.0, lambda _: changed.restore(), lambda _: left.append(int(changed.read()[0]))
    ).us
    assert times.shape == (6,)
    assert (times > 0).all()
    assert (left, state.read()[0]) == ([6] * 6, 6)


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
