"""The checked device: how what it finds is told. What it finds, and what not, test_planted_races.py has."""

import dataclasses
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from outcomes import rows
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


def line_of(text, kernel):
    """The number of a line of a kernel."""
    lines = SOURCE.read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if f" {kernel}(" in line)
    return f"checked.cu:{next(i for i in range(start, len(lines)) if text in lines[i]) + 1}"


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
    with pytest.raises(Hazard, match="out-of-bounds read of 'array 0': index 32, but 'array 0' has 32 elements"):
        bench.call(source("behindArray", broken=True), *arguments)
    arguments = [ints(63), ints(32)]
    bench.call(source("pairBehind", broken=False), *arguments)
    with pytest.raises(Hazard, match="read of 'array 0': 8 bytes from index 62, but 'array 0' has 63 elements"):
        bench.call(source("pairBehind", broken=True), *arguments)
    arguments = [np.zeros(129, np.int8), ints(32)]
    bench.call(source("misaligned", broken=False), *arguments)
    with pytest.raises(Hazard, match="misaligned read of 'array 0': 4 bytes at byte 1"):
        bench.call(source("misaligned", broken=True), *arguments)


def test_a_device_variable_is_counted_in_its_own_elements(bench, tmp_path):
    """Of a `__device__` array that the kernel writes, the type is known: an index is one of elements, not of bytes."""
    path = tmp_path / "own.cu"
    text = '__device__ int table[4];\nextern "C" __global__ void kernel(int n) { table[n] = 1; }\n'
    path.write_text(text)
    own = Source(path, text, "kernel", constants=("table",))
    program = bench.device.load(own, bench.compiler.compile(own))
    table = bench.device.variable(program, "table", ints(4), Role.OUT)
    launch = Launch(program, (1, 1, 1), (1, 1, 1), 0, (np.int32(4),), variables=(table,))
    with pytest.raises(Hazard, match="out-of-bounds write of 'table': index 4, but 'table' has 4 elements"):
        bench.device.launch(launch, 20.0)


def test_writes_of_one_value_are_told_apart(bench):
    """They are a race of their own kind, and a setting allows them."""
    (found,) = findings(bench, "sameValue")
    assert found.same_value
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


def test_an_output_that_is_read_first_is_found(runner, tmp_path):
    """A kernel that adds to an `out` array reads what nobody wrote."""
    (tmp_path / "mine" / "kernel").mkdir(parents=True)
    (tmp_path / "mine" / "kernel" / "adds.cu").write_text(
        "__global__ void adds(int* out)\n{\n    out[threadIdx.x] += 1;\n}\n"
    )
    (tmp_path / "mine" / "kernel" / "adds.yaml").write_text(
        "parameters: {block: 32, size: 32}\narguments:\n  - {name: out, role: out, dtype: int32, shape: size}\n"
        "grid: 1\nreference: {out: 'arange(size)'}\n"
    )
    done = runner("--config-dir", "mine", "kernel=adds", "device=checked", "device.threads=1")
    (row,) = rows(done.folder)
    assert row["status"] == "hazard"
    assert "adds.cu:3: uninitialized read of global 'out' element 0" in row["reason"]


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
