"""Read a kernel's launch and parameters from a script for Kernel Tuner or a T1 file. Scripts are parsed, never run."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner.errors import UsageError
from runner.files.limited import TooMuch, load_json

AXES = "xyz"
_BLOCK = tuple(f"block_size_{axis}" for axis in AXES)  # Kernel Tuner's names for the parts of a block

_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift,
    ast.USub: operator.neg, ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "range": lambda *a: _numbers(range(*a)), "list": list, "tuple": list, "dict": dict, "OrderedDict": dict, "len": len,
    "max": max, "min": min, "sum": sum, "int": int, "float": float, "prod": math.prod, "str": str,
    **dict.fromkeys(("int32", "int64", "uint32", "uint64"), int), **dict.fromkeys(("float32", "float64"), float),
}  # fmt: skip
_UNKNOWN = (ValueError, LookupError, TypeError, ArithmeticError)  # raised for an expression that cannot be evaluated


MAX_VALUES = 10_000  # of a parameter


@dataclass(frozen=True)
class Tuning:
    """A kernel's launch and tunable parameters, as another tool declares them."""

    function: str = ""
    source: Path | None = None  # the `.cu`
    text: str = ""  # the kernel's source, if the script contains it
    block: tuple[str, ...] = ()  # the tunable parameters that set the block's dimensions, x first
    values: Mapping[str, Sequence[Any]] = field(default_factory=dict)  # the allowed values, by tunable parameter
    defaults: Mapping[str, Any] = field(default_factory=dict)
    size: tuple[int, ...] = ()  # of the problem, x first
    divisors: tuple[tuple[str, ...], ...] = ()  # of the problem size, for each axis of the grid
    restrictions: tuple[str, ...] = ()
    scalars: Mapping[int, float] = field(default_factory=dict)  # values of arguments, by their position
    roles: Mapping[int, str] = field(default_factory=dict)  # of arrays, by their position


def read_script(path: Path) -> Tuning:
    """Read the first call of `tune_kernel` in a script.

    Raises UsageError if the file is not Python, or does not call `tune_kernel`.
    """
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=path.name)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
        raise UsageError(f"{path}: not a Python script: {str(e) or 'it is nested too deeply'}") from None
    known: dict[str, Any] = {}
    for node in _statements(tree):
        call = next((c for c in ast.walk(node) if isinstance(c, ast.Call) and _name(c.func) == "tune_kernel"), None)
        if call is not None:
            return _refuse_unusable(_of_call(call, known, path, tree), path)
        _assign(node, known)
    raise UsageError(f"{path}: it does not call tune_kernel")


def read_t1(path: Path) -> Tuning:
    """Read a T1 file. Raises UsageError if the file is not T1."""
    try:
        return _refuse_unusable(_of_t1(load_json(path.read_text(encoding="utf-8-sig")), path.parent), path)
    except (SyntaxError, ValueError, KeyError, TypeError, AttributeError) as e:
        shape = "its parts are not those of T1"
        kinds = {KeyError: f"it lacks {e}", TooMuch: f"it {e}", TypeError: shape, AttributeError: shape}
        why = kinds.get(type(e), str(e))
        raise UsageError(f"{path}: not a T1 file: {why}") from None


def _of_t1(content: Any, folder: Path) -> Tuning:
    space, kernel = content["ConfigurationSpace"], content["KernelSpecification"]
    parameters = {p["Name"]: _parse_values(p["Values"]) for p in space["TuningParameters"]}
    file, local = str(kernel.get("KernelFile", "")), kernel.get("LocalSize") or {}
    arguments = [a for a in kernel.get("Arguments") or () if a.get("MemType") != "Constant"]
    access = {"ReadOnly": "in", "WriteOnly": "out", "ReadWrite": "inout"}
    return Tuning(
        function=str(kernel["KernelName"]),
        source=folder / file if file else None,
        block=tuple(name for axis in "XYZ" if (name := str(local.get(axis, ""))) in parameters),
        values=parameters,
        defaults={p["Name"]: p["Default"] for p in space["TuningParameters"] if "Default" in p},
        size=_size(kernel.get("ProblemSize")),
        divisors=tuple(tuple(map(str, kernel.get(f"GridDiv{axis}") or ())) for axis in "XYZ"),
        restrictions=tuple(str(c.get("Expression", "")) for c in space.get("Conditions") or ()),
        scalars={
            i: a["FillValue"] for i, a in enumerate(arguments) if a.get("MemoryType") == "Scalar" and "FillValue" in a
        },
        roles={
            i: access[a["AccessType"]]
            for i, a in enumerate(arguments)
            if a.get("MemoryType") != "Scalar" and a.get("AccessType") in access
        },
    )


def _refuse_unusable(tuning: Tuning, path: Path) -> Tuning:
    """Refuse parameters without names or values, and lengths of a block that are no positive integers."""
    for name, values in tuning.values.items():
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise UsageError(f"{path}: {name!r} is not the name of a parameter")
        if not values:
            raise UsageError(f"{path}: {name}: expected at least one value")
        for value in (*values, tuning.defaults.get(name, 0)):
            if not isinstance(value, int | float | str):
                raise UsageError(f"{path}: {name}: expected numbers or texts, not {str(value)[:60]}")
        for value in values if name in tuning.block else ():
            if not isinstance(value, int) or value < 1:
                raise UsageError(
                    f"{path}: {name}: expected positive integers, as it is a length of the block, not {value!r}"
                )
    return tuning


def _parse_values(values: Any) -> list[Any]:
    """The values of a parameter, given as a list or as a Python expression."""
    return list(_value(ast.parse(values, mode="eval").body, {}) if isinstance(values, str) else values)


