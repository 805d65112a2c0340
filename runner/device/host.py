"""The processor of this machine."""

from __future__ import annotations

import platform
from pathlib import Path


def host_cpu() -> str:
    """The processor's model, as Linux reports it; elsewhere what Python knows."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
