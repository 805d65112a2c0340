"""Terms in the YAML's language of expressions."""

from __future__ import annotations

from runner.importer.terms import Term

_LEVELS = {
    "||": 1, "&&": 2, "|": 5, "^": 6, "&": 7, "<": 4, "<=": 4, ">": 4, ">=": 4, "==": 4, "!=": 4, "<<": 8, ">>": 8,
    "+": 9, "-": 9, "*": 10, "/": 10, "//": 10, "%": 10,
}  # fmt: skip
_WORDS = {"&&": "and", "||": "or"}
OPERAND = 11  # the level of an operand behind any operator


def yaml_text(term: Term, level: int = 0) -> str:
    """A term of numbers and names as text, in brackets if it stands where operators bind tighter than `level`.

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
            text = f"-{yaml_text(inner, OPERAND)}"
            return f"({text})" if level > 9 else text
        case ("call", ("ceil_div" | "min" | "max") as function, *given):
            return f"{function}({', '.join(map(yaml_text, given))})"
        case ("**", left, right):
            return f"{yaml_text(left, OPERAND)} ** {yaml_text(right, OPERAND)}"
        case (str(operator), left, right) if operator in _LEVELS:
            own = _LEVELS[operator]
            text = f"{yaml_text(left, own)} {_WORDS.get(operator, operator)} {yaml_text(right, own + 1)}"
            return f"({text})" if own < level else text
    raise ValueError(f"{term[0]} has no form in the YAML")


def said(term: Term | None, level: int = 0) -> str:
    """A term as text; empty if it has none."""
    try:
        return "" if term is None else yaml_text(term, level)
    except ValueError:
        return ""


def number_text(known: float) -> str:
    """A number as the YAML writes it: powers of two from 64 Ki with an exponent."""
    if isinstance(known, int) and known >= 1 << 16 and known & (known - 1) == 0:
        return f"2**{known.bit_length() - 1}"
    return repr(known)
