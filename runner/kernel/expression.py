"""Expressions in a kernel's YAML: over numbers (grid, shapes, constraints) and over arrays (references, values).

Python's parser reads the text, and a few allowed nodes become functions that evaluate it. A table says what an operator
or a function does: one for numbers, below, and one for arrays, in `runner.kernel.bounded`. There is no `eval`, no
attribute, no call of anything else, and no number that could exhaust the memory.
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from runner.errors import UsageError
from runner.kernel import array_functions, bounded
from runner.kernel.arrays import DTYPES
from runner.kernel.precision import Arithmetic

Value = int | float | bool | str
Table = Mapping[Any, Callable[..., Any]]
Evaluate = Callable[[Mapping[str, Any], Callable[[Any], Any]], Any]  # of names, and of what a constant or a name is

LARGEST_BITS = 128  # enough for products of sizes; too few for 9**9**9 to do harm
LONGEST, DEEPEST = 4000, 200  # characters of an expression, and levels of its tree


def shortened(text: str, longest: int = 80) -> str:
    """The text for a message, cut if it is long."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def ceil_div(a: int, b: int) -> int:
    """`a / b`, rounded up. Messages of Python's own name it."""
    return -(-a // b)


def _itemsize(dtype: str) -> int:
    if dtype not in DTYPES:
        raise ValueError(f"itemsize: '{dtype}' is not a dtype; allowed: {', '.join(DTYPES)}")
    return DTYPES[dtype].itemsize


def _bits(value: Any) -> int:
    return value.bit_length() if isinstance(value, int) else 0


def _checked(operation: Callable[[Any, Any], Any], *, grows: bool = False) -> Callable[[Any, Any], Any]:
    """An operation on numbers that refuses text and results that are too long."""

    def checked(left: Any, right: Any) -> Any:
        if isinstance(left, str) or isinstance(right, str):
            raise TypeError("text is not a number")
        if grows and not 0 <= right <= LARGEST_BITS:
            raise ValueError(f"exponent {right} is not within 0 to {LARGEST_BITS}")
        result = operation(left, right)
        if _bits(result) > LARGEST_BITS:
            raise OverflowError(f"the result needs more than {LARGEST_BITS} bits")
        return result

    return checked


def _popcount(a: Any) -> int:
    if not isinstance(a, int) or a < 0:
        raise ValueError(f"popcount: {shortened(str(a))} is not an integer of 0 or more")
    return a.bit_count()


def _true(value: Any) -> bool:
    if isinstance(value, str):
        raise TypeError("text is not a condition")
    return bool(value)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ceil_div": ceil_div, "min": min, "max": max, "popcount": _popcount, "itemsize": _itemsize,
}  # fmt: skip
_NUMBERS: Table = {
    ast.Add: _checked(operator.add), ast.Sub: _checked(operator.sub), ast.Mult: _checked(operator.mul),
    ast.FloorDiv: _checked(operator.floordiv), ast.Mod: _checked(operator.mod),
    ast.Pow: _checked(operator.pow, grows=True), ast.LShift: _checked(operator.lshift, grows=True),
    ast.RShift: _checked(operator.rshift), ast.BitAnd: _checked(operator.and_), ast.BitOr: _checked(operator.or_),
    ast.BitXor: _checked(operator.xor), ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
    ast.Not: lambda a: not _true(a), ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt,
    ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, **FUNCTIONS,
}  # fmt: skip

_SYNTAX = (
    ast.Expression, ast.Constant, ast.Name, ast.Load, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call,
)  # fmt: skip


