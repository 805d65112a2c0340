"""The language of expressions in a kernel's YAML: parses a text and compiles its tree to a function.

Python's parser reads the text, and an allow-list of nodes is compiled. A table maps operators and functions to Python
functions: `runner.kernel.expression` has the one for numbers, `runner.bounds.array_expression` the one for arrays.
Attributes, other calls and numbers that could exhaust the memory are refused.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from runner.errors import UsageError

Table = Mapping[Any, Callable[..., Any]]
Evaluate = Callable[[Mapping[str, Any], Callable[[Any], Any]], Any]  # of values by name, and of a function of leaves

LARGEST_BITS = 128  # of an integer: enough for products of sizes, and refuses 9**9**9
LONGEST, DEEPEST = 4000, 200  # characters of an expression, and levels of its tree


def shortened(text: str, longest: int = 80) -> str:
    """The text for a message, cut to `longest` characters."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def bits(value: Any) -> int:
    """The bits of an integer; 0 for anything else."""
    return value.bit_length() if isinstance(value, int) else 0


def true(value: Any) -> bool:
    """Whether a number counts as true; a `TypeError` for text."""
    if isinstance(value, str):
        raise TypeError("text is not a condition")
    return bool(value)


_SYNTAX = (
    ast.Expression, ast.Constant, ast.Name, ast.Load, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call,
)  # fmt: skip


_WORDS: Mapping[type[ast.AST], str] = {
    ast.Div: "/; write // or ceil_div", ast.BoolOp: "and, or", ast.Not: "not", ast.MatMult: "@", ast.IfExp: "if",
    ast.Starred: "* before an argument", ast.JoinedStr: "an f-string", ast.Lambda: "lambda", ast.NamedExpr: ":=",
    ast.Attribute: "a . after something else than a name", ast.Subscript: "[ ]", ast.Slice: "a slice",
    ast.List: "a list", ast.Tuple: "a tuple", ast.Set: "a set", ast.Dict: "a dictionary", ast.Is: "is",
    ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in", ast.keyword: "an argument with a name",
    ast.ListComp: "for", ast.SetComp: "for", ast.DictComp: "for", ast.GeneratorExp: "for", ast.Await: "await",
    ast.Yield: "yield", ast.YieldFrom: "yield",
}  # fmt: skip
"""The syntax of Python that an expression may lack, as messages name it."""


