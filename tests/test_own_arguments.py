"""Whatever a kernel takes, its YAML can declare: small integers, vectors, structures, pointers, variables, three axes.

The kernels and their YAMLs are those of tests/kernels/arguments; programs of several launches, of tests/kernels/launches.
"""

import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import yaml
from outcomes import altered, refusal
from support import ROOT, case_of, constant, read_kernel

from runner.device import Source
from runner.kernel.inputs import contents

FOLDER, LAUNCHES = (ROOT / "tests" / "kernels" / name for name in ("arguments", "launches"))
PROGRAMS = {"twoPasses": 2, "scanWithFixUp": 3, "pingPong": 4}  # and their launches
PROGRAMS |= {"setThenCount": 2, "setThenFetch": 2, "setToMost": 8, "copyBetween": 4}  # with memsets and copies
PROGRAMS |= {"twoFiles": 3}  # of two sources
RIGHT = sorted(path.stem for path in FOLDER.glob("*.yaml") if path.stem not in ("forgetful", "fp8Bits"))


@pytest.mark.parametrize("name", RIGHT)
def test_a_kernel_runs_with_what_it_takes(bench, name):
    """Every argument arrives as the kernel's own type, and what it writes is compared in its own type."""
    outcome = bench.run(case_of(read_kernel(FOLDER / f"{name}.yaml")))
    assert (outcome.status, outcome.reason) == ("ok", "")
    if name == "onlyCounts":
        assert outcome.note == "no output is compared: it counts in shared memory alone"


def test_numbers_of_8_bits_are_those_of_a_gpu(bench):
    """Each bit pattern, and floats that are exact, between two numbers, a tie, too small and too large."""
    case = case_of(read_kernel(FOLDER / "fp8Bits.yaml"), size=20000)
    outputs, _ = bench.outputs(case)
    x = contents(case)["x"]
    assert len(np.unique(x)) > 1000
    for name, dtype in (("4", ml_dtypes.float8_e4m3fn), ("5", ml_dtypes.float8_e5m2)):
        numbers = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float32)
        assert np.array_equal(outputs["four" if name == "4" else "five"], numbers, equal_nan=True)
        largest = float(ml_dtypes.finfo(dtype).max)
        assert np.array_equal(outputs[f"to{name}"], np.clip(x, -largest, largest).astype(dtype).view(np.uint8))


def test_pairs_of_small_floats_are_those_of_a_gpu(bench):
    """Of 8 and of 4 bits, by functions and by types: exact numbers, ties, too small, too large, and what they widen to."""
    path = ROOT / "tests" / "kernels" / "cuda" / "small_floats.cu"
    x = np.concatenate((np.arange(512) / 64 - 4, np.random.default_rng(5).normal(0, 8, 512))).astype(np.float32)
    x[:8] = 1000, -1000, 0.25, -0.25, 2.5, 5, 1e-9, -0.0
    to, back = bench.call(
        Source(path, path.read_text(), "pairs"), constant(x), np.zeros((512, 4), np.uint32), np.zeros((512, 6), np.float32),
        1024, grid=16,
    )  # fmt: skip

    def bits(dtype, values=x):
        largest = float(ml_dtypes.finfo(dtype).max)
        return np.clip(values, -largest, largest).astype(dtype).view(np.uint8).astype(np.uint32).reshape(-1, 2).T

    e4m3, e5m2, e2m1 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float4_e2m1fn
    halves = x.astype(np.float16).astype(np.float32)
    low, high = bits(e5m2)
    assert (to[:, 0] == bits(e4m3)[0] | bits(e4m3)[1] << 8).all()
    assert (to[:, 1] == low | high << 8 | high << 16 | low << 24).all()
    assert (to[:, 2] == bits(e2m1)[0] | bits(e2m1)[1] << 4).all()
    small = bits(e2m1, halves)
    assert (to[:, 3] == bits(e4m3, halves)[0] | bits(e4m3, halves)[1] << 8 | (small[0] | small[1] << 4) << 16).all()
    widened = [bits(t).astype(np.uint8).view(t).astype(np.float32) for t in (e4m3, e5m2, e2m1)]
    assert (back == np.concatenate((widened[0], widened[1][::-1], widened[2])).T).all()


