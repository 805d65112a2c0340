"""Other sizes at which a kernel that is right is checked, without timing: most defects show at the ends of blocks.

A kernel that was tried at one size, mostly a power of two, may be wrong at all others ("The Correctness Illusion",
arXiv 2606.20128).
"""

from __future__ import annotations

from collections.abc import Iterator

from runner.errors import UsageError
from runner.kernel.case import Case
from runner.kernel.declaration import Kind, pair
from runner.kernel.resolve import make

PRIMES = 31, 997
POWERS = 64, 1024
SLOWEST_MS = 500.0  # of a launch, for which the size below its own is checked, too


def other_sizes(case: Case, launch_ms: float) -> Iterator[Case]:
    """The case at odd and small sizes, as far as its constraints allow and the compiled kernel is the same."""
    declared = [p for p in case.kernel.parameters if p.kind is Kind.SIZE]
    if len(declared) != 1:
        return
    name, source = declared[0].name, case.source()
    values = dict(case.parameters)
    own = values[name]
    block = max((case.block[0] * case.block[1]), 2)
    edges = sorted({1, *PRIMES, block - 1, block + 1, *(n + d for n in POWERS for d in (-1, 1))})
    if isinstance(own, str) and "x" in own:
        rows, cols = pair(own)
        sizes: list[int | str] = [
            f"{r}x{c}" for r, c in ((1, 1), (1, 31), (33, 1), (31, 65)) if r <= rows and c <= cols
        ]
        below: int | str = f"{max(rows - 1, 1)}x{max(cols - 1, 1)}"
    else:
        sizes, below = [n for n in edges if n < int(own)], int(own) - 1
    if launch_ms < SLOWEST_MS and below not in (0, own, *sizes):
        sizes.append(below)
    for size in sizes:
        try:
            other = make(case.kernel, {**values, name: size}, case.seed)
        except UsageError:  # an expression that has no value there
            continue
        if not other.excluded and not other.hazard and other.source() == source:
            yield other
