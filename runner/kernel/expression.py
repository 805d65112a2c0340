"""Expressions over the parameters of a case (grids, shapes, constraints, metrics). They give a number or a word."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from runner.bounds.formula import LARGEST_BITS, Formula, Table, bits, shortened, true
from runner.errors import UsageError
from runner.kernel.arrays import DTYPES

Value = int | float | bool | str


def ceil_div(a: int, b: int) -> int:
    """`a / b`, rounded up. Python's error messages show this function's name."""
    return -(-a // b)


def _itemsize(dtype: str) -> int:
    if dtype not in DTYPES:
        raise ValueError(f"itemsize: '{dtype}' is not a dtype; allowed: {', '.join(DTYPES)}")
    return DTYPES[dtype].itemsize


def _checked(operation: Callable[[Any, Any], Any], *, grows: bool = False) -> Callable[[Any, Any], Any]:
    """An operation on numbers that refuses text, and results of more than `LARGEST_BITS` bits."""

    def checked(left: Any, right: Any) -> Any:
        if isinstance(left, str) or isinstance(right, str):
            raise TypeError("an operand is text; expected a number")
        if grows and not 0 <= right <= LARGEST_BITS:
            raise ValueError(f"exponent {right} is not within 0 to {LARGEST_BITS}")
        result = operation(left, right)
        if bits(result) > LARGEST_BITS:
            raise OverflowError(f"the result needs more than {LARGEST_BITS} bits")
        return result

    return checked


def _popcount(a: Any) -> int:
    if not isinstance(a, int) or a < 0:
        raise ValueError(f"popcount: {shortened(str(a))} is not an integer of 0 or more")
    return a.bit_count()


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ceil_div": ceil_div, "min": min, "max": max, "popcount": _popcount, "itemsize": _itemsize,
}  # fmt: skip
_NUMBERS: Table = {
    ast.Add: _checked(operator.add), ast.Sub: _checked(operator.sub), ast.Mult: _checked(operator.mul),
    ast.FloorDiv: _checked(operator.floordiv), ast.Mod: _checked(operator.mod),
    ast.Pow: _checked(operator.pow, grows=True), ast.LShift: _checked(operator.lshift, grows=True),
    ast.RShift: _checked(operator.rshift), ast.BitAnd: _checked(operator.and_), ast.BitOr: _checked(operator.or_),
    ast.BitXor: _checked(operator.xor), ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
    ast.Not: lambda a: not true(a), ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt,
    ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, **FUNCTIONS,
}  # fmt: skip


@dataclass(frozen=True)
class Expression(Formula):
    """An expression over the parameters of a case: an integer, true or false, or a word."""

    number: bool = False  # whether the result must be a number, not text such as a dtype's name

    TABLE = _NUMBERS
    SYNTAX = (ast.BoolOp, ast.And, ast.Or)
    CONSTANTS: ClassVar[tuple[type, ...]] = (int, str)
    OPERATORS = "+ - * // % ** << >> & | ^ ~, comparisons, and/or/not"
    WHOLE: ClassVar[bool] = True  # whether a number must be an integer

    def __call__(self, variables: Mapping[str, Value]) -> Any:
        """Evaluate with parameters by name.

        Raises UsageError if a name is unknown, a divisor is zero, a result needs more than 128 bits, or an integer is
        expected and the result is a fraction or text.
        """
        value = self.evaluate(variables, lambda v: v)
        if self.number and isinstance(value, str):
            raise UsageError(f"{self.shown} gives the text '{value}'; expected a number")
        if self.number and self.WHOLE and isinstance(value, float):
            if not value.is_integer():
                raise UsageError(f"{self.shown} gives {value}; expected an integer")
            return int(value)
        return value


@dataclass(frozen=True)
class RealExpression(Expression):
    """An expression that may give any number: a float's value, a condition, a metric."""

    TABLE: ClassVar[Table] = {
        **_NUMBERS, ast.Div: _checked(operator.truediv),
        **{name: getattr(math, name) for name in ("sqrt", "exp", "log", "log2", "log10")}, "abs": abs,
    }  # fmt: skip
    CONSTANTS = (int, float, str)
    OPERATORS = "+ - * / // % ** << >> & | ^ ~, comparisons, and/or/not"
    WHOLE = False


def integer(text: str) -> int:
    """Evaluate an integer expression of constants, such as `2**24`, `0xff` or `1<<24`. Raises ValueError otherwise."""
    try:
        value = Expression(text, "value")({})
    except UsageError as e:
        raise ValueError(text) from e
    if type(value) is not int:
        raise ValueError(text)
    return value