@dataclass(frozen=True)
class Formula:
    """The text of an expression, checked when it is read."""

    text: str  # as written, such as `ceil_div(size, block * unroll)`
    where: str  # file and key, for messages
    code: str = ""  # the text without names of the key `let`; empty: `text` uses none

    TABLE: ClassVar[Table]
    SYNTAX: ClassVar[tuple[type[ast.AST], ...]]
    CONSTANTS: ClassVar[tuple[type, ...]]
    OPERATORS: ClassVar[str]
    KEYWORDS: ClassVar[Mapping[str, tuple[str, ...]]] = {}  # of functions

    def __post_init__(self) -> None:
        allowed = (*_SYNTAX, *self.SYNTAX, *(k for k in self.TABLE if not isinstance(k, str)))
        functions = ", ".join(k for k in self.TABLE if isinstance(k, str))
        for node in ast.walk(self.tree):
            wrong = ""
            if not isinstance(node, allowed):
                used = "/; write // or ceil_div" if isinstance(node, ast.Div) else type(node).__name__
                wrong = f"uses {used}; allowed: {self.OPERATORS}, and the functions {functions}"
            elif isinstance(node, ast.Constant) and not isinstance(node.value, self.CONSTANTS):
                wrong = f"has the constant {shortened(repr(node.value))}; only numbers are allowed"
            elif isinstance(node, ast.Constant) and _bits(node.value) > LARGEST_BITS:
                wrong = f"has a number of more than {LARGEST_BITS} bits"
            elif isinstance(node, ast.Call) and (not isinstance(node.func, ast.Name) or node.func.id not in self.TABLE):
                wrong = f"calls an unknown function; allowed: {functions}"
            elif isinstance(node, ast.Call):
                wrong = self._wrong_arguments(node)
            if wrong:
                raise UsageError(f"{self.shown} {wrong}")

    def _wrong_arguments(self, call: ast.Call) -> str:
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        allowed = self.KEYWORDS.get(name, ())
        for keyword in call.keywords:
            if keyword.arg not in allowed:
                known = f"allowed: {', '.join(allowed)}" if allowed else "it takes none"
                return f"gives {name} the keyword '{keyword.arg or '**'}'; {known}"
        try:
            signature = inspect.signature(self.TABLE[name])
        except ValueError:  # of some functions that are not written in Python
            return ""
        try:
            signature.bind(*call.args, **{str(k.arg): k for k in call.keywords})
        except TypeError as e:
            return f"calls {name} with other arguments than it takes: {e}"
        return ""

    @property
    def shown(self) -> str:
        """Place and text, for messages."""
        return f"{self.where}: '{shortened(self.text)}'"

    @property
    def full(self) -> str:
        """The text without names of the key `let`."""
        return self.code or self.text

    @property
    def tree(self) -> ast.Expression:
        """The parsed text."""
        return parse(self.full, self.where)

    @property
    def names(self) -> frozenset[str]:
        """The parameters and arrays that it reads."""
        return named(self.tree)

    def _evaluate(self, names: Mapping[str, Any], leaf: Callable[[Any], Any]) -> Any:
        try:
            return _evaluator(self.full, self.where, type(self).__name__)(names, leaf)
        except KeyError as e:
            raise UsageError(f"{self.shown} names {e}, which is unknown; known: {', '.join(sorted(names))}") from None
        except AttributeError:  # of a text, which is no array
            raise UsageError(f"{self.shown} cannot be evaluated: text is not a number") from None
        except (ArithmeticError, TypeError, ValueError, IndexError, RecursionError, MemoryError) as e:
            raise UsageError(f"{self.shown} cannot be evaluated: {e or 'there is not enough memory'}") from None


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
        """Evaluate.

        A `UsageError` if a name is unknown, a divisor is zero, or a result needs more than 128 bits or is no integer.
        """
        value = self._evaluate(variables, lambda v: v)
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


