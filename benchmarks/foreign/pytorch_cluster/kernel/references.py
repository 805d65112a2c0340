import numpy as np


def _distances(x, y):
    """Squared distances of each y (rows) from each x (columns), in double."""
    x, y = x.astype(np.float64), y.astype(np.float64)
    return ((y[:, None, :] - x[None, :, :]) ** 2).sum(axis=2)


def _same_example(inputs, n, m):
    of_x = np.searchsorted(inputs["ptr_x"], np.arange(n), side="right") - 1
    of_y = np.searchsorted(inputs["ptr_y"], np.arange(m), side="right") - 1
    return of_y[:, None] == of_x[None, :]


def radius(inputs, parameters, grid):
    x, y, most = inputs["x"], inputs["y"], parameters["max_num_neighbors"]
    near = (_distances(x, y) < parameters["radius"] ** 2) & _same_example(inputs, len(x), len(y))
    if parameters["same"]:
        near &= ~np.eye(len(y), len(x), dtype=bool)
    row, col = np.full((len(y), most), -1), np.full((len(y), most), -1)
    for i in range(len(y)):
        found = np.flatnonzero(near[i])[:most]
        row[i, : len(found)], col[i, : len(found)] = i, found
    return {"row": row, "col": col}


def knn(inputs, parameters, grid):
    x, y, k = inputs["x"].astype(np.float64), inputs["y"].astype(np.float64), parameters["k"]
    if parameters["cosine"]:
        away = 1 - y @ x.T / (np.linalg.norm(y, axis=1)[:, None] * np.linalg.norm(x, axis=1)[None, :])
    else:
        away = _distances(x, y)
    away = np.where(_same_example(inputs, len(x), len(y)), away, np.inf)
    order = np.argsort(away, axis=1, kind="stable")[:, :k]
    col = np.where(np.isinf(np.take_along_axis(away, order, 1)), -1, order)
    return {"row": np.repeat(np.arange(len(y))[:, None], k, axis=1), "col": col}


def nearest(inputs, parameters, grid):
    x, y = inputs["x"], inputs["y"]
    away = np.where(
        _same_example({"ptr_x": inputs["ptr_y"], "ptr_y": inputs["ptr_x"]}, len(y), len(x)), _distances(y, x), np.inf
    )
    return {"out": np.argmin(away, axis=1)}


def farthest(inputs, parameters, grid):
    src, ptr, out_ptr = inputs["src"].astype(np.float64), inputs["ptr"], inputs["out_ptr"]
    dist, out = inputs["dist"].astype(np.float64).copy(), np.zeros(out_ptr[-1], dtype=np.int64)
    for b in range(len(ptr) - 1):
        first, last = ptr[b], ptr[b + 1]
        out[out_ptr[b]] = first + inputs["start"][b]
        for m in range(out_ptr[b] + 1, out_ptr[b + 1]):
            dist[first:last] = np.minimum(dist[first:last], ((src[first:last] - src[out[m - 1]]) ** 2).sum(axis=1))
            out[m] = first + np.argmax(dist[first:last])
    return {"dist": dist, "out": out}


class _Xorwow:
    """cuRAND's default generator, as curand_init(seed, 0, 0) begins it."""

    def __init__(self, seed):
        a, b = 1099087573 * (seed ^ 0xAAD26B49), 2591861531 * 0xF7DCEFDD
        self.v = [w & 0xFFFFFFFF for w in (123456789 + a, 362436069 ^ a, 521288629 + b, 88675123 ^ b, 5783321 + a)]
        self.d = (6615241 + a + b) & 0xFFFFFFFF

    def word(self):
        t = self.v[0] ^ (self.v[0] >> 2)
        last = self.v[4]
        self.v = [*self.v[1:], ((last ^ (last << 4)) ^ (t ^ (t << 1))) & 0xFFFFFFFF]
        self.d = (self.d + 362437) & 0xFFFFFFFF
        return (self.v[4] + self.d) & 0xFFFFFFFF

    def uniform(self):
        return float(np.float32(self.word()) * np.float32(2.3283064e-10) + np.float32(2.3283064e-10 / 2))


def walk(inputs, parameters, grid):
    """node2vec: the next node is a random neighbour x of v, taken with a probability that depends on the node t before v."""
    rowptr, col, start = (inputs[name].tolist() for name in ("rowptr", "col", "start"))
    length, p, q = parameters["walk_length"], float(parameters["p"]), float(parameters["q"])
    most = max(1 / p, 1, 1 / q)
    nodes, edges = np.empty((length + 1, len(start)), np.int64), np.empty((length, len(start)), np.int64)
    for i, t in enumerate(start):
        random = _Xorwow(parameters["number"])
        nodes[0, i], before, v = t, None, t
        for step in range(length):
            first, degree = rowptr[v], rowptr[v + 1] - rowptr[v]
            if degree == 0:
                edge, x = -1, v
            elif before is not None and degree == 1:
                edge = first
                x = col[edge]
            else:
                while True:
                    edge = first + random.word() % degree
                    x = col[edge]
                    if before is None:
                        break
                    r = random.uniform()
                    near = before in col[rowptr[x] : rowptr[x + 1]]
                    if (x == before and r < 1 / p / most) or (near and r < 1 / most) or r < 1 / q / most:
                        break
            edges[step, i], nodes[step + 1, i] = edge, x
            before, v = v, x
    return {"n_out": nodes, "e_out": edges}
