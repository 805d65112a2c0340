"""Each rule that a kernel can break is reported with its line, block and thread, and the device lives on."""

import re
from dataclasses import replace

import numpy as np
import pytest

from runner.device import Role
from runner.device.cpu.device import CpuDevice
from runner.errors import Hazard, LaunchTimeout

FILE = "hazards.cu"
FIRST_THREAD = r"block \(0,0,0\), thread \(0,0,0\) \[warp 0, lane 0\]"


@pytest.fixture
def provoke(bench, lines):
    """Launch a kernel of hazards.cu, expect an error, and check that the next launch is right."""

    def run(kernel, expected, *arguments, error=Hazard, **shape):
        program = bench.load(bench.source(FILE, kernel))
        numbers = {word: str(lines(FILE, word)) for word in re.findall(r"<([\w-]+)>", expected)}
        for word, number in numbers.items():
            expected = expected.replace(f"<{word}>", number)
        with pytest.raises(error) as caught:
            bench.launch(program, *arguments, **shape, time_limit=0.3 if error is LaunchTimeout else None)
        assert type(caught.value) is error
        assert re.search(rf"^{expected}$", str(caught.value)), str(caught.value)
        out = bench.place(np.zeros(128, np.int32))
        bench.launch(bench.load(bench.source(FILE, "fine")), out, block=128)
        assert list(out.read()) == [thread ^ 1 for thread in range(128)]
        return str(caught.value)

    return run


@pytest.fixture
def out(bench):
    """An output of 64 integers, all 0."""
    return bench.place(np.zeros(64, np.int32))


BROKEN_RULES = {
    "notInMask": (  # a lane that its mask does not name
        r"hazards\.cu:<notInMask>: lane 16 calls __shfl_sync with mask 0x0000ffff, which does not name it; block "
        r"\(0,0,0\), thread \(16,0,0\) \[warp 0, lane 16\]"
    ),
    "neverArrives": (  # lanes that never arrive
        r"hazards\.cu:<neverArrives>: deadlock: lanes 0-15 of warp 0 wait in "
        r"__shfl_down_sync\(mask=0xffffffff\), which also names lanes 16-31; these wait at __syncthreads on "
        r"line <neverArrives-barrier>; block \(0,0,0\)"
    ),
    "divergesAtBarrier": (  # barriers on two lines
        r"hazards\.cu:<divergesAtBarrier>: barrier divergence: this thread waits at __syncthreads on line "
        "<divergesAtBarrier> while other threads of the block wait at __syncthreads on line "
        r"<divergesAtBarrier-first>; block \(0,0,0\), thread \(16,0,0\) \[warp 0, lane 16\]"
    ),
    "tooFewAtBarrier": (  # a named barrier to which too few threads come
        r"hazards\.cu:<tooFewAtBarrier>: deadlock: 32 threads wait in bar\.sync 2, at which 32 of 64 threads "
        r"have arrived; thread \(32,0,0\) waits at __syncthreads on line <tooFewAtBarrier-other>; block "
        r"\(0,0,0\)"
    ),
    "halfAWarpAtBarrier": (  # a part of a warp at a named barrier
        r"hazards\.cu:<halfAWarpAtBarrier>: deadlock: lanes 0-15 of warp 0 wait in "
        r"bar\.arrive\(mask=0xffffffff\), which also names lanes 16-31; .*"
    ),
    "noSuchBarrier": (  # a barrier that a block does not have
        r"hazards\.cu:<noSuchBarrier>: bar\.sync: there is no barrier 16, a block has 0 to 15; .*"
    ),
    "brokenWarpAtBarrier": (  # a barrier of a part of a warp
        r"hazards\.cu:<brokenWarpAtBarrier>: bar\.sync: 48 threads; the number must be a multiple of 32 and not 0; .*"
    ),
    "differentBarriers": (  # barriers of two kinds
        ".*: barrier divergence: .* at __syncthreads on .* at __syncthreads_count on .*"
    ),
    "otherFile": (  # barriers on the same line of two files
        r"barrier_here\.cuh:2: barrier divergence: .* thread \(16,0,0\) \[warp 0, lane 16\]"
    ),
    "masksDiffer": (  # masks that differ
        r"hazards\.cu:<masksDiffer>: lane 31 waits in __any_sync\(mask=0xffffffff\), but lane 0, named in that "
        r"mask, waits in __any_sync\(mask=0xffff5555\) on line <masksDiffer>: all lanes named in a mask must "
        r"execute the same intrinsic with the same mask; block \(0,0,0\), thread \(31,0,0\) \[warp 0, lane "
        r"31\]"
    ),
    "operationsDiffer": (  # operations that differ
        r"hazards\.cu:<operationsDiffer>: lane 31 waits in __any_sync\(mask=0xffffffff\), but lane 0, named in "
        r"that mask, waits in __all_sync\(mask=0xffffffff\) on line <operationsDiffer-other>: .*"
    ),
    "addsBeyond": (  # an atomic beyond the end, at the kernel's line
        r"hazards\.cu:<addsBeyond>: out-of-bounds \w+ of 'o': index 5000, but it has 64 elements; .*"
    ),
    "writesNowhere": (  # an address in no array
        rf"hazards\.cu:<writesNowhere>: memory fault: write at 0x40, in no array of the kernel; {FIRST_THREAD}"
    ),
    "misaligned": (  # a misaligned vector
        rf"hazards\.cu:<misaligned>: misaligned access to a vector type.*; {FIRST_THREAD}"
    ),
    "recurses": (  # endless recursion
        rf"hazards\.cu:\d+: local variables need more than 64 KiB of stack; {FIRST_THREAD}"
    ),
    "traps": r"hazards\.cu:<traps>: __trap\(\) was called; .*thread \(9,0,0\) \[warp 0, lane 9\]",  # __trap
    "neverEnds": (  # an endless loop, with the thread that does not end
        r"hazards\.cu:<neverEnds>: still running after the time limit of 0\.3 s; block \(1,0,0\), thread "
        r"\(5,0,0\) \[warp 0, lane 5\]"
    ),
    "waitsInBlock": (  # waiting for a thread of the same block, which never gets its turn
        rf"hazards\.cu:<waitsInBlock>: still running after .*; {FIRST_THREAD}"
    ),
    "barriersForEver": (  # endless barriers
        r"hazards\.cu:<barriersForEver>: still running after the time limit of 0\.3 s; .*"
    ),
}
LAUNCHED = {  # others than as one block of a warp
    "neverArrives": {"block": 64},
    "tooFewAtBarrier": {"block": 64},
    "halfAWarpAtBarrier": {"block": 64},
    "neverEnds": {"grid": 4, "error": LaunchTimeout},
    "waitsInBlock": {"block": 64, "error": LaunchTimeout},
    "barriersForEver": {"block": 256, "error": LaunchTimeout},
}


