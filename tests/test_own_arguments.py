"""Whatever a kernel takes, its YAML can declare: small integers, vectors, structures, pointers, variables, three axes."""

import re

import ml_dtypes
import numpy as np
import pytest
from support import case_of, read_kernel

from runner.errors import UsageError
from runner.kernel.inputs import contents

CU = """
#include <cuComplex.h>
#include <cuda_fp8.h>

// Each of the small types, widened, and a conversion back.
__global__ void smallTypes(
    const signed char* a, const unsigned char* b, const short* c, const unsigned short* d, const bool* e,
    int* sums, bool* any, short* narrow, signed char first, bool flag, unsigned short last, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    sums[i] = a[i] + b[i] + c[i] * 2 + d[i] + e[i] + first + last;
    any[i] = e[i] || a[i] > 0 == flag;
    narrow[i] = (short)(c[i] + a[i]);
}

// Numbers of 8 bits: read as float, written with saturation.
template <class T>
__device__ void scaled(const T* in, T* out, float factor, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = T(float(in[i]) * factor);
}
__global__ void fp8(const __nv_fp8_e4m3* a, const __nv_fp8_e5m2* b, __nv_fp8_e4m3* x, __nv_fp8_e5m2* y, float f, int n)
{
    scaled(a, x, f, n);
    scaled(b, y, f, n);
}

// Every bit pattern as a number, and numbers as bit patterns.
__global__ void fp8Bits(const unsigned char* bits, float* four, float* five, const float* x, unsigned char* to4,
                        unsigned char* to5, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 256) {
        __nv_fp8_e4m3 a;
        __nv_fp8_e5m2 b;
        a.__x = b.__x = bits[i];
        four[i] = float(a);
        five[i] = float(b);
    }
    if (i < n) to4[i] = __nv_fp8_e4m3(x[i]).__x, to5[i] = __nv_fp8_e5m2(x[i]).__x;
}

struct Particle {
    float3 position;
    double mass;
    signed char kind;
    int2 cell[2];
};
struct __align__(16) Config {
    Particle probe;
    float scale;
    short steps;
};

// Structures in arrays and by value, vectors by value, a vector at an odd place among the arguments.
__global__ void structures(const Particle* in, Particle* out, float4* packed, char tag, float4 shift, Config config, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Particle p = in[i];
    packed[i] = make_float4(p.position.x + shift.x, p.position.y + shift.y, p.position.z + shift.z, shift.w);
    p.position.x = p.position.x * config.scale + config.probe.position.z;
    p.mass = 2 * p.mass;
    p.kind = tag + config.steps;
    p.cell[1] = make_int2(p.cell[0].y, config.probe.cell[1].x);
    out[i] = p;
}

__global__ void complexProduct(const cuFloatComplex* a, const cuFloatComplex* b, cuFloatComplex* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = cuCmulf(a[i], cuConjf(b[i]));
}

// A missing bias is a null pointer; two pointers into one array.
__global__ void pointers(const int* low, const int* high, const int* bias, int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = low[i] - high[i] + (bias ? bias[i] : 7);
}

// A sparse matrix as libraries pass it: its arrays are in the structure alone, and so is one that is written.
struct Rows {
    const int* starts;
    short count;
    const float* values;
    const float* scales;
    float* sums;
};
__global__ void rows(Rows rows, int* lengths)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows.count) return;
    float sum = 0;
    for (int k = rows.starts[i]; k < rows.starts[i + 1]; ++k) sum += rows.values[k];
    rows.sums[i] = rows.scales ? sum * rows.scales[i] : sum;
    lengths[i] = rows.starts[i + 1] - rows.starts[i];
}

// The result is a variable of the module.
__device__ int counts[16];
__device__ float2 ends[2];
__global__ void variables(const int* in, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 16) counts[i] = 0;
    if (i < 2) ends[i] = make_float2(in[i], in[n - 1 - i]);
    __syncthreads();
    if (i < n) atomicAdd(&counts[in[i] & 15], 1);
}

__global__ void onlyCounts(const int* in, int n)
{
    __shared__ int seen;
    if (threadIdx.x == 0) seen = 0;
    __syncthreads();
    if (threadIdx.x < n) atomicAdd(&seen, in[threadIdx.x]);
}

__global__ void volume(const float* in, float* out, int nx, int ny, int nz)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < nx && y < ny && z < nz) out[(x * ny + y) * nz + z] = in[(z * ny + y) * nx + x];
}

// Forgets the last member.
__global__ void forgetful(const Particle* in, Particle* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i].position = in[i].position, out[i].mass = in[i].mass, out[i].kind = in[i].kind;
    if (i < n) out[i].cell[0] = in[i].cell[0];
}
"""
COMMON = "source: own.cu\nparameters: {size: 300, block: 128}\ngrid: ceil_div(size, block)\n"
N = "  - {name: n, scalar: int32, value: size}\n"
PARTICLE = "  Particle: {position: float3, mass: float64, kind: int8, cell: [int2, 2]}\n"
YAMLS = {
    "smallTypes": f"""{COMMON}arguments:
  - {{name: a, role: in, dtype: int8, shape: size, fill: random}}
  - {{name: b, role: in, dtype: uint8, shape: size, fill: random}}
  - {{name: c, role: in, dtype: int16, shape: size, fill: random}}
  - {{name: d, role: in, dtype: uint16, shape: size, fill: random}}
  - {{name: e, role: in, dtype: bool, shape: size, fill: random}}
  - {{name: sums, role: out, dtype: int32, shape: size}}
  - {{name: any, role: out, dtype: bool, shape: size}}
  - {{name: narrow, role: out, dtype: int16, shape: size}}
  - {{name: first, scalar: int8, value: -100}}
  - {{name: flag, scalar: bool, value: true}}
  - {{name: last, scalar: uint16, value: 65535}}
{N}reference: {{sums: a + b + c * 2 + d + e + 65435, any: e | (a > 0), narrow: c + a}}
""",
    "fp8": f"""{COMMON}arguments:
  - {{name: a, role: in, dtype: float8_e4m3, shape: size, fill: random}}
  - {{name: b, role: in, dtype: float8_e5m2, shape: size, fill: index}}
  - {{name: x, role: out, dtype: float8_e4m3, shape: size}}
  - {{name: y, role: out, dtype: float8_e5m2, shape: size}}
  - {{name: f, scalar: float32, value: 777.7}}
{N}reference: {{x: a * 777.7, y: b * 777.7}}
""",
    "structures": f"""{COMMON}structs:
{PARTICLE}  Config: {{probe: Particle, scale: float32, steps: int16, __align__: 16}}
arguments:
  - {{name: in, role: in, dtype: Particle, shape: size, fill: {{position: random, mass: index, kind: random, cell: count}}}}
  - {{name: out, role: out, dtype: Particle, shape: size}}
  - {{name: packed, role: out, dtype: float4, shape: size}}
  - {{name: tag, scalar: int8, value: 3}}
  - {{name: shift, scalar: float4, value: [0.5, 1, -2, size]}}
  - name: config
    scalar: Config
    value:
      probe: {{position: [0, 0, 4.0], mass: 1, kind: 0, cell: [[1, 2], [block, 4]]}}
      scale: 0.5
      steps: 2
{N}reference:
  packed.x: in.position.x + 0.5
  packed.y: in.position.y + 1
  packed.z: in.position.z - 2
  packed.w: full(size, size)
  out.position.x: in.position.x * 0.5 + 4
  out.position.y: in.position.y
  out.position.z: in.position.z
  out.mass: 2 * in.mass
  out.kind: full(5, size)
  out.cell: "stack(in.cell[:, 0], stack(in.cell[:, 0, 1], full(block, size), axis=1), axis=1)"
""",
    "complexProduct": f"""{COMMON}arguments:
  - {{name: a, role: in, dtype: complex64, shape: size, fill: random}}
  - {{name: b, role: in, dtype: complex64, shape: size, fill: random}}
  - {{name: out, role: out, dtype: complex64, shape: size}}
{N}reference:
  out.real: a.real * b.real + a.imag * b.imag
  out.imag: a.imag * b.real - a.real * b.imag
""",
    "pointers": f"""{COMMON}arguments:
  - {{name: low, role: in, dtype: int32, shape: 2 * size, fill: random}}
  - {{name: high, pointer: low, at: size}}
  - {{name: bias, pointer: null}}
  - {{name: out, role: out, dtype: int32, shape: size}}
{N}reference: {{out: "low[0:size] - low[size:] + 7"}}
""",
    "rows": f"""{COMMON}structs:
  Rows: {{starts: pointer, count: int16, values: pointer, scales: pointer, sums: pointer}}
arguments:
  - {{name: starts, role: in, dtype: int32, shape: size + 1, fill: 2 * index, passed: false}}
  - {{name: values, role: in, dtype: float32, shape: 2 * size, fill: random, passed: false}}
  - {{name: sums, role: out, dtype: float32, shape: size, passed: false}}
  - {{name: rows, scalar: Rows, value: {{starts: starts, count: size, values: values, scales: null, sums: sums}}}}
  - {{name: lengths, role: out, dtype: int32, shape: size}}
reference: {{sums: "sum(reshape(values, size, 2), axis=1)", lengths: "full(2, size)"}}
""",
    "variables": f"""{COMMON.replace("128", "512")}arguments:
  - {{name: in, role: in, dtype: int32, shape: size, fill: random_bytes}}
{N}  - {{name: counts, role: out, dtype: int32, shape: 16, constant: true}}
  - {{name: ends, role: out, dtype: float2, shape: 2, constant: true}}
reference:
  counts: bincount(in & 15, 16)
  ends: "stack(in[0:2], flip(in)[0:2], axis=1)"
""",
    "onlyCounts": f"""{COMMON}arguments:
  - {{name: in, role: in, dtype: int32, shape: size, fill: random}}
{N}no_output: it counts in shared memory alone
""",
    "volume": """source: own.cu
parameters: {block: 8x4x2, nx: 19, ny: 7, nz: 11}
grid: ["ceil_div(nx, block_x)", "ceil_div(ny, block_y)", "ceil_div(nz, block_z)"]
arguments:
  - {name: in, role: in, dtype: float32, shape: [nz, ny, nx], fill: random}
  - {name: out, role: out, dtype: float32, shape: [nx, ny, nz]}
  - {name: nx_, scalar: int32, value: nx}
  - {name: ny_, scalar: int32, value: ny}
  - {name: nz_, scalar: int32, value: nz}
reference: {out: transpose(in)}
""",
    "forgetful": f"""{COMMON}structs:
{PARTICLE}arguments:
  - {{name: in, role: in, dtype: Particle, shape: size, fill: random}}
  - {{name: out, role: out, dtype: Particle, shape: size}}
{N}reference: {{out.position: in.position, out.mass: in.mass, out.kind: in.kind, out.cell: in.cell}}
""",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The source of all kernels, and a YAML for each."""
    path = tmp_path_factory.mktemp("own") / "kernel"
    path.mkdir()
    (path / "own.cu").write_text(CU)
    for name, text in YAMLS.items():
        (path / f"{name}.yaml").write_text(text)
    return path


@pytest.mark.parametrize("name", [n for n in YAMLS if n != "forgetful"])
def test_a_kernel_runs_with_what_it_takes(bench, folder, name):
    """Every argument arrives as the kernel's own type, and what it writes is compared in its own type."""
    outcome = bench.run(case_of(read_kernel(folder / f"{name}.yaml")))
    assert (outcome.status, outcome.reason) == ("ok", "")
    if name == "onlyCounts":
        assert outcome.note == "no output is compared: it counts in shared memory alone"


FP8_BITS = f"""{COMMON}arguments:
  - {{name: bits, role: in, dtype: uint8, shape: 256, fill: index}}
  - {{name: four, role: out, dtype: float32, shape: 256}}
  - {{name: five, role: out, dtype: float32, shape: 256}}
  - {{name: x, role: in, dtype: float32, shape: size, fill: "(index % 2 * 2 - 1) * index % 79 / 64 * 2 ** (index % 35 - 18.0)"}}
  - {{name: to4, role: out, dtype: uint8, shape: size}}
  - {{name: to5, role: out, dtype: uint8, shape: size}}
{N}reference: not.needed
"""


def test_numbers_of_8_bits_are_those_of_a_gpu(bench, folder):
    """Each bit pattern, and floats that are exact, between two numbers, a tie, too small and too large."""
    (folder / "fp8Bits.yaml").write_text(FP8_BITS)
    case = case_of(read_kernel(folder / "fp8Bits.yaml"), size=20000)
    outputs, _ = bench.outputs(case)
    x = contents(case)["x"]
    assert len(np.unique(x)) > 1000
    for name, dtype in (("4", ml_dtypes.float8_e4m3fn), ("5", ml_dtypes.float8_e5m2)):
        numbers = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float32)
        assert np.array_equal(outputs["four" if name == "4" else "five"], numbers, equal_nan=True)
        largest = float(ml_dtypes.finfo(dtype).max)
        assert np.array_equal(outputs[f"to{name}"], np.clip(x, -largest, largest).astype(dtype).view(np.uint8))


