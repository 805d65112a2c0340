"""The noise of a device: how much times of unchanged code differ. `runner.calibrate` measures it.

Each device has a file in `$XDG_STATE_HOME/kernel-runner/noise` (default ~/.local/state/...). A sweep copies its content
into environment.json, so that a report needs only its folder.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from runner.device import DeviceInfo
from runner.errors import UsageError
from runner.files import atomic
from runner.record.folder import slug
from runner.statistics import ASSUMED, Noise, Spread, Times, pooled, spread_of

MAX_PERCENT = 100.0  # a larger value is taken for an error
MAX_TICK_US = 1e5  # a larger value is taken for an error: clocks of operating systems are finer

Points = tuple[tuple[float, float], ...]
"""Standard deviations in percent, each with the median time at which it was measured, in microseconds."""


@dataclass(frozen=True)
class DeviceNoise:
    """The known noise of a device, by median time. Points are empty if they were not measured."""

    alike: Points = ()  # between the medians of identical cases of one sweep
    processes: Points = ()
    tick_us: float = 0.0  # resolution of the timer
    spread: Spread | None = None  # between the rounds of one sweep

    def at(self, median_us: float) -> Noise:
        """The noise of a case with this median: that of the point with the nearest median."""
        alike, process = _nearest(self.alike, median_us), _nearest(self.processes, median_us)
        return Noise(process, ASSUMED if alike is None else alike, self.spread, self.tick_us)


def read_device_noise(device: Mapping[str, Any]) -> DeviceNoise:
    """Read a device's noise from its section of environment.json. Malformed values count as missing."""
    noise, tick = device.get("noise"), device.get("event_tick_us")
    points = noise.get("points") if isinstance(noise, dict) else None
    return DeviceNoise(
        alike=_points(points, "alike_percent"),
        processes=_points(points, "round_percent"),
        tick_us=float(tick) if isinstance(tick, int | float) and 0 <= tick <= MAX_TICK_US else 0.0,
    )


def deviations_percent(cases: Sequence[Times]) -> dict[str, float]:
    """The standard deviations of identical cases: `alike_percent` between them, `round_percent` between their rounds.

    `cases` are the medians of the rounds of each case in microseconds, shape (rounds,).
    """
    spreads = {
        "alike_percent": spread_of([case.mean() for case in cases]),
        "round_percent": pooled(map(spread_of, cases)),
    }
    return {name: 100.0 * spread.deviation if spread else 0.0 for name, spread in spreads.items()}


def path_of(device: str) -> Path:
    """The file for the noise of the device of this name."""
    return platformdirs.user_state_path("kernel-runner") / "noise" / f"{slug(device).lower()}.json"


def make_folder() -> None:
    """Create the folder of these files; `UsageError` if that fails."""
    folder = path_of("any").parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise UsageError(f"{folder}: cannot make this folder for the calibration: {e.strerror}") from None


def store(device: str, content: dict[str, Any]) -> Path:
    """Store the noise of a device for later sweeps, and return the file."""
    atomic.write_text(path_of(device), json.dumps({"device": device, **content}, indent=2) + "\n")
    return path_of(device)


def stored(info: DeviceInfo) -> dict[str, Any] | None:
    """The stored noise of a device; `None` if it was not measured."""
    try:
        content = json.loads(path_of(info.name).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) and content.get("device") == info.name else None


def _points(entries: Any, name: str) -> Points:
    try:
        points = tuple((float(p["median_us"]), float(p[name])) for p in entries)
    except (TypeError, KeyError, ValueError, OverflowError):
        return ()
    return tuple(p for p in points if 0 < p[0] < math.inf and 0 <= p[1] <= MAX_PERCENT)


def _nearest(points: Iterable[tuple[float, float]], median_us: float) -> float | None:
    """The standard deviation at the nearest time, as a fraction."""
    nearest = min(points, key=lambda point: abs(math.log(point[0] / median_us)), default=None)
    return None if nearest is None else nearest[1] / 100.0
