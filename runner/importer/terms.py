"""C expressions as small trees: read from the parser's nodes, folded, compared, and written in the YAML's language.

A term is a tuple whose first entry is its operation: `("number", 3)`, `("name", "n")`, `("+", a, b)`. Everything is
integer arithmetic unless an operand is real; so `/` is read as `//` for integers once the types are known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import tree_sitter

from runner.device.syntax import text_of

Term = tuple[Any, ...]
Polynomial = dict[tuple[Term, ...], int | float]  # a coefficient for each product of atoms; the empty product is 1

DEEPEST = 100  # levels of an expression; deeper ones are unknown
LARGEST = 1 << 64  # of a folded integer
UNKNOWN: Term = ("unknown",)

BINARY = frozenset("+ - * / % << >> & | ^ < <= > >= == != && ||".split())
_LITERAL = re.compile(r"[+-]?(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)([uUlLzZ]*)")
_REAL = re.compile(r"([+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)[fFlL]?")
_REAL_TYPES = ("float", "double", "half", "__half", "bfloat16", "__nv_bfloat16", "nv_bfloat16", "floatX", "real")
_CASTS = frozenset("static_cast reinterpret_cast const_cast".split())
_TYPES = frozenset(
    "int unsigned long short char size_t float double half bool uint int32_t uint32_t int64_t uint64_t "
    "unsigned_int".split()
)
_LIMITS: Mapping[str, int | float] = {"RAND_MAX": 2147483647, "INT_MAX": 2147483647, "true": 1, "false": 0}


def number(value: float) -> Term:
    """A number; whole and real ones differ by their Python type."""
    return ("number", value)


def name(text: str) -> Term:
    """A name."""
    return ("name", text)


def read(node: tree_sitter.Node | None, depth: int = 0) -> Term:  # noqa: C901, PLR0912  (one case for each kind of node)
    """The term of an expression's node; `UNKNOWN` for what it is not one of, and below `DEEPEST` levels."""
    while node is not None and node.type == "parenthesized_expression" and len(node.named_children) == 1:
        node = node.named_children[0]
    if node is None or depth > DEEPEST:
        return UNKNOWN
    below = depth + 1

    def field(key: str) -> Term:
        return read(node.child_by_field_name(key), below)

    match node.type:
        case "number_literal":
            return _literal(text_of(node))
        case "identifier" | "field_identifier" | "type_identifier" | "primitive_type":
            text = text_of(node)
            return number(_LIMITS[text]) if text in _LIMITS else name(text)
        case "true" | "false":
            return number(int(node.type == "true"))
        case "null" | "nullptr":
            return ("null",)
        case "qualified_identifier":
            return name(text_of(node))
        case "binary_expression":
            operator = text_of(node.child_by_field_name("operator"))
            return (operator, field("left"), field("right")) if operator in BINARY else UNKNOWN
        case "unary_expression":
            operator = text_of(node.child_by_field_name("operator"))
            inner = field("argument")
            return (
                inner if operator == "+" else ({"-": "negative", "!": "not", "~": "~"}.get(operator, "unknown"), inner)
            )
        case "pointer_expression":
            operator = text_of(node.child_by_field_name("operator"))
            return ("address" if operator == "&" else "content", field("argument"))
        case "conditional_expression":
            return ("?", field("condition"), field("consequence"), field("alternative"))
        case "subscript_expression":
            indices = node.child_by_field_name("indices")
            inside = [read(c, below) for c in indices.named_children] if indices else []
            return ("index", field("argument"), *inside)
        case "field_expression":
            return ("member", field("argument"), text_of(node.child_by_field_name("field")))
        case "sizeof_expression":
            kind = node.child_by_field_name("type") or node.child_by_field_name("value")
            return ("sizeof", text_of(kind).strip("() ")) if kind is not None else UNKNOWN
        case "cast_expression":
            return ("cast", _type(text_of(node.child_by_field_name("type"))), field("value"))
        case "call_expression":
            return _call(node, below)
        case "initializer_list" | "argument_list":
            return ("list", *(read(c, below) for c in node.named_children if c.type != "comment"))
        case "compound_literal_expression":
            return ("call", _type(text_of(node.child_by_field_name("type"))), *field("value")[1:])
    return UNKNOWN


