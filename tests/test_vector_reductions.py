"""The reductions by vector loads: any size, any alignment, ready for the next launch, floats always the same."""

import dataclasses
from contextlib import ExitStack

import pytest
from support import case_of, few, shipped

from runner.device import Role
from runner.kernel.expression import Expression
from runner.sweep.run_case import run_case
from runner.sweep.trial import contents, upload
from runner.sweep.worker import Task

HOST = ["reduceVector", "reduceInFlight", "reduceGridStride", "reduceRedux"]
DEVICE = ["reduceLastBlock", "reduceStream", "reduceFlagged", "reducePacked"]
VECTORS = [*HOST, *DEVICE]
STRIDING = [n for n in VECTORS if shipped(n).parameter("blocks")]


def all_right(outcomes):
    """Every one is ok; says what the others are."""
    assert [(o.status, o.reason) for o in outcomes] == [("ok", "")] * len(outcomes)


def moved(kernel, offset):
    """The kernel with an input that begins so many elements behind an aligned address."""
    where = Expression(str(offset), "a test")
    arguments = tuple(dataclasses.replace(a, offset=where) if a.name == "in" else a for a in kernel.arguments)
    return dataclasses.replace(kernel, arguments=arguments)


@pytest.mark.parametrize("name", VECTORS)
def test_a_tile_may_end_anywhere(name, bench):
    """One element more or less than whole vectors, whole warps of them, whole tiles, several tiles: nothing is lost."""
    tile = 64 * 2 * 4
    sizes = [1, 2, 3, 4, 5, tile - 1, tile, tile + 1, 3 * tile - 3, 3 * tile, 7 * tile + 2]
    all_right(bench.run_all([case_of(shipped(name), size=n, block=64, unroll=2, fill="random") for n in sizes]))


@pytest.mark.parametrize("name", VECTORS)
def test_an_array_may_begin_anywhere(name, bench):
    """Not only at a multiple of 16 bytes, which vector loads need."""
    kernel = shipped(name)
    dtypes = {"int32", "int64", "float32", "float64"}.intersection(kernel.parameter("dtype").allowed)
    shapes = [(o, d, n) for o in (0, 1, 2, 3) for d in sorted(dtypes) for n in (700, 4096)]
    cases = [case_of(moved(kernel, o), size=n, block=64, dtype=d, fill="random") for o, d, n in shapes]
    assert {case.arrays()[0].offset for case in cases} == {0, 1, 2, 3}
    all_right(bench.run_all(cases))


@pytest.mark.parametrize("name", STRIDING)
def test_any_number_of_blocks_takes_all_tiles(name, bench):
    """One block takes them all; of more blocks than tiles only as many are launched as there are tiles."""
    shapes = [(n, b) for n in (1, 1000, 2048) for b in (1, 2, 7, 1000)]
    cases = [case_of(shipped(name), size=n, block=32, unroll=1, blocks=b, fill="random") for n, b in shapes]
    assert [c.grid[0] for c in cases] == [min(b, -(-n // 128)) for n, b in shapes]
    all_right(bench.run_all(cases))


@pytest.mark.parametrize("name", DEVICE)
def test_a_launch_leaves_all_ready_for_the_next_one(name, bench):
    """Each of twenty launches gives the whole sum, and counters, flags and accumulated sums are zero again."""
    case = case_of(shipped(name), size=20_000, block=64, unroll=2, fill="random")
    assert case.grid[0] > 10
    binary = bench.compiler.compile(case.source())
    outcome = run_case(bench.device, Task(case, case.source(), binary, few(20), 20.0), lambda _: None)
    assert (outcome.status, outcome.value) == ("ok", outcome.reference)
    with ExitStack() as stack:
        launch, arrays = upload(bench.device, bench.device.load(case.source(), binary), case, contents(case), stack)
        bench.device.launch(launch, 20.0)
        states = [set(a.read().tolist()) for a in arrays.values() if a.role is Role.STATE]
    assert states == [{0}] * len(states) != []


@pytest.mark.parametrize("name", ["reduceLastBlock", "reduceStream", "reduceFlagged"])
def test_a_float_sum_is_the_same_in_every_launch(name, bench):
    """Bit for bit, in whatever order the blocks finish: the partial sums are added up in the order of the blocks."""
    for dtype in {"float32", "float64"}.intersection(shipped(name).parameter("dtype").allowed):
        case = case_of(shipped(name), size=100_003, block=64, unroll=1, dtype=dtype, fill="random")
        assert len({bench.outputs(case)[0]["out"].tobytes() for _ in range(10)}) == 1


@pytest.mark.gpu
@pytest.mark.parametrize("bench", ["cuda"], indirect=True)
@pytest.mark.parametrize("stages", [1, 3, 8])
def test_bulk_copies_sum_every_size_right(stages, bench):
    """Fewer tiles than stages, more, whole and not, one block and many."""
    cases = [
        case_of(shipped("reduceBulk"), size=n, block=64, unroll=2, stages=stages, blocks=b, fill="random")
        for n in (1, 511, 512, 513, 5000, 100_000)
        for b in (1, 3, 1000)
    ]
    all_right(bench.run_all(cases))
