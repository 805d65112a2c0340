"""How fast a case can be at most: an empty kernel and the best reading, or a copy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ladder.files import rows
from ladder.steps import Ladder, Sweep, best, size_of

EMPTY = "empty kernel"  # as benchmarks/sums.py calls it; that module needs packages that this page does not


@dataclass(frozen=True)
class Limit:
    """The shortest time, and in words where it comes from."""

    us: float
    words: str


def limit(ladder: Ladder, sweep: Sweep, size: str, read_gbps: float) -> Limit:
    """The limit of all kernels of a ladder at one size.

    Args:
        ladder: With copies, these are the limit; without, it is reading alone.
        sweep: Where the kernels were measured.
        size: As `size_of` writes it.
        read_gbps: The best bandwidth of merely reading.
    """
    of_size = [row for row in sweep.rows if size_of(row) == size]
    if ladder.copies:
        return _copied(ladder, sweep, size)
    empty, read = float(sweep.device["empty_kernel_us"]), max(float(row["bytes_read"] or 0) for row in of_size)
    return Limit(
        empty + read / read_gbps / 1e3,
        f"{empty:.2f} us, which an empty kernel takes, and {read:,.0f} bytes read at {read_gbps:,.0f} GB/s",
    )


def reading(path: Path) -> float:
    """The best bandwidth of merely reading, as benchmarks/reduction.py measured it: GB/s.

    Raises:
        ValueError: if the file is missing or torn, or does not say; one sentence.
    """
    told = [r["read_gbps"] for r in rows(path, ("contender", "read_gbps"), ("read_gbps",)) if r["contender"] == EMPTY]
    if not any(told):
        raise ValueError(f"{path.name}: no line of the contender '{EMPTY}' has a read_gbps above 0")
    return max(filter(None, told))


def _copied(ladder: Ladder, sweep: Sweep, size: str) -> Limit:
    copies = [(row["median_us"], name) for name in ladder.copies if (row := best(sweep, name, size))]
    if not copies:
        raise ValueError(f"{sweep.name}.csv: no copy of {size} is ok, and a copy is the limit")
    us, name = min(copies)
    return Limit(us, f"what `{name}` takes at its best")