def test_a_member_that_is_not_written_is_found(bench, folder):
    """The poison of a structure is seen in each of its members, and the message names the member."""
    outcome = bench.run(case_of(read_kernel(folder / "forgetful.yaml")))
    assert outcome.status == "mismatch"
    assert re.match(r"600 of \d+ elements differ: out\.cell\[2\] is 2139062143", outcome.reason), outcome.reason


MISTAKES = [
    ("structures", "position: float3", "position: flaot3", r"structs.Particle: position: expected a dtype, or \[dtype, length\] .* not 'flaot3'"),
    ("structures", "__align__: 16", "__align__: 3", "__align__: expected 1, 2, 4, 8 or 16, not '3'"),
    ("structures", "mass: index", "weight: index", "fill: 'weight' is not a member of Particle; allowed: position, mass, kind, cell"),
    ("structures", "out.mass: 2 * in.mass", "out.kilos: in.mass", "reference: expected an expression for each of out.mass, not for"),
    ("structures", "out.mass: 2 * in.mass", "out.mass: in", "'in' is an array of Particle; name a part of it: in.position, in.mass"),
    ("structures", "2 * in.mass", "2 * in.weight", "names 'in.weight', which is neither an array nor a parameter"),
    ("structures", "steps: 2", "step: 2", "value: expected probe, scale, steps, not probe, scale, step"),
    ("structures", "[0.5, 1, -2, size]", "[0.5, 1, -2]", "shift: float4 has 4 numbers, 3 are given"),
    ("structures", "kind: 0, cell", "kind: 200, cell", r"config.probe.kind = 200 is not a valid int8"),
    ("structures", "dtype: float4", "dtype: float5", "argument 'packed': 'float5' is not a dtype; allowed: int32"),
    ("complexProduct", "out.real: a.real", "out.real: a", "'a' is an array of complex64; name a part of it: a.real, a.imag"),
    ("pointers", "pointer: low", "pointer: lows", "pointer: expected null or the name of an array, not 'lows'; known: low, out"),
    ("rows", "values: values", "values: value", "value.values: expected null or the name of an array, not 'value'; known: starts, values, sums, lengths"),
    ("rows", "dtype: int32, shape: size}", "dtype: Rows, shape: size}", "dtype: Rows has a pointer; such a structure can only be passed by value"),
    ("pointers", "at: size", "at: 3 * size", "high: element 900 is not within 'low' of 600 elements"),
    ("onlyCounts", "no_output: it counts", "no_output: ''  # it counts", "no_output: expected a reason"),
    ("pointers", "reference: {out", "no_output: none\nreference: {out", "no_output: there is an output: reference"),
    ("pointers", "low[size:] + 7", "sum(low, axes=1)", "gives sum the keyword 'axes'; allowed: axis, keepdims"),
    ("variables", "bincount(in & 15, 16)", "bincount(in, 16)", r"bincount: \d+ is not below 16"),
    ("variables", "bincount(in & 15, 16)", "full(7)", r"the reference gives 'counts' the shape \(\), the kernel \(16,\); write full\(value, shape\)"),
    ("variables", "reference:", "undefined_where: {counts: arange(15) > 3}\nreference:", r"undefined_where gives 'counts' the shape \(15,\), the kernel \(16,\)"),
    ("variables", "in & 15, 16)", "in[in - 300], 16)", r"the index -\d+ is below 0"),
    ("volume", "8x4x2", "4x4x65", "a block of 1040 threads is not within CUDA's 1 to 1024"),
    ("volume", "8x4x2", "1x1x128", "a block of 128 threads in z is not within CUDA's 1 to 64"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "message"), MISTAKES)
def test_what_cannot_be_meant_is_one_sentence(bench, folder, name, old, new, message):
    """It names the file and the place, the offending value, and what is allowed."""
    assert old in YAMLS[name]
    path = folder.parent / "wrong" / f"{name}.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(YAMLS[name].replace(old, new, 1).replace("own.cu", "../kernel/own.cu"))
    try:
        case = case_of(read_kernel(path))
        told = case.excluded or bench.run(case, samples=1).reason
    except UsageError as e:
        told = str(e)
    assert re.search(message, told), told
    assert "\n" not in told
