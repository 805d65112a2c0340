"""The shipped kernels on the real devices: always the CPU device, the GPU with `-m gpu`."""

import dataclasses
import itertools
import re
import subprocess
from contextlib import ExitStack

import numpy as np
import pytest
from support import KERNELS, case_of, few, shipped

from runner.device import Role
from runner.kernel.expression import Expression
from runner.kernel.reference import expect
from runner.sweep.compiling import reason_to_skip
from runner.sweep.run_case import run_case
from runner.sweep.trial import contents, upload
from runner.sweep.worker import Task

HEADERS = sorted(shipped("reduceSmem").source.parent.glob("*.cuh"))
REDUCTIONS = [n for n in KERNELS if shipped(n).family == "reduction"]
STENCILS = [n for n in KERNELS if shipped(n).family == "stencil"]
DEVICE = ["reduceLastBlock", "reduceStream", "reduceFlagged", "reducePacked"]  # finish on the device
VECTORS = ["reduceVector", "reduceInFlight", "reduceGridStride", "reduceRedux", *DEVICE]
STRIDING = [n for n in VECTORS if shipped(n).parameter("blocks")]
TRANSPOSES = [
    "transposeGmem", "transposeSmem", "transposeSmemPad", "transposeSmemDyn", "transposeSmemUnroll",
    "transposeSmemUnrollPad",
]  # fmt: skip
ANY_TILE = ["transposeTile", "transposeSwizzle", "transposeShifted"]
IN_X_ALONE = ["copyVector", "transposeVector", *ANY_TILE]  # how they number their threads
STRAIGHT = ["setRowReadRow", "setColReadCol"]
TURNED = ["setRowReadCol", "setColReadRow", "setRowReadColDyn", "setRowReadColPad", "setRowReadColDynPad"]


def each(**values):
    """All combinations of the values of some parameters."""
    listed = [value if isinstance(value, (list, range)) else [value] for value in values.values()]
    return [dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*listed)]


# Sums: the last block full or not; every type; as many blocks as there are tiles, or fewer; around a tile of 512 elements.
ENDS = [1, 2, 31, 32, 33, 127, 128, 129, 255, 256, 257, 511, 513, 1000, 1023, 1024, 1025, 4097, 65537]
TILE_ENDS = [1, 2, 3, 4, 5, 511, 512, 513, 1533, 1536, 3586]
# Matrices that tiles fill, and that they do not; a row, a column, one element.
EVEN = ["4x4", "4x100", "100x4", "36x100", "64x64", "128x96", "192x64", "8x1000", "60x68"]
ODD = ["1x1", "1x100", "100x1", "37x101", "64x64", "33x31", "128x96", "2x1000", "1000", "3x4"]
WIDTHS = ["uint32", "float64", "bfloat16"]  # one type of each width: the kernels only move elements
TILES = [{"block": b, "tile_rows": r, "tile_cols": c} for b, r, c in ((256, 64, 64), (64, 32, 64), (96, 96, 32))]
SECTORS = [
    {"size": f"{57 + r}x{c}", "dtype": dtype, "block": 64, "tile_rows": 32, "tile_cols": 32}
    for dtype, sector in (("float64", 4), ("int32", 8), ("bfloat16", 16))
    for r in range(sector)
    for c in (30 + r, 64 - r, 33, 64)
]
DTYPES = ["int32", "uint32", "int64", "uint64", "float32", "float64"]
FLOATS = ["float32", "float64"]
NEAR_VECTORS = [  # the array ends before, with and behind a vector, a warp and a block
    {"size": 32 * per * warps + more, "block": 64, "dtype": dtype}
    for dtype, per in (("float32", 4), ("float64", 2))
    for warps in (1, 2)
    for more in range(-9, 10)
]
RIGHT = {
    "sums of every size": (REDUCTIONS, each(size=ENDS, block=128, fill="random", blocks=32)),
    "sums of every type": (REDUCTIONS, each(dtype=DTYPES, size=10_000, block=128, fill="random", blocks=32)),
    "sums by any width": (["reduceShfl", "reduceShflUnroll"], each(size=5000, width=[1, 4, 8, 32], block=[32, 1024])),
    "sums of tiles that end anywhere": (VECTORS, each(size=TILE_ENDS, block=64, unroll=2, fill="random")),
    "sums by any number of blocks": (STRIDING, each(size=[1, 1000, 2048], block=32, unroll=1, blocks=[1, 2, 7, 1000], fill="random")),
    "bulk copies": (["reduceBulk"], each(size=[1, 511, 512, 513, 100_000], block=64, unroll=2, stages=[1, 3, 8], blocks=[1, 3, 1000])),
    "transposes of every size": (["copyGmem", *TRANSPOSES], each(size=ODD, block=["32x8", "7x5", "1x32"], dtype="int32")),
    "transposes of every type": (["copyGmem", *TRANSPOSES], each(size="33x70", block="16x8", dtype=WIDTHS)),
    "transposes by tiles": (ANY_TILE, [{**t, **c} for t in TILES for c in each(size=[*ODD, *EVEN], dtype="int32")]),
    "transposes by tiles of vectors": (["transposeVector"], [{**t, **c} for t in TILES for c in each(size=EVEN, dtype="int32")]),
    "moved types": (IN_X_ALONE, each(size=["64x64", "72x136"], block=64, dtype=WIDTHS)),
    "copies of what is left of a vector": (["copyVector"], each(size=[*ODD, *range(120, 137)], block=[32, 100, 1], dtype="float16")),
    "rows that begin anywhere in a sector": (["transposeShifted"], SECTORS),
    "tiles of every shape": ([*STRAIGHT, *TURNED], each(block=["1", "32x32", "32x16", "16x32", "13x37", "1x1024", "1024"], blocks=2)),
    "tiles of every type": ([*STRAIGHT, *TURNED], each(block="16x8", dtype=DTYPES, blocks=[1, 3, 1024])),
    "every stride": (["bankAccess"], each(stride=range(34), block=64, loads=3)),
    "stencils of every size": (STENCILS, each(size=[1, 3, 4, 5, 31, 32, 33, 36, 63, 64, 65, 1000], block=32, blocks=[1, 2, 40], dtype=FLOATS)),
    "stencils by any block": ([n for n in STENCILS if n != "stencil1dShfl"], each(size=5000, block=[4, 5, 96, 1000], blocks=2)),
    "stencils by vectors": (["stencil1dVector", "stencil1dShfl"], NEAR_VECTORS),
}  # fmt: skip


