"""Expressions over arrays, such as references: each result carries the bounds of its rounding error."""

from __future__ import annotations

import ast
import functools
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from runner.bounds import functions, intervals
from runner.bounds.formula import Evaluate, Formula, Table, called, function_of
from runner.bounds.rounding import Arithmetic
from runner.errors import UsageError


def _words(node: ast.AST) -> list[ast.expr]:
    """Where text may stand: in a comparison, and the subscripts of einsum."""
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    is_einsum = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "einsum"
    return node.args[:1] if isinstance(node, ast.Call) and is_einsum else []


@dataclass(frozen=True)
class ArrayExpression(Formula):
    """An expression over named arrays and parameters, evaluated with NumPy."""

    helpers: tuple[tuple[str, Formula], ...] = ()  # definitions of the key `let`, in order of use

    TABLE: ClassVar[Table] = {**functions.TABLE, **intervals.TABLE}
    SYNTAX = (ast.Subscript, ast.Slice, ast.Tuple, ast.keyword)
    CONSTANTS = (int, float, str)
    OPERATORS = "+ - * / // % ** @ << >> & | ^ ~, comparisons, slices"
    KEYWORDS = functions.KEYWORDS
    INSTEAD: ClassVar[Mapping[type[ast.AST], str]] = {
        ast.BoolOp: "and, or; write & or | between comparisons in parentheses", ast.Not: "not; write ~",
        ast.IfExp: "if; write where(condition, a, b)",
        ast.List: "a list; write an array, such as arange(n), or stack(a, b)",
    }  # fmt: skip
    ELSEWHERE: ClassVar[Mapping[str, str]] = {
        "ceil_div": " (of arrays, write (a + b - 1) // b; give its result of parameters a name under 'let')",
        **dict.fromkeys(("itemsize", "popcount"), " (of parameters alone; give its result a name under 'let')"),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.tree.body, ast.Constant) and isinstance(self.tree.body.value, str):
            raise UsageError(
                f"{self.shown} is text; expected an expression, in which names have no quotes of their own"
            )
        words = {id(n) for each in ast.walk(self.tree) for n in _words(each)}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in words:
                raise UsageError(
                    f"{self.shown}: the text '{node.value}' is not a number; text is compared, as in mode == 'fast', "
                    "or the first argument of einsum"
                )

    @property
    def names(self) -> frozenset[str]:
        """The parameters and arrays that it and its helpers read."""
        own = super().names.union(*(e.names for _, e in self.helpers))
        return own - {name for name, _ in self.helpers}

    @property
    def _trees(self) -> list[ast.Expression]:
        return [self.tree, *(e.tree for _, e in self.helpers if isinstance(e, ArrayExpression))]

    @property
    def only_moves(self) -> bool:
        """Whether it only moves elements of arrays, so that the result is exact."""
        plain = (ast.Expression, ast.Call, ast.Name, ast.Load, ast.Constant)
        moves = all(isinstance(n, plain) for n in ast.walk(self.tree)) and called(self.tree) <= intervals.PERMUTING
        return moves and not self.helpers

    @property
    def adds(self) -> bool:
        """Whether it contains sums."""
        return self._calls(functions.SUMS) or self._has(ast.MatMult)

    @property
    def selects(self) -> bool:
        """Whether it selects elements by their values, so that one input does not take every path."""
        return self._calls(intervals.SELECTING | functions.SELECTING) or self._has(ast.Compare)

    @property
    def divides(self) -> bool:
        """Whether it contains divisions or remainders."""
        return any(self._has(kind) for kind in (ast.Div, ast.FloorDiv, ast.Mod))

    @property
    def orders(self) -> bool:
        """Whether it may sum sorted numbers or running sums, whose signs are not random."""
        return self._calls(functions.ORDERING)

    @property
    def elementwise(self) -> bool:
        """Whether each element of the result depends only on the elements at the same index."""
        moved = self._has(ast.Subscript) or self._has(ast.MatMult) or self.helpers
        others = {k for k in self.TABLE if isinstance(k, str)} - intervals.ELEMENTWISE - functions.ELEMENTWISE
        return not moved and not self._calls(others)

    def part(self, node: ast.expr, table: Table | None = None) -> Evaluate:
        """Compile a part of its tree, by default with the functions of `TABLE`."""
        return function_of(node, table or self.TABLE)

    def _calls(self, functions: Collection[str]) -> bool:
        return any(not called(tree).isdisjoint(functions) for tree in self._trees)

    def _has(self, kind: type[ast.AST]) -> bool:
        return any(isinstance(n, kind) for tree in self._trees for n in ast.walk(tree))

    def __call__(self, names: Mapping[str, Any], arithmetic: Arithmetic | None = None) -> intervals.Bounded:
        """Evaluate with bounds of the rounding errors.

        Args:
            names: NumPy arrays and numbers, by name.
            arithmetic: The kernel's; `None` evaluates without rounding.

        Returns:
            The value with its bounds, in the shape that NumPy's broadcasting gives.

        Raises:
            UsageError: A name is unknown, or the shapes do not fit.
        """
        leaf = functools.partial(intervals.plain, arithmetic=arithmetic)
        with np.errstate(all="ignore"):
            for name, helper in self.helpers:
                value = helper.evaluate(names, leaf) if isinstance(helper, ArrayExpression) else helper(names)
                names = {**names, name: value}
            return self.evaluate(names, leaf)  # type: ignore[no-any-return]
