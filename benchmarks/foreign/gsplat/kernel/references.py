from math import factorial, pi, sqrt

import numpy as np

f = np.float32


def encoded16(inputs, parameters, grid):
    c = inputs["coeffs_in"].astype(f)
    inverse = np.array([1, 1.5, 1.25, 1.75, 2, 1.1875, 1.375, 1.625, 1.875, 1, 1.5, 1.25, 1.75, 2, 1.1875, 1.375], f)
    red, green, blue = c[:, :, 0], c[:, :, 1], c[:, :, 2]
    y = f(0.25) * red + f(0.5) * green + f(0.25) * blue
    norm = y * inverse
    bent = np.copysign(np.sqrt(np.abs(norm)), norm) * f(31)
    q = np.clip(np.sign(bent) * np.floor(np.abs(bent) + f(0.5)), -32, 31) + 32
    q = q.astype(np.uint64)
    r, g, b = (x[:, 0] * f(0.2820947917738781) + f(0.5) for x in (red, green, blue))
    luma = (f(0.25) * r + f(0.5) * g + f(0.25) * b).astype(np.float16).view(np.uint16).astype(np.uint64)

    def eleven(x):  # float16 rounded to five bits of mantissa, ties away from zero
        x = x.astype(np.float16)
        lead = (x.view(np.uint16) & 0xFC00).view(np.float16).astype(np.float64)
        return ((x.astype(np.float64) + lead / 64).astype(np.float16).view(np.uint16) >> 5).astype(np.uint64)

    co = eleven(f(0.5) * r - f(0.5) * b)
    cg = eleven(f(-0.25) * r + f(0.5) * g - f(0.25) * b)
    first = luma | co << 16 | (cg & 31) << 27
    bits = [(cg >> 5, 6)] + [(q[:, k], 6) for k in range(1, 16)]
    words, at = [np.zeros_like(first) for _ in range(3)], 0
    for value, width in bits:
        word, shift = divmod(at, 32)
        words[word] |= value << np.uint64(shift) & 0xFFFFFFFF
        if shift + width > 32:
            words[word + 1] |= value >> np.uint64(32 - shift)
        at += width
    return {"packed_out": np.stack([first, *words], axis=1).astype(np.uint32)}


def triangle(c, x, y):  # c has the powers of x times y ** 0, then those times y ** 1, ...
    total, at = 0.0, 0
    for power in range(6):
        for k in range(6 - power):
            total = total + c[at] * x**k * y**power
            at += 1
    return total


FORWARD = (
    [
        0.015625,
        0.9375,
        0.0625,
        -0.03125,
        0.015625,
        0.0078125,
        0.125,
        -0.0625,
        0.03125,
        0.015625,
        -0.0078125,
        0.0625,
        0.03125,
        0.015625,
        0.0078125,
        -0.03125,
        0.015625,
        0.0078125,
        0.015625,
        0.0078125,
        0.00390625,
    ],
    [
        -0.03125,
        0.0625,
        0.03125,
        -0.015625,
        0.015625,
        0.0078125,
        0.875,
        -0.0625,
        0.03125,
        0.015625,
        -0.0078125,
        0.0625,
        0.03125,
        0.015625,
        0.0078125,
        -0.03125,
        0.015625,
        0.0078125,
        0.015625,
        0.0078125,
        0.00390625,
    ],
)
INVERSE = (
    [
        0.03125,
        0.75,
        0.0625,
        -0.0625,
        0.015625,
        0.0078125,
        0.0625,
        -0.0625,
        0.03125,
        0.015625,
        -0.0078125,
        0.125,
        0.03125,
        0.015625,
        0.0078125,
        -0.0625,
        0.015625,
        0.0078125,
        0.015625,
        0.0078125,
        0.00390625,
    ],
    [
        -0.015625,
        0.125,
        0.03125,
        -0.015625,
        0.015625,
        0.0078125,
        0.8125,
        -0.0625,
        0.0625,
        0.015625,
        -0.0078125,
        0.0625,
        0.03125,
        0.015625,
        0.0078125,
        -0.03125,
        0.015625,
        0.015625,
        0.015625,
        0.0078125,
        0.0078125,
    ],
)


