"""Branch coverage of a reference: the sides of comparisons, `where`, `clip`, `max`, `rint`, ... that inputs take.

A defect in a branch shows only for inputs that take it. So the further inputs of the check (`runner.kernel.further`)
are chosen by the branches that the reference takes. It is evaluated in double precision, without bounds.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.bounds.array_expression import ArrayExpression
from runner.bounds.formula import named, shortened
from runner.bounds.intervals import Bounded, amount, plain
from runner.bounds.rounding import Arithmetic, is_float
from runner.bounds.tied_indices import INDICES
from runner.errors import UsageError
from runner.kernel.arrays import DType, part_types, with_parts
from runner.kernel.case import READ, Case

Array = NDArray[Any]


@dataclass(frozen=True)
class Side:
    """One side of a branch in a reference."""

    node: str  # its text, such as `clip(in, 0, 6)`
    name: str
    told: str = ""  # the note if no input reaches it; empty: it is optional
    beyond: bool = False  # whether inputs may leave the range of their fill to reach it
    start: bool = False  # of a maximum or minimum: it shows a wrong initial value of the kernel's accumulator


@dataclass(frozen=True)
class Reached:
    """The branches that the reference took for some inputs."""

    sides: frozenset[Side]
    finite: bool  # whether all outputs are finite in their own types
    tied: frozenset[str]  # the texts of argsort, argmax and argmin whose keys are not distinct


Sides = Callable[..., Iterator[str]]  # from the operands' values: the names of the sides taken


def _order(a: Any, b: Any) -> Iterator[str]:
    yield from (n for n, found in (("less", a < b), ("equal", a == b), ("greater", a > b)) if np.any(found))


def _compared(operator: type[ast.cmpop]) -> Sides:
    true = {
        ast.Lt: {"less"}, ast.LtE: {"less", "equal"}, ast.Gt: {"greater"}, ast.GtE: {"greater", "equal"},
        ast.Eq: {"equal"}, ast.NotEq: {"less", "greater"},
    }[operator]  # fmt: skip

    def sides(a: Any, b: Any) -> Iterator[str]:
        found = set(_order(a, b))
        yield from found
        yield from (n for n, some in (("true", found & true), ("false", found - true)) if some)

    return sides


def _where(condition: Any, *_: Any) -> Iterator[str]:
    yield from (n for n, found in (("true", condition != 0), ("false", condition == 0)) if np.any(found))


def _clip(x: Any, least: Any, most: Any) -> Iterator[str]:
    inside = (x > least) & (x < most)
    yield from (n for n, found in (("below", x < least), ("within", inside), ("above", x > most)) if np.any(found))


def _sign(x: Any) -> Iterator[str]:
    yield from (n for n, found in (("negative", x < 0), ("zero", x == 0), ("positive", x > 0)) if np.any(found))


def _steps(x: Any) -> Iterator[str]:
    """Sides of floor and ceil: fractions on both sides of 0, and integers."""
    whole = x == np.rint(x)
    names = (("whole", whole), ("negative", ~whole & (x < 0)), ("positive", ~whole & (x > 0)))
    yield from (n for n, found in names if np.any(found))


def _rint(x: Any) -> Iterator[str]:
    tie = np.abs(x - np.trunc(x)) == 0.5
    if np.any(tie):
        yield "tie"
        yield from (n for n, found in (("down", np.rint(x) < x), ("up", np.rint(x) > x)) if np.any(tie & found))
    yield from _steps(x)


def _starts(x: Any, axis: Any = None, **_: Any) -> Iterator[str]:
    """Sides of a maximum or minimum: rows that lie on one side of 0, of -1 or of 1."""
    at = amount(axis)
    most, least = np.max(x, axis=at), np.min(x, axis=at)
    names = (("below 0", most < 0), ("below -1", most < -1), ("above 0", least > 0), ("above 1", least > 1))
    yield from (n for n, found in names if np.any(found))


_LOW, _HIGH = ("below 0", "below -1"), ("above 0", "above 1")
_STARTS = {
    "max": _LOW, "argmax": _LOW, "cummax": _LOW, "min": _HIGH, "argmin": _HIGH, "cummin": _HIGH,
    "sort": (*_LOW, *_HIGH), "argsort": (*_LOW, *_HIGH),
}  # fmt: skip
_FUNCTIONS: Mapping[str, Sides] = {
    "where": _where, "maximum": _order, "minimum": _order, "clip": _clip, "sign": _sign, "abs": _sign, "floor": _steps,
    "ceil": _steps, "rint": _rint, **dict.fromkeys(_STARTS, _starts),
}  # fmt: skip


def _possible(node: ast.Call | ast.Compare) -> dict[str, Side]:
    """The sides of a node, by their names."""
    text = shortened(ast.unparse(node), 60)

    def side(name: str, told: str = "", **more: bool) -> tuple[str, Side]:
        return name, Side(text, name, told, **more)

    if isinstance(node, ast.Compare):
        truth = [side(n, f"no input makes '{text}' {n}", beyond=True) for n in ("true", "false")]
        return dict([*truth, *(side(n, beyond=True) for n in ("less", "equal", "greater"))])
    called = node.func.id if isinstance(node.func, ast.Name) else ""
    if called in _STARTS:
        return dict(side(n, beyond=True, start=True) for n in _STARTS[called])
    args = [shortened(ast.unparse(a), 30) for a in node.args]
    if called == "where":
        shown = not isinstance(node.args[0], ast.Compare)  # a comparison has its own note
        return dict(
            side(n, f"no input makes the condition of '{text}' {n}" if shown else "", beyond=True)
            for n in ("true", "false")
        )
    if called in ("maximum", "minimum"):
        first, other = ("greater", "less") if called == "maximum" else ("less", "greater")
        taken = [side(n, f"no input lets '{text}' take {a}", beyond=True) for n, a in zip((first, other), args)]  # noqa: B905
        return dict(taken)
    if called == "clip":
        names = ("below", "within", "above")
        return dict(side(n, f"no input is {n} the limits of '{text}'", beyond=True) for n in names)
    if called == "sign":
        return dict(
            side(n, f"no input makes the argument of '{text}' {n}", beyond=True)
            for n in ("negative", "zero", "positive")
        )
    if called == "rint":
        tie = side("tie", f"no input is a tie of '{text}'")
        return dict([tie, *(side(n) for n in ("down", "up", "whole", "negative", "positive"))])
    return dict(side(n) for n in ("negative", "positive", *(("whole",) if called != "abs" else ())))


class _Watched(ast.NodeTransformer):
    """Replaces each node with sides by a call of a function that records them, added to the evaluation's table."""

    def __init__(self, arrays: Collection[str], table: Mapping[Any, Callable[..., Any]], seen: Branches) -> None:
        self.arrays, self.table, self.seen = arrays, dict(table), seen

    def visit_Call(self, node: ast.Call) -> ast.AST:
        original = copy.deepcopy(node)
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in _FUNCTIONS and not named(original).isdisjoint(self.arrays):
            node.func = self._named(original, self.table[name], _FUNCTIONS[name], name)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        original = copy.deepcopy(node)
        self.generic_visit(node)
        if len(node.ops) > 1 or named(original).isdisjoint(self.arrays):
            return node
        kind = type(node.ops[0])
        return ast.Call(
            self._named(original, self.table[kind], _compared(kind), ""), [node.left, *node.comparators], []
        )

    def _named(self, node: ast.Call | ast.Compare, function: Callable[..., Any], sides: Sides, name: str) -> ast.Name:
        possible, key = _possible(node), f"{len(self.table)} {name}"
        self.seen.possible.update(possible.values())
        text = ast.unparse(node)

        def call(*operands: Any, **options: Any) -> Any:
            values = [np.asarray(x.value) for x in operands if isinstance(x, Bounded)]
            given = (values[0],) if sides is _starts else values
            axis = options.get("axis", operands[1] if len(operands) > 1 and sides is _starts else None)
            names = sides(*given, **({"axis": axis} if sides is _starts else {}))
            self.seen.found.update(possible[n] for n in names if n in possible)
            if name in INDICES and _ties(name, values[0], amount(axis)):
                self.seen.tied.add(text)
            return function(*operands, **options)

        self.table[key] = call
        return ast.Name(key, ast.Load())


