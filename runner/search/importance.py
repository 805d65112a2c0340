"""Which parameters of a search mattered, and what a model expects around its best case.

The model is the Gaussian process of `guided`, of the logarithm of all values. A parameter's share is its total effect:
of the variance over all legal combinations, the part that is left where all other parameters are fixed (Homma and
Saltelli 1996; the estimator is Jansen's, 1999). Where parameters act together, the shares add up to more than 1.

The intervals come from models of random halves of the cases (the delete-half jackknife: Shao and Wu 1989). The prior of
each is drawn anew. Each gives a function drawn at random from those that it holds for possible, at combinations drawn
anew (Le Gratiet, Cannamela and Iooss 2014). So the cases, the model and the combinations might all have been others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.spatial.distance import cdist

from runner.search.guided import LEARNED, Matrix, initial, learned
from runner.search.space import Point, Space

LEAST = 12  # cases: fewer tell nothing
MODELLED = 300  # cases in the model
EVALUATED = 500  # combinations at which a function is drawn
REFITS = 32
PRIORS = 8  # that are drawn for a model of all cases
EXPLAINED = 0.2  # of the variance of the cases left out: a model that explains less tells nothing
TRIES = 100  # to change one parameter into a legal value
NORMAL = 1.96  # standard deviations on either side of a 95 % interval


@dataclass(frozen=True)
class Importance:
    """What a search tells about its parameters; no shares if it is too little."""

    cases: int  # with a value
    explained: float  # of the variance of cases that the model was not fitted to
    shares: Mapping[str, tuple[float, float, float]]  # by parameter: the share, and its 95 % interval


class Model:
    """A Gaussian process of the values of a search, or of their logarithms if all have one sign."""

    def __init__(self, space: Space, values: Mapping[Point, float], seed: int = 0) -> None:
        """`values` are at least two, not all equal."""
        self._space, self._random = space, np.random.default_rng(seed)
        points = list(values)
        if len(points) > MODELLED:
            points = [points[i] for i in np.sort(self._random.permutation(len(points))[:MODELLED])]
        y = np.array([values[p] for p in points])
        self._sign = 0.0 if y.min() <= 0 <= y.max() else float(np.sign(y[0]))
        y = np.log(self._sign * y) if self._sign else y
        self._centre, self._scale = float(y.mean()), float(y.std()) or 1.0
        self.x, self.y = space.places(points), (y - self._centre) / self._scale
        self.every = np.arange(len(y))
        begin = learned(initial(self.x.shape[1]), *self._sample(self.every))
        self.thetas = [self.fitted(self.every, begin) for _ in range(PRIORS)]

    def fitted(self, cases: NDArray[np.int64], theta: Matrix) -> Matrix:
        """The parameters of the process that explain some of the cases best, by a prior drawn at random."""
        return learned(theta, *self._sample(cases), self._random)

    def _sample(self, cases: NDArray[np.int64]) -> tuple[Matrix, Matrix]:
        sample = self._random.permutation(cases)[:LEARNED]
        return self.x[sample], self.y[sample]

    def predicted(self, theta: Matrix, cases: NDArray[np.int64], at: Matrix) -> tuple[Matrix, Matrix]:
        """The mean at some places, and the covariance, given some of the cases."""
        lengths, (scale, noise) = np.exp(theta[:-2]), np.exp(theta[-2:])

        def alike(a: Matrix, b: Matrix) -> Matrix:
            return np.asarray(scale * np.exp(-cdist(a / lengths, b / lengths, "cityblock")), np.float64)

        x = self.x[cases]
        factor = cholesky(alike(x, x) + noise * np.eye(len(x)), lower=True)
        across = alike(at, x)
        solved = solve_triangular(factor, across.T, lower=True)
        return across @ cho_solve((factor, True), self.y[cases]), alike(at, at) - solved.T @ solved

    def around(self, points: Sequence[Point]) -> list[tuple[float, float, float]]:
        """The value that is expected at each point, and its 95 % interval."""
        at = self._space.places(points)
        all_of = [self.predicted(theta, self.every, at) for theta in self.thetas]
        means = np.array([mean for mean, _ in all_of])
        deviation = np.sqrt(np.maximum(np.mean([np.diag(c) for _, c in all_of], axis=0) + means.var(0), 0.0))
        found = []
        for m, d in zip(means.mean(0), deviation, strict=True):
            scaled = [self._centre + self._scale * (m + by * d) for by in (0.0, -NORMAL, NORMAL)]
            middle, *ends = (self._sign * np.exp(v) if self._sign else v for v in scaled)
            found.append((float(middle), float(min(ends)), float(max(ends))))
        return found

    def importance(self) -> Importance:
        """The shares of the parameters."""
        random, cases = self._random, len(self.y)
        if cases < LEAST or not self.y.any():
            return Importance(cases, 0.0, {})
        names = [axis.name for axis in self._space.axes]
        points = self._changed(random, EVALUATED // (len(names) + 1))
        places = {point: n for n, point in enumerate(dict.fromkeys(p for row in points for p in row))}
        at, chosen = self._space.places(list(places)), np.array([[places[p] for p in row] for row in points])
        found, wrong, spread = [], 0.0, 0.0
        for _ in range(REFITS):
            order = random.permutation(cases)
            half, rest = order[: cases // 2], order[cases // 2 :]
            theta = self.fitted(half, self.thetas[0])
            mean, covariance = self.predicted(theta, half, np.vstack([at, self.x[rest]]))
            wrong += float(((mean[len(at) :] - self.y[rest]) ** 2).sum())
            spread += float(((self.y[rest] - self.y.mean()) ** 2).sum())
            (drawn,) = _drawn(random, mean[: len(at)], covariance[: len(at), : len(at)], 1)
            found.append(_shares(drawn[chosen[random.integers(0, len(chosen), len(chosen))]]))
        explained = 1.0 - wrong / spread
        if explained < EXPLAINED:
            return Importance(cases, explained, {})
        possible = [_drawn(random, *self.predicted(theta, self.every, at), 4) for theta in self.thetas]
        middle = np.median([_shares(one[chosen]) for drawn in possible for one in drawn], axis=0)
        low, high = np.quantile(found, (0.025, 0.975), axis=0)
        shares = np.column_stack([middle, np.minimum(low, middle), np.maximum(high, middle)]).tolist()
        return Importance(cases, explained, {name: tuple(three) for name, three in zip(names, shares, strict=True)})

    def _changed(self, random: np.random.Generator, number: int) -> list[list[Point]]:
        """Legal points drawn at random, each with the points in which one parameter has another legal value."""
        space = self._space
        legal: Callable[[Point], bool] = space.legal if space.listed is None else set(space.listed).__contains__

        def redrawn(point: Point, n: int) -> Point:
            for value in random.integers(0, len(space.axes[n].values), TRIES).tolist():
                if legal(near := (*point[:n], value, *point[n + 1 :])):
                    return near
            return point

        return [[p, *(redrawn(p, n) for n in range(len(space.axes)))] for p in space.draw(random, number)]


def _drawn(random: np.random.Generator, mean: Matrix, covariance: Matrix, number: int) -> Matrix:
    """Functions drawn from a process, at the places that it was predicted at; shape (number, places)."""
    jitter = 1e-6 * (1.0 + float(np.trace(covariance)) / len(mean))
    factor = cholesky(covariance + jitter * np.eye(len(mean)), lower=True)
    return np.asarray(mean + random.standard_normal((number, len(mean))) @ factor.T, np.float64)


def _shares(values: Matrix) -> Matrix:
    """The total effects. `values` has the shape (points, 1 + parameters): first the points, then the changed ones."""
    left = 0.5 * ((values[:, :1] - values[:, 1:]) ** 2).mean(0)
    return np.asarray(np.minimum(left / max(float(values.var()), 1e-12), 1.0), np.float64)
