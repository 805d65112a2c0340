"""What textures give, after the CUDA C++ Programming Guide's chapter on texture fetching."""

import itertools

import numpy as np


def around(x, size):
    """A coordinate from a quarter before the texture to a quarter behind it, in float as in the kernel."""
    scaled = (x * np.float32(1.5) - np.float32(0.25)) * np.float32(size) * np.float32(64)
    return (np.floor(scaled).astype(np.float64) + 0.5) / 64


def turns(x, size):
    """A normalized coordinate in four copies of the texture."""
    return around(x, 4 * size) / size


def element(texels, indices, address):
    """Elements by whole numbers, inside and outside."""
    inside = np.ones(indices[0].shape, bool)
    places = []
    for index, size in zip(indices, texels.shape, strict=True):
        inside &= (index >= 0) & (index < size)
        places.append(index % size if address == "wrap" else np.clip(index, 0, size - 1))
    found = texels[tuple(places)].astype(np.float64)
    return np.where(inside, found, 0) if address == "border" else found


def read(texels, coordinates, *, filters=False, address="clamp", normalized=False):
    """A texture at coordinates, x first."""
    texels = np.asarray(texels)
    coordinates = coordinates[::-1]
    if normalized:
        turns = [np.floor(x) for x in coordinates]
        coordinates = [x - n for x, n in zip(coordinates, turns, strict=True)]
        if address == "mirror":
            coordinates = [np.where(n % 2, 1 - x, x) for x, n in zip(coordinates, turns, strict=True)]
        coordinates = [x * size for x, size in zip(coordinates, texels.shape, strict=True)]
    if not filters:
        return element(texels, [np.floor(x).astype(int) for x in coordinates], address)
    first = [np.floor(x - 0.5) for x in coordinates]
    weights = [np.rint((x - 0.5 - f) * 256) / 256 for x, f in zip(coordinates, first, strict=True)]
    total = 0
    for corner in itertools.product((0, 1), repeat=len(coordinates)):
        weight = np.prod([w if c else 1 - w for w, c in zip(weights, corner, strict=True)], axis=0)
        total = total + weight * element(
            texels, [f.astype(int) + c for f, c in zip(first, corner, strict=True)], address
        )
    return total


def expected(inputs, parameters, _):
    """The rows of the kernel's output."""
    x, y, z = inputs["at"].T
    table, index = inputs["table"], np.trunc(around(x, 100)).astype(int)
    colours = [read(inputs["colours"][..., c], (around(x, 6), around(y, 6))) * np.float64(2.0**c) for c in range(4)]
    rows = [
        read(inputs["image"], (around(x, 13), around(y, 9)), filters=True),
        read(inputs["wrapped"], (turns(x, 16), turns(y, 8)), filters=True, address="wrap", normalized=True),
        read(inputs["bytes"] / 255.0, (around(x, 7), around(y, 5)), address="border"),
        read(inputs["volume"], (around(x, 5), around(y, 4), around(z, 3)), filters=True, address="border"),
        read(inputs["line"], (turns(x, 16),), filters=True, address="mirror", normalized=True),
        np.where((index >= 0) & (index < 100), table[np.clip(index, 0, 99)], 0),
        np.sum(colours, axis=0),
        read(inputs["halves"], (around(x, 4), around(y, 4)), filters=True),
        read(inputs["signs"], (around(x, 20),)),
    ]
    return {"out": np.array(rows, np.float32)}
