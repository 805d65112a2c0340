"""References in Python for hidden.cu."""

import numpy as np

from runner.kernel.reference import ExpectedArray


def halves(inputs, parameters, grid):
    """Which numbers are at least a half."""
    return {"out": (inputs["in"] >= 0.5).astype(np.int32)}


def halves_or_so(inputs, parameters, grid):
    """The same, if either is right."""
    return {"out": ExpectedArray((inputs["in"] >= 0.5).astype(np.int32), error=1)}


def order(inputs, parameters, grid):
    """The indices that sort rows of 50."""
    return {"out": np.argsort(inputs["in"].reshape(-1, 50), axis=1, kind="stable").reshape(-1)}


def largest(inputs, parameters, grid):
    """The largest of rows of 50."""
    return {"out": inputs["in"].reshape(-1, 50).max(axis=1)}
