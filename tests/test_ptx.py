"""Inline PTX on each device: what the CPU device knows of it gives what a GPU gives."""

from __future__ import annotations

import numpy as np
import pytest
from support import ROOT, constant

from runner.device import Launch, Role, Source
from runner.errors import CompileError

FILE = ROOT / "tests" / "kernels" / "cuda" / "ptx.cu"


def source(function: str) -> Source:
    """A kernel of the file."""
    return Source(FILE, FILE.read_text(), function)


def test_a_product_of_matrices(bench):
    """cp.async, ldmatrix with and without transposition, mma.sync; static and dynamic shared memory."""
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-8, 8, shape).astype(np.float16) for shape in ((16, 16), (16, 8)))
    sums, halves = np.zeros((16, 8), np.float32), np.zeros((16, 8), np.float16)
    placed = [
        bench.device.place(name, value, role)
        for name, value, role in (
            ("a", a, Role.IN),
            ("b", b, Role.IN),
            ("sums", sums, Role.OUT),
            ("halves", halves, Role.OUT),
        )
    ]
    program = bench.device.load(source("product"), bench.compiler.compile(source("product")))
    bench.device.launch(Launch(program, (1, 1, 1), (32, 1, 1), 256, tuple(placed)), 20.0)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    assert np.array_equal(placed[2].read(), exact + 1)
    assert np.array_equal(placed[3].read(), exact)


def test_integers_are_packed_and_saturated(bench):
    """cvt.pack: the first number is the higher one, and of 8 bits the third fills the upper half."""
    given = np.array([[5, -7], [300, 70000], [-200, 255], [-70000, 40000]], np.int32)
    (out,) = bench.call(source("packed"), constant(given), np.zeros((4, 4), np.uint32), grid=1, block=4)
    for i, (low, high) in enumerate(((0, 255), (-128, 127), (0, 65535), (-32768, 32767))):
        bits = 8 if i < 2 else 16
        a, b = (np.clip(given[:, k].astype(np.int64), low, high) & (1 << bits) - 1 for k in (0, 1))
        assert np.array_equal(out[:, i], a << bits | b | (0xABCD << 16 if i < 2 else 0)), i


def test_two_halves_are_one_word_and_a_word_is_two_halves(bench):
    """mov.b32 with 16-bit registers, in both directions, and mov.b64 with 32-bit ones."""
    given = np.array([0x12345678, 0x80000001, 0xFFFF0000, 7], np.uint32)
    swapped, joined = bench.call(
        source("halves"), constant(given), np.zeros(4, np.uint32), np.zeros(4, np.uint64), block=4
    )
    assert np.array_equal(swapped, given << 16 | given >> 16)
    assert np.array_equal(joined, given.astype(np.uint64) << 32 | swapped)


