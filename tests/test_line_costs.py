"""What each line costs: the rules of banks and sectors, the lines of real kernels, and lines.csv of a sweep."""

import dataclasses
import math
import random
import re
import shutil
from types import SimpleNamespace

import numpy as np
import outcomes
import pytest
from support import ROOT, Told, case_of, line_costs, read_kernel, shipped

from runner.device import Launch, Role, Source
from runner.device.checked.device import CheckedDevice
from runner.device.config import DeviceConfig
from runner.device.cpu.build import CpuCompiler
from runner.errors import UsageError
from runner.jobs.job import Job
from runner.jobs.settings import TimingConfig
from runner.record.folder import RunFolder
from runner.stages.checked.pool import Pool
from runner.stages.lines import costs as lines
from runner.stages.lines import stage as line_stage
from runner.stages.lines.stage import LineCosts
from runner.sweep import pool
from runner.sweep.stage import Bench

LOADS, STORES = "shared_load_wavefronts", "shared_store_wavefronts"
READ, WRITTEN = "global_load_sectors", "global_store_sectors"

FOLDER = ROOT / "tests" / "kernels" / "line_costs"
TYPES = {1: "char", 2: "short", 4: "int", 8: "double", 16: "int4"}


@pytest.fixture(scope="module")
def gathered(own_cache):
    """Wavefronts and sectors, ideal ones after them, of a warp whose lanes load these elements; one pair a pattern."""
    path = FOLDER / "gather.cu"
    device, compiler = CheckedDevice(threads=1), CpuCompiler(checked=True)

    def count(itemsize, patterns):
        source = Source(path, path.read_text(), "gather", (("T", TYPES[itemsize]),))
        program = device.load(source, compiler.compile(source))
        padded = [[-1 if e is None else e for e in [*p, *[None] * 32][:32]] for p in patterns]
        item = np.dtype((np.void, itemsize)) if itemsize == 16 else np.dtype(f"i{itemsize}".replace("i8", "f8"))
        index = device.place("index", np.array(padded, np.int32), Role.IN)
        arrays = [device.place(n, np.zeros(1024, item), r) for n, r in (("from", Role.IN), ("out", Role.OUT))]
        launch = Launch(program, (len(patterns), 1, 1), (32, 1, 1), 0, (index, *arrays))
        found = []
        for block in range(len(patterns)):
            costs = device.count(launch, lambda _, block=block: [block], 10.0)
            by_line = {(c.line, c.memory, c.kind): (c.actual, c.ideal, c.lanes) for c in costs}
            shared = by_line.get((6, "shared", "load"), (0, 0, 0))
            found.append((*shared[:2], *by_line.get((7, "global", "load"), (0, 0, 0))))
        return found

    yield count
    device.close()


def lanes(index, count=32):
    """The elements of a warp's lanes, by a function of the lane."""
    return [index(lane) for lane in range(count)]


def test_a_stride_costs_what_the_books_say(gathered):
    """32 lanes apart by a stride share banks as often as the stride and 32 have a common divisor; 0 broadcasts."""
    passes = {0: 1, 1: 1, 2: 2, 3: 1, 4: 4, 8: 8, 16: 16, 31: 1, 32: 32, 33: 1}
    found = gathered(4, [lanes(lambda i, n=n: i * n) for n in passes])
    assert [one[0] for one in found] == list(passes.values())
    assert {one[1] for one in found} == {1}


