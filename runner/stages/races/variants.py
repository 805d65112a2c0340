"""Group cases into variants, which share a compiled kernel, and find a small case of each.

The cases of a variant differ in the size and the arrays' contents only. A small case has few blocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from runner.errors import UsageError
from runner.jobs.job import Job
from runner.jobs.settings import SHARE
from runner.kernel.case import Case
from runner.kernel.declaration import pair, value_text
from runner.kernel.resolve import make
from runner.kernel.sizes import other_sizes
from runner.kernel.yaml_keys import PARTS
from runner.stages.checked.builds import host_source

Row = dict[str, Any]

APART = ("size", "rows", "cols", "seed", "fill", "cache", "compile_options")
"""Parameters that may differ within a variant: the host's build and the order of accesses do not depend on them."""

INTERRUPTED = "interrupted"
NO_TIME = f"no time was left ({SHARE:.0%} of the sweep's time)".replace("%", " %")
NOT_READY = "the checked device's library is not compiled yet"
POSTPONED = (INTERRUPTED, NO_TIME, NOT_READY)  # values of `races_skipped` for variants that can still be checked
OWN_SIZE = "its own size"  # a value of `races_at`
RACE_FOUND = "checked CPU device"  # part of the reason of a row with a race or another finding

MIN_BLOCKS = 3  # of a small case: races between blocks need two, and the last block is often special
MIN_FULL_BLOCKS = 2  # of a small case, in which each thread has an element
SMALL_ELEMENTS = 1 << 12  # a case of at most this many elements is launched at its own size, too
MAX_THREADS = 1 << 20  # in all blocks of a launch, which then takes about a second
MAX_BYTES = 64 << 20  # of all arrays
SIZES = [size for n in range(5, 18) for size in (2**n + 2 ** (n - 2) + 1, 2**n + 1, 2**n)]
"""The sizes that are tried. At the first of each three, blocks of 2**(n - 1) elements have a remainder of half and one:
several warps, of which the last is not full.
"""
SHAPES = ((45, 83), (77, 147), (64, 64), (64, 128), (141, 293), (128, 256), (256, 512), (512, 512), (45, 1061))
"""Rows and columns. The odd ones leave a remainder of several rows and columns beside tiles of 8, 16, 32 or 64."""


@dataclass(frozen=True, eq=False)
class Variant:
    """The cases of a variant with their rows, the smallest first."""

    cases: Sequence[tuple[Job, Row]]

    @property
    def job(self) -> Job:
        """The job of the smallest case, from which the small case is made."""
        return self.cases[0][0]

    @property
    def wrong(self) -> bool:
        """Whether a row is wrong."""
        return any(row["status"] != "ok" for _, row in self.cases)


def variants(cases: Iterable[tuple[Job, Row]]) -> list[Variant]:
    """Group a sweep's cases into variants, in the order of their first cases."""
    groups: dict[tuple[object, ...], list[tuple[Job, Row]]] = {}
    for job, row in cases:
        kernel = job.case.kernel
        own = tuple((n, v) for n, v in job.case.parameters if n not in APART and n not in kernel.sizes)
        groups.setdefault((kernel.name, own, job.copy, host_source(job.case)), []).append((job, row))
    return [Variant(sorted(group, key=lambda case: case[0].case.problem_size)) for group in groups.values()]


def in_order(unordered: Sequence[Variant]) -> tuple[list[Variant], list[Variant]]:
    """Order variants for checking.

    Returns:
        One variant of each kernel, and the remaining variants. Variants with wrong rows come first, because they need a
        reason most; then the variant that is fastest at the largest size. Of others the one with the most threads in a
        block, as a race between warps needs several.
    """

    def rank(variant: Variant) -> tuple[bool, int, float, int]:
        job, row = variant.cases[-1]
        time = 0.0 if variant.wrong else float(row.get("median_us") or 0.0)
        return not variant.wrong, -job.case.problem_size, time, -math.prod(job.case.block)

    first: dict[str, Variant] = {}
    for variant in sorted(unordered, key=rank):
        first.setdefault(variant.job.case.kernel.name, variant)
    chosen = set(first.values())
    return list(first.values()), sorted((v for v in unordered if v not in chosen), key=lambda v: not v.wrong)


