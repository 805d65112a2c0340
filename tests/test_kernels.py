"""The shipped kernels on the real devices: always the CPU device, the GPU with `-m gpu`."""

import subprocess

import pytest
from support import KERNELS, case_of, shipped

from runner.sweep.compile import reason_to_skip

REDUCTIONS = [n for n in KERNELS if shipped(n).family == "reduction"]
SIZES = [1, 2, 31, 32, 33, 127, 128, 129, 255, 256, 257, 511, 513, 1000, 1023, 1024, 1025, 4097, 65537]


def needs(bench, name):
    """Skip what this device cannot run, with the reason that a sweep gives."""
    if reason := reason_to_skip(case_of(shipped(name)), bench.device.info):
        pytest.skip(reason)


@pytest.mark.parametrize("name", [n for n in KERNELS if shipped(n).gpu_only])
def test_a_kernel_for_gpus_only_is_skipped_elsewhere(name, bench):
    """On the CPU device it is not run, and the reason says why and what runs it; on a GPU it is right."""
    outcome = bench.run(case_of(shipped(name)))
    if bench.device.info.kind == "cuda":
        assert (outcome.status, outcome.reason) == ("ok", "")
    else:
        told = f"it runs on a GPU only: {shipped(name).gpu_only}; device=cuda runs it"
        assert (outcome.status, outcome.reason) == ("skipped", told)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_every_size_is_summed_right(name, bench):
    """Whether or not the last block is full, every partial sum is right."""
    needs(bench, name)
    for outcome in bench.run_all([case_of(shipped(name), size=n, block=128, fill="random") for n in SIZES]):
        assert (outcome.status, outcome.reason) == ("ok", "")
        assert outcome.value == outcome.reference


@pytest.mark.parametrize(("name", "dtype"), [(n, d) for n in REDUCTIONS for d in shipped(n).parameter("dtype").allowed])
def test_every_dtype_is_summed_right(name, dtype, bench):
    """Integers wrap and are exact; floats lie within their bound."""
    needs(bench, name)
    outcome = bench.run(case_of(shipped(name), size=10_000, dtype=dtype, fill="random"))
    assert (outcome.status, outcome.reason) == ("ok", "")


@pytest.mark.parametrize("block", [1, 2, 3, 7, 48, 100, 1000, 1024])
@pytest.mark.parametrize("name", ["reduceGmem", "reduceSmem", "reduceGmemUnroll", "reduceSmemUnroll"])
def test_a_block_need_not_be_a_power_of_two(name, block, bench):
    """Folding takes care of odd numbers of elements."""
    outcome = bench.run(case_of(shipped(name), size=3001, block=block, fill="random"))
    assert (outcome.status, outcome.reason) == ("ok", "")


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16, 32])
@pytest.mark.parametrize("block", [32, 96, 1024])
@pytest.mark.parametrize("name", ["reduceShfl", "reduceShflUnroll"])
def test_every_width_is_summed_right(name, block, width, bench):
    """The width changes the way, never the sum; up to 1024 partial sums are added by the first warp."""
    outcome = bench.run(case_of(shipped(name), size=5000, block=block, width=width, fill="random"))
    assert (outcome.status, outcome.reason) == ("ok", "")


@pytest.mark.parametrize(
    ("mask", "width"), [(0x0000FFFF, 16), (0x00FF00FF, 8), (0xF0F0F0F0, 4), (0x80000001, 1), (0xCC, 2)]
)
@pytest.mark.parametrize("name", ["reduceShfl", "reduceShflUnroll"])
def test_lanes_outside_the_mask_are_not_in_the_sum(name, mask, width, bench):
    """With all elements 1, the sum counts the lanes that take part."""
    outcome = bench.run(case_of(shipped(name), size=32 * 100, mask=mask, width=width, fill="ones"))
    assert outcome.status == "ok"
    assert outcome.value == 100 * mask.bit_count()


@pytest.mark.parametrize("name", KERNELS)
def test_a_block_of_two_dimensions_is_right_or_skipped(name, bench):
    """A kernel that numbers its threads in x alone refuses 32x2, rather than let each element be taken twice."""
    outcome = bench.run(case_of(shipped(name), block="32x2"))
    broken = bool(case_of(shipped(name)).hazard)
    assert outcome.status in (("skipped",) if broken else ("ok", "skipped"))
    assert outcome.status == "ok" or "in x alone" in outcome.reason


@pytest.mark.nvcc
@pytest.mark.parametrize("name", KERNELS)
def test_nvcc_compiles_every_kernel(name, tmp_path):
    """Every kernel compiles without a warning, for each of three architectures that its YAML allows."""
    kernel = shipped(name)
    source = case_of(kernel).source()
    path = tmp_path / f"{name}.cu"
    path.write_text(f'{source.defines()}#line 1 "{name}.cu"\n{source.text}')
    targets = [f"-gencode=arch=compute_{a},code=sm_{a}" for a in (75, 90, 100) if a >= kernel.min_arch]
    command = [
        "nvcc",
        "-fatbin",
        *targets,
        "-Werror",
        "all-warnings",
        f"-I{kernel.source.parent}",
        "-o",
        "out",
        str(path),
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", KERNELS)
def test_a_missing_macro_is_an_error(name):
    """A source has no defaults: without its macros the preprocessor says which it needs."""
    command = ["g++", "-E", "-x", "c++", str(shipped(name).source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "this kernel needs the macros BLOCK" in done.stderr
