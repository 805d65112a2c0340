import numpy as np
import pytest

from runner.kernel.arrays import DTYPES, FILLS, fill, glibc_rand


def test_rand_is_that_of_the_gnu_library():
    """The numbers are those that an unseeded `rand()` prints (these were printed by a C program, glibc 2.36)."""
    numbers = glibc_rand(1_000_001)
    assert list(numbers[:5]) == [1804289383, 846930886, 1681692777, 1714636915, 1957747793]
    assert numbers[1_000_000] == 771126689


def test_the_tutorials_sum_comes_out():
    """2**24 elements of `rand() & 0xff` sum up to the 2139353471 of tutorial 000's listing."""
    values = fill("c_rand", (2**24,), DTYPES["int32"], 0, "in")
    assert values.sum(dtype=np.int64) == 2139353471


@pytest.mark.parametrize("name", FILLS)
def test_a_fill_follows_from_what_it_is_given(name):
    """The same name, shape, dtype, seed and label give the same bytes, in the asked-for shape, in each type."""
    for dtype in DTYPES.values():
        first, second = (fill(name, (3, 5), dtype, 7, "in") for _ in range(2))
        assert first.dtype == dtype.numpy
        assert first.shape == ((3, 5, dtype.numbers) if dtype.numbers > 1 else (3, 5))
        assert first.nbytes == 15 * dtype.itemsize
        assert first.tobytes() == second.tobytes()


def test_random_differs_by_seed_and_by_array():
    """Another seed, or another array of the same kernel, gets other numbers."""
    a, b, c = (fill("random", (64,), DTYPES["int64"], s, n) for s, n in ((0, "a"), (1, "a"), (0, "b")))
    assert (a != b).any()
    assert (a != c).any()


def test_random_integers_reach_over_their_whole_range():
    """Sums of random integers overflow, so that wrapping is tested, too."""
    values = fill("random", (10_000,), DTYPES["int32"], 0, "in")
    assert values.min() < -(2**30)
    assert values.max() > 2**30


def test_the_other_fills_are_what_they_say():
    """Ones, zeros, counting from 0, from 1, and backwards; or the numbers themselves, in the array's own type."""
    dtype = DTYPES["float32"]
    made = {name: list(fill(name, (3,), dtype, 0, "in")) for name in ("zeros", "ones", "index", "count", "reverse")}
    assert made == {"zeros": [0, 0, 0], "ones": [1, 1, 1], "index": [0, 1, 2], "count": [1, 2, 3], "reverse": [2, 1, 0]}
    assert list(fill((0.0, 4 / 105), (2,), dtype, 0, "in")) == [0, np.float32(4 / 105)]


def test_large_integers_are_filled_in_exactly():
    """A number beyond a double's 53 bits arrives as it was written."""
    assert list(fill((2**53 + 1, -(2**63)), (2,), DTYPES["int64"], 0, "in")) == [2**53 + 1, -(2**63)]
