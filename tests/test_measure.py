import itertools
import math

import numpy as np
import pytest

from runner.measure import collect, median_ranks, summarize


@pytest.mark.parametrize("n", range(6, 60))
def test_the_interval_of_the_median_has_its_confidence(n):
    """From 6 samples on, the ranks enclose the median with at least 95 %, and no closer pair would."""
    low, high = median_ranks(n)
    covered = 1 - 2 * sum(math.comb(n, k) for k in range(low + 1)) / 2**n
    closer = 1 - 2 * sum(math.comb(n, k) for k in range(low + 2)) / 2**n
    assert high == n - 1 - low
    assert covered >= 0.95
    assert closer < 0.95


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_few_samples_give_the_whole_range(n):
    """With fewer than 6 samples the interval is from the least to the largest."""
    assert median_ranks(n) == (0, n - 1)


def test_a_summary_is_of_the_samples():
    """Median, quartiles and minimum are those of the raw samples, in any order."""
    s = summarize(np.array([5.0, 1.0, 4.0, 2.0, 3.0]))
    assert (s.samples, s.min, s.q1, s.median, s.q3, s.ci_low, s.ci_high) == (5, 1.0, 2.0, 3.0, 4.0, 1.0, 5.0)


def test_warm_up_is_thrown_away():
    """What is launched during the warm-up is not among the samples."""
    counter = itertools.count()
    samples = collect(
        lambda n: np.array([float(next(counter)) for _ in range(n)]) + 1000, 70, 10.0, 0.0, lambda _: None
    )
    assert len(samples) == 70
    assert samples[0] > 1000


def test_warm_up_ends_though_the_clock_stands_still():
    """A device whose times are all 0 is measured nevertheless."""
    assert len(collect(np.zeros, 5, 25.0, 0.0, lambda _: None)) == 5


def test_no_warm_up_where_enough_was_launched():
    """The checked launch counts as warm-up."""
    asked = []
    collect(lambda n: (asked.append(n), np.ones(n))[1], 3, 25.0, 30.0, lambda _: None)
    assert asked == [3]