@pytest.mark.parametrize("kernel", BROKEN_RULES)
def test_a_broken_rule_is_reported(provoke, out, kernel):
    """With its line, block and thread."""
    provoke(kernel, BROKEN_RULES[kernel], out, **LAUNCHED.get(kernel, {}))


@pytest.mark.parametrize(("kernel", "error", "usable"), [("neverEnds", LaunchTimeout, False), ("traps", Hazard, True)])
def test_a_process_that_was_ended_anywhere_is_not_used_again(kernel, error, usable, bench):
    """It may hold a lock of the C library; after another error it goes on."""
    own = replace(bench, device=CpuDevice(threads=1))
    out = own.place(np.zeros(128, np.int32))
    with pytest.raises(error):
        own.launch(own.load(own.source(FILE, kernel)), out, grid=4, time_limit=0.3)
    assert own.device.usable is usable


@pytest.mark.parametrize(
    ("kernel", "expected", "n"),
    [
        ("dividesByZero", r"integer division by zero .*; block \(0,0,0\), thread \(7,0,0\) \[warp 0, lane 7\]", 7),
        ("asserts", r"assertion `\(int\)threadIdx\.x < n` failed; .*thread \(20,0,0\) .*", 20),
    ],
)
def test_a_rule_broken_by_one_thread(provoke, out, kernel, expected, n):
    """An integer division by zero, which a GPU does not notice; an assertion, in the kernel's own words."""
    assert "simt" not in provoke(kernel, rf"hazards\.cu:<{kernel}>: {expected}", out, np.int32(n))


def test_undefined_reads_are_counted_and_poisoned(bench, lines, out):
    """Reading a lane outside the mask is counted, but no error: the usual reduction of a tail does it."""
    found = bench.launch(bench.load(bench.source(FILE, "readsOutside")), out)
    assert found.undefined_reads == 8
    assert found.first_undefined_read == (
        f"hazards.cu:{lines(FILE, 'readsOutside')}: __shfl_down_sync: lane 8 reads lane 16, which is not named in the "
        "mask: the value is undefined on a GPU; block (0,0,0), thread (8,0,0) [warp 0, lane 8]"
    )
    assert (out.read()[8:16].view(np.uint32) == 0x7FFBADC0).all()
    assert list(out.read()[:8]) == list(range(8, 16))


def test_reading_a_lane_that_has_returned(bench, lines, out):
    """A named lane that has returned has no value either."""
    found = bench.launch(bench.load(bench.source(FILE, "readsExited")), out)
    assert found.undefined_reads == 20
    where = f"hazards.cu:{lines(FILE, 'readsExited')}: __shfl_sync: lane 0 reads lane 25, which has exited or is not in the block"
    assert found.first_undefined_read.startswith(where)


