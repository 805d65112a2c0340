"""`python -m runner import FILE`: a YAML from what others have, with blanks for what only a person knows."""

import json
import os

import pytest
import yaml
from mistakes import assert_refused, write_files
from processes import run

CU = """\
#include <vector>
#ifndef ROUNDS
#define ROUNDS 2
#endif
__constant__ float weights[TAPS][4];
__device__ float weight(int k) { return weights[k % TAPS][0]; }
namespace filters {
template <typename T, int tile = 4, bool twice>
__global__ void smooth(T* out, const T* __restrict__ in, float* sums, int* flags, float2* pairs, int n, int stride, T factor)
{
    extern __shared__ T rows[];
    const int i = blockIdx.x * LINE + threadIdx.x;
    rows[threadIdx.x] = in[i * stride];
    for (int k = 0; k < ROUNDS; ++k) sums[i] += weight(k) * tile;
    const float2 pair = pairs[i];
    if (flags[i] == 0 && i < n && FLT_MAX > pair.x) out[i] = rows[threadIdx.x] * factor;
}
}
__global__ void plane(float* out, const float* in, int width, int height)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[y * width + x] = 2 * in[y * width + x];
}
__global__ void copied(const cudaTextureObject_t from, cudaSurfaceObject_t to)
{
    surf1Dwrite(tex1D<float>(from, threadIdx.x), to, 4 * threadIdx.x);
}
int main()
{
    const int n = 10, rows = n / 5;  // of 5
    dim3 blocks(rows, 4);
    filters::smooth<float, 8, true><<<blocks, 32>>>(0, 0, 0, 0, 0, n, 1, 2.0f);
}
"""
ROWS = """\
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#define HALVES
#if defined(HALVES)
typedef __half number;
#else
typedef float number;
#endif
struct Pair { float payload[2]; };
template <int BlockSize>
__global__ void scaled(number* out, float* from, float* first, int num_items, float scale, int)
{
    namespace cg = cooperative_groups;
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
#ifdef WITHOUT_SCALE
    scale = 1;
#endif
    const Pair pair = {{scale, 0}};
    number* row = out + blockIdx.y * BlockSize;
    const float* given = from + blockIdx.y * BlockSize;
    if (first != nullptr && warp.thread_rank() == 0) __stcs(first + blockIdx.y, __ldcs(&given[0]));
    if (blockIdx.y < num_items) row[threadIdx.x] = number(pair.payload[0] * given[threadIdx.x]);
}
"""
SCRIPT = '''\
import numpy
from kernel_tuner import tune_kernel

def tune():
    source = """
    __global__ void add(float *c, float *a, float *b, int n) {
        for (int k = 0; k < tile_size; ++k) {
            int i = (blockIdx.x * tile_size + k) * block_size_x + threadIdx.x;
            if (i < n) c[i] = a[i] + b[i];
        }
    }
    """
    size = 5000
    a = numpy.random.randn(size).astype(numpy.float32)
    args = [numpy.zeros_like(a), a, a, numpy.int32(size)]
    tune_params = dict(tile_size=[1, 2, 4])
    tune_params["block_size_x"] = [32 + 32*i for i in range(3) if i != 1]
    return tune_kernel("add", source, size, args, tune_params, grid_div_x=["block_size_x", "tile_size"],
                       restrictions=["block_size_x*tile_size<=200"])
'''
T1 = {
    "ConfigurationSpace": {
        "TuningParameters": [
            {"Name": "BX", "Type": "int", "Values": "[8*i for i in range(1, 3)]", "Default": 16},
            {"Name": "BY", "Type": "int", "Values": [2, 4]},
        ],
        "Conditions": [{"Expression": "BX % BY == 0", "Parameters": ["BX", "BY"]}],
    },
    "KernelSpecification": {
        "KernelName": "plane", "KernelFile": "filters.cu", "LocalSize": {"X": "BX", "Y": "BY", "Z": "1"},
        "ProblemSize": [64, 32], "GridDivX": ["BX"], "GridDivY": ["BY"],
        "Arguments": [
            {"Name": "result", "Type": "float", "MemoryType": "Vector", "AccessType": "WriteOnly"},
            {"Name": "from", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly"},
            {"Name": "w", "Type": "int32", "MemoryType": "Scalar", "FillValue": 64},
            {"Name": "h", "Type": "int32", "MemoryType": "Scalar", "FillValue": 32},
        ],
    },
}  # fmt: skip


def written(folder, name):
    """A YAML, and its content."""
    text = (folder / "my_kernels" / "kernel" / f"{name}.yaml").read_text()
    return text, yaml.safe_load(text)


def fill_in(folder, name, **blanks):
    """Give the blanks of a YAML their values: `key=value` where a line has the key."""
    path = folder / "my_kernels" / "kernel" / f"{name}.yaml"
    lines = path.read_text().splitlines()
    for key, value in blanks.items():
        lines = [line.replace("???", value) if key in line else line for line in lines]
    path.write_text("\n".join(lines))


def test_a_script_for_kernel_tuner_needs_only_its_reference(tmp_path):
    """Its kernel, sizes, parameters and restrictions are taken. The blank is told, and then it runs."""
    write_files(tmp_path, {"tune.py": SCRIPT})
    done = run(tmp_path, "import", "tune.py")
    assert done.code == 0, done.err
    command = "--config-dir my_kernels kernel=add device=cpu"
    assert done.out == f"my_kernels/kernel/add.yaml\nFill in each ???, then: python -m runner {command}\n"
    assert_refused(run(tmp_path, *command.split()), "add.yaml: reference.c: ??? is still to be filled in")
    fill_in(tmp_path, "add", c="a + b")
    done = run(tmp_path, *command.split(), "block=32,96", "tile_size=1,4")
    assert done.code == 0, done.err
    rows = (done.folder / "results.csv").read_text()
    assert (rows.count(",ok,"), rows.count(",skipped,")) == (3, 1)  # 96 * 4 is above 200
    _, content = written(tmp_path, "add")
    assert content["parameters"]["block"] == {"default": 32, "allowed": [32, 96]}
    assert content["macros"] == ["tile_size", {"block_size_x": "block_x"}]


def test_what_the_parser_finds_in_a_cu(tmp_path):
    """Roles, types, template arguments, macros that nothing declares, shared and constant memory, and launches."""
    write_files(tmp_path, {"src/filters.cu": CU})
    done = run(tmp_path, "import", "src/filters.cu")
    assert done.code == 0, done.err
    text, content = written(tmp_path, "smooth")
    assert "# Launched in the file as filters::smooth<float, 8, true><<<blocks, 32>>>(" in text
    assert ", where n = 10; rows = n / 5; blocks(rows, 4)\n" in text
    assert content["source"] == "../../src/filters.cu"
    assert content["function"] == "filters::smooth<dtype, tile, twice>"
    parameters = {"block": 256, "size": "1Mi", "dtype": "float32", "tile": 4, "twice": "???", "taps": "???",
                  "line": "???", "stride": "???", "factor": "???"}  # fmt: skip
    assert content["parameters"] == parameters
    assert sorted(content["macros"]) == ["LINE", "TAPS"]
    arguments = {
        a["name"]: (a.get("role", a.get("value")), a.get("dtype", a.get("scalar"))) for a in content["arguments"]
    }
    assert arguments == {
        "out": ("out", "dtype"), "in": ("in", "dtype"), "sums": ("inout", "float32"), "flags": ("in", "int32"),
        "pairs": ("in", "float2"), "n": ("size", "int32"), "stride": ("stride", "int32"), "factor": ("factor", "dtype"),
        "weights": ("in", "float32"),
    }  # fmt: skip
    shapes = {a["name"]: a.get("shape") for a in content["arguments"]}
    assert (shapes["pairs"], shapes["weights"]) == ("size", ["TAPS", "4"])
    assert content["shared"] == "itemsize(dtype) * block"
    assert content["reference"] == dict.fromkeys(("out", "sums"), "???")
    plane = written(tmp_path, "plane")[1]
    images = {a["name"]: (a.get("texture"), a.get("surface")) for a in written(tmp_path, "copied")[1]["arguments"][:2]}
    assert images == {"from": ({}, None), "to": (None, True)}
    assert written(tmp_path, "copied")[1]["reference"] == {"to": "???"}
    assert (plane["parameters"]["block"], len(plane["grid"])) == ("16x16", 2)


def test_what_surrounds_a_kernel_is_understood(tmp_path):
    """Typedefs under an #if, pointers made from arguments, groups, members, the grid's axes. A blank in braces is told."""
    write_files(tmp_path, {"rows.cu": ROWS})
    assert run(tmp_path, "import", "rows.cu").code == 0
    content = written(tmp_path, "scaled")[1]
    arguments = [(a["name"], a.get("role"), a.get("dtype")) for a in content["arguments"]]
    assert arguments[:3] == [("out", "out", "float16"), ("from_", "in", "float32"), ("first", "out", "float32")]
    assert content["arguments"][3]["value"] == "size"
    assert "macros" not in content
    assert (content["function"], content["grid"]) == ("scaled<block>", ["ceil_div(size, block)", "???"])
    command = "--config-dir my_kernels kernel=scaled device=cpu size=4 block=64"
    assert_refused(run(tmp_path, *command.split()), "scaled.yaml: parameters.argument5: ??? is still to be filled in")
    path = tmp_path / "my_kernels" / "kernel" / "scaled.yaml"
    fill_in(
        tmp_path,
        "scaled",
        argument5="0",
        scale="0.5",
        grid="size",
        out="0.5 * from_",
        first="from_[:, 0]",
    )
    assert "# compute: float16  # if the kernel also adds in float16" in path.read_text()
    text = path.read_text().replace('"ceil_div(size, block)"', "1").replace("shape: size", "shape: [size, block]", 2)
    path.write_text(text)
    done = run(tmp_path, *command.split())
    assert done.code == 0, done.out + done.err


def test_a_t1_file_gives_blocks_sizes_and_roles(tmp_path):
    """It names the kernel's file, and runs with a reference."""
    write_files(tmp_path, {"filters.cu": CU, "t1.json": json.dumps(T1)})
    assert run(tmp_path, "import", "t1.json").code == 0
    fill_in(tmp_path, "plane", out="2 * in")
    done = run(tmp_path, "--config-dir", "my_kernels", "kernel=plane", "device=cpu", "block=16x2,8x4")
    assert done.code == 0, done.err
    content = written(tmp_path, "plane")[1]
    assert content["parameters"]["block"] == {"default": "16x2", "allowed": ["8x2", "8x4", "16x2", "16x4"]}
    assert content["parameters"]["size"] == "32x64"
    assert content["constraints"] == {"block_x % block_y == 0": "a restriction of the tuning script"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("filters.cu", "--kernel", "smoth"), "filters.cu: it has no kernel 'smoth'; available: filters::smooth<typename T"),
        (("nothing.cu",), "nothing.cu: No such file or directory"),
        (("host.cu",), "host.cu: it has no __global__ function"),
        (("host.py",), "host.py: it does not call tune_kernel"),
        (("host.cu.py",), "host.cu.py: not a Python script"),
        (("host.json",), "host.json: not a T1 file"),
        (("filters.cu", "--kernel", "plane"), "my_kernels/kernel/plane.yaml: already exists; nothing is written"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_and_nothing_is_written(arguments, message, tmp_path):
    """Above all, no file is overwritten."""
    kept = {"my_kernels/kernel/plane.yaml": "mine"}
    write_files(tmp_path, {"filters.cu": CU, "host.cu": "int main() {}", "host.py": "x = 1", "host.cu.py": "x =", **kept,
                   "host.json": "[]"})  # fmt: skip
    assert_refused(run(tmp_path, "import", *arguments), message)
    assert [p.name for p in (tmp_path / "my_kernels" / "kernel").iterdir()] == ["plane.yaml"]
    assert (tmp_path / "my_kernels" / "kernel" / "plane.yaml").read_text() == "mine"


@pytest.mark.parametrize("name", ["pipe.cu", "pipe.json", "pipe.py"])
def test_a_pipe_is_not_waited_for(tmp_path, name):
    """Nobody may ever write into it."""
    os.mkfifo(tmp_path / name)
    assert_refused(run(tmp_path, "import", name), f"{name}: expected a regular file")


def test_a_kernel_in_parts_of_a_repository(tmp_path):
    """Headers in another folder, a file that another one includes, overloads, and vectors written through a macro."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "common").mkdir()
    (tmp_path / "common" / "vectors.h").write_text("#define FOUR(x) (*reinterpret_cast<float4*>(&(x)))\n")
    (tmp_path / "common" / "unneeded.h").write_text("int of_the_host();\n")
    sources = tmp_path / "src" / "copy"
    sources.mkdir(parents=True)
    (sources / "main.cu").write_text('typedef float real;\n#include "kernel.cu"\nint main() {}\n')
    (sources / "kernel.cu").write_text(
        "#include <unneeded.h>\n#include <vectors.h>\n#define AT(i, stride) (4 * i * stride)\n"
        "__global__ void copy(real* out, real* in, int n)\n"
        "{ int i = threadIdx.x; if (4 * i < n) FOUR(out[AT(i, 1)]) = FOUR(in[AT(i, 1)]); }\n"
        "__global__ void copy(real* out, int n) { out[threadIdx.x] = n; }\n"
    )
    done = run(tmp_path, "import", "src/copy/main.cu")
    assert done.code == 0, done.err
    text, content = written(tmp_path, "copy")
    assert content["include"] == ["../../common"]
    assert (content["source"], content["function"]) == ("../../src/copy/main.cu", "copy(real*, real*, int)")
    arguments = [(a["name"], a.get("role"), a.get("dtype")) for a in content["arguments"][:2]]
    assert arguments == [("out", "out", "float32"), ("in", "in", "float32")]
    assert "macros" not in content
    content |= {"parameters": {"block": 64, "size": 256}, "grid": 1, "reference": {"out": "in"}}
    (tmp_path / "my_kernels" / "kernel" / "copy.yaml").write_text(yaml.safe_dump(content))
    done = run(tmp_path, "--config-dir", "my_kernels", "kernel=copy", "device=cpu")
    assert done.code == 0, done.out + done.err
    done = run(tmp_path, str(done.folder), module="runner.repeat")  # from the kept files alone
    assert done.code == 0, done.out + done.err
    done = run(tmp_path, "import", "src/copy/kernel.cu", "--into", "other")
    text = (tmp_path / "other" / "kernel" / "copy.yaml").read_text()
    assert "source: ../../src/copy/kernel.cu  # or main.cu, which includes it" in text