def small_cases(case: Case) -> list[Case] | str:
    """Find small cases of the same variant, each to be looked at if the ones before it have no finding.

    Returns:
        The case itself if it is small or no other size is allowed. Then, unless its number of elements is odd, the
        smallest case with enough blocks, with an odd number if the constraints allow it. Or the reason why every size
        is too large for the checked device.
    """
    reason = _too_large(case)
    own = [case] if _elements(case) <= SMALL_ELEMENTS and not reason else []
    if own and _elements(case) % 2:
        return own
    allowed: list[Case] = []
    for sizes in (_at_sizes, _at_checked_sizes):  # each gives the smallest first
        for other in sizes(case):
            if _elements(other) <= _elements(case) and not _too_large(other):
                if _is_full(other):
                    return [*own, other] if _elements(other) % 2 or not own else own
                allowed.append(other)
    if own or not reason:
        return [case]
    if allowed:  # such as a kernel of one block
        return [max(allowed, key=lambda other: (math.prod(other.grid), _elements(other)))]
    return f"{case.label}: {reason}, and no smaller size compiles to the same kernel"


def _is_full(case: Case) -> bool:
    """Whether there are blocks enough, and in some of them each thread has an element.

    With a block for each row, a row of fewer elements than threads would leave warps idle that may race.
    """
    blocks, threads = math.prod(case.grid), math.prod(case.block)
    rows, cols = (case.variables.get(name) for name in PARTS)
    if isinstance(cols, int) and blocks == rows and cols < threads:
        return False
    return blocks >= MIN_BLOCKS and _elements(case) > MIN_FULL_BLOCKS * threads


def format_changed_parameters(case: Case, other: Case) -> str:
    """Format the parameters in which another case of the variant differs, such as `size=2049`; empty if none does."""
    kinds = {p.name: p.kind for p in case.kernel.parameters}
    own = dict(case.parameters)
    return " ".join(f"{n}={value_text(kinds[n], v)}" for n, v in other.parameters if own[n] != v)


def _at_sizes(case: Case) -> Iterator[Case]:
    """The case at sizes of `SIZES` or `SHAPES` that its constraints allow and that compile to the same kernel."""
    values, source = case.independent, host_source(case)
    if len(case.kernel.sizes) != 1 or (name := case.kernel.sizes[0]) not in values:
        return
    sizes: list[int | str] = [*SIZES]
    if isinstance(size := values[name], str) and "x" in size:
        rows, cols = pair(size)
        sizes = [f"{r}x{c}" for r, c in SHAPES if r <= rows and c <= cols]
    for size in sizes:
        try:
            other = make(case.kernel, {**values, name: size}, case.seed)
        except UsageError:  # an expression is undefined at this size
            continue
        if not other.excluded and not other.hazard and host_source(other) == source:
            yield other


def _at_checked_sizes(case: Case) -> list[Case]:
    """The sizes at which values are checked; they also respect constraints between several parameters."""
    return sorted(other_sizes(case, math.inf).cases, key=_elements)


def _too_large(case: Case) -> str:
    """Why a case is too large for the checked device; empty if it is not."""
    threads = sum(math.prod(launch.grid) * math.prod(launch.block) for launch in case.launches)
    if threads > MAX_THREADS:
        return f"{threads:,} threads are too many for the checked CPU device"
    return f"its arrays need {case.nbytes >> 20:,} MiB" if case.nbytes > MAX_BYTES else ""


def _elements(case: Case) -> int:
    """Number of elements of the case's largest array."""
    return max((math.prod(array.shape) for array in case.arrays()), default=0)
