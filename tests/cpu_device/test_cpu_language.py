"""CUDA C++ as kernels use it runs unmodified."""

import json
from pathlib import Path

import numpy as np
import pytest
from conformance_launches import launches, shuffle_cases, source_lane

FILE = "language.cu"


@pytest.mark.parametrize(("kernel", "factor"), [("headerShared", 10), ("alignedShared", 1)])
def test_dynamic_shared_declarations(bench, kernel, factor):
    """`extern __shared__` works in an included file, and with an alignment."""
    out = bench.place(np.zeros(64, np.int32))
    bench.launch(bench.load(bench.source(FILE, kernel)), out, block=64, shared=256)
    assert list(out.read()) == [(63 - i) * factor for i in range(64)]


def test_fresh_shared_memory_is_garbage(bench):
    """What an earlier block or launch left in shared memory is not there any more."""
    out = bench.place(np.zeros(64, np.uint32))
    program = bench.load(bench.source(FILE, "freshShared"))
    bench.launch(program, out, np.int32(1), shared=128)
    bench.launch(program, out, np.int32(0), shared=128)
    assert (out.read()[32:] == 0xCBCBCBCB).all()
    assert (out.read()[:32] == 0).all()


def test_printf(bench):
    """What a kernel prints is in the findings, not on the terminal; if it prints without end, the missing bytes are counted."""
    found = bench.launch(bench.load(bench.source(FILE, "hello")), np.int32(2))
    assert found.printed == "hello from 0: 0.00 there\nhello from 1: 0.50 there\n"
    found = bench.launch(bench.load(bench.source(FILE, "chatter")), grid=100, block=256)
    assert len(found.printed) < 70000
    assert found.printed.startswith("0123456789" * 100)
    assert found.printed.endswith(f"[{100 * 256 * 40 - 65535} more bytes dropped]\n")


def test_active_masks(bench):
    """Lanes at the same __activemask() form it; two calls on one line are two."""
    out = bench.place(np.zeros(32, np.uint32))
    bench.launch(bench.load(bench.source(FILE, "activeMasks")), out)
    assert list(out.read()) == [0x55555555, 0xAAAAAAAA] * 16


def test_structures_and_all_scalar_types(bench):
    """Arguments of every kind arrive."""
    out = bench.place(np.zeros(1, np.float32))
    pair = np.array([(3, 0.5)], np.dtype([("first", "i4"), ("second", "f4")]))[0]
    bench.launch(bench.load(bench.source(FILE, "takesStructure")), pair, out, block=1)
    assert out.read()[0] == 3.5
    types = "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float32 float64 bool".split()
    total = bench.place(np.zeros(1, np.float64))
    bench.launch(bench.load(bench.source(FILE, "manyTypes")), *(np.dtype(t).type(3) for t in types), total, block=1)
    assert total.read()[0] == 3 * 10 + 1


def test_short_macros_do_not_break_the_device(bench, tmp_path):
    """Names such as N and T may be macros of a variant."""
    text = 'extern "C" __global__ void kernel(T *o) { *o = N; }\n'
    macros = (("T", "int"), ("N", "7"), ("R", "1"), ("line", "2"), ("mask", "3"), ("value", "4"))
    out = bench.place(np.zeros(1, np.int32))
    bench.launch(bench.load(bench.text(tmp_path, text, macros=macros)), out, block=1)
    assert out.read()[0] == 7


@pytest.mark.parametrize("block", [1, 31, 32, 33, 97, 1024])
def test_blocks_of_any_size(bench, block):
    """The last warp of a block may have any number of lanes; absent lanes may be named in a mask."""
    out = bench.place(np.zeros(block, np.int32))
    bench.launch(bench.load(bench.source("hazards.cu", "fine")), out, block=block, grid=3)
    expected = [i ^ 1 if i ^ 1 < block else None for i in range(block)]
    assert all(e is None or e == got for e, got in zip(expected, out.read().tolist(), strict=True))


def test_resources(bench):
    """Static shared memory is known from the binary; registers are nothing that a CPU has."""
    resources = bench.load(bench.source(FILE, "transposeFloat")).resources
    assert resources.shared_bytes >= 32 * 33 * 4
    assert (resources.registers, resources.local_bytes) == (None, None)
    assert bench.load(bench.source("conformance.cu", "votes")).resources.shared_bytes == 0


RECORDINGS = sorted((Path(__file__).parent / "recorded").glob("*.npz"))
POISON = 0x7FFBADC07FFBADC0
LAUNCHES = {launch.name: launch for launch in launches()}


def defined(computed):
    """Which elements do not come from an undefined read of a lane."""
    size = min(computed.itemsize, 8)
    poison = np.array([POISON], np.uint64).view(np.uint8)[:size].view(computed.dtype)
    return computed != poison[0] if computed.dtype.kind in "iu" and size >= 4 else np.ones(computed.shape, bool)


@pytest.mark.skipif(not RECORDINGS, reason="no recording of a GPU yet: record_on_gpu.py makes one")
@pytest.mark.parametrize("launch", LAUNCHES.values(), ids=LAUNCHES)
def test_same_as_the_recorded_gpu(bench, launch):
    """Each defined element is what the GPU computed."""
    outputs, _ = bench.conformance(launch)
    for path in RECORDINGS:
        with np.load(path) as recorded:
            about = json.loads(recorded["about"].tobytes())
            for number, computed in enumerate(outputs):
                there = recorded[f"{launch.name}/{number}"].astype(computed.dtype)
                differs = defined(computed) & (computed != there)
                assert not differs.any(), f"{about['gpu']}: output {number}, element {np.flatnonzero(differs)[0]}"


def test_shuffles_read_the_lane_that_the_ptx_manual_names(bench):
    """All kinds, widths, masks and arguments, also beyond 31 and negative; a lane outside the mask is poison, and counted."""
    (out,), findings = bench.conformance(LAUNCHES["shuffleCases"])
    out = out.reshape(-1, 32)
    expected = np.full_like(out, -1)
    undefined = 0
    for row, (kind, width, argument, mask) in zip(expected, shuffle_cases(), strict=True):
        for lane in (lane for lane in range(32) if mask >> lane & 1):
            source = source_lane(kind, width, argument, lane)
            named = mask >> source & 1
            row[lane] = 100 + source if named else POISON & 0xFFFFFFFF
            undefined += not named
    wrong = np.flatnonzero((out != expected).any(axis=1))
    assert wrong.size == 0, [shuffle_cases()[i] for i in wrong[:5]]
    assert findings.undefined_reads == undefined > 10000
    assert "which is not named in the mask: the value is undefined on a GPU" in findings.first_undefined_read


@pytest.mark.parametrize("alive", [1, 17, 20, 31, 32])
def test_returned_lanes_may_stay_in_the_mask(bench, alive):
    """Collectives complete without them; reading one is undefined, and counted."""
    _, findings = bench.conformance(LAUNCHES[f"exitedLanes-{alive}"])
    assert findings.undefined_reads == sum(lane ^ 16 >= alive for lane in range(alive))
