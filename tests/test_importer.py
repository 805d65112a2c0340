"""`python -m runner import FILE`: a YAML from what others have, with blanks for what only a person knows."""

import os

import pytest
import yaml
from mistakes import assert_mistake, assert_refused, write_files
from processes import run
from support import ROOT

FOLDER = ROOT / "tests" / "kernels" / "importer"
CU, ROWS, PROGRAM = ((FOLDER / name).read_text() for name in ("filters.cu", "rows.cu", "program.cu"))
SCRIPT, T1 = ((FOLDER / name).read_text() for name in ("tune.py.txt", "t1.json"))


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


def test_macros_are_in_the_order_of_the_file(tmp_path):
    """The same file gives the same YAML each time."""
    names = [f"STEP{i}" for i in range(8)]
    functions = "".join(f"__device__ int {name.lower()}() {{ return {name}; }}\n" for name in names)
    total = " + ".join(f"{name.lower()}()" for name in names)
    write_files(tmp_path, {"steps.cu": f"{functions}__global__ void all(int* out) {{ out[0] = {total}; }}\n"})
    done = run(tmp_path, "import", "steps.cu")
    assert done.code == 0, done.err
    assert written(tmp_path, "all")[1]["macros"] == names


def test_a_script_for_kernel_tuner_needs_only_its_reference(tmp_path):
    """Its kernel, sizes, parameters and restrictions are taken. The blank is told, and then it runs."""
    write_files(tmp_path, {"tune.py": SCRIPT})
    done = run(tmp_path, "import", "tune.py")
    assert done.code == 0, done.err
    command = "--config-dir my_kernels kernel=add device=cpu"
    assert done.out == f"my_kernels/kernel/add.yaml\nFill in each ???, then: python -m runner {command}\n"
    assert_mistake(tmp_path, command.split(), "add.yaml: reference.c: ??? is still to be filled in")
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
    parameters = {"block": 32, "n": 10, "dtype": "float32", "tile": 8, "twice": True, "TAPS": "???", "LINE": "???"}
    assert content["parameters"] == parameters
    assert sorted(content["macros"]) == ["LINE", "TAPS"]
    arguments = {
        a["name"]: (a.get("role", a.get("value")), a.get("dtype", a.get("scalar"))) for a in content["arguments"]
    }
    assert arguments == {
        "out": ("out", "dtype"), "in": ("in", "dtype"), "sums": ("inout", "float32"), "flags": ("in", "int32"),
        "pairs": ("in", "float2"), "n": ("n", "int32"), "stride": (1, "int32"), "factor": (2.0, "dtype"),
        "weights": ("in", "float32"),
    }  # fmt: skip
    shapes = {a["name"]: a.get("shape") for a in content["arguments"]}
    assert (shapes["pairs"], shapes["weights"]) == ("n", ["TAPS", "4"])
    assert content["shared"] == "itemsize(dtype) * block"
    assert content["reference"] == dict.fromkeys(("out", "sums"), "???")
    plane = written(tmp_path, "plane")[1]
    images = {a["name"]: (a.get("texture"), a.get("surface")) for a in written(tmp_path, "copied")[1]["arguments"][:2]}
    assert images == {"from": ({}, None), "to": (None, True)}
    assert written(tmp_path, "copied")[1]["reference"] == {"to": "???"}
    assert (plane["parameters"]["block"], len(plane["grid"])) == ("16x16", 2)


def test_an_array_of_pointers_is_a_batch_of_unknown_length(tmp_path):
    """The number of parts is left blank, in the shapes and in the grid; then it runs."""
    write_files(tmp_path, {"many.cu": MANY})
    assert run(tmp_path, "import", "many.cu").code == 0
    arguments = written(tmp_path, "many")[1]["arguments"]
    assert [(a.get("role"), a.get("dtype"), a.get("pointers")) for a in arguments[:2]] == [
        ("out", "float32", True), ("in", "float32", True),
    ]  # fmt: skip
    fill_in(tmp_path, "many", role="5", grid="5", to="2 * from_")
    done = run(tmp_path, *"--config-dir my_kernels kernel=many device=cpu size=100".split())
    assert done.code == 0, done.out + done.err


