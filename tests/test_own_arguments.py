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
    ("scanWithFixUp", "arguments: [data, sums, counted, n]", "arguments: [data]", "the kernel takes 4 arguments"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "message"), MISTAKES)
def test_what_cannot_be_meant_is_one_sentence(bench, tmp_path, name, old, new, message):
    """It names the file and the place, the offending value, and what is allowed."""
    if "takes 4" in message and bench.device.info.kind != "cpu":
        pytest.skip("a GPU does not know a kernel's parameters")
    folder = LAUNCHES if name in PROGRAMS else FOLDER
    sentence = refusal(bench, altered(folder / f"{name}.yaml", tmp_path, (old, new)))
    assert re.search(message, sentence), sentence


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_several_launches_is_right(bench, name):
    """Each launch has its function, its arguments and its grid; what the last one leaves is checked at each sample."""
    case = case_of(read_kernel(LAUNCHES / f"{name}.yaml"))
    assert len(case.launches) == PROGRAMS[name]
    outcome = bench.run(case)
    assert (outcome.status, outcome.reason) == ("ok", "")
    assert outcome.measured.checked >= 3


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
