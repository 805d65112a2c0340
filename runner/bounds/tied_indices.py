"""Indices of equal keys: a correct kernel may break a tie differently from the reference.

If an output is an argsort, argmax or argmin, or a part of one such as the top k, every valid index is correct: its key
equals the key of the expected index, and an argsort has each index once in a row. If an expression computes with the
indices, its result does not show which ones were chosen.
"""

from __future__ import annotations

import ast
import copy
import functools
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.bounds.array_expression import ArrayExpression
from runner.bounds.expected import Valid
from runner.bounds.formula import named
from runner.bounds.intervals import PERMUTING, as_int, plain
from runner.bounds.rounding import Arithmetic

Array = NDArray[Any]
INDICES = ("argsort", "argmax", "argmin")
MOVES = PERMUTING - {"repeat"}
MOST_NODES = 20_000  # of an expression that is looked into
HOLE = "the indices"  # the space keeps it apart from names of arrays


def accepting(expression: ArrayExpression, names: Mapping[str, Any], fp: Arithmetic | None) -> Valid | None:
    """The judge of an output's indices that differ from the reference; `None` if the output has no indices.

    Args:
        expression: The output's.
        names: Arrays and parameters by name. They are evaluated when the judge is called.
        fp: The kernel's arithmetic.
    """
    trees = _at_the_end(expression, [n for n, v in names.items() if isinstance(v, np.ndarray)])
    return functools.partial(_wrong, expression, trees, names, fp) if trees else None


def hides_indices(expression: ArrayExpression, arrays: Collection[str]) -> bool:
    """Whether an expression over these arrays computes with indices instead of giving them."""
    return _has_indices(expression) and _at_the_end(expression, arrays) is None


class _Replaced(ast.NodeTransformer):
    """Substitutes trees for names, and the name `HOLE` for one node."""

    def __init__(self, trees: Mapping[str, ast.expr], hole: ast.AST | None = None) -> None:
        self.trees, self.hole = trees, hole

    def visit(self, node: ast.AST) -> Any:
        return ast.Name(HOLE, ast.Load()) if node is self.hole else super().visit(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copy.deepcopy(self.trees[node.id]) if node.id in self.trees else node


def _has_indices(expression: ArrayExpression) -> bool:
    return any(next(_indices(t), None) for t in (expression.tree, *(e.tree for _, e in expression.helpers)))


def _size(expression: ArrayExpression) -> int:
    """The nodes of an expression with the definitions of `let` inserted, which may double with each definition."""
    sizes: dict[str, int] = {}

    def size(tree: ast.AST) -> int:
        return sum(sizes.get(n.id, 1) if isinstance(n, ast.Name) else 1 for n in ast.walk(tree))

    for name, helper in expression.helpers:
        sizes[name] = size(helper.tree)
    return size(expression.tree)


def _whole(expression: ArrayExpression) -> ast.expr:
    """The tree of an expression with the definitions of `let` inserted."""
    trees: dict[str, ast.expr] = {}
    for name, helper in expression.helpers:
        if isinstance(helper, ArrayExpression):
            trees[name] = _Replaced(trees).visit(copy.deepcopy(helper.tree)).body
    tree: ast.expr = _Replaced(trees).visit(copy.deepcopy(expression.tree)).body
    return tree


def _indices(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in INDICES:
            yield node


def _at_the_end(expression: ArrayExpression, arrays: Collection[str]) -> tuple[ast.expr, ast.Call] | None:
    """The tree and its one argsort, argmax or argmin; `None` unless the result is only moved afterwards."""
    if not _has_indices(expression) or _size(expression) > MOST_NODES:
        return None
    tree = _whole(expression)
    within, node = list(_indices(tree)), tree
    while len(within) == 1 and node is not within[0]:
        if isinstance(node, ast.Subscript) and named(node.slice).isdisjoint(arrays):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MOVES and node.args:
            node = node.args[0]
        else:
            return None
    return (tree, within[0]) if len(within) == 1 else None


def _wrong(
    expression: ArrayExpression,
    at: tuple[ast.expr, ast.Call],
    names: Mapping[str, Any],
    fp: Arithmetic | None,
    got: Array,
    differs: Array,
) -> Array:
    """The mask of the differing elements that are invalid indices; `got` and `differs` have the shape (n,)."""
    tree, call = at
    values = {**names, **{n: e(names) for n, e in expression.helpers if not isinstance(e, ArrayExpression)}}
    leaf = functools.partial(plain, arithmetic=fp)
    with np.errstate(all="ignore"):
        keys = expression.part(call.args[0])(values, leaf)
        if not keys.certain:  # the indices' own bounds include every choice that rounding allows
            return differs
        options = [*call.args[1:], *(k.value for k in call.keywords)]
        axis = as_int(expression.part(options[0])(values, leaf)) if options else None
        rows, expected, table = _rows(call.func.id, np.asarray(keys.value), axis)  # type: ignore[attr-defined]
        outer = expression.part(_Replaced({}, call).visit(tree))
        row, key = (np.asarray(outer({**values, HOLE: x}, plain).value).reshape(-1) for x in (rows, expected))
    length = table.shape[1]
    if row.size != got.size:
        return differs
    in_range = (got >= 0) & (got < length)
    index = np.where(in_range, got, 0).astype(np.int64)
    valid = in_range & (table[row, index] == key)
    if call.func.id == "argsort":  # type: ignore[attr-defined]
        _, where, counts = np.unique(row * length + index, return_inverse=True, return_counts=True)
        valid &= counts[where.reshape(-1)] == 1
    return np.asarray(differs & ~valid)


def _rows(name: str, keys: Array, axis: int | None) -> tuple[Array, Array, Array]:
    """For each index its row and its key, shaped as the result, and the keys as a table of shape (rows, length)."""
    if name == "argsort":
        axis = -1 if axis is None else axis
        last = np.moveaxis(keys, axis, -1)
        rows = np.broadcast_to(np.arange(last[..., 0].size).reshape((*last.shape[:-1], 1)), last.shape)
        return np.moveaxis(rows, -1, axis), np.sort(keys, axis=axis), last.reshape(-1, last.shape[-1])
    extreme = (np.max if name == "argmax" else np.min)(keys, axis=axis)
    if axis is None:
        return np.zeros((), np.int64), np.asarray(extreme), keys.reshape(1, -1)
    last = np.moveaxis(keys, axis, -1)
    return np.arange(np.size(extreme)).reshape(np.shape(extreme)), extreme, last.reshape(-1, last.shape[-1])
