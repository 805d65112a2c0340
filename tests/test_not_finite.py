"""Contents that are infinite or not a number: fills, their check, and types that have none."""

import math

import numpy as np
import pytest
from mistakes import write_files
from support import case_of, read_kernel

from runner.errors import UsageError
from runner.kernel.inputs import contents

CU = """__global__ void mine(const float* x, const float* bias, float* most, float* out, int rows, int cols)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float found = most[row];
    for (int i = 0; i < cols; ++i) {
        found = fmaxf(found, x[row * cols + i]);
        out[row * cols + i] = x[row * cols + i] + bias[i % 4];
    }
    most[row] = found;
}
"""
YAML = """parameters: {block: 64, size: 64x32}
arguments:
  - {name: x, role: in, dtype: float32, shape: [rows, cols], fill: random}
  - {name: bias, role: in, dtype: float32, shape: 4, fill: [0, -inf, .inf, nan]}
  - {name: most, role: inout, dtype: float32, shape: rows, fill: -inf}
  - {name: out, role: out, dtype: float32, shape: [rows, cols]}
  - {name: n, scalar: int32, value: rows}
  - {name: m, scalar: int32, value: cols}
grid: ceil_div(rows, block)
reference:
  most: maximum(most, max(x, axis=1))
  out: x + bias[arange(cols) % 4]
"""


@pytest.fixture
def mine(tmp_path):
    """The kernel `mine`, in whose YAML or source a piece is replaced."""

    def read(old="", new=""):
        assert old in CU + YAML
        write_files(
            tmp_path,
            {"mine.cu": CU.replace(old, new) if old else CU, "mine.yaml": YAML.replace(old, new) if old else YAML},
        )
        return read_kernel(tmp_path / "mine.yaml")

    return read


@pytest.mark.parametrize(
    "text", ["-inf", "-.inf", "inf", ".inf", "+inf", "nan", ".nan", "{constant: -inf}", "{constant: .nan}"]
)
def test_a_fill_may_be_infinite_or_no_number(text, mine):
    """As C++ and NumPy write it, and as YAML does."""
    content = contents(case_of(mine("shape: rows, fill: -inf", f"shape: rows, fill: {text}")))["most"]
    expected = float(text.replace("constant:", "").strip("{} ").replace(".", ""))
    assert content.shape == (64,)
    np.testing.assert_array_equal(content, np.full(64, expected, np.float32))


def test_infinities_and_nan_in_a_list(mine):
    """Each number of a list may be one."""
    bias = contents(case_of(mine()))["bias"].tolist()
    assert bias[:3] == [0, -math.inf, math.inf]
    assert math.isnan(bias[3])


def test_the_check_takes_them_as_they_are(bench, mine):
    """What should be infinite, or no number, is compared as such, and finite results beside it by their bound."""
    outcome = bench.run(case_of(mine()))
    assert (outcome.status, outcome.reason) == ("ok", "")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("+ bias[i % 4];", "+ (i % 4 == 3 ? 0 : bias[i % 4]);", "expected nan"),
        ("+ bias[i % 4];", "- (i % 4 == 1 ? bias[1] : -bias[i % 4]);", "out[1] is inf, expected -inf"),
        ("+ bias[i % 4];", "+ (i % 4 == 1 ? -3e38f : bias[i % 4]);", "expected -inf"),
        ("float found = most[row];", "float found = 0;", "is 0, expected -0."),
    ],
)
def test_a_wrong_kernel_among_them_is_found(old, new, reason, bench, mine):
    """A number instead of NaN, the other sign, a large number instead of infinity, a maximum that starts at 0."""
    outcome = bench.run(case_of(mine(old, new)))
    assert outcome.status == "mismatch"
    assert reason in outcome.reason


@pytest.mark.parametrize("dtype", ["int32", "bool", "float8_e4m3"])
def test_a_type_without_them_is_told(dtype, mine):
    """The case says which type has no infinity, for a constant and in a list."""
    constant = mine("dtype: float32, shape: rows, fill: -inf", f"dtype: {dtype}, shape: rows, fill: -inf")
    assert f"fill: {dtype} has no -inf" in case_of(constant).excluded
    with pytest.raises(UsageError, match=f"fill: -inf is not a valid {dtype}"):
        case_of(mine("dtype: float32, shape: 4, fill: [0", f"dtype: {dtype}, shape: 4, fill: [0"))


def test_a_range_to_infinity_is_refused(mine):
    """Only contents may be infinite, not the ends of a range."""
    with pytest.raises(UsageError, match="inf is not a number between"):
        case_of(mine("fill: random", "fill: {range: [0, .inf]}"))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
def test_what_is_added_behind_an_output_is_found(dtype, bench, tmp_path):
    """Memory behind an array changes when a kernel adds a moderate number to it, of every type and length."""
    text = "__global__ void mine(SCALAR* y, int n) { int i = threadIdx.x; if (i <= n) y[i] = y[i] + SCALAR(1); }\n"
    yaml = f"""parameters: {{block: 64, size: 37, dtype: {dtype}}}
macros: [SCALAR]
arguments:
  - {{name: y, role: inout, dtype: dtype, shape: size, fill: index}}
  - {{name: n, scalar: int32, value: size}}
grid: 1
reference: {{y: y + 1}}
"""
    write_files(tmp_path, {"mine.cu": text, "mine.yaml": yaml})
    outcome = bench.run(case_of(read_kernel(tmp_path / "mine.yaml")))
    assert outcome.status in ("hazard", "mismatch"), outcome
    assert "'y': index 37" in outcome.reason or "outside 'y', beyond its end" in outcome.reason


@pytest.mark.parametrize("fill", ["nan", "inf"])
def test_a_check_of_nothing_finite_proves_nothing(fill, bench, tmp_path):
    """Any kernel that gives NaN would pass, so the case is unproven."""
    yaml = f"""parameters: {{block: 64, size: 100}}
arguments:
  - {{name: x, role: in, dtype: float32, shape: size, fill: {fill}}}
  - {{name: y, role: out, dtype: float32, shape: size}}
  - {{name: n, scalar: int32, value: size}}
grid: ceil_div(size, block)
reference: {{y: 3 * x}}
"""
    text = """__global__ void mine(const float* x, float* y, int n)
{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i]; }
"""
    write_files(tmp_path, {"mine.cu": text, "mine.yaml": yaml})
    outcome = bench.run(case_of(read_kernel(tmp_path / "mine.yaml")))
    assert outcome.status == "unproven"
    assert "no element of 'y' is expected to be finite" in outcome.reason
