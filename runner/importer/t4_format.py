"""T4, the open format for results of autotuning: https://github.com/odgaard/TuningSchema, written by Kernel Tuner.

A T4 file has one entry per combination of parameters: its configuration, the time of each launch, and whether it was
valid. Times are in milliseconds.
"""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from runner.errors import UsageError
from runner.files import limited
from runner.statistics import Times

MAX_BYTES = 128 * 2**20  # of a file, unpacked
US = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}
STATUS = {
    "correct": "ok", "compile": "compile_error", "runtime": "launch_error", "timeout": "timeout",
    "correctness": "mismatch", "constraints": "skipped",
}  # fmt: skip
NONE = "None"  # the value of a parameter that the kernel lacks
_WRONG = ("mismatch", "hazard", "implausible", "unproven")  # statuses of incorrect or doubtful results
_INVALIDITY = {status: word for word, status in STATUS.items()} | dict.fromkeys(_WRONG, "correctness")


@dataclass(frozen=True)
class Result:
    """The result of one combination of parameters."""

    configuration: Mapping[str, Any]
    status: str  # as in results.csv
    times_us: Times  # us, shape (launches,), in order; empty if they were not recorded
    time_us: float | None  # us; the median of `times_us`, else the objective in the file; `None` if not correct


def read(path: Path) -> tuple[list[Result], Mapping[str, Any]]:
    """Read a T4 file, optionally compressed by gzip. Times in an unknown unit are taken as milliseconds.

    Returns:
        The results and the metadata.

    Raises:
        UsageError: The file is unreadable, too large, or not T4. The message names the entry.
    """
    try:
        with path.open("rb") as file:
            packed = file.read(MAX_BYTES)
        content = limited.load_json(_unpacked(packed).decode())
    except OSError as e:
        raise UsageError(f"{path}: {e.strerror or e}") from None
    except (ValueError, EOFError, zlib.error) as e:
        raise UsageError(f"{path}: not a T4 file: {e}") from None
    entries = content.get("results") if isinstance(content, dict) else None
    if not isinstance(entries, list) or not entries:
        raise UsageError(f"{path}: not a T4 file: it has no 'results'")
    if len(entries) > limited.MAX_ROWS:
        raise UsageError(f"{path}: {len(entries):,} results; at most {limited.MAX_ROWS:,} are read")
    metadata = content.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    scale = US.get(str(metadata.get("timeunit")), US["ms"])  # some tuners write "miliseconds"
    results = []
    for number, entry in enumerate(entries):
        try:
            results.append(_result(entry, scale))
        except (KeyError, TypeError, ValueError, AttributeError) as e:
            why = f"it lacks {e}" if isinstance(e, KeyError) else e
            raise UsageError(f"{path}: results[{number}] is not a T4 entry: {why}") from None
    names = tuple(results[0].configuration)
    if (other := next((n for n, r in enumerate(results) if tuple(r.configuration) != names), None)) is not None:
        raise UsageError(f"{path}: results[{other}] must have the same parameters as results[0], in the same order")
    return results, metadata


def _unpacked(packed: bytes) -> bytes:
    if not packed.startswith(b"\x1f\x8b"):
        return packed
    unpacker = zlib.decompressobj(wbits=31)
    plain = unpacker.decompress(packed, MAX_BYTES)
    if unpacker.unconsumed_tail:
        raise limited.TooMuch(f"has more than {MAX_BYTES:,} bytes")
    if not unpacker.eof:
        raise EOFError("its compressed content is cut off")
    return plain


def _result(entry: Mapping[str, Any], scale: float) -> Result:
    if (word := entry["invalidity"]) not in list(STATUS):
        raise ValueError(f"invalidity {word!r} is not one of {', '.join(STATUS)}")
    status = STATUS[word]
    configuration = dict(entry["configuration"])
    if wrong := [name for name, value in configuration.items() if not isinstance(value, str | int | float)]:
        raise TypeError(f"configuration: expected a number or a text as the value of '{wrong[0]}'")
    runtimes = np.array(entry.get("times", {}).get("runtimes") or [], np.float64) * scale
    if runtimes.ndim != 1 or not (np.isfinite(runtimes) & (runtimes > 0)).all():
        raise ValueError("times: runtimes: expected a list of numbers above 0")
    objective = (entry.get("objectives") or ["time"])[0]
    time_us = None
    for measurement in entry.get("measurements") or []:
        if measurement["name"] == objective and isinstance(measurement["value"], int | float):
            time_us = float(measurement["value"]) * US.get(measurement.get("unit", ""), scale)
    if len(runtimes):
        time_us = float(np.median(runtimes))
    if status == "ok" and not (time_us and math.isfinite(time_us) and time_us > 0):
        raise ValueError("a correct result must have a time above 0")
    return Result(configuration, status, runtimes, time_us if status == "ok" else None)


def as_text(results: Iterable[Result], metadata: Mapping[str, Any]) -> str:
    """Format results and metadata as the text of a T4 file."""
    entries = []
    for r in results:
        time = [] if r.time_us is None else [{"name": "time", "value": r.time_us / US["ms"], "unit": "ms"}]
        entries.append({
            "configuration": dict(r.configuration),
            "times": {"runtimes": [us / US["ms"] for us in r.times_us.tolist()]},
            "invalidity": _INVALIDITY.get(r.status, "runtime"),
            "correctness": float(r.status not in _WRONG),
            "measurements": time,
            "objectives": ["time"],
        })  # fmt: skip
    return json.dumps({"schema_version": "1.0.0", "metadata": dict(metadata), "results": entries}, indent=1) + "\n"


def write(path: Path, text: str) -> None:
    """Write a new file, compressed if its name ends in .gz.

    Raises:
        UsageError: The file exists or cannot be written.
    """
    content = text.encode()
    try:
        with path.open("xb") as file:
            file.write(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    except FileExistsError:
        raise UsageError(f"{path}: already exists; it is not overwritten") from None
    except OSError as e:
        raise UsageError(f"{path}: {e.strerror or e}") from None
