import pytest

from runner.errors import UsageError
from runner.kernel.expression import Expression

KNOWN = {"block": 256, "size": 1000, "mask": 0xFF, "dtype": "float64"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ceil_div(size, block)", 4), ("block * 2 + 1", 513), ("-size // 3", -334), ("2**10 % 7", 2), ("~0 & mask", 255),
        ("1 << 4 | 1", 17), ("block ^ block", 0), ("popcount(mask)", 8), ("itemsize(dtype) * block", 2048),
        ("min(size, block, 7)", 7), ("max(1, 2)", 2), ("0x10", 16), ("block % 32 == 0 and size > 1", True),
        ("not (1 < size < 10)", True), ("block == 1 or size == 1000", True), ("size >> 3", 125),
    ],
)  # fmt: skip
def test_expressions_mean_what_they_do_in_python(text, value):
    """Every documented operator and function gives Python's own result."""
    assert Expression(text, "here")(KNOWN) == value


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')", "size.bit_length()", "[1][0]", "lambda: 1", "open('x')", "1 if size else 2",
        "size := 1", "f'{size}'", "1.5 * size", "block block", "", "x" * 10 + "(", "min(*size)", "min(size, key=block)",
        "(" * 500 + ")" * 500, "exec('1')", "size if", "{}", "...", "None",
    ],
)  # fmt: skip
def test_nothing_else_is_an_expression(text):
    """What is no expression of the documented kind is refused when it is read, before any value is known."""
    with pytest.raises(UsageError):
        Expression(text, "here")


@pytest.mark.parametrize(
    "text",
    ["1 // 0", "size % 0", "9**9**9", "1 << 1000", "2**-1", "2**128 * 2**64", "dtype + 1", "nope", "itemsize(7)"],
)
def test_what_cannot_be_evaluated_says_so(text):
    """A division by zero, a number without bounds or an unknown name is a sentence that quotes the expression."""
    with pytest.raises(UsageError, match="here: '"):
        Expression(text, "here")(KNOWN)


def test_an_expression_knows_the_names_it_reads():
    """Functions are no names of parameters."""
    assert Expression("ceil_div(size, block * 2)", "here").names == {"size", "block"}
