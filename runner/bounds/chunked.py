"""Array work in pieces that fit into a cache, on several threads: NumPy lets go of the interpreter in each piece."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

PIECE = 1 << 16  # elements: half a MiB in double precision; threads with smaller ones wait for the interpreter
THREADS = min(4, len(os.sched_getaffinity(0)))  # more wait for it, too


def in_pieces(function: Callable[[slice], T], count: int) -> list[T]:
    """The results of a function for each piece of `count` elements, in order. It may be called in other threads."""
    pieces = [slice(first, min(first + PIECE, count)) for first in range(0, count, PIECE)]
    if len(pieces) < 2 * THREADS:  # not worth the threads
        return [function(piece) for piece in pieces]
    return list(_threads().map(function, pieces))


@functools.cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, "pieces")


os.register_at_fork(after_in_child=_threads.cache_clear)  # a forked process has no threads
