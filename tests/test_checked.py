"""The checked device: how what it finds is told, and what it advises. What it finds, and what not, test_planted_races.py has."""

import dataclasses
import json
import re
import shutil
from pathlib import Path

import numpy as np
import planted_races
import pytest
from outcomes import rows
from processes import OWN
from support import Bench

from runner.device import Launch, Role, Source
from runner.device.checked.device import CheckedDevice
from runner.device.cpu import build
from runner.device.cpu.build import CpuCompiler
from runner.errors import DeviceUnavailable, Hazard

SOURCE = Path(__file__).parent / "kernels" / "checked" / "checked.cu"


def ints(count):
    """Zeros."""
    return np.zeros(count, np.int32)


# For each kernel: its arguments, and how it is launched.
LAUNCHES = {
    "blockBarrier": (lambda: [ints(64)], {"block": 64}),
    "twoMistakes": (lambda: [ints(128)], {"block": 64}),
    "counter": (lambda: [ints(4)], {"block": 64, "grid": 2}),
    "lastBlock": (lambda: [ints(1), ints(16), np.zeros(1, np.uint32)], {"grid": 16}),
    "unwritten": (lambda: [ints(64)], {"block": 64}),
    "nextArray": (lambda: [ints(64)], {"block": 64}),
    "behindDynamic": (lambda: [ints(32)], {"shared": 128}),
    "sameValue": (lambda: [ints(1)], {"block": 64}),
    "sameStructure": (lambda: [ints(8)], {"block": 64}),
    "paddedStructures": (lambda: [np.zeros(64)], {"block": 64}),
}


@pytest.fixture(scope="module")
def bench(own_cache):
    """The checked device with one thread, so that counts are exact."""
    return Bench(CheckedDevice(threads=1), CpuCompiler(checked=True))


def source(name, *, broken, **how):
    """One form of a kernel."""
    return Source(SOURCE, SOURCE.read_text(), name, (("BROKEN", str(int(broken))),), **how)


def launched(bench, name, *, broken):
    """Launch one form of a kernel of `LAUNCHES`, which are all compiled at once; gives its arrays."""
    (arguments, launch), (first, *further) = LAUNCHES[name], LAUNCHES
    one = Bench(Ordered(bench.device, 0, name), bench.compiler)
    return one.call(source(first, broken=broken, other_functions=tuple(further)), *arguments(), **launch)


def findings(bench, name):
    """What is found in the broken form of a kernel."""
    with pytest.raises(Hazard) as found:
        launched(bench, name, broken=True)
    return found.value.findings


class Ordered:
    """A device whose launches have an order, of the source's function or of another one in it."""

    def __init__(self, device, order, function=""):
        self.device, self.order, self.function = device, order, function

    def __getattr__(self, name):
        return getattr(self.device, name)

    def load(self, source, binary):
        """Load the function."""
        program = self.device.load(source, binary)
        return program.sibling(self.function) if self.function not in ("", program.function) else program

    def launch(self, launch, limit):
        """Launch in that order."""
        return self.device.launch(dataclasses.replace(launch, order=self.order), limit)


def number_of(text, kernel, path=SOURCE):
    """The number of a line of a kernel."""
    lines = path.read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if f" {kernel}(" in line)
    return next(i for i in range(start, len(lines)) if text in lines[i]) + 1


def line_of(text, kernel):
    """The line as a finding has it."""
    return f"checked.cu:{number_of(text, kernel)}"


def test_a_race_names_both_sides(bench):
    """A finding has both lines, the array, the element, both threads, and how often it happened."""
    (race,) = findings(bench, "blockBarrier")
    assert (race.kind, race.space, race.array) == ("race", "shared", "s")
    assert {race.line, race.other_line} == {line_of("s[t] = t", "blockBarrier"), line_of("out[t] =", "blockBarrier")}
    assert race.thread[0] == 63 - race.other_thread[0]
    assert race.element in (race.thread[0], race.other_thread[0])
    assert race.count == 64
    assert race.line in race.text
    assert race.other_line in race.text


def test_one_launch_tells_all_races(bench):
    """A launch goes on after a race: each pair of lines is told once."""
    found = findings(bench, "twoMistakes")
    pairs = [frozenset((f.line, f.other_line)) for f in found]
    first, second, third = (line_of(text, "twoMistakes") for text in ("s[t] = t", "int other", "s[63 - t]"))
    last = line_of("WRONG", "twoMistakes")
    assert len(pairs) == len(set(pairs))
    assert {
        frozenset((first, second)),
        frozenset((first, third)),
        frozenset((second, third)),
        frozenset((last,)),
    } >= set(pairs)
    assert {frozenset((second, third)), frozenset((last,))} <= set(pairs)