def test_a_member_that_is_not_written_is_found(bench):
    """The poison of a structure is seen in each of its members, and the message names the member."""
    outcome = bench.run(case_of(read_kernel(FOLDER / "forgetful.yaml")))
    assert outcome.status == "mismatch"
    assert re.match(r"600 of \d+ elements differ: out\.cell\[2\] is 2139062143", outcome.reason), outcome.reason


MISTAKES = [
    ("structures", "position: float3", "position: flaot3", r"structs.Particle: position: expected a dtype, or \[dtype, length\] .* not 'flaot3'"),
    ("structures", "__align__: 16", "__align__: 3", "__align__: expected 1, 2, 4, 8 or 16, not '3'"),
    ("structures", "mass: index", "weight: index", "fill: 'weight' is not a member of Particle; allowed: position, mass, kind, cell"),
    ("structures", "out.mass: 2 * in.mass", "out.kilos: in.mass", "reference: expected expressions for out.mass; found: "),
    ("structures", "out.mass: 2 * in.mass", "out.mass: in", "'in' is an array of Particle; name a part of it: in.position, in.mass"),
    ("structures", "2 * in.mass", "2 * in.weight", "names 'in.weight', which is neither an array nor a parameter"),
    ("structures", "[0.5, 1, -2, size]", "[0.5, 1, -2]", "shift: float4 has 4 numbers, 3 are given"),
    ("complexProduct", "out.real: a.real", "out.real: a", "'a' is an array of complex64; name a part of it: a.real, a.imag"),
    ("scaledChunks", "[in, null, null, out]", "[in, null, null, out, null, null, null]", r"value.addresses: expected at most 6; 7 are given"),
    ("scaledChunks", "length: size - 100}]", "length: 1}, [1]]", r"value.chunks: expected at most 4 of Chunk, 2 numbers each; 5 are given"),
    ("pointers", "pointer: low", "pointer: lows", "pointer: expected null or the name of an array, not 'lows'; known: low, out"),
    ("rows", "values: values", "values: value", "value.values: expected null or the name of an array, not 'value'; known: starts, values, sums, lengths"),
    ("rows", "dtype: int32, shape: size}", "dtype: Rows, shape: size}", "dtype: Rows has a pointer; such a structure can only be passed by value"),
    ("pointers", "at: size", "at: 3 * size", "high: element 900 is not within 'low' of 600 elements"),
    ("onlyCounts", "no_output: it counts", "no_output: ''  # it counts", "no_output: expected a reason"),
    ("pointers", "reference: {out", "no_output: none\nreference: {out", "no_output: there is an output: reference"),
    ("pointers", "low[size:] + 7", "sum(low, axes=1)", "gives sum the keyword 'axes'; allowed: axis, keepdims"),
    ("variables", "bincount(in & 15, 16)", "full(7)", r"the reference gives 'counts' the shape \(\), the kernel \(16,\); write full\(value, shape\)"),
    ("variables", "reference:", "undefined_where: {counts: arange(15) > 3}\nreference:", r"undefined_where gives 'counts' the shape \(15,\), the kernel \(16,\)"),
    ("variables", "in & 15, 16)", "in[in - 300], 16)", r"the index -\d+ is below 0"),
    ("volume", "8x4x2", "4x4x65", "a block of 1040 threads is not within CUDA's 1 to 1024"),
    # a launch that is missing, or one too far
    ("twoPasses", "[partial, out, blocks], grid: 1", "[partial, out, blocks], grid: 2", "out-of-bounds write of 'out'|wrote outside"),
    ("scanWithFixUp", '  - {function: "fixed', '#  - {function: "fixed', "elements differ"),
    ("pingPong", "twice: 2", "twice: 1", "elements differ"),
    # a launch that cannot be meant
    ("scanWithFixUp", "arguments: [data", "arguments: [date", r"launches\[0\]: arguments: 'date' is not an argument; allowed: data, sums"),
    ("scanWithFixUp", 'function: "fixed', 'kernel: "fixed', r"launches\[2\]: 'kernel' is not a valid key"),
    ("scanWithFixUp", 'function: "fixed::addBefore<int, block>"', "function: add-before", r"launches\[2\]: function: 'add-before' is not the name of a function"),
    ("scanWithFixUp", 'function: "fixed::addBefore<int, block>"', "function: addAfter", "addAfter"),
    ("scanWithFixUp", "grid: ceil_div(size, block)\n", "", r"launches\[0\]: the key 'grid' is missing"),
    ("scanWithFixUp", "shared: 4 * block, grid: 1", "shared: 4 * block, grid: 0", "a grid of 0 blocks in x"),
    ("scanWithFixUp", "shared: 4 * block, grid: 1", "shared: 4 * block, grid: 1, block: 2048", "a block of 2048 threads"),
    ("scanWithFixUp", '- {function: "fixed', '- {for: {size: 2}, function: "fixed', "launches: 'size' is also the name of"),
    ("scanWithFixUp", '- {function: "fixed', '- {for: {i: 20000}, function: "fixed', "there would be more than 10000 launches"),
    ("scanWithFixUp", '- {function: "fixed', '- {for: {i: j}, function: "fixed', "names 'j', which is not a parameter"),
    ("scanWithFixUp", "arguments: [data, sums, counted, n]", "arguments: [data]", r"launches: 'fixed::addBefore' takes 4 arguments \(T\* data, const T\* sums, int\* counted, int n\), the launch passes 1: data$"),
    # an array of pointers that cannot be meant
    ("joinLists", "[short, null, long]", "[short, null, lon]", r"arguments\[2\]: pointers\[2\]: expected null or the name of an array, not 'lon'; known: short, long, lengths, out$"),
    ("joinLists", "pointers: [short, null, long]", "pointers: []", r"arguments\[2\]: pointers: expected a list of arrays, such as \[a, b\]$"),
    ("joinLists", "pointers: [short, null, long]", "pointers: short", r"arguments\[2\]: pointers: expected a list, not 'short'"),
    ("joinLists", "[short, null, long]}", "[short, null, long], at: 1}", r"arguments\[2\]: 'at' is not a valid key; allowed: name, pointers$"),
    ("joinLists", "role: out, dtype: float32, shape: size", "role: out, dtype: float32, shape: size, pointers: 1", r"arguments\[4\]: pointers: expected true or false, not '1'"),
    ("batchedProduct", "{name: n,", "{name: again, pointer: a}\n  - {name: n,", "again: 'a' has 'pointers: true', so it has no address of its own; a pointer cannot refer to it"),
    ("batchedProduct", "batch: 7", "batch: 5000", "the array 'a' would be 5000 arrays; 'pointers: true' is for 1 to 4096"),
    ("batchedProduct", "grid: batch", "grid: batch\nlaunches: [{memset: c}, {grid: batch}]", r"launches\[0\]: memset: 'c' is an array of pointers; expected an array with a plain pointer"),
    ("batchedProduct", "fill: random, pointers: true", "fill: random, lead: 1, pointers: true", r"arguments\[0\]: lead: not allowed with 'pointers: true'"),
    # a source that cannot be meant
    ("twoFiles", "second/finish.cu", "second/finis.cu", r"launches\[1\]: source: the file 'second/finis.cu' was not found in"),
    ("twoFiles", "second/finish.cu, function: step", "second/finish.cu, function: half", "has no __global__ function 'half'; its kernels are step"),
    ("twoFiles", "[data, counted, n]", "[data, n]", r"launches: 'step' takes 3 arguments \(float\* data, int\* counted, int n\), the launch passes 2: data, n$"),
    # a memset or a copy that cannot be meant, or that is not enough
    ("setThenCount", "memset: counts", "{memset: counts, value: 1}", "elements differ"),
    ("setThenCount", "memset: counts", "memset: count", r"launches\[0\]: memset: expected the name of an array, not 'count'; known: in, counts$"),
    ("setThenCount", "memset: counts", "memset: in", r"launches\[0\]: memset: 'in' has the role in, so nothing may write it"),
    ("setThenCount", "memset: counts", "{memset: counts, grid: 1}", r"launches\[0\]: 'grid' is not a valid key; allowed: byte, memset, value$"),
    ("setThenCount", "memset: counts", "{memset: counts, byte: 256}", "memset of 'counts': the byte 256 is not within 0 to 255"),
    ("setThenCount", "memset: counts", "{memset: counts, value: 2**31}", "memset of 'counts': 2147483648 is not a valid int32"),
    ("setThenCount", "memset: counts", "{memset: counts, value: 1, byte: 1}", r"launches\[0\]: a memset has a value or a byte, not both"),
    ("setThenCount", "- {function: countBins, arguments: [in, counts, n]}", "", "there is nothing to launch: 'launches' has no launch"),
    ("setToMost", "{name: marks, role: out, dtype: int16", "{name: marks, role: out, dtype: float64", "memset of 'marks': float64 of the value 256 repeats nothing shorter than 8 bytes, CUDA's memsets repeat 1, 2 or 4"),
    ("copyBetween", "- copy: {from: data, to: before}", "- copy: {from: before, to: data}", "elements differ"),
    ("copyBetween", "to: before}", "to: data}", r"launches\[0\]: copy: from and to are the same array, 'data'"),
    ("copyBetween", ", to: before}", "}", r"launches\[0\]: copy: the key 'to' is missing"),
    ("copyBetween", "dtype: float32, shape: size}\n  - {name: n", "dtype: float32, shape: size + 1}\n  - {name: n", r"a copy of 'data' \(4000 bytes\) to 'before' \(4004 bytes\): the sizes must be equal"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "message"), MISTAKES)
