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


def one(value, magnitude=None, **further):
    """What is expected of one element."""
    return ExpectedArray(np.array([value]), None if magnitude is None else np.array([magnitude]), **further)


HALF_EPS = {dtype: float(ml_dtypes.finfo(dtype).eps) for dtype in (np.float16, ml_dtypes.bfloat16)}
BOUND = (
    10 * np.finfo(np.float32).eps / 2 * 1000.0
)  # of ten additions of magnitudes of 1000, though their sum is near zero
ELEMENTS = [  # the type, what a kernel left, what is expected, after how many operations, and whether it is right
    (np.float32, 0.99 * BOUND, one(1e-9, 1000.0, depth=10), None, True),
    (np.float32, 1.01 * BOUND, one(1e-9, 1000.0, depth=10), None, False),
    *(
        (dtype, 1 + n * eps, one(1 + eps / 2, depth=1), None, n < 2)
        for dtype, eps in HALF_EPS.items()
        for n in range(3)
    ),
    *((dtype, 300 - n, one(300.0, 300.0), 300, n == 0) for dtype in HALF_EPS for n in (0, 10)),  # added in float32
    (ml_dtypes.bfloat16, 32, one(32.0, 32.0), 5, True),
    (ml_dtypes.bfloat16, 31, one(32.0, 32.0), 5, False),  # a lost lane
    (np.float16, np.inf, one(130544.0, 130544.0), 5, True),  # which is no float16
    (np.float16, -np.inf, one(130544.0, 130544.0), 5, False),
    (np.float16, 60000, one(130544.0, 130544.0), 5, False),
    (np.float16, np.inf, one(60000.0, 60000.0), 5, False),
    *((np.float32, wrong, one(1.0), 1000, False) for wrong in (np.nan, np.inf, -np.inf)),
    (np.int32, -1, one(2**32 - 1), None, True),  # wrapped as a kernel wraps it
    (np.int32, 7, one(0, defined=np.array([False])), None, True),
]


@pytest.mark.parametrize(("dtype", "got", "expected", "depth", "ok"), ELEMENTS)
def test_an_element_may_differ_by_its_bound_and_no_more(dtype, got, expected, depth, ok):
    """Of its own type; infinity is right only where the number is too large for it; what is undefined may be anything."""
    assert check({"out": np.array([got]).astype(dtype)}, {"out": expected}, depth).ok is ok


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
@pytest.mark.parametrize("text", ["x ^ 3", "x * 3", "where(x > 9, x, y)"])
def test_integers_of_64_bits_are_compared_as_integers(dtype, text):
    """float64 has 53 bits, so that 2**62 and 2**62 + 1 are the same there."""
    x = np.array([2**62 + 1, 2**62, 2**61 - 5, 3], dtype)
    expected = evaluate(ArrayExpression(text, "a test"), {"x": x, "y": x}, {})
    assert check({"out": expected.values.copy()}, {"out": expected}).ok
    for off in (1, -1):
        verdict = check({"out": expected.values + np.asarray(off).astype(dtype)}, {"out": expected})
        assert verdict.mismatches == 4


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_a_stated_error_of_large_integers_is_exact(dtype):
    """An error of 2 accepts a distance of 2 near 2**62, and refuses 3; bounds that are floats do likewise."""
    values = np.array([2**62 + 1], dtype)
    near = ExpectedArray(values, error=2.0)
    floats = ExpectedArray(values, bounds=(np.array([2.0**62]), np.array([2.0**62])))
    for off, right in ((0, True), (2, True), (3, False)):
        for got in (values + dtype(off), values - dtype(off)):
            assert check({"out": got}, {"out": near}).ok == right
    assert check({"out": values - dtype(1)}, {"out": floats}).ok
    assert not check({"out": values + dtype(1)}, {"out": floats}).ok


@pytest.mark.parametrize(
    ("dtype", "end", "held"), [(np.int32, 3e9, 2**31 - 1), (np.int64, 1e30, 2**63 - 1), (np.uint32, -5.0, 0)]
)
def test_a_bound_beyond_the_type_is_its_limit(dtype, end, held):
    """CUDA's conversion of a float to an integer saturates."""
    expected = ExpectedArray(np.array([held], dtype), bounds=(np.array([end]), np.array([end])))
    assert check({"out": np.array([held], dtype)}, {"out": expected}).ok
    assert not check({"out": np.array([held ^ 1], dtype)}, {"out": expected}).ok


