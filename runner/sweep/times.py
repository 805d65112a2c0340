"""The part of a row about time: the median, its interval, what may have disturbed it, and derived rates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.device import DeviceInfo, GpuState
from runner.kernel.case import Case
from runner.statistics import Samples, of_rounds, round_medians, spread_percent, summarize, unthrottled
from runner.sweep.measure import PRECISE, Round

Row = dict[str, Any]

HOST_BOUND_SHARE = 0.05  # of the samples
HOST_BOUND = 1.5  # the flush must take that many times as long as queueing the launch
TIMER_LIMITED = 2.0  # times an empty kernel: below, launching is more than half of the measured time


def times(
    case: Case,
    info: DeviceInfo,
    latest: Round,
    samples: Samples,
    hot: NDArray[Any],
    earlier: Mapping[str, Any],
) -> Row:
    """The columns that a round changes.

    Args:
        case: What was measured.
        info: Of its device.
        latest: The last round.
        samples: Of all rounds, of type `SAMPLE`.
        hot: Batches of all rounds, of type `HOT`; empty if not asked for.
        earlier: The row as it was.
    """
    used = unthrottled(samples)
    s = of_rounds(used)
    stopped = earlier.get("stop_reason")
    return {
        "rounds": len(np.unique(samples["round"])),
        "samples": s.samples,
        "median_us": s.median,
        "ci_low_us": s.ci_low,
        "ci_high_us": s.ci_high,
        "min_us": s.min,
        "q1_us": s.q1,
        "q3_us": s.q3,
        "round_spread_percent": spread_percent(round_medians(used)),
        "stop_reason": latest.stop_reason if stopped in (None, PRECISE) else stopped,
        **_hot(hot),
        **_bandwidth(case, info, s.median),
        **({} if info.emulated else _trust(info, samples, s.median)),
        **_conditions(latest, earlier),
    }


def occupancy(case: Case, info: DeviceInfo, active_blocks: int | None) -> Row:
    """How full the GPU is: blocks, warps and bytes in flight per multiprocessor, and the number of waves.

    CUDA C++ Best Practices Guide, "Occupancy".
    """
    if active_blocks is None:
        return {}
    threads = math.prod(case.block)
    warps = math.ceil(threads / 32)
    in_flight = case.count("in_flight")
    most = info.details["threads_per_multiprocessor"] / 32
    at_once = active_blocks * info.details["multiprocessors"]
    there = min(
        active_blocks, math.ceil(math.prod(case.grid) / info.details["multiprocessors"])
    )  # a small grid has fewer
    return {
        "blocks_per_sm": active_blocks,
        "occupancy_percent": 100.0 * active_blocks * warps / most,
        "waves": math.prod(case.grid) / at_once if at_once else None,
        "bytes_in_flight": None if in_flight is None else in_flight * threads * there,
    }


def _hot(batches: NDArray[Any]) -> Row:
    if not len(batches):
        return {}
    s = summarize(batches["us"])
    return {
        "hot_samples": s.samples,
        "hot_median_us": s.median,
        "hot_ci_low_us": s.ci_low,
        "hot_ci_high_us": s.ci_high,
    }


def _bandwidth(case: Case, info: DeviceInfo, median_us: float) -> Row:
    """Emulated time says nothing about memory bandwidth."""
    transferred = (case.count("bytes_read") or 0) + (case.count("bytes_written") or 0)
    if info.emulated or not transferred or not median_us:
        return {}
    gbps = transferred / median_us / 1e3
    copy = info.details.get("copy_gbps")
    return {
        "gbps": gbps,
        "percent_peak": 100 * gbps / info.peak_gbps if info.peak_gbps else None,
        "percent_copy": 100 * gbps / copy if copy else None,
    }


def _trust(info: DeviceInfo, samples: Samples, median_us: float) -> Row:
    waited = samples["enqueue_us"] * HOST_BOUND > info.details["flush_us"]
    return {
        "enqueue_us": float(np.median(samples["enqueue_us"])),
        "host_bound": bool(waited.mean() > HOST_BOUND_SHARE),
        "timer_limited": bool(median_us < TIMER_LIMITED * info.details["empty_kernel_us"]),
        "throttled": bool(unthrottled(samples)["throttled"].any()),
    }


def _conditions(latest: Round, earlier: Mapping[str, Any]) -> Row:
    """The worst of all rounds."""
    tries = latest.tries - 1 + (earlier.get("remeasured") or 0)
    now: GpuState | None = latest.conditions
    if now is None:
        return {"remeasured": tries or None}
    reasons = dict.fromkeys([*(earlier.get("clock_reasons") or "").split(), *now.reasons])
    return {
        "remeasured": tries,
        "clock_reasons": " ".join(reasons) or None,
        "sm_mhz": min(now.sm_mhz, earlier.get("sm_mhz") or now.sm_mhz),
        "temperature_c": _most(now.temperature_c, earlier.get("temperature_c")),
        "power_w": _most(now.power_w, earlier.get("power_w")),
    }


def _most(*found: float | None) -> float | None:
    return max((n for n in found if n is not None), default=None)
