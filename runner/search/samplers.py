"""The samplers by name: our own, and Optuna's (the extra `search`)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from runner.errors import UsageError
from runner.search.loop import Sampler, Values
from runner.search.space import Point, Space

TRIES = 30  # of Optuna to propose a legal point that was not told yet; then a random one is taken


class Random:
    """Legal points at random, each as likely as any other."""

    def __init__(self, space: Space, seed: int) -> None:
        self._space, self._random = space, np.random.default_rng(seed)
        self._told: set[Point] = set()

    def tell(self, point: Point, values: Values | None) -> None:
        """Learn that a point was measured."""
        _ = values
        self._told.add(point)

    def ask(self, number: int) -> list[Point]:
        """Propose points."""
        return self._space.draw(self._random, number, self._told)


class Grid(Random):
    """All legal points, in order."""

    def ask(self, number: int) -> list[Point]:
        """Propose points."""
        if self._space.listed is None:
            raise UsageError(
                f"hydra.sweeper.sampler=grid: the space has {self._space.count:,} combinations; choose another sampler"
            )
        return [p for p in self._space.listed if p not in self._told][:number]


class OfOptuna:
    """One of Optuna's samplers. Its study is in the journal."""

    def __init__(self, space: Space, seed: int, name: str, objectives: int, journal: Path) -> None:
        try:
            import optuna  # noqa: PLC0415  (an extra)
            from optuna.storages.journal import JournalFileBackend, JournalStorage  # noqa: PLC0415
        except ImportError:
            raise UsageError(
                f"hydra.sweeper.sampler={name}: Optuna is not installed; use pip install -e '.[search]'"
            ) from None
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._optuna, self._space = optuna, space
        self._spare = Random(space, seed)
        named: Any = optuna.samplers
        made = {
            "tpe": lambda: named.TPESampler(seed=seed, multivariate=True, constant_liar=True),
            "gp": lambda: named.GPSampler(seed=seed),
            "cmaes": lambda: named.CmaEsSampler(seed=seed),
        }
        journal.unlink(missing_ok=True)  # a resumed search tells it all again
        storage_of: Any = JournalStorage
        backend_of: Any = JournalFileBackend
        storage = storage_of(backend_of(str(journal)))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # experimental arguments
                sampler = made[name]()
                self._study = optuna.create_study(
                    sampler=sampler,
                    directions=["minimize"] * objectives,
                    storage=storage,
                    study_name="search",
                )
        except ImportError as e:
            raise UsageError(f"hydra.sweeper.sampler={name}: {str(e).splitlines()[0]}") from None
        integers: Any = optuna.distributions.IntDistribution
        self._distributions = {a.name: integers(0, len(a.values) - 1) for a in space.axes}
        self._asked: dict[Point, Any] = {}
        self._told: set[Point] = set()

    def tell(self, point: Point, values: Values | None) -> None:
        """Learn what was measured at a point."""
        self._spare.tell(point, values)
        self._told.add(point)
        trial = self._asked.pop(point, None)
        if trial is None:  # told again: another trial at the same point
            self._study.enqueue_trial(self._named(point))
            trial = self._study.ask(self._distributions)
        if values is None:
            self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        else:
            self._study.tell(trial, list(values))

    def ask(self, number: int) -> list[Point]:
        """Propose points: illegal ones fail at once and are not measured."""
        while len(self._asked) < number:
            for _ in range(TRIES):
                trial = self._study.ask(self._distributions)
                point = tuple(trial.params[axis.name] for axis in self._space.axes)
                if self._space.legal(point) and point not in self._told and point not in self._asked:
                    self._asked[point] = trial
                    break
                self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
            else:
                left = [p for p in self._spare.ask(number + len(self._asked)) if p not in self._asked]
                if not left:
                    break
                self._study.enqueue_trial(self._named(left[0]))
                self._asked[left[0]] = self._study.ask(self._distributions)
        return list(self._asked)

    def _named(self, point: Point) -> dict[str, int]:
        return {axis.name: i for axis, i in zip(self._space.axes, point, strict=True)}


def _guided(space: Space, seed: int) -> Sampler:
    from runner.search.guided import Guided  # noqa: PLC0415  (every run imports this module, and SciPy takes half a second)

    return Guided(space, seed)


_OURS: dict[str, Callable[[Space, int], Sampler]] = {"guided": _guided, "random": Random, "grid": Grid}
NAMES = (*_OURS, "tpe", "gp", "cmaes")


def made(name: str, space: Space, seed: int, objectives: int, journal: Path) -> Sampler:
    """A sampler; a `UsageError` if it is unknown, or cannot do this."""
    if name not in NAMES:
        raise UsageError(f"hydra.sweeper.sampler={name}: expected one of {', '.join(NAMES)}")
    if name in _OURS:
        return _OURS[name](space, seed)
    if name == "cmaes" and objectives > 1:
        raise UsageError("hydra.sweeper.sampler=cmaes: it has one objective; choose guided, tpe, gp or random")
    return OfOptuna(space, seed, name, objectives, journal)
