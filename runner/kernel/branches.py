"""Which sides of a reference's branches inputs take: of comparisons, `where`, `clip`, `max`, `rint`, ..., and ties.

A defect in a branch shows only for inputs that take it. So the extra inputs of the check (`runner.kernel.extra_inputs`)
are chosen by the branches that the reference takes. It is evaluated in double precision, without bounds.

Equal keys of an argsort, argmax or argmin have several correct orders. `runner.bounds.tied_indices` judges the indices
that a reference gives. Where it computes with them, the check avoids equal keys in the inputs that it makes, and a
mismatch says that ties may be the cause.
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
from runner.bounds.intervals import Bounded, as_int, plain
from runner.bounds.rounding import Arithmetic, is_float
from runner.bounds.tied_indices import INDICES, hides_indices
from runner.errors import UsageError
from runner.kernel.arrays import DType, part_types, with_parts
from runner.kernel.case import READ, Case

Array = NDArray[Any]

TIES_HINT = "if any of them is right, use a fill without equal numbers, such as fill: permutation"


@dataclass(frozen=True)
class Side:
    """One side of a branch in a reference."""

    node: str  # its text, such as `clip(in, 0, 6)`
    name: str
    note: str  # the note if no input reaches it; empty: it is optional
    beyond: bool  # whether inputs may leave the range of their fill to reach it
    start: bool  # of a maximum or minimum: it shows a wrong initial value of the kernel's accumulator


@dataclass(frozen=True)
class Reached:
    """The branches that the reference took for some inputs."""

    sides: frozenset[Side]
    finite: bool  # whether all outputs are finite in their own types
    tied: frozenset[str]  # the texts of argsort, argmax and argmin whose keys are not distinct


Masks = Mapping[str, Any]  # by the names of sides: whether each operand takes it


def _order(a: Any, b: Any) -> Masks:
    return {"less": a < b, "equal": a == b, "greater": a > b}


_TRUE = {
    ast.Lt: {"less"}, ast.LtE: {"less", "equal"}, ast.Gt: {"greater"}, ast.GtE: {"greater", "equal"},
    ast.Eq: {"equal"}, ast.NotEq: {"less", "greater"},
}  # fmt: skip


def _compared(operator: type[ast.cmpop]) -> Callable[..., Masks]:
    true = _TRUE[operator]

    def masks(a: Any, b: Any) -> Masks:
        found = {name for name, mask in _order(a, b).items() if np.any(mask)}
        return {**dict.fromkeys(found, True), "true": bool(found & true), "false": bool(found - true)}

    return masks


def _clip(x: Any, least: Any, most: Any) -> Masks:
    return {"below": x < least, "within": (x > least) & (x < most), "above": x > most}


def _sign(x: Any) -> Masks:
    return {"negative": x < 0, "zero": x == 0, "positive": x > 0}


def _steps(x: Any) -> Masks:
    """Sides of floor and ceil: fractions on both sides of 0, and integers."""
    whole = x == np.rint(x)
    return {"whole": whole, "negative": ~whole & (x < 0), "positive": ~whole & (x > 0)}


def _rint(x: Any) -> Masks:
    tie = np.abs(x - np.trunc(x)) == 0.5
    return {"tie": tie, "down": tie & (np.rint(x) < x), "up": tie & (np.rint(x) > x), **_steps(x)}


def _starts(x: Any, axis: int | None) -> Masks:
    """Sides of a maximum or minimum: rows that lie on one side of 0, of -1 or of 1."""
    most, least = np.max(x, axis=axis), np.min(x, axis=axis)
    return {"below 0": most < 0, "below -1": most < -1, "above 0": least > 0, "above 1": least > 1}


_LOW, _HIGH = ("below 0", "below -1"), ("above 0", "above 1")
_STARTS = {
    "max": _LOW, "argmax": _LOW, "cummax": _LOW, "min": _HIGH, "argmin": _HIGH, "cummin": _HIGH,
    "sort": (*_LOW, *_HIGH), "argsort": (*_LOW, *_HIGH),
}  # fmt: skip
_FUNCTIONS: Mapping[str, Callable[..., Masks]] = {
    "where": lambda condition, *_: {"true": condition != 0, "false": condition == 0}, "maximum": _order,
    "minimum": _order, "clip": _clip, "sign": _sign, "abs": _sign, "floor": _steps, "ceil": _steps, "rint": _rint,
    "int": _steps,
    **dict.fromkeys(_STARTS, _starts),
}  # fmt: skip


def _possible(node: ast.Call | ast.Compare, function: str) -> dict[str, Side]:
    """The sides of a node by their names; `function` is empty for a comparison."""
    text = shortened(ast.unparse(node), 60)
    beyond = function not in ("rint", "floor", "ceil", "int", "abs")
    notes = _notes(node, function, text).items()
    return {name: Side(text, name, note, beyond, function in _STARTS) for name, note in notes}


def _notes(node: ast.Call | ast.Compare, function: str, text: str) -> dict[str, str]:
    """The note on each side of a node."""
    if isinstance(node, ast.Compare):
        return {n: f"no input makes '{text}' {n}" if n in ("true", "false") else "" for n in _COMPARISON_SIDES}
    match function:
        case "where":
            noted = not isinstance(node.args[0], ast.Compare)  # a comparison has its own note
            return {n: f"no input makes the condition of '{text}' {n}" if noted else "" for n in ("true", "false")}
        case "maximum" | "minimum":
            names = ("greater", "less") if function == "maximum" else ("less", "greater")
            args = (shortened(ast.unparse(a), 30) for a in node.args)
            return {n: f"no input lets '{text}' take {a}" for n, a in zip(names, args, strict=False)}
        case "clip":
            return {n: f"no input is {n} the limits of '{text}'" for n in ("below", "within", "above")}
        case "sign":
            return {n: f"no input makes the argument of '{text}' {n}" for n in ("negative", "zero", "positive")}
        case "rint":
            optional = dict.fromkeys(("down", "up", "whole", "negative", "positive"), "")
            return {"tie": f"no input is a tie of '{text}'", **optional}
    return dict.fromkeys(
        _STARTS.get(function) or ("negative", "positive", *(("whole",) if function != "abs" else ())), ""
    )


_COMPARISON_SIDES = ("true", "false", "less", "equal", "greater")


class _Watched(ast.NodeTransformer):
    """Replaces each node with sides by a call of a function that records them, added to the evaluation's table."""

    def __init__(self, arrays: Collection[str], table: Mapping[Any, Callable[..., Any]], seen: Branches) -> None:
        self.arrays, self.table, self.seen = arrays, dict(table), seen

    def visit_Call(self, node: ast.Call) -> ast.AST:
        original = copy.deepcopy(node)
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in _FUNCTIONS and not named(original).isdisjoint(self.arrays):
            node.func = self._recording(original, self.table[name], _FUNCTIONS[name], name)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        original = copy.deepcopy(node)
        self.generic_visit(node)
        if len(node.ops) > 1 or named(original).isdisjoint(self.arrays):
            return node
        kind = type(node.ops[0])
        return ast.Call(
            self._recording(original, self.table[kind], _compared(kind)), [node.left, *node.comparators], []
        )

    def _recording(
        self, node: ast.Call | ast.Compare, operation: Callable[..., Any], masks: Callable[..., Masks], name: str = ""
    ) -> ast.Name:
        possible, key = _possible(node, name), f"{len(self.table)} {name}"
        self.seen.possible.update(possible.values())
        text = ast.unparse(node)

        def call(*operands: Any, **options: Any) -> Any:
            values = [np.asarray(x.value) for x in operands if isinstance(x, Bounded)]
            if name in _STARTS:
                axis = as_int(options.get("axis", operands[1] if len(operands) > 1 else None))
                if name in INDICES and _ties(name, values[0], axis):
                    self.seen.tied.add(text)
                values = [values[0], axis]
            self.seen.found.update(possible[n] for n, m in masks(*values).items() if n in possible and np.any(m))
            return operation(*operands, **options)

        self.table[key] = call
        return ast.Name(key, ast.Load())


