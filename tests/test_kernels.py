"""The shipped kernels on the real devices: always the CPU device, the GPU with `-m gpu`."""

import re
import subprocess

import pytest
from support import KERNELS, case_of, shipped

from runner.sweep.compiling import reason_to_skip

REDUCTIONS = [n for n in KERNELS if shipped(n).family == "reduction"]
HEADERS = sorted(shipped("reduceSmem").source.parent.glob("*.cuh"))
SIZES = [1, 2, 31, 32, 33, 127, 128, 129, 255, 256, 257, 511, 513, 1000, 1023, 1024, 1025, 4097, 65537]


def needs(bench, name):
    """Skip what this device cannot run, with the reason that a sweep gives."""
    if reason := reason_to_skip(case_of(shipped(name)), bench.device.info):
        pytest.skip(reason)


def all_right(bench, cases):
    """Every case is ok; says what the others are."""
    outcomes = bench.run_all(cases)
    assert [(o.status, o.reason) for o in outcomes] == [("ok", "")] * len(cases)
    return outcomes


@pytest.mark.parametrize("name", [n for n in KERNELS if shipped(n).gpu_only])
def test_a_kernel_for_gpus_only_is_skipped_elsewhere(name, bench):
    """On the CPU device it is not run, and the reason says why and what runs it; on a GPU it is right."""
    outcome = bench.run(case_of(shipped(name)))
    if bench.device.info.kind == "cuda":
        assert (outcome.status, outcome.reason) == ("ok", "")
    else:
        assert outcome.status == "skipped"
        assert shipped(name).gpu_only in outcome.reason


@pytest.mark.parametrize("name", REDUCTIONS)
def test_every_size_is_summed_right(name, bench):
    """Whether or not the last block is full, every partial sum is right."""
    needs(bench, name)
    blocks = {"blocks": 32} if name == "blockReduce" else {}  # its 1024 are for large arrays
    outcomes = all_right(bench, [case_of(shipped(name), size=n, block=128, fill="random", **blocks) for n in SIZES])
    assert [o.value for o in outcomes] == [o.reference for o in outcomes]


@pytest.mark.parametrize("name", REDUCTIONS)
def test_every_dtype_is_summed_right(name, bench):
    """Integers wrap and are exact; floats lie within their bound."""
    needs(bench, name)
    dtypes = shipped(name).parameter("dtype").allowed
    blocks = {"blocks": 32} if name == "blockReduce" else {}
    all_right(bench, [case_of(shipped(name), size=10_000, block=128, dtype=d, fill="random", **blocks) for d in dtypes])


@pytest.mark.parametrize("name", ["reduceShfl", "reduceShflUnroll"])
def test_every_width_and_mask_is_summed_right(name, bench):
    """The width changes the way, never the sum. With all elements 1, the sum counts the lanes of the mask."""
    shapes = [(32, 1), (96, 4), (1024, 8), (1024, 32)]
    all_right(bench, [case_of(shipped(name), size=5000, block=b, width=w, fill="random") for b, w in shapes])
    for mask, width in ((0x0000FFFF, 16), (0xF0F0F0F0, 4), (0x80000001, 1)):
        outcome = bench.run(case_of(shipped(name), size=32 * 100, mask=mask, width=width, fill="ones"))
        assert (outcome.status, outcome.value) == ("ok", 100 * mask.bit_count())


@pytest.mark.parametrize("name", KERNELS)
def test_a_block_of_two_dimensions_is_right_or_skipped(name, bench):
    """A kernel that numbers its threads in x alone refuses 32x2, rather than let each element be taken twice."""
    outcome = bench.run(case_of(shipped(name), block="32x2", size=4096, inner=64))
    broken = bool(case_of(shipped(name)).hazard)
    assert outcome.status in (("skipped",) if broken else ("ok", "skipped"))
    assert outcome.status == "ok" or "in x alone" in outcome.reason


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
