"""References written in a kernel's YAML, such as `a * x + y`: expressions over arrays.

Evaluated with NumPy, in a wider type for floats. Beside each value goes its magnitude, the value that would come out
if nothing cancelled: |a + b| becomes |a| + |b|. A floating-point kernel's error is bounded by it (Higham, Accuracy and
Stability of Numerical Algorithms, section 3.1), however small the value itself is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.errors import UsageError
from runner.kernel.expression import shortened

Array = NDArray[Any]


@dataclass(frozen=True)
class Sized:
    """A value, its magnitude, and how many rounded operations lie one behind the other in it."""

    value: Array
    magnitude: Array
    depth: int = 0


@dataclass(frozen=True)
class ArrayExpression:
    """An expression over named arrays and the parameters of a case.

    Attributes:
        text: As written.
        where: File and key, for messages.
    """

    text: str
    where: str

    def __post_init__(self) -> None:
        for node in ast.walk(self._parsed()):
            if not isinstance(node, _ALLOWED):
                raise UsageError(
                    f"{self.where}: '{shortened(self.text)}' uses {type(node).__name__}; allowed are + - * / // % **, "
                    f"comparisons, slices, and {', '.join((*_MOVES, *_FUNCTIONS))}"
                )
            if isinstance(node, ast.Call) and (
                not isinstance(node.func, ast.Name) or node.func.id not in {**_MOVES, **_FUNCTIONS} or node.keywords
            ):
                raise UsageError(
                    f"{self.where}: '{shortened(self.text)}' calls what is none of {', '.join((*_MOVES, *_FUNCTIONS))}"
                )

    @property
    def names(self) -> frozenset[str]:
        """The arrays and parameters it reads."""
        nodes = ast.walk(self._parsed())
        return frozenset(n.id for n in nodes if isinstance(n, ast.Name)) - _MOVES.keys() - _FUNCTIONS.keys()

    @property
    def only_moves(self) -> bool:
        """Whether each element of the result is one of an array's: nothing is calculated, and so nothing rounded."""
        calls = (n.func for n in ast.walk(self._parsed()) if isinstance(n, ast.Call))
        plain = all(isinstance(n, _OF_MOVES) for n in ast.walk(self._parsed()))
        return plain and all(isinstance(f, ast.Name) and f.id in _PERMUTING for f in calls)

    def __call__(self, names: Mapping[str, Any]) -> Sized:
        """Evaluate over arrays and numbers.

        Raises:
            UsageError: if a name is unknown or the shapes do not fit.
        """
        try:
            with np.errstate(all="ignore"):
                return _evaluate(self._parsed().body, names)
        except KeyError as e:
            raise UsageError(
                f"{self.where}: '{shortened(self.text)}' names {e}, which is none of {', '.join(names)}"
            ) from None
        except (ValueError, TypeError, IndexError) as e:
            raise UsageError(f"{self.where}: '{shortened(self.text)}' cannot be evaluated: {e}") from None

    def _parsed(self) -> ast.Expression:
        try:
            return _Restored().visit(ast.parse(_IN.sub(_SAFE, self.text.strip()), mode="eval"))  # type: ignore[no-any-return]
        except (SyntaxError, ValueError):
            raise UsageError(f"{self.where}: '{shortened(self.text)}' is no expression") from None


# Kernels like to call an array `in`, which is a keyword to Python's parser and nothing but a name here.
_IN = re.compile(r"\bin\b")
_SAFE = "_the_array_in"