def _ties(name: str, keys: Array, axis: int | None) -> bool:
    """Whether equal keys make more than one order, or more than one index, right."""
    if name == "argsort":
        along = -1 if axis is None else axis
        return bool(np.any(np.diff(np.sort(keys, axis=along), axis=along) == 0))
    extreme = (np.max if name == "argmax" else np.min)(keys, axis=axis, keepdims=True)
    return bool(np.any(np.sum(keys == extreme, axis=axis) > 1))


class Branches:
    """The branches of a case's reference expressions."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.possible: set[Side] = set()
        self.found: set[Side] = set()
        self.tied: set[str] = set()
        arrays = {n for a in case.arrays() if a.role in READ for n in part_types(a.name, a.dtype)}
        types = {n: d for a in case.arrays() for n, d in part_types(a.name, a.dtype).items()}
        self._outputs = [
            (_largest(types.get(n)), self._steps(expression, arrays)) for n, expression in case.kernel.expressions
        ]

    def _steps(self, expression: ArrayExpression, arrays: set[str]) -> list[tuple[str, Callable[..., Any]]]:
        """The definitions of `let` that it uses, by name, then the expression itself with an empty name."""
        known = set(arrays)
        steps: list[tuple[str, Callable[..., Any]]] = []
        for name, one in (*expression.helpers, ("", expression)):
            if not isinstance(one, ArrayExpression):
                steps.append((name, lambda names, _, e=one: plain(e(names))))
                continue
            if not named(one.tree).isdisjoint(known):
                known.add(name)
            watched = _Watched(known, one.TABLE, self)
            tree = watched.visit(copy.deepcopy(one.tree)).body
            steps.append((name, one.part(tree, watched.table)))
        return steps

    def __call__(self, inputs: Mapping[str, Array]) -> Reached:
        """Evaluate the reference for inputs by name. Raises UsageError if that fails."""
        self.found, self.tied, finite = set(), set(), True
        names: dict[str, Any] = {
            **self.case.variables, **with_parts(inputs, {a.name: a.dtype for a in self.case.arrays()})
        }  # fmt: skip
        try:
            with np.errstate(all="ignore"):
                for largest, steps in self._outputs:
                    known = names
                    for name, evaluate in steps:
                        result = evaluate(known, _double)  # the last one is the output
                        known = {**known, name: result}
                    finite = finite and bool((np.abs(np.asarray(result.value, np.float64)) <= largest).all())
        except (ArithmeticError, TypeError, ValueError, IndexError, KeyError, MemoryError) as e:
            raise UsageError(f"{self.case.kernel.name}: {e}") from None
        return Reached(frozenset(self.found), finite, frozenset(self.tied))


def _largest(dtype: DType | None) -> float:
    """The largest finite number of an output's type."""
    floating = dtype is not None and dtype.is_float and dtype.numpy.itemsize > 1
    return Arithmetic(dtype.numpy).largest if dtype and floating else float(np.finfo(np.float64).max)


