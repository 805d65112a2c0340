"""Textures and surfaces: what a YAML can say of them, on each device, and what is a mistake."""

from __future__ import annotations

import re

import numpy as np
import pytest
from outcomes import altered, refusal
from support import ROOT, Bench, case_of, read_kernel
from texture_fetches import WEIGHTS, differences, fetched, fetches

from runner.device import Source
from runner.device.config import DeviceConfig
from runner.device.kinds import compiler_for, open_device
from runner.errors import CompileError, UsageError

RECORDED = ROOT / "tests" / "kernels" / "textures" / "h200.npz"
FOLDER = ROOT / "tests" / "kernels" / "textures"
YAMLS = sorted(path.stem for path in FOLDER.glob("*.yaml"))


@pytest.mark.parametrize("name", YAMLS)
def test_a_kernel_reads_textures_and_writes_surfaces(bench, name):
    """Measured and checked as any other kernel."""
    outcome = bench.run(case_of(read_kernel(FOLDER / f"{name}.yaml")))
    assert (outcome.status, outcome.reason) == ("ok", "")
    assert outcome.measured.input_sets == 2


@pytest.fixture(scope="module")
def cpu(own_cache):
    """The CPU device alone."""
    config = DeviceConfig(kind="cpu", threads=2)
    device = open_device(config)
    return Bench(device, compiler_for(config, device.info))


def test_a_write_outside_a_surface_is_found(cpu):
    """By default it traps; the message has the line, the surface, the place and the thread."""
    kernel = read_kernel(FOLDER / "negative.yaml")
    outcome = cpu.run(case_of(kernel, offset=1))
    assert outcome.status == "hazard"
    assert re.fullmatch(
        r"textures\.cu:40: surf2Dwrite: out of bounds of the surface 'out': byte 400 in x, but a row has 400 bytes; "
        r"block \(6,\d,0\), thread \(3,\d,0\) \[warp \d, lane \d+\]",
        outcome.reason,
    ), outcome.reason


def test_what_a_shifted_write_leaves_is_compared(bench):
    """Nothing lies in the first column, so its poison is there; with MODE=0 what lies outside is dropped."""
    outcome = bench.run(case_of(read_kernel(FOLDER / "negative.yaml"), offset=1, mode=0))
    assert outcome.status == "mismatch"
    assert re.search(r"elements differ: out\.?\w*\[0", outcome.reason), outcome.reason


MISTAKES = [
    ("rotated", "filter_mode: linear", "filter_mode: bilinear", "filter_mode: expected one of point, linear, not 'bilinear'"),
    ("rotated", "normalized_coords: true", "normalized_coords: 1", "normalized_coords: expected true or false, not '1'"),
    ("rotated", "normalized_coords: true", "border_color: [1, 2, 3, 4, 5]", "border_color: expected up to 4 numbers"),
    ("shifted", "clamp}", "clamp, border_color: [1, 70000]}", "volume: border_color: 70000 is not a valid uint16"),
    ("rotated", "role: in", "offset: 4\n    role: in", "offset: not allowed with a texture or a surface"),
    ("rotated", "role: in", "surface: true\n    role: in", "an array is a texture or a surface, not both"),
    ("rotated", "dtype: float32", "dtype: int32", "'filter_mode: linear' is for floats and for 'read_mode: normalized_float'"),
    ("rotated", "filter_mode: linear", "read_mode: normalized_float", "is for 8-bit and 16-bit integers, not for float32"),
    ("rotated", "filter_mode: linear", "resource: linear", "'resource: linear' has 1 dimension, not 2"),
    ("around", "resource: linear", "resource: array", "tex1Dfetch: 'numbers' is no texture of linear memory: 'resource: linear'"),
    ("around", ", texture: {resource: linear}", "", "argument 1 is 'unsigned long long', the YAML passes the array 'numbers'"),
    ("around", "dtype: int32", "dtype: uint32", "tex1Dfetch: a fetch from 'numbers' gives uint, not"),
    ("doubled", "OFFSET: 0", "OFFSET: 2", r"surf1Dread: byte \d+ in x of 'numbers' is not a multiple of the 4 bytes accessed"),
    ("doubled", "size: 1000", "size: 40000", r"numbers: the shape \(40000,\) is not within CUDA's 1 to 32768"),
    ("spread", "of: b, texture: {", "of: c, texture: {", "of: expected the name of an array, not 'c'; known: a, b"),
    ("spread", "of: b, texture: {", "of: b, texture: {resource: linear, ", "'resource: linear' needs an array without 'surface'"),
    ("spread", "shape: [high, wide], surface: true", "shape: [high, wide]", "'resource: array' needs a surface, which 'b' is not"),
    ("spreadLinear", "of: b, texture: {resource: linear}", "pointer: b", "argument 1 is 'unsigned long long', the YAML passes"),
    ("spread", "of: b, texture: {address_mode: border}", "pointer: b", "b_texture: 'b' is a texture or a surface; a pointer"),
    ("fractions", "read_mode: normalized_float", "", "tex2D: a fetch from 'image' gives uchar4, not"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "message"), MISTAKES)