MANY = """__global__ void many(float** to, const float* const* from, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[blockIdx.y][i] = 2 * from[blockIdx.y][i];
}
"""


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
    assert_refused(run(tmp_path, *command.split()), "scaled.yaml: parameters.scale: ??? is still to be filled in")
    path = tmp_path / "my_kernels" / "kernel" / "scaled.yaml"
    fill_in(tmp_path, "scaled", argument5="0", scale="0.5", grid="size", out="scale * from_", first="from_[:, 0]")
    assert "compute: float32  # or float16, if the kernel also adds in float16" in path.read_text()
    text = path.read_text().replace('"ceil_div(size, block)"', "1").replace("shape: size", "shape: [size, block]", 2)
    path.write_text(text)
    done = run(tmp_path, *command.split())
    assert done.code == 0, done.out + done.err


def test_a_t1_file_gives_blocks_sizes_and_roles(tmp_path):
    """It names the kernel's file, and runs with a reference."""
    write_files(tmp_path, {"filters.cu": CU, "t1.json": T1})
    assert run(tmp_path, "import", "t1.json").code == 0
    fill_in(tmp_path, "plane", out="2 * in")
    done = run(tmp_path, "--config-dir", "my_kernels", "kernel=plane", "device=cpu", "block=16x2,8x4")
    assert done.code == 0, done.err
    content = written(tmp_path, "plane")[1]
    assert content["parameters"]["block"] == {"default": "16x2", "allowed": ["8x2", "8x4", "16x2", "16x4"]}
    assert content["parameters"]["size"] == "32x64"
    assert content["constraints"] == {"block_x % block_y == 0": "a restriction of the tuning script"}


@pytest.mark.parametrize(
    ("old", "new", "size"),
    [("size = 5000", "size = (64, 32, 16, 8)", "32x64"), ("dict(tile_size=[1, 2, 4])", "[1]", 5000)],
)
def test_an_unusual_script_is_imported(old, new, size, tmp_path):
    """A grid has the first dimensions of a tuner's problem; parameters that are not a dictionary are left out."""
    write_files(tmp_path, {"tune.py": SCRIPT.replace(old, new)})
    assert run(tmp_path, "import", "tune.py").code == 0
    assert written(tmp_path, "add")[1]["parameters"]["size"] == size


def test_a_program_that_tells_everything_needs_no_edit(tmp_path):
    """Its constants, launches, allocations, fills and functions give YAMLs that are right as they are written."""
    write_files(tmp_path, {"program.cu": PROGRAM})
    done = run(tmp_path, "import", "program.cu")
    assert done.code == 0, done.err
    assert done.out.endswith("Run: python -m runner --config-dir my_kernels kernel=hello device=cpu\n")
    done = run(tmp_path, "--config-dir", "my_kernels", "kernel=combine,product,total,hello", "device=cpu")
    assert done.code == 0, done.out + done.err
    assert (done.folder / "results.csv").read_text().count(",ok,") == 4


def test_where_the_host_code_says_what_a_kernel_gets(tmp_path):
    """Values of main(), blocks by name, grids in the YAML's language, sizes of allocations, fills of loops."""
    write_files(tmp_path, {"program.cu": PROGRAM})
    assert run(tmp_path, "import", "program.cu").code == 0
    text, combine = written(tmp_path, "combine")
    assert "  numElements: 50000  # numElements in program.cu:72\n" in text
    assert combine["parameters"] == {"block": 256, "numElements": 50000}
    assert (combine["grid"], combine["reference"]) == ("ceil_div(numElements, block)", {"z": "0.5 * x + y * y"})
    fills = {a["name"]: (a.get("shape"), a.get("fill")) for a in combine["arguments"]}
    assert fills["x"] == ("numElements", {"range": [0, 1]})
    assert (fills["y"], fills["z"]) == (("numElements", "index"), ("numElements", None))
    text, product = written(tmp_path, "product")
    assert product["function"] == "product<BM, BN>"
    assert product["parameters"] == {"block": "16x16", "M": 64, "N": 32, "K": 48, "BM": 16, "BN": 16}
    assert product["reference"] == {"C": "A @ B"}
    assert "as product_cpu computes them, program.cu:49" in text  # not as the kernel does
    assert set(product["constraints"]) == {"M % block_y == 0", "N % block_x == 0", "K % 16 == 0"}
    total = written(tmp_path, "total")[1]
    assert total["parameters"]["block"] == {"default": 128, "allowed": [128]}  # the kernel is compiled for it
    assert total["reference"] == {"sums": "sum(counts, axis=1)"}
    assert total["arguments"][0]["shape"] == ["count // block", "block"]
    assert written(tmp_path, "hello")[1]["no_output"]


