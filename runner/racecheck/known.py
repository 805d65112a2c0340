"""The cache of what was found: a small case that was launched before, by the same code, is not launched again."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from runner import __version__, atomic
from runner.device import Binary, cache
from runner.device.kinds import CHECKED
from runner.kernel.case import Case
from runner.settings import DeviceConfig
from runner.sweep.checked_builds import tools


def read(case: Case, binary: Binary, config: DeviceConfig) -> dict[str, Any] | None:
    """What `launched` found in the case before; `None` if that is not known."""
    try:
        found = json.loads(_file(case, binary, config).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("findings"), list) else None


def keep(case: Case, binary: Binary, config: DeviceConfig, found: dict[str, Any]) -> None:
    """Note what was found. On a full disk the next run launches again; so it does after a launch that took too long."""
    if not found["late"]:
        with suppress(OSError):
            atomic.write_text(_file(case, binary, config), json.dumps(found))


def _file(case: Case, binary: Binary, config: DeviceConfig) -> Path:
    """Its name depends on all that the findings depend on."""
    launch = repr(case.launches), repr(case.arrays()), str(case.seed)
    known = __version__, *tools(os.environ.get("CXX", "")), str(config.schedules)
    return cache.default_folder(CHECKED) / "races" / f"{cache.key(binary.digest, *launch, *known)}.json"
