"""Samples: when measuring ends, what is thrown away or flagged, and what a row says of time."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from support import case_of, shipped

from runner.device import DeviceInfo, GpuState, Timed
from runner.jobs.settings import TimingConfig
from runner.record.samples import HOT as HOT_SAMPLE
from runner.statistics import (
    SAMPLE,
    median_ranks,
    round_medians,
    spread_percent,
    summarize,
    summarize_rounds,
    unthrottled,
)
from runner.sweep.case_row import occupancy_columns, time_columns
from runner.sweep.measure import Round, collect, measure, measure_hot


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
    """What is launched during the warm-up is not among the samples; the checked launch counts as warm-up."""
    samples, _ = taken(itertools.count(1000.0), warmup_ms=10.0)
    assert samples.us[0] > 1000
    assert len(samples.us) >= 30
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
    """The GPU is given a pause, and the times are those of the next try; after three, throttled ones count, and are flagged.

    Where nobody can say what the clocks are, nothing is repeated.
    """
    found, paused = measured([HOT, COOL])
    assert (found.tries, len(paused), found.conditions) == (2, 1, COOL)
    assert len(found.samples) == 60
    assert unthrottled(found.samples)["us"].min() == 130.0
    found, paused = measured([HOT, HOT, HOT, COOL])
    assert (found.tries, len(paused), found.conditions) == (3, 2, HOT)
    assert len(unthrottled(found.samples)) == 90
    assert found.samples["throttled"].all()
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


FLOOR = {"empty_kernel_us": 3.0, "flush_us": 30.0, "copy_gbps": 4000.0}
GPU = DeviceInfo(
    "cuda", "a GPU", "sm_90", 4800.0, 60 << 20, 1 << 17, 1 << 30,
    details={**FLOOR, "multiprocessors": 132, "threads_per_multiprocessor": 2048},
)  # fmt: skip
CASE = case_of(shipped("reduceShfl"), block=256, size=2**20)
NO_HOT = np.zeros(0, HOT_SAMPLE)
CALM = GpuState(1980, 40, 300.0, (), throttled=False)


def sampled(us, *, throttled=False):
    """Samples of one round."""
    lines = np.zeros(len(us), SAMPLE)
    lines["round"], lines["us"], lines["enqueue_us"], lines["throttled"] = 1, us, 5.0, throttled
    return lines


def row(taken, earlier=None, conditions=CALM, stop_reason="precise", tries=1, info=GPU):
    """What a row says of time after a round."""
    return time_columns(
        CASE, info, Round(taken, stop_reason, conditions, tries, np.empty(0)), taken, NO_HOT, earlier or {}
    )


@pytest.mark.parametrize(("median", "flag"), [(5.9, True), (6.1, False)])
def test_what_is_near_the_floor_is_flagged(median, flag):
    """A median of less than two empty kernels says more about launching than about the kernel."""
    assert row(sampled([median] * 30))["timer_limited"] is flag


@pytest.mark.parametrize(
    ("slow", "enqueue_us", "flag"), [(1, 25.0, False), (2, 25.0, True), (30, 19.0, False), (30, 21.0, True)]
)
def test_a_host_that_queues_too_slowly_is_flagged(slow, enqueue_us, flag):
    """The flush must take half as long again as queueing the launch; one sample in thirty may be late, two may not."""
    taken = sampled([100.0] * 30)
    taken["enqueue_us"][:slow] = enqueue_us
    assert row(taken)["host_bound"] is flag


def test_a_host_that_cannot_matter_is_not_flagged():
    """Of a kernel that takes long, the time to queue it is less than 1 %."""
    taken = sampled([2400.0] * 30)
    taken["enqueue_us"] = 25.0
    assert row(taken)["host_bound"] is True
    taken["us"] = 2600.0
    assert row(taken)["host_bound"] is False


def test_throttled_samples_do_not_count_while_there_are_others():
    """The median is of the steady samples; without any, it is of the throttled ones, and the row says so."""
    mixed = np.concatenate([sampled([200.0] * 30, throttled=True), sampled([100.0] * 30)])
    assert (row(mixed)["median_us"], row(mixed)["samples"], row(mixed)["throttled"]) == (100.0, 30, False)
    slow = sampled([200.0] * 30, throttled=True)
    assert (row(slow)["median_us"], row(slow)["throttled"]) == (200.0, True)


def test_the_worst_of_all_rounds_is_told():
    """Clocks, temperature and reasons of a later round make those of the row worse, never better."""
    hot = GpuState(1700, 85, 690.0, ("sw_power_cap",), throttled=False)
    first = row(sampled([100.0] * 30), conditions=hot, stop_reason="max_samples", tries=2)
    later = row(sampled([100.0] * 30), earlier=first, conditions=CALM, tries=3)
    assert (later["sm_mhz"], later["temperature_c"], later["power_w"]) == (1700, 85, 690.0)
    assert (later["clock_reasons"], later["remeasured"], later["stop_reason"]) == ("sw_power_cap", 3, "max_samples")


def test_bandwidth_follows_from_the_median():
    """The declared bytes over the median, and that against the peak and against the copy."""
    found = row(sampled([10.0] * 30))
    moved = 4 * 2**20 + 4
    assert found["gbps"] == pytest.approx(moved / 10.0 / 1e3)
    assert found["percent_peak"] == pytest.approx(100 * found["gbps"] / 4800)
    assert found["percent_copy"] == pytest.approx(100 * found["gbps"] / 4000)


def test_the_cpu_device_has_no_bandwidth_and_no_flags():
    """Emulated time says nothing of memory, and there is no timer that it could come near to."""
    found = row(sampled([10.0] * 3), conditions=None, info=dataclasses.replace(GPU, kind="cpu"))
    assert not {"gbps", "timer_limited", "host_bound", "throttled"} & set(found)


def test_occupancy_is_what_fits_on_the_gpu_at_once():
    """Six blocks of 256 threads are 48 of 64 warps; 4,096 blocks are 5.2 times what 132 multiprocessors hold."""
    assert occupancy_columns(CASE, GPU, 6) == {
        "blocks_per_sm": 6, "occupancy_percent": 75.0, "waves": pytest.approx(4096 / (6 * 132)),
        "bytes_in_flight": 4 * 256 * 6,
    }  # fmt: skip
    assert occupancy_columns(CASE, GPU, None) == {}


def test_what_is_under_way_is_that_of_all_threads_that_fit():
    """Eight loads of 8 bytes a thread, 128 threads a block, five blocks; a kernel that does not declare it has none."""
    case = case_of(shipped("reduceShflUnroll"), unroll=8, block=128, dtype="float64")
    assert occupancy_columns(case, GPU, 5)["bytes_in_flight"] == 8 * 8 * 128 * 5
    assert occupancy_columns(case_of(shipped("bankAccess")), GPU, 5)["bytes_in_flight"] is None


@pytest.mark.gpu
@pytest.mark.parametrize(("block", "blocks"), [(1024, 2), (256, 8), (64, 32), (32, 32)])
def test_the_driver_says_how_many_blocks_fit(block, blocks, bench):
    """A small kernel fills a multiprocessor: 2,048 threads of sm_90, or 32 blocks."""
    if bench.device.info.arch != "sm_90":
        pytest.skip("the figures are those of sm_90")
    outcome = bench.run(case_of(shipped("copyGmem"), block=f"32x{block // 32}", size="1024x1024"))
    assert outcome.active_blocks == blocks
