"""The model of a warp's accesses: known truths, and a count of another kind for drawn patterns."""

import dataclasses
import random

import pytest
from support import KERNELS, case_of, read_kernel, shipped

from runner.errors import UsageError
from runner.kernel import access
from runner.kernel.expression import Expression
from runner.sweep import results

LOADS, STORES = "shared_load_wavefronts", "shared_store_wavefronts"
READ, WRITTEN = "global_load_sectors", "global_store_sectors"


def lanes(index, count=32):
    """The elements of a warp's lanes, by a function of the lane."""
    return [index(lane) for lane in range(count)]


@pytest.mark.parametrize(
    ("stride", "passes"), [(0, 1), (1, 1), (2, 2), (3, 1), (4, 4), (8, 8), (16, 16), (31, 1), (32, 32), (33, 1)]
)
def test_a_stride_costs_what_the_books_say(stride, passes):
    """32 lanes apart by a stride share banks as often as the stride and 32 have a common divisor; 0 broadcasts."""
    assert access.wavefronts(lanes(lambda i: i * stride), 4) == passes
    assert access.costs(case_of(shipped("bankAccess"), stride=stride))[LOADS] == passes


@pytest.mark.parametrize(("itemsize", "passes", "moved"), [(2, 1, 2), (4, 1, 4), (8, 2, 8)])
def test_neighbours_cost_what_their_bytes_need(itemsize, passes, moved):
    """Elements side by side fill banks and sectors; two of 2 bytes share a word, 8 bytes need two passes."""
    assert access.wavefronts(lanes(lambda i: i), itemsize) == passes
    assert access.sectors(lanes(lambda i: i), itemsize) == moved