def _size(value: Any) -> tuple[int, ...]:
    parts = value if isinstance(value, list | tuple) else [value]
    return tuple(parts) if parts and all(isinstance(p, int) for p in parts) else ()


def _statements(tree: ast.AST) -> list[ast.stmt]:
    """The simple statements, in the order of the text."""
    statements = (n for n in ast.walk(tree) if isinstance(n, ast.Assign | ast.AnnAssign | ast.Expr | ast.Return))
    return sorted(statements, key=lambda n: n.lineno)


def _assign(node: ast.stmt, known: dict[str, Any]) -> None:
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return
    target = node.targets[0]
    try:
        if isinstance(target, ast.Name):
            known.pop(target.id, None)
            known[target.id] = node.value if isinstance(node.value, ast.Lambda) else _value(node.value, known)
        elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            known[target.value.id][_value(target.slice, known)] = _value(node.value, known)
    except _UNKNOWN:
        return


def _of_call(call: ast.Call, known: Mapping[str, Any], path: Path, tree: ast.AST) -> Tuning:
    names = ("kernel_name", "kernel_source", "problem_size", "arguments", "tune_params")
    nodes = {**dict(zip(names, call.args, strict=False)), **{k.arg or "": k.value for k in call.keywords}}

    def argument(name: str, default: Any) -> Any:
        return _try_value(nodes[name], known, default) if name in nodes else default

    declared = argument("tune_params", {})
    values = {str(n): v for n, v in declared.items() if isinstance(v, list)} if isinstance(declared, dict) else {}
    text, source = str(argument("kernel_source", "")), None
    if "__global__" not in text:
        # `kernel_source` is a file name, or text that the script reads from a file it names elsewhere.
        strings = (c.value for c in ast.walk(tree) if isinstance(c, ast.Constant) and isinstance(c.value, str))
        files = (f for f in (text, *strings) if re.fullmatch(r"[^\n]+\.(cu|cuh|cpp|h)", f))
        text, source = "", next((path.parent / f for f in files), None)
    listed: ast.expr | None = nodes.get("arguments")
    if isinstance(listed, ast.Name):
        assigned = (n for n in _statements(tree) if isinstance(n, ast.Assign) and _name(n.targets[0]) == listed.id)
        listed = next((n.value for n in assigned), None)
    arguments = listed.elts if isinstance(listed, ast.List | ast.Tuple) else []
    return Tuning(
        function=str(argument("kernel_name", "")),
        source=source,
        text=text,
        block=tuple(n for n in argument("block_size_names", list(_BLOCK)) if n in values),
        values=values,
        size=_size(argument("problem_size", None)),
        divisors=tuple(tuple(map(str, argument(f"grid_div_{axis}", ()) or ())) for axis in AXES),
        restrictions=tuple(r for r in argument("restrictions", []) or [] if isinstance(r, str)),
        scalars={i: v for i, a in enumerate(arguments) if isinstance(v := _try_value(a, known), int | float)},
    )


def _try_value(node: ast.expr, known: Mapping[str, Any], default: Any = None) -> Any:
    try:
        return _value(node, known)
    except _UNKNOWN:
        return default


def _name(node: ast.AST) -> str:
    """The last part of a name, such as `tune_kernel` of `kernel_tuner.tune_kernel`."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _value(node: ast.AST, known: Mapping[str, Any]) -> Any:  # noqa: C901  (one case for each kind of node)
    """Evaluate an expression of numbers, strings, lists and dictionaries.

    Raises ValueError if the expression has another kind of node.
    """
    match node:
        case ast.Constant():
            return node.value
        case ast.List() | ast.Tuple():
            return [_value(e, known) for e in node.elts]
        case ast.Dict():
            return {_value(k, known): _value(v, known) for k, v in zip(node.keys, node.values, strict=True) if k}
        case ast.Name() if node.id in known:
            return known[node.id]
        case ast.Subscript():
            return _value(node.value, known)[_value(node.slice, known)]
        case ast.UnaryOp() if type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](_value(node.operand, known))
        case ast.BinOp() if type(node.op) in _OPERATORS:
            return _calculate(node, known)
        case ast.Compare() if len(node.ops) == 1 and type(node.ops[0]) in _OPERATORS:
            return _OPERATORS[type(node.ops[0])](_value(node.left, known), _value(node.comparators[0], known))
        case ast.Call() if _name(node.func) in _FUNCTIONS:
            named = {k.arg: _value(k.value, known) for k in node.keywords if k.arg}
            return _FUNCTIONS[_name(node.func)](*(_value(a, known) for a in node.args), **named)
        case ast.ListComp() if len(node.generators) == 1:
            loop = node.generators[0]
            each = [{**known, _name(loop.target): v} for v in _value(loop.iter, known)]
            return [_value(node.elt, inner) for inner in each if all(_value(c, inner) for c in loop.ifs)]
    raise ValueError(f"{ast.unparse(node)[:60]} is not a number, a text, a list or a dictionary")


def _numbers(given: range) -> list[int]:
    if len(given) > MAX_VALUES:
        raise ValueError(f"more than {MAX_VALUES:,} values")
    return list(given)


def _calculate(node: ast.BinOp, known: Mapping[str, Any]) -> Any:
    left, right = _value(node.left, known), _value(node.right, known)
    if isinstance(node.op, ast.Pow | ast.LShift) and not (isinstance(right, int | float) and abs(right) < 64):
        raise ValueError("too large")
    if isinstance(node.op, ast.Mult) and not (isinstance(left, int | float) and isinstance(right, int | float)):
        raise ValueError("too large")  # noqa: TRY004  (the caller treats it as unknown)
    return _OPERATORS[type(node.op)](left, right)