@pytest.mark.parametrize(
    ("old", "new", "kernel"),
    [
        ("sum += as[y][i] * bs[i][x];", "sum += as[y][i] * bs[i][x] * (k < 32);", "product"),
        ("half > 0; half >>= 1", "half > 1; half >>= 1", "total"),
    ],
)
def test_a_reference_that_was_read_finds_a_wrong_kernel(old, new, kernel, tmp_path):
    """A function of the host, and the plain form of a sum, do not repeat the kernel's mistake."""
    assert PROGRAM.count(old) == 1
    write_files(tmp_path, {"program.cu": PROGRAM.replace(old, new)})
    assert run(tmp_path, "import", "program.cu", "--kernel", kernel).code == 0
    done = run(tmp_path, "--config-dir", "my_kernels", f"kernel={kernel}", "device=cpu")
    assert done.code == 1, done.out + done.err
    assert ",mismatch," in (done.folder / "results.csv").read_text()


def test_nothing_is_guessed_from_another_form(tmp_path):
    """A kernel whose threads exchange values in another way keeps its blank, with the reason."""
    kernel = "__shared__ float s[64]; s[threadIdx.x] = in[threadIdx.x]; __syncthreads(); out[threadIdx.x] = s[63 - threadIdx.x];"
    main = "int main() { float *a, *b; cudaMalloc(&a, 256); cudaMalloc(&b, 256); flip<<<1, 64>>>(a, b); }"
    write_files(tmp_path, {"flip.cu": f"__global__ void flip(float* out, const float* in) {{ {kernel} }}\n{main}\n"})
    assert run(tmp_path, "import", "flip.cu").code == 0
    text, content = written(tmp_path, "flip")
    assert content["reference"] == {"out": "???"}
    assert "not read: it exchanges values in s" in text
    assert [a["shape"] for a in content["arguments"]] == [64, 64]


def test_a_large_problem_gets_a_smaller_default(tmp_path):
    """The first run takes seconds; the comment has the file's value."""
    write_files(tmp_path, {"program.cu": PROGRAM.replace("numElements = 50000", "numElements = 1 << 28")})
    assert run(tmp_path, "import", "program.cu", "--kernel", "combine").code == 0
    text, content = written(tmp_path, "combine")
    assert "where it is 2**28; smaller, so that the CPU device takes seconds" in text
    assert run(tmp_path, "--config-dir", "my_kernels", "kernel=combine", "device=cpu").code == 0
    assert content["parameters"]["numElements"] != "2**28"


def test_a_clash_does_not_stop_the_other_kernels(tmp_path):
    """It is told in a sentence; the existing file stays."""
    write_files(tmp_path, {"program.cu": PROGRAM, "my_kernels/kernel/total.yaml": "mine"})
    done = run(tmp_path, "import", "program.cu")
    assert done.code == 0
    assert done.err == "runner: my_kernels/kernel/total.yaml: already exists; not written\n"
    names = sorted(p.name for p in (tmp_path / "my_kernels" / "kernel").iterdir())
    assert names == ["combine.yaml", "hello.yaml", "product.yaml", "total.yaml"]
    assert (tmp_path / "my_kernels" / "kernel" / "total.yaml").read_text() == "mine"


@pytest.mark.parametrize("inside", ["out[0] = {0}1{1};", "{2} out[0] = 1; {3}", "out[0] = 1{4};"])
def test_deeply_nested_code_ends_with_a_yaml(inside, tmp_path):
    """20,000 brackets, blocks or additions; what is nested too deeply to be understood stays a blank."""
    depth = 20_000
    body = inside.format("(" * depth, ")" * depth, "{" * depth, "}" * depth, " + 1" * depth)
    write_files(tmp_path, {"deep.cu": f"__global__ void deep(float* out) {{ {body} }}\n"})
    done = run(tmp_path, "import", "deep.cu")
    assert done.code == 0, done.err[-300:]
    assert "out" in written(tmp_path, "deep")[1]["reference"]


