"""Sources that need no compiler: Python functions, PTX and machine code."""

from __future__ import annotations

import time

from runner.device import Binary, Source, cache


def uncompiled(source: Source) -> Binary:
    """The source's own file as its binary."""
    started = time.perf_counter()
    return Binary(source.path, cache.digest(source.path), time.perf_counter() - started, cached=True)
