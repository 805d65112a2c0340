"""The bounds of array expressions hold for every way in which a kernel may round, and are not much wider than that."""

import ast
import math
import random
import statistics

import ml_dtypes
import numpy as np
import pytest

from runner.bounds.array_expression import ArrayExpression
from runner.bounds.evaluation import evaluate
from runner.bounds.rounding import Arithmetic, Halves, with_halves
from runner.errors import UsageError
from runner.kernel.check import check, ulp

MIXED, NARROW = Halves.MIXED, Halves.NARROW
SIZE = 257
ULPS = {"exp": 2, "log": 1, "sin": 2, "cos": 2, "tanh": 2, "rsqrt": 2}
BINARY = {ast.Div: np.divide, ast.FloorDiv: np.floor_divide, ast.Mod: np.fmod}
FUNCTIONS = {
    "maximum": np.maximum, "minimum": np.minimum, "abs": np.abs, "sqrt": np.sqrt, "exp": np.exp, "log": np.log,
    "sin": np.sin, "cos": np.cos, "tanh": np.tanh,
}  # fmt: skip


class Kernel:
    """Evaluates an expression as some correct kernel would: in its own order, with its own rounding and contraction."""

    def __init__(self, dtype, names, rng):
        self.dtype, self.rng = np.dtype(dtype), rng
        self.names = {n: self.rounded(np.asarray(a)) for n, a in names.items()}

    def rounded(self, value):
        """Round to the type."""
        return np.asarray(value, np.float64).astype(self.dtype).astype(np.float64)

    def run(self, text):
        """The result of an expression."""
        with np.errstate(all="ignore"):
            return self.of(ast.parse(text, mode="eval").body).astype(self.dtype)

    def of(self, node):
        """The value of a part."""
        match node:
            case ast.Constant(value=value):
                return self.rounded(value)
            case ast.Name(id=name):
                return self.names[name]
            case ast.UnaryOp(operand=operand):
                return -self.of(operand)
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                return self.added(self.shuffled(self.terms(node, 1)))
            case ast.BinOp(op=ast.Mult()):
                return self.multiplied(self.shuffled(self.factors(node)))
            case ast.BinOp(left=left, op=op, right=right):
                return self.rounded(BINARY[type(op)](self.of(left), self.of(right)))
            case ast.Compare(left=left, ops=[ast.Gt()], comparators=[right]):
                return self.of(left) > self.of(right)
            case ast.Call(func=ast.Name(id=name), args=args):
                return self.called(name, args)
        raise TypeError(ast.dump(node))

    def called(self, name, args):
        """The value of a function."""
        if name == "where":
            return np.where(*map(self.of, args))
        return self.off(name, self.rounded(FUNCTIONS[name](*map(self.of, args))))

    def off(self, name, exact):
        """A result that is off by up to the published error."""
        steps = np.array([self.rng.randint(-ULPS.get(name, 0), ULPS.get(name, 0)) for _ in range(np.size(exact))])
        low, high = {"exp": (0, np.inf), "sin": (-1, 1), "cos": (-1, 1), "tanh": (-1, 1)}.get(name, (-np.inf, np.inf))
        moved = self.rounded(exact + steps.reshape(np.shape(exact)) * ulp(exact, self.dtype))
        return np.where(np.isfinite(exact), np.clip(moved, low, high), exact)

    def shuffled(self, parts):
        """In a random order."""
        self.rng.shuffle(parts)
        return parts

    def terms(self, node, sign):
        """The terms of a chain of additions; a product may stay unrounded."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            other = sign if isinstance(node.op, ast.Add) else -sign
            if not any(isinstance(n, ast.Name) for n in ast.walk(node)):  # constants make a constant
                return [sign * (self.of(node.left) + other * sign * self.of(node.right))]
            return [*self.terms(node.left, sign), *self.terms(node.right, other)]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and self.rng.random() < 0.5:
            a, b = self.of(node.left), self.of(node.right)
            return [sign * a * b]  # not rounded: contracted into the addition
        return [sign * self.of(node)]

    def factors(self, node):
        """The factors of a product."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            return [*self.factors(node.left), *self.factors(node.right)]
        return [self.of(node)]

    def added(self, parts):
        """Any order of additions."""
        return self.joined(parts, np.add)

    def multiplied(self, parts):
        """Any order of multiplications."""
        return self.joined(parts, np.multiply)

    def joined(self, parts, operation):
        """Any tree over the parts; a type twice as wide makes the reference of double products exact enough."""
        while len(parts) > 1:
            at = self.rng.randrange(len(parts) - 1)
            parts[at : at + 2] = [self.rounded(operation(parts[at], parts[at + 1]))]
        return self.rounded(parts[0])


