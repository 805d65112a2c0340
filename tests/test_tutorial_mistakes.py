"""Where a tutorial is wrong: what it says, run as it stands. docs/corrections.md tells what is right instead."""

import subprocess
from pathlib import Path

import pytest
from support import case_of, line_costs, read_kernel, shipped

from runner.stages.lines import costs as lines

HERE = Path(__file__).parent / "tutorials" / "kernel"


def listing(name):
    """A listing of a tutorial, as it stands there."""
    return read_kernel(HERE / f"{name}.yaml")


def test_the_tutorials_transpose_is_right_for_square_tiles_alone(bench):
    """Tutorial 002, 5.4.2: a tile of 32x16 is read beyond its rows, which the CPU device shows; ours is right of 32x16, too."""
    assert bench.run(case_of(listing("tutorialTranspose"), block="32x32")).status == "ok"
    assert bench.run(case_of(shipped("transposeSmem"), block="32x16", size="128x128")).status == "ok"
    if not bench.device.info.is_gpu:
        assert bench.run(case_of(listing("tutorialTranspose"), block="32x16")).status == "mismatch"


def test_the_tutorials_transpose_writes_as_scattered_as_the_naive_one():
    """Even where it is right, neighbouring threads write a column: the tile changes nothing."""
    kernels = listing("tutorialTranspose"), shipped("transposeGmem"), shipped("transposeSmem")
    costs = [lines.averages(line_costs(case_of(kernel, block="32x32"))) for kernel in kernels]
    assert [cost["global_store_sectors"] for cost in costs] == [32, 32, 4]


def test_the_tutorials_copy_is_a_transpose(bench):
    """Tutorial 002, 5.4.1: the listing called copyGmem moves elements across the diagonal, as its own comment says."""
    case = case_of(listing("tutorialCopy"), size="40x70", block="32x8")
    assert bench.run(case).status == "ok"  # the reference beside it is the transpose


def test_the_tutorials_stencil_is_right_for_one_tile_a_block_alone(bench):
    """Tutorial 002, 5.5.1: with a second tile a barrier is missing; the CPU device, without lockstep, shows it every time."""
    assert bench.run(case_of(listing("tutorialStencil"), blocks=16)).status == "ok"
    if not bench.device.info.is_gpu:
        assert bench.run(case_of(listing("tutorialStencil"), blocks=1)).status == "mismatch"
        assert bench.run(case_of(shipped("stencil1dConstant"), size=1024, block=64, blocks=1)).status == "ok"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("__shfl_xnor(value, 1)", "__shfl_xnor"),  # tutorial 002, 5.6.1
        ("__shfl_xor(value, 1)", "__shfl_xor"),  # tutorials 002 and 004: before CUDA 9
        ("__shfl(value, 2)", "__shfl"),
    ],
)
@pytest.mark.nvcc
def test_what_the_tutorials_call_is_not_there(call, said, tmp_path):
    """There is no __shfl_xnor, and the forms without _sync have gone from GPUs of sm_70 and later."""
    source = tmp_path / "old.cu"
    source.write_text(f'extern "C" __global__ void old(int* out) {{ int value = threadIdx.x; out[value] = {call}; }}\n')
    command = ["nvcc", "-cubin", "-arch=sm_75", "-o", str(tmp_path / "old.cubin"), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert said in done.stderr


def test_a_lane_that_reads_one_outside_the_mask_gets_nothing_to_rely_on(bench):
    """Tutorial 003 lets lanes outside the mask return 0. What is undefined is what others read from them: 0 on an H200."""
    outputs, diagnostics = bench.outputs(case_of(shipped("shflDown"), mask=0x0000FFFF, delta=1, fill="count"))
    got = outputs["out"]
    assert list(got[:15]) == list(range(2, 17))
    assert list(got[16:]) == list(range(17, 33))
    if bench.device.info.kind == "cpu":
        assert diagnostics.undefined_reads == 1
        assert got[15] == 0x7FFBADC0
    elif "H200" in bench.device.info.name:
        assert got[15] == 0
