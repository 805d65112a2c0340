"""cuRAND's device functions on each device: the same numbers for the same seed, subsequence and offset."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest
from support import ROOT, constant

from runner.device import Source

FILE = ROOT / "tests" / "kernels" / "cuda" / "curand.cu"

# Of cuRAND 10.4, its header compiled for the host: by generator, seed, subsequence and offset six words and one
# after the rest, a uniform number and four normal ones, and in double a uniform number and two normal ones.
RECORDED = {
    ("xorwow", 0, 0, 0): (
        [3179217846, 1883133293, 2220552389, 674260989, 306521119, 1986458431, 3270140066],
        [0.227643266, -0.927174926, 1.57642365, 1.45361459, -0.907904029],
        [0.14406516578192247, -0.18590160600548308, -0.12950456466915442],
    ),
    ("philox", 0, 0, 0): (
        [1713891541, 3781805453, 3159862348, 2600524760, 4175744164, 1555169499, 4013802324],
        [0.693930924, 2.54409719, -1.18635809, 0.445406258, -0.898826003],
        [0.037094080820679665, 0.82078075640742854, -1.3899953692428417],
    ),
    ("xorwow", 1234, 0, 0): (
        [624778773, 1867875844, 3739671282, 1954919316, 3681184389, 2501467243, 1707939284],
        [0.201403871, -0.657692313, -1.25434792, 0.809376121, 0.652188897],
        [0.30077175010334462, -1.138048303222539, 0.27937271870285163],
    ),
    ("philox", 1234, 0, 0): (
        [546353992, 3665621163, 1140953199, 3419031310, 2666454581, 482218876, 346514135],
        [0.977164328, -0.162294447, 1.65918005, -0.691018522, 1.06132889],
        [0.080060798907652497, 0.8588441142258092, 0.71492173803033265],
    ),
    ("xorwow", 1234, 5, 0): (
        [3732235839, 2152834071, 919474540, 1633321130, 1363217923, 2702936549, 2420918765],
        [0.688283563, 2.13863754, -0.313043892, 0.020111192, -1.82113886],
        [0.845084632748764, -0.73549862331711346, -0.87890888332844863],
    ),
    ("philox", 1234, 5, 0): (
        [4181881884, 3080788858, 2334630092, 3180702920, 1549596404, 1069600344, 4271838811],
        [0.197131708, -1.60174739, 1.10226679, 0.909671724, -1.19723487],
        [0.44827861781232059, 0.61854611773733903, 0.12008763890136703],
    ),
    ("xorwow", 1234, 0, 7): (
        [3379045701, 1291806421, 1575338248, 2477592138, 2956985617, 2161587329, 453005781],
        [0.724526465, 1.18461657, -1.58108199, -0.50599283, 1.29421711],
        [0.58261975517105258, 0.80114456997443539, 0.43994021835645664],
    ),
    ("philox", 1234, 0, 7): (
        [343858512, 1070188760, 4228315704, 3424062247, 2300394257, 3055983166, 2516918072],
        [0.139514774, 0.213118732, 0.383773446, -1.68784964, -0.606330097],
        [0.44844790734350681, -2.4071388670160405, 0.61305908771122142],
    ),
    ("xorwow", 16045690984503054900, 1099511640121, 8589934669): (
        [3081751839, 2888513918, 3476670484, 3217550234, 4291503324, 3696081726, 3346585676],
        [0.539924502, -0.646890283, 0.965548992, -0.652159333, 0.422429621],
        [0.70468219346255823, -0.26051810241856443, 0.36401789996226641],
    ),
    ("philox", 16045690984503054900, 1099511640121, 8589934669): (
        [1252532465, 1186069645, 3674639303, 3873616789, 1173364261, 4277830404, 1881416447],
        [0.977340817, 1.07147026, 0.492569178, 1.35677373, -0.259316981],
        [0.90474789775907993, -1.7697097780879822, -1.0985232274086181],
    ),
}
STARTS = sorted({key[1:] for key in RECORDED})


@pytest.fixture(autouse=True)
def has_header(request):
    """Not every toolkit has cuRAND."""
    names = request.fixturenames
    if "nvcc" in request.keywords or ("bench" in names and request.getfixturevalue("bench").device.info.is_gpu):
        found = subprocess.run(
            ["nvcc", "-E", "-x", "cu", "-"], input=b"#include <curand_kernel.h>", capture_output=True, check=False
        )
        if found.returncode:
            pytest.skip("nvcc finds no curand_kernel.h (NVCC_APPEND_FLAGS=-I... can name its folder)")


def kernel(name: str) -> Source:
    """A kernel of the file."""
    return Source(FILE, FILE.read_text(), name)


def test_numbers_are_those_of_curand(bench):
    """Words and uniform numbers to the last bit, normal ones as closely as a fast sine gives them."""
    count = len(STARTS)
    words, floats, doubles = bench.call(
        kernel("numbers"),
        constant(np.array(STARTS, np.uint64)),
        np.zeros((count, 2, 9), np.uint32),
        np.zeros((count, 2, 6), np.float32),
        np.zeros((count, 2, 3)),
        block=count,
    )
    for t, start in enumerate(STARTS):
        for g, (name, size) in enumerate((("xorwow", 48), ("philox", 64))):
            expected_words, expected_floats, expected_doubles = RECORDED[name, *start]
            assert list(words[t, g]) == [*expected_words, 1, size], (name, start)
            assert floats[t, g, 0] == np.float32(expected_floats[0])
            np.testing.assert_allclose(floats[t, g, 1:5], expected_floats[1:], rtol=2e-5, atol=3e-6)
            assert floats[t, g, 5] == pytest.approx(1, rel=1e-5)
            assert doubles[t, g, 0] == expected_doubles[0]
            np.testing.assert_allclose(doubles[t, g, 1:3], expected_doubles[1:], rtol=1e-13, atol=1e-15)


def philox(counter: list[int], key: list[int]) -> list[int]:
    """Four words, as in the paper of Salmon and others."""
    word = 2**32 - 1
    for _ in range(10):
        first, second = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [second >> 32 ^ counter[1] ^ key[0], second & word, first >> 32 ^ counter[3] ^ key[1], first & word]
        key = [(key[0] + 0x9E3779B9) & word, (key[1] + 0xBB67AE85) & word]
    return counter


def test_the_known_answer_of_philox():
    """The model of the next test, against the authors' own vectors."""
    assert philox([0] * 4, [0] * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert philox([2**32 - 1] * 4, [2**32 - 1] * 2) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


def test_four_numbers_at_once_are_the_next_four(bench):
    """From each place within a block of four, and in each subsequence."""
    count = 10
    words, floats = bench.call(
        kernel("fours"), np.zeros((count, 8, 2), np.uint32), np.zeros((count, 8), np.float32), block=count
    )
    for t in range(count):
        blocks = [x for block in range(4) for x in philox([block, 0, t + 2, 0], [7, 0])]
        expected = blocks[t % 5 : t % 5 + 8]
        assert [list(pair) for pair in words[t]] == [[x, x] for x in expected]
        exact = np.array(expected, np.float32) * np.float32(2**-32) + np.float32(2**-33)
        assert list(floats[t]) == list(exact)
