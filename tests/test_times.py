import dataclasses

import numpy as np
import pytest
from support import case_of, shipped

from runner.device import DeviceInfo, GpuState
from runner.record.samples import HOT
from runner.statistics import SAMPLE
from runner.sweep.case_row import occupancy_columns, time_columns
from runner.sweep.measure import Round

FLOOR = {"empty_kernel_us": 3.0, "flush_us": 30.0, "copy_gbps": 4000.0}
GPU = DeviceInfo(
    "cuda", "a GPU", "sm_90", 4800.0, 60 << 20, 1 << 17, 1 << 30,
    details={**FLOOR, "multiprocessors": 132, "threads_per_multiprocessor": 2048},
)  # fmt: skip
CASE = case_of(shipped("reduceShfl"), block=256, size=2**20)
NO_HOT = np.zeros(0, HOT)
CALM = GpuState(1980, 40, 300.0, (), throttled=False)


def samples(us, *, throttled=False):
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
    assert row(samples([median] * 30))["timer_limited"] is flag


@pytest.mark.parametrize(
    ("slow", "enqueue_us", "flag"), [(1, 25.0, False), (2, 25.0, True), (30, 19.0, False), (30, 21.0, True)]
)
def test_a_host_that_queues_too_slowly_is_flagged(slow, enqueue_us, flag):
    """The flush must take half as long again as queueing the launch; one sample in thirty may be late, two may not."""
    taken = samples([100.0] * 30)
    taken["enqueue_us"][:slow] = enqueue_us
    assert row(taken)["host_bound"] is flag


def test_throttled_samples_do_not_count_while_there_are_others():
    """The median is of the steady samples; without any, it is of the throttled ones, and the row says so."""
    mixed = np.concatenate([samples([200.0] * 30, throttled=True), samples([100.0] * 30)])
    assert (row(mixed)["median_us"], row(mixed)["samples"], row(mixed)["throttled"]) == (100.0, 30, False)
    slow = samples([200.0] * 30, throttled=True)
    assert (row(slow)["median_us"], row(slow)["throttled"]) == (200.0, True)


def test_the_worst_of_all_rounds_is_told():
    """Clocks, temperature and reasons of a later round make those of the row worse, never better."""
    hot = GpuState(1700, 85, 690.0, ("sw_power_cap",), throttled=False)
    first = row(samples([100.0] * 30), conditions=hot, stop_reason="max_samples", tries=2)
    later = row(samples([100.0] * 30), earlier=first, conditions=CALM, tries=3)
    assert (later["sm_mhz"], later["temperature_c"], later["power_w"]) == (1700, 85, 690.0)
    assert (later["clock_reasons"], later["remeasured"], later["stop_reason"]) == ("sw_power_cap", 3, "max_samples")


def test_bandwidth_follows_from_the_median():
    """The declared bytes over the median, and that against the peak and against the copy."""
    found = row(samples([10.0] * 30))
    moved = 4 * 2**20 + 4
    assert found["gbps"] == pytest.approx(moved / 10.0 / 1e3)
    assert found["percent_peak"] == pytest.approx(100 * found["gbps"] / 4800)
    assert found["percent_copy"] == pytest.approx(100 * found["gbps"] / 4000)


def test_the_cpu_device_has_no_bandwidth_and_no_flags():
    """Emulated time says nothing of memory, and there is no timer that it could come near to."""
    found = row(samples([10.0] * 3), conditions=None, info=dataclasses.replace(GPU, kind="cpu"))
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
