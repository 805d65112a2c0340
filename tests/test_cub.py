"""CUB's collectives, on each device."""

from __future__ import annotations

import numpy as np
from support import ROOT, constant

from runner.device import Source

FILE = ROOT / "tests" / "kernels" / "cuda" / "cub.cu"
THREADS, ITEMS = 96, 4
SIZE = THREADS * ITEMS
VALUES = np.random.default_rng(1).integers(-500, 500, SIZE).astype(np.int32)


def kernel(name: str) -> Source:
    """A kernel of the file."""
    return Source(FILE, FILE.read_text(), name)


def scanned(steps: list[tuple[int, int, int]]) -> list[int]:
    """The digests of all compositions from the first step on."""
    digests, (scale, offset, count) = [], (1, 0, 0)
    for s, o, c in steps:
        scale, offset, count = scale * s, offset * s + o, count + c
        digests.append((scale * 31 + offset * 7 + count) % 2**32)
    return digests


def steps_of(values: np.ndarray) -> list[tuple[int, int, int]]:
    """The step of each thread."""
    return [(int(x) % 2**32 | 1, t, 1) for t, x in enumerate(values)]


def test_reductions_of_a_block(bench):
    """Sum, minimum, maximum, several items a thread, and only the first items; in order if the operator asks for it."""
    valid = 41
    x = VALUES[:THREADS]
    out, steps = bench.call(
        kernel("reductions"), constant(VALUES), np.zeros(5, np.int32), np.zeros(1, np.uint32), valid, block=(8, 12)
    )
    assert list(out) == [x.sum(), x.max(), x[:valid].sum(), VALUES[: 2 * THREADS].min(), x[:valid].min()]
    assert steps[0] == scanned(steps_of(x))[-1]


def test_scans_of_a_block(bench):
    """Sums and maxima up to each item, with and without it, an initial value, an aggregate, and a running prefix."""
    out, steps = bench.call(
        kernel("scans"),
        constant(VALUES),
        np.zeros((19, THREADS), np.int32),
        np.zeros(THREADS, np.uint32),
        block=THREADS,
    )
    x, blocked = VALUES[:THREADS], VALUES.reshape(THREADS, ITEMS)
    highest = np.maximum.accumulate
    sums, items = np.cumsum(x), np.cumsum(VALUES).reshape(THREADS, ITEMS)
    before = np.concatenate([[3], np.maximum(highest(VALUES), 3)[:-1]]).reshape(THREADS, ITEMS)
    everywhere = np.ones(THREADS, int)
    second = VALUES[THREADS : 2 * THREADS]
    expected = [
        sums,
        sums - x,
        sums - x,
        x.sum() * everywhere,
        highest(x),
        np.maximum(np.concatenate([[7], highest(x)[:-1]]), 7),
        x.max() * everywhere,
        np.concatenate([[0], highest(x)[:-1]]),
        *(items - blocked)[:, [0, 3]].T,
        *items[:, [0, 3]].T,
        VALUES.sum() * everywhere,
        *before[:, [0, 2]].T,
        *highest(VALUES).reshape(THREADS, ITEMS)[:, [0, 3]].T,
        1000 + sums - x,
        1000 + x.sum() + np.cumsum(second) - second,
    ]
    assert [list(row) for row in out] == [list(row) for row in expected]
    assert list(steps) == scanned(steps_of(x))


def test_reductions_and_scans_of_a_warp(bench):
    """Whole warps and parts of eight lanes, the first lanes only, segments, and values of 12 bytes."""
    out, steps = bench.call(
        kernel("warps"),
        constant(VALUES),
        np.zeros((12, THREADS), np.int32),
        np.zeros(THREADS, np.uint32),
        block=THREADS,
    )
    x, lane = VALUES[:THREADS].reshape(-1, 32), np.arange(32)
    highest = np.maximum.accumulate
    eights = VALUES[:THREADS].reshape(-1, 8)

    def at_first(values, step):
        rows = np.zeros((THREADS // 32, 32), int)
        rows[:, ::step] = values
        return rows

    sums = np.cumsum(x, axis=1)
    shifted = np.concatenate([np.full((len(eights), 1), -9), eights[:, :-1]], axis=1)
    expected = [
        at_first(x.sum(axis=1)[:, None], 32),
        at_first(x[:, :20].max(axis=1)[:, None], 32),
        at_first(eights.min(axis=1).reshape(-1, 4), 8),
        at_first(np.add.reduceat(x, lane[::5], axis=1), 5),
        at_first(np.maximum.reduceat(x, lane[::5], axis=1), 5),
        sums,
        sums - x,
        np.repeat(x.sum(axis=1), 32),
        np.maximum(highest(x, axis=1), 5),
        np.maximum(np.concatenate([np.full((3, 1), 5), highest(x, axis=1)[:, :-1]], axis=1), 5),
        highest(shifted, axis=1),
        np.repeat(x[:, 3], 32),
    ]
    assert [list(row) for row in out] == [list(np.ravel(row)) for row in expected]
    all_steps = steps_of(VALUES[:THREADS])
    assert list(steps) == [d for w in range(0, THREADS, 32) for d in scanned(all_steps[w : w + 32])]


def test_loads_and_stores_of_a_block(bench):
    """All algorithms bring each thread its items, or a default behind the end, and store no more than there are."""
    valid = SIZE - 7
    out, held = bench.call(
        kernel("copies"),
        constant(VALUES),
        np.zeros((5, 2, SIZE), np.int32),
        np.zeros((5, SIZE), np.int32),
        valid,
        block=THREADS,
    )
    first = np.where(np.arange(SIZE) < valid, VALUES, -1)
    for stored, whole in out:
        assert list(stored) == list(np.where(np.arange(SIZE) < valid, VALUES, 0))
        assert list(whole) == list(VALUES)
    for blocked in held[:4]:
        assert list(blocked) == list(first)
    assert list(held[4]) == list(first.reshape(ITEMS, THREADS).T.ravel())


def test_sorts_exchanges_and_histograms_of_a_block(bench):
    """Keys with values, some bits of keys, floats with both zeros; items between arrangements; counts."""
    keys = np.random.default_rng(2).normal(0, 1e3, SIZE).astype(np.float32)
    keys[:6] = [0.0, -0.0, np.inf, -np.inf, 1e-40, -1e-40]
    out, floats, bins = bench.call(
        kernel("sorts"),
        constant(VALUES),
        np.zeros((8, SIZE), np.int32),
        constant(keys),
        np.zeros(SIZE, np.float32),
        np.zeros(16, np.uint32),
        block=THREADS,
    )
    digits = (VALUES.view(np.uint32) ^ 2**31) >> 4 & 255
    scattered = np.zeros(SIZE, np.int32)
    scattered[np.arange(SIZE) * 5 % SIZE] = VALUES
    to_striped = VALUES.reshape(ITEMS, THREADS).T.ravel()
    to_blocked = VALUES.reshape(THREADS, ITEMS).T.ravel()
    in_warps = VALUES.reshape(-1, ITEMS, 32).transpose(0, 2, 1).ravel()
    expected = [
        np.sort(VALUES),
        np.argsort(VALUES, kind="stable"),
        np.argsort(-digits.astype(int), kind="stable"),
        np.sort(VALUES).reshape(ITEMS, THREADS).T.ravel(),
        to_striped,
        to_blocked,
        scattered,
        in_warps,
    ]
    assert [list(row) for row in out] == [list(row) for row in expected]
    assert list(floats) == list(np.sort(keys)[::-1])
    assert list(bins) == list(np.bincount(VALUES & 15, minlength=16))