def test_attributes_and_names_that_macros_declare_are_no_macros(tmp_path):
    """Only names that a `#define` must give a value are."""
    text = (
        "#define LOAD(to, from) float to = from;\n[[noreturn]] __device__ void stop() { for (;;) ; }\n"
        "__global__ void half(float* out) { LOAD(src0, out[0]) if (src0 < LIMIT) stop(); out[0] = src0; }\n"
    )
    write_files(tmp_path, {"half.cu": text})
    assert run(tmp_path, "import", "half.cu").code == 0
    assert written(tmp_path, "half")[1]["macros"] == ["LIMIT"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("filters.cu", "--kernel", "smoth"), "filters.cu: it has no kernel 'smoth'; available: filters::smooth<typename T"),
        (("nothing.cu",), "nothing.cu: No such file or directory"),
        (("host.cu",), "host.cu: it has no __global__ function"),
        (("host.py",), "host.py: it does not call tune_kernel"),
        (("host.cu.py",), "host.cu.py: not a Python script"),
        (("host.json",), "host.json: not a T1 file"),
        (("deep.py",), "deep.py: not a Python script: it is nested too deeply"),
        (("filters.cu", "--kernel", "plane"), "my_kernels/kernel/plane.yaml: already exists; nothing is written"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_sentence_and_nothing_is_written(arguments, message, tmp_path):
    """Above all, no file is overwritten."""
    write_files(tmp_path, {"filters.cu": CU, "host.cu": "int main() {}", "host.py": "x = 1", "host.cu.py": "x =", "deep.py": "x = " + 200_000 * "-" + "1",
                           "host.json": "[]", "my_kernels/kernel/plane.yaml": "mine"})  # fmt: skip
    assert_mistake(tmp_path, ["import", *arguments], message)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"[8*i for i in range(1, 3)]"', '"[8*"', "t1.json: not a T1 file: "),
        ('"[8*i for i in range(1, 3)]"', "[]", "t1.json: BX: expected at least one value"),
        ('"[8*i for i in range(1, 3)]"', '["wide"]', "t1.json: BX: expected positive integers, as it is a length of the block, not 'wide'"),
        ('"Conditions": [', '"Conditions": ["BX", ', "t1.json: not a T1 file: its parts are not those of T1"),
        ('"Conditions": [', '"Conditions": [' + 5000 * "[" + 5000 * "]" + ", ", "t1.json: not a T1 file: it is nested more than 64 levels"),
        ('"[8*i for i in range(1, 3)]"', '"range(10**9)"', "t1.json: not a T1 file: more than 10,000 values"),
    ],
)  # fmt: skip
def test_a_damaged_t1_file_is_one_sentence(old, new, message, tmp_path):
    """Its values may be text that is no Python, none at all, or no lengths of a block; an entry may be of another kind."""
    assert old in T1
    write_files(tmp_path, {"filters.cu": CU, "t1.json": T1.replace(old, new)})
    assert_mistake(tmp_path, ["import", "t1.json"], message)


@pytest.mark.parametrize(
    "text",
    ["__global__ void f(int* x) { x[0] = %s; }", "__global__ void f(int* x) { x[0] = 1; }\nint main() { f<<<%s, 32>>>(0); }",
     "const int N = %s;\n__global__ void f(int* x) { x[N] = 1; }"],
    ids=["in a kernel", "a grid", "a constant"],
)  # fmt: skip
@pytest.mark.parametrize(
    "number", ["9" * 4301, "0x" + "f" * 9000, "1" * 400 + ".5"], ids=["whole", "hexadecimal", "real"]
)
def test_a_number_of_thousands_of_digits_is_unknown(text, number, tmp_path):
    """No type of C++ holds it."""
    write_files(tmp_path, {"a.cu": text % number})
    done = run(tmp_path, "import", "a.cu")
    assert (done.code, "Traceback" in done.err) == (0, False), done.err


