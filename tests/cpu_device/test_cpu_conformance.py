"""Values: what warps and blocks compute, against oracles in Python."""

import numpy as np
import pytest
from conformance_launches import FULL, VOTE_MASKS, launches, shuffle_cases, source_lane

POISON = np.array([0x7FFBADC0], np.uint32).view(np.int32)[0]
LAUNCHES = {launch.name: launch for launch in launches()}


@pytest.fixture(scope="module")
def computed(bench):
    """Outputs and findings of a launch, by name; each is run once."""
    done = {}

    def run(name):
        if name not in done:
            done[name] = bench.conformance(LAUNCHES[name])
        return done[name]

    return run


def lanes_of(mask):
    """The lanes in a mask."""
    return [lane for lane in range(32) if mask >> lane & 1]


def bits(lanes):
    """The mask of lanes."""
    return sum(1 << lane for lane in lanes)


def test_shuffles_read_the_lane_that_the_ptx_manual_names(computed):
    """All kinds, widths, masks and arguments, also beyond 31 and negative, read the lane of its pseudo code."""
    (out,), findings = computed("shuffleCases")
    out = out.reshape(-1, 32)
    expected = np.full_like(out, -1)
    undefined = 0
    for row, (kind, width, argument, mask) in zip(expected, shuffle_cases(), strict=True):
        for lane in lanes_of(mask):
            source = source_lane(kind, width, argument, lane)
            named = mask >> source & 1
            row[lane] = 100 + source if named else POISON
            undefined += not named
    wrong = np.flatnonzero((out != expected).any(axis=1))
    assert wrong.size == 0, [shuffle_cases()[i] for i in wrong[:5]]
    assert findings.undefined_reads == undefined > 10000
    assert "which is not named in the mask: the value is undefined on a GPU" in findings.first


def test_shuffle_argument_counts_modulo_32(computed):
    """The hardware's own rule, in the words of its documentation's example: 63 reverses a warp, and 40 is 8."""
    (out,), _ = computed("shuffleCases")
    rows = dict(zip(shuffle_cases(), out.reshape(-1, 32), strict=True))
    assert list(rows[3, 32, 63, FULL]) == [100 + 31 - lane for lane in range(32)]
    assert list(rows[0, 32, 40, FULL]) == [108] * 32


def test_shuffles_of_every_size(computed):
    """Values of 1, 2, 4 and 8 bytes, floats and integers, arrive whole."""
    (doubles, floats, words, longs, units, shorts, small), findings = computed("shuffleTypes")
    i = np.arange(32)
    assert (doubles == (i ^ 3) * 1.5 - 7).all()
    assert (floats == np.maximum(i - 1, 0) * np.float32(0.25)).all()
    assert (words == np.where(i < 30, i + 2, i) * 0x100000001).all()
    assert (longs == -1000000007 * ((i + 5) % 32)).all()
    assert (units == (0xFFFFFFF0 + (i ^ 8)) % 2**32).all()
    assert (shorts == np.where(i % 8 < 4, i + 4, i) - 16).all()
    assert (small == (200 + np.where(i % 4 >= 2, i - 2, i)) % 256).all()
    assert findings.undefined_reads == 0


def test_votes(computed):
    """Ballot, any and all see the lanes of their mask only."""
    (out,), _ = computed("votes")
    for rows, mask in zip(out.reshape(-1, 32, 4), VOTE_MASKS, strict=True):
        lanes = lanes_of(mask)
        expected = [bits(k for k in lanes if k % 3 == 0), 4 in lanes, 5 not in lanes, bits(k for k in lanes if k & 4)]
        for lane in range(32):
            assert list(rows[lane]) == (expected if lane in lanes else [0] * 4), (hex(mask), lane)


