"""The further inputs of the check: one sign, both sides of each branch of the reference, and ties of indices."""

import zlib
from pathlib import Path

import pytest
from support import case_of

from runner.kernel import from_yaml

SOURCE = Path(__file__).parent / "kernels" / "cheats" / "branches.cu"
TYPES = ("float32", "float64", "int32", "float16")
ROW = "reshape(in, rows, 50)"


def case(
    function, reference, defect, fill, dtype="float32", out="in", size="40x50", arguments=(), what=0, more=None, **keys
):
    """A case of one of the kernels; `out` is the type of its output, or that of its input."""
    other = [{"name": "other", "role": "in", "dtype": dtype, "shape": "size", "fill": fill}]
    content = {
        "source": str(SOURCE),
        "function": function,
        "parameters": {"size": size, "block": 64, "defect": defect},
        "macros": {"KIND": TYPES.index(dtype), "WHAT": what},
        "arguments": [
            {"name": "in", "role": "in", "dtype": dtype, "shape": "size", "fill": fill, **(more or {})},
            *(other if "other" in reference else ()),
            {"name": "out", "role": "out", "dtype": dtype if out == "in" else out, "shape": keys.pop("shape", "size")},
            *({"name": n, "scalar": "int32", "value": value} for n, value in arguments),
            {"name": "which", "scalar": "int32", "value": "defect"},
        ],
        "grid": "ceil_div(size, block)",
        "reference": reference if reference.startswith("counted") else {"out": reference},
        **keys,
    }
    name = f"{function}{zlib.crc32(repr(content).encode())}"  # a case of its own for each reference and fill
    return case_of(from_yaml.read(name, content, SOURCE.with_name(f"{name}.yaml")))


ROWS = {"arguments": (("rows", "rows"), ("width", "50")), "shape": "rows"}
FLOATS = ["random", "normal", {"normal": [0, 1]}, {"range": [-1, 1]}, {"range": [-0.5, 0.5]}]
INTEGERS = ["random", {"range": [-5, 6]}, {"range": [-1000, 1000]}, {"normal": [0, 30]}]
FILLS = [
    *(("float32", fill) for fill in FLOATS), ("float64", "normal"), ("float64", {"range": [-1, 1]}),
    *(("float16", fill) for fill in ("random", "normal", {"range": [-0.5, 0.5]})), *(("int32", f) for f in INTEGERS),
]  # fmt: skip
STARTS = {
    "largest": (f"max({ROW}, axis=1)", {1: "0", 2: "FLT_MIN", 3: "-1"}),
    "smallest": (f"min({ROW}, axis=1)", {1: "0", 2: "1"}),
    "where": (f"argmax({ROW}, axis=1)", {1: "0"}),
}


@pytest.mark.parametrize(("dtype", "fill"), FILLS, ids=str)
@pytest.mark.parametrize("function", STARTS)
def test_the_value_with_which_an_extreme_begins_is_found(function, dtype, fill, bench):
    """Also by numbers beyond the range of the fill; the right kernel is ok without a note."""
    reference, defects = STARTS[function]
    out = "int32" if function == "where" else "in"
    for defect in (0, *defects):
        outcome = bench.run(case(function, reference, defect, fill, dtype, out, **ROWS), samples=1)
        assert (outcome.status, outcome.note) == ("mismatch" if defect else "ok", ""), (defect, outcome.reason)