def test_a_t1_file_with_a_byte_order_mark_is_read(tmp_path):
    """Editors of Windows write one."""
    write_files(tmp_path, {"filters.cu": CU, "t1.json": "\ufeff" + T1})
    assert run(tmp_path, "import", "t1.json").code == 0


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
    content["constraints"] = {"size % 4 == 0": "whole vectors only"}
    (tmp_path / "my_kernels" / "kernel" / "copy.yaml").write_text(yaml.safe_dump(content))
    done = run(tmp_path, "--config-dir", "my_kernels", "kernel=copy", "device=cpu")
    assert done.code == 0, done.out + done.err
    done = run(tmp_path, str(done.folder), module="runner.repeat")  # from the kept files alone
    assert done.code == 0, done.out + done.err
    done = run(tmp_path, "import", "src/copy/kernel.cu", "--into", "other")
    text = (tmp_path / "other" / "kernel" / "copy.yaml").read_text()
    assert "source: ../../src/copy/kernel.cu  # or main.cu, which includes it" in text


def test_of_several_definitions_the_one_with_a_number_counts(tmp_path):
    """A block that the command line of nvcc may set has the number that the file gives it otherwise."""
    kernel = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = in[i];"
    main = (
        "int main() { int n = 4096; float *a, *b; cudaMalloc(&a, n * sizeof(float)); cudaMalloc(&b, n * sizeof(float));"
    )
    lines = [
        "#ifdef GIVEN", "#define BLOCK_SIZE GIVEN", "#else", "#define BLOCK_SIZE 64", "#endif",
        f"__global__ void moved(float* out, const float* in, int n) {{ {kernel} }}",
        f"{main} moved<<<(n + BLOCK_SIZE - 1) / BLOCK_SIZE, BLOCK_SIZE>>>(a, b, n); }}",
    ]  # fmt: skip
    write_files(tmp_path, {"moved.cu": "\n".join(lines)})
    assert run(tmp_path, "import", "moved.cu").code == 0
    _, content = written(tmp_path, "moved")
    assert content["parameters"] == {"block": 64, "n": 4096}
    assert content["grid"] == "ceil_div(n, block)"
    assert content["reference"] == {"out": "in"}


def test_a_block_from_a_list_that_main_tries_is_its_first(tmp_path):
    """A loop over block sizes is followed to its first turn, also through a function that launches."""
    kernel = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = 2 * in[i];"
    launch = "twice<<<(n + threads - 1) / threads, threads>>>(out, in, n);"
    lines = [
        f"__global__ void twice(float* out, const float* in, int n) {{ {kernel} }}",
        f"void launch_twice(float* out, const float* in, int n, int threads) {{ {launch} }}",
        "int main() { int n = 1 << 12; float *a, *b; cudaMalloc(&a, n * 4); cudaMalloc(&b, n * 4);",
        "int all[] = {32, 64, 128};",
        "for (int j = 0; j < 3; j++) { int threads = all[j]; launch_twice(a, b, n, threads); } }",
    ]
    write_files(tmp_path, {"twice.cu": "\n".join(lines)})
    assert run(tmp_path, "import", "twice.cu").code == 0
    text, content = written(tmp_path, "twice")
    assert content["parameters"]["block"] == 32, text
    assert run(tmp_path, "--config-dir", "my_kernels", "kernel=twice", "device=cpu").code == 0


LIBRARY = """
#define KERNEL_LOOP(i, n) for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
#ifdef __HIP_PLATFORM_AMD__
constexpr int lanes = WAVEFRONT;
#else
constexpr int lanes = 32;
#endif
template <typename Held> struct Pack { Held of[2]; };
template <int MOST> __global__ void limited(float* out, const float* in, int n)
{
    using Two = Pack<float>;
    KERNEL_LOOP(at, n) {
        Two two = {{in[at], float(lanes)}};
        out[at] = two.of[0] < MOST ? two.of[0] : SCALE * two.of[1];
    }
}
void launch(float* out, const float* in, int n, int threads)
{
    limited<64><<<dim3((n + threads - 1) / threads), threads>>>(out, in, n);
}
"""