def drawn(rng, depth):
    """A random expression over x, y and z."""
    if depth == 0:
        return rng.choice(["x", "y", "z", "x", "y", "z", "2", "0.1", "3", "0.5"])
    inner = [drawn(rng, rng.randrange(depth)) for _ in range(4)]
    shapes = [
        "({0} + {1})", "({0} - {1})", "({0} + {1} - {2} + {3})", "{0} * {1}", "{0} * {1} * {2}", "({0} * {1} + {2})",
        "{0} / (2 + {1})", "({0}) / ({1})", "maximum({0}, {1})", "minimum({0}, {1})", "abs({0})", "sqrt(abs({0}))",
        "exp({0})", "log(abs({0}) + 0.1)", "sin({0})", "cos({0})", "tanh({0})", "where({0} > {1}, {2}, {3})", "-({0})",
    ]  # fmt: skip
    return rng.choice(shapes).format(*(f"({part})" for part in inner))


def inputs_of(dtype, seed):
    """Random numbers of that type."""
    generator = np.random.default_rng(seed)
    return {n: generator.uniform(-2, 2, SIZE).astype(dtype) for n in "xyz"}


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_the_bound_holds_for_random_expressions_in_any_order_of_operations(dtype):
    """300 expressions, each in four orders, contracted or not, with functions as inexact as CUDA's: none is refused."""
    used = []
    for seed in range(300):
        rng = random.Random(seed)
        text, names = drawn(rng, 4), inputs_of(dtype, seed)
        expected = evaluate(ArrayExpression(text, "a test"), names, {}, Arithmetic(np.dtype(dtype)))
        for _ in range(4):
            got = Kernel(dtype, names, rng).run(text)
            got = np.broadcast_to(got, np.shape(expected.values))
            verdict = check({"out": np.array(got)}, {"out": expected})
            assert verdict.ok, (seed, text, verdict.reason)
            used.append(share_used(got, expected))
    told = [u for u in used if u is not None]
    assert statistics.median(told) > 0.2, "a right kernel comes within a factor of five of its bound"


def share_used(got, expected):
    """The largest error, as a share of what is allowed; `None` where nothing is rounded."""
    if expected.bounds is None:
        return None
    low, high = expected.bounds
    with np.errstate(all="ignore"):
        error = np.abs(got.astype(np.float64) - expected.values)
        share = error / np.maximum(high - expected.values, expected.values - low)
    share = share[np.isfinite(share)]
    return float(share.max()) if share.size else None


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        ("x // y", [3.0, 2.0], [1.0, 4.0]),  # 0.3 / 0.1 is just below 3, or 3 when rounded
        ("where(x - 3 * y > 0, 1, 2)", [1.0, 2.0], [1.5 + 1, 0.0]),
        ("x % y", [0.0, float(np.float32(0.1))], [0.2, -0.05]),
    ],
)
def test_where_rounding_decides_either_side_is_right(text, right, wrong):
    """A kernel rounds 0.3 - 3 * 0.1 to zero, above or below: both branches, and both neighbours, are right."""
    names = {"x": np.array([0.3], np.float32), "y": np.array([0.1], np.float32)}
    expected = evaluate(ArrayExpression(text, "a test"), names, {})
    for value in right:
        assert check({"out": np.array([value], np.float32)}, {"out": expected}).ok
    for value in wrong:
        assert not check({"out": np.array([value], np.float32)}, {"out": expected}).ok


