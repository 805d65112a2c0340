"""A reference of a user's own, beside their YAML."""

import numpy as np


def scaled(inputs, parameters, grid):
    """Thread t of a block multiplies by weight t % 4."""
    weights = np.resize(inputs["weight"], inputs["in"].shape)
    return {"out": 2.0 * inputs["in"].astype(np.float64) * weights}
