"""Raw samples on disk: all rounds of a case in one file, which each round rewrites."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import dtype_to_descr
from numpy.typing import NDArray

from runner.record.folder import RunFolder
from runner.statistics import SAMPLE, Samples, Times, round_medians, unthrottled

MAX_BYTES = 128 * 2**20
_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': (?P<type>.+?), 'fortran_order': False, 'shape': \((?P<lines>\d{1,12}),\), \} *\n",
    re.DOTALL,
)
"""The header that `numpy.save` writes. The size of the file must match its shape."""

HOT = np.dtype([("round", np.int32), ("us", np.float64)])


def read(folder: RunFolder, path: Path) -> Samples | None:
    """A case's samples, shape (samples,), of type `SAMPLE`; `None` if they are missing or malformed."""
    samples = _load(folder, path, SAMPLE)
    if samples is None or not len(samples):
        return None
    return samples if (np.isfinite(samples["us"]) & (samples["us"] > 0)).all() else None


def medians_us(folder: RunFolder, path: Path) -> list[float]:
    """The median of each round in microseconds, without throttled samples; empty if the samples are missing."""
    samples = read(folder, path)
    return [] if samples is None else [float(us) for us in round_medians(unthrottled(samples))]


def append_round(folder: RunFolder, path: Path, taken: Samples, number: int) -> Samples:
    """Add a round's samples to a case's file, replacing the same round and later ones.

    `taken` has shape (samples,) and type `SAMPLE`; rounds are counted from 1. Returns the samples of all rounds.
    """
    lines = taken.copy()
    lines["round"] = number
    return _append(folder, path, lines, number)


def append_hot(folder: RunFolder, path: Path, taken: Times, number: int) -> NDArray[Any]:
    """As `append_round`, for hot batches: microseconds per launch, shape (batches,). Returns them as type `HOT`.

    Without batches no file is written.
    """
    lines = np.zeros(len(taken), HOT)
    lines["round"], lines["us"] = number, taken
    return _append(folder, path, lines, number) if len(taken) else lines


def rounds(folder: RunFolder, path: Path) -> set[int]:
    """The rounds in a file of samples or hot batches; empty if it is missing or malformed."""
    lines = _load(folder, path, SAMPLE, HOT)
    return set() if lines is None else set(lines["round"].tolist())


def _load(folder: RunFolder, path: Path, *types: np.dtype[Any]) -> NDArray[Any] | None:
    """The lines of a file of one of these types; `None` if it is missing or malformed."""
    try:
        content = folder.read(path, MAX_BYTES)
    except OSError:
        return None
    header = _HEADER.match(content)
    dtype = next((t for t in types if header and repr(dtype_to_descr(t)).encode() == header["type"]), None)
    if not header or not dtype or len(content) != header.end() + int(header["lines"]) * dtype.itemsize:
        return None
    return np.frombuffer(content, dtype, offset=header.end()) if int(header["lines"]) else np.zeros(0, dtype)


def _append(folder: RunFolder, path: Path, lines: NDArray[Any], number: int) -> NDArray[Any]:
    earlier = _load(folder, path, lines.dtype) if number > 1 else None
    earlier = lines[:0] if earlier is None else earlier
    lines = np.concatenate([earlier[earlier["round"] < number], lines])
    content = io.BytesIO()
    np.save(content, lines)
    folder.write(path, content.getvalue())
    return lines
