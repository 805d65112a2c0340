"""The samplers by name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from runner.errors import UsageError
from runner.record.searched import Point, Values
from runner.search.loop import Sampler
from runner.search.space import Space


class Random:
    """Proposes legal points at random, with equal probability."""

    def __init__(self, space: Space, seed: int) -> None:
        self._space, self._random = space, np.random.default_rng(seed)
        self._told: set[Point] = set()

    def tell(self, point: Point, values: Values | None) -> None:
        """Record that a point was measured."""
        _ = values
        self._told.add(point)

    def ask(self, number: int) -> list[Point]:
        """Propose up to `number` points."""
        return self._space.draw(self._random, number, self._told)


class Grid(Random):
    """Proposes all legal points, in order."""

    def ask(self, number: int) -> list[Point]:
        """Propose up to `number` points."""
        if self._space.listed is None:
            raise UsageError(
                f"hydra.sweeper.sampler=grid: the space has {self._space.count:,} combinations; choose another sampler"
            )
        return [p for p in self._space.listed if p not in self._told][:number]


def _guided(space: Space, seed: int) -> Sampler:
    from runner.search.guided import Guided  # noqa: PLC0415  (SciPy takes half a second, and every run imports this)

    return Guided(space, seed)


SAMPLERS: dict[str, Callable[[Space, int], Sampler]] = {"guided": _guided, "random": Random, "grid": Grid}


def made(name: str, space: Space, seed: int) -> Sampler:
    """Make a sampler.

    Args:
        name: `guided`, `random` or `grid`.
        space: The search's space.
        seed: Seed of its random choices.

    Raises:
        UsageError: The name is unknown.
    """
    if name not in SAMPLERS:
        raise UsageError(f"hydra.sweeper.sampler={name}: expected one of {', '.join(SAMPLERS)}")
    return SAMPLERS[name](space, seed)