def bent(ray, horizontal, vertical):  # in double
    length = np.sqrt(np.sum(ray * ray, axis=-1))
    phi, theta = np.arcsin(ray[..., 0] / length), np.arcsin(ray[..., 1] / length)
    x, y = np.sin(triangle(horizontal, phi, theta)), np.sin(triangle(vertical, phi, theta))
    z = np.sqrt(1 - np.minimum(x * x + y * y, 1)) * np.where(ray[..., 2] < 0, -1, 1)
    return np.stack([x, y, z], axis=-1)


def distorted(inputs, parameters, grid):
    rays = inputs["rays"].astype(np.float64)
    return {"result": bent(rays, *(INVERSE if parameters["inverse"] else FORWARD))}


def polynomial(c, order, x, y):  # rows for y ** 0, y ** 1, ...
    total, at = 0.0, 0
    for j in range(order + 1):
        for i in range(order + 1 - j):
            total += c[at] * x**i * y**j
            at += 1
    return total


def rotated(q, v):  # by the inverse of q = (w, x, y, z)
    w, u = q[0], -q[1:]
    return v + 2 * np.cross(u, np.cross(u, v) + w * v)


def between(a, b, t):
    dot = np.dot(a, b)
    b = b if dot >= 0 else -b
    dot = min(abs(dot), 1.0)
    if dot > 0.9995:
        q = (1 - t) * a + t * b
        return q / np.sqrt(np.dot(q, q))
    angle = np.arccos(dot)
    return (np.sin((1 - t) * angle) * a + np.sin(t * angle) * b) / np.sin(angle)


def through_lens(lens, ray):
    focal, centre, k, p, s, width, height = lens
    if ray[2] <= 0:
        return np.zeros(2), False, (0.0, 0.0, 0.0)
    x, y = ray[:2] / ray[2]
    r2 = x * x + y * y
    den = 1 + r2 * (k[3] + r2 * (k[4] + r2 * k[5]))
    radial = (1 + r2 * (k[0] + r2 * (k[1] + r2 * k[2]))) / den
    if radial < 0.8 or radial > 1.2:
        at = np.array([x, y]) * np.hypot(width, height) / np.sqrt(r2) + centre
    else:
        dx = 2 * p[0] * x * y + p[1] * (r2 + 2 * x * x) + r2 * (s[0] + r2 * s[1])
        dy = p[0] * (r2 + 2 * y * y) + 2 * p[1] * x * y + r2 * (s[2] + r2 * s[3])
        at = np.array([x * radial + dx, y * radial + dy]) * focal + centre
    return at, bool(0 <= at[0] < width and 0 <= at[1] < height), (r2, radial, den)


def projected(inputs, parameters, grid):
    d = {name: np.asarray(a, np.float64) for name, a in inputs.items()}
    count, kind, width, height = parameters["count"], parameters["shutter"], 640, 480
    lens = d["focal"], d["principal"], d["radial"], d["tangential"], d["prism"], width, height
    h, v = d["windshield"][:6], d["windshield"][6:21]
    out = {
        "image_points": np.zeros((count, 2)),
        "valid_flags": np.zeros(count, bool),
        "timestamps_us": np.zeros(count, np.int64),
        "pose_translations": np.zeros((count, 3)),
        "pose_rotations": np.zeros((count, 4)),
        "scratch": np.zeros((count, 10)),
    }
    for i, point in enumerate(d["world_points"]):
        time, before, at, valid, kept = f(0.5), np.zeros(2), np.zeros(2), False, (0.0, 0.0, 0.0)
        for step in range(parameters["iterations"]):
            t = float(time)
            place = d["start_translation"] + (d["end_translation"] - d["start_translation"]) * t
            turn = between(d["start_rotation"], d["end_rotation"], t)
            away = point - place
            seen = rotated(turn, away)
            alpha = t
            if seen[2] <= 0:
                valid = False
                break
            ray = seen / np.sqrt(np.dot(seen, seen))
            phi, theta = np.arcsin(ray[0]), np.arcsin(ray[1])
            x, y = np.sin(polynomial(h, 2, phi, theta)), np.sin(polynomial(v, 4, phi, theta))
            at, valid, kept = through_lens(lens, np.array([x, y, np.sqrt(np.clip(1 - x * x - y * y, 0, 1))]))
            if kind == 5 or not valid:
                break
            rows = [None, np.floor(at[1]), np.floor(at[0]), height - np.ceil(at[1]), width - np.ceil(at[0])][kind]
            later = f(rows) / f((height if kind in (1, 3) else width) - 1)
            if step > 0 and np.hypot(*(at - before)) < 0.001:
                break
            if abs(later - time) * width < 0.001:
                break
            before, time = at, later
        out["image_points"][i], out["valid_flags"][i] = at, valid
        out["timestamps_us"][i] = int(1000000.0 + float(time) * 33000.0)
        out["pose_translations"][i], out["pose_rotations"][i] = place, turn
        out["scratch"][i] = [*away, *seen, *kept, alpha]
    return out