def test_what_rounding_may_change_by_any_amount_is_noted_and_not_refused():
    """sqrt(1 - x * x) may be no number where x is almost 1; 1 / (x - y) may be anything where they are almost equal."""
    x = np.array([np.nextafter(np.float32(1), 2), 0.5], np.float32)
    expected = evaluate(ArrayExpression("sqrt(1 - x / x * 1)", "a test"), {"x": x}, {})
    verdict = check({"out": np.array([np.nan, 0], np.float32)}, {"out": expected})
    assert verdict.ok
    assert "2 elements could not be checked" in verdict.note


def test_an_intermediate_overflow_is_right_on_both_sides():
    """1 / (1 + exp(100)): float32 gives 1 / infinity = 0; the rounded value is 3.8e-44. Half is neither."""
    expected = evaluate(ArrayExpression("1 / (1 + exp(100 * x))", "a test"), {"x": np.ones(1, np.float32)}, {})
    for value in (0.0, math.exp(-100)):
        assert check({"out": np.array([value], np.float32)}, {"out": expected}).ok
    assert not check({"out": np.array([0.5], np.float32)}, {"out": expected}).ok


def test_fast_functions_have_their_own_errors():
    """__expf(10) may be off by 13 ulp, which is wrong without -use_fast_math; a subnormal result may be flushed."""
    x = np.array([10.0, -95.0], np.float32)
    text = ArrayExpression("exp(x)", "a test")
    got = np.exp(x.astype(np.float64)).astype(np.float32)
    got[0] += 12 * np.spacing(got[0])
    got[1] = 0
    assert check({"out": got}, {"out": evaluate(text, {"x": x}, {}, Arithmetic(np.dtype(np.float32), fast=True))}).ok
    assert check({"out": got}, {"out": evaluate(text, {"x": x}, {}, Arithmetic(np.dtype(np.float32)))}).mismatches == 2


def test_small_integers_held_as_floats_are_exact_in_any_order():
    """A sum of a million quarters, or of their products, has one right value; of a million random numbers it has many."""
    generator = np.random.default_rng(1)
    quarters = {n: (generator.integers(1, 5, 1 << 20) / 4).astype(np.float32) for n in "xy"}
    for text in ("sum(x)", "cumsum(x)", "sum(x * y)", "3 * x + y - 2", "maximum(x, y) / 2", "sum(where(x > y, x, -y))"):
        assert evaluate(ArrayExpression(text, "a test"), quarters, {}).bounds is None, text
    for text in ("sum(x / 3)", "x * 0.1", "exp(x)", "sqrt(x)", "sum(x * y * x * y)"):
        assert evaluate(ArrayExpression(text, "a test"), quarters, {}).bounds is not None, text


@pytest.mark.parametrize("count", [100, 1000, 3000])
def test_a_mean_may_divide_its_terms_although_their_sum_would_be_exact(count):
    """Then it adds numbers that are rounded; a term too few is more than that."""
    x = np.full((1, count), 0.75, np.float32)
    expected = {"out": evaluate(ArrayExpression("mean(x, axis=1)", "a test"), {"x": x}, {})}
    scaled = np.cumsum(x[0] * np.float32(1 / count), dtype=np.float32)
    assert scaled[-1] != 0.75
    assert check({"out": scaled[-1:]}, expected).ok
    assert not check({"out": np.array([0.75 * (count - 1) / count], np.float32)}, expected).ok