def test_a_launch_of_an_open_block_tells_grid_and_template(tmp_path):
    """As libraries launch; loops by macro, types within functions and branches for other platforms are no blanks."""
    write_files(tmp_path, {"limited.cu": LIBRARY})
    assert run(tmp_path, "import", "limited.cu").code == 0
    text, content = written(tmp_path, "limited")
    assert (content["parameters"]["block"], content["parameters"]["MOST"]) == (256, 64), text
    assert "block: 256  # open in limited.cu:" in text
    assert content["grid"] == "ceil_div(n, block)"
    assert content["macros"] == ["SCALE"]


def test_a_macro_of_a_shared_parameter_is_that_parameter(tmp_path):
    """WIDTH and MASK are what every kernel calls `width` and `mask`, so that a sweep sets them by these names."""
    assert run(tmp_path, "import", str(ROOT / "kernels" / "reduceShfl.cu"), "--kernel", "reduceShfl").code == 0
    _, content = written(tmp_path, "reduceShfl")
    assert {"width", "mask"} <= set(content["parameters"])
    assert {"WIDTH", "MASK"} <= {entry for entry in content["macros"] if isinstance(entry, str)}


PARTS = """
#define RK 3
template <typename T> struct Pack { static const int size = 16 / sizeof(T); };
typedef Pack<float> Four;
const int N = 4096;

void part_cpu(const float* x, float* z, int n) { for (int i = 0; i < n; ++i) z[i] = 2 * x[i]; }

__global__ void twice(const float* x, float* z)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) z[i] = 2 * x[i];
}

__global__ void fields(int n, const float* old, const float* factor, float* made)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    made[i] = old[i] + factor[i] / float(RK + 1);
    made[i + n] = old[i + n] + factor[i] / float(RK + 1);
    made[i + 2 * n] = old[i + 2 * n] + factor[i] / float(RK + 1);
}

__global__ void packed(float* out, const float* in, int n)
{
    const int i = (blockIdx.x * blockDim.x + threadIdx.x) * Four::size;
    for (int k = 0; k < Four::size; ++k) if (i + k < n) out[i + k] = in[i + k];
}

__global__ void chosen(float* out, const float* in, const int* at, int rows, int V)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    #pragma unroll
    for (int k = 0; k < 2; ++k) sum += __ldg(&in[i * V + k]);
    if (i < rows) out[i] = sum + in[i * V + at[i]];
}

void work(float* a, float* b, float* c, float* d, int* at, int n, int rows, int V)
{
    twice<<<N / 128, 128>>>(a, b);
    float *x = (float*)malloc(N * 4), *z = (float*)malloc(N * 4);
    part_cpu(x, z, 512);
    fields<<<n / 128, 128>>>(n, a, b, c);
    packed<<<(4096 + 128 * Four::size - 1) / (128 * Four::size), 128>>>(b, a, 4096);
    chosen<<<(rows + 127) / 128, 128>>>(b, d, at, rows, V);
}

int main(int argc, char** argv)
{
    const int rows = 1024, V = 50257, n = atoi(argv[1]);
    float *a, *b, *c, *d; int *at, *host = (int*)malloc(rows * sizeof(int));
    for (int i = 0; i < rows; ++i) host[i] = rand() % V;
    cudaMalloc(&at, rows * sizeof(int));
    cudaMalloc(&d, rows * V * sizeof(float));
    cudaMemcpy(at, host, rows * sizeof(int), cudaMemcpyHostToDevice);
    work(a, b, c, d, at, n, rows, V);
}
"""


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """A folder with the YAMLs of kernels that read and write in parts."""
    folder = tmp_path_factory.mktemp("parts")
    write_files(folder, {"parts.cu": PARTS})
    assert run(folder, "import", "parts.cu").code == 0
    return folder


def test_a_function_that_is_called_for_a_part_is_no_reference(parts):
    """It would leave elements as they were that the kernel writes."""
    text, content = written(parts, "twice")
    assert content["reference"] == {"z": "2 * x"}, text
    assert "as the kernel itself computes them" in text


def test_an_array_is_as_long_as_its_last_part_is_read(parts):
    """Where the file does not tell its length: three fields of n elements behind one another."""
    text, content = written(parts, "fields")
    assert [a["shape"] for a in content["arguments"] if "role" in a] == ["3 * n", "n", "3 * n"], text
    assert run(parts, "--config-dir", "my_kernels", "kernel=fields", "device=cpu", "racecheck=none").code == 0