@dataclass(frozen=True)
class ArrayExpression(Formula):
    """An expression over named arrays and the parameters of a case, evaluated with NumPy."""

    helpers: tuple[tuple[str, Expression | ArrayExpression], ...] = ()  # what names of `let` stand for, in order

    TABLE: ClassVar[Table] = {**array_functions.TABLE, **bounded.TABLE}
    SYNTAX = (ast.Subscript, ast.Slice, ast.Tuple, ast.keyword)
    CONSTANTS = (int, float, str)
    OPERATORS = "+ - * / // % ** @ << >> & | ^ ~, comparisons, slices"
    KEYWORDS = array_functions.KEYWORDS

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
        """Whether each element of the result is an element of an array, so that nothing is rounded."""
        plain = (ast.Expression, ast.Call, ast.Name, ast.Load, ast.Constant)
        moves = all(isinstance(n, plain) for n in ast.walk(self.tree)) and called(self.tree) <= bounded.PERMUTING
        return moves and not self.helpers

    @property
    def adds(self) -> bool:
        """Whether it has sums."""
        return self._calls(array_functions.SUMS) or self._has(ast.MatMult)

    @property
    def selects(self) -> bool:
        """Whether it chooses elements by their values, so that one input does not show every path."""
        return self._calls(bounded.SELECTING | array_functions.SELECTING) or self._has(ast.Compare)

    @property
    def divides(self) -> bool:
        """Whether it has quotients or rests."""
        return any(self._has(kind) for kind in (ast.Div, ast.FloorDiv, ast.Mod))

    @property
    def orders(self) -> bool:
        """Whether sums may be of numbers in order, or of sums, whose signs are not random."""
        return self._calls(array_functions.ORDERING)

    @property
    def elementwise(self) -> bool:
        """Whether an element of the result depends on the elements of the same place only."""
        moved = self._has(ast.Subscript) or self._has(ast.MatMult) or self.helpers
        others = {k for k in self.TABLE if isinstance(k, str)} - bounded.ELEMENTWISE - array_functions.ELEMENTWISE
        return not moved and not self._calls(others)

    def part(self, node: ast.expr, table: Table | None = None) -> Evaluate:
        """A function that evaluates a part of its tree, perhaps by other functions than those of `TABLE`."""
        return _function(node, table or self.TABLE)

    def _calls(self, functions: Collection[str]) -> bool:
        return any(not called(tree).isdisjoint(functions) for tree in self._trees)

    def _has(self, kind: type[ast.AST]) -> bool:
        return any(isinstance(n, kind) for tree in self._trees for n in ast.walk(tree))

    def __call__(self, names: Mapping[str, Any], arithmetic: Arithmetic | None = None) -> bounded.Bounded:
        """Evaluate over arrays and numbers, with bounds for a kernel of that arithmetic.

        A `UsageError` if a name is unknown or the shapes do not fit.
        """
        leaf = functools.partial(bounded.plain, arithmetic=arithmetic)
        with np.errstate(all="ignore"):
            for name, helper in self.helpers:
                found = helper(names) if isinstance(helper, Expression) else helper._evaluate(names, leaf)  # noqa: SLF001
                names = {**names, name: found}
            return self._evaluate(names, leaf)  # type: ignore[no-any-return]


def integer(text: str) -> int:
    """Evaluate an integer expression without variables, such as `2**24`, `0xff` or `1<<24`.

    A `ValueError` if it is none.
    """
    try:
        value = Expression(text, "value")({})
    except UsageError as e:
        raise ValueError(text) from e
    if type(value) is not int:
        raise ValueError(text)
    return value


