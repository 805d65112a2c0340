"""Whether a time is physically possible: a kernel that is faster than the memory has not done its work."""

from __future__ import annotations

from runner.device import DeviceInfo, Role
from runner.kernel.case import Case

TOLERANCE = 1.05  # of the peak: clocks may be a little above what the driver reports
EMPTY_SHARE = 0.8  # of the time of an empty kernel
L2_BYTES_PER_CLOCK = 64  # that a multiprocessor can take from the L2 cache


def implausible(case: Case, info: DeviceInfo, median_us: float) -> str:
    """Why a time cannot be right; empty if it can be.

    After the flush, inputs come from DRAM, each element at least once; of the outputs, as much as L2 holds may stay
    there. All bytes that the YAML declares pass between L2 and the multiprocessors, at most 64 a clock for each.
    Bytes that are not declared do not count.
    """
    peak = info.peak_gbps
    if info.emulated or not peak:
        return ""
    empty = info.details.get("empty_kernel_us")
    if empty and median_us < EMPTY_SHARE * empty:
        return f"{median_us:.2f} us is less than an empty kernel takes ({empty:.2f} us)"
    read, written = case.count("bytes_read") or 0, case.count("bytes_written") or 0
    sizes = {role: sum(a.nbytes for a in case.arrays() if a.role in (role, Role.INOUT)) for role in (Role.IN, Role.OUT)}
    from_dram = min(read, sizes[Role.IN]) + max(0, min(written, sizes[Role.OUT]) - info.l2_bytes)
    limits = [("the DRAM", from_dram, peak)]
    per_us = info.details.get("clock_mhz", 0) * info.details.get("multiprocessors", 0)  # clocks, of all of them
    if per_us:
        limits.append(("the L2 cache", read + written, per_us * L2_BYTES_PER_CLOCK / 1e3))
    for what, count, gbps in limits:
        if count > TOLERANCE * gbps * 1e3 * median_us:
            return (
                f"{count} bytes in {median_us:.2f} us are {count / median_us / 1e3:.0f} GB/s, more than {what} can "
                f"give ({gbps:.0f} GB/s): the kernel does not move what its YAML declares under 'bytes'"
            )
    return ""
