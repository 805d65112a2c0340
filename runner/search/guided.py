"""The default sampler: a Gaussian process over the legal points, with candidates near the best ones.

The kernel is exp(-sum_i |x_i - y_i| / l_i), which is cheap, and rough because one step of a parameter may change the
time by a factor. The lengths l_i come from the marginal likelihood (Rasmussen and Williams, Gaussian Processes for
Machine Learning, 2006, chapter 5). The next points have the largest expected improvement. Within a batch each chosen
point counts as measured at its expected value, which keeps the mean and reduces the variance (Ginsbourger, Le Riche and
Carraro, 2010: kriging believer).

The model predicts the logarithm of the value, clipped above the median, since it does not matter how bad a bad case is.
A failed case counts as a bad one.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.special import ndtr

from runner.record.searched import Point, Values
from runner.search.space import Space

FIRST = 12  # initial points, far from each other
MODELLED = 240  # most points in the model, including the best ones
LEARNED = 120  # most points from which the lengths are learned
AGAIN = 1.25  # the lengths are learned again when the number of points has grown by this factor
CANDIDATES = 1200  # drawn at random
AROUND = 6  # best points whose neighbours are candidates
CUT = 0.5  # values are clipped this far above the median, in distances from the best to the median
CHANGED = 0.3  # probability that a random change alters a parameter
ALOOF = 0.25  # fraction of points that are random changes of good points, independent of the model
PRIOR = (0.5, 1.2)  # mean and standard deviation of log(length)
PRIOR_NOISE = (-4.0, 1.5)  # mean and standard deviation of log(variance of the noise)

Matrix = NDArray[np.float64]


class Guided:
    """The sampler that the module describes; implements `loop.Sampler`."""

    def __init__(self, space: Space, seed: int) -> None:
        self._space = space
        self._random = np.random.default_rng(seed)
        self._told: dict[Point, Values | None] = {}
        self._theta = initial(sum(axis.features.shape[1] for axis in space.axes))
        self._learned = 0

    def tell(self, point: Point, values: Values | None) -> None:
        """Record the values of a point; `None` if it failed."""
        self._told[point] = values

    def ask(self, number: int) -> list[Point]:
        """Propose up to `number` points."""
        if len(self._told) < FIRST or not any(self._told.values()):
            return self._far_apart(number)
        aloof = int(self._random.binomial(number, ALOOF))
        points = list(self._told)
        y = self._scaled([self._told[p] for p in points])
        order = np.argsort(y, kind="stable")
        candidates = self._candidates([points[i] for i in order[:AROUND]])
        chosen: list[Point] = []
        if candidates and number > aloof:
            kept = self._kept(order)
            x = self._space.places([points[i] for i in kept])
            if len(points) >= AGAIN * self._learned:
                sample = self._random.permutation(len(kept))[:LEARNED]
                self._theta = learned(self._theta, x[sample], y[kept][sample])
                self._learned = len(points)
            found = _most_promising(self._theta, x, y[kept], self._space.places(candidates), number - aloof)
            chosen = [candidates[i] for i in found]
        best = [points[i] for i in order[:AROUND]]
        for _ in range(number - len(chosen)):
            chosen += self._changed(best, chosen)
        return chosen + self._space.draw(self._random, number - len(chosen), [*self._told, *chosen])

    def _changed(self, best: list[Point], chosen: list[Point]) -> list[Point]:
        """Mutate a good point: a list with one new legal point, or an empty list if 50 attempts fail."""
        for _ in range(50):
            near = list(best[int(self._random.integers(len(best)))])
            for number, axis in enumerate(self._space.axes):
                if self._random.random() < CHANGED:
                    near[number] = int(self._random.integers(len(axis.values)))
            point = tuple(near)
            if point not in self._told and point not in chosen and self._space.legal(point):
                return [point]
        return []

    def _far_apart(self, number: int) -> list[Point]:
        """Draw random points, each the farthest of 20 from all points before it."""
        chosen: list[Point] = []
        for _ in range(number):
            drawn = self._space.draw(self._random, 20, [*self._told, *chosen])
            if not drawn:
                break
            before = [*self._told, *chosen]
            x = self._space.places(drawn)
            far = cdist(x, self._space.places(before), "cityblock").min(1) if before else np.zeros(len(drawn))
            chosen.append(drawn[int(far.argmax())])
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
        y = np.minimum(np.where(np.isfinite(y), y, np.inf), np.median(good) + CUT * (np.median(good) - good.min()))
        return np.asarray((y - y.mean()) / (y.std() or 1.0), np.float64)

    def _kept(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """Select the indices of the points to model: the best `MODELLED` / 2, and random others."""
        half = MODELLED // 2
        rest = self._random.permutation(order[half:])[: MODELLED - half]
        return np.concatenate([order[:half], rest])

    def _candidates(self, best: list[Point]) -> list[Point]:
        """The neighbours of the best points, and random points."""
        found = dict.fromkeys(near for point in best for near in self._space.neighbours(point))
        found |= dict.fromkeys(self._space.draw(self._random, CANDIDATES, self._told))
        return [point for point in found if point not in self._told]


def _most_promising(theta: Matrix, x: Matrix, y: Matrix, candidates: Matrix, number: int) -> list[int]:
    """Choose candidates by expected improvement, one after the other.

    Args:
        theta: Logarithms of the lengths, the variance and the noise's variance; shape (features + 2,).
        x: The measured points; shape (points, features).
        y: Their values, lower is better; shape (points,).
        candidates: Shape (candidates, features).
        number: How many to choose.

    Returns:
        Indices of candidates.
    """
    scale, noise = np.exp(theta[-2:])
    factor = cholesky(covariance(theta, x, x) + noise * np.eye(len(x)), lower=True)
    across = covariance(theta, candidates, x)
    mean = across @ cho_solve((factor, True), y)
    solved = solve_triangular(factor, across.T, lower=True)
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


def initial(features: int) -> Matrix:
    """Return the means of the priors, where `learned` starts; shape (features + 2,)."""
    return np.asarray(np.r_[np.full(features, PRIOR[0]), 0.0, PRIOR_NOISE[0]], np.float64)


def learned(theta: Matrix, x: Matrix, y: Matrix, random: np.random.Generator | None = None) -> Matrix:
    """Fit the parameters of the process: logarithms of the lengths, the variance and the noise's variance.

    Args:
        theta: Where the fit starts; shape (features + 2,).
        x: The points; shape (points, features).
        y: Their values; shape (points,).
        random: If given, the centre of the prior is drawn from the prior, so that several calls differ about as much
            as the values allow (Bardsley et al. 2014: randomize, then optimize).

    Returns:
        The parameters; shape (features + 2,).
    """
    apart = np.abs(x[:, None, :] - x[None, :, :])
    axes = x.shape[1]
    centre = initial(axes)
    width = np.r_[np.full(axes, PRIOR[1]), 1.0, PRIOR_NOISE[1]]
    centre = centre if random is None else random.normal(centre, width)

    def unlikely(theta: Matrix) -> tuple[float, Matrix]:
        """Compute the negative logarithm of the posterior, and its gradient."""
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
    found = minimize(unlikely, theta, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 15})
    return np.asarray(found.x, np.float64)