def expanded(text: str, definitions: Mapping[str, str], where: str, within: tuple[str, ...] = ()) -> str:
    """The text with each defined name replaced by its definition; `within` which definitions it stands."""

    class Replaced(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            if node.id not in definitions:
                return node
            if node.id in within:
                raise UsageError(f"{where}: '{shortened(text)}': '{node.id}' is defined by itself")
            definition = expanded(definitions[node.id], definitions, where, (*within, node.id))
            return _parsed(definition, where).body

    if not any(re.search(rf"\b{name}\b", text) for name in definitions):
        return text
    return ast.unparse(Replaced().visit(_parsed(text, where)))


# Kernels like to call an array `in`, which Python's parser takes for a keyword.
_IN = re.compile(r"\bin\b")
_SAFE = "_the_array_in"


class _Restored(ast.NodeTransformer):
    """Names as the YAML has them: `in`, and `in.x`, which is the name of a part."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name("in", node.ctx) if node.id == _SAFE else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        of = self.visit(node.value)
        part = "in" if node.attr == _SAFE else node.attr
        return ast.Name(f"{of.id}.{part}", node.ctx) if isinstance(of, ast.Name) else node


def called(tree: ast.AST) -> frozenset[str]:
    """The names of functions."""
    functions = (n.func for n in ast.walk(tree) if isinstance(n, ast.Call))
    return frozenset(f.id for f in functions if isinstance(f, ast.Name))


def named(tree: ast.AST) -> frozenset[str]:
    """The names that are not functions: one may be both."""
    functions = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    return frozenset(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in functions)


@functools.lru_cache(maxsize=4096)
def parse(text: str, where: str) -> ast.Expression:
    """The tree of a text; a `UsageError` if it has none."""
    return _parsed(text, where)


def _parsed(text: str, where: str) -> ast.Expression:
    """The same, not shared, so that it can be changed."""
    if len(text) > LONGEST:
        raise UsageError(f"{where}: '{shortened(text)}' has more than {LONGEST:,} characters")
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text.strip()):
        raise UsageError(f"{where}: '{text}' is a date; expected an expression")
    try:
        read = ast.parse(_IN.sub(_SAFE, text.strip()), mode="eval")
        level: list[ast.AST] = [read]
        for _ in range(DEEPEST):
            level = [inner for node in level for inner in ast.iter_child_nodes(node)]
        if level:
            raise UsageError(f"{where}: '{shortened(text)}' is nested more than {DEEPEST} deep")
        tree: ast.Expression = _Restored().visit(read)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UsageError(f"{where}: '{shortened(text)}' is not a valid expression") from None
    return tree


@functools.lru_cache(maxsize=4096)
def _evaluator(text: str, where: str, kind: str) -> Evaluate:
    tables = {k.__name__: k.TABLE for k in (Expression, RealExpression, ArrayExpression)}
    return _function(parse(text, where).body, tables[kind])


def _function(node: ast.expr, table: Table) -> Evaluate:
    """A function that evaluates a node: most expressions are evaluated often, some for each thread of a block."""
    match node:
        case ast.Constant(value=value):
            return lambda _, leaf: leaf(value)
        case ast.Name(id=name):
            return lambda names, leaf: leaf(names[name])
        case ast.BinOp(left=left, op=op, right=right):
            binary, one, other = table[type(op)], _function(left, table), _function(right, table)
            return lambda names, leaf: binary(one(names, leaf), other(names, leaf))
        case ast.UnaryOp(op=sign, operand=operand):
            unary, inner = table[type(sign)], _function(operand, table)
            return lambda names, leaf: unary(inner(names, leaf))
        case ast.BoolOp(op=boolean, values=values):
            joined, parts = (all if isinstance(boolean, ast.And) else any), [_function(v, table) for v in values]
            return lambda names, leaf: joined(_true(part(names, leaf)) for part in parts)
        case ast.Compare(left=first, ops=ops, comparators=rest):
            return _comparison([table[type(op)] for op in ops], [_function(part, table) for part in (first, *rest)])
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
            called, given = table[name], [_function(arg, table) for arg in args]
            options = [(str(k.arg), _function(k.value, table)) for k in keywords]
            return lambda names, leaf: called(
                *[part(names, leaf) for part in given], **{key: part(names, leaf) for key, part in options}
            )
        case ast.Tuple(elts=elements):
            members = [_function(part, table) for part in elements]
            return lambda names, leaf: tuple(part(names, leaf) for part in members)
        case ast.Subscript(value=of, slice=index):
            array, place = _function(of, table), _index(index, table)
            return lambda names, leaf: array(names, leaf)[place(names, leaf)]
    raise TypeError(f"{type(node).__name__} is not understood here")


def _comparison(tests: Sequence[Callable[..., Any]], parts: Sequence[Evaluate]) -> Evaluate:
    def compare(names: Mapping[str, Any], leaf: Callable[[Any], Any]) -> Any:
        operands = [part(names, leaf) for part in parts]
        results = [test(*operands[i : i + 2]) for i, test in enumerate(tests)]
        return results[0] if len(results) == 1 else all(results)

    return compare


def _index(node: ast.expr, table: Table) -> Evaluate:
    if isinstance(node, ast.Tuple):
        parts = [_index(part, table) for part in node.elts]
        return lambda names, leaf: tuple(part(names, leaf) for part in parts)
    if isinstance(node, ast.Slice):
        ends = [None if part is None else _function(part, table) for part in (node.lower, node.upper, node.step)]
        return lambda names, leaf: slice(*(None if end is None else int(end(names, leaf).value) for end in ends))
    whole = _function(node, table)

    def place(names: Mapping[str, Any], leaf: Callable[[Any], Any]) -> Any:
        found = whole(names, leaf)
        return array_functions.checked_indices(found) if np.ndim(found.value) else int(found.value)

    return place