LARGEST = STARTS["largest"][0]
N = {"arguments": (("n", "size"),)}
EQUAL = "wrong for equal ones (the largest of each range)"
FOUND = {  # the kernel, its reference, how the case is made, what each defect comes to, and words of the reason
    "a large array, with fewer rows": (
        "largest", LARGEST, {"fill": "random", "size": "8192x50", **ROWS}, {0: "ok", 1: "mismatch", 3: "mismatch"}, "",
    ),
    "a large array, with a multiple of 192": (
        "each", "clip(in, 0, 6)",
        {"fill": "random", "size": 192 * 1500, "constraints": {"size % 192 == 0": "whole blocks"}, **N},
        {0: "ok", 1: "mismatch"}, "",
    ),
    "a counter that overflows for equal integers only": (
        "bins", "bincount(in, 16)", {"fill": {"range": [0, 16]}, "dtype": "int32", "size": 400, "shape": 16, **N},
        {0: "ok", 1: "mismatch"}, EQUAL,
    ),
    "a sum that overflows for equal integers only": (
        "squares", "sum(in * in, keepdims=True)",
        {"fill": {"range": [-5, 12]}, "dtype": "int32", "size": 400, "shape": 1, **N}, {0: "ok", 1: "mismatch"}, EQUAL,
    ),
    # A kernel may rely on numbers without negatives: 0 is a right begin for them.
    "bytes": ("largest", LARGEST, {"fill": "c_rand", **ROWS}, {1: "ok"}, ""),
    "a range from 0": ("largest", LARGEST, {"fill": {"range": [0, 1]}, **ROWS}, {1: "ok"}, ""),
    "a range above 0": ("largest", LARGEST, {"fill": {"range": [0.5, 2]}, **ROWS}, {1: "ok"}, ""),
    "a difference, which needs different signs": (
        "apart", f"max({ROW} - reshape(other, rows, 50), axis=1)", {"fill": "random", **ROWS}, {0: "ok", 1: "mismatch"}, "",
    ),
    "the last of equal largest, and the place after it": (
        "where", STARTS["where"][0], {"fill": "c_rand", "out": "int32", **ROWS}, {2: "ok", 3: "mismatch"}, "",
    ),
    "integers of one sign for a reference in Python": (
        "largest", "counted.largest", {"fill": "random", "dtype": "int32", **ROWS}, {0: "ok", 1: "mismatch"}, "",
    ),
    "floats of one sign for a reference in Python": (
        "largest", "counted.largest", {"fill": {"range": [-1, 1]}, **ROWS}, {0: "ok", 1: "mismatch"}, "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", FOUND)
def test_a_defect_that_the_own_inputs_do_not_show_is_found(what, bench):
    """By further inputs of a size that the kernel allows, and of numbers that it must expect; what is right stays ok."""
    function, reference, how, defects, words = FOUND[what]
    for defect, status in defects.items():
        outcome = bench.run(case(function, reference, defect, **how), samples=1)
        assert outcome.status == status, outcome.reason
        assert status == "ok" or words in outcome.reason


EACH = {
    "clip(in, 0, 6)": 0, "clip(in, -4, 4)": 1, "sign(in)": 2, "rint(in * 8)": 3, "where(in * 2 + 1 > 10, in, 0)": 4,
    "where(in > 0.375, 1, 0)": 5, "sqrt(where(in > 1, in, 1 - in))": 6,
}  # fmt: skip


@pytest.mark.parametrize("size", [777, 2**18])
@pytest.mark.parametrize("reference", EACH)
def test_each_side_of_a_branch_is_reached(reference, size, bench):
    """Of limits, conditions, signs and ties, although random numbers in [-1, 1) do not."""
    for defect in (0, 1):
        outcome = bench.run(
            case(
                "each", reference, defect, "random", what=EACH[reference], size=size,
                arguments=(("n", "size"),),
            ),
            samples=1,
        )  # fmt: skip
        assert (outcome.status, outcome.note) == ("mismatch" if defect else "ok", ""), outcome.reason


def test_a_branch_that_no_input_may_reach_is_told(bench):
    """The logarithm of negative numbers is none, so they are not tried; and `refill: false` keeps the contents."""
    keys = {"what": 7, "arguments": (("n", "size"),)}
    outcome = bench.run(
        case("each", "log(maximum(minimum(in, 100), 0 * in))", 0, {"range": [0.5, 2]}, **keys), samples=1
    )
    assert outcome.status == "ok", outcome.reason
    assert "no input lets 'maximum(minimum(in, 100), 0 * in)' take 0 * in" in outcome.note


ORDER = "reshape(in, rows, 50)"


@pytest.mark.parametrize("fill", ["random", {"range": [-0.5, 0.5]}, "c_rand"], ids=str)
@pytest.mark.parametrize(
    ("reference", "k", "defects"),
    [
        (f"argsort({ORDER})", 50, {1: "ok", 2: "mismatch", 3: "mismatch"}),
        (f"argsort({ORDER})[:, :4]", 4, {1: "ok", 3: "mismatch"}),
        ("take(argsort(sorted), arange(4), axis=1)", 4, {}),
    ],
)
def test_each_valid_order_of_equal_keys_is_right(reference, k, defects, fill, bench):
    """An index twice, or of another key, is wrong; bytes have ties in the own inputs, too."""
    keys = {
        "arguments": (("rows", "rows"), ("width", "50"), ("k", str(k))), "shape": f"rows * {k}",
        "let": {"sorted": ORDER}, "out": "int32",
    }  # fmt: skip
    for defect, status in {0: "ok", **defects}.items():
        outcome = bench.run(
            case("order", reference.join(("reshape(", f", rows * {k})")), defect, fill, **keys), samples=1
        )
        assert (outcome.status, outcome.note) == (status, ""), (defect, outcome.reason)


def test_other_uses_of_an_order_get_inputs_without_ties(bench):
    """What is gathered by it depends on the order of equal keys; own inputs that have some are told of."""
    keys = {"arguments": (("n", "size"),), "size": 200}
    outcome = bench.run(case("gathered", "take(other, argsort(in))", 1, "random", **keys), samples=1)
    assert (outcome.status, outcome.note) == ("ok", ""), outcome.reason
    outcome = bench.run(case("gathered", "take(other, argsort(in))", 1, "c_rand", **keys), samples=1)
    assert outcome.status == "mismatch"
    assert "'argsort(in)' has equal keys; if any of them is right, use a fill without equal numbers" in outcome.reason


def test_a_reference_in_python_that_sorts_refuses_no_other_order(bench):
    """Its further inputs have no ties then, and they show a wrong order."""
    keys = {
        "arguments": (("rows", "rows"), ("width", "50"), ("k", "50")), "shape": "rows * 50", "out": "int32",
    }  # fmt: skip
    for defect, status in {0: "ok", 1: "ok", 3: "mismatch"}.items():
        outcome = bench.run(case("order", "counted.order", defect, "random", **keys), samples=1)
        assert outcome.status == status, outcome.reason
        assert ("'in' has equal elements at the expected and the found indices" in outcome.note) == (defect == 1)


def test_the_sets_that_were_launched_are_counted(bench):
    """Fewer of long arrays."""
    counts = []
    for reference, size in (("clip(in, 0, 6)", 1000), ("clip(in, 0, 6)", 2**18)):
        wanted = case("each", reference, 0, "random", arguments=(("n", "size"),), size=size)
        counts.append(bench.run(wanted, samples=1).further.input_launches)
    assert counts == [5, 2]


FIRST = """
__global__ void first(const float* in, int* out, int rows, int n)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    out[row] = n;
    for (int j = 0; j < n; ++j)
        if (in[row * n + j] > 0.5f) { out[row] = j; break; }
}
"""


def test_that_no_further_input_could_be_tried_is_told(bench, tmp_path):
    """A search for the first has equal keys in any input, so nothing tells `>=` of the reference from the kernel's `>`."""
    (tmp_path / "first.cu").write_text(FIRST)
    content = {
        "parameters": {"block": 32, "count": 70, "n": 40},
        "arguments": [
            {"name": "in", "role": "in", "dtype": "float32", "shape": ["count", "n"], "fill": "random"},
            {"name": "out", "role": "out", "dtype": "int32", "shape": "count"},
            {"name": "rows", "scalar": "int32", "value": "count"},
            {"name": "width", "scalar": "int32", "value": "n"},
        ],
        "grid": "ceil_div(count, block)",
        "let": {"hit": "where(in >= 0.5, 1, 0)"},
        "reference": {"out": "where(max(hit, axis=1) > 0, argmax(hit, axis=1), n)"},
    }
    outcome = bench.run(case_of(from_yaml.read("first", content, tmp_path / "first.yaml")), samples=1)
    assert outcome.status == "ok"
    assert "checked for 1 input: in all further ones keys are equal" in outcome.note
