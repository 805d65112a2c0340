"""Kernels as strangers declare them: what is right passes, what is wrong is found, and the message says what to do."""

import pytest
from support import case_of, read_kernel

from runner.errors import UsageError

COMMON = "parameters: {size: 1000, radius: 3, block: 64}\ngrid: ceil_div(size, block)\nsource: strangers.cu\n"
KERNELS = """
#define RADIUS 3
__constant__ float weights[16];  // more than the YAML fills in

// The host adds the radius to the pointer, so that the first thread reads before it. C++ mangles the kernel's name.
__global__ void halo(const float* in, float* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int k = -RADIUS; k <= RADIUS; ++k) sum += weights[k + RADIUS] * in[i + k];
    out[i] = sum;
}
extern "C" __global__ void haloOfOutput(int* out, int n, int first)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = i; k < n + 2 * RADIUS; k += blockDim.x * gridDim.x) out[k - RADIUS + first] = k;
}
extern "C" __global__ void beforeItsArray(int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = i;
    if (i == 0) out[-2] = 1;
}
"""
HALO = """
arguments:
  - {name: in, role: in, dtype: float32, shape: size + 2 * radius, lead: radius, fill: random}
  - {name: out, role: out, dtype: float32, shape: size}
  - {name: n, scalar: int32, value: size}
  - {name: weights, role: in, dtype: float32, shape: 2 * radius + 1, fill: ones, constant: true}
reference: {out: "in[0:size] + in[1:size+1] + in[2:size+2] + in[3:size+3] + in[4:size+4] + in[5:size+5] + in[6:size+6]"}
depth: 8
"""
HALO_OF_OUTPUT = """
arguments:
  - {name: out, role: out, dtype: int32, shape: size + 2 * radius, lead: radius}
  - {name: n, scalar: int32, value: size}
  - {name: first, scalar: int32, value: FIRST}
reference: {out: arange(size + 2 * radius)}
"""
BEFORE = """
arguments:
  - {name: out, role: out, dtype: int32, shape: size, offset: 5}
  - {name: n, scalar: int32, value: size}
reference: {out: arange(size)}
"""


@pytest.fixture
def kernel(tmp_path):
    """A kernel of the text above, by its name and the rest of its YAML."""
    (tmp_path / "strangers.cu").write_text(KERNELS)

    def make(name, rest):
        (tmp_path / f"{name}.yaml").write_text(COMMON + rest)
        return case_of(read_kernel(tmp_path / f"{name}.yaml"))

    return make


def test_a_pointer_may_point_behind_the_halo(bench, kernel):
    """`lead` elements of the array lie before it. The kernel need not be `extern "C"`, nor the constant array full."""
    outcome = bench.run(kernel("halo", HALO), samples=1)
    assert (outcome.status, outcome.reason) == ("ok", "")


def test_a_halo_is_compared_and_ends_where_the_array_ends(bench, kernel):
    """The halo of an output is written, too; an element before it is outside."""
    right, wrong = (kernel("haloOfOutput", HALO_OF_OUTPUT.replace("FIRST", first)) for first in ("0", "0 - 1"))
    assert bench.run(right, samples=1).status == "ok"
    outcome = bench.run(wrong, samples=1)
    assert outcome.status in ("hazard", "mismatch")
    assert "outside 'out', before its start" in outcome.reason or "write of 'out': element -1 of 1006" in outcome.reason


def test_the_elements_before_an_offset_are_guarded(bench, kernel):
    """They belong to nobody: a kernel that writes there is wrong on every device."""
    outcome = bench.run(kernel("beforeItsArray", BEFORE), samples=1)
    assert outcome.status in ("hazard", "mismatch")
    assert "outside 'out', before its start" in outcome.reason or "write of 'out': element -2 of 1000" in outcome.reason


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("offset: 5", "constant: true", r"constant: .* is not compared, so it cannot have the role 'out'"),
        ("role: out", "role: in, fill: ones, constant: true", "offset: a __constant__ .* no pointer"),
    ],
)
def test_a_declaration_that_cannot_be_meant_is_one_sentence(kernel, old, new, message):
    """When the YAML is read."""
    with pytest.raises(UsageError, match=message):
        kernel("beforeItsArray", BEFORE.replace(old, new))


def test_a_lead_beyond_the_array_is_excluded(kernel):
    """Before anything runs."""
    case = kernel("beforeItsArray", BEFORE.replace("offset: 5", "lead: size + 1"))
    assert case.excluded == "the array 'out' of 1000 elements cannot have 1001 before its pointer"