class _Restored(ast.NodeTransformer):
    """Gives the array `in` its name back."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name("in", node.ctx) if node.id == _SAFE else node


_ALLOWED = (
    ast.Expression, ast.Constant, ast.Name, ast.Load, ast.BinOp, ast.UnaryOp, ast.USub, ast.UAdd, ast.Compare, ast.Call,
    ast.Subscript, ast.Slice, ast.Tuple, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow,
    ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE,
)  # fmt: skip
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide, ast.FloorDiv: np.floor_divide,
    ast.Mod: np.mod, ast.Pow: np.power, ast.BitAnd: np.bitwise_and, ast.BitOr: np.bitwise_or,
    ast.BitXor: np.bitwise_xor, ast.LShift: np.left_shift, ast.RShift: np.right_shift,
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: np.equal, ast.NotEq: np.not_equal, ast.Lt: np.less, ast.LtE: np.less_equal, ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
}  # fmt: skip


def _sum(x: Array, axis: int | None = None) -> Array:
    """Integers wrap in their own type, as they do on a GPU."""
    return np.sum(x, axis=axis, dtype=x.dtype if x.dtype.kind in "iu" else None)


def _cumsum(x: Array) -> Array:
    return np.cumsum(x, dtype=x.dtype if x.dtype.kind in "iu" else None)


# Functions that only move, pick or add elements: a magnitude goes through them like a value.
_MOVES: dict[str, Callable[..., Any]] = {
    "sum": _sum,
    "cumsum": _cumsum,
    "transpose": np.transpose,
    "reshape": lambda x, *shape: np.reshape(x, shape),
    "roll": np.roll,
    "flip": np.flip,
    "pad": np.pad,
    "repeat": np.repeat,
    "where": np.where,
}
_PERMUTING = frozenset(("transpose", "reshape", "roll", "flip", "repeat"))
_OF_MOVES = (ast.Expression, ast.Call, ast.Name, ast.Load, ast.Constant)
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "arange": np.arange,
}


def _evaluate(node: ast.expr, names: Mapping[str, Any]) -> Sized:
    match node:
        case ast.Constant(value=int() | float() as value):
            return _plain(value)
        case ast.Name(id=name):
            return _plain(names[name])
        case ast.UnaryOp(op=op, operand=operand):
            x = _evaluate(operand, names)
            return Sized(-x.value if isinstance(op, ast.USub) else x.value, x.magnitude, x.depth)
        case ast.BinOp(left=left, op=binary, right=right):
            return _binary(binary, _evaluate(left, names), _evaluate(right, names))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            compare = _COMPARISONS[type(op)]
            return _plain(compare(_evaluate(left, names).value, _evaluate(right, names).value))
        case ast.Call(func=ast.Name(id=name), args=args):
            return _call(name, [_evaluate(a, names) for a in args])
        case ast.Subscript(value=inner, slice=where):
            x, at = _evaluate(inner, names), _index(where, names)
            return Sized(x.value[at], x.magnitude[at], x.depth)
    raise TypeError(f"{type(node).__name__} is not understood here")


def _plain(value: Any) -> Sized:
    # Python's own integers stay as they are: NumPy then keeps the type of the array they meet.
    return Sized(value, np.abs(value))


def _binary(op: ast.operator, a: Sized, b: Sized) -> Sized:
    value = _OPERATORS[type(op)](a.value, b.value)
    depth = max(a.depth, b.depth) + 1
    if isinstance(op, ast.Add | ast.Sub):
        return Sized(value, a.magnitude + b.magnitude, depth)
    if isinstance(op, ast.Mult):
        return Sized(value, a.magnitude * b.magnitude, depth)
    if isinstance(op, ast.Div):
        return Sized(value, a.magnitude / np.abs(b.value), depth)
    return Sized(value, np.abs(value), depth)


def _call(name: str, args: list[Sized]) -> Sized:
    depth = max((a.depth for a in args), default=0)
    values = [a.value for a in args]
    if name not in _MOVES:
        value = _FUNCTIONS[name](*values)
        return Sized(
            value, np.abs(value), depth + 4
        )  # up to 2 ulp (CUDA C++ Programming Guide, "Mathematical Functions")
    # Of the arguments only arrays have a magnitude of their own; axes and amounts are the same for both.
    magnitudes = [a.magnitude if np.ndim(a.value) else a.value for a in args]
    if name == "where":
        magnitudes = [args[0].value, args[1].magnitude, args[2].magnitude]
    added = int(np.ceil(np.log2(max(np.size(values[0]), 2)))) if name in ("sum", "cumsum") else 0
    return Sized(_MOVES[name](*values), _MOVES[name](*magnitudes), depth + added)


def _index(node: ast.expr, names: Mapping[str, Any]) -> Any:
    match node:
        case ast.Tuple(elts=elements):
            return tuple(_index(e, names) for e in elements)
        case ast.Slice(lower=lower, upper=upper, step=step):
            return slice(*(None if e is None else int(_evaluate(e, names).value) for e in (lower, upper, step)))
    return int(_evaluate(node, names).value)