def test_words_and_memory(bench):
    """Special registers, predicates, pairs, vectors with cache hints, offsets, and what a template has."""
    n = 64
    given = (7919 * np.arange(n, dtype=np.int32)) % 1009
    vectors = np.random.default_rng(2).random((n, 4), np.float32)
    out, floats = bench.call(
        source("words"), constant(given), constant(vectors), np.zeros((n, 7), np.int32), np.zeros((n, 4), np.float32), n,
        grid=2,
    )  # fmt: skip
    i = np.arange(n)
    expected = [
        i % 32,
        (1 << i % 32) - 1,
        [int(x).bit_length() - 1 for x in given],
        given,
        np.where(i < n // 2, 5, i),
        i + 1,
        i + 3,
    ]
    assert np.array_equal(out, np.stack(expected, axis=1))
    assert (floats[:, 1] == 7).all()
    assert np.allclose(floats[:, 0], 2 * vectors[:, 2] + vectors[:, 3])
    assert np.array_equal(floats[:, 2:], vectors[:, :2])


def test_conversions_round_and_saturate(bench):
    """To integers in each rounding, NaN to 0, and to halves; one that a register is too wide for is extended."""
    given = np.linspace(-200, 200, 32, dtype=np.float32) ** 3 / 1e4
    given[:6] = np.nan, 2.5, -3.5, 127.5, -128.5, 0.25
    arrays = (
        np.zeros((32, 4), np.int32),
        np.zeros(32, np.int64),
        np.zeros((32, 2), np.uint16),
        np.zeros((32, 2), np.float32),
    )
    found, words, halves, floats = bench.call(source("conversions"), constant(given), *arrays)
    real = np.nan_to_num(given)
    expected = [
        np.clip(np.rint(real), -128, 127),
        np.clip(np.trunc(real), -128, 127),
        np.clip(np.ceil(real), 0, 255),
        np.clip(100 * (np.arange(32) - 16), -128, 127),
    ]
    assert np.array_equal(found, np.stack(expected, axis=1))
    assert words[0] == np.iinfo(np.int64).min
    assert np.array_equal(words[1:], np.floor(given[1:]))
    rounded = given.astype(np.float16)
    assert np.array_equal(halves[1:, 0], rounded.view(np.uint16)[1:])
    assert np.array_equal(halves[:, 1].view(np.int16), np.rint(np.nan_to_num(rounded)))
    assert np.array_equal(floats[:, 0], rounded.astype(np.float32), equal_nan=True)
    cut = (given.view(np.uint32) & 0xFFFF0000).view(np.float32) + np.float32(0x3F80)
    assert np.array_equal(floats[1:, 1], cut[1:])


def test_weights_of_4_bits_are_unpacked(bench):
    """`lop3` by its table, and sums and products of halves, each rounded once."""
    given = np.random.default_rng(4).integers(0, 2**32, 32, np.uint32)
    (out,) = bench.call(source("unpacked"), constant(given), np.zeros((32, 4), np.uint32))
    both = given & 0x000F000F | 0x64006400
    halves = both.view(np.float16).astype(np.float64)
    shifted, scaled = (halves - 1024).astype(np.float16), (halves / 16 - 64).astype(np.float16)
    assert (out[:, 0] == both).all()
    assert (out[:, 1] == shifted.view(np.uint32)).all()
    assert (out[:, 2] == scaled.view(np.uint32)).all()
    assert (out[:, 3] == (shifted[::2] * shifted[::2]).view(np.uint16)).all()


def test_updates_and_a_named_barrier(bench):
    """Each `atom` and `red`, loads and stores with an order, and a barrier at which one warp arrives and one waits."""
    given = np.zeros(16, np.uint32)
    given[[1, 3, 12]] = 100, 0xFFFFFFFF, 7
    words, out = bench.call(source("updates"), given, np.zeros(32, np.int32), block=64)
    minus_5, every = 0xFFFFFFFB, 0xFFFFFFFF
    sums = [32, minus_5, 93, 0, every, every - 1, 2, 8, np.float32(16).view(np.uint32), 0, 0, 16, 8, 0, 5, 6]
    assert words.tolist() == sums
    assert (out == 1 + 50 + 600).all()


def test_a_copy_lands_when_it_is_waited_for(bench):
    """A missing wait leaves garbage on the CPU device, which copies as late as CUDA allows."""
    if bench.device.info.is_gpu:
        pytest.skip("undefined on a GPU")
    (out,) = bench.call(source("missing_wait"), constant(np.arange(32, dtype=np.int32)), np.zeros(32, np.int32))
    assert (out != np.arange(32)).all()


def test_an_unknown_instruction_is_named_where_it_is(bench, tmp_path):
    """With what to do. A macro that nobody uses may have one."""
    if bench.device.info.is_gpu:
        pytest.skip("nvcc knows all")
    path = tmp_path / "own.cu"
    path.write_text('__global__ void k(int* o) {\n    asm volatile("cp.async.bulk.wait_group 0;");\n}\n')
    with pytest.raises(CompileError, match=r"own\.cu:2: inline PTX 'cp\.async\.bulk\.wait_group 0;' .*set gpu_only"):
        bench.compiler.compile(Source(path, path.read_text(), "k"))