def needs(bench, name):
    """Skip what this device cannot run, with the reason that a sweep gives."""
    if reason := reason_to_skip(case_of(shipped(name)), bench.device.info):
        pytest.skip(reason)


def all_right(bench, cases):
    """Every case is ok; says what the others are. What a kernel has no parameter for makes no further case."""
    cases = list({(case.id, case.arrays()[0].offset): case for case in cases}.values())
    outcomes = bench.run_all(cases)
    assert [(o.status, o.reason) for o in outcomes] == [("ok", "")] * len(cases)
    return cases


@pytest.mark.parametrize(("what", "name"), [(what, name) for what, (names, _) in RIGHT.items() for name in names])
def test_every_combination_is_right(what, name, bench):
    """Whatever the size, the type and the block: no element is lost, and none is taken twice."""
    needs(bench, name)
    kernel = shipped(name)
    chosen = [
        c for c in RIGHT[what][1] if c.get("dtype", "int32") in kernel.parameter("dtype").allowed or "dtype" not in c
    ]
    assert all_right(bench, [case_of(kernel, **parameters) for parameters in chosen])


@pytest.mark.parametrize("name", [n for n in KERNELS if shipped(n).gpu_only])
def test_a_kernel_for_gpus_only_is_skipped_elsewhere(name, bench):
    """On the CPU device it is not run, and the reason says why and what runs it; on a GPU it is right."""
    outcome = bench.run(case_of(shipped(name)))
    if bench.device.info.kind == "cuda":
        assert (outcome.status, outcome.reason) == ("ok", "")
    else:
        assert outcome.status == "skipped"
        assert shipped(name).gpu_only in outcome.reason


@pytest.mark.parametrize("name", ["reduceShfl", "reduceShflUnroll"])
def test_a_sum_of_ones_counts_the_lanes_of_the_mask(name, bench):
    """So each lane of it, and no other, has its part."""
    for mask, width in ((0x0000FFFF, 16), (0xF0F0F0F0, 4), (0x80000001, 1)):
        outcome = bench.run(case_of(shipped(name), size=32 * 100, mask=mask, width=width, fill="ones"))
        assert (outcome.status, outcome.value) == ("ok", 100 * mask.bit_count())