def test_the_parts_of_a_sum_may_be_added_to_something_else_one_at_a_time():
    """As blocks do with atomics on an array that holds numbers."""
    y, x = np.array([1000.1], np.float32), np.full(64, 1e-5, np.float32)
    expected = {"out": evaluate(ArrayExpression("y + sum(x)", "a test"), {"x": x, "y": y}, {})}
    one_by_one = np.cumsum(np.concatenate([y, x]), dtype=np.float32)[-1:]
    assert one_by_one == y
    assert check({"out": one_by_one}, expected).ok
    assert not check({"out": y + np.float32(0.01)}, expected).ok


class Rows(Kernel):
    """Sums, products and softmax along axes as some correct kernel would compute them."""

    def total(self, parts):
        """A sum of arrays, in any order."""
        return self.added(self.shuffled(list(parts)))

    def product(self, a, b):
        """Rounded, or contracted into the addition."""
        return self.rounded(a * b) if self.rng.random() < 0.5 else a * b

    def matmul(self, a, b):
        """A product of matrices."""
        return self.total(self.product(a[:, k : k + 1], b[k : k + 1, :]) for k in range(a.shape[1]))

    def mean(self, x):
        """Of each row: divided, multiplied by the inverse, or of scaled terms."""
        n = x.shape[1]
        match self.rng.randrange(3):
            case 0:
                return self.rounded(self.total(x.T) / n)
            case 1:
                return self.rounded(self.total(x.T) * self.rounded(1 / n))
        return self.total(self.rounded(column / n) for column in x.T)

    def exp(self, x):
        """As inexact as the published error, or by exp2."""
        if self.rng.random() < 0.5:
            return self.off("exp", self.rounded(np.exp2(self.rounded(x * self.rounded(math.log2(math.e))))))
        return self.off("exp", self.rounded(np.exp(x)))

    def softmax(self, x):
        """Of each row: plain, with the maximum taken off, or with a running maximum."""
        top = x.max(axis=1, keepdims=True)
        variant = self.rng.randrange(3)
        if variant < 2:
            terms = self.exp(x if variant else self.rounded(x - top))
            return self.rounded(terms / self.total(terms.T)[:, None])
        most, total = np.full(len(x), -np.inf), np.zeros(len(x))
        for column in x.T:
            higher = np.maximum(most, column)
            again = self.rounded(total * self.exp(self.rounded(most - higher)))
            total, most = self.rounded(again + self.exp(self.rounded(column - higher))), higher
        return self.rounded(self.exp(self.rounded(x - top)) / total[:, None])

    def bins(self, x, bins):
        """Sums of the elements with the same number."""
        return np.array([self.total(x[bins == b]) if (bins == b).any() else 0.0 for b in range(7)])

    def variance(self, x):
        """Of each row, with the reciprocal root."""
        away = self.rounded(x - self.mean(x)[:, None])
        return self.off("rsqrt", self.rounded(1 / np.sqrt(self.rounded(self.mean(self.rounded(away * away)) + 0.25))))


ALONG_AXES = {
    "x @ y": lambda k: k.matmul(k.x, k.y),
    "x @ y @ x": lambda k: k.matmul(k.matmul(k.x, k.y), k.x),
    "einsum('ij,jk,kl->il', x, y, x)": lambda k: k.matmul(k.x, k.matmul(k.y, k.x)),
    "mean(x, axis=1)": lambda k: k.mean(k.x),
    "prod(x, axis=1)": lambda k: k.multiplied(k.shuffled(list(k.x.T))),
    "prod(x + y, axis=1)": lambda k: k.multiplied(k.shuffled(list(k.rounded(k.x + k.y).T))),
    "softmax(4 * x)": lambda k: k.softmax(4 * k.x),
    "softmax(x + y, axis=1)": lambda k: k.softmax(k.rounded(k.x + k.y)),
    "bincount(b, 7, weights=x)": lambda k: k.bins(k.x.ravel(), k.b.ravel()),
    "sum(x * y, axis=(0, 1))": lambda k: k.total(
        k.product(u, v) for u, v in zip(k.x.ravel(), k.y.ravel(), strict=True)
    ),
    "cumsum(x, axis=1)[:, 11]": lambda k: k.total(k.x[:, :12].T),
    "sort(x + y, axis=1)": lambda k: np.sort(k.rounded(k.x + k.y), axis=1),
    "rsqrt(mean((x - mean(x, axis=1, keepdims=True)) ** 2, axis=1) + 0.25)": lambda k: k.variance(k.x),
}


