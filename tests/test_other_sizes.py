"""A kernel that is right at one size is checked at others, too, and what was done is counted. The GPU with `-m gpu`."""

import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
import yaml
from support import KERNELS, case_of, shipped
from test_cheats import kernel

from runner.kernel import from_yaml
from runner.kernel.sizes import format_changed_parameters, other_sizes
from runner.record.run import read
from runner.report.findings import judge
from runner.report.verdict import verdict

FOLDER = Path(__file__).parent / "kernels" / "sizes"


def own(name, keys=None, **values):
    """A case of a kernel of tests/kernels/sizes, with further keys in its YAML and values of parameters."""
    path = FOLDER / f"{name}.yaml"
    return case_of(from_yaml.read(name, {**yaml.safe_load(path.read_text()), **(keys or {})}, path), **values)


def tried(case, launch_ms=1.0):
    """The parameters that other sizes of a case change."""
    return [format_changed_parameters(case, other) for other in other_sizes(case, launch_ms).cases]


WHOLE = {"constraints": {"size % block == 0": "whole blocks only"}}
WRONG = {  # how a case is made, and at which other size it is wrong; nothing where it is right at all that it takes
    "whole blocks only": (lambda: case_of(kernel("wholeBlocksOnly"), size=2**14), "size=1"),
    "whole blocks only, and says so": (lambda: case_of(kernel("wholeBlocksOnly", **WHOLE), size=2**14), ""),
    "a forgotten tail among the multiples that a constraint demands": (
        lambda: own("tiles", {"constraints": {"size % 192 == 0": "whole tiles"}}), "size=192",
    ),
    "the multiples of which there is no tail": (
        lambda: own("tiles", {"constraints": {"size % 384 == 0": "whole tiles"}}), "",
    ),
    "the width of a row, which no macro has": (lambda: own("rowSums"), "width=31"),
    "the width of a row, and says so": (
        lambda: own("rowSums", {"constraints": {"width % 32 == 0": "whole warps"}}), "",
    ),
    "an odd number of launches": (lambda: own("turns", {"let": {"doubled": "1"}}), "steps=1"),
    "any number of launches": (lambda: own("turns"), ""),
    "rows and columns that are both odd": (lambda: own("corner"), "m=1, n=1"),
    "one size less only": (lambda: case_of(kernel("wrongBelow"), size=2**14), f"size={2**14 - 1}"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_a_kernel_that_is_right_at_one_size_only_is_a_mismatch(what, bench):
    """The reason names the size, in all parameters that differ; a constraint excludes sizes that a kernel does not take."""
    make, at = WRONG[what]
    outcome = bench.run(make())
    assert outcome.status == ("mismatch" if at else "ok"), outcome.reason
    assert f"correct at this size, wrong at {at}: " in outcome.reason if at else outcome.further.size_launches > 4


TRIED = [
    (lambda: case_of(kernel("wholeBlocksOnly", **WHOLE), size=2**14), {"size=256", "size=512", "size=768"}),
    (lambda: own("right", requiring("size % 192 == 64"), size=7744), {"size=64", "size=256", "size=7552"}),
    (
        lambda: own("right", requiring("size != 0 and popcount(size) == 1"), size=4096),
        {"size=1", "size=32", "size=64", "size=2**10", "size=2**11"},
    ),
    (lambda: own("right", requiring("size >= 1000"), size=7680), {"size=1000", "size=1023", "size=1025"}),
    (lambda: own("corner"), {"m=31", "n=31", "m=1, n=1", "m=63, n=95"}),
    (lambda: own("rowSums", rows_=1), {"rows_=2", "rows_=3"}),
]


def requiring(condition):
    """A key of the YAML: a constraint."""
    return {"constraints": {condition: "so"}}


@pytest.mark.parametrize(("make", "expected"), TRIED)
def test_the_nearest_sizes_that_are_allowed_are_tried(make, expected):
    """Whatever a constraint is: it is evaluated, not understood. Parameters are varied alone and together."""
    found = tried(make())
    assert expected <= set(found)
    assert len(found) <= 14


def test_a_parameter_of_which_the_kernel_learns_nothing_keeps_its_value():
    """It may stand for a constant of the source: a radius in a shape, or the elements of a thread in the grid."""
    arguments = yaml.safe_load((FOLDER / "right.yaml").read_text())["arguments"]
    arguments[0]["shape"] = "size + 2 * radius"
    keys = {
        "parameters": {"block": 192, "size": 7680, "radius": 3, "each": 4}, "arguments": arguments,
        "grid": "ceil_div(size, block * each)", "reference": {"out": "in[radius:size + radius]"},
    }  # fmt: skip
    names = tried(own("right", keys))
    assert len(names) == 10
    assert not any("radius" in words or "each" in words for words in names)


def test_a_slow_kernel_is_checked_at_small_sizes_only():
    """The size below its own would take as long again, and so would its other parameters."""
    case = case_of(kernel("honest"), size=2**14)
    sizes = [other.variables["size"] for other in other_sizes(case, 10_000.0).cases]
    assert sizes == [1, 31, 63, 65, 255, 257, 997, 1023, 1025]
    values = [other.variables for other in other_sizes(own("corner", m=2048, n=2048), 10_000.0).cases]
    assert max(v["m"] * v["n"] for v in values) < 2**16


def test_other_sizes_are_small_however_large_the_case_is():
    """At most 2^20 elements, or 2^22 for the size below the case's own."""
    for fixed, m, n in (({}, 2**14, 2**14), ({"constraints": {"n == 2**15": "so"}}, 64, 2**15)):
        *small, last = (
            2 * c.variables["m"] * c.variables["n"] for c in other_sizes(own("corner", fixed, m=m, n=n), 1.0).cases
        )
        assert len(small) >= 1
        assert max(small) <= 2**20
        assert last <= 2**22
    assert [c.variables["size"] for c in other_sizes(case_of(kernel("honest"), size=2**21), 1.0).cases][-1] == 2**21 - 1


def test_a_kernel_whose_size_is_compiled_in_has_no_other(bench):
    """Another size would be another program; the outcome says so."""
    outcome = bench.run(own("right", {"macros": [{"SIZE": "size"}]}))
    assert outcome.status == "ok"
    assert (outcome.further.size_launches, outcome.further.sizes_not_tried) == (0, "a macro depends on 'size'")


def test_a_repeated_case_counts_what_an_equal_binary_was_launched_for(bench):
    """Each size is launched once in a process, and counts for each case of that binary and for each round."""
    first, again = (bench.run(own("right")).further for _ in range(2))
    larger = bench.run(own("right", size=7681)).further
    assert first == again
    assert first.size_launches == larger.size_launches == 10
    assert first.order_launches == (0 if bench.device.info.is_gpu else 2)


def test_what_was_launched_stands_in_the_table_the_verdict_and_the_terminal(runner, tmp_path):
    """A guard is named for the cases that had it, and what could not be tried is said."""
    kernels = shutil.copytree(FOLDER, tmp_path / "conf" / "kernel")
    fixed = "function: right\nmacros: [{SIZE: size}]\n"
    (kernels / "fixed.yaml").write_text((kernels / "right.yaml").read_text() + fixed)
    done = runner("-m", "--config-dir", "conf", "kernel=right,fixed", "device=cpu")
    table = pd.read_csv(done.folder / "results.csv").set_index("kernel")
    assert list(table.loc[["right", "fixed"], "size_launches"]) == [10, 0]
    assert (table["order_launches"] >= 1).all()  # of two, which a busy machine has no time for
    cases = {c["kernel"]: c for c in json.loads((done.folder / "verdict.json").read_text())["cases"]}
    assert "other_sizes" in cases["right"]["guards"]
    assert "not_tried" not in cases["right"]
    assert "other_sizes" not in cases["fixed"]["guards"]
    assert "other_orders" in cases["fixed"]["guards"]
    assert cases["fixed"]["not_tried"] == {"other_sizes": "a macro depends on 'size'"}
    assert cases["right"]["size_launches"] == 10
    assert "Checked: values, other sizes (1 of 2 cases), other orders of threads, " in done.out
    said = (done.folder / "report.html").read_text("utf-8")
    assert "values (also at other sizes: 1 of 2 cases, and in other orders of threads)" in said
    assert "Other sizes were not tried for fixed (a macro depends on &#39;size&#39;)." in said

    done = runner(
        "-m", "--config-dir", "conf", "kernel=right", "device=cpu", "timing.check_sizes=false", "hydra.sweep.dir=second"
    )
    assert "; not other sizes, " in done.out
    said = (tmp_path / "second" / "report.html").read_text("utf-8")
    assert "values (also in other orders of threads)" in said
    assert "Other sizes were not tried for right (timing.check_sizes=false)." in said


def test_a_run_of_an_earlier_version_names_no_guard_that_it_did_not_count(runner):
    """Its table has no such columns; it is read nevertheless."""
    done = runner("kernel=reduceSmem", "size=2**10", "device=cpu")
    table = pd.read_csv(done.folder / "results.csv", dtype=str, keep_default_na=False)
    counts = ["input_launches", "size_launches", "order_launches", "sizes_not_tried"]
    table.drop(columns=counts).to_csv(done.folder / "results.csv", index=False)
    run = read(done.folder)
    (case,) = verdict(run)["cases"]
    assert case["status"] == "ok"
    assert not {"further_inputs", "other_sizes", "other_orders"} & set(case["guards"])
    assert "Checked on the CPU device: values, array bounds" in judge(run).cautions[-1]


@pytest.mark.parametrize("name", [n for n in KERNELS if not shipped(n).gpu_only and not case_of(shipped(n)).hazard])
def test_every_shipped_kernel_is_right_at_other_sizes(name, bench):
    """Or its constraints say that it is not meant for them."""
    size = "64x96" if "rows" in case_of(shipped(name)).variables and shipped(name).family == "transpose" else None
    outcome = bench.run(case_of(shipped(name), size=size) if size else case_of(shipped(name), size=2**12))
    assert outcome.status in ("ok", "skipped"), outcome.reason


SCALED = """extern "C" __global__ void mine(const float* x, float* y, float a, int relu, int k, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = A * x[i] * (RELU ? 2 : 1) * K;
}
"""
SCALARS = {  # the kernel's factors, the values of the parameters, and where it is wrong
    "takes all": ("a", "relu", "k", {}, ""),
    "a real number": ("2.5f", "relu", "k", {}, "a=1.875"),
    "a real number that is 0": ("0.0f", "relu", "k", {"a": 0}, "a=0.5"),
    "a truth value": ("a", "0", "k", {}, "relu=true"),
    "a listed integer": ("a", "relu", "1", {}, "k=2"),
}


@pytest.mark.parametrize("what", SCALARS)
def test_a_kernel_that_ignores_a_scalar_is_a_mismatch(what, bench, tmp_path):
    """It is right for the value that it has as a constant. All scalars change together, the reason names each."""
    a, relu, k, values, at = SCALARS[what]
    (tmp_path / "mine.cu").write_text(f"#define A {a}\n#define RELU {relu}\n#define K {k}\n{SCALED}")
    content = {
        "parameters": {
            "block": 64, "size": 1000, "a": 2.5, "relu": False, "k": {"default": 1, "allowed": [1, 2, 4]},
        },
        "arguments": [
            {"name": "x", "role": "in", "dtype": "float32", "shape": "size", "fill": "random"},
            {"name": "y", "role": "out", "dtype": "float32", "shape": "size"},
            {"name": "a", "scalar": "float32", "value": "a"}, {"name": "relu", "scalar": "int32", "value": "relu"},
            {"name": "k", "scalar": "int32", "value": "k"}, {"name": "n", "scalar": "int32", "value": "size"},
        ],
        "grid": "ceil_div(size, block)",
        "reference": {"y": "a * x * where(relu, 2, 1) * k"},
    }  # fmt: skip
    outcome = bench.run(case_of(from_yaml.read("mine", content, tmp_path / "mine.yaml"), **values))
    assert outcome.status == ("mismatch" if at else "ok"), outcome.reason
    if at:
        (where,) = re.findall(r"correct at these values, wrong at (.*?): ", outcome.reason)
        assert at in where.split(", ")
    else:
        assert outcome.further.size_launches > 4


def test_a_constraint_excludes_values_of_a_scalar(tmp_path):
    """A kernel that is meant for one value only says so; what its macros depend on is another binary, not another value."""
    (tmp_path / "mine.cu").write_text('extern "C" __global__ void mine(float* y, float a) {}\n')
    content = {
        "parameters": {"block": 64, "size": 1000, "a": 2.5, "b": 3.5},
        "arguments": [
            {"name": "y", "role": "out", "dtype": "float32", "shape": "size"},
            {"name": "scale", "scalar": "float32", "value": "a * b"},
        ],
        "macros": {"B": "b > 3"},
        "grid": "1",
        "constraints": {"a == 2.5": "so"},
        "reference": {"y": "full(a, size)"},
    }
    case = case_of(from_yaml.read("mine", content, tmp_path / "mine.yaml"))
    assert other_sizes(case, 1.0).scalars == ()
    free = case_of(from_yaml.read("mine", {**content, "constraints": {}}, tmp_path / "mine.yaml"))
    assert [format_changed_parameters(free, other) for other in other_sizes(free, 1.0).scalars] == ["a=1.875"]