def test_what_cannot_be_meant_is_one_sentence(cpu, tmp_path, name, old, new, message):
    """A YAML that CUDA or the kernel does not take: the message names the place, the value, and what is allowed."""
    sentence = refusal(cpu, altered(FOLDER / f"{name}.yaml", tmp_path, (old, new)))
    assert re.search(message, sentence), sentence


def test_a_texture_reference_is_named(cpu, tmp_path):
    """CUDA 12 removed them, so nvcc refuses them, too."""
    text = "texture<float, 2> old;\n__global__ void older(float* out) { *out = tex2D(old, 1, 2); }\n"
    with pytest.raises(
        CompileError, match=r"older.cu:2: 'old' is a texture reference; CUDA 12 only has texture objects"
    ):
        cpu.compiler.compile(Source(tmp_path / "older.cu", text, "older"))


@pytest.mark.parametrize("word", ["point", "linear", "cubic"])
def test_a_parameter_may_hold_a_word_of_a_texture(bench, tmp_path, word):
    """So that a sweep compares them."""
    choice = "mode: 2, filter: {default: linear, allowed: [point, linear, cubic], kind: choice}}"
    pieces = ("mode: 2}", choice), ("filter_mode: linear", "filter_mode: filter")
    kernel = read_kernel(altered(FOLDER / "rotated.yaml", tmp_path, *pieces))
    if word == "cubic":
        sentence = "argument 'image': texture: filter_mode: 'cubic' is not one of point, linear"
        with pytest.raises(UsageError, match=sentence):
            case_of(kernel, filter=word)
        return
    assert bench.run(case_of(kernel, filter=word)).status == ("ok" if word == "linear" else "mismatch")


def test_fetches_are_those_of_a_recorded_gpu(bench):
    """Bit for bit, on both devices; interpolated signed bytes within the last of 16 bits."""
    if bench.device.info.is_gpu and "H200" not in bench.device.info.name:
        pytest.skip(f"recorded on an H200, not on {bench.device.info.name}")
    chosen = [*fetches(), WEIGHTS]
    with np.load(RECORDED) as recorded:
        there = {fetch.name: recorded[fetch.name] for fetch in chosen if fetch.name in recorded}
    assert len(there) >= 60
    found, wrong = fetched(bench, chosen), []
    for fetch in chosen:
        if fetch.name not in there:
            continue
        got, expected = found[fetch.name], there[fetch.name]
        at = differences(fetch, got, expected)
        if fetch.dtype == "i1" and fetch.how.filter_mode == "linear":
            at = np.flatnonzero((np.abs(got - expected) > 1.01 / 32767).any(axis=1))
        if len(at):
            first = f"at {fetch.coordinates[at[0]]} got {got[at[0]]}, recorded {expected[at[0]]}"
            wrong.append(f"{fetch.name}: {len(at)} of {len(got)} differ; {first}")
    if wrong:
        pytest.fail("\n".join(wrong[:40]), pytrace=False)