def test_more_operations_than_a_type_has_precision_for_cannot_be_checked():
    """A bound that lets everything pass is a mistake of the declaration, not a verdict."""
    with pytest.raises(UsageError, match="16777216 chained operations"):
        check({"out": np.zeros(1, np.float32)}, {"out": ExpectedArray(np.ones(1))}, 2**24)


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


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("transpose(m)", [[0, 3], [1, 4], [2, 5]]), ("roll(v, 1)", [2, 0, 1]), ("v[1:]", [1, 2]), ("sum(v)", 3),
        ("where(v > 1, v, -v)", [0, -1, 2]), ("cumsum(v)", [0, 1, 3]), ("reshape(m, 6)[4]", 4), ("pad(v, 1)", [0, 0, 1, 2, 0]),
        ("abs(-v) + sqrt(4)", [2, 3, 4]), ("maximum(v, n)", [1, 1, 2]), ("m[1, 0:2]", [3, 4]), ("v / 2", [0, 0.5, 1]),
        ("argsort(-v)", [2, 1, 0]), ("cummax(roll(v, 1))", [2, 2, 2]), ("clip(v, 1, 3)", [1, 1, 2]), ("isnan(v / 2)", [False] * 3),
        ("~(v > 1)", [True, True, False]), ("sign(v - 1)", [-1, 0, 1]),
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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("max(v, w)", r"max is over the elements of one array; of two arrays write maximum\(a, b\)"),
        ("softmax(v, axis=0.5)", "an axis, a length or an amount is an integer, not '0.5'"),
        ("softmax(v, axis='a')", "the text 'a' is not a number; text is compared"),
        ("sum(v, axis=0.5)", "an axis, a length or an amount is an integer, not '0.5'"),
        ("sort(v, axis=w)", "an axis, a length or an amount is an integer, not an array"),
        ("roll(v, w)", "an axis, a length or an amount is an integer, not an array"),
        ("arange(v)", "arange takes numbers, not arrays"),
        ("3 @ v", r"@ multiplies matrices and vectors; for a number write \*"),
        ("m @ m", r"@ sums over the last axis of \(2, 3\) and the last but one of \(2, 3\), which differ"),
        ("v[0][0]", r"\[ \] selects elements of an array, not of a number or a tuple"),
        ("f & 1", r"& \| \^ ~ << >> need integers or conditions, not floats; int\(x\) converts"),
        ("~f", "need integers or conditions, not floats"),
    ],
)
def test_an_argument_that_does_not_fit_is_told(text, words):
    """Instead of what NumPy or Python says; `max` of two arrays is a slip of those who come from C."""
    names = {"v": np.arange(3), "w": np.arange(3), "f": np.ones(3, np.float32), "m": np.ones((2, 3), np.float32)}
    with pytest.raises(UsageError, match=words):
        ArrayExpression(text, "here")(names)


def test_an_output_of_which_few_elements_are_compared_is_noted():
    """An `ok` of one element among a thousand says little; with a tenth of them or more, nothing is said."""
    got = {"out": np.zeros(1000, np.int32)}
    for defined in (1, 99, 100):
        mask = np.arange(1000) < defined
        verdict = check(got, {"out": ExpectedArray(np.zeros(1000, np.int32), defined=mask)})
        assert verdict.ok
        assert (f"only {defined} of the 1,000 elements of 'out' are compared" in verdict.note) == (defined < 100)


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


def test_a_mask_may_have_its_axes_of_length_one_elsewhere_and_a_mistake_in_it_is_named():
    """As the values may. Of a mask with another shape, the sentence names `undefined_where`, not the reference."""
    column = np.arange(4.0, dtype=np.float32).reshape(4, 1)
    mask = np.array([[True], [True], [False], [True]])
    got = np.array([[0, 1, 7, 3]], dtype=np.float32)
    assert check({"out": got}, {"out": ExpectedArray(column, defined=mask)}, None).mismatches == 0
    with pytest.raises(UsageError, match=r"undefined_where gives 'out' the shape \(3,\), the kernel \(1, 4\)"):
        check({"out": got}, {"out": ExpectedArray(column, defined=np.ones(3, np.bool_))}, None)
