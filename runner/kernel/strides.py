"""`stride(x, axis)` in an expression: elements from one index of an axis of an array to the next, in row-major order.

It is replaced by the product of the array's further lengths. So a leading dimension follows the shape at any size.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Mapping, Sequence

from runner.bounds.formula import parse, shortened
from runner.errors import UsageError

_CALL = re.compile(r"\bstride\s*\(")


def with_strides(text: str, shapes: Mapping[str, Sequence[str]], where: str, within: tuple[str, ...] = ()) -> str:
    """Replace each call of `stride` in an expression.

    Args:
        text: The expression.
        shapes: The lengths of each array as expressions, the slowest axis first, by the array's name.
        where: File and key, for messages.
        within: The arrays whose shapes are being read, to detect a circle.

    Raises:
        UsageError: An array is unknown, has no such axis, or has a shape that needs its own stride.
    """
    if not _CALL.search(text):
        return text
    shown = f"{where}: '{shortened(text)}'"

    class Replaced(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.AST:
            if not isinstance(node.func, ast.Name) or node.func.id != "stride":
                return self.generic_visit(node)
            name, axis = _arguments(node, shown)
            if name not in shapes:
                raise UsageError(f"{shown}: stride: '{name}' is not an array; known: {', '.join(shapes)}")
            if name in within:
                raise UsageError(f"{shown}: the shape of '{name}' needs its own stride")
            lengths = shapes[name]
            if not -len(lengths) <= axis < len(lengths):
                allowed = f"{-len(lengths)} to {len(lengths) - 1}"
                raise UsageError(f"{shown}: stride: '{name}' has no axis {axis}; allowed: {allowed}")
            further = lengths[axis % len(lengths) + 1 :]
            product = " * ".join(f"({with_strides(n, shapes, where, (*within, name))})" for n in further) or "1"
            return parse(product, where).body

    return ast.unparse(Replaced().visit(copy.deepcopy(parse(text, where))))


def _arguments(call: ast.Call, shown: str) -> tuple[str, int]:
    """The array and the axis that a call names."""
    match call.args:
        case [ast.Name(id=name), ast.Constant(value=int(axis))] if not call.keywords:
            return name, axis
        case [ast.Name(id=name), ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(axis)))] if (
            not call.keywords
        ):
            return name, -axis
    raise UsageError(f"{shown}: stride takes an array and the number of an axis, such as stride(a, 0)")
