"""Find a small case of a variant: few blocks, an odd remainder, and the same compiled kernel."""

from __future__ import annotations

import math
from collections.abc import Iterator

from runner.errors import UsageError
from runner.kernel.case import Case
from runner.kernel.declaration import pair, written
from runner.kernel.resolve import make
from runner.kernel.sizes import others
from runner.stages.checked.builds import host_source

BLOCKS = 3  # least blocks of a small case: races between blocks need two, and the last block is often special
FILLED = 2  # least blocks of a small case in which each thread has an element
FEW = 1 << 12  # a case of at most this many elements is launched at its own size
MOST_THREADS = 1 << 20  # in all blocks of a launch, which then takes about a second
MOST_BYTES = 64 << 20  # of all arrays
EXPONENTS = range(5, 18)  # the sizes that are tried are 2**n + 1 and 2**n
TALL = ((33, 65), (65, 129), (64, 64), (64, 128), (129, 257), (128, 256), (256, 512), (512, 512))


def small_case(case: Case) -> Case | str:
    """Find a small case of the same variant.

    Returns:
        The smallest case with enough blocks; the case itself if it is small or no other size is allowed; or the reason
        why every size is too large for the checked device.
    """
    if _elements(case) <= FEW and not _too_large(case):
        return case
    allowed: list[Case] = []
    for sizes in (_at_sizes, _of_the_check):  # each gives the smallest first
        for other in sizes(case):
            if _elements(other) <= _elements(case) and not _too_large(other):
                if _is_enough(other):
                    return other
                allowed.append(other)
    if not (reason := _too_large(case)):
        return case
    if allowed:  # such as a kernel of one block
        return max(allowed, key=lambda other: (math.prod(other.grid), _elements(other)))
    return f"{case.label}: {reason}, and no smaller size compiles to the same kernel"


def words(case: Case, other: Case) -> str:
    """Format the parameters in which another case of the variant differs, such as `size=2049`; empty if none does."""
    kinds = {p.name: p.kind for p in case.kernel.parameters}
    own = dict(case.parameters)
    return " ".join(f"{n}={written(kinds[n], v)}" for n, v in other.parameters if own[n] != v)


def _at_sizes(case: Case) -> Iterator[Case]:
    """Yield the case at the sizes of `EXPONENTS` or `TALL` that its constraints allow and that compile to the same."""
    declared = case.kernel.sizes
    if len(declared) != 1:
        return
    own, source, values = dict(case.parameters)[declared[0]], host_source(case), dict(case.parameters)
    sizes: list[int | str] = [2**n + more for n in EXPONENTS for more in (1, 0)]
    if isinstance(own, str) and "x" in own:
        rows, cols = pair(own)
        sizes = [f"{r}x{c}" for r, c in TALL if r <= rows and c <= cols]
    for size in sizes:
        try:
            other = make(case.kernel, {**values, declared[0]: size}, case.seed)
        except UsageError:  # an expression is undefined at this size
            continue
        if not other.excluded and not other.hazard and host_source(other) == source:
            yield other


def _of_the_check(case: Case) -> list[Case]:
    """The sizes at which values are checked; they also respect constraints between several parameters."""
    return sorted(others(case, math.inf).cases, key=_elements)


def _is_enough(case: Case) -> bool:
    """Whether a case has enough blocks to show a race between them."""
    return math.prod(case.grid) >= BLOCKS and _elements(case) > FILLED * math.prod(case.block)


def _too_large(case: Case) -> str:
    """Why a case is too large for the checked device; empty if it is not."""
    threads = sum(math.prod(one.grid) * math.prod(one.block) for one in case.launches)
    if threads > MOST_THREADS:
        return f"{threads:,} threads are too many for the checked CPU device"
    needed = case.nbytes
    return f"its arrays need {needed >> 20:,} MiB" if needed > MOST_BYTES else ""


def _elements(case: Case) -> int:
    """Number of elements of the case's largest array."""
    return max((math.prod(a.shape) for a in case.arrays()), default=0)
