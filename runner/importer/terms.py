"""C expressions as small trees: folded, compared, and simplified.

A term is a tuple whose first entry is its operation: `("number", 3)`, `("name", "n")`, `("+", a, b)`. Everything is
integer arithmetic unless an operand is real; so `/` is read as `//` for integers once the types are known.
"""

from __future__ import annotations

import math
import operator as operators
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Term = tuple[Any, ...]
Polynomial = dict[tuple[Term, ...], int | float]  # a coefficient for each product of atoms; the empty product is 1

LARGEST = 1 << 64  # of a folded integer
UNKNOWN: Term = ("unknown",)

_LARGEST = 1000  # binary exponent of a folded real number
BINARY = frozenset("+ - * / % << >> & | ^ < <= > >= == != && ||".split())
_REAL_TYPES = frozenset("float double half __half bfloat16 __nv_bfloat16 nv_bfloat16 floatX real".split())
_CEILS = ("ceil", "ceilf", "std::ceil")


def number(value: float) -> Term:
    """A number; whole and real ones differ by their Python type."""
    return ("number", value)


def name(text: str) -> Term:
    """A name."""
    return ("name", text)


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
            return _called(function.removeprefix("std::"), [value(each) for each in given])
        case (str(operator), left, right) if operator in BINARY or operator == "//":
            return calculated(operator, value(left), value(right))
    return None


def _called(function: str, given: list[Any]) -> int | float | None:
    match (function, *given):
        case ("ceil" | "ceilf", int() | float() as x):
            return type(x)(-(-x // 1))
        case ("sqrt" | "sqrtf", int() | float() as x) if x >= 0:
            return float(x**0.5)
        case ("pow" | "powf", int() | float() as x, int() | float() as y) if x > 0 and abs(y * math.log2(x)) < _LARGEST:
            return math.pow(x, y)
        case ("ceil_div", int(x), int(y)) if y:
            return -(-x // y)
        case ("min" | "max", int() | float() as x, int() | float() as y):
            return min(x, y) if function == "min" else max(x, y)
    return None


_ON_NUMBERS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operators.add, "-": operators.sub, "*": operators.mul, "<": operators.lt, "<=": operators.le,
    ">": operators.gt, ">=": operators.ge, "==": operators.eq, "!=": operators.ne,
    "&&": lambda x, y: bool(x and y), "||": lambda x, y: bool(x or y),
}  # fmt: skip
_ON_INTEGERS: Mapping[str, Callable[[int, int], int]] = {
    "&": operators.and_, "|": operators.or_, "^": operators.xor, "<<": operators.lshift, ">>": operators.rshift,
}  # fmt: skip


def calculated(operator: str, left: Any, right: Any) -> int | float | None:
    """The result of a binary operator of C++ for two numbers; `None` if it has none."""
    if left is None or right is None:
        return None
    is_whole = isinstance(left, int) and isinstance(right, int)
    if operator in _ON_NUMBERS:
        result = _ON_NUMBERS[operator](left, right)
        result = int(result) if isinstance(result, bool) else result
        return result if not is_whole or abs(result) < LARGEST else None
    if operator in ("/", "//") and right:
        return left // right if is_whole else left / right  # type: ignore[no-any-return]
    if operator == "%" and is_whole and right:
        return left % right  # type: ignore[no-any-return]
    if operator in _ON_INTEGERS and is_whole and (operator not in ("<<", ">>") or 0 <= right < 64):
        return _ON_INTEGERS[operator](left, right)
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


def simplified(term: Term) -> Term:
    """A term with its constant parts folded; `(n + d - 1) / d` becomes `ceil_div(n, d)`."""
    term = tuple(simplified(each) if isinstance(each, tuple) else each for each in term)
    known = value(term)
    if known is not None:
        return number(known)
    match term:
        case ("/" | "//", above, below):
            return _quotient(term[0], above, below)
        case ("+" | "-" | "*", left, right):
            return _without_neutral(term[0], left, right)
        case ("?", ("==", ("%", over, by), ("number", 0)), ("//", above, below), _) if (over, by) == (above, below):
            return ("call", "ceil_div", above, below)
        case ("cast", _, ("call", function, *_) as inner) if function in (*_CEILS, "ceil_div"):
            return inner  # type: ignore[no-any-return]
        case ("call", function, inner) if function in _CEILS:
            return _rounded_up(term, inner)
    return term


def _quotient(operator: str, above: Term, below: Term) -> Term:
    if _has_real(above) or _has_real(below):
        return (operator, above, below)
    sums, rest = polynomial(above), polynomial(("+", ("-", above, below), number(1)))
    if len(sums) > 1 and len(rest) < len(sums):
        return ("call", "ceil_div", term_of(rest), below)
    divided = _divided(above, below)
    return ("//", above, below) if divided is None else divided


def _without_neutral(operator: str, left: Term, right: Term) -> Term:
    """A sum or a product without 0 or 1."""
    neutral = number(1 if operator == "*" else 0)
    if operator == "*" and number(0) in (left, right):
        return number(0)
    if right == neutral:
        return left
    return right if left == neutral and operator != "-" else (operator, left, right)


def _rounded_up(term: Term, inner: Term) -> Term:
    """`ceil(a / (float)b)` and `ceil(a * (1.0 / b))` as a division of integers."""
    match inner:
        case ("//" | "/", above, below) if _has_real(inner):
            return ("call", "ceil_div", _whole(above), _whole(below))
        case ("*", above, ("/" | "//", ("number", 1.0), below)):
            return ("call", "ceil_div", _whole(above), _whole(below))
    return term


def _divided(above: Term, below: Term) -> Term | None:
    """`a * b / b` without the division; `None` if it does not divide."""
    sums, divisor = polynomial(above), polynomial(below)
    if len(divisor) != 1:
        return None
    ((atoms, factor),) = divisor.items()
    result: Polynomial = {}
    for product, each in sums.items():
        rest = list(product)
        for atom in atoms:
            if atom not in rest:
                return None
            rest.remove(atom)
        if each % factor:
            return None
        result[tuple(rest)] = each // factor
    return term_of(result)


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
