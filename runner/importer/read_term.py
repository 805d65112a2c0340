"""Read an expression of C++ from the parser's node, as a term."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import tree_sitter

from runner.device.syntax import text_of
from runner.importer.terms import BINARY, UNKNOWN, Term, name, number

MAX_DIGITS = 100  # of a number; longer ones are unknown, and no type holds them
DEEPEST = 100  # levels of an expression; deeper ones are unknown
_WHOLE = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)[uUlLzZ]*")
_REAL = re.compile(r"((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)[fFlL]?")
_CASTS = frozenset("static_cast reinterpret_cast const_cast".split())
_TYPES = frozenset("int unsigned long short char size_t float double half bool uint int32_t uint32_t int64_t".split())
_NUMBERS: Mapping[str, int] = {"RAND_MAX": 2147483647, "INT_MAX": 2147483647, "true": 1, "false": 0}
_UNARY = {"-": "negative", "!": "not", "~": "~"}

_Read = Callable[[tree_sitter.Node, int], Term]


def read(node: tree_sitter.Node | None, depth: int = 0) -> Term:
    """The term of an expression's node; `UNKNOWN` for what it is not one of, and below `DEEPEST` levels."""
    while node is not None and node.type == "parenthesized_expression" and len(node.named_children) == 1:
        node = node.named_children[0]
    reader = _BY_TYPE.get(node.type) if node is not None and depth <= DEEPEST else None
    return reader(node, depth + 1) if reader is not None and node is not None else UNKNOWN


def arguments_of(call: tree_sitter.Node) -> list[tree_sitter.Node]:
    """The nodes of a call's arguments, without comments."""
    given = call.child_by_field_name("arguments")
    return [c for c in given.named_children if c.type != "comment"] if given else []


def _fields(operation: str, *keys: str) -> _Read:
    """A reader of nodes whose fields are the operands of one operation."""
    return lambda node, depth: (operation, *(read(node.child_by_field_name(key), depth) for key in keys))


def _literal(node: tree_sitter.Node, _depth: int) -> Term:
    text = text_of(node).replace("'", "")
    if len(text) > MAX_DIGITS:
        return UNKNOWN
    if whole := _WHOLE.fullmatch(text):
        is_octal = len(whole[1]) > 1 and whole[1].isdigit() and whole[1][0] == "0"
        return number(int(whole[1], 8 if is_octal and not set(whole[1]) & set("89") else 10 if is_octal else 0))
    real = _REAL.fullmatch(text)
    return number(float(real[1])) if real else UNKNOWN


def _name(node: tree_sitter.Node, _depth: int) -> Term:
    text = text_of(node)
    return number(_NUMBERS[text]) if text in _NUMBERS else name(text)


def _binary(node: tree_sitter.Node, depth: int) -> Term:
    operator = text_of(node.child_by_field_name("operator"))
    return _fields(operator, "left", "right")(node, depth) if operator in BINARY else UNKNOWN


def _unary(node: tree_sitter.Node, depth: int) -> Term:
    operator, inner = text_of(node.child_by_field_name("operator")), read(node.child_by_field_name("argument"), depth)
    return inner if operator == "+" else (_UNARY.get(operator, "unknown"), inner)


def _pointer(node: tree_sitter.Node, depth: int) -> Term:
    operation = "address" if text_of(node.child_by_field_name("operator")) == "&" else "content"
    return _fields(operation, "argument")(node, depth)


def _index(node: tree_sitter.Node, depth: int) -> Term:
    indices = node.child_by_field_name("indices")
    return ("index", read(node.child_by_field_name("argument"), depth), *_listed(indices, depth))


def _member(node: tree_sitter.Node, depth: int) -> Term:
    return ("member", read(node.child_by_field_name("argument"), depth), text_of(node.child_by_field_name("field")))


def _sizeof(node: tree_sitter.Node, _depth: int) -> Term:
    kind = node.child_by_field_name("type") or node.child_by_field_name("value")
    return ("sizeof", text_of(kind).strip("() "))


def _cast(node: tree_sitter.Node, depth: int) -> Term:
    return ("cast", _type(text_of(node.child_by_field_name("type"))), read(node.child_by_field_name("value"), depth))


def _call(node: tree_sitter.Node, depth: int) -> Term:
    function, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or given is None or any(c.type == "kernel_call_syntax" for c in node.children):
        return UNKNOWN
    arguments = _listed(given, depth)
    if function.type == "template_function":
        called, types = text_of(function.child_by_field_name("name")), function.child_by_field_name("arguments")
        if called in _CASTS and len(arguments) == 1:
            return ("cast", _type(text_of(types)[1:-1]), arguments[0])
        return ("call", called, *arguments)
    if function.type == "field_expression":
        return ("method", *_member(function, depth)[1:], *arguments)
    called = text_of(function)
    is_cast = called in _TYPES and len(arguments) == 1
    return ("cast", called, arguments[0]) if is_cast else ("call", called.removeprefix("::"), *arguments)


def _list(node: tree_sitter.Node, depth: int) -> Term:
    return ("list", *_listed(node, depth))


def _listed(node: tree_sitter.Node | None, depth: int) -> tuple[Term, ...]:
    return tuple(read(c, depth) for c in node.named_children if c.type != "comment") if node is not None else ()


def _type(text: str) -> str:
    return " ".join(text.replace("const", "").split())


_BY_TYPE: Mapping[str, _Read] = {
    "number_literal": _literal, "identifier": _name, "field_identifier": _name, "type_identifier": _name,
    "primitive_type": _name, "qualified_identifier": _name, "true": _name, "false": _name,
    "null": lambda *_: ("null",), "nullptr": lambda *_: ("null",), "binary_expression": _binary,
    "unary_expression": _unary, "pointer_expression": _pointer, "subscript_expression": _index,
    "conditional_expression": _fields("?", "condition", "consequence", "alternative"), "field_expression": _member,
    "sizeof_expression": _sizeof, "cast_expression": _cast, "call_expression": _call, "initializer_list": _list,
    "argument_list": _list,
}  # fmt: skip
