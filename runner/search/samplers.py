"""The samplers by name."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from runner.errors import UsageError
from runner.record.searched import Point, Values
from runner.search.loop import Sampler
from runner.search.space import MAX_LISTED, Space


class Random:
    """Proposes legal points at random, with equal probability."""

    def __init__(self, space: Space, seed: int) -> None:
        self._space, self._random = space, np.random.default_rng(seed)
        self._measured: set[Point] = set()

    def tell(self, point: Point, values: Values | None) -> None:
        """Record that a point was measured."""
        _ = values
        self._measured.add(point)

    def ask(self, number: int, pending: Sequence[Point] = ()) -> list[Point]:
        """Propose up to `number` points."""
        return self._space.draw(self._random, number, self._measured.union(pending))


class Grid(Random):
    """Proposes all legal points, in order."""

    def ask(self, number: int, pending: Sequence[Point] = ()) -> list[Point]:
        """Propose up to `number` points."""
        if self._space.listed is None:
            raise UsageError(
                f"hydra.sweeper.sampler=grid: the space has {self._space.count:,} combinations; at most {MAX_LISTED:,} "
                f"are measured one by one; choose another sampler or vary fewer values"
            )
        taken = self._measured.union(pending)
        return list(itertools.islice((p for p in self._space.listed if p not in taken), number))


def _guided(space: Space, seed: int) -> Sampler:
    from runner.search.guided import Guided  # noqa: PLC0415  (SciPy takes half a second, and every run imports this)

    return Guided(space, seed)


SAMPLERS: dict[str, Callable[[Space, int], Sampler]] = {"guided": _guided, "random": Random, "grid": Grid}


def make_sampler(name: str, space: Space, seed: int) -> Sampler:
    """Make a sampler: `guided`, `random` or `grid`. Raises `UsageError` for another name."""
    if name not in SAMPLERS:
        raise UsageError(f"hydra.sweeper.sampler={name}: expected one of {', '.join(SAMPLERS)}")
    return SAMPLERS[name](space, seed)