def test_blocks_of_a_grid_barrier_are_ordered(bench):
    """grid_group::sync orders all blocks; a barrier of the block does not."""
    bench.call(source("gridBarrier", broken=False, cooperative=True), ints(16), grid=8, block=32)
    with pytest.raises(Hazard, match=r"race .* by block \("):
        bench.call(source("gridBarrier", broken=True, cooperative=True), ints(16), grid=8, block=32)


@pytest.mark.parametrize(
    ("name", "kind", "array", "element"),
    [("unwritten", "unwritten", "s", 7), ("nextArray", "outside", "one", 256), ("behindDynamic", "outside", None, 128)],
)
def test_shared_memory_is_exact_to_the_byte(bench, name, kind, array, element):
    """A byte that nobody wrote, and the first byte behind an array, are found."""
    (found,) = findings(bench, name)
    assert (found.kind, found.space, found.element) == (kind, "shared", element)
    assert array is None or found.array == array


def test_global_memory_is_exact(bench):
    """A read behind an array of global memory is found, and one that its type does not allow."""
    arguments = [np.arange(32, dtype=np.int32), np.zeros(32, np.uint8)]
    arguments[0].flags.writeable = False
    bench.call(source("behindArray", broken=False), *arguments)
    with pytest.raises(Hazard, match="out-of-bounds read of 'array 0': index 32, but it has 32 elements"):
        bench.call(source("behindArray", broken=True), *arguments)
    arguments = [ints(63), ints(32)]
    bench.call(source("pairBehind", broken=False), *arguments)
    with pytest.raises(Hazard, match="read of 'array 0': 8 bytes from index 62, but it has 63 elements"):
        bench.call(source("pairBehind", broken=True), *arguments)
    arguments = [np.zeros(129, np.int8), ints(32)]
    bench.call(source("misaligned", broken=False), *arguments)
    with pytest.raises(Hazard, match="misaligned read of 'array 0': 4 bytes at byte 1"):
        bench.call(source("misaligned", broken=True), *arguments)


