"""Which cases are one variant: the same compiled kernel with the same parameters but the size and what fills arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from runner.jobs.job import Job
from runner.kernel.declaration import Kind
from runner.stages.checked.builds import host_source

Row = dict[str, Any]

APART = ("size", "rows", "cols", "seed", "fill", "cache", "compile_options")
"""Parameters that make no other variant: the host's compiler and the order of accesses do not depend on them."""


@dataclass(frozen=True)
class Variant:
    """The cases of a variant, the smallest first, with their rows."""

    cases: tuple[tuple[Job, Row], ...]

    @property
    def job(self) -> Job:
        """The one whose case is made smaller."""
        return self.cases[0][0]

    @property
    def kernel(self) -> str:
        """Its kernel's name."""
        return self.job.case.kernel.name


def variants(cases: Iterable[tuple[Job, Row]]) -> list[Variant]:
    """The variants of a sweep's cases, in the order of their first cases."""
    groups: dict[tuple[object, ...], list[tuple[Job, Row]]] = {}
    for job, row in cases:
        groups.setdefault(_key(job), []).append((job, row))
    return [Variant(tuple(sorted(group, key=lambda one: _size(one[0])))) for group in groups.values()]


def in_order(found: Sequence[Variant]) -> tuple[list[Variant], list[Variant]]:
    """One variant of each kernel, and the others.

    What is wrong already comes first, as it most needs a reason. Otherwise the fastest at the largest size, where times
    mean something, and else the first.
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
    sizes = [p.name for p in job.case.kernel.parameters if p.kind is Kind.SIZE]
    own = tuple((n, v) for n, v in job.case.parameters if n not in APART and n not in sizes)
    return job.case.kernel.name, own, job.copy, host_source(job.case)


def _size(job: Job) -> int:
    """The elements that the parameters of kind `size` say; without one, the bytes of all arrays."""
    sizes = [p.name for p in job.case.kernel.parameters if p.kind is Kind.SIZE]
    return math.prod(int(job.case.variables[n]) for n in sizes) if sizes else sum(a.nbytes for a in job.case.arrays())