# Bytes of an element, which one each lane loads, and: wavefronts, ideal ones, sectors, ideal ones, lanes.
PATTERNS = {
    "neighbours of 1 byte": (1, lambda i: i, (1, 1, 1, 1, 32)),
    "neighbours of 4 bytes": (4, lambda i: i, (1, 1, 4, 4, 32)),
    "neighbours of 8 bytes need two passes": (8, lambda i: i, (2, 2, 8, 8, 32)),
    "neighbours of 16 bytes are served by quarters": (16, lambda i: i, (4, 4, 16, 16, 32)),
    "an idle quarter costs nothing": (16, lambda i: i if i < 9 else None, (2, 2, 5, 5, 9)),
    "the order within a quarter does not matter": (16, lambda i: i ^ 5, (4, 4, 16, 16, 32)),
    "one lane alone": (8, lambda i: i * 32 if i == 7 else None, (1, 1, 1, 1, 1)),
    "no lane": (8, lambda _: None, (0, 0, 0, 0, 0)),
    "half a warp": (8, lambda i: i if i < 16 else None, (1, 1, 4, 4, 16)),
    "a misaligned warp moves a sector more": (4, lambda i: i + 1, (1, 1, 5, 4, 32)),
    "a whole sector further it does not": (4, lambda i: i + 8, (1, 1, 4, 4, 32)),
    "a sector for each lane": (4, lambda i: i * 8, (8, 1, 32, 4, 32)),
    "one element for all": (4, lambda _: 5, (1, 1, 1, 1, 32)),
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_warp_costs_what_its_pattern_needs(pattern, gathered):
    """Elements side by side fill banks and sectors; lanes that take no part cost nothing."""
    itemsize, index, costs = PATTERNS[pattern]
    assert gathered(itemsize, [lanes(index)]) == [costs]


# Which 8-byte element each lane loads, and the wavefronts that an H200 counted for the request (Nsight Compute,
# l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum of one warp's single load).
MEASURED = [
    (lambda t: t // 32, 1), (lambda t: t, 2), (lambda t: t % 16, 2), (lambda t: t // 2, 1), (lambda t: t // 4, 1),
    (lambda t: t // 16, 1), (lambda t: t // 16 * 16, 2), (lambda t: t % 8, 2), (lambda t: 31 - t, 2),
    (lambda t: t ^ 1, 2), (lambda t: t % 2, 1), (lambda t: t % 4, 2), (lambda t: t | 1, 2), (lambda t: t | 2, 2),
    (lambda t: t & ~2, 2), (lambda t: t & ~4, 2), (lambda t: t & ~16, 2), (lambda t: t if t < 16 else 0, 2),
    (lambda t: t // 2 * 2, 2), (lambda t: t // 2 * 16, 16), (lambda t: t // 4 * 16, 8), (lambda t: 2 * t, 4),
    (lambda t: 16 * t, 32), (lambda t: t % 16 * 16, 32),
]  # fmt: skip


def test_eight_bytes_cost_what_an_h200_counted(gathered):
    """Each half warp is served by itself, unless all lanes want the same as the next lane, or the next but one."""
    found = gathered(8, [lanes(index) for index, _ in MEASURED])
    assert [one[0] for one in found] == [counted for _, counted in MEASURED]


def by_bytes(elements, itemsize):
    """Wavefronts and sectors of a warp's loads, byte by byte: another way to the same numbers."""
    passes, moved = 0, set()
    pairs = any(all(e == elements[i ^ by] for i, e in enumerate(elements)) for by in (1, 2))
    whole = itemsize < 8 or (itemsize == 8 and None not in elements and pairs)
    part = 32 if whole else 128 // itemsize
    for first in range(0, 32, part):
        words = set()
        for element in elements[first : first + part]:
            for address in range(element * itemsize, (element + 1) * itemsize) if element is not None else ():
                words.add(address // 4)
                moved.add(address // 32)
        passes += max((sum(word % 32 == bank for word in words) for bank in range(32)), default=0)
    return passes, len(moved)


@pytest.mark.parametrize("itemsize", TYPES)
def test_drawn_patterns_cost_what_another_count_gives(itemsize, gathered):
    """Random elements of random lanes, from few elements and from many."""
    draw = random.Random(itemsize)
    patterns = [[draw.randrange(4 << i) if draw.random() < 0.8 else None for _ in range(32)] for i in range(9)]
    found = gathered(itemsize, patterns)
    assert [(one[0], one[2]) for one in found] == [by_bytes(pattern, itemsize) for pattern in patterns]


KNOWN = [
    ("setRowReadRow", {}, 1, 1, None, 4), ("setColReadCol", {}, 32, 32, None, 4), ("setRowReadCol", {}, 32, 1, None, 4),
    ("setColReadRow", {}, 1, 32, None, 4), ("setRowReadColPad", {}, 1, 1, None, 4),
    ("setRowReadColDynPad", {}, 1, 1, None, 4), ("setColReadCol", {"block": "32x16"}, 16, 16, None, 4),
    ("setRowReadColPad", {"block": "32x16"}, 2, 1, None, 4), ("setRowReadColPad", {"block": "16x32"}, 1, 2, None, 4),
    ("bankAccess", {"stride": 4}, 4, 1, None, 4),
    ("copyGmem", {}, None, None, 4, 4), ("transposeGmem", {}, None, None, 4, 32), ("transposeSmem", {}, 32, 1, 4, 4),
    ("transposeSmemDyn", {}, 32, 1, 4, 4), ("transposeSmemPad", {"pad": 2}, 2, 1, 4, 4),
    ("transposeSmemUnrollPad", {"unroll": 3}, 1, 1, 4, 4), ("transposeSmemPad", {"block": "32x8", "pad": 4}, 1, 1, 4, 4),
    ("transposeSmemPad", {"dtype": "float64"}, 2, 2, 8, 8), ("copyVector", {"dtype": "float64"}, None, None, 16, 16),
    ("transposeTile", {"pad": 0}, 32, 1, 4, 4), ("transposeSwizzle", {"dtype": "float64"}, 2, 2, 8, 8),
    ("transposeVector", {}, 4, 4, 16, 16), ("transposeVector", {"tile_rows": 128, "tile_cols": 32}, 4, 4, 16, 16),
]  # fmt: skip


@pytest.mark.parametrize(("name", "changed", "loads", "stores", "read", "written"), KNOWN)
def test_each_kernel_pays_for_what_it_is_known_for(name, changed, loads, stores, read, written):
    """A column lies in one bank, a padded one in all; the naive transpose writes 32 sectors a warp, a tile makes it 4."""
    small = {} if name.startswith(("set", "bank")) else {"size": "384x256"}
    costs = lines.averages(line_costs(case_of(shipped(name), **small, **changed)))
    assert costs == {LOADS: loads, STORES: stores, READ: read, WRITTEN: written}


def test_every_kind_of_access_is_counted_at_its_line():
    """Vectors stay whole, constants cost nothing, an inlined header has its own line; atomics and divergence are told."""
    found = line_costs(case_of(read_kernel(FOLDER / "mixed.yaml")))
    by = {lines.key(cost): cost for cost in found}
    vector = by["mixed.cu", 7, "global", "load"]
    assert (vector.blocks, vector.requests, vector.bytes, vector.sectors, vector.ideal_sectors) == (3, 6, 512, 16, 16)
    assert {kind for file, line, _, kind in by if (file, line) == ("mixed.cu", 8)} == {"store"}
    atomic = by["mixed.cu", 11, "global", "atomic"]
    assert (atomic.requests, atomic.lanes, atomic.sectors) == (6, 16, 1)
    odd = by["mixed.cu", 10, "", "branch"]
    assert (odd.requests, odd.divergent_branches) == (6, 6)
    assert by["mixed.cu", 6, "", "branch"].divergent_branches == 0
    inlined = by["mixed.cuh", 3, "global", "load"]
    assert (inlined.requests, inlined.lanes) == (18, 16)  # rounds of 24, 16 and 8 lanes
    assert by["mixed.cu", 14, "global", "store"].requests == 18


def test_a_sweep_writes_what_its_lines_cost(runner):
    """lines.csv, the columns of results.csv, and the same when the sweep is repeated from the cache; not with lines=false."""
    command = ("hydra.sweep.dir=first", "kernel=transposeGmem,transposeSmem", "block=32x32", "size=64x64", "device=cpu")
    first = runner(*command, "lines=all")
    assert first.code == 0, first.err
    folder = first.directory / "first"
    rows = {row["kernel"]: row for row in outcomes.rows(folder)}
    assert [float(rows["transposeGmem"][name]) for name in (READ, WRITTEN)] == [4, 32]
    assert float(rows["transposeSmem"][LOADS]) == 32
    found = lines.read(RunFolder(folder))
    assert set(found) == {row["case"] for row in rows.values()}
    text = (ROOT / "kernels" / "transposeSmem.cu").read_text().splitlines()
    (worst,) = [c for c in found[rows["transposeSmem"]["case"]] if c.wavefronts == 32]
    assert re.search(r"= tile\[icol\]\[irow\]", text[worst.line - 1])
    again, without = folder.with_name("again"), folder.with_name("without")
    assert runner(*command[1:], f"hydra.sweep.dir={again}", "lines=true").code == 0
    assert (again / "lines.csv").read_bytes() == (folder / "lines.csv").read_bytes()
    assert runner(*command[1:], f"hydra.sweep.dir={without}", "lines=false").code == 0
    assert not (without / "lines.csv").exists()
    assert {row[WRITTEN] for row in outcomes.rows(without)} == {""}


def test_the_fastest_case_of_each_kernel_is_counted(tmp_path):
    """Of the largest size; the others only with lines=all, and a case that was counted is not counted again."""
    cases = [
        ("reduceShfl", 2048, 64, 9.0),
        ("reduceShfl", 2048, 128, 5.0),
        ("reduceShfl", 1024, 64, 1.0),
        ("reduceSmem", 1024, 64, 3.0),
    ]
    jobs = [Job(case_of(shipped(name), size=size, block=block), DeviceConfig(), TimingConfig(), "nvcc", n, lines="fastest")
            for n, (name, size, block, _) in enumerate(cases)]  # fmt: skip
    rows = {n: {"status": "ok", "device": "cuda", "median_us": us} for n, (*_, us) in enumerate(cases)}
    assert LineCosts().lacks(jobs[1], rows[1], RunFolder(tmp_path))
    rows, _ = counted(tmp_path, jobs, rows)
    assert [number for number, row in rows.items() if READ in row] == [1, 3]
    assert not LineCosts().lacks(jobs[1], rows[1], RunFolder(tmp_path))
    rows, _ = counted(tmp_path, [dataclasses.replace(job, lines="all") for job in jobs], rows)
    assert all(READ in row for row in rows.values())


@pytest.mark.parametrize("missing", ["time", "library"])
def test_by_default_lines_are_counted_only_if_there_is_time_and_the_library_is_compiled(missing, tmp_path, monkeypatch):
    """Otherwise nothing is recorded, so that `runner profile` can do it; a case without a GPU is not bound to the time."""
    if missing == "library":
        monkeypatch.setattr(Pool, "is_ready", lambda *_: False)
    job = Job(case_of(shipped("reduceShfl"), size=1024), DeviceConfig(), TimingConfig(), "nvcc", 0)
    row = {"status": "ok", "device": "cuda" if missing == "time" else "cpu"}
    rows, said = counted(tmp_path, [job], row, -math.inf if missing == "time" else math.inf)
    assert (rows, said) == ({0: row}, [])
    assert [path.name for path in (tmp_path / "0").iterdir()] == []
    monkeypatch.undo()
    rows, _ = counted(tmp_path, [dataclasses.replace(job, lines="fastest")], row, -math.inf)
    assert rows[0][READ] == 4
    shutil.rmtree(tmp_path / "0")
    rows, _ = counted(tmp_path, [job], {**row, "device": "cpu"}, -math.inf)
    assert rows[0][READ] == 4


def test_with_little_time_no_worker_is_started():
    """Starting one takes about a second; a pool whose workers run takes a call as long as any time is left."""
    pool = Pool()
    assert [pool.can_start(seconds) for seconds in (0.0, 0.5, 5.0, math.inf)] == [False, False, True, True]
    assert pool.start(lambda _: "done").result() == "done"
    assert [pool.can_start(seconds) for seconds in (0.0, 0.5)] == [False, True]
    pool.close()
    assert not pool.can_start(0.5)


def test_blocks_that_wait_for_earlier_ones_are_counted_from_the_first():
    """Without the block before it the middle one waits for ever: then the first blocks are counted."""
    found = line_costs(case_of(read_kernel(FOLDER / "chain.yaml")), limit_s=0.5)
    assert {lines.key(cost): cost.requests for cost in found}["chain.cu", 6, "global", "store"] == 3


def counted(folder, jobs, row, deadline=math.inf):
    """Run the stage for jobs and their rows, or one row that all have; gives the rows, and what it said."""
    rows = {job.number: dict(row.get(job.number, row)) for job in jobs}
    ledger = SimpleNamespace(
        jobs=jobs, row=lambda job: rows[job.number], add=lambda job, new: rows.update({job.number: new}),
        folder=RunFolder(folder),
    )  # fmt: skip
    progress = Told()
    for number in rows:
        (folder / str(number)).mkdir(parents=True, exist_ok=True)
    with Bench(ledger, progress, pool.Pool(), {}, deadline) as bench:
        LineCosts().run(bench)
    return rows, progress.said


def test_without_a_compiler_the_reason_is_told_once_and_kept(monkeypatch, tmp_path):
    """A GPU may be on a host without a C++ compiler: the rows stay as they are, and a resumed sweep does not try again."""
    monkeypatch.setenv("CXX", "no-such-compiler")
    jobs = [Job(case_of(shipped("reduceShfl"), size=size), DeviceConfig(), TimingConfig(), "nvcc", n, lines="all")
            for n, size in enumerate((1000, 2000))]  # fmt: skip
    row = {"status": "ok", "device": "cuda", "median_us": 1.0}
    rows, said = counted(tmp_path, jobs, row)
    assert rows == {0: row, 1: row}
    assert len(said) == 1
    assert "the cost of lines is not counted: reduceShfl: " in said[0]
    assert "no-such-compiler" in said[0]
    assert not any(LineCosts().lacks(job, row, RunFolder(tmp_path)) for job in jobs)
    assert (tmp_path / "lines.csv").read_text().count("\n") == 1
    assert lines.read(RunFolder(tmp_path)) == {}


def test_whose_lines_are_counted(tmp_path):
    """Right cases, unless the user or the kernel itself forbids it, or a search has only looked; all means all of a search, too."""
    job, right = (
        Job(case_of(shipped("reduceShfl")), DeviceConfig(), TimingConfig(), "nvcc", 0, lines="all"),
        {"status": "ok"},
    )
    folder = RunFolder(tmp_path)
    assert LineCosts().lacks(job, right, folder)
    assert not LineCosts().lacks(job, {"status": "mismatch"}, folder)
    assert not LineCosts().lacks(dataclasses.replace(job, lines="none"), right, folder)
    assert not LineCosts().lacks(dataclasses.replace(job, lines="default"), right, folder)
    assert not LineCosts().lacks(dataclasses.replace(job, look=3, lines="fastest"), right, folder)
    assert LineCosts().lacks(dataclasses.replace(job, look=3), right, folder)
    endless = dataclasses.replace(job, case=case_of(shipped("barrierDivergent")))
    assert not LineCosts().lacks(endless, right, folder)


def test_arrays_that_the_host_cannot_hold_are_not_counted(tmp_path, monkeypatch):
    """A case of a GPU with more memory than the host has is told in a sentence; the same case of the CPU device is counted."""
    monkeypatch.setattr(line_stage, "MAX_MEMORY", 1e-9)
    job = Job(case_of(shipped("reduceShfl"), size=1024), DeviceConfig(), TimingConfig(), "nvcc", 0, lines="all")
    _, said = counted(tmp_path / "gpu", [job], {"status": "ok", "device": "cuda"})
    assert re.search(r"the arrays need \d+ bytes of the host's memory", said[0])
    rows, said = counted(tmp_path / "cpu", [job], {"status": "ok", "device": "cpu"})
    assert not said
    assert rows[0][READ] == 4


def test_a_damaged_table_is_one_sentence(tmp_path):
    """A column that is missing, or a number that is none."""
    for text in ("case,line\nx,1\n", "case,kernel\n"):
        (tmp_path / "lines.csv").write_text(text)
        if "line" in text:
            with pytest.raises(UsageError, match="cannot be read as a table of lines"):
                lines.read(RunFolder(tmp_path))
        else:
            assert lines.read(RunFolder(tmp_path)) == {}


def test_atomics_are_counted_as_the_instructions_that_they_are():
    """A compare-and-swap that fails is still an atomic; an atomic load is a load, an atomic store a store."""
    found = line_costs(case_of(read_kernel(FOLDER / "atomics.yaml")))
    assert {(cost.line, cost.kind) for cost in found if cost.memory} == {
        (5, "atomic"), (6, "store"), (7, "load"), (8, "store"),
    }  # fmt: skip


def test_a_table_never_hides_what_the_jobs_know(tmp_path):
    """A program that was killed while it counted leaves no table of a part; the next one makes the whole one."""
    job = Job(case_of(shipped("reduceShfl"), size=1024), DeviceConfig(), TimingConfig(), "nvcc", 0, lines="all")
    row = {"status": "ok", "device": "cpu"}
    counted(tmp_path, [job], row)
    whole = (tmp_path / "lines.csv").read_bytes()
    (tmp_path / "lines.csv").unlink()
    counted(tmp_path, [job], row)
    assert (tmp_path / "lines.csv").read_bytes() == whole
    more = dataclasses.replace(job, case=case_of(shipped("reduceShfl"), size=2048), number=1)
    (tmp_path / "1").mkdir()
    seen = []
    ledger = SimpleNamespace(
        jobs=[job, more], row=lambda one: {**row, READ: 4.0} if one is job else row, add=lambda *_: seen.append(set(lines.read(RunFolder(tmp_path)))),
        folder=RunFolder(tmp_path),
    )  # fmt: skip
    with Bench(ledger, Told(), Pool(), {}) as bench:
        LineCosts().run(bench)
    assert seen == [{job.case.id, more.case.id}]


@pytest.mark.parametrize("size", [100_000, 2**16, 300])
def test_requests_are_scaled_to_the_grid(size):
    """The last block may have less to do, so it counts once: the elements that all blocks load are those of the array."""
    found = line_costs(case_of(shipped("reduceSmem"), size=size, block=256))
    (load,) = [cost for cost in found if (cost.memory, cost.kind) == ("global", "load")]
    assert load.grid_requests == math.ceil(size / 32)
    assert load.grid_requests >= load.requests