def test_a_constant_of_a_type_is_no_length(parts):
    """Only a person knows it, or the type; any number would be a wrong grid."""
    text, content = written(parts, "packed")
    assert "Four_size: ???" in text
    assert "any" not in text.partition("Four_size: ???")[2].splitlines()[0]
    assert content["grid"]


SCALED = """
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>
template <typename T, int PER_THREAD>
__global__ void scaled(const T* a, const T* w, T* b, int rows, int cols)
{
    const int row = blockIdx.y, first = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < PER_THREAD; ++k) {
        const int col = first + k * gridDim.x * blockDim.x;
        if (row < rows && col < cols) b[row * cols + col] = a[row * cols + col] * w[col];
    }
}

int main(int argc, char** argv)
{
    const int rows = 16;
    int cols = argc > 1 ? atoi(argv[1]) : 1000;
    std::vector<float> a(rows * cols), w(cols, 1.0f), b(rows * cols);
    float *da, *dw, *db;
    cudaMalloc(&da, a.size() * sizeof(float));
    cudaMalloc(&dw, w.size() * sizeof(float));
    cudaMalloc(&db, b.size() * sizeof(float));
    dim3 block(128), grid((cols + 128 * 2 - 1) / (128 * 2), rows);
    scaled<float, 2><<<grid, block>>>(da, dw, db, rows, cols);
}
"""


def test_the_default_of_a_command_line_and_the_size_of_a_vector_are_lengths(tmp_path):
    """`argc > 1 ? atoi(argv[1]) : 1000` is 1000; a number in the grid that may follow from the block is a question."""
    write_files(tmp_path, {"scaled.cu": SCALED})
    assert run(tmp_path, "import", "scaled.cu").code == 0
    text, content = written(tmp_path, "scaled")
    (cols,) = [value for name, value in content["parameters"].items() if name.startswith("cols")]
    shapes = [[*map(str.strip, a["shape"].replace("_", "").split("*"))] for a in content["arguments"] if "role" in a]
    assert (cols, [sorted(shape) for shape in shapes]) == (1000, [["cols", "rows"], ["cols"], ["cols", "rows"]]), text
    assert "does 256 follow from the block?" in text


def test_indices_end_at_the_length_whatever_it_becomes(parts):
    """A default that is smaller than the file's makes indices smaller, too; `#pragma unroll` hides no loop."""
    text, content = written(parts, "chosen")
    assert {a["name"]: a.get("fill") for a in content["arguments"]}["at"] == {"range": [0, "V"]}, text
    assert content["parameters"]["V"] != 50257
    assert "preproc" not in text


STRUCTURES = """
typedef struct particle { float3 position; float mass; int cell[2]; } Particle;
struct Base { int a; };
struct Derived : Base { int b; };
struct Range { const float* values; float* sums; int n; int extent() const { return n; } };

__global__ void energy(const Particle* all, float* energies, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        Particle one = all[i];
        energies[i] = one.mass * (one.position.x * one.position.x + all[i].position.y * all[i].position.y);
    }
}
__global__ void heavier(Particle* all, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        Particle* one = &all[i];
        one->mass = 2 * one->mass;
    }
}
__global__ void through(Range range, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) range.sums[i] = range.values[i];
}
__global__ void derived(Derived* all) { all[threadIdx.x].b = 1; }
template <typename F> __global__ void with(F function, int n) { function(n); }

int main()
{
    const int n = 1000;
    Particle* all; float* energies; Derived* last; Range range;
    cudaMalloc(&all, n * sizeof(Particle));
    cudaMalloc(&energies, n * sizeof(float));
    energy<<<(n + 127) / 128, 128>>>(all, energies, n);
    heavier<<<(n + 127) / 128, 128>>>(all, n);
    through<<<(n + 127) / 128, 128>>>(range, n);
    derived<<<1, 32>>>(last);
    with<<<1, 32>>>([=] __device__ (int i) { energies[i] = i; }, n);
}
"""


