import dataclasses
import itertools
import math

import numpy as np
import pytest

from runner.device import GpuState, Timed
from runner.jobs.settings import TimingConfig
from runner.statistics import (
    SAMPLE,
    median_ranks,
    round_medians,
    spread_percent,
    summarize,
    summarize_rounds,
    unthrottled,
)
from runner.sweep.measure import collect, measure, measure_hot


@pytest.mark.parametrize("n", range(6, 60))
def test_the_interval_of_the_median_has_its_confidence(n):
    """From 6 samples on, the ranks enclose the median with at least 95 %, and no closer pair would."""
    low, high = median_ranks(n)
    covered = 1 - 2 * sum(math.comb(n, k) for k in range(low + 1)) / 2**n
    closer = 1 - 2 * sum(math.comb(n, k) for k in range(low + 2)) / 2**n
    assert high == n - 1 - low
    assert covered >= 0.95
    assert closer < 0.95


def test_a_summary_is_of_the_samples():
    """Median, quartiles and minimum are those of the raw samples, in any order."""
    s = summarize(np.array([5.0, 1.0, 4.0, 2.0, 3.0]))
    assert (s.samples, s.min, s.q1, s.median, s.q3, s.ci_low, s.ci_high) == (5, 1.0, 2.0, 3.0, 4.0, 1.0, 5.0)


def protocol(**changed):
    """A quick protocol with some values changed."""
    quick = TimingConfig(rounds=1, warmup_ms=0, max_samples=100, min_time_ms=0, precision_percent=0.5)
    return dataclasses.replace(quick.protocol("cuda"), **changed)


def sampler(times):
    """Launches that take the times of an iterator."""

    def sample(count):
        return Timed(np.array(list(itertools.islice(times, count))), np.zeros(count))

    return sample


def taken(times, spent_ms=0.0, **changed):
    """What is collected of launches that take these times."""
    return collect(sampler(times), protocol(**changed), spent_ms, spent_ms, lambda _: None)


def test_warm_up_is_thrown_away():
    """What is launched during the warm-up is not among the samples."""
    samples, _ = taken(itertools.count(1000.0), warmup_ms=10.0)
    assert samples.us[0] > 1000
    assert len(samples.us) >= 30


def test_no_warm_up_where_enough_was_launched():
    """The checked launch counts as warm-up."""
    samples, _ = taken(itertools.count(1000.0), spent_ms=30.0, warmup_ms=25.0)
    assert samples.us[0] == 1000


ENDS = {
    "the median is known": (itertools.repeat, [100.0], {}, 30, "precise"),
    "it is not, and no more are allowed": (itertools.cycle, [range(100, 200)], {"max_samples": 90}, 90, "max_samples"),
    "it is not, and the time is over": (itertools.cycle, [range(100, 200)], {"max_time_s": 0.0}, 30, "max_time"),
    "it is, and the least time is never over": (
        itertools.repeat, [100.0], {"min_time_ms": 100_000, "max_samples": 126}, 126, "max_samples",
    ),
}  # fmt: skip


@pytest.mark.parametrize("why", ENDS)
def test_measuring_ends_with_a_reason(why):
    """With no fewer than the least number of samples, and as soon as there is one."""
    times, given, changed, count, expected = ENDS[why]
    samples, reason = taken(times(*given), **changed)
    assert (len(samples.us), reason) == (count, expected)


def test_further_samples_narrow_the_interval_until_it_is_narrow_enough():
    """Measuring ends with the first chunk after which the interval is within the precision that was asked for."""
    noise = 100.0 + np.random.default_rng(1).normal(0, 4.0, 5000)
    samples, reason = taken(iter(noise), max_samples=5000)
    assert reason == "precise"
    assert 30 < len(samples.us) < 5000
    assert summarize(samples.us).precision_percent <= 0.5
    assert summarize(samples.us[:-32]).precision_percent > 0.5


COOL = GpuState(1980, 40, 300.0, (), throttled=False)
HOT = GpuState(1200, 90, 690.0, ("sw_thermal_slowdown",), throttled=True)


def measured(conditions):
    """A case measured on a GPU that is like that after one try, two tries and so on; and the pauses that were made."""
    paused = []
    sample, told = sampler(itertools.count(100.0)), iter(conditions)
    return measure(sample, lambda: next(told), protocol(max_samples=30), 0.0, lambda _: None, paused.append), paused


def test_a_throttled_try_is_repeated_and_its_samples_do_not_count():
    """After a throttled try the GPU is given a pause, and the times are those of the next one; the others are kept."""
    found, paused = measured([HOT, COOL])
    assert (found.tries, len(paused), found.conditions) == (2, 1, COOL)
    assert len(found.samples) == 60
    assert unthrottled(found.samples)["us"].min() == 130.0


def test_a_gpu_that_stays_throttled_is_measured_all_the_same():
    """After three throttled tries their times count, and are flagged."""
    found, paused = measured([HOT, HOT, HOT, COOL])
    assert (found.tries, len(paused), found.conditions) == (3, 2, HOT)
    assert len(unthrottled(found.samples)) == 90
    assert found.samples["throttled"].all()


def test_a_device_that_knows_no_clocks_is_measured_once():
    """Where nobody can say what the clocks are, nothing is repeated."""
    found, paused = measured([None])
    assert (found.tries, paused, found.conditions) == (1, [], None)


def test_hot_launches_are_timed_in_batches_of_a_millisecond():
    """A batch has as many launches as fill a millisecond, 200 at most, and its time is divided by them."""
    asked = []
    times = measure_hot(lambda n: (asked.append(n), 5.0 * n)[1], 30.0, lambda _: None)
    assert set(asked) == {34}
    assert len(asked) == 11
    assert times.tolist() == [5.0] * 10
    asked.clear()
    measure_hot(lambda n: (asked.append(n), 5.0 * n)[1], 0.1, lambda _: None)
    assert set(asked) == {200}


def test_the_spread_is_between_rounds():
    """The spread is that of the rounds' medians, whatever the samples of a round are like."""
    samples = np.zeros(9, SAMPLE)
    samples["round"] = [1, 1, 1, 2, 2, 2, 3, 3, 3]
    samples["us"] = [90, 99, 150, 80, 100, 110, 70, 101, 102]
    assert list(round_medians(samples)) == [99, 100, 101]
    assert spread_percent(np.array([99.0, 100.0, 101.0])) == pytest.approx(1.0)
    assert spread_percent(np.array([99.0])) is None


def test_a_noisy_round_counts_no_more_than_a_quiet_one():
    """A round that took ten times as many samples moves the median by no more than its share."""
    samples = np.zeros(360, SAMPLE)
    samples["round"] = np.repeat([1, 2, 3], [300, 30, 30])
    samples["us"] = np.concatenate([np.random.default_rng(2).normal(100, 5, 300), np.full(60, 90.0)])
    whole = summarize_rounds(samples)
    assert whole.median == pytest.approx((100 + 90 + 90) / 3, abs=0.5)
    assert whole.ci_low < whole.median < whole.ci_high
    assert whole.samples == 360


def test_a_throttled_try_of_a_slow_kernel_is_repeated_one_launch_at_a_time():
    """What is known of a launch is not forgotten: a chunk of further tries never takes longer than one of the first."""
    asked, told = [], iter([HOT, COOL])

    def sample(count):
        asked.append(count)
        return Timed(np.full(count, 20e6), np.zeros(count))

    measure(sample, lambda: next(told), protocol(max_samples=30), 20e3, lambda _: None, lambda _: None)
    assert set(asked) == {1}
