"""Cooperative groups and libcu++ compute on the CPU device what CUDA says, and what a GPU computes."""

import dataclasses
import re
from functools import reduce

import numpy as np
import pytest
from support import ROOT, Bench, case_of, few, read_kernel

from runner.device import Source
from runner.device.config import DeviceConfig
from runner.device.kinds import compiler_for, open_device
from runner.errors import CompileError, Hazard, NotResident
from runner.sweep.run_case import run_case
from runner.sweep.worker import Task

FOLDER = ROOT / "tests" / "kernels" / "groups"
COLUMNS = 28
SMALL, LARGE = 14, 4  # groups of a thread
UNSET = -7


def value_of(thread):
    """What the kernels call valueOf."""
    return (thread * 37 + 11) % 64


def launched(bench, file, function, *arguments, cooperative=False, **how):
    """Launch a kernel of a file; give the arrays afterwards."""
    path = FOLDER / file
    return bench.call(Source(path, path.read_text(), function, cooperative=cooperative), *arguments, **how)


def described(members, me, rank, count):
    """The columns 0 to 4."""
    place, size = members.index(me), len(members)
    return [place, size, rank, count, place + 10100 * size]


def combined(members, me):
    """The columns 5 to 20."""
    v, place = [value_of(t) for t in members], members.index(me)
    row = [v[-1], int(any(x % 7 == 0 for x in v)), int(all(x % 7 for x in v))]
    row += [sum(v), min(v), max(v), reduce(lambda a, b: a & b, v), reduce(lambda a, b: a | b, v)]
    row += [reduce(lambda a, b: a ^ b, v), sum(v), reduce(lambda a, b: (a + b) % 1009, v)]
    before = v[:place]
    return [*row, sum(v[: place + 1]), max(v[: place + 1]), sum(before), sum(before), max(before, default=0)]


def exchanged(members, me):
    """The columns 21 to 27."""
    v, place = [value_of(t) for t in members], members.index(me)
    size, mine = len(v), v[place]
    up, down = v[max(place - 1, 0)], v[place + 2] if place + 2 < size else mine
    ballot = sum(1 << i for i, x in enumerate(v) if x & 1)
    match = sum(1 << i for i, x in enumerate(v) if x % 3 == mine % 3)
    everyone = ((1 << size) - 1) + 1
    return [up, down, ballot, match, everyone, 2 * v[0], 1000 + size]


def parts(members, label):
    """The parts of a group by label, in the order of their first members."""
    found = {}
    for t in members:
        found.setdefault(label(t), []).append(t)
    return list(found.values())


def tiles(members, size):
    """Consecutive tiles of a group."""
    return [members[i : i + size] for i in range(0, len(members), size)]


def small_groups(block):
    """For each kind of group of smallGroups, the groups as (parent's parts): lists of lists of members."""
    threads = list(range(block))
    warps = tiles(threads, 32)
    kinds = [[tiles(threads, size)] for size in (1, 2, 4, 8, 16, 32)]
    branch = lambda t: 0 if t % 3 == 0 else 1 if t % 32 < 20 else 2  # noqa: E731
    kinds.append([[part] for warp in warps for part in parts(warp, branch)])
    kinds.append([tiles([t for t in warp if t % 3 != 1], 4) for warp in warps])
    kinds.append([parts(warp, lambda t: value_of(t) % 5) for warp in warps])
    kinds.append(
        [sorted(parts(warp, lambda t: value_of(t) % 4 == 0), key=lambda p: value_of(p[0]) % 4 == 0) for warp in warps]
    )
    kinds.append([parts([t for t in warp if t % 32 >= 5], lambda t: value_of(t) % 2) for warp in warps])
    kinds.append([parts([t for t in warp if t % 32 < 30], lambda t: t % 32 < 16)[::-1] for warp in warps])
    kinds.append([tiles(half, 4) for half in tiles(threads, 16)])
    kinds.append([[warp] for warp in warps])
    return kinds


