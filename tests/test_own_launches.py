"""Programs of several launches: timed as one, checked at the end."""

import re

import pytest
from outcomes import sentence_about
from support import case_of, read_kernel

CU = """
__global__ void sumBlocks(const float* in, float* out, int n)
{
    __shared__ float s[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    s[threadIdx.x] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (int d = BLOCK / 2; d; d /= 2) {
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}

// Two functions share a variable of the module.
__device__ int passes;
__global__ void scanBlocks(int* data, int* sums, int n)
{
    extern __shared__ int t[];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    t[threadIdx.x] = i < n ? data[i] : 0;
    __syncthreads();
    for (int d = 1; d < BLOCK; d *= 2) {
        const int left = threadIdx.x >= d ? t[threadIdx.x - d] : 0;
        __syncthreads();
        t[threadIdx.x] += left;
        __syncthreads();
    }
    if (i < n) data[i] = t[threadIdx.x];
    if (threadIdx.x == BLOCK - 1) sums[blockIdx.x] = t[threadIdx.x];
    if (i == 0) passes += 1;
}
namespace fixed {
template <class T, int THREADS>
__global__ void addBefore(T* data, const T* sums, int* counted, int n)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n && blockIdx.x) data[i] += sums[blockIdx.x - 1];
    if (i == 0) *counted = passes, passes = 0;
}
}

__global__ void smooth(const float* from, float* to, int n)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) to[i] = 0.5f * from[i] + 0.25f * (from[i ? i - 1 : 0] + from[i < n - 1 ? i + 1 : n - 1]);
}
"""
HEAD = "source: own.cu\nparameters: {size: 1000, block: {default: 64, allowed: [32, 64]}}\nmacros: [BLOCK]\n"
N = "  - {name: n, scalar: int32, value: size}\n"
TWO_PASSES = f"""{HEAD}arguments:
  - {{name: in, role: in, dtype: float32, shape: size, fill: random}}
  - {{name: partial, role: scratch, dtype: float32, shape: "ceil_div(size, block)"}}
  - {{name: out, role: out, dtype: float32, shape: 1}}
{N}  - {{name: blocks, scalar: int32, value: "ceil_div(size, block)"}}
constraints: {{size <= block * block: two passes add up block * block elements}}
launches:
  - {{function: sumBlocks, arguments: [in, partial, n], grid: "ceil_div(size, block)"}}
  - {{function: sumBlocks, arguments: [partial, out, blocks], grid: 1}}
reference: {{out: sum(in)}}
"""
SCAN = f"""{HEAD}arguments:
  - {{name: data, role: inout, dtype: int32, shape: size, fill: random}}
  - {{name: sums, role: scratch, dtype: int32, shape: block}}
  - {{name: top, role: scratch, dtype: int32, shape: 1}}
  - {{name: counted, role: out, dtype: int32, shape: 1}}
{N}  - {{name: blocks, scalar: int32, value: "ceil_div(size, block)"}}
constraints: {{size <= block * block: one block scans the sums}}
grid: ceil_div(size, block)
launches:
  - {{function: scanBlocks, arguments: [data, sums, n], shared: 4 * block}}
  - {{function: scanBlocks, arguments: [sums, top, blocks], shared: 4 * block, grid: 1}}
  - {{function: "fixed::addBefore<int, block>", arguments: [data, sums, counted, n]}}
reference: {{data: cumsum(data), counted: "full(2, 1)"}}
"""
PING_PONG = f"""{HEAD}arguments:
  - {{name: a, role: inout, dtype: float32, shape: size, fill: random}}
  - {{name: b, role: scratch, dtype: float32, shape: size}}
{N}grid: ceil_div(size, block)
launches:
  - for: {{twice: 2}}
    launches:
      - {{function: smooth, arguments: [a, b, n]}}
      - {{function: smooth, arguments: [b, a, n]}}
let:
  a1: "0.5 * a + 0.25 * (concatenate(a[0:1], a[:-1]) + concatenate(a[1:], a[-1:]))"
  a2: "0.5 * a1 + 0.25 * (concatenate(a1[0:1], a1[:-1]) + concatenate(a1[1:], a1[-1:]))"
  a3: "0.5 * a2 + 0.25 * (concatenate(a2[0:1], a2[:-1]) + concatenate(a2[1:], a2[-1:]))"
reference: {{a: "0.5 * a3 + 0.25 * (concatenate(a3[0:1], a3[:-1]) + concatenate(a3[1:], a3[-1:]))"}}
"""
YAMLS = {"twoPasses": TWO_PASSES, "scanWithFixUp": SCAN, "pingPong": PING_PONG}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The source of all kernels, and a YAML for each program."""
    path = tmp_path_factory.mktemp("launches") / "kernel"
    path.mkdir()
    (path / "own.cu").write_text(CU)
    for name, text in YAMLS.items():
        (path / f"{name}.yaml").write_text(text)
    return path


@pytest.mark.parametrize(("name", "launches"), [("twoPasses", 2), ("scanWithFixUp", 3), ("pingPong", 4)])
def test_a_program_of_several_launches_is_right(bench, folder, name, launches):
    """Each launch has its function, its arguments and its grid; what the last one leaves is checked at each sample."""
    case = case_of(read_kernel(folder / f"{name}.yaml"))
    assert len(case.launches) == launches
    outcome = bench.run(case)
    assert (outcome.status, outcome.reason) == ("ok", "")
    assert outcome.measured.checked >= 3


@pytest.mark.parametrize(
    ("name", "old", "new", "found"),
    [
        (
            "twoPasses",
            "[partial, out, blocks], grid: 1",
            "[partial, out, blocks], grid: 2",
            "out-of-bounds write of 'out'|wrote outside",
        ),
        ("scanWithFixUp", '  - {function: "fixed', '#  - {function: "fixed', "elements differ"),
        ("pingPong", "twice: 2", "twice: 1", "elements differ"),
    ],
)
def test_a_launch_that_is_missing_or_wrong_is_found(bench, folder, name, old, new, found):
    """A step less, or one too far."""
    text = YAMLS[name].replace("own.cu", "../kernel/own.cu")
    told = sentence_about(bench, folder.parent / "wrong" / f"{name}.yaml", text, old, new)
    assert re.search(found, told), told


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("arguments: [data", "arguments: [date", r"launches\[0\]: arguments: 'date' is not an argument; allowed: data, sums"),
        ('function: "fixed', 'kernel: "fixed', r"launches\[2\]: 'kernel' is not a valid key"),
        ('function: "fixed::addBefore<int, block>"', "function: add-before", r"launches\[2\]: function: 'add-before' is not the name of a function"),
        ('function: "fixed::addBefore<int, block>"', "function: addAfter", "addAfter"),
        ("grid: ceil_div(size, block)\n", "", r"launches\[0\]: the key 'grid' is missing"),
        ("shared: 4 * block, grid: 1", "shared: 4 * block, grid: 0", "a grid of 0 blocks in x"),
        ("shared: 4 * block, grid: 1", "shared: 4 * block, grid: 1, block: 2048", "a block of 2048 threads"),
        ('- {function: "fixed', '- {for: {size: 2}, function: "fixed', "launches: 'size' is already the name of"),
        ('- {function: "fixed', '- {for: {i: 20000}, function: "fixed', "there would be more than 10000 launches"),
        ('- {function: "fixed', '- {for: {i: j}, function: "fixed', "names 'j', which is not a parameter"),
        ("arguments: [data, sums, counted, n]", "arguments: [data]", "the kernel takes 4 arguments"),
    ],
)  # fmt: skip
def test_a_mistake_in_launches_is_one_sentence(bench, folder, old, new, message):
    """It names the entry, the offending value, and what is allowed."""
    if "takes 4" in message and bench.device.info.kind != "cpu":
        pytest.skip("a GPU does not know a kernel's parameters")
    text = SCAN.replace("own.cu", "../kernel/own.cu")
    told = sentence_about(bench, folder.parent / "mistakes" / "scanWithFixUp.yaml", text, old, new)
    assert re.search(message, told), told