def test_matches(computed):
    """match_any groups equal values; match_all is true if all are equal."""
    (out,), _ = computed("matches")
    for rows, mask in zip(out.reshape(-1, 32, 6), VOTE_MASKS, strict=True):
        lanes = lanes_of(mask)
        same = len({lane < 31 for lane in lanes}) == 1
        for lane in lanes:
            by_4, by_8 = bits(k for k in lanes if k % 4 == lane % 4), bits(k for k in lanes if k // 8 == lane // 8)
            assert list(rows[lane]) == [by_4, by_8, mask, 1, mask * same, same], (hex(mask), lane)


def test_reductions(computed):
    """The nine reductions of a warp, signed and unsigned."""
    (out,), _ = computed("warpReductions")
    for rows, mask in zip(out.reshape(-1, 32, 9), VOTE_MASKS, strict=True):
        lanes = np.array(lanes_of(mask))
        wrapped = (lanes - 7) % 2**32
        expected = [lanes.sum(), (lanes - 20).sum(), (lanes - 7).min(), wrapped.min(), (lanes - 7).max(), wrapped.max()]
        expected += [np.bitwise_and.reduce(lanes | 256), mask, np.bitwise_xor.reduce(lanes * 77)]
        for lane in lanes:
            assert list(rows[lane]) == [int(value) % 2**32 for value in expected], (hex(mask), lane)


def test_two_groups_of_a_warp_run_independently(computed):
    """Disjoint masks may loop different numbers of times, and meet again."""
    (out,), _ = computed("divergentGroups")
    v, i = np.arange(32), np.arange(32)
    for k in range(5):
        v[:8] += v[:8][np.arange(8) ^ (1 << k % 3)]
    for _ in range(3):
        v[8:] += v[np.where(i % 8 == 7, i, i + 1)][8:]
    assert (out == v + v[0]).all()


def test_barriers_that_count(computed):
    """__syncthreads_count, _and and _or."""
    (out,), _ = computed("barrierCounts")
    assert (out == 86 * 10000 + 1000 + 0 + 10 + 0).all()


def test_returned_threads_do_not_count_at_a_barrier(computed):
    """The barrier waits for, and counts, those that are left."""
    (out,), _ = computed("barrierAfterExit")
    expected = np.zeros(100, int)
    expected[10:70] = 70 * 1000 + 30
    assert (out == expected).all()


def test_one_collective_at_two_places(computed):
    """Lanes meet in the same intrinsic with the same mask wherever they call it."""
    (out,), _ = computed("splitSites")
    assert list(out) == [(lane ^ 1) * 10 for lane in range(32)]


@pytest.mark.parametrize("alive", [1, 17, 20, 31, 32])
def test_returned_lanes_may_stay_in_the_mask(computed, alive):
    """Collectives complete without them; reading one is undefined, and counted."""
    (out,), findings = computed(f"exitedLanes-{alive}")
    reads = [lane ^ 16 if lane ^ 16 < alive else -5 for lane in range(alive)]
    assert list(out) == [read * 100 + alive for read in reads] + [0] * (32 - alive)
    assert findings.undefined_reads == reads.count(-5)


def test_vector_types_have_cudas_layout(computed):
    """Sizes and alignments are those of CUDA's headers."""
    (vectors, pairs, wide, small, sizes), _ = computed("vectorTypes")
    given = np.arange(256, dtype=np.float32).reshape(-1, 4) / 4
    assert (vectors.reshape(-1, 4) == given[:, ::-1]).all()
    assert (pairs.reshape(-1, 2) == np.arange(64)[:, None] * [1, 2]).all()
    assert (wide.reshape(-1, 2) == given[:, :2]).all()
    assert (small.reshape(-1, 4) == np.arange(64)[:, None] + [0, 1, 2, 3]).all()
    assert list(sizes) == [301, 404, 404, 808, 808, 1204, 1616, 808, 1204, 1616, 1616, 1204]


def test_integer_intrinsics(computed):
    """Bits, bytes, shifts, products and differences, against Python's integers."""
    (out,), _ = computed("integerIntrinsics")
    left, right = LAUNCHES["integerIntrinsics"].arguments[:2]
    for row, a, b in zip(out.reshape(-1, 24), map(int, left), map(int, right), strict=True):
        assert [int(value) for value in row] == [value % 2**32 for value in integer_oracle(a, b)], (hex(a), hex(b))


def signed(x, width=32):
    """The bits as a signed number."""
    x %= 1 << width
    return x - (1 << width) if x >> (width - 1) else x


def integer_oracle(a, b):
    """What `integerIntrinsics` computes."""
    wide, sa, sb, shift = a << 32 | b, signed(a), signed(b), b & 63
    both = b << 32 | a  # as bytes: a is the low word
    selector = 0x0246 + (a & 0x1111)
    picked = sum((both >> 8 * (selector >> 4 * i & 7) & 0xFF) << 8 * i for i in range(4))
    left, right = (both << (shift & 31)) >> 32, both >> (shift & 31)
    return [
        a.bit_count(),
        wide.bit_count(),
        32 - a.bit_length(),
        64 - wide.bit_length(),
        (a & -a).bit_length(),
        (wide & -wide).bit_length(),
        int(f"{a:032b}"[::-1], 2),
        int(f"{wide:064b}"[::-1], 2) >> 16,
        picked,
        left,
        right,
        left if shift < 32 else a,
        right if shift < 32 else b,
        signed(a, 24) * signed(b, 24),
        (a & 0xFFFFFF) * (b & 0xFFFFFF),
        sa * sb >> 32,
        a * b >> 32,
        abs(sa - sb) + 5,
        abs(a - b) + 5,
        sa + sb >> 1,
        sa + sb + 1 >> 1,
        a + b >> 1,
        a + b + 1 >> 1,
        min(sa, sb) % 2**32 ^ max(a, b),
    ]


def clamped(x, low, high):
    """A conversion to integers as the GPU does it."""
    return low if x < low else high if x > high else int(x)


def test_conversions_saturate_as_on_the_gpu(computed):
    """Out-of-range floats give the nearest integer of the type, unlike the host's own conversion."""
    (out,), _ = computed("conversions")
    (given, _) = LAUNCHES["conversions"].arguments
    rounded = (np.rint, np.trunc, np.floor, np.ceil)
    for row, x in zip(out.reshape(-1, 12), given, strict=True):
        i32, u32 = (-(2**31), 2**31 - 1), (0, 2**32 - 1)
        expected = [clamped(float(how(x)), *i32) for how in rounded]
        expected += [clamped(float(how(x)), *u32) for how in rounded[:2]]
        truncated = float(np.trunc(x))
        expected += [clamped(truncated, -(2**63), 2**63 - 1), signed(clamped(truncated, 0, 2**64 - 1), 64), expected[1]]
        saturated = np.float32(min(max(x, 0), 1)) + np.float32(0)  # +0 makes +0 of -0
        sums = np.float32(min(x, np.float32(1.5))) + np.float32(max(x, np.float32(-2.5)))
        assert list(row[:9]) == expected, x
        assert row[9] == x.view(np.int32), x
        assert np.int32(row[10]).view(np.float32) == saturated, x
        assert np.int32(row[11]).view(np.float32) == sums, x


def test_atomics_from_several_os_threads(computed):
    """Totals are exact whatever the order, also of floats and of 64-bit integers."""
    (out, ring, wide, total, precise), _ = computed("atomicTotals")
    numbers = LAUNCHES["atomicTotals"].arguments[0]
    assert list(out[:4]) == [numbers.sum(), max(0, numbers.max()), min(0, numbers.min()), -1]
    assert out[4] == np.bitwise_xor.reduce(numbers)
    assert out[5] == -10000
    assert out[6] == 0
    assert out[7] == 77
    assert out[8] == 1
    assert list(out[9:13]) == list(np.bincount(numbers & 3, minlength=4))
    assert ring[0] == 5000 % 100
    assert ring[1] == (0 - 5000) % 100
    assert list(ring[2:22]) == [256] * 19 + [5000 - 19 * 256]
    assert wide[0] == 5000 << 33
    assert total[0] == 5000
    assert precise[0] == 2500


def test_three_dimensional_grids_and_blocks(computed):
    """Indices run x first, then y, then z, in the grid and in the block."""
    (out,), _ = computed("dimensions")
    expected = [
        x | y << 5 | z << 10 | bx << 15 | by << 20 | bz << 25
        for bz in range(2)
        for by in range(3)
        for bx in range(2)
        for z in range(4)
        for y in range(3)
        for x in range(5)
    ]
    assert list(out) == expected
