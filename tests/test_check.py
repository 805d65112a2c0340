import itertools

import ml_dtypes
import numpy as np
import pytest
from support import shipped

from runner.bounds.array_expression import ArrayExpression
from runner.bounds.evaluation import evaluate
from runner.errors import UsageError
from runner.kernel.check import check
from runner.kernel.reference import ExpectedArray, find


def test_integers_are_compared_exactly():
    """The first five mismatches are listed with index and values, and how many more there are."""
    right = np.arange(100, dtype=np.int32)
    got = right.copy()
    got[42:] += 1
    result = check({"out": got}, {"out": ExpectedArray(right)}, None)
    assert result.mismatches == 58
    assert "out[42] is 43, expected 42; out[43]" in result.reason
    assert "out[46] is 47, expected 46, and 53 more" in result.reason


def test_undefined_elements_are_not_compared():
    """What the reference calls undefined may hold anything."""
    expected = ExpectedArray(np.zeros(4, np.int32), defined=np.array([True, True, False, True]))
    assert check({"out": np.array([0, 0, 7, 0], np.int32)}, {"out": expected}, None).ok


def test_floats_may_differ_by_their_bound_and_no_more():
    """A sum may be off by depth times eps of the sum of magnitudes, even where the sum itself is near zero."""
    values, magnitude = np.array([1e-9]), np.array([1000.0])
    expected = {"out": ExpectedArray(values, magnitude, depth=10)}
    bound = 10 * np.finfo(np.float32).eps / 2 * 1000.0
    assert check({"out": np.array([0.99 * bound], np.float32)}, expected, None).ok
    assert not check({"out": np.array([1.01 * bound], np.float32)}, expected, None).ok


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_types_are_compared_by_their_own_precision(dtype):
    """A half may differ by its own rounding error, which is much larger than a float's, and by no more."""
    eps = float(ml_dtypes.finfo(dtype).eps)
    expected = {"out": ExpectedArray(np.array([1 + eps / 2]), depth=1)}
    assert check({"out": np.array([1], dtype)}, expected, None).ok
    assert check({"out": np.array([1 + eps], dtype)}, expected, None).ok
    assert not check({"out": np.array([1 + 2 * eps], dtype)}, expected, None).ok
    assert not check({"out": np.array([np.nan], dtype)}, expected, None).ok


def test_floats_of_two_dimensions_are_compared_element_by_element():
    """Values and magnitudes may have the output's own shape; the mismatch is told by its place in memory."""
    values = np.arange(6.0).reshape(2, 3)
    expected = {"out": ExpectedArray(values, magnitude=np.ones((2, 3)))}
    assert check({"out": values.astype(np.float32)}, expected, None).ok
    wrong = (values + (values == 4)).astype(np.float32)
    assert "out[4] is 5, expected 4" in check({"out": wrong}, expected, None).reason


def test_a_lost_lane_is_found_in_bfloat16():
    """Of 32 ones, 31 is no rounding error of five additions, though bfloat16 has but 8 bits."""
    expected = {"out": ExpectedArray(np.array([32.0]), magnitude=np.array([32.0]))}
    assert check({"out": np.array([32], ml_dtypes.bfloat16)}, expected, 5).ok
    assert not check({"out": np.array([31], ml_dtypes.bfloat16)}, expected, 5).ok


def test_what_is_too_large_for_the_type_is_infinite():
    """130544 is no float16: infinity is the right answer, of the right sign only, and not where the sum would fit."""
    expected = {"out": ExpectedArray(np.array([130544.0]), magnitude=np.array([130544.0]))}
    assert check({"out": np.array([np.inf], np.float16)}, expected, 5).ok
    assert not check({"out": np.array([-np.inf], np.float16)}, expected, 5).ok
    assert not check({"out": np.array([60000], np.float16)}, expected, 5).ok
    fits = {"out": ExpectedArray(np.array([60000.0]), magnitude=np.array([60000.0]))}
    assert not check({"out": np.array([np.inf], np.float16)}, fits, 5).ok


def test_more_operations_than_a_type_has_precision_for_cannot_be_checked():
    """A bound that lets everything pass is a mistake of the declaration, not a verdict."""
    with pytest.raises(UsageError, match="16777216 rounded operations"):
        check({"out": np.zeros(1, np.float32)}, {"out": ExpectedArray(np.ones(1))}, 2**24)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_a_long_sum_of_halves_is_added_in_float32(dtype):
    """A chain of 300 additions may not be off by more than float32's rounding, and that of the result."""
    expected = {"out": ExpectedArray(np.array([300.0]), magnitude=np.array([300.0]))}
    assert check({"out": np.array([300], dtype)}, expected, 300).ok
    assert not check({"out": np.array([290], dtype)}, expected, 300).ok


def test_what_is_only_moved_must_be_the_same():
    """An expression without arithmetic allows no rounding error."""
    x = np.array([1000.0, 1001.0], np.float16)
    expected = {"out": evaluate(ArrayExpression("flip(x)", "here"), {"x": x}, {})}
    assert check({"out": x[::-1]}, expected, None).ok
    assert check({"out": x}, expected, None).mismatches == 2


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_no_bound_lets_nan_or_infinity_pass(wrong):
    """NaN and infinity differ from every number."""
    assert not check({"out": np.array([wrong], np.float32)}, {"out": ExpectedArray(np.ones(1))}, 1000).ok


