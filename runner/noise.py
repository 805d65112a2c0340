"""How much the times of a device differ though nothing was changed: measured by `runner.calibrate`, kept for sweeps.

Kept a file a device in `$XDG_STATE_HOME/kernel-runner/noise` (or ~/.local/state/...), and copied into each sweep's
environment.json, so that a report needs nothing but its folder.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.device import DeviceInfo
from runner.errors import UsageError
from runner.folder import named, read_json, write_json

Times = NDArray[np.float64]

MOST_BYTES = 100_000  # of a file: more is none of ours


def measured(groups: Iterable[Sequence[Times]]) -> dict[str, float]:
    """The noise, from cases that are the same.

    Args:
        groups: Of each group the cases, each by the medians of its rounds: microseconds, shape (rounds,).

    Returns:
        `alike_percent`: standard deviation of a case's whole median among those that are the same; `round_percent`: of
        a round's median among the rounds of one case. Both in percent, pooled over all groups.
    """
    whole: list[Times] = []
    rounds: list[Times] = []
    for cases in groups:
        logs = [np.log(c) for c in cases]
        whole.append(np.log([c.mean() for c in cases]))
        rounds += logs
    return {"alike_percent": _pooled(whole), "round_percent": _pooled(rounds)}


def _pooled(samples: Iterable[Times]) -> float:
    """Standard deviation within the samples, in percent, each about its own mean."""
    kept = [s for s in samples if len(s) > 1]
    freedom = sum(len(s) - 1 for s in kept)
    return 100.0 * math.sqrt(sum(float(((s - s.mean()) ** 2).sum()) for s in kept) / freedom) if freedom else 0.0


def place(info_name: str) -> Path:
    """The file of the device of that name."""
    given = Path(os.environ.get("XDG_STATE_HOME", ""))
    base = given if given.is_absolute() else Path.home() / ".local" / "state"  # as the XDG specification says
    return base / "kernel-runner" / "noise" / f"{named(info_name).lower()}.json"


def make_room() -> None:
    """Make the folder in which noise is kept.

    Raises:
        UsageError: if it cannot be.
    """
    folder = place("any").parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise UsageError(f"{folder}: the noise cannot be kept there: {e.strerror}") from None


def keep(name: str, found: dict[str, Any]) -> Path:
    """Keep the noise of the device of that name for all sweeps to come; where it is kept."""
    write_json(place(name), {"device": name, **found})
    return place(name)


def known(info: DeviceInfo) -> dict[str, Any] | None:
    """What was measured on a device of that name; `None` if nothing was."""
    path = place(info.name)
    try:
        found = read_json(path) if path.is_file() and path.stat().st_size <= MOST_BYTES else None
    except (OSError, RecursionError):
        return None
    return found if isinstance(found, dict) and found.get("device") == info.name else None