def moved(kernel, offset):
    """The kernel with an input that begins so many elements behind an aligned address."""
    where = Expression(str(offset), "a test")
    arguments = tuple(dataclasses.replace(a, offset=where) if a.name == "in" else a for a in kernel.arguments)
    return dataclasses.replace(kernel, arguments=arguments)


@pytest.mark.parametrize("name", VECTORS)
def test_an_array_may_begin_anywhere(name, bench):
    """Not only at a multiple of 16 bytes, which vector loads need."""
    kernel = shipped(name)
    dtypes = sorted({"int32", "int64", "float32", "float64"}.intersection(kernel.parameter("dtype").allowed))
    shapes = each(dtype=dtypes, size=[700, 4096], block=64, fill="random")
    cases = all_right(bench, [case_of(moved(kernel, offset), **s) for offset in range(4) for s in shapes])
    assert {case.arrays()[0].offset for case in cases} == {0, 1, 2, 3}


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


@pytest.mark.parametrize("name", KERNELS)
def test_a_block_of_two_dimensions_is_right_or_skipped(name, bench):
    """A kernel that numbers its threads in x alone refuses 32x2, rather than let each element be taken twice."""
    outcome = bench.run(case_of(shipped(name), block="32x2", size=4096, inner=64))
    broken = bool(case_of(shipped(name)).hazard)
    assert outcome.status in (("skipped",) if broken else ("ok", "skipped"))
    assert outcome.status == "ok" or "in x alone" in outcome.reason


@pytest.mark.parametrize("name", TRANSPOSES)
def test_the_tutorials_worked_example(name, bench):
    """Of a matrix of 3 by 4, element 7 of (1, 3) goes to (3, 1); the thread of number 7 writes (2, 1), element 6.

    The tutorial takes the two for the same: its thread 7 reads tile[2][1], element 9.
    """
    case = case_of(shipped(name), size="3x4", block="4x3", fill="index", dtype="int32")
    told = expect(case, {"in": np.arange(12)})
    out = np.asarray(told.outputs["out"].values).reshape(4, 3)
    assert out.tolist() == [[0, 4, 8], [1, 5, 9], [2, 6, 10], [3, 7, 11]]
    assert (out[3, 1], out[2, 1], out.ravel()[7]) == (7, 6, 6)
    all_right(bench, [case])


@pytest.mark.parametrize("name", ["setRowReadColPad", "transposeSmemPad", "transposeSmemUnrollPad"])
def test_padding_is_there(name, bench):
    """Each column of padding makes the tile wider by an element a row; no output would tell."""
    plain, padded = (
        bench.run(case_of(shipped(name), block="16x8", dtype="int32", pad=p, size=4096, blocks=2)) for p in (0, 4)
    )
    assert padded.resources.shared_bytes - plain.resources.shared_bytes == 8 * 4 * 4


FIRST = [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]
BY_HAND = [
    *((name, {"block": "4x3"}, [*FIRST, *(12 + v for v in FIRST)]) for name in TURNED),
    *((name, {"block": "4x3"}, [*range(24)]) for name in STRAIGHT),
    (
        "bankAccess",
        {"block": 32, "stride": 33, "loads": 1},
        [1, 34, 67],
    ),  # the chain of lane 31 ends at the first element
]


@pytest.mark.parametrize(("name", "chosen", "begin"), BY_HAND)
def test_a_reference_is_what_one_gets_by_hand(name, chosen, begin):
    """Rows of four are read column by column, in each of two blocks; each lane follows the chain from its own element."""
    out = expect(case_of(shipped(name), blocks=2, **chosen), {}).outputs["out"].values.tolist()
    assert out[: len(begin)] == begin
    assert name != "bankAccess" or (out[31], out[32]) == (0, 33)