def _ties(name: str, keys: Array, axis: int | None) -> bool:
    """Whether equal keys make more than one order, or more than one index, correct."""
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
        self._outputs = [(_largest(types.get(n)), self._steps(e, arrays)) for n, e in case.kernel.expressions]

    def _steps(self, expression: ArrayExpression, arrays: set[str]) -> list[tuple[str, Callable[..., Any]]]:
        """The definitions of `let` that it uses, by name, then the expression itself with an empty name."""
        known = set(arrays)
        steps: list[tuple[str, Callable[..., Any]]] = []
        for name, formula in (*expression.helpers, ("", expression)):
            if not isinstance(formula, ArrayExpression):
                steps.append((name, lambda names, _, e=formula: plain(e(names))))
                continue
            if not named(formula.tree).isdisjoint(known):
                known.add(name)
            watched = _Watched(known, formula.TABLE, self)
            tree = watched.visit(copy.deepcopy(formula.tree)).body
            steps.append((name, formula.part(tree, watched.table)))
        return steps

    def __call__(self, inputs: Mapping[str, Array]) -> Reached:
        """Evaluate the reference for inputs by name. Raises UsageError if that fails."""
        self.found, self.tied, finite = set(), set(), True
        types = {a.name: a.dtype for a in self.case.arrays()}
        names: dict[str, Any] = {**self.case.variables, **with_parts(inputs, types)}
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
    values = (
        node.value if isinstance(node, ast.Constant) else case.variables.get(node.id)
        for node in _nodes(case)
        if isinstance(node, ast.Constant | ast.Name)
    )
    return sorted({float(v) for v in values if isinstance(v, int | float) and not isinstance(v, bool)}, key=abs)


