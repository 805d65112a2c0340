"""Copies of an array: no kernel that reads and writes the same bytes can be faster."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from our_kernels import case_of, ours
from side_by_side import Contender, tried
from tables import same_task

OUR_COPY, DRIVER_COPY = "copyVector", "driver's copy"


def copies(device: Any, compiler: Any, source: Any, target: Any) -> list[Contender]:
    """Our quickest copy and the driver's, of one tensor into another."""
    dtype = str(source.dtype).removeprefix("torch.")
    case = case_of("copyVector", {"block": 128, "dtype": dtype, "size": source.numel()})

    def wrong() -> str:
        return "" if bool((source.ravel() == target.ravel()).all()) else "the copy differs"

    return [
        tried(OUR_COPY, partial(ours, device, compiler, case, {"in": source, "out": target}, wrong, OUR_COPY)),
        tried(DRIVER_COPY, lambda: _by_driver(device, source, target, wrong)),
    ]


def _by_driver(device: Any, source: Any, target: Any, wrong: Any) -> Contender:
    from pycuda import driver  # noqa: PLC0415  (only where there is a GPU)

    queue = partial(driver.memcpy_dtod_async, target.data_ptr(), source.data_ptr(), source.nbytes, device.stream)
    return Contender(DRIVER_COPY, "cuMemcpyDtoDAsync", queue, wrong, target, (source, target))


def against_copy(frame: pd.DataFrame, by: tuple[str, ...], peak_gbps: float | None) -> pd.DataFrame:
    """The rows, with their bandwidth, and the time of the quicker copy at the same task in percent of theirs."""
    gbps = frame["bytes"] / frame["median_us"] / 1e3
    both = pd.concat([same_task(frame, by, OUR_COPY), same_task(frame, by, DRIVER_COPY)], axis=1)
    percent = both.min(axis=1) / frame["median_us"] * 100
    return frame.assign(percent_copy=percent, gbps=gbps, percent_peak=gbps / (peak_gbps or np.nan) * 100)