def _call(node: tree_sitter.Node, depth: int) -> Term:
    function, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or given is None or any(c.type == "kernel_call_syntax" for c in node.children):
        return UNKNOWN
    arguments = tuple(read(c, depth) for c in given.named_children if c.type != "comment")
    if function.type == "template_function":
        called = text_of(function.child_by_field_name("name"))
        types = function.child_by_field_name("arguments")
        if called in _CASTS and len(arguments) == 1:
            return ("cast", _type(text_of(types)[1:-1]), arguments[0])
        return ("call", called, *arguments)
    if function.type == "field_expression":
        inner = read(function.child_by_field_name("argument"), depth)
        return ("method", inner, text_of(function.child_by_field_name("field")), *arguments)
    called = text_of(function)
    if called in _TYPES and len(arguments) == 1:
        return ("cast", called, arguments[0])
    return ("call", called.removeprefix("::"), *arguments)


def _type(text: str) -> str:
    return " ".join(text.replace("const", "").split())


def _literal(text: str) -> Term:
    plain = text.replace("'", "")
    if whole := _LITERAL.fullmatch(plain):
        digits = whole[1]
        octal = len(digits) > 1 and digits.isdigit() and digits[0] == "0"
        known = int(digits, 8 if octal and set(digits) <= set("01234567") else 0 if not octal else 10)
        return number(-known if plain[0] == "-" else known)
    real = _REAL.fullmatch(plain)
    return number(float(real[1])) if real else UNKNOWN


def is_real_type(kind: str) -> bool:
    """Whether a C++ type holds real numbers."""
    return kind in _REAL_TYPES


def leaves(term: Term) -> Iterator[Term]:
    """The term and all terms in it."""
    waiting: list[Any] = [term]
    while waiting:
        each = waiting.pop()
        if isinstance(each, tuple):
            yield each
            waiting.extend(each[1:])


def replaced(term: Term, change: Callable[[Term], Term | None]) -> Term:
    """The term with some of its parts replaced: those for which `change` returns another one."""
    new = change(term)
    if new is not None:
        return new
    return tuple(replaced(each, change) if isinstance(each, tuple) else each for each in term)


def numbers(term: Term) -> Term:
    """A resolved term with the values of its constants."""
    return replaced(term, lambda t: number(t[2]) if t[0] == "constant" and t[2] is not None else None)


def value(term: Term) -> int | float | None:
    """The number that a term without names has; `None` if it has none."""
    match term:
        case ("number", known):
            return known  # type: ignore[no-any-return]
        case ("cast", kind, inner):
            known = value(inner)
            return known if known is None else float(known) if is_real_type(kind) else int(known)
        case ("negative", inner):
            known = value(inner)
            return None if known is None else -known
        case ("?", condition, yes, no):
            known = value(condition)
            return None if known is None else value(yes if known else no)
        case ("call", function, *given):
            numbers = [value(each) for each in given]
            if None in numbers:
                return None
            return _called(function.removeprefix("std::"), numbers)
        case (str(operator), left, right) if operator in BINARY or operator == "//":
            return calculated(operator, value(left), value(right))
    return None


