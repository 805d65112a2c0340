"""The default sampler: a Gaussian process over the legal points, with candidates near the best ones.

The kernel is exp(-sum_i |x_i - y_i| / l_i), which is cheap, and rough because one step of a parameter may change the
time by a factor. The lengths l_i come from the marginal likelihood (Rasmussen and Williams, Gaussian Processes for
Machine Learning, 2006, chapter 5). The next points have the largest expected improvement. A point that was chosen but
not measured yet counts as measured at its expected value, which keeps the mean and reduces the variance (Ginsbourger,
Le Riche and Carraro, 2010: kriging believer).

The model predicts the logarithm of the value, clipped above the median, since it does not matter how bad a bad case is.
A failed case counts as a bad one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.special import ndtr
from threadpoolctl import ThreadpoolController

from runner.record.searched import Point, Values
from runner.search.space import Space

MIN_POINTS = 12  # initial points, far from each other
MAX_MODELLED = 240  # points in the model, including the best ones
MAX_LEARNED = 120  # points from which the lengths are learned
GROWTH = 1.25  # the lengths are learned again when the number of points has grown by this factor
CANDIDATES = 1200  # drawn at random
BEST = 6  # points whose neighbours are candidates
CLIP = 0.5  # values are clipped this far above the median, in distances from the best to the median
MUTATION = 0.3  # probability that a random change alters a parameter
MUTANTS = 0.25  # fraction of points that are random changes of good points, independent of the model
ATTEMPTS = 50  # to change a good point to a new legal one
PRIOR = (0.5, 1.2)  # mean and standard deviation of log(length)
PRIOR_NOISE = (-4.0, 1.5)  # mean and standard deviation of log(variance of the noise)

Matrix = NDArray[np.float64]
BLAS = ThreadpoolController()  # finds the libraries that NumPy and SciPy have loaded


class Guided:
    """The sampler that the module describes; implements `loop.Sampler`."""

    def __init__(self, space: Space, seed: int) -> None:
        self._space = space
        self._random = np.random.default_rng(seed)
        self._values: dict[Point, Values | None] = {}
        self._theta = initial(sum(axis.features.shape[1] for axis in space.axes))
        self._learned = 0  # number of points when the lengths were learned

    def tell(self, point: Point, values: Values | None) -> None:
        """Record the values of a point; `None` if it failed."""
        self._values[point] = values

    def ask(self, number: int, pending: Sequence[Point] = ()) -> list[Point]:
        """Propose up to `number` points."""
        with BLAS.limit(limits=1):  # the matrices are too small for threads, whose cores compile
            return self._ask(number, list(pending))

    def _ask(self, number: int, pending: list[Point]) -> list[Point]:
        if len(self._values) < MIN_POINTS or not any(self._values.values()):
            return self._far_apart(number, pending)
        mutants = int(self._random.binomial(number, MUTANTS))
        points = list(self._values)
        y = self._scaled(list(self._values.values()))
        order = np.argsort(y, kind="stable")
        best = [points[i] for i in order[:BEST]]
        candidates = self._candidates(best, pending)
        chosen: list[Point] = []
        if candidates and number > mutants:
            # The best half of the points to model, and random others.
            half = MAX_MODELLED // 2
            modelled = np.r_[order[:half], self._random.permutation(order[half:])[: MAX_MODELLED - half]]
            x = self._space.places([points[i] for i in modelled])
            if len(points) >= GROWTH * self._learned:
                sample = self._random.permutation(len(modelled))[:MAX_LEARNED]
                self._theta = learned(self._theta, x[sample], y[modelled][sample])
                self._learned = len(points)
            places, waiting = self._space.places(candidates), self._space.places(pending)
            found = _promising(self._theta, x, y[modelled], places, waiting, number - mutants)
            chosen = [candidates[i] for i in found]
        for _ in range(number - len(chosen)):
            chosen += self._mutant(best, [*pending, *chosen])
        return chosen + self._space.draw(self._random, number - len(chosen), [*self._values, *pending, *chosen])

    def _mutant(self, best: list[Point], chosen: list[Point]) -> list[Point]:
        """Mutate a good point: a list with one new legal point, or an empty list if all attempts fail.

        The points in `chosen` are not new.
        """
        for _ in range(ATTEMPTS):
            indices = list(best[int(self._random.integers(len(best)))])
            for number, axis in enumerate(self._space.axes):
                if self._random.random() < MUTATION:
                    indices[number] = int(self._random.integers(len(axis.values)))
            point = tuple(indices)
            if point not in self._values and point not in chosen and self._space.legal(point):
                return [point]
        return []

    def _far_apart(self, number: int, pending: list[Point]) -> list[Point]:
        """Draw random points, each the farthest of 20 from all points before it."""
        chosen: list[Point] = []
        for _ in range(number):
            before = [*self._values, *pending, *chosen]
            drawn = self._space.draw(self._random, 20, before)
            if not drawn:
                break
            x = self._space.places(drawn)
            distances = cdist(x, self._space.places(before), "cityblock").min(1) if before else np.zeros(len(drawn))
            chosen.append(drawn[int(distances.argmax())])
        return chosen

    def _scaled(self, values: list[Values | None]) -> Matrix:
        """Convert values to what the model predicts: mean 0, standard deviation 1, lower is better; shape (values,)."""
        width = max(len(v) for v in values if v is not None)
        table = np.array([v or (math.nan,) * width for v in values], np.float64)
        if (table[np.isfinite(table)] > 0).all():
            table = np.log(table)
        if width > 1:  # random weights of the objectives in each call (Knowles 2006: ParEGO)
            low, high = np.nanmin(table, 0), np.nanmax(table, 0)
            weights = self._random.dirichlet(np.ones(width))
            table = ((table - low) / np.where(high > low, high - low, 1.0)) * weights
            table = (table.max(1) + 0.05 * table.sum(1))[:, None]
        y = table[:, 0]
        good = y[np.isfinite(y)]
        y = np.minimum(np.where(np.isfinite(y), y, np.inf), np.median(good) + CLIP * (np.median(good) - good.min()))
        return np.asarray((y - y.mean()) / (y.std() or 1.0), np.float64)

    def _candidates(self, best: list[Point], pending: list[Point]) -> list[Point]:
        """The neighbours of the best points, and random points."""
        points = dict.fromkeys(near for point in best for near in self._space.neighbours(point))
        points |= dict.fromkeys(self._space.draw(self._random, CANDIDATES, self._values))
        return [point for point in points if point not in self._values and point not in pending]


def _promising(theta: Matrix, x: Matrix, y: Matrix, candidates: Matrix, pending: Matrix, number: int) -> list[int]:
    """Choose candidates, shape (candidates, features), by expected improvement, one after the other.

    `x`, shape (points, features), are the measured points, and `y`, shape (points,), their values; lower is better.
    `pending`, shape (points, features), have no values yet. Returns indices of candidates.
    """
    scale, noise = np.exp(theta[-2:])
    if len(pending):
        x, y = np.vstack([x, pending]), np.r_[y, posterior(theta, x, y, pending)[0]]
    mean, solved = posterior(theta, x, y, candidates)
    variance = np.maximum(scale - (solved**2).sum(0), 1e-12)
    chosen: list[int] = []
    for _ in range(min(number, len(candidates))):
        deviation = np.sqrt(variance)
        z = (y.min() - mean) / deviation
        gain = deviation * (z * ndtr(z) + np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi))
        gain[chosen] = -1.0
        best = int(gain.argmax())
        chosen.append(best)
        own = covariance(theta, candidates, candidates[best : best + 1])[:, 0]
        own -= solved.T @ solved[:, best]
        solved = np.vstack([solved, own / math.sqrt(variance[best] + noise)])
        variance = np.maximum(scale - (solved**2).sum(0), 1e-12)
    return chosen


def covariance(theta: Matrix, a: Matrix, b: Matrix) -> Matrix:
    """Evaluate the kernel between points, shapes (n, features) and (m, features); shape (n, m)."""
    lengths, (scale, _) = np.exp(theta[:-2]), np.exp(theta[-2:])
    return np.asarray(scale * np.exp(-cdist(a / lengths, b / lengths, "cityblock")), np.float64)


def posterior(theta: Matrix, x: Matrix, y: Matrix, places: Matrix) -> tuple[Matrix, Matrix]:
    """Predict the values at places from the points x and their values y.

    Returns:
        The mean, shape (places,), and S, shape (points, places): S'S is the covariance that the points explain.
    """
    factor = cholesky(covariance(theta, x, x) + np.exp(theta[-1]) * np.eye(len(x)), lower=True)
    across = covariance(theta, places, x)
    return across @ cho_solve((factor, True), y), solve_triangular(factor, across.T, lower=True)


def initial(features: int) -> Matrix:
    """Return the means of the priors, where `learned` starts; shape (features + 2,)."""
    return np.asarray(np.r_[np.full(features, PRIOR[0]), 0.0, PRIOR_NOISE[0]], np.float64)


def learned(theta: Matrix, x: Matrix, y: Matrix, random: np.random.Generator | None = None) -> Matrix:
    """Fit the parameters of the process: logarithms of the lengths, the variance and the noise's variance.

    Args:
        theta: Where the fit starts; shape (features + 2,), as that of the result.
        x: The points; shape (points, features).
        y: Their values; shape (points,).
        random: If given, the centre of the prior is drawn from the prior, so that several calls differ about as much
            as the values allow (Bardsley et al. 2014: randomize, then optimize).
    """
    apart = np.abs(x[:, None, :] - x[None, :, :])
    axes = x.shape[1]
    centre, width = initial(axes), np.r_[np.full(axes, PRIOR[1]), 1.0, PRIOR_NOISE[1]]
    if random is not None:
        centre = random.normal(centre, width)

    def negative_log_posterior(theta: Matrix) -> tuple[float, Matrix]:
        """Return the value and its gradient."""
        lengths = np.exp(theta[:-2])
        signal = np.exp(theta[-2]) * np.exp(-(apart @ (1.0 / lengths)))
        noise = np.exp(theta[-1])
        try:
            factor = cholesky(signal + noise * np.eye(len(y)), lower=True)
        except np.linalg.LinAlgError:
            return 1e10, np.zeros_like(theta)
        inverse = cho_solve((factor, True), np.eye(len(y)))
        weights = inverse @ y
        off = (theta - centre) / width
        slope = inverse - np.outer(weights, weights)
        mixed = slope * signal
        gradient = np.r_[
            0.5 * np.tensordot(mixed, apart, 2) / lengths, 0.5 * mixed.sum(), 0.5 * np.trace(slope) * noise
        ]
        value = 0.5 * y @ weights + np.log(np.diag(factor)).sum() + 0.5 * off @ off
        return float(value), gradient + off / width

    bounds = [(-3.0, 5.0)] * axes + [(-3.0, 3.0), (-9.0, 0.0)]
    result = minimize(
        negative_log_posterior, theta, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 15}
    )
    return np.asarray(result.x, np.float64)