@dataclass(frozen=True)
class Formula(ABC):
    """An expression; the constructor raises UsageError if it uses anything that its language lacks."""

    text: str  # as written, such as `ceil_div(size, block * unroll)`
    where: str  # file and key, for messages
    code: str = ""  # the text with names of the key `let` replaced; empty if `text` uses none

    TABLE: ClassVar[Table]
    SYNTAX: ClassVar[tuple[type[ast.AST], ...]]
    CONSTANTS: ClassVar[tuple[type, ...]]
    OPERATORS: ClassVar[str]
    KEYWORDS: ClassVar[Mapping[str, tuple[str, ...]]] = {}  # of functions
    INSTEAD: ClassVar[Mapping[type[ast.AST], str]] = {}  # of syntax that it lacks: the words, with advice
    ELSEWHERE: ClassVar[Mapping[str, str]] = {}  # functions that only other languages have, with advice

    def __post_init__(self) -> None:
        allowed = (*_SYNTAX, *self.SYNTAX, *(k for k in self.TABLE if not isinstance(k, str)))
        functions = ", ".join(k for k in self.TABLE if isinstance(k, str))
        if isinstance(self.tree.body, ast.Tuple):
            raise UsageError(f"{self.shown} is several expressions; expected one")
        for node in ast.walk(self.tree):
            wrong = ""
            if not isinstance(node, allowed):
                wrong = f"uses {self._words(node)}; allowed: {self.OPERATORS}, and the functions {functions}"
            elif isinstance(node, ast.Constant) and not isinstance(node.value, self.CONSTANTS):
                kind = "numbers" if float in self.CONSTANTS else "whole numbers"
                wrong = f"has the constant {shortened(repr(node.value))}; only {kind} are allowed"
            elif isinstance(node, ast.Constant) and bits(node.value) > LARGEST_BITS:
                wrong = f"has a number of more than {LARGEST_BITS} bits"
            elif isinstance(node, ast.Call) and (not isinstance(node.func, ast.Name) or node.func.id not in self.TABLE):
                called, hint = shortened(ast.unparse(node.func)), self.ELSEWHERE.get(getattr(node.func, "id", ""), "")
                wrong = f"calls an unknown function, {called}{hint}; allowed: {functions}"
            elif isinstance(node, ast.Call):
                wrong = self._wrong_arguments(node)
            if wrong:
                raise UsageError(f"{self.shown} {wrong}")

    def _words(self, node: ast.AST) -> str:
        """Python's syntax in a user's words, with advice."""
        words = {**_WORDS, **self.INSTEAD}
        return next((text for kind, text in words.items() if isinstance(node, kind)), type(node).__name__)

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
        """The expression with the names defined under `let` replaced by their definitions."""
        return self.code or self.text

    @property
    def tree(self) -> ast.Expression:
        """The parsed text."""
        return parse(self.full, self.where)

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """The parameters and arrays that it reads."""
        return named(self.tree)

    @abstractmethod
    def __call__(self, names: Mapping[str, Any]) -> Any:
        """Evaluate with parameters and arrays by name. Raises UsageError if that fails."""

    def evaluate(self, names: Mapping[str, Any], leaf: Callable[[Any], Any]) -> Any:
        """Evaluate; `leaf` converts each constant and each named value. Raises UsageError if that fails."""
        try:
            return _evaluator(self.full, self.where, type(self))(names, leaf)
        except KeyError as e:
            raise UsageError(f"{self.shown} names {e}, which is unknown; known: {', '.join(sorted(names))}") from None
        except AttributeError:  # a text in place of an array
            raise UsageError(
                f"{self.shown} cannot be evaluated: an operand is text; expected a number or an array"
            ) from None
        except (ArithmeticError, TypeError, ValueError, IndexError, RecursionError, MemoryError) as e:
            raise UsageError(f"{self.shown} cannot be evaluated: {e or 'there is not enough memory'}") from None


_WORD = re.compile(r"\w+")


