"""What the kernels of textures.cu should leave."""

import math

import numpy as np

from runner.kernel.reference import ExpectedArray


def rotated(inputs, parameters, grid):
    """The mean of four texels, with weights in full precision; a GPU's are multiples of 1/256."""
    image = inputs["image"].astype(np.float64)
    height, width = image.shape
    cosine, sine = math.cos(0.5), math.sin(0.5)
    v, u = np.meshgrid((np.arange(height) + 0.5) / height - 0.5, (np.arange(width) + 0.5) / width - 0.5, indexing="ij")
    x, y = (u * cosine - v * sine + 0.5) * width - 0.5, (v * cosine + u * sine + 0.5) * height - 0.5
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    a, b = x - left, y - top
    four = {(i, j): image[(top + j) % height, (left + i) % width] for i in (0, 1) for j in (0, 1)}
    upper, lower = ((1 - a) * four[0, j] + a * four[1, j] for j in (0, 1))
    return {"out": ExpectedArray((1 - b) * upper + b * lower, error=2 * np.ptp(image) / 256)}


def shifted(inputs, parameters, grid):
    """Each index one larger, up to the last."""
    volume = inputs["volume"]
    indices = [np.minimum(np.arange(n) + 1, n - 1) for n in volume.shape]
    return {"out": volume[np.ix_(*indices)]}


def beyond(inputs, parameters, grid):
    """Elements at (x - 1, y + 1, z - 1)."""
    padded, repeated = (np.pad(inputs["volume"], ((1, 0), (0, 1), (1, 0)), mode) for mode in ("constant", "edge"))
    return {"zero": padded[:-1, 1:, :-1], "nearest": repeated[:-1, 1:, :-1]}