def test_a_vector_is_served_by_quarters_of_the_warp():
    """16 bytes a lane: 8 lanes fill the banks, so neighbours need 4 passes, and 16 sectors; idle quarters cost none."""
    assert access.wavefronts(lanes(lambda i: i), 16) == 4
    assert access.sectors(lanes(lambda i: i), 16) == 16
    assert access.wavefronts(lanes(lambda i: i if i < 9 else None), 16) == 2
    assert access.wavefronts(lanes(lambda i: i * 8), 16) == 32  # 8 lanes of a quarter, all on the same four banks
    assert access.wavefronts(lanes(lambda i: i ^ 5), 16) == 4  # the order within a quarter does not matter
    assert access.wavefronts(lanes(lambda i: i // 2), 16) == 4  # taken so: nobody counted whether quarters go together


def test_a_declared_vector_costs_what_its_bytes_need(declared):
    """The index is that of the first element; 4 of 4 bytes, or 2 of 8, are 16 bytes, and 2 of 4 are 8."""
    for dtype, vector, moved, passes in (("int32", 4, 16, 4), ("float64", 2, 16, 4), ("int32", 2, 8, 2)):
        index = f"(thread_y * block_x + thread_x) * {vector}"
        kernel = with_vector(declared(*((m, "load", index, "1") for m in ("global", "shared"))), vector)
        costs = access.costs(case_of(kernel, block="64x2", dtype=dtype))
        assert (costs[READ], costs[LOADS]) == (moved, passes)


def with_vector(kernel, text):
    """The kernel, with accesses of so many elements at once."""
    vector = Expression(str(text), "mine.yaml: vector", number=True)
    return dataclasses.replace(kernel, accesses=tuple(dataclasses.replace(a, vector=vector) for a in kernel.accesses))


@pytest.mark.parametrize(
    ("vector", "index", "words"),
    [(8, "0", "32 bytes at once"), (0, "0", "0 bytes at once"), (4, "twist", "begin at multiples of 4")],
)
def test_a_vector_that_is_no_instructions_is_a_mistake(vector, index, words, declared):
    """Planning the case reports 32 bytes at once, none at all, or a vector that does not begin at a multiple."""
    with pytest.raises(UsageError, match=words):
        case_of(with_vector(declared(("global", "load", index, "1")), vector))


def test_lanes_that_take_no_part_cost_nothing():
    """A warp of which one lane is active pays for that lane; one without any pays nothing; half a warp saves a half."""
    assert access.wavefronts(lanes(lambda i: i * 32 if i == 7 else None), 4) == 1
    assert access.sectors(lanes(lambda i: i * 32 if i == 7 else None), 8) == 1
    assert access.wavefronts([None] * 32, 4) == access.sectors([None] * 32, 4) == 0
    assert access.wavefronts(lanes(lambda i: i if i < 16 else None), 8) == 1
    assert access.wavefronts(lanes(lambda i: i, count=5), 8) == 1


# Which 8-byte element each lane loads, and the wavefronts that an H200 counted for the request (Nsight Compute,
# l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum of one warp's single load).
MEASURED = {
    "all the same": (lambda t: t // 32, 1), "neighbours": (lambda t: t, 2), "two halves alike": (lambda t: t % 16, 2),
    "pairs": (lambda t: t // 2, 1), "fours": (lambda t: t // 4, 1), "two values": (lambda t: t // 16, 1),
    "two values of one bank": (lambda t: t // 16 * 16, 2), "eights repeated": (lambda t: t % 8, 2),
    "backwards": (lambda t: 31 - t, 2), "pairs exchanged": (lambda t: t ^ 1, 2), "even and odd": (lambda t: t % 2, 1),
    "fours repeated": (lambda t: t % 4, 2), "odd ones": (lambda t: t | 1, 2), "two further": (lambda t: t | 2, 2),
    "two back": (lambda t: t & ~2, 2), "four back": (lambda t: t & ~4, 2), "half back": (lambda t: t & ~16, 2),
    "half of them the same": (lambda t: t if t < 16 else 0, 2), "pairs, stride 2": (lambda t: t // 2 * 2, 2),
    "pairs, stride 16": (lambda t: t // 2 * 16, 16), "fours, stride 16": (lambda t: t // 4 * 16, 8),
    "stride 2": (lambda t: 2 * t, 4), "stride 16": (lambda t: 16 * t, 32), "halves, stride 16": (lambda t: t % 16 * 16, 32),
}  # fmt: skip


@pytest.mark.parametrize("pattern", MEASURED)
def test_eight_bytes_cost_what_an_h200_counted(pattern):
    """Each half warp is served by itself, unless all lanes want the same as the next lane, or the next but one."""
    index, counted = MEASURED[pattern]
    assert access.wavefronts(lanes(index), 8) == counted


def test_drawn_eight_byte_patterns_cost_what_an_h200_counted():
    """Eight patterns of random elements, from ever more of them."""
    draw = random.Random(1)
    patterns = [[draw.randrange(4 << i) for _ in range(32)] for i in range(8)]
    assert [access.wavefronts(p, 8) for p in patterns] == [2, 2, 2, 4, 4, 5, 6, 8]


PATTERNS = [(lambda i: i, 4), (lambda i: i * 32, 4), (lambda i: i * 0, 4), (lambda i: i // 2 * 3, 2), (lambda i: i * 5, 8),
            (lambda i: i if i % 3 else None, 4), (lambda i: i * 16, 8), (lambda i: i // 4, 8), (lambda i: i, 16), (lambda i: i * 5, 16)]  # fmt: skip


@pytest.mark.parametrize(("index", "itemsize"), PATTERNS)
def test_every_lane_is_served_by_the_banks_of_its_words(index, itemsize):
    """The wavefronts shown are as many as counted; together they serve each lane once for each word of its element."""
    request = lanes(index)
    rows = access.served(request, itemsize)
    assert len(rows) == access.wavefronts(request, itemsize)
    assert {len(row) for row in rows} == {32}
    found = sorted((lane, bank) for row in rows for bank, those in enumerate(row) for lane in those)
    words = max(itemsize, 4) // 4
    expected = [(i, (e * itemsize // 4 + w) % 32) for i, e in enumerate(request) if e is not None for w in range(words)]
    assert found == sorted(expected)


@pytest.mark.parametrize(("index", "itemsize"), PATTERNS)
def test_every_lane_finds_its_element_in_a_sector(index, itemsize):
    """The sectors shown are as many as counted, and hold each lane's element."""
    found = access.touched(lanes(index), itemsize)
    assert len(found) == access.sectors(lanes(index), itemsize)
    first = 32 // itemsize
    at = {i: s * first + n for s, row in found.items() for n, those in enumerate(row) for i in those}
    assert at == {i: e for i, e in enumerate(lanes(index)) if e is not None}


def test_the_first_request_is_that_of_the_first_warp_which_makes_it(declared):
    """A warp without a thread in the access makes none; without any such warp there is no request."""
    case = case_of(declared(("shared", "load", "thread_x + 7", "thread_y == 1"), ("shared", "store", "0", "0")))
    load, store = case.kernel.accesses
    assert list(access.first_request(load, case)) == [i + 7 for i in range(32)]
    assert list(access.first_request(store, case)) == []


def test_a_misaligned_warp_moves_a_sector_more():
    """Sectors begin at multiples of 32 bytes: neighbours that begin elsewhere touch five."""
    assert access.sectors(lanes(lambda i: i + 8), 4) == 4
    assert access.sectors(lanes(lambda i: i + 1), 4) == 5


SQUARE = [
    ("setRowReadRow", "32x32", 1, 1), ("setColReadCol", "32x32", 32, 32), ("setRowReadCol", "32x32", 1, 32),
    ("setColReadRow", "32x32", 32, 1), ("setRowReadColPad", "32x32", 1, 1), ("setRowReadColDynPad", "32x32", 1, 1),
    ("setColReadCol", "32x16", 16, 16), ("setRowReadColPad", "32x16", 1, 2), ("setRowReadColPad", "16x32", 2, 1),
]  # fmt: skip


@pytest.mark.parametrize(("name", "block", "stores", "loads"), SQUARE)
def test_rows_are_free_and_columns_conflict(name, block, stores, loads):
    """A column of 32 words lies in one bank, a padded one in all of them."""
    costs = access.costs(case_of(shipped(name), block=block))
    assert costs == {LOADS: loads, STORES: stores, READ: None, WRITTEN: 4}


TRANSPOSES = [
    ("copyGmem", {}, None, None, 4, 4), ("transposeGmem", {}, None, None, 4, 32), ("transposeSmem", {}, 32, 1, 4, 4),
    ("transposeSmemDyn", {}, 32, 1, 4, 4), ("transposeSmemPad", {}, 1, 1, 4, 4),
    ("transposeSmemPad", {"pad": 2}, 2, 1, 4, 4), ("transposeSmemUnrollPad", {"unroll": 3}, 1, 1, 4, 4),
    ("transposeSmemPad", {"block": "32x8"}, 4, 1, 4, 4), ("transposeSmemPad", {"block": "32x8", "pad": 4}, 1, 1, 4, 4),
    ("transposeSmemPad", {"dtype": "float64"}, 2, 2, 8, 8), ("copyVector", {"dtype": "float64"}, None, None, 16, 16),
    ("transposeTile", {}, 1, 1, 4, 4), ("transposeTile", {"pad": 0}, 32, 1, 4, 4),
    ("transposeSwizzle", {}, 1, 1, 4, 4), ("transposeSwizzle", {"dtype": "float64"}, 2, 2, 8, 8),
    ("transposeVector", {}, 4, 4, 16, 16), ("transposeVector", {"dtype": "float16", "block": 64}, 4, 4, 16, 16),
    ("transposeVector", {"tile_rows": 128, "tile_cols": 32}, 4, 4, 16, 16), ("transposeShifted", {}, 2, 2, 15, 16),
]  # fmt: skip


@pytest.mark.parametrize(("name", "changed", "loads", "stores", "read", "written"), TRANSPOSES)
def test_each_transpose_pays_for_what_it_is_known_for(name, changed, loads, stores, read, written):
    """The naive one writes 32 sectors a warp; a tile makes it 4, with conflicts, which padding takes away."""
    costs = access.costs(case_of(shipped(name), **changed))
    assert costs == {LOADS: loads, STORES: stores, READ: read, WRITTEN: written}


def counted_by_bytes(elements, itemsize):
    """Wavefronts and sectors of a warp, byte by byte: another way to the same numbers."""
    passes, moved = 0, {}
    nexts, after_next = elements[0::2] == elements[1::2], [e for i, e in enumerate(elements) if not i & 2]
    together = nexts or after_next == [e for i, e in enumerate(elements) if i & 2]
    whole = itemsize < 8 or (len(elements) == 32 and None not in elements and together)
    groups = [elements] if whole else [elements[:16], elements[16:]]
    for group in groups:
        words = {}
        for element in group:
            for byte in range(itemsize) if element is not None else ():
                address = element * itemsize + byte
                words[address - address % 4] = address // 4 % 32
                moved[address - address % 32] = True
        per_bank = dict.fromkeys(range(32), 0)
        for bank in words.values():
            per_bank[bank] += 1
        passes += max(per_bank.values())
    return passes, len(moved)


def drawn_expressions(draw):
    """An index, and which threads make the access, as text that is Python, too."""
    a, b, c, d = (draw.choice([0, 1, 2, 3, 5, 8, 16, 17, 32, 33, 64]) for _ in range(4))
    row = "(thread_y * block_x + thread_x)"
    index = draw.choice([f"thread_x * {a} + thread_y * {b} + {c}", f"{row} * {a} % {c + 1} + thread_y // {d + 1}",
                         f"(thread_x ^ {a}) * {b} + (thread_y & {c})"])  # fmt: skip
    where = draw.choice(["1", f"thread_x % {a + 1} != {b}", f"thread_x < {c}", f"thread_y * {a} > {d} or thread_x > 3"])
    return index, where


@pytest.fixture(scope="module")
def declared(tmp_path_factory):
    """A kernel of given accesses, from YAML."""
    folder = tmp_path_factory.mktemp("accesses")
    (folder / "mine.cu").write_text("")

    def make(*accesses):
        lines = "\n".join(f"  - {{memory: {m}, kind: {k}, index: '{i}', where: '{w}'}}" for m, k, i, w in accesses)
        (folder / "mine.yaml").write_text(
            "parameters: {block: 32x32, size: 1Ki, twist: 3, dtype: {default: int32}}\n"
            "arguments: [{name: y, role: out, dtype: dtype, shape: size}]\n"
            f"grid: 1\nreference: {{y: arange(size)}}\naccesses:\n{lines}\n"
        )
        return read_kernel(folder / "mine.yaml")

    return make


def test_drawn_patterns_cost_what_counting_bytes_says(declared):
    """For any index, block, dtype and set of threads, the columns are the average of what a count of bytes gives."""
    draw = random.Random(20)
    for _ in range(60):
        x, y = draw.choice([(32, 4), (16, 6), (8, 9), (7, 5), (1, 40), (40, 1), (33, 3), (64, 2)])
        dtype, itemsize = draw.choice([("float16", 2), ("int32", 4), ("float32", 4), ("int64", 8), ("float64", 8)])
        kind = draw.choice(["load", "store"])
        patterns = [drawn_expressions(draw) for _ in range(draw.choice([1, 2]))]
        kernel = declared(*((m, kind, *p) for p in patterns for m in ("shared", "global")))
        found = []
        for index, where in patterns:
            threads = [{"thread_x": t % x, "thread_y": t // x, "block_x": x} for t in range(x * y)]
            at = [eval(index, {}, t) if eval(where, {}, t) else None for t in threads]  # noqa: S307
            warps = [at[i : i + 32] for i in range(0, x * y, 32)]
            found += [counted_by_bytes(w, itemsize) for w in warps if any(e is not None for e in w)]
        costs = access.costs(case_of(kernel, block=f"{x}x{y}", dtype=dtype))
        for place, name in enumerate((f"shared_{kind}_wavefronts", f"global_{kind}_sectors")):
            expected = sum(f[place] for f in found) / len(found) if found else None
            assert costs[name] == pytest.approx(expected), (patterns, x, y, dtype)


def test_an_access_that_no_thread_makes_has_no_cost(declared):
    """Where no thread of the first block makes it, there is no request to be an average over."""
    costs = access.costs(case_of(declared(("shared", "load", "thread_x", "thread_x > 99"))))
    assert set(costs.values()) == {None}


def test_a_pattern_that_cannot_be_evaluated_costs_no_row(declared):
    """What is wrong for some thread only is found late: the table keeps what was measured, and the note says it."""
    case = case_of(declared(("shared", "load", "8 // (thread_x - twist)", "1")), twist=3)
    with pytest.raises(UsageError, match="cannot be evaluated"):
        access.costs(case)
    assert "'8 // (thread_x - twist)' cannot be evaluated" in results._accesses(case, "")["note"]
    assert results._accesses(case, "told already")["note"].startswith("told already; mine.yaml: accesses[0]")


@pytest.mark.parametrize(("index", "told"), [("8 % twist", "cannot be evaluated"), ("dtype", "gives the text")])
def test_a_pattern_that_is_wrong_for_the_first_thread_is_a_mistake(index, told, declared):
    """It is told when the case is planned, before anything is run."""
    with pytest.raises(UsageError, match=told):
        case_of(declared(("shared", "load", index, "1")), twist=0)


@pytest.mark.parametrize("name", [n for n in KERNELS if shipped(n).accesses])
def test_every_declared_access_can_be_evaluated(name):
    """For the kernel's own defaults, each kind of access that its YAML declares has a cost."""
    kernel = shipped(name)
    costs = access.costs(case_of(kernel))
    assert {access.column(a.memory, a.kind) for a in kernel.accesses} == {c for c, v in costs.items() if v is not None}