def test_groups_of_a_warp(bench):
    """Tiles of all sizes, coalesced threads, their tiles, and parts by label and predicate, with all their functions."""
    block = 96
    expected = np.full((block, SMALL, COLUMNS), UNSET, np.int64)
    for kind, families in enumerate(small_groups(block)):
        for family in families:
            for rank, members in enumerate(family):
                for t in members:
                    row = [*described(members, t, rank, len(family)), *combined(members, t), *exchanged(members, t)]
                    if kind < 6:  # tiles, which also call shfl_xor
                        row[26] += value_of(members[members.index(t) ^ len(members) // 2]) + 1000 * rank
                    expected[t, kind] = row
    out = np.full(block * SMALL * COLUMNS, UNSET, np.int32)
    (got,) = launched(bench, "groups.cu", "smallGroups", out, block=(16, 6, 1))
    got = got.reshape(expected.shape)
    wrong = np.argwhere(got != expected.astype(np.int32))
    assert not wrong.size, [(tuple(w), got[tuple(w)], expected[tuple(w)]) for w in wrong[:8]]


def test_tiles_of_several_warps(bench):
    """Tiles of 64 to 512 threads, which CUDA makes of whole warps."""
    block = 512
    expected = np.full((block, LARGE, COLUMNS), UNSET, np.int64)
    for kind, size in enumerate((64, 128, 256, 512)):
        for rank, members in enumerate(tiles(list(range(block)), size)):
            for t in members:
                row = [*described(members, t, rank, block // size), *combined(members, t)]
                expected[t, kind, : len(row)] = row
    out = np.full(block * LARGE * COLUMNS, UNSET, np.int32)
    (got,) = launched(bench, "groups.cu", "largeGroups", out, block=(64, 8, 1))
    got = got.reshape(expected.shape)
    wrong = np.argwhere(got != expected)
    assert not wrong.size, [(tuple(w), got[tuple(w)], expected[tuple(w)]) for w in wrong[:8]]


def test_blocks_grids_and_groups_of_unknown_kind(bench):
    """What blocks and grids say of themselves in three dimensions, and groups as thread_group."""
    grid, block = (2, 3, 2), (4, 4, 2)
    size, blocks = 32, 12
    (out,) = launched(bench, "groups.cu", "anyGroups", np.zeros(size * blocks * 16, np.int32), grid=grid, block=block)
    for rank, row in enumerate(out.reshape(-1, 16)):
        b, t = divmod(rank, size)
        bx, by, bz = b % 2, b // 2 % 3, b // 6
        tx, ty, tz = t % 4, t // 4 % 4, t // 16
        index = (bx * 4 + tx) + 100 * (by * 4 + ty) + 10000 * (bz * 2 + tz)
        expected = [32 + 1000 * t, 16 + 1000 * (t % 16), 8 + 1000 * (t % 8), 1, 1, 384, b + 1200, index]
        expected += [8 + 1200 + 40000, bx + 10 * by + 100 * bx, tx + 10 * ty + 100 * tz, 4 + 40 + 200, 32032, 0]
        assert list(row) == [*expected, int(t == 0), 384 + 2 + 2], (b, t)


@pytest.mark.parametrize("order", [0, 1, 5])
def test_a_barrier_of_the_grid(bench, order):
    """All blocks of a cooperative launch wait for each other, and each keeps its own shared memory meanwhile."""
    grid, block, count = 6, 64, 4
    n = grid * block
    threads = np.arange(n)
    state, mine = threads * 3 % 17, threads // block + threads
    first = state.astype(np.int32)
    for r in range(count):
        state, mine = state[(threads + block + 1) % n] + mine, mine + r
    ordered = dataclasses.replace(bench, device=_Ordered(bench.device, order))
    _, out = launched(
        ordered, "groups.cu", "rounds", first, np.zeros(n, np.int32), np.int32(count),
        grid=grid, block=block, shared=4 * block, cooperative=True,
    )  # fmt: skip
    assert (out == state[::-1] + 1000).all()


def test_blocks_that_spin_on_each_other(bench):
    """In a cooperative launch a block may wait for a later one, which runs meanwhile."""
    place = np.array([3, 1, 2, 0], np.int32)
    given = np.zeros(1, np.int32), np.zeros(4, np.int32), place
    turn, out, _ = launched(bench, "groups.cu", "turns", *given, grid=4, cooperative=True)
    expected = [0] * 4
    for block in np.argsort(place):
        expected[block] = 10 * expected[block - 1] + int(place[block])
    assert (int(turn[0]), list(out)) == (4, expected)


def test_a_cooperative_kernel_is_checked_and_measured(bench):
    """`cooperative: true` in the YAML: right in each launch, also in a graph of launches back to back."""
    case = case_of(read_kernel(FOLDER / "spread.yaml"))
    source = case.source()
    task = Task(case, source, bench.compiler.compile(source), dataclasses.replace(few(3), hot=True), 20.0)
    outcome = run_case(bench.device, task, lambda _: None)
    assert (outcome.status, outcome.reason) == ("ok", "")
    assert (outcome.measured.hot_us > 0).all()


def test_a_grid_that_does_not_fit_is_skipped(bench):
    """The reason says how many blocks the device holds at once."""
    outcome = bench.run(case_of(read_kernel(FOLDER / "spread.yaml"), blocks=100000))
    assert outcome.status == "skipped"
    assert re.match(r"a cooperative launch of 100000 blocks.* at once", outcome.reason)


@dataclasses.dataclass
class _Ordered:
    """A device that launches in another order."""

    device: object
    order: int

    def __getattr__(self, name):
        return getattr(self.device, name)

    def launch(self, launch, limit):
        return self.device.launch(dataclasses.replace(launch, order=self.order), limit)


TILES = 7


@pytest.mark.parametrize(("file", "kernel", "stages"), [("groups.cu", "copiesAhead", 2), ("libcu.cu", "pipelines", 2)])
def test_copies_ahead_of_their_use(bench, file, kernel, stages):
    """memcpy_async of a group, by itself and in a cuda::pipeline of two stages, fills each tile before it is read."""
    n = 128
    numbers = np.random.default_rng(4).integers(0, 1000, (TILES, n)).astype(np.int32)
    given = numbers.ravel(), np.zeros(n, np.int32), np.int32(TILES)
    _, out = launched(bench, file, kernel, *given, block=n, shared=4 * n * stages)
    assert (out == sum((i + 1) * np.roll(tile, -1) for i, tile in enumerate(numbers))).all()


def test_producers_and_consumers(bench):
    """One warp fills three stages of a cuda::pipeline, the others empty them."""
    n = 128
    numbers = np.random.default_rng(5).integers(0, 1000, (TILES, n)).astype(np.int32)
    given = numbers.ravel(), np.zeros(n, np.int32), np.int32(TILES)
    _, out = launched(bench, "libcu.cu", "roles", *given, block=n, shared=4 * n * 3)
    expected = sum((i + 1) * np.roll(tile, -1) for i, tile in enumerate(numbers))
    expected[32:64] += sum(tile[:32] for tile in numbers)
    expected[:32] = 0
    assert (out == expected).all()


def test_copies_of_single_threads(bench):
    """A thread's own pipeline, the functions of <cuda_pipeline.h> and copies that a barrier waits for."""
    numbers = np.random.default_rng(6).integers(0, 1000, 256).astype(np.int32)
    a, b, c, d = numbers.reshape(4, 64)
    d = np.where(np.arange(64) % 4 < 2, d, 0)
    expected = a + 2 * b + 3 * c[::-1] + 4 * d[::-1] + 5 * np.roll(a[::-1], -1) + 6 * b[::-1]
    _, out = launched(bench, "libcu.cu", "ownCopies", numbers, np.zeros(64, np.int32), block=64)
    assert (out == expected).all()


def test_barriers(bench):
    """Arriving and waiting apart, barriers of some of the threads, those that leave, and functions for the last."""
    (out,) = launched(bench, "libcu.cu", "barriers", np.zeros(128, np.int32), block=128)
    t = np.arange(128)
    assert (out == 45 + 127 - t + 1000 * (t % 32 + 3)).all()
    (phases,) = launched(bench, "libcu.cu", "completions", np.zeros(64, np.int32), block=64)
    assert (phases == 5).all()


def test_atomics(bench):
    """Each operation, by threads of several blocks at once."""
    blocks, block = 5, 96
    n = blocks * block
    i = np.arange(n)
    ints = np.zeros(16, np.int32)
    ints[5], ints[12] = -1, 9
    got, longs, floats = launched(
        bench, "libcu.cu", "atomics", ints, np.zeros(1, np.uint64), np.zeros(1 + n, np.float32),
        grid=blocks, block=block,
    )  # fmt: skip
    shuffled = i * 7919 % 5003
    expected = [i.sum(), -n, shuffled.max(), (shuffled - 9000).min(), (1 << 20) - 1, ~((1 << 20) - 1)]
    expected += [np.bitwise_xor.reduce(i), n, 2 * n, 3 * n, 77, 9, 4, n, blocks * sum(range(block, 2 * block))]
    assert list(got[: len(expected)]) == expected
    assert int(longs[0]) == n << 33
    assert floats[0] == n / 2
    assert (floats[1:] == i % 9).all()


def test_threads_that_spin_on_an_atomic_let_the_others_run(cpu):
    """Locks of either kind pass through all threads of a block, and a thread waits for another one's word."""
    (out,) = launched(cpu, "libcu.cu", "locks", np.zeros(96, np.int32), block=96)
    assert (out == 2 * 96).all()


def test_names_of_cuda_std(bench):
    """Arrays, complex numbers, limits, bits, tuples and spans in device code."""
    (out,) = launched(bench, "libcu.cu", "standard", np.zeros(12 * 32, np.float32), block=32)
    for t, row in enumerate(out.reshape(32, 12)):
        expected = [t + 9 + 4, -t, 1 + 5, min(t, 7) + 1.5, -32768, t.bit_count() + 3100, t + 2.5, t // 2]
        assert list(row) == [*expected, -(-(t + 1) // 4), max(t, 3) + min(t, 3), 127, 1 + t]


@pytest.fixture
def cpu(own_cache):
    """The CPU device and its compiler."""
    config = DeviceConfig(kind="cpu", threads=2)
    device = open_device(config)
    return Bench(device, compiler_for(config, device.info))


@pytest.fixture
def misused(cpu):
    """Launch a kernel of misuse.cu on the CPU device, and give the message."""

    def launch(kernel, error=Hazard, **how):
        with pytest.raises(error) as found:
            launched(cpu, "misuse.cu", kernel, np.zeros(256, np.int32), **how)
        return str(found.value)

    return launch


MISUSES = {
    "sizeOfTile": "tiled_partition: 12 is not a power of two from 1 to 32; block (0,0,0), thread",
    "halfOfTile": (
        "deadlock: lanes 0-15 of warp 0 wait in group.shfl_down(mask=0xffffffff), which also names lanes 16-31; "
        "these wait at thread_block::sync on line <halfOfTile-others>; block (0,0,0)"
    ),
    "halfReduces": (
        "lane 7 waits in group.sync(mask=0x000000ff), but lane 0, named in that mask, waits in "
        "cooperative_groups::reduce(mask=0x000000ff) on line <halfReduces-others>"
    ),
    "oneWarpOfTwo": (
        "deadlock: 32 threads wait in group.sync, at which 32 of the group's 64 threads have arrived; block (0,0,0)"
    ),
    "differentCalls": (
        "this thread calls group.any while others of its group wait in group.sync on line <differentCalls-others>"
    ),
    "noSuchRank": "group.shfl: there is no thread of rank 7 in a group of 5",
    "gridSync": (
        "deadlock: 32 threads wait in grid_group::sync, at which 2 of 3 blocks have arrived; block (1,0,0) has returned"
    ),
    "gridAndBlock": (
        "barrier divergence: this thread waits at __syncthreads on line <gridAndBlock> while other threads of the "
        "block wait at grid_group::sync on line <gridAndBlock-others>"
    ),
    "gridWithoutFirst": (
        "grid_group::sync without the first thread of the block, which has returned; block (2,0,0), thread (1,0,0)"
    ),
    "barrierOfMore": (
        "deadlock: 32 threads wait in cuda::barrier::wait, at which 1 of 33 threads have not arrived; block (0,0,0)"
    ),
    "barrierOfLess": "cuda::barrier: 30 of 30 threads are still to arrive in this phase, and 31 do",
    "noInit": "cuda::barrier is used before init()",
    "copyOfThree": "__pipeline_memcpy_async of 3 bytes, 0 of them zeros: it copies 4, 8 or 16 bytes",
    "copyBeyond": "out-of-bounds read of 'array 0': index 40000, but it has 256 elements",
    "promisedAlignment": "memcpy_async of 64 bytes: size or addresses are no multiple of the promised alignment of 16",
}
LAUNCHED = {  # others than as one block of a warp
    "oneWarpOfTwo": {"block": 64},
    "differentCalls": {"block": 64},
    "gridSync": {"grid": 3, "cooperative": True},
    "gridAndBlock": {"cooperative": True},
    "gridWithoutFirst": {"grid": 3, "cooperative": True},
}


@pytest.mark.parametrize("kernel", MISUSES)
def test_misuse_is_named_with_its_line(kernel, misused):
    """A group in which not all take part, a wrong size, and the like: the message has the line of the call."""
    text = (FOLDER / "misuse.cu").read_text().splitlines()

    def line(name):
        return str(next(n for n, content in enumerate(text, 1) if content.endswith(f"// {name}")))

    expected = re.sub(r"<([\w-]+)>", lambda found: line(found[1]), MISUSES[kernel])
    message = misused(kernel, **LAUNCHED.get(kernel, {}))
    assert message.startswith(f"misuse.cu:{line(kernel)}: "), message
    assert expected in message


def test_a_barrier_of_the_grid_needs_a_cooperative_launch(misused):
    """The message says what to write into the YAML; a grid that cannot be resident is a reason to skip the case."""
    assert "set 'cooperative: true' in the kernel's YAML" in misused("gridSync")
    message = misused("gridSync", error=NotResident, grid=600, cooperative=True)
    assert message.startswith(
        "a cooperative launch of 600 blocks of 32 threads: the CPU device holds at most 512 blocks"
    )
    assert NotResident.status == "skipped"


@pytest.mark.parametrize("kernel", ["noWait", "waitsForTheFirst"])
def test_an_asynchronous_copy_is_not_there_before_the_wait(kernel, cpu):
    """A kernel that forgets the wait, or waits for too few copies, reads garbage on the CPU device."""
    (out,) = launched(cpu, "misuse.cu", kernel, np.arange(32, dtype=np.int32))
    assert out.view(np.uint32)[0] == 0xCBCBCBCB


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("auto tile = cg::tiled_partition<12>(cg::this_thread_block());", "a tile is a power of two from 1 to 1024"),
        ("auto cluster = &cg::this_cluster();", "clusters of blocks are not there on the CPU device; set gpu_only"),
        ("#include <cuda/mdspan>\n", r"mdspan.*\(the CPU device lacks <cuda/mdspan>; set gpu_only"),
    ],
)
def test_what_is_not_there_is_said_when_compiling(text, message, tmp_path, cpu):
    """Sizes that no tile has, clusters and further headers: one sentence, with the key that skips the kernel."""
    path = tmp_path / "lacks.cu"
    head = "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
    include, body = (text, "cuda::std::mdspan<int, 2> of_nothing;") if text.startswith("#") else ("", text)
    content = f'{include}{head}extern "C" __global__ void lacks(int* out) {{ {body} out[0] = 1; }}\n'
    path.write_text(content)
    with pytest.raises(CompileError, match=message):
        cpu.compiler.compile(Source(path, content, "lacks"))
