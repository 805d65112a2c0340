"""Raw samples on disk: all rounds of a case in one file, which each round replaces whole."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from runner import atomic
from runner.statistics import SAMPLE, Samples, Times

HOT = np.dtype([("round", np.int32), ("us", np.float64)])


def read(path: Path) -> Samples | None:
    """A case's samples; `None` if they are missing or malformed."""
    try:
        found: Any = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError, BadZipFile):
        return None
    if not isinstance(found, np.ndarray) or found.dtype != SAMPLE or found.ndim != 1 or not len(found):
        return None
    return found if (np.isfinite(found["us"]) & (found["us"] > 0)).all() else None


def append_round(path: Path, taken: Samples, number: int) -> Samples:
    """Add a round's samples to a case's file, in place of the same round, and return those of all rounds."""
    lines = taken.copy()
    lines["round"] = number
    return _append(path, lines, number)


def append_hot(path: Path, taken: Times, number: int) -> NDArray[Any]:
    """Likewise the batches of the hot mode, of type `HOT`. Without batches nothing is written."""
    lines = np.zeros(len(taken), HOT)
    lines["round"], lines["us"] = number, taken
    return _append(path, lines, number) if len(taken) else lines


def _append(path: Path, lines: NDArray[Any], number: int) -> NDArray[Any]:
    earlier = np.load(path) if number > 1 and path.exists() else lines[:0]
    whole = np.concatenate([earlier[earlier["round"] < number], lines])
    content = io.BytesIO()
    np.save(content, whole)
    atomic.write(path, content.getvalue())
    return whole