def test_what_cannot_be_meant_is_one_sentence(bench, tmp_path, name, old, new, message):
    """It names the file and the place, the offending value, and what is allowed."""
    folder = LAUNCHES if name in PROGRAMS else FOLDER
    sentence = refusal(bench, altered(folder / f"{name}.yaml", tmp_path, (old, new)))
    assert re.search(message, sentence), sentence


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_several_launches_is_right(bench, name):
    """Each launch has its function, its arguments and its grid; what the last one leaves is checked at each sample."""
    case = case_of(read_kernel(LAUNCHES / f"{name}.yaml"))
    assert len(case.steps) == PROGRAMS[name]
    outcome = bench.run(case)
    assert (outcome.status, outcome.reason) == ("ok", "")
    assert outcome.measured.checked >= 3


COUNTED = {
    "a parameter pack": ("template <class... T> __global__ void apply(float* x, T... more)", "apply<int, int>"),
    "a macro": ("#define SIZE int n, int m\n__global__ void apply(float* x, SIZE)", "apply"),
    "one of two overloads": ("__global__ void apply(float*) {}\n__global__ void apply(float* x, int n, int m)", "apply(float*, int, int)"),
    "a parameter without a name": ("__global__ void apply(float*, int, int)", "apply"),
}  # fmt: skip


