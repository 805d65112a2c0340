"""Array operations in chunks that fit into a cache, on several threads: NumPy releases the GIL in each of them."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

PIECE = 1 << 16  # elements, half a MiB in double precision; with smaller ones the threads contend for the GIL
THREADS = min(4, len(os.sched_getaffinity(0)))  # more contend for it, too


def in_pieces(function: Callable[[slice], T], count: int) -> list[T]:
    """Call a function for each chunk of `count` elements, perhaps in other threads; the results are in order."""
    pieces = [slice(first, min(first + PIECE, count)) for first in range(0, count, PIECE)]
    if len(pieces) < 2 * THREADS:  # too few to gain from threads
        return [function(piece) for piece in pieces]
    return list(_threads().map(function, pieces))


@functools.cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, "pieces")


os.register_at_fork(after_in_child=_threads.cache_clear)  # a forked process has no threads
