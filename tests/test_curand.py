"""cuRAND's device functions on each device: the same numbers for the same seed, subsequence and offset."""

from __future__ import annotations

import json
import subprocess

import numpy as np
import pytest
from support import ROOT, constant

from runner.device import Source

FILE = ROOT / "tests" / "kernels" / "cuda" / "curand.cu"

# Of cuRAND 10.4, its header compiled for the host: by generator, seed, subsequence and offset six words and one
# after the rest, a uniform number and four normal ones, and in double a uniform number and two normal ones.
RECORDED = {tuple(row[:4]): row[4:] for row in json.loads(FILE.with_suffix(".json").read_text())}
STARTS = sorted({key[1:] for key in RECORDED})


@pytest.fixture(autouse=True)
def has_header(request):
    """Not every toolkit has cuRAND."""
    names = request.fixturenames
    if "nvcc" in request.keywords or ("bench" in names and request.getfixturevalue("bench").device.info.is_gpu):
        command, text = ["nvcc", "-E", "-x", "cu", "-"], b"#include <curand_kernel.h>"
        if subprocess.run(command, input=text, capture_output=True, check=False).returncode:
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