def test_structures_of_the_source_are_structures_of_the_yaml(tmp_path):
    """Their members, what a kernel does with some of them, and the arrays behind their pointers."""
    write_files(tmp_path, {"program.cu": STRUCTURES})
    assert run(tmp_path, "import", "program.cu").code == 0
    particle = {"Particle": {"position": "float3", "mass": "float32", "cell": ["int32", 2]}}
    assert written(tmp_path, "energy")[1]["structs"] == particle
    heavier = written(tmp_path, "heavier")[1]
    assert heavier["reference"] == {
        "all.position": "all.position", "all.mass": "2 * all.mass", "all.cell": "all.cell",
    }  # fmt: skip
    done = run(tmp_path, "--config-dir", "my_kernels", "kernel=energy,heavier", "device=cpu", "racecheck=none")
    assert done.code == 0, done.out + done.err
    through = written(tmp_path, "through")[1]
    assert through["structs"] == {"Range": {"values": "pointer", "sums": "pointer", "n": "int32"}}
    value = {"values": "range_values", "sums": "range_sums", "n": "???"}
    behind = {"shape": "???", "dtype": "float32", "fill": "random", "passed": False}
    assert through["arguments"] == [
        {"name": "range", "scalar": "Range", "value": value}, {"name": "n", "scalar": "int32", "value": "n"},
        {"name": "range_values", "role": "in", **behind}, {"name": "range_sums", "role": "inout", **behind},
    ]  # fmt: skip
    assert through["reference"] == {"range_sums": "???"}


def test_a_kernel_that_may_write_through_an_argument_has_no_no_output(tmp_path):
    """Through a function object, or a structure that the YAML cannot say: only a person knows what it writes."""
    write_files(tmp_path, {"program.cu": STRUCTURES})
    assert run(tmp_path, "import", "program.cu").code == 0
    assert written(tmp_path, "with")[1]["reference"] == {"output": "???"}
    derived = written(tmp_path, "derived")[1]
    assert "structs" not in derived
    assert derived["arguments"][0]["dtype"] == "???"


CORRECTED = """
void step_cpu(float* x, float beta, int t, int n) { for (int i = 0; i < n; i++) x[i] = x[i] / (1.0f - powf(beta, t)); }

__global__ void step(float* x, float correction, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] / correction;
}

int main()
{
    const int n = 1000, t = 10;
    const float beta = 0.9f;
    float *x, *host = (float*)malloc(n * sizeof(float));
    cudaMalloc(&x, n * sizeof(float));
    cudaMemcpy(x, host, n * sizeof(float), cudaMemcpyHostToDevice);
    step_cpu(host, beta, t, n);
    step<<<(n + 127) / 128, 128>>>(x, CORRECTION, n);
}
"""


@pytest.mark.parametrize(("given", "value"), [("1.0f - powf(beta, t)", None), ("measured(t)", "???")])
def test_a_value_that_only_the_kernel_knows_is_no_guess(given, value, tmp_path):
    """A reference of the host does not depend on it, so that only the right value gives the right result."""
    write_files(tmp_path, {"step.cu": CORRECTED.replace("CORRECTION", given)})
    assert run(tmp_path, "import", "step.cu").code == 0
    text, content = written(tmp_path, "step")
    assert "as step_cpu computes them" in text
    assert content["parameters"].get("correction") == value, text
    if value is None:
        assert run(tmp_path, "--config-dir", "my_kernels", "kernel=step", "device=cpu").code == 0


def test_macros_that_double_each_other_end(tmp_path):
    """Sixty of them are a number of the launch, not an expression of 2^60 terms."""
    macros = "".join(f"#define A{n} (A{n - 1} + A{n - 1})\n" for n in range(1, 60))
    kernel = "__global__ void a(float* x, int n) { x[0] = n; }\n"
    main = "int main() { float* d; cudaMalloc(&d, A59 * 4); a<<<A59, 128>>>(d, A59); }\n"
    write_files(tmp_path, {"a.cu": f"#define A0 1\n{macros}{kernel}{main}"})
    assert run(tmp_path, "import", "a.cu", cpu_s=10).code == 0


def test_a_path_of_any_letters_is_written_as_one(tmp_path):
    """A colon and a bracket are YAML's own, unless they are quoted."""
    name = "a: [b.cu"
    write_files(tmp_path, {name: "__global__ void a(float* x, int n) { x[0] = n; }\n"})
    assert run(tmp_path, "import", name).code == 0
    assert written(tmp_path, "a")[1]["source"] == f"../../{name}"
