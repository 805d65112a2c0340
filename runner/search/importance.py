"""Which parameters of a search mattered, and which values a model predicts around the best case.

The model is the Gaussian process of `guided`, of the logarithm of all values. A parameter's share is its total effect:
the fraction of the variance over all legal combinations that remains if all other parameters are fixed (Homma and
Saltelli 1996; the estimator is Jansen's, 1999). If parameters interact, the shares add up to more than 1.

The intervals come from models of random halves of the cases (the delete-half jackknife: Shao and Wu 1989), each with a
prior drawn again. Each model contributes a function drawn from its posterior, at combinations drawn again (Le Gratiet,
Cannamela and Iooss 2014). So the intervals cover the choice of cases, of the model and of the combinations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky

from runner.record.searched import Point, Three
from runner.search.guided import MAX_LEARNED, Matrix, covariance, initial, learned, posterior
from runner.search.space import Space
from runner.statistics import NORMAL

MIN_CASES = 12  # for shares
MAX_MODELLED = 300  # cases in the model
EVALUATED = 500  # combinations at which a function is drawn
REFITS = 32
PRIORS = 8  # models of all cases, each with a prior drawn again
MIN_EXPLAINED = 0.2  # fraction of the variance of left-out cases that a model must explain
ATTEMPTS = 100  # to change one parameter to a legal value


@dataclass(frozen=True)
class Sensitivity:
    """The shares of a search's parameters; empty if the cases are too few or the model explains too little."""

    cases: int  # with a value
    explained: float  # fraction of the variance of cases that the model was not fitted to
    shares: Mapping[str, Three]  # by parameter: the share and its 95 % interval


class Model:
    """A Gaussian process of the values of a search, or of their logarithms if all have one sign."""

    def __init__(self, space: Space, values: Mapping[Point, float], seed: int = 0) -> None:
        """Fit the process to one objective by point, which has at least two different values."""
        self._space, self._random = space, np.random.default_rng(seed)
        points = list(values)
        if len(points) > MAX_MODELLED:
            points = [points[i] for i in np.sort(self._random.permutation(len(points))[:MAX_MODELLED])]
        y = np.array([values[p] for p in points])
        self._sign = 0.0 if y.min() <= 0 <= y.max() else float(np.sign(y[0]))
        y = np.log(self._sign * y) if self._sign else y
        self._centre, self._scale = float(y.mean()), float(y.std()) or 1.0
        self.x, self.y = space.places(points), (y - self._centre) / self._scale
        self.all_cases = np.arange(len(y))
        begin = learned(initial(self.x.shape[1]), *self._sample(self.all_cases))
        self.thetas = [self.fit(self.all_cases, begin) for _ in range(PRIORS)]

    def fit(self, cases: NDArray[np.int64], theta: Matrix) -> Matrix:
        """Fit the parameters of the process to some cases, with a prior drawn at random; shape (features + 2,)."""
        return learned(theta, *self._sample(cases), self._random)

    def _sample(self, cases: NDArray[np.int64]) -> tuple[Matrix, Matrix]:
        sample = self._random.permutation(cases)[:MAX_LEARNED]
        return self.x[sample], self.y[sample]

    def predict(self, theta: Matrix, cases: NDArray[np.int64], places: Matrix) -> tuple[Matrix, Matrix]:
        """Predict from some cases: the mean at places, shape (places,), and the covariance, shape (places, places)."""
        mean, solved = posterior(theta, self.x[cases], self.y[cases], places)
        return mean, covariance(theta, places, places) - solved.T @ solved

    def intervals(self, points: Sequence[Point]) -> list[Three]:
        """Predict the value of each point: the middle and the ends of its 95 % interval, in the values' unit."""
        places = self._space.places(points)
        predictions = [self.predict(theta, self.all_cases, places) for theta in self.thetas]
        means = np.array([mean for mean, _ in predictions])
        deviation = np.sqrt(np.maximum(np.mean([np.diag(c) for _, c in predictions], axis=0) + means.var(0), 0.0))
        ends = self._centre + self._scale * (means.mean(0) + np.outer((0.0, -NORMAL, NORMAL), deviation))
        middle, *ends = self._sign * np.exp(ends) if self._sign else ends
        return list(zip(middle.tolist(), np.min(ends, 0).tolist(), np.max(ends, 0).tolist(), strict=True))

    def sensitivity(self) -> Sensitivity:
        """Compute the shares of the parameters."""
        random, cases = self._random, len(self.y)
        if cases < MIN_CASES or not self.y.any():
            return Sensitivity(cases, 0.0, {})
        names = [axis.name for axis in self._space.axes]
        points = self._changed(random, EVALUATED // (len(names) + 1))
        numbers = {point: n for n, point in enumerate(dict.fromkeys(p for row in points for p in row))}
        places, chosen = self._space.places(list(numbers)), np.array([[numbers[p] for p in row] for row in points])
        samples, wrong, spread = [], 0.0, 0.0
        for _ in range(REFITS):
            order = random.permutation(cases)
            half, rest = order[: cases // 2], order[cases // 2 :]
            theta = self.fit(half, self.thetas[0])
            mean, covariance = self.predict(theta, half, np.vstack([places, self.x[rest]]))
            wrong += float(((mean[len(places) :] - self.y[rest]) ** 2).sum())
            spread += float(((self.y[rest] - self.y.mean()) ** 2).sum())
            (drawn,) = _drawn(random, mean[: len(places)], covariance[: len(places), : len(places)], 1)
            samples.append(_shares(drawn[chosen[random.integers(0, len(chosen), len(chosen))]]))
        explained = 1.0 - wrong / spread
        if explained < MIN_EXPLAINED:
            return Sensitivity(cases, explained, {})
        functions = [_drawn(random, *self.predict(theta, self.all_cases, places), 4) for theta in self.thetas]
        middle = np.median([_shares(function[chosen]) for group in functions for function in group], axis=0)
        low, high = np.quantile(samples, (0.025, 0.975), axis=0)
        shares = np.column_stack([middle, np.minimum(low, middle), np.maximum(high, middle)]).tolist()
        return Sensitivity(cases, explained, {name: tuple(share) for name, share in zip(names, shares, strict=True)})

    def _changed(self, random: np.random.Generator, number: int) -> list[list[Point]]:
        """Draw legal points, each followed by one variant per parameter in which that parameter is redrawn."""
        space = self._space
        legal: Callable[[Point], bool] = space.legal if space.listed is None else set(space.listed).__contains__

        def redrawn(point: Point, n: int) -> Point:
            for value in random.integers(0, len(space.axes[n].values), ATTEMPTS).tolist():
                if legal(near := (*point[:n], value, *point[n + 1 :])):
                    return near
            return point

        return [[p, *(redrawn(p, n) for n in range(len(space.axes)))] for p in space.draw(random, number)]


def _drawn(random: np.random.Generator, mean: Matrix, covariance: Matrix, number: int) -> Matrix:
    """Draw functions from a process with this mean and covariance; shape (number, places)."""
    jitter = 1e-6 * (1.0 + float(np.trace(covariance)) / len(mean))
    factor = cholesky(covariance + jitter * np.eye(len(mean)), lower=True)
    return np.asarray(mean + random.standard_normal((number, len(mean))) @ factor.T, np.float64)


def _shares(values: Matrix) -> Matrix:
    """Estimate the total effects, shape (parameters,), from the rows of `_changed`, shape (points, 1 + parameters)."""
    left = 0.5 * ((values[:, :1] - values[:, 1:]) ** 2).mean(0)
    return np.asarray(np.minimum(left / max(float(values.var()), 1e-12), 1.0), np.float64)