def expanded(text: str, definitions: Mapping[str, str], where: str, within: tuple[str, ...] = ()) -> str:
    """Replace each defined name in an expression by its definition, which may use others.

    Args:
        text: The expression.
        definitions: Expressions by name.
        where: File and key, for messages.
        within: The names being replaced, to detect a cycle.

    Raises:
        UsageError: A definition uses itself, or is invalid.
    """

    class Replaced(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            if node.id not in definitions:
                return node
            if node.id in within:
                raise UsageError(f"{where}: '{shortened(text)}': '{node.id}' is defined by itself")
            definition = expanded(definitions[node.id], definitions, where, (*within, node.id))
            return _parsed(definition, where).body

    if definitions.keys().isdisjoint(_WORD.findall(text)):
        return text
    return ast.unparse(Replaced().visit(_parsed(text, where)))


# Many kernels have an array called `in`, a keyword of Python.
_IN = re.compile(r"\bin\b")
_SAFE = "_the_array_in"


class _Restored(ast.NodeTransformer):
    """Restores the YAML's names: `in`, and `in.x` as one name, of a part of an array."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name("in", node.ctx) if node.id == _SAFE else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        of = self.visit(node.value)
        part = "in" if node.attr == _SAFE else node.attr
        return ast.Name(f"{of.id}.{part}", node.ctx) if isinstance(of, ast.Name) else node


def called(tree: ast.AST) -> frozenset[str]:
    """The names of the functions that a tree calls."""
    functions = (n.func for n in ast.walk(tree) if isinstance(n, ast.Call))
    return frozenset(f.id for f in functions if isinstance(f, ast.Name))


def named(tree: ast.AST) -> frozenset[str]:
    """The names that a tree reads as values; a function's name counts where it is not called."""
    functions = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    return frozenset(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in functions)


@functools.lru_cache(maxsize=4096)
def parse(text: str, where: str) -> ast.Expression:
    """Parse an expression. Raises UsageError if it is invalid. The tree is shared: do not change it."""
    return _parsed(text, where)


def _parsed(text: str, where: str) -> ast.Expression:
    """As `parse`, but a new tree, which the caller may change."""
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
            raise UsageError(f"{where}: '{shortened(text)}' is nested more than {DEEPEST} levels deep")
        tree: ast.Expression = _Restored().visit(read)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
        nested = isinstance(e, RecursionError | MemoryError) or "too many nested" in str(e)
        wrong = f"is nested more than {DEEPEST} levels deep" if nested else "is not a valid expression"
        raise UsageError(f"{where}: '{shortened(text)}' {wrong}") from None
    return tree


@functools.lru_cache(maxsize=4096)
def _evaluator(text: str, where: str, kind: type[Any]) -> Evaluate:
    return function_of(parse(text, where).body, kind.TABLE)


def function_of(node: ast.expr, table: Table) -> Evaluate:
    """Compile a part of a tree to a function, as most expressions are evaluated often.

    The table has the functions of operators by AST class, and of functions by name.
    """
    match node:
        case ast.Constant(value=value):
            return lambda _, leaf: leaf(value)
        case ast.Name(id=name):
            return lambda names, leaf: leaf(names[name])
        case ast.BinOp(left=left, op=op, right=right):
            binary, one, other = table[type(op)], function_of(left, table), function_of(right, table)
            return lambda names, leaf: binary(one(names, leaf), other(names, leaf))
        case ast.UnaryOp(op=sign, operand=operand):
            unary, inner = table[type(sign)], function_of(operand, table)
            return lambda names, leaf: unary(inner(names, leaf))
        case ast.BoolOp(op=boolean, values=values):
            joined, parts = (all if isinstance(boolean, ast.And) else any), [function_of(v, table) for v in values]
            return lambda names, leaf: joined(true(part(names, leaf)) for part in parts)
        case ast.Compare(left=first, ops=ops, comparators=rest):
            return _comparison([table[type(op)] for op in ops], [function_of(part, table) for part in (first, *rest)])
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
            called, arguments = table[name], [function_of(arg, table) for arg in args]
            options = [(str(k.arg), function_of(k.value, table)) for k in keywords]
            return lambda names, leaf: called(
                *[part(names, leaf) for part in arguments], **{key: part(names, leaf) for key, part in options}
            )
        case ast.Tuple(elts=elements):
            members = [function_of(part, table) for part in elements]
            return lambda names, leaf: tuple(part(names, leaf) for part in members)
        case ast.Subscript(value=of, slice=index):
            element, array, place = table[ast.Subscript], function_of(of, table), _place(index, table)
            return lambda names, leaf: element(array(names, leaf), place(names, leaf))
    raise TypeError(f"{type(node).__name__} is not understood here")


def _place(node: ast.expr, table: Table) -> Evaluate:
    """Compile an index: a part between the brackets of a subscript, or all of it."""
    if isinstance(node, ast.Tuple):
        parts = [_place(part, table) for part in node.elts]
        return lambda names, leaf: tuple(part(names, leaf) for part in parts)
    if not isinstance(node, ast.Slice):
        return function_of(node, table)
    ends = [None if part is None else function_of(part, table) for part in (node.lower, node.upper, node.step)]
    return lambda names, leaf: slice(*(None if end is None else end(names, leaf) for end in ends))


def _comparison(tests: Sequence[Callable[..., Any]], parts: Sequence[Evaluate]) -> Evaluate:
    def compare(names: Mapping[str, Any], leaf: Callable[[Any], Any]) -> Any:
        operands = [part(names, leaf) for part in parts]
        results = [test(*operands[i : i + 2]) for i, test in enumerate(tests)]
        return results[0] if len(results) == 1 else all(results)

    return compare
