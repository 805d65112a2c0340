"""Group cases into variants: the same compiled kernel and parameters, apart from the size and the arrays' contents."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from runner.jobs.job import Job
from runner.stages.checked.builds import host_source

Row = dict[str, Any]

APART = ("size", "rows", "cols", "seed", "fill", "cache", "compile_options")
"""Parameters that may differ within a variant: the host's build and the order of accesses do not depend on them."""


@dataclass(frozen=True)
class Variant:
    """The cases of a variant with their rows, the smallest first."""

    cases: tuple[tuple[Job, Row], ...]

    @property
    def job(self) -> Job:
        """The job of the smallest case, from which the small case is made."""
        return self.cases[0][0]

    @property
    def kernel(self) -> str:
        """The kernel's name."""
        return self.job.case.kernel.name


def variants(cases: Iterable[tuple[Job, Row]]) -> list[Variant]:
    """Group a sweep's cases into variants, in the order of their first cases."""
    groups: dict[tuple[object, ...], list[tuple[Job, Row]]] = {}
    for job, row in cases:
        groups.setdefault(_key(job), []).append((job, row))
    return [Variant(tuple(sorted(group, key=lambda one: _size(one[0])))) for group in groups.values()]


def in_order(found: Sequence[Variant]) -> tuple[list[Variant], list[Variant]]:
    """Order variants for checking.

    Returns:
        One variant of each kernel, and the remaining variants. Variants with wrong rows come first, because they need a
        reason most; then the variant that is fastest at the largest size.
    """
    first: dict[str, Variant] = {}
    for variant in sorted(found, key=_rank):
        first.setdefault(variant.kernel, variant)
    chosen = {id(variant) for variant in first.values()}
    return list(first.values()), sorted((v for v in found if id(v) not in chosen), key=lambda v: not _wrong(v))


def _rank(variant: Variant) -> tuple[bool, int, float]:
    job, row = variant.cases[-1]
    return not _wrong(variant), -_size(job), float(row.get("median_us") or 0.0)


def _wrong(variant: Variant) -> bool:
    return any(row["status"] != "ok" for _, row in variant.cases)


def _key(job: Job) -> tuple[object, ...]:
    own = tuple((n, v) for n, v in job.case.parameters if n not in APART and n not in job.case.kernel.sizes)
    return job.case.kernel.name, own, job.copy, host_source(job.case)


def _size(job: Job) -> int:
    """The product of the parameters of kind `size`; without one, the bytes of all arrays."""
    sizes = job.case.kernel.sizes
    return math.prod(int(job.case.variables[n]) for n in sizes) if sizes else job.case.nbytes
