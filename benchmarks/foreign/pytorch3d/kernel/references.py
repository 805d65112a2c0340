"""What kernels of PyTorch3D are meant to compute, from its documentation."""

import numpy as np


def packed(inputs, parameters, grid):
    lengths = 40 + 10 * np.arange(parameters["batch"])
    return {"inputs_packed": np.concatenate([row[:n] for row, n in zip(inputs["inputs_padded"], lengths, strict=True)])}


def blended(inputs, parameters, grid):
    number, alpha = inputs["number"], inputs["alpha"].astype(np.float64)
    feature = inputs["feature"].astype(np.float64)
    image = np.zeros((number.shape[0], feature.shape[0], *number.shape[2:]))
    seen = np.ones((number.shape[0], *number.shape[2:]))
    for k in range(number.shape[1]):
        there = number[:, k] >= 0
        weight = np.where(there, seen * alpha[:, k], 0)
        image += np.moveaxis(feature[:, number[:, k]], 0, 1) * weight[:, None]
        seen *= np.where(there, 1 - alpha[:, k], 1)
    return {"image": image}


def gradients(inputs, parameters, grid):
    verts, faces = inputs["verts"].astype(np.float64), inputs["faces"]
    areas, normals = inputs["grad_areas"].astype(np.float64), inputs["grad_normals"].astype(np.float64)
    v0, v1, v2 = (verts[faces[:, k]] for k in range(3))
    normal = np.cross(v1 - v0, v2 - v0)
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    unit = normal / length
    # area = length / 2; d(unit) = (d(normal) - unit (unit . d(normal))) / length
    of_normal = unit * areas[:, None] / 2 + (normals - unit * np.sum(unit * normals, axis=1, keepdims=True)) / length
    total = np.zeros_like(verts)
    np.add.at(total, faces[:, 1], np.cross(v2 - v0, of_normal))
    np.add.at(total, faces[:, 2], np.cross(of_normal, v1 - v0))
    np.add.at(total, faces[:, 0], -np.cross(v2 - v0, of_normal) - np.cross(of_normal, v1 - v0))
    return {"grad_verts": total}


def farthest(inputs, parameters, grid):
    chosen = np.full((parameters["clouds"], parameters["chosen"]), -1, np.int64)
    nearest = np.full((parameters["clouds"], parameters["points"]), 1e10)
    for cloud, place in enumerate(inputs["place"].astype(np.float64)):
        length, last = inputs["length"][cloud], inputs["start"][cloud]
        chosen[cloud, 0] = last
        for k in range(1, min(inputs["wanted"][cloud], length)):
            squares = np.sum((place[:length] - place[last]) ** 2, axis=1)
            nearest[cloud, :length] = np.minimum(nearest[cloud, :length], squares)
            last = np.argmax(nearest[cloud, :length])
            chosen[cloud, k] = last
    return {"index_of": chosen, "nearest": nearest}


def _centre(i, size, other):  # of a pixel, where the shorter side of the image goes from -1 to 1
    half = max(1, size / other)
    return -half + half * (2 * i + 1) / size


def covering(inputs, p, grid):
    shape = p["batch"], p["high"], p["wide"], p["nearest"]
    found = np.full(shape, -1, np.int32), np.full(shape, -1.0), np.full(shape, -1.0)
    points, radius = inputs["points_"].astype(np.float64), inputs["radius"].astype(np.float64)
    for n, y, x in np.ndindex(shape[:3]):
        listed = inputs["bin_points"][n, y // p["bin"], x // p["bin"]]
        listed = listed[listed >= 0]
        away = points[listed, :2] - (_centre(x, p["wide"], p["high"]), _centre(y, p["high"], p["wide"]))
        squares = np.sum(away**2, axis=1)
        covers = (squares < radius[listed] ** 2) & (points[listed, 2] >= 0)
        listed, squares = listed[covers], squares[covers]
        order = np.argsort(points[listed, 2])[: p["nearest"]]
        place = n, p["high"] - 1 - y, p["wide"] - 1 - x, slice(0, len(order))
        for array, values in zip(found, (listed, points[listed, 2], squares), strict=True):
            array[place] = values[order]
    return dict(zip(("point_idxs", "zbuf", "pix_dists"), found, strict=True))


def _from_segment(p, a, b):
    t = np.clip(np.dot(p - a, b - a) / np.dot(b - a, b - a), 0, 1)
    return np.sum((a + t * (b - a) - p) ** 2)


def from_triangles(inputs, parameters, grid):
    found = np.zeros((parameters["points"], parameters["triangles"]))
    for i, p in enumerate(inputs["points_"].astype(np.float64)):
        for j, (a, b, c) in enumerate(inputs["tris"].astype(np.float64)):
            normal = np.cross(b - a, c - a)
            if np.linalg.norm(normal) / 2 >= parameters["least"]:
                weights = np.linalg.solve(np.stack((a - c, b - c, normal), axis=1), p - c)
                if weights[0] >= 0 and weights[1] >= 0 and weights[0] + weights[1] <= 1:
                    found[i, j] = np.dot(p - a, normal) ** 2 / np.dot(normal, normal)
                    continue
            found[i, j] = min(_from_segment(p, *ends) for ends in ((a, b), (a, c), (b, c)))
    return {"dists": found}