@pytest.mark.parametrize("width", [0, 3, 12, 33, 64, -1, -32])
def test_width_that_is_no_power_of_two(provoke, out, width):
    """Widths that the hardware does not have."""
    provoke(
        "badWidth",
        rf"hazards\.cu:<badWidth>: __shfl_sync: width {width} is not a power of two from 1 to 32; {FIRST_THREAD}",
        out,
        np.int32(width),
    )


def test_write_beyond_the_end(provoke, bench):
    """One element too many faults at its line, if the array's end is aligned."""
    out = bench.place(np.zeros(1000, np.int32), name="sums")
    provoke(
        "writesBeyond",
        r"hazards\.cu:<writesBeyond>: out-of-bounds write of 'sums': index 1000, but it has 1000 elements; "
        r"block \(31,0,0\), thread \(8,0,0\) \[warp 0, lane 8\]",
        out,
        np.int32(1000),
        grid=40,
    )


def test_write_into_the_gap_behind_the_end(provoke, bench):
    """A write into the at most 15 bytes that alignment leaves is found after the launch, without a line."""
    out = bench.place(np.zeros(1001, np.int32), name="sums")
    expected = r"out-of-bounds write of 'sums': index 1001, but it has 1001 elements \(found after the launch, .*\)"
    provoke("writesBeyond", expected, out, np.int32(1001), grid=40)


def test_write_before_the_beginning(provoke, out):
    """An index far below zero faults; one just below is found after the launch."""
    provoke(
        "writesBefore",
        r"hazards\.cu:<writesBefore>: out-of-bounds write of 'o': index -\d+, but it has 64 elements; .*",
        out,
    )
    provoke(
        "writesJustBefore",
        r"out-of-bounds write of 'o': index -1, but it has 64 elements \(found after the launch.*",
        out,
    )


@pytest.mark.parametrize("beyond", [1000, 50_000_000])
def test_read_beyond_the_end(provoke, bench, out, beyond):
    """Reads are caught up to 256 MiB beyond the end."""
    given = bench.place(np.zeros(1000, np.int32), Role.IN, "given")
    expected = rf"hazards\.cu:<readsBeyond>: out-of-bounds read of 'given': index {beyond}, but it has 1000 elements; {FIRST_THREAD}"
    provoke("readsBeyond", expected, given, out, np.int32(beyond))


def test_write_to_an_input(provoke, bench, out):
    """Inputs are read-only, whatever the kernel casts."""
    given = bench.place(np.ones(64, np.int32), Role.IN, "given")
    expected = rf"hazards\.cu:<writesInput>: write to read-only input 'given', element 3; {FIRST_THREAD}"
    provoke("writesInput", expected, given, out)
    assert (given.read() == 1).all()


@pytest.mark.parametrize(("size", "at"), [(128, 1), (128, 100000), (232448, 60000)])
def test_write_beyond_dynamic_shared_memory(provoke, out, size, at):
    """Dynamic shared memory ends at a guard too."""
    first = max(at, size // 4) - at  # the first thread whose element does not exist
    provoke(
        "writesBeyondShared",
        rf"hazards\.cu:<writesBeyondShared>: out-of-bounds write of dynamic shared memory: "
        rf"byte {(first + at) * 4} of {size}; block \(0,0,0\), thread \({first},0,0\) .*",
        out,
        np.int32(at),
        shared=size,
    )


@pytest.mark.parametrize(("waits", "where"), [(";", "end of the block"), ("; __syncthreads();", "this barrier")])
def test_write_just_beyond_dynamic_shared_memory(bench, tmp_path, out, waits, where):
    """Its end is exact to the byte, although memory is protected in pages and aligned to 16 bytes."""
    text = f'extern "C" __global__ void kernel(int* out) {{ extern __shared__ int t[]; t[threadIdx.x] = 7{waits} }}\n'
    program = bench.load(bench.text(tmp_path, text))
    bench.launch(program, out, block=63, shared=63 * 4)
    with pytest.raises(Hazard, match=rf"of dynamic shared memory: byte 252 of 252 \(found at (the )?{where}"):
        bench.launch(program, out, block=64, shared=63 * 4)


def test_a_failure_ends_blocks_on_other_threads(bench, lines, out):
    """An error in one block does not wait for the time limit of another."""
    program = bench.load(bench.source(FILE, "oneFailsOneSpins"))
    with pytest.raises(Hazard, match=rf"hazards\.cu:{lines(FILE, 'oneFailsOneSpins')}: __trap\(\) was called"):
        bench.launch(program, out, grid=2, time_limit=1000)


def test_stopping_again_and_again(bench, out):
    """A late interruption of one launch does not stop the next."""
    fails, fine = (bench.load(bench.source(FILE, name)) for name in ("traps", "fine"))
    for _ in range(100):
        with pytest.raises(Hazard):
            bench.launch(fails, out, grid=50)
        bench.launch(fine, out, block=64)