def _double(value: Any) -> Bounded:
    """Convert an operand to double precision, as each operation on halves would round."""
    if isinstance(value, np.ndarray) and is_float(value.dtype):
        value = value.astype(np.float64)
    return plain(value)


def constants(case: Case) -> list[float]:
    """The numbers in a case's reference: constants and the values of parameters, by magnitude."""
    found: set[float] = set()
    for node in _nodes(case):
        value = node.value if isinstance(node, ast.Constant) else None
        if isinstance(node, ast.Name):
            value = case.variables.get(node.id)
        if isinstance(value, int | float) and not isinstance(value, bool):
            found.add(float(value))
    return sorted(found, key=abs)


def indices(case: Case) -> frozenset[str]:
    """The arrays that the reference uses as indices or bins."""
    found: set[str] = set()
    for node in _nodes(case):
        parts: list[ast.AST] = [node.slice] if isinstance(node, ast.Subscript) else []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            parts += {"take": node.args[1:2], "bincount": node.args[:2]}.get(node.func.id, [])
        found.update(n for part in parts for n in named(part))
    return frozenset(found)


def _nodes(case: Case) -> Iterator[ast.AST]:
    """The nodes of a case's reference expressions and of their definitions."""
    for _, expression in case.kernel.expressions:
        for one in (expression, *(helper for _, helper in expression.helpers)):
            yield from ast.walk(one.tree)
