"""The row of a case: one flat dictionary, made before, after or instead of a round.

`after_round` also writes the round's samples. `runner.columns` describes each column.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.device import Binary, DeviceInfo, GpuState, kinds
from runner.jobs.job import Job
from runner.kernel import metrics
from runner.kernel.case import Case
from runner.kernel.declaration import Kind, pair, threads, value_text
from runner.record.folder import RunFolder
from runner.record.samples import append_hot, append_round
from runner.record.stored_rows import Row
from runner.statistics import Samples, round_medians, spread_percent, summarize, summarize_rounds, unthrottled
from runner.sweep.measure import PRECISE, Round
from runner.sweep.worker import Outcome

HOST_BOUND_SHARE = 0.05  # share of late samples above which a case is host-bound
HOST_BOUND = 1.5  # a sample is late if the flush takes less than this multiple of the enqueue time
HOST_BOUND_PART = 0.01  # of the median: less of the host's time than this cannot matter
TIMER_LIMITED = 2.0  # multiple of an empty kernel's time, below which most of the time is launch overhead


def known_columns(job: Job, device: str, launcher: str) -> Row:
    """The columns that are known before the case runs. `device` is the kind of device, `launcher` a name."""
    case, kernel = job.case, job.case.kernel
    has_launch = not case.excluded and not kernel.form.calls_host
    return {
        "case": case.id,
        "kernel": kernel.name,
        **_parameter_columns(case),
        "seed": case.seed,
        "grid": re.sub("(x1)+$", "", "x".join(map(str, case.grid))) if has_launch else None,
        "shared_dynamic": case.shared if has_launch else None,
        "finish": kernel.finish,
        "family": kernel.family,
        "baseline": kernel.baseline or None,
        "ceiling": kernel.ceiling,
        "compiler": job.compiler if kinds.has_compilers(device) else None,
        "launcher": launcher,
        "job": job.number,
    }


def without_result(job: Job, device: str, launcher: str, status: str, reason: str) -> Row:
    """The row of a case that was not run, with its status and the reason."""
    return {**known_columns(job, device, launcher), "device": device, "status": status, "reason": reason}


def result_columns(job: Job, info: DeviceInfo, launcher: str, outcome: Outcome, binary: Binary) -> Row:
    """The row of a case that was run on a device, without the columns of `time_columns`."""
    case, shuffle = job.case, job.case.kernel.shuffle
    return {
        **known_columns(job, info.kind, launcher),
        "device": info.kind,
        "status": outcome.status,
        "reason": outcome.reason or None,
        "note": outcome.note or None,
        # As text: a float cannot represent every 64-bit integer.
        "value": None if outcome.value is None else repr(outcome.value),
        "reference": None if outcome.reference is None else repr(outcome.reference),
        "reference_us": outcome.reference_us,
        "mismatches": outcome.mismatches,
        "max_error_ulp": outcome.error_ulp,
        "allowed_error": outcome.allowed_error,
        "undetected": "; ".join(outcome.undetected) or None,
        "tolerance": None if case.kernel.tolerance is None else str(case.kernel.tolerance),
        "undefined_reads": outcome.undefined_reads,
        **(dataclasses.asdict(outcome.further) if outcome.further else {}),
        "shuffle": f"{shuffle.operation} {shuffle.argument(case.variables)}" if shuffle else None,
        "received": " ".join("?" if i is None else str(i) for i in outcome.received) or None,
        "bytes_read": case.count("bytes_read"),
        "bytes_written": case.count("bytes_written"),
        "operations": case.count("operations"),
        **(dataclasses.asdict(outcome.resources) if outcome.resources else {}),
        **occupancy_columns(case, info, outcome.active_blocks),
        "compile_s": binary.seconds,
        "binary": binary.name,
        "gpu": info.gpu or None,
    }


def _parameter_columns(case: Case) -> Row:
    row: Row = {}
    for p in case.kernel.parameters:
        value = dict(case.parameters)[p.name]
        match p.kind:
            case Kind.BLOCK:
                row[p.name] = value
                row[f"{p.name}_x"], row[f"{p.name}_y"], _ = threads(value)
            case Kind.SIZE:
                row[p.name] = case.variables[p.name]
                if isinstance(value, str):
                    row["rows"], row["cols"] = pair(value)
            case Kind.MASK | Kind.BOOLEAN:
                row[p.name] = value_text(p.kind, value)
            case _:
                row[p.name] = value
    return row


@dataclass(frozen=True)
class RoundResult:
    """The result of one round of a case."""

    outcome: Outcome
    info: DeviceInfo  # the device that ran it
    binary: Binary
    number: int  # the round, counted from 1


def after_round(job: Job, result: RoundResult, before: Row | None, folder: RunFolder, launcher: str) -> Row:
    """Write a round's samples and return the case's new row.

    Args:
        job: The case.
        result: The result of the round.
        before: The row after the earlier rounds; `None` in the first.
        folder: The sweep's folder, for the samples.
        launcher: The launcher's name, for the column of that name.
    """
    outcome, measured = result.outcome, result.outcome.measured
    if measured is None and before and outcome.status != "not_run":
        rounds = f"correct in {result.number - 1} round{'s' * (result.number > 2)}, not in the next"
        outcome = dataclasses.replace(outcome, reason=f"{rounds}: {outcome.reason}")
    if measured is None or before is None:
        before = result_columns(job, result.info, launcher, outcome, result.binary)
    if measured is None:
        return before
    case, number = job.case, result.number
    samples = append_round(folder, folder.samples(case.id, job.number), measured.samples, number)
    hot_us = append_hot(folder, folder.hot_samples(case.id, job.number), measured.hot_us, number)
    row = {**before, **time_columns(case, result.info, measured, samples, hot_us, before)}
    return {**row, **metrics.row_values(job.metrics, case.variables, row)}


def time_columns(
    case: Case, info: DeviceInfo, latest: Round, samples: Samples, hot: NDArray[Any], earlier: Mapping[str, Any]
) -> Row:
    """The columns that a round changes.

    A time of the CPU device goes only to `emulated_us`, so that nothing ranks, charts, divides or compares it.

    Args:
        case: The case.
        info: The device that measured it.
        latest: The latest round.
        samples: The samples of all rounds.
        hot: The batches of the hot mode of all rounds, of type `samples.HOT`, in microseconds per launch.
        earlier: The row after the earlier rounds.
    """
    used = unthrottled(samples)
    s = summarize_rounds(used)
    stopped = earlier.get("stop_reason")
    taken = {
        "rounds": len(np.unique(samples["round"])),
        "samples": s.samples,
        "checked_launches": latest.checked + (earlier.get("checked_launches") or 0),
        "input_sets": latest.input_sets,
        "stop_reason": latest.stop_reason if stopped in (None, PRECISE) else stopped,
    }
    if not info.is_gpu:
        nothing = dict.fromkeys(metrics.TIME_COLUMNS)  # clears what an older version wrote in earlier rounds
        return {**taken, **nothing, "emulated_us": s.median, **({"hot_samples": len(hot)} if len(hot) else {})}
    return {
        **taken,
        "median_us": s.median,
        "ci_low_us": s.ci_low,
        "ci_high_us": s.ci_high,
        "min_us": s.min,
        "q1_us": s.q1,
        "q3_us": s.q3,
        "round_spread_percent": spread_percent(round_medians(used)),
        **_hot_columns(hot),
        **_bandwidth_columns(case, info, s.median),
        **_trust_columns(info, samples, s.median),
        **_condition_columns(latest, earlier),
    }


def occupancy_columns(case: Case, info: DeviceInfo, active_blocks: int | None) -> Row:
    """The columns of occupancy (CUDA C++ Best Practices Guide, "Occupancy").

    `active_blocks` is the number of resident blocks per SM; without it, as on the CPU device, there are no columns.
    """
    if active_blocks is None:
        return {}
    threads = math.prod(case.block)
    warps = math.ceil(threads / 32)
    in_flight = case.count("in_flight")
    most = info.details["threads_per_multiprocessor"] / 32
    at_once = active_blocks * info.details["multiprocessors"]
    needed = math.ceil(math.prod(case.grid) / info.details["multiprocessors"])  # a small grid does not fill the GPU
    return {
        "blocks_per_sm": active_blocks,
        "occupancy_percent": 100.0 * active_blocks * warps / most,
        "waves": math.prod(case.grid) / at_once if at_once else None,
        "bytes_in_flight": None if in_flight is None else in_flight * threads * min(active_blocks, needed),
    }


def _hot_columns(batches: NDArray[Any]) -> Row:
    if not len(batches):
        return {}
    s = summarize(batches["us"])
    return {"hot_samples": s.samples, "hot_median_us": s.median, "hot_ci_low_us": s.ci_low, "hot_ci_high_us": s.ci_high}


def _bandwidth_columns(case: Case, info: DeviceInfo, median_us: float) -> Row:
    transferred = (case.count("bytes_read") or 0) + (case.count("bytes_written") or 0)
    if not transferred or not median_us:
        return {}
    gbps = transferred / median_us / 1e3
    copy = info.details.get("copy_gbps")
    return {
        "gbps": gbps,
        "percent_peak": 100 * gbps / info.peak_gbps if info.peak_gbps else None,
        "percent_copy": 100 * gbps / copy if copy else None,
    }


def _trust_columns(info: DeviceInfo, samples: Samples, median_us: float) -> Row:
    queued = samples["enqueue_us"]
    waited = (queued * HOST_BOUND > info.details["flush_us"]) & (queued > HOST_BOUND_PART * median_us)
    return {
        "enqueue_us": float(np.median(samples["enqueue_us"])),
        "host_bound": bool(waited.mean() > HOST_BOUND_SHARE),
        "timer_limited": bool(median_us < TIMER_LIMITED * info.details["empty_kernel_us"]),
        "throttled": bool(unthrottled(samples)["throttled"].any()),
    }


def _condition_columns(latest: Round, earlier: Mapping[str, Any]) -> Row:
    """The columns of clocks, temperature and power: the worst of all rounds."""
    tries = latest.tries - 1 + (earlier.get("remeasured") or 0)
    now: GpuState | None = latest.conditions
    if now is None:
        return {"remeasured": tries or None}

    def worst(name: str, value: float | None) -> float | None:
        return max((n for n in (value, earlier.get(name)) if n is not None), default=None)

    reasons = dict.fromkeys([*(earlier.get("clock_reasons") or "").split(), *now.reasons])
    return {
        "remeasured": tries,
        "clock_reasons": " ".join(reasons) or None,
        "sm_mhz": min(now.sm_mhz, earlier.get("sm_mhz") or now.sm_mhz),
        "temperature_c": worst("temperature_c", now.temperature_c),
        "power_w": worst("power_w", now.power_w),
    }