def index_arrays(case: Case) -> frozenset[str]:
    """The arrays that the reference uses as indices or bins."""
    parts: list[ast.AST] = []
    for node in _nodes(case):
        if isinstance(node, ast.Subscript):
            parts.append(node.slice)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            parts += {"take": node.args[1:2], "bincount": node.args[:2]}.get(node.func.id, [])
    return frozenset(n for part in parts for n in named(part))


def _nodes(case: Case) -> Iterator[ast.AST]:
    """The nodes of a case's reference expressions and of their definitions."""
    for _, expression in case.kernel.expressions:
        for _, formula in (("", expression), *expression.helpers):
            yield from ast.walk(formula.tree)


def computes_with_indices(case: Case) -> bool:
    """Whether the reference computes with indices instead of giving them; false for a function, as that is unknown."""
    arrays = [n for a in case.arrays() if a.role in READ for n in part_types(a.name, a.dtype)]
    return any(hides_indices(expression, arrays) for _, expression in case.kernel.expressions)


def explain_by_ties(
    case: Case, inputs: Mapping[str, Array], found: Mapping[str, Array], expected: Mapping[str, Any]
) -> str:
    """Why equal keys alone may explain a mismatch, in words; empty if they cannot.

    `inputs` has the arrays before the launch, `found` the outputs after it, `expected` their `ExpectedArray`s, by name.
    """
    if not isinstance(case.kernel.reference, str):
        tied = sorted(Branches(case)(inputs).tied) if computes_with_indices(case) else []
        return f"'{tied[0]}' has equal keys" if tied else ""
    read = {a.name: inputs[a.name] for a in case.arrays() if a.role in READ and a.dtype.is_whole}
    reasons: list[str] = []
    for name, output in expected.items():
        values = np.asarray(output.values)
        if found[name].size != values.size:
            return ""
        if np.array_equal(found[name].reshape(values.shape), values):
            continue
        if not (keys := _equal_keys(read, found[name], values)):
            return ""
        reasons.append(f"'{keys}' has equal elements at the expected and the found indices of '{name}'")
    return ", ".join(reasons)


def _equal_keys(inputs: Mapping[str, Array], found: Array, expected: Array) -> str:
    """The name of an input whose elements at the found and at the expected indices are equal, or ""."""
    if found.dtype.kind not in "iu" or expected.dtype.kind not in "iu":
        return ""
    found, expected = found.reshape(-1).astype(np.int64), expected.reshape(-1).astype(np.int64)
    differs = np.flatnonzero(found != expected)
    f, e = found[differs], expected[differs]
    if not differs.size or min(f.min(), e.min()) < 0:
        return ""
    largest = int(max(found.max(), expected.max()))
    for name, keys in inputs.items():
        if not keys.size or (keys == keys.reshape(-1)[0]).all():  # all elements are equal
            continue
        # Candidates for the length of an indexed row: the whole array, its last axis, the largest index + 1.
        for length in (keys.size, *keys.shape[-1:], largest + 1):
            rows = keys.size // max(length, 1)
            if largest >= length or rows * length != keys.size or found.size % max(rows, 1):
                continue
            table, row = keys.reshape(rows, length), differs // (found.size // rows)
            if np.array_equal(table[row, f], table[row, e]):
                return name
    return ""