@pytest.mark.parametrize(("head", "function"), COUNTED.values(), ids=COUNTED)
def test_only_a_number_of_arguments_that_is_certain_is_refused(tmp_path, head, function):
    """Where the text does not tell how many arguments a function takes, the compiler decides."""
    (tmp_path / "own.cu").write_text(f"{head}\n{{\n}}\n")
    arguments = [{"name": "x", "role": "out", "dtype": "float32", "shape": "size"}]
    arguments += [{"name": name, "scalar": "int32", "value": "size"} for name in ("n", "m")]
    content = {
        "source": "own.cu", "parameters": {"size": 64}, "arguments": arguments, "grid": 1,
        "launches": [{"function": function}], "reference": {"x": "full(0.0, size)"},
    }  # fmt: skip
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(content))
    assert read_kernel(tmp_path / "own.yaml").launches[0].arguments == ("x", "n", "m")


EVERYDAY = Path(__file__).parent / "everyday"
YAMLS = yaml.safe_load((EVERYDAY / "everyday.yaml").read_text())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A YAML for each kernel, and the one source."""
    path = tmp_path_factory.mktemp("everyday")
    (path / "everyday.cu").write_text((EVERYDAY / "everyday.cu").read_text())
    np.save(path / "numbers.npy", np.random.default_rng(7).uniform(-1, 1, 300).astype(np.float32))
    for name, content in YAMLS.items():
        (path / f"{name}.yaml").write_text(yaml.safe_dump({**content, "source": "everyday.cu"}, sort_keys=False))
    return path


@pytest.mark.parametrize("name", YAMLS)
def test_an_everyday_kernel_is_right(bench, folder, name):
    """A right kernel is within the bound of its reference, for its own inputs and for exact ones."""
    outcome = bench.run(case_of(read_kernel(folder / f"{name}.yaml")), samples=1)
    assert (outcome.status, outcome.reason) == ("ok", "")
    assert not outcome.note, outcome.note
