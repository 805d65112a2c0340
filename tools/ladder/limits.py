"""How fast a case can be at most, by what the same sweep measured: an empty kernel and the best reading, or a copy."""

from __future__ import annotations

from dataclasses import dataclass

from ladder.steps import Ladder, Row, Sweep, best, size_of


@dataclass(frozen=True)
class Limit:
    """The shortest time, and in words where it comes from."""

    us: float
    words: str


def limit(ladder: Ladder, sweep: Sweep, size: str) -> Limit:
    """The limit of all kernels of a ladder at one size.

    Raises:
        ValueError: if no case of the sweep was right.
    """
    moved = next((m for r in sweep.rows if size_of(r) == size and (m := _moved(r))), 0.0)
    if ladder.copies:
        return _copied(sweep, size, moved, ladder.copies[-1])
    empty = float(sweep.device["empty_kernel_us"])
    gbps = reading(sweep)
    return Limit(
        empty + moved / gbps / 1e3,
        f"{empty:.2f} us, which an empty kernel takes, and {moved:,.0f} bytes at {gbps:,.0f} GB/s",
    )


def reading(sweep: Sweep) -> float:
    """The best bandwidth at the largest size, without the time of an empty kernel: GB/s.

    Raises:
        ValueError: if no case of the sweep was right.
    """
    right = [r for r in sweep.rows if r["status"] == "ok" and r["median_us"]]
    if not right:
        raise ValueError(f"{sweep.name}.csv: no case is right")
    largest = max(r["size"] for r in right)
    empty = float(sweep.device["empty_kernel_us"])
    return max(_moved(r) / (r["median_us"] - empty) / 1e3 for r in right if r["size"] == largest)


def _copied(sweep: Sweep, size: str, moved: float, name: str) -> Limit:
    gbps = float(sweep.device["copy_gbps"])
    copies = [Limit(moved / gbps / 1e3, f"{moved:,.0f} bytes at the {gbps:,.0f} GB/s of a device-to-device copy")]
    if row := best(sweep, name, size):
        copies.append(Limit(row["median_us"], f"what `{name}` takes at its best"))
    return min(copies, key=lambda copy: copy.us)


def _moved(row: Row) -> float:
    return float(row["bytes_read"] or 0) + float(row["bytes_written"] or 0)