# Where the compiler knows that an access is misaligned; `%d` is the offset in bytes, of which only the first is aligned.
MISALIGNED = {
    "a shared array": ("__shared__ __align__(16) char s[64]; *(float*)(s + %d) = 1;", (4, 2), "write of 's': 4 bytes at byte 2"),
    "doubles behind floats": (
        "__shared__ __align__(16) float s[8]; double* d = (double*)(s + %d); d[0] = 1;", (2, 1), "write of 's': 8 bytes at byte 4",
    ),
    "a vector": ("__shared__ __align__(16) float s[8]; *(float4*)(s + %d) = float4();", (4, 2), "write of 's': 16 bytes at byte 8"),
    "a variable": ("*(int*)(table + %d) = 1;", (4, 1), "write of 'table': 4 bytes at byte 1"),
    "an atomic function": (
        "__shared__ __align__(16) char s[8]; *(int*)s = 0; atomicAdd((int*)(s + %d), 1);", (0, 2), "write of 's': 4 bytes at byte 2",
    ),
    "a volatile access": (
        "__shared__ __align__(16) char s[8]; *(volatile int*)(s + n + %d) = 1;", (0, 1), "write of 's': 4 bytes at byte 1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", MISALIGNED)
def test_a_misaligned_access_is_found_in_every_memory(what, bench, tmp_path):
    """A GPU ends the launch there; the host's processor does not mind."""
    statements, offsets, words = MISALIGNED[what]
    path = tmp_path / "own.cu"
    for offset in offsets:
        text = (
            "__device__ __align__(16) char table[64];\n"
            f'extern "C" __global__ void kernel(int n) {{ {statements % offset} }}\n'
        )
        path.write_text(text)
        if offset == offsets[0]:
            bench.call(Source(path, text, "kernel"), np.int32(0), block=1)
            continue
        with pytest.raises(Hazard, match=rf"own\.cu:2: misaligned {re.escape(words)}"):
            bench.call(Source(path, text, "kernel"), np.int32(0), block=1)


def test_what_may_lie_anywhere_is_no_finding(bench, tmp_path):
    """Packed structures, copies byte by byte, and a member of a structure that is aligned itself."""
    path = tmp_path / "own.cu"
    text = """
        struct __attribute__((packed)) Packed { char c; float f; };
        struct __align__(16) Aligned { float x, y, z, w; };
        extern "C" __global__ void kernel(float* out) {
            __shared__ __align__(16) char s[64];
            for (int i = 0; i < 64; ++i) s[i] = char(i);
            Packed* p = (Packed*)s;
            p->f = 2;
            float f;
            memcpy(&f, s + 1, 4);
            out[0] = f + ((Aligned*)(s + 4))->y;
        }
    """
    path.write_text(text)
    (out,) = bench.call(Source(path, text, "kernel"), np.zeros(1, np.float32), block=1)
    assert out[0] == 2 + np.arange(8, 12, dtype=np.int8).view(np.float32)[0]


def test_a_device_variable_is_counted_in_its_own_elements(bench, tmp_path):
    """Of a `__device__` array that the kernel writes, the type is known: an index is one of elements, not of bytes."""
    path = tmp_path / "own.cu"
    text = '__device__ int table[4];\nextern "C" __global__ void kernel(int n) { table[n] = 1; }\n'
    path.write_text(text)
    own = Source(path, text, "kernel", constants=("table",))
    program = bench.device.load(own, bench.compiler.compile(own))
    table = bench.device.variable(program, "table", ints(4), Role.OUT)
    launch = Launch(program, (1, 1, 1), (1, 1, 1), 0, (np.int32(4),), variables=(table,))
    with pytest.raises(Hazard, match="out-of-bounds write of 'table': index 4, but it has 4 elements"):
        bench.device.launch(launch, 20.0)


def test_padding_need_not_be_written(bench):
    """A copy of a structure in shared memory reads it; a member that nobody wrote is found beside it."""
    launched(bench, "paddedStructures", broken=False)
    (found,) = findings(bench, "paddedStructures")
    assert (found.kind, found.array, found.element) == ("unwritten", "all", 63 * 16 + 8)


def test_writes_of_one_value_are_told_apart(bench):
    """They are a race of their own kind, and a setting allows them."""
    (found,) = findings(bench, "sameValue")
    assert found.same_value
    assert all(f.same_value for f in findings(bench, "sameStructure"))  # of 32 bytes, stored at once
    assert not any(f.same_value for f in findings(bench, "counter"))
    lenient = Bench(CheckedDevice(threads=1, ignore_same_value=True), bench.compiler)
    assert launched(lenient, "sameValue", broken=True)[0][0] == 1
    assert findings(lenient, "counter")


def test_another_schedule_shows_what_one_does_not(bench):
    """A race that depends on the order of threads is found in that order."""
    usual = Bench(Ordered(bench.device, 0), bench.compiler)
    usual.call(source("inOneOrder", broken=True), ints(3), ints(1), block=64)
    reverse = Bench(Ordered(bench.device, 1), bench.compiler)
    reverse.call(source("inOneOrder", broken=False), ints(3), ints(1), block=64)
    with pytest.raises(Hazard, match="in schedule 1"):
        reverse.call(source("inOneOrder", broken=True), ints(3), ints(1), block=64)


def test_others_may_run_between_two_atomics_in_a_random_order(bench):
    """What a thread finds in memory depends on how far the others are: some of eight random orders show the race."""
    shown = []
    for order in range(10):
        ordered = Bench(Ordered(bench.device, order), bench.compiler)
        ordered.call(source("betweenRounds", broken=False), ints(1), ints(1), block=64)
        try:
            ordered.call(source("betweenRounds", broken=True), ints(1), ints(1), block=64)
        except Hazard:
            shown.append(order)
    assert len(shown) > 2
    assert min(shown) >= 2


CLANG = next(filter(shutil.which, ("clang++", *(f"clang++-{version}" for version in range(14, 24)))), None)


@pytest.mark.skipif(CLANG is None, reason="clang++ is not installed")
def test_clang_instruments_as_well(bench, monkeypatch):
    """The other usual compiler finds the same races, and accuses no right kernel."""
    names = ("blockBarrier", "lastBlock", "nextArray", "unwritten")
    found = {name: [f.kind for f in findings(bench, name)] for name in names}
    quick = (*build.COMMON_FLAGS, "-O0")  # of the runtime library; kernels of the checked device have -O1 behind it
    monkeypatch.setattr(build, "COMMON_FLAGS", quick)
    clang = Bench(bench.device, CpuCompiler(checked=True, cxx=CLANG))
    for name in names:
        launched(clang, name, broken=False)
        assert [f.kind for f in findings(clang, name)] == found[name]


def test_an_output_that_is_read_first_is_found(runner):
    """A kernel that adds to an `out` array reads what nobody wrote."""
    done = runner("--config-dir", OWN, "kernel=addsToAll", "device=checked", "device.threads=1")
    (row,) = rows(done.folder)
    assert row["status"] == "hazard"
    assert "addsToAll.cu:3: uninitialized read of global 'out' element 0" in row["reason"]


def test_a_sweep_tells_the_hazard_and_keeps_it(runner):
    """The broken form is a hazard with its findings in the folder; the repaired one is right."""
    done = runner("-m", "kernel=raceFence", "repaired=0,1", "device=checked")
    found = {row["repaired"]: row for row in rows(done.folder)}
    assert (found["0"]["status"], found["1"]["status"]) == ("hazard", "ok")
    assert done.code == 1
    (path,) = done.folder.glob("*/hazards.json")
    (finding,) = json.loads(path.read_text())
    assert finding["array"] == "partial"
    assert finding["text"] in found["0"]["reason"]


def test_a_kernel_that_needs_a_gpu_is_skipped(runner):
    """It says why in its row."""
    (row,) = rows(runner("kernel=reduceBulk", "device=checked").folder)
    assert row["status"] == "skipped"
    assert "GPU only" in row["reason"]


def test_a_compiler_without_instrumentation_is_one_sentence(tmp_path, monkeypatch):
    """The device says so when it is opened."""
    compiler = tmp_path / "c++"
    compiler.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo "plain 1.0" && exit\necho "unknown option" >&2; exit 1\n'
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    with pytest.raises(DeviceUnavailable, match="cannot instrument memory accesses"):
        CheckedDevice()


ADVICE_CU = Path(__file__).parent / "kernels" / "checked" / "advice.cu"
PLANTED = {kernel.name: kernel for kernel in planted_races.planted()}


def between(one, other):
    """Two lines."""
    return f"between lines {one} and {other}"


# For each rule planted kernels, and what is said of a race of the lines that are marked a and b.
ADVICE = {
    # threads of one block
    "neighbourNoBarrier": lambda a, b: f"missing: `__syncthreads()` {between(a, b)}",
    "neighbourVote": lambda a, b: f"missing: `__syncthreads()` {between(a, b)}",
    "neighbourWarp": lambda a, b: f"missing: `__syncthreads()` {between(a, b)}",
    "hillisSteeleOneBarrier": lambda a, b: f"missing: `__syncthreads()` {between(a, b)}",
    # ... in different iterations
    "tileOverwritten": lambda a, b: (
        f"missing: `__syncthreads()` at the end of the loop of line {a - 1}, "
        f"between line {b} and line {a} of the next iteration"
    ),
    "reverseRounds": lambda a, b: (
        f"missing: `__syncwarp()` at the end of the loop of line {a - 1}, "
        f"between line {b} and line {a} of the next iteration"
    ),
    "treeSumOneBarrier": lambda a, _: f"missing: `__syncwarp()` in each iteration of the loop of line {a - 1}",
    "hillisSteeleBuffersSkip": lambda a, _: f"missing: `__syncthreads()` in each iteration of the loop of line {a - 2}",
    "summedTwiceCarelessly": lambda a, b: f"`__syncthreads()` between line {b} and line {a} of the next call",
    # lanes of one warp
    "reverseShuffle": lambda a, b: f"missing: `__syncwarp()` {between(a, b)}",
    "reverseHalves": lambda a, b: f"missing: `__syncwarp()` of both threads {between(a, b)}",
    "unrolledHalfSync": lambda a, _: f"missing: `__syncwarp()` between the read and the write on line {a}",
    # atomic, and not
    "histogramPlain": lambda a, _: f"the update on line {a} must be atomic (such as `atomicAdd`)",
    "strideEven": lambda _, __: "each thread needs elements of its own, or the writes must be atomic",
    "foundSame": lambda _, __: "one thread alone should write it",
    "histogramCleared": lambda a, b: f"missing: `__syncthreads()` {between(a, b)}, or an atomic write on line {a}",
    "totalMixed": lambda a, _: f"the write on line {a} must be atomic, too",
    "largestLook": lambda a, _: f"the read on line {a} must be atomic, too",
    "visitedTestThenSet": lambda a, b: f"the test on line {a} and the access on line {b} must be one step",
    # blocks
    "totalPlain": lambda a, _: f"the update on line {a} must be atomic (such as `atomicAdd`)",
    "smoothedInPlace": lambda _, __: "blocks of one launch have no order",
    "rangesOverlap": lambda _, __: "each block needs elements of its own, or the writes must be atomic",
    "gridStagesBlock": lambda _, __: "missing: a barrier of the grid, such as `grid.sync()`, between the two",
    "totalBlockScope": lambda a, _: f"the atomic on line {a} needs the scope of the device (no `_block`)",
    # a word that signals
    "lastBlockNoFence": lambda a, _: (
        f"the signal on line {a + 1} orders them only with a `__threadfence()` {between(a, a + 1)}"
    ),
    "lastBlockBlockFence": lambda a, _: (
        f"only with `__threadfence()` in place of `__threadfence_block()` {between(a, a + 2)}"
    ),
    "flagProducerFence": lambda _, b: f"only with a `__threadfence()` (or an acquire) {between(b - 1, b)}",
    "flagConsumerFence": lambda a, _: f"only with a `__threadfence()` {between(a, a + 1)}",
    "flagRefRelaxed": lambda _, b: f"only with an acquire on line {b}",
    "flagForBlockEarly": lambda a, _: f"only with a `__syncthreads()` {between(a, a + 3)}",
    "flagStoredAgain": lambda a, _: (
        f"line {a - 1} signals too early: it must stand behind line {a} and a `__threadfence()`"
    ),
    "flagWithinBlockNoFence": lambda a, _: f"only with a `__threadfence_block()` {between(a, a + 1)}",
    "lastBlockBlockCounter": lambda _, __: "orders them only with the scope of the device (no `_block`)",
    "lockOther": lambda a, _: f"the update on line {a} must be atomic",
    "flagTooLate": lambda _, __: "blocks of one launch have no order",
}


def found(bench, name, *, broken=True):
    """What is found in a kernel of advice.cu."""
    source = Source(ADVICE_CU, ADVICE_CU.read_text(), name, (("BROKEN", str(int(broken))),))
    with pytest.raises(Hazard) as raised:
        bench.call(source, np.arange(64, dtype=np.int32), np.zeros(64, np.int32), block=64)
    return raised.value.findings


@pytest.mark.parametrize("file", sorted({PLANTED[name].file for name in ADVICE}), ids=lambda path: path.stem)
def test_a_race_says_what_is_missing_and_where(bench, file):
    """Each rule, on kernels that are broken in this way: the advice has the marked lines."""
    kernels = [PLANTED[name] for name in ADVICE if PLANTED[name].file == file]
    cases = planted_races.cases(kernels)
    wrong = {}
    for kernel in kernels:
        a, b = (min(kernel.lines.get(f"RACE {side}", [0])) for side in "ab")
        advice = [finding.advice for finding in bench.run(cases[kernel.name]).findings]
        if not any(ADVICE[kernel.name](a, b) in said for said in advice):
            wrong[kernel.name] = (ADVICE[kernel.name](a, b), advice)
    assert wrong == {}


def test_an_iteration_that_overtakes_another_is_told(bench):
    """The write of the next iteration races with the read of this one: the barrier at the loop's end is missing."""
    (finding,) = found(bench, "afterTheLoop")
    write, read, loop = (number_of(text, "afterTheLoop", ADVICE_CU) for text in ("s[t] =", "sum +=", "for ("))
    assert finding.advice == (
        f"missing: `__syncthreads()` at the end of the loop of line {loop}, "
        f"between line {read} and line {write} of the next iteration"
    )
    assert finding.text.endswith(f"; {finding.advice}")
    assert json.loads(json.dumps(dataclasses.asdict(finding)))["advice"] == finding.advice


def test_a_copy_that_is_not_waited_for_is_told(bench):
    """Reading what an asynchronous copy is still to write names the copy and the missing wait."""
    (finding,) = found(bench, "copied")
    copy, read = number_of("__pipeline_memcpy_async", "copied", ADVICE_CU), number_of("out[t] =", "copied", ADVICE_CU)
    assert (finding.kind, finding.array, finding.count) == ("unwaited", "s", 64)
    assert (finding.line, finding.other_line) == (f"advice.cu:{read}", f"advice.cu:{copy}")
    assert f"before the asynchronous copy of advice.cu:{copy} was waited for" in finding.text
    assert f"`__pipeline_wait_prior(0)`, {between(copy, read)}" in finding.advice


@pytest.mark.parametrize(("name", "array"), [("beforeOne", "one"), ("beforeTwo", "two")])
def test_an_access_before_a_shared_array_names_it(bench, name, array):
    """An index far below zero belongs to the array behind it, not to the one that ends 48 KiB before."""
    (finding,) = found(bench, name)
    assert (finding.kind, finding.array) == ("outside", array)