def test_an_integer_reference_wraps_like_the_kernel():
    """A wider integer reference is compared modulo 2**32."""
    assert check({"out": np.array([-1], np.int32)}, {"out": ExpectedArray(np.array([2**32 - 1]))}, None).ok


def test_shapes_that_do_not_fit_are_a_mistake_of_the_reference():
    """A reference of another shape is told as such."""
    with pytest.raises(UsageError, match="shape"):
        check({"out": np.zeros(3, np.int32)}, {"out": ExpectedArray(np.zeros(4, np.int32))}, None)


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "float32", "float64"])
def test_block_sums_are_those_of_a_plain_loop(dtype):
    """The fast reference agrees with Python's own numbers, element by element, masked lanes left out."""
    for size, mask in itertools.product((1, 31, 32, 257, 5000), (0xFFFFFFFF, 0x00FF00FF)):
        x = np.random.default_rng(size).integers(-100, 100, size).astype(dtype)
        grid = -(-size // 128)
        expected = find(shipped("reduceShfl"))({"in": x}, {"block": 64, "unroll": 2, "mask": mask}, (grid, 1, 1))
        plain = [0] * grid
        for i, v in enumerate(x.tolist()):
            plain[i // 128] += int(v) if mask >> (i % 32) & 1 else 0
        wrapped = plain if x.dtype.kind == "f" else np.array(plain, object).astype(np.int64).astype(dtype).tolist()
        assert wrapped == expected.outputs["out"].values.astype(dtype).tolist()


def test_an_expression_is_a_reference():
    """`a * x + y` gives values, and bounds of the rounding error: none for small integers, half an ulp for others."""
    small = {"x": np.array([1.0, -2.0], np.float32), "y": np.array([-3.0, 6.0], np.float32)}
    got = evaluate(ArrayExpression("3 * x + y", "here"), small, {})
    assert (got.values.tolist(), got.error) == ([0.0, 0.0], 0.0)
    thirds = {"x": np.array([1 / 3], np.float32), "y": np.array([-0.9], np.float32)}
    low, high = evaluate(ArrayExpression("3 * x + y", "here"), thirds, {}).bounds
    assert (high - low)[0] == pytest.approx(2 * 2.0**-24 * (1 + 0.1), rel=0.01)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("transpose(m)", [[0, 3], [1, 4], [2, 5]]), ("roll(v, 1)", [2, 0, 1]), ("v[1:]", [1, 2]), ("sum(v)", 3),
        ("where(v > 1, v, -v)", [0, -1, 2]), ("cumsum(v)", [0, 1, 3]), ("reshape(m, 6)[4]", 4), ("pad(v, 1)", [0, 0, 1, 2, 0]),
        ("abs(-v) + sqrt(4)", [2, 3, 4]), ("maximum(v, n)", [1, 1, 2]), ("m[1, 0:2]", [3, 4]), ("v / 2", [0, 0.5, 1]),
    ],
)  # fmt: skip
def test_array_expressions_are_numpy(text, value):
    """Every documented function does what NumPy's does."""
    names = {"v": np.arange(3), "m": np.arange(6).reshape(2, 3), "n": 1}
    assert np.asarray(ArrayExpression(text, "here")(names).value).tolist() == value


@pytest.mark.parametrize(
    "text", ["x.tofile('y')", "open('x')", "x[open]", "lambda: 1", "__import__('os')", "x if y else z", "0 < x < 2"]
)
def test_nothing_else_is_an_array_expression(text):
    """Attributes, other calls and other syntax are refused when the YAML is read."""
    with pytest.raises(UsageError):
        ArrayExpression(text, "here")({"x": np.arange(3)})


def test_what_is_only_moved_is_cached_for_the_cases_of_a_sweep():
    """Cases of one input and one shape share what is expected; of another shape, or of an input in use, they do not."""
    x = np.arange(12, dtype=np.float32)
    x.setflags(write=False)
    turned = ArrayExpression("reshape(transpose(reshape(in, rows, cols)), size)", "a test")

    def expected(array, rows, cols):
        parameters = {"rows": rows, "cols": cols, "size": 12, "block": rows}
        return evaluate(turned, {"in": array}, parameters).values

    assert expected(x, 3, 4) is expected(x, 3, 4)
    assert expected(x, 3, 4).dtype == np.float32
    assert expected(x, 3, 4).tolist() == x.reshape(3, 4).T.ravel().tolist()
    assert expected(x, 4, 3).tolist() == x.reshape(4, 3).T.ravel().tolist()
    written = x.copy()
    before = expected(written, 3, 4).tolist()
    written += 1
    assert expected(written, 3, 4).tolist() == [n + 1 for n in before]


def test_what_is_calculated_is_no_move():
    """Only moving, reshaping and repeating leaves each element as it was."""
    texts = [
        "transpose(reshape(in, 3, 4))",
        "flip(roll(in, 2))",
        "in",
        "in + 1",
        "sum(in)",
        "-in",
        "sqrt(in)",
        "in[1:]",
    ]
    assert [ArrayExpression(t, "a test").only_moves for t in texts] == [True] * 3 + [False] * 5