class Mixed(Rows):
    """The same with elements in a half type, and sums, means and products of many in float32."""

    def single(self, value):
        """Round to float32."""
        return np.asarray(value, np.float32).astype(np.float64)

    def joined(self, parts, operation):
        """In float32; what comes out is kept so, or rounded."""
        while len(parts) > 1:
            at = self.rng.randrange(len(parts) - 1)
            parts[at : at + 2] = [self.single(operation(parts[at], parts[at + 1]))]
        return self.rounded(parts[0]) if self.rng.random() < 0.5 else self.single(parts[0])

    def mean(self, x):
        """Of each row: divided, or of scaled terms."""
        n = x.shape[1]
        if self.rng.random() < 0.5:
            return self.rounded(self.single(self.total(x.T) / n))
        return self.rounded(self.total(self.single(column / n) for column in x.T))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("text", [text for text in ALONG_AXES if "softmax" not in text])
def test_halves_that_are_added_in_float32_keep_to_a_narrower_bound(text, dtype):
    """Twenty inputs, each with its own order and contractions: none is refused, and the bound is a part of the other."""
    how, widths = Arithmetic(np.dtype(dtype)), []
    for seed in range(20):
        generator = np.random.default_rng(seed)
        names = {n: generator.uniform(-1.5, 1.5, (24, 24)).astype(dtype) for n in "xy"}
        names["b"] = generator.integers(0, 6, (24, 24))
        mixed, narrow = (evaluate(ArrayExpression(text, ""), names, {}, with_halves(how, h)) for h in (MIXED, NARROW))
        kernel = Mixed(dtype, {n: names[n] for n in "xy"}, random.Random(seed))
        kernel.x, kernel.y, kernel.b = (*kernel.names.values(), names["b"])
        with np.errstate(all="ignore"):
            got = ALONG_AXES[text](kernel)
        verdict = check({"out": np.asarray(got).astype(dtype)}, {"out": mixed})
        assert verdict.ok, (seed, verdict.reason)
        widths += [np.median(e.bounds[1] - e.bounds[0]) if e.bounds else 0.0 for e in (mixed, narrow)]
    assert sum(widths[::2]) <= sum(widths[1::2]) * (1.0 if text.startswith("sort") else 0.7)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("text", ALONG_AXES)
def test_the_bound_of_a_function_along_axes_holds_in_any_order(text, dtype):
    """Twenty inputs, each with its own order, contractions and errors of functions: none is refused."""
    used = []
    for seed in range(20):
        generator = np.random.default_rng(seed)
        names = {n: generator.uniform(-1.5, 1.5, (24, 24)).astype(dtype) for n in "xy"}
        names["b"] = generator.integers(0, 6, (24, 24))
        expected = evaluate(ArrayExpression(text, "a test"), names, {}, Arithmetic(np.dtype(dtype)))
        kernel = Rows(dtype, {n: names[n] for n in "xy"}, random.Random(seed))
        kernel.x, kernel.y, kernel.b = (*kernel.names.values(), names["b"])
        with np.errstate(all="ignore"):
            got = ALONG_AXES[text](kernel)
        verdict = check({"out": np.asarray(got).astype(dtype)}, {"out": expected})
        assert verdict.ok, (seed, verdict.reason)
        assert dtype != np.float32 or not verdict.note, verdict.note
        used.append(share_used(np.asarray(got), expected) or 0)
    assert max(used) > 1e-4, "the bound is not wider than it must be by far"


