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


def test_large_arrays_are_searched_at_a_size_that_the_kernel_allows(bench):
    """With fewer rows, as the reference has rows of 50; and with a multiple of 192."""
    for defect in (0, 1, 3):
        outcome = bench.run(case("largest", STARTS["largest"][0], defect, "random", size="8192x50", **ROWS), samples=1)
        assert outcome.status == ("mismatch" if defect else "ok"), outcome.reason
    keys = {"arguments": (("n", "size"),), "constraints": {"size % 192 == 0": "whole blocks"}, "size": 192 * 1500}
    for defect in (0, 1):
        outcome = bench.run(case("each", "clip(in, 0, 6)", defect, "random", **keys), samples=1)
        assert outcome.status == ("mismatch" if defect else "ok"), outcome.reason


@pytest.mark.parametrize(
    ("function", "reference", "shape", "fill"),
    [
        ("bins", "bincount(in, 16)", 16, {"range": [0, 16]}),
        ("squares", "sum(in * in, keepdims=True)", 1, {"range": [-5, 12]}),
    ],
)
def test_what_overflows_only_for_equal_integers_is_found(function, reference, shape, fill, bench):
    """Though integers are compared exactly: the own inputs do not fill the counter."""
    keys = {"size": 400, "arguments": (("n", "size"),), "shape": shape}
    for defect in (0, 1):
        outcome = bench.run(case(function, reference, defect, fill, "int32", **keys), samples=1)
        assert outcome.status == ("mismatch" if defect else "ok"), outcome.reason
        assert ("wrong for equal ones (the largest of each range)" in outcome.reason) == bool(defect)


def test_numbers_without_negatives_stay_so(bench):
    """A kernel may rely on it: 0 is a right begin for them."""
    for fill in ("c_rand", {"range": [0, 1]}, {"range": [0.5, 2]}):
        outcome = bench.run(case("largest", f"max({ROW}, axis=1)", 1, fill, **ROWS), samples=1)
        assert outcome.status == "ok", outcome.reason


def test_arrays_have_different_signs_where_a_difference_needs_them(bench):
    """The largest of in - other is below 0 if the first are and the second are not."""
    reference = f"max({ROW} - reshape(other, rows, 50), axis=1)"
    statuses = [bench.run(case("apart", reference, d, "random", **ROWS), samples=1).status for d in (0, 1)]
    assert statuses == ["ok", "mismatch"]


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


def test_the_last_of_equal_largest_is_right(bench):
    """And the place after it is not."""
    reference = f"argmax({ROW}, axis=1)"
    statuses = [bench.run(case("where", reference, d, "c_rand", out="int32", **ROWS), samples=1).status for d in (2, 3)]
    assert statuses == ["ok", "mismatch"]


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


@pytest.mark.parametrize(("dtype", "fill"), [("int32", "random"), ("float32", {"range": [-1, 1]})], ids=str)
def test_a_reference_in_python_gets_numbers_of_one_sign(dtype, fill, bench):
    """Nothing is known of its branches, but a maximum may begin with 0."""
    cases = (case("largest", "counted.largest", defect, fill, dtype, **ROWS) for defect in (0, 1))
    assert [bench.run(c, samples=1).status for c in cases] == ["ok", "mismatch"]


def test_the_sets_that_were_launched_are_counted(bench):
    """Fewer of long arrays."""
    counts = []
    for reference, size in (("clip(in, 0, 6)", 1000), ("clip(in, 0, 6)", 2**18)):
        wanted = case("each", reference, 0, "random", arguments=(("n", "size"),), size=size)
        counts.append(bench.run(wanted, samples=1).tried.input_launches)
    assert counts == [5, 2]
