"""Of what kind an entry of environment.json is: whether, if it differs, it may be the cause of another time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from runner.report.folder import flat, section

KINDS = ("kernel source", "parameters", "device", "driver", "toolkit", "method", "clocks", "runner", "command", "other")
TELLING = ("device", "driver", "toolkit", "method")
"""Differences that a reader must know before the times."""

# What of environment.json is of which kind; the first that matches. None: no cause.
RULES: tuple[tuple[str, str | None], ...] = (
    (r"(started_utc|resumed_utc|host|directory|planned_at_once)$", None),
    (r"devices\.[^.]*\.(noise|asked\.timing)\b", None),
    (r"devices\.[^.]*\.asked\.(kind|index|threads|compiler)$", None),
    (r"devices\.[^.]*\.(copy_gbps|empty_kernel_us|event_pair_us|event_tick_us|flush_us)$", "clocks"),
    (r"devices\.[^.]*\.(clock_mhz|memory_clock_mhz)$", "device"),
    (r"devices\.[^.]*\.versions\.(nvidia_driver|cuda_driver)$", "driver"),
    (r"devices\.[^.]*\.(versions|toolchain|asked\.nvcc_options)\b", "toolkit"),
    (r"devices\.[^.]*\.(timing|asked)\b", "method"),
    (r"devices\.", "device"),
    (r"(runner|git|python|packages)\b", "runner"),
    (r"command$", "command"),
    (r"(cpu|system)$", "device"),
)


def kind_of(name: str) -> str | None:
    """The kind of an entry, by its name with dots; `None` if it is no cause."""
    return next((kind for pattern, kind in RULES if re.match(pattern, name)), "other")


def surroundings(environment: Mapping[str, Any], device: str) -> dict[str, str]:
    """All that a time on one kind of device depends on beside the kernel, as far as it is known.

    Empty where nothing is known of the device.
    """
    known = section(section(dict(environment), "devices"), device)
    if not known:
        return {}
    without = {**environment, "devices": {device: known}}
    return {name: value for name, value in flat(without) if kind_of(name) in TELLING or name == "host"}
