"""Expressions of kernel YAMLs: grid, shared memory, shapes, bytes, constraints.

Python's own parser reads them; a walk over the few allowed node types evaluates them. No `eval`, no attribute, no
call but of the functions named here, no number that could eat the memory.
"""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from runner.errors import UsageError
from runner.kernel.dtypes import DTYPES

Value = int | float | bool | str

LONGEST_SHOWN = 80

LARGEST_BITS = 128  # wide enough for products of sizes, too narrow for 9**9**9 to hurt

_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def ceil_div(a: int, b: int) -> int:
    """`a / b`, rounded up."""
    return -(-a // b)


def popcount(a: int) -> int:
    """Bits set in `a`."""
    return a.bit_count()


def itemsize(dtype: str) -> int:
    """Bytes of one element of a dtype."""
    if dtype not in DTYPES:
        raise ValueError(f"itemsize: '{dtype}' is none of the dtypes {', '.join(DTYPES)}")
    return DTYPES[dtype].itemsize


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ceil_div": ceil_div,
    "min": min,
    "max": max,
    "popcount": popcount,
    "itemsize": itemsize,
}


@dataclass(frozen=True)
class Expression:
    """An integer (or true-or-false) expression over the parameters of a case.

    Attributes:
        text: As written, such as `ceil_div(size, block * unroll)`.
        where: File and key, for messages.
        number: Whether text, such as a dtype's name, is no result.
    """

    text: str
    where: str
    number: bool = False

    def __post_init__(self) -> None:
        for node in ast.walk(_parse(self.text, self.where)):
            _require_allowed(node, self)

    @property
    def names(self) -> frozenset[str]:
        """The parameters it reads."""
        nodes = ast.walk(_parse(self.text, self.where))
        return frozenset(n.id for n in nodes if isinstance(n, ast.Name)) - FUNCTIONS.keys()

    def __call__(self, variables: Mapping[str, Value]) -> Any:
        """Evaluate.

        Raises:
            UsageError: if it names what is no parameter, divides by zero, or leaves 128 bits.
        """
        try:
            value = _evaluate(_parse(self.text, self.where).body, variables)
        except KeyError as e:
            known = ", ".join(sorted(variables))
            raise UsageError(f"{self.where}: '{shortened(self.text)}' names {e}, which is none of {known}") from None
        except (ArithmeticError, TypeError, ValueError) as e:
            raise UsageError(f"{self.where}: '{shortened(self.text)}' cannot be evaluated: {e}") from None
        if self.number and isinstance(value, str):
            raise UsageError(f"{self.where}: '{shortened(self.text)}' gives the text '{value}'; a number is expected")
        return value


def shortened(text: str) -> str:
    """An expression's text for a message; a long one is cut."""
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 3]}..."


def integer(text: str) -> int:
    """Evaluate an integer expression without variables, such as `2**24`, `0xff` or `1<<24`.

    Raises:
        ValueError: if it is none.
    """
    try:
        value = Expression(text, "value")({})
    except UsageError as e:
        raise ValueError(text) from e
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ValueError(text)


@functools.lru_cache(maxsize=4096)
def _parse(text: str, where: str) -> ast.Expression:
    try:
        return ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UsageError(f"{where}: '{shortened(text)}' is no expression") from None


_ALLOWED = (
    ast.Expression,
    ast.Constant,
    ast.Name,
    ast.Load,
    ast.BinOp,
    ast.UnaryOp,
    ast.BoolOp,
    ast.Compare,
    ast.Call,
    ast.And,
    ast.Or,
    *_ARITHMETIC,
    *_UNARY,
    *_COMPARISONS,
)


def _require_allowed(node: ast.AST, expression: Expression) -> None:
    where = f"{expression.where}: '{shortened(expression.text)}'"
    if not isinstance(node, _ALLOWED):
        what = type(node).__name__
        raise UsageError(
            f"{where} uses {what}; allowed are + - * // % ** << >> & | ^ ~, comparisons, and/or/not, "
            f"and {', '.join(FUNCTIONS)}"
        )
    if isinstance(node, ast.Constant) and not isinstance(node.value, int | str):
        raise UsageError(f"{where} has the constant {node.value!r}; only integers are allowed")
    if isinstance(node, ast.Call) and (
        not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS or node.keywords
    ):
        raise UsageError(f"{where} calls what is none of the functions {', '.join(FUNCTIONS)}")


def _evaluate(node: ast.expr, variables: Mapping[str, Value]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return variables[name]
        case ast.BinOp(left=left, op=op, right=right):
            return _arithmetic(op, _evaluate(left, variables), _evaluate(right, variables))
        case ast.UnaryOp(op=unary, operand=operand):
            return _UNARY[type(unary)](_evaluate(operand, variables))
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_evaluate(v, variables) for v in values)
        case ast.BoolOp(values=values):
            return any(_evaluate(v, variables) for v in values)
        case ast.Compare(left=first, ops=ops, comparators=rest):
            return _compare(_evaluate(first, variables), ops, [_evaluate(r, variables) for r in rest])
        case ast.Call(func=ast.Name(id=name), args=args):
            return FUNCTIONS[name](*(_evaluate(a, variables) for a in args))
    raise TypeError(type(node).__name__)


def _arithmetic(op: ast.operator, left: Any, right: Any) -> Any:
    if isinstance(left, str) or isinstance(right, str):
        raise TypeError("text cannot be calculated with")
    if isinstance(op, ast.Pow | ast.LShift) and not 0 <= right <= LARGEST_BITS:
        raise ValueError(f"exponent {right} is not within 0 to {LARGEST_BITS}")
    result = _ARITHMETIC[type(op)](left, right)
    if isinstance(result, int) and result.bit_length() > LARGEST_BITS:
        raise OverflowError(f"the result needs more than {LARGEST_BITS} bits")
    return result


def _compare(left: Any, ops: list[ast.cmpop], rest: list[Any]) -> bool:
    for op, right in zip(ops, rest, strict=True):
        if not _COMPARISONS[type(op)](left, right):
            return False
        left = right
    return True