def _called(function: str, numbers: list[Any]) -> int | float | None:
    match (function, *numbers):
        case ("ceil" | "ceilf", float(x)):
            return float(-(-x // 1))
        case ("ceil" | "ceilf" | "floor" | "floorf", int(x)):
            return x
        case ("floor" | "floorf", float(x)):
            return float(x // 1)
        case ("sqrt" | "sqrtf", x) if x >= 0:
            return float(x) ** 0.5  # type: ignore[no-any-return]
        case ("min" | "max", x, y):
            return min(x, y) if function == "min" else max(x, y)  # type: ignore[no-any-return]
        case ("pow" | "powf", x, y) if 0 <= y <= 64 and abs(x) <= 1024:
            return float(x**y)
        case ("ceil_div", int(x), int(y)) if y:
            return -(-x // y)
    return None


def calculated(operator: str, left: Any, right: Any) -> int | float | None:
    """The result of a binary operator of C++ for two numbers; `None` if it has none."""
    if left is None or right is None:
        return None
    whole = isinstance(left, int) and isinstance(right, int)
    match operator:
        case "+" | "-" | "*":
            result = left + right if operator == "+" else left - right if operator == "-" else left * right
            return result if not whole or abs(result) < LARGEST else None
        case "/" | "//" if right:
            return left // right if whole else left / right  # type: ignore[no-any-return]
        case "%" if whole and right:
            return left % right  # type: ignore[no-any-return]
        case "<<" if whole and 0 <= right < 64:
            return left << right  # type: ignore[no-any-return]
        case ">>" if whole and 0 <= right < 64:
            return left >> right  # type: ignore[no-any-return]
        case "&" | "|" | "^" if whole:
            return left & right if operator == "&" else left | right if operator == "|" else left ^ right  # type: ignore[no-any-return]
        case "<" | "<=" | ">" | ">=" | "==" | "!=":
            compared = {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}
            return int({**compared, "==": left == right, "!=": left != right}[operator])
        case "&&" | "||":
            return int(bool(left and right) if operator == "&&" else bool(left or right))
    return None


def polynomial(term: Term) -> Polynomial:
    """A term as a sum of products; what is neither a sum nor a product is an atom."""
    match term:
        case ("number", known):
            return {(): known} if known else {}
        case ("cast", kind, inner) if not is_real_type(kind):
            return polynomial(inner)
        case ("negative", inner):
            return {atoms: -factor for atoms, factor in polynomial(inner).items()}
        case ("+" | "-", left, right):
            total = polynomial(left)
            for atoms, factor in polynomial(right).items():
                total[atoms] = total.get(atoms, 0) + (factor if term[0] == "+" else -factor)
            return {atoms: factor for atoms, factor in total.items() if factor}
        case ("*", left, right):
            product: Polynomial = {}
            for a, x in polynomial(left).items():
                for b, y in polynomial(right).items():
                    atoms = tuple(sorted((*a, *b), key=repr))
                    product[atoms] = product.get(atoms, 0) + x * y
            return {atoms: factor for atoms, factor in product.items() if factor}
        case ("<<", left, ("number", int(bits))) if 0 <= bits < 32:
            return polynomial(("*", left, number(1 << bits)))
    known = value(term)
    return {(): known} if known else {} if known == 0 else {(term,): 1}


def term_of(sums: Polynomial) -> Term:
    """The term of a polynomial, with the constant last."""
    result: Term | None = None
    for atoms, factor in sorted(sums.items(), key=lambda item: (not item[0], item[1] < 0)):
        size: Term | None = None
        for atom in atoms:
            size = atom if size is None else ("*", size, atom)
        magnitude = number(abs(factor))
        product = magnitude if size is None else size if abs(factor) == 1 else ("*", magnitude, size)
        if result is None:
            result = ("negative", product) if factor < 0 else product
        else:
            result = ("-" if factor < 0 else "+", result, product)
    return number(0) if result is None else result


def same(left: Term, right: Term) -> bool:
    """Whether two terms are equal as polynomials."""
    return polynomial(("-", left, right)) == {}


def simplified(term: Term) -> Term:  # noqa: C901, PLR0912  (one case for each form)
    """A term with its constant parts folded; `(n + d - 1) / d` becomes `ceil_div(n, d)`."""
    term = tuple(simplified(each) if isinstance(each, tuple) else each for each in term)
    known = value(term)
    if known is not None:
        return number(known)
    match term:
        case ("/", above, below) if _has_real(above) or _has_real(below):
            return term
        case ("/" | "//", above, below):
            rest = polynomial(("+", ("-", above, below), number(1)))
            if len(polynomial(above)) > 1 and len(rest) <= max(1, len(polynomial(above)) - 1):
                return ("call", "ceil_div", term_of(rest), below)
            return ("//", _divided(above, below), below) if _divided(above, below) is above else _divided(above, below)
        case (
            "+",
            ("//", above, below),
            ("?", ("!=" | ">", ("%", over, by), ("number", 0)), ("number", 1), ("number", 0)),
        ):
            if (over, by) == (above, below):
                return ("call", "ceil_div", above, below)
        case ("?", ("==", ("%", over, by), ("number", 0)), ("//", above, below), _) if (over, by) == (above, below):
            return ("call", "ceil_div", above, below)
        case ("+", left, ("number", 0)) | ("-", left, ("number", 0)) | ("*", left, ("number", 1)):
            return left  # type: ignore[no-any-return]
        case ("+", ("number", 0), right) | ("*", ("number", 1), right):
            return right  # type: ignore[no-any-return]
        case ("*", ("number", 0), _) | ("*", _, ("number", 0)):
            return number(0)
        case ("cast", _, ("call", "ceil" | "ceilf", _) as inner):
            return inner  # type: ignore[no-any-return]
        case ("call", "ceil" | "ceilf" | "std::ceil", ("//" | "/", above, below)) if _has_real(above) or _has_real(
            below
        ):
            return ("call", "ceil_div", _whole(above), _whole(below))
        case ("call", "ceil" | "ceilf" | "std::ceil", ("*", above, ("/" | "//", ("number", 1.0), below))):
            return ("call", "ceil_div", _whole(above), _whole(below))
    return term


def _divided(above: Term, below: Term) -> Term:
    """`a * b / b` without the division."""
    sums, divisor = polynomial(above), polynomial(below)
    if len(divisor) == 1:
        ((atoms, factor),) = divisor.items()
        result: Polynomial = {}
        for product, each in sums.items():
            rest = list(product)
            for atom in atoms:
                if atom not in rest:
                    return above
                rest.remove(atom)
            if each % factor:
                return above
            result[tuple(rest)] = each // factor
        return term_of(result)
    return above


def _has_real(term: Term) -> bool:
    return any(
        (t[0] == "cast" and is_real_type(t[1]))
        or (t[0] == "number" and isinstance(t[1], float))
        or (t[0] == "constant" and isinstance(t[2], float))
        for t in leaves(term)
    )


def _whole(term: Term) -> Term:
    """A term without conversions to real numbers."""
    match term:
        case ("cast", _, inner):
            return _whole(inner)
        case ("number", float(known)) if known.is_integer():
            return number(int(known))
    return tuple(_whole(each) if isinstance(each, tuple) else each for each in term)


_LEVELS = {
    "||": 1, "&&": 2, "|": 5, "^": 6, "&": 7, "<": 4, "<=": 4, ">": 4, ">=": 4, "==": 4, "!=": 4, "<<": 8, ">>": 8,
    "+": 9, "-": 9, "*": 10, "/": 10, "//": 10, "%": 10,
}  # fmt: skip
_WORDS = {"&&": "and", "||": "or"}


def yaml_text(term: Term, level: int = 0) -> str:
    """A term of numbers and names in the YAML's language of expressions.

    Raises ValueError if the language cannot say it.
    """
    match term:
        case ("number", known):
            text = number_text(known)
            return f"({text})" if known < 0 and level > 9 else text
        case ("name", text):
            return str(text)
        case ("cast", _, inner):
            return yaml_text(inner, level)
        case ("negative", inner):
            text = f"-{yaml_text(inner, 11)}"
            return f"({text})" if level > 9 else text
        case ("call", ("ceil_div" | "min" | "max" | "popcount") as function, *given):
            return f"{function}({', '.join(yaml_text(each) for each in given)})"
        case (str(operator), left, right) if operator in _LEVELS:
            own = _LEVELS[operator]
            word = _WORDS.get(operator, operator)
            text = f"{yaml_text(left, own)} {word} {yaml_text(right, own + 1)}"
            return f"({text})" if own < level else text
    raise ValueError(f"{term[0]} has no form in the YAML")


def number_text(known: float) -> str:
    """A number as the YAML writes it: powers of two from 64 Ki with an exponent."""
    if isinstance(known, int) and known >= 1 << 16 and known & (known - 1) == 0:
        return f"2**{known.bit_length() - 1}"
    return repr(known)