def harmonic(l, m, theta_z, phi):  # real, with the sign of 3D Gaussian splatting
    a, x = abs(m), theta_z
    p = np.ones_like(x)  # associated Legendre polynomials with (-1)^m
    somx2 = np.sqrt((1 - x) * (1 + x))
    for i in range(a):
        p = -p * (2 * i + 1) * somx2
    if l > a:
        p1 = x * (2 * a + 1) * p
        for n in range(a + 2, l + 1):
            p, p1 = p1, ((2 * n - 1) * x * p1 - (n + a - 1) * p) / (n - a)
        p = p1
    scale = sqrt((2 * l + 1) / (4 * pi) * factorial(l - a) / factorial(l + a))
    if m == 0:
        return scale * p
    return sqrt(2) * scale * p * (np.cos(a * phi) if m > 0 else np.sin(a * phi))


def coloured(inputs, parameters, grid):
    b, c, n, degree = (parameters[name] for name in ("B", "C", "N", "degree"))
    view = inputs["viewmats"].astype(np.float64).reshape(b, c, 4, 4)
    offset = np.einsum(
        "bcij,bci->bcj", view[:, :, :3, :3], view[:, :, :3, 3]
    )  # the rotation's transpose times the shift
    away = inputs["means"].astype(np.float64)[:, None] + offset[:, :, None]
    away /= np.sqrt(np.sum(away * away, axis=-1, keepdims=True))
    phi = np.arctan2(away[..., 1], away[..., 0])
    basis = [harmonic(l, m, away[..., 2], phi) for l in range(degree + 1) for m in range(-l, l + 1)]
    coeffs = inputs["coeffs"].astype(np.float64)[:, : len(basis)]
    colors = np.einsum("kbcn,nkd->bcnd", np.array(basis), coeffs).reshape(b * c * n, -1)
    return {"colors": np.where(inputs["masks"][:, None], colors, inputs["colors"])}


def contributing(inputs, parameters, grid):
    images, wide, high, tile, n = (parameters[name] for name in ("images", "wide", "high", "tile", "n_isects"))
    means, conics, opacities = (inputs[name].astype(np.float64) for name in ("means2d", "conics", "opacities"))
    across, down = -(-wide // tile), -(-high // tile)
    starts = [*inputs["tile_offsets"].tolist(), n]
    num, alphas = np.zeros((images, high, wide), np.int32), np.zeros((images, high, wide))
    for at in range(images * across * down):
        image, place = divmod(at, across * down)
        y, x = np.mgrid[0:tile, 0:tile] + np.array(divmod(place, across))[:, None, None] * tile
        clear, count, done = np.ones((tile, tile)), np.zeros((tile, tile), int), (x >= wide) | (y >= high)
        for g in inputs["flatten_ids"][starts[at] : starts[at + 1]]:
            dx, dy = means[g, 0] - (x + 0.5), means[g, 1] - (y + 0.5)
            sigma = 0.5 * (conics[g, 0] * dx * dx + conics[g, 2] * dy * dy) + conics[g, 1] * dx * dy
            alpha = np.minimum(0.99, opacities[g] * np.exp(-sigma))
            hit = ~done & (sigma >= 0) & (alpha >= 1 / 255)
            after = clear * (1 - alpha)
            done |= hit & (after <= 1e-4)
            hit &= ~done
            clear, count = np.where(hit, after, clear), count + hit
        inside = (x < wide) & (y < high)
        num[image, y[inside], x[inside]], alphas[image, y[inside], x[inside]] = count[inside], 1 - clear[inside]
    return {"num": num, "alphas": alphas}