def test_rounding_may_choose_the_index_of_a_maximum():
    """Elements that rounding cannot tell apart are right, others are not; certain ones have one index."""
    x = np.array([[0.5, 0.1, 0.3, 0.3000000001, 0.2]])
    expected = evaluate(
        ArrayExpression("argmax(x * 0.1 + 0 - where(x > 0.4, 1, 0), axis=1)", "a test"), {"x": x.astype(np.float32)}, {}
    )
    assert [check({"o": np.array([i])}, {"o": expected}).ok for i in range(5)] == [False, False, True, True, False]
    certain = evaluate(ArrayExpression("argmin(x, axis=1)", "a test"), {"x": x}, {})
    assert (int(certain.values[0]), certain.bounds) == (1, None)


def test_an_integer_of_a_float_is_an_index_unless_a_rounding_decides():
    """It is cut off towards zero, as C++'s cast; an element that a kernel may rightly put on either side is an error."""
    x = np.array([-1.75, 0.5, 2.75, 1.0], np.float32)

    def call(text):
        return evaluate(ArrayExpression(text, "a test"), {"x": x, "y": np.array([0.1, 0.3], np.float32)}, {})

    assert np.array_equal(call("int(2 * x)").values, [-3, 1, 5, 2])
    assert np.array_equal(call("take(x, int(abs(x)))").values, x[[1, 0, 2, 1]])
    assert np.array_equal(call("int(y * 7)").values, [0, 2])  # rounded, but far from a whole number
    with pytest.raises(UsageError, match=r"int: a rounding decides about 2 of 2 elements, such as 1.0; use inputs"):
        call("int(y / y[0])")
    with pytest.raises(UsageError, match="beyond the range of int"):
        call("int(x * 4294967296.0)")


MONOTONE = {
    "rsqrt": (lambda x: 1 / np.sqrt(x), 0.1, 9), "exp2": (np.exp2, -9, 9), "log2": (np.log2, 0.1, 9),
    "log10": (np.log10, 0.1, 9), "expm1": (np.expm1, -2, 2), "log1p": (np.log1p, -0.5, 9), "cbrt": (np.cbrt, -9, 9),
    "sinh": (np.sinh, -3, 3), "asin": (np.arcsin, -0.99, 0.99), "acos": (np.arccos, -0.99, 0.99),
    "atan": (np.arctan, -9, 9), "erf": (np.vectorize(math.erf), -3, 3), "erfc": (np.vectorize(math.erfc), -3, 3),
    "floor": (np.floor, -9, 9), "ceil": (np.ceil, -9, 9), "rint": (np.rint, -9, 9), "sign": (np.sign, -9, 9),
}  # fmt: skip


@pytest.mark.parametrize("name", MONOTONE)
def test_a_function_carries_the_error_of_its_argument_and_its_own(name):
    """Of a rounded argument, with the published error; a result that is off by ten times as much is wrong."""
    function, low, high = MONOTONE[name]
    rng = np.random.default_rng(3)
    x, y = (rng.uniform(low, high, 500).astype(np.float32) for _ in range(2))
    exact = x.astype(np.float64) * 0.25 + y.astype(np.float64) * 0.75
    rounded = (x * np.float32(0.25) + y * np.float32(0.75)).astype(np.float64)
    expected = evaluate(ArrayExpression(f"{name}(x * 0.25 + y * 0.75)", "a test"), {"x": x, "y": y}, {})
    got = function(rounded).astype(np.float32)
    assert check({"out": got}, {"out": expected}).ok
    assert np.allclose(np.asarray(expected.values, np.float64), function(exact), rtol=1e-12)
    assert check({"out": got + 10 * np.spacing(np.maximum(np.abs(got), 2))}, {"out": expected}).mismatches > 400