EXCLUDED = [
    ("reduceStream", {"stream": 0}, "is not a value of reduceStream; allowed: 1"),
    ("reduceFlagged", {"dtype": "float64"}, "float64"),  # the flag is in the same 8 bytes as the sum
    ("stencil1dLdg", {"block": 3}, "halo"),
    ("stencil1dShfl", {"block": 5}, "whole warps"),
    ("transposeSmemUnrollPad", {"size": f"{65535 * 8 + 1}x1", "block": "8x8"}, "a grid of 65536 blocks in y"),
    ("transposeSmemUnrollPad", {"pad": 33}, "the bank pattern repeats"),
    ("transposeSmemUnrollPad", {"pad": -1}, "0 to 32 columns"),
    ("transposeSmemUnrollPad", {"unroll": 17}, "the compiler unrolls"),
    ("transposeSmemUnrollPad", {"unroll": 8, "dtype": "float64"}, "limited to 48 KiB"),
    ("transposeTile", {"tile_rows": 48}, "a warp loads elements of one row"),
    ("transposeTile", {"block": 96}, "whole rows of the tile or stores whole columns"),
    ("transposeTile", {"block": 192}, "the same number of elements"),
    ("transposeSwizzle", {"tile_cols": 16}, "columns in groups of 32"),
    ("transposeVector", {"size": "4096x4095"}, "transposeShifted takes any shape"),
    ("transposeVector", {"tile_rows": 32, "block": 32, "dtype": "float16"}, "in groups of 8 vectors"),
    ("transposeVector", {"dtype": "float16"}, "the same number of square blocks"),
    ("transposeVector", {"block": 16, "dtype": "int64"}, "in registers"),
    ("transposeShifted", {"tile_rows": 40}, "whole 32-byte sectors"),
    ("transposeShifted", {"block": 1000}, "the same number of 16-byte vectors"),
    ("setRowReadRow", {"blocks": 2**14 + 1}, "float32 represents every integer only up to"),
    ("setRowReadRow", {"blocks": 0}, "a grid of 0 blocks"),
    ("bankAccess", {"stride": 34}, "inside the chain"),
    ("bankAccess", {"block": 48}, "whole warps"),
    ("bankAccess", {"loads": 0}, "each load depends on the one before"),
]


@pytest.mark.parametrize(("name", "changed", "reason"), EXCLUDED)
def test_what_a_kernel_is_not_made_for_is_skipped_with_a_reason(name, changed, reason):
    """A tile that the block cannot share out, that does not fit, or that no thread could take."""
    assert reason in case_of(shipped(name), **changed).excluded


def in_a_namespace(kernel):
    """A kernel with its macros, so that others can follow in the same source: they see none of its names."""
    source = case_of(kernel).source()
    shared = re.findall(r"^ *extern __shared__.*?(\w+)\[\];", source.text, re.MULTILINE)  # of all namespaces at once
    names = [*(name for name, _ in source.macros), *shared, *(f"HAS_{path.stem}" for path in HEADERS)]
    renamed = "".join(f"#define {array} {array}_{kernel.name}\n" for array in shared)
    text = f'namespace of_{kernel.name}\n{{\n{source.defines()}{renamed}#line 1 "{source.path.name}"\n{source.text}}}\n'
    return text + "".join(f"#undef {name}\n" for name in names)


@pytest.mark.nvcc
def test_nvcc_compiles_every_kernel(tmp_path):
    """Every kernel compiles without a warning. NVRTC's tests compile them for further architectures, each by itself."""
    kernels = [shipped(name) for name in KERNELS]
    assert all(kernel.min_arch <= 90 for kernel in kernels)
    for path in HEADERS:
        once = f"#ifndef HAS_{path.stem}\n#define HAS_{path.stem}\n"  # in each namespace
        text = path.read_text().replace("#pragma once", "")
        (tmp_path / path.name).write_text(f'{once}#line 1 "{path.name}"\n{text}#endif\n')
    (tmp_path / "all.cu").write_text("".join(map(in_a_namespace, kernels)))
    command = ["nvcc", "-cubin", *"-arch=sm_90 -Werror all-warnings -o out all.cu".split()]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(name.encode() in (tmp_path / "out").read_bytes() for name in KERNELS)


@pytest.mark.parametrize("name", KERNELS)
def test_a_missing_macro_is_an_error(name):
    """A source has no defaults: without its macros the preprocessor says which it needs."""
    command = ["g++", "-E", "-x", "c++", str(shipped(name).source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "this kernel needs the macros BLOCK" in done.stderr
