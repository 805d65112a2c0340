"""What a loop of the host stores to an array, as a fill of the YAML."""

from __future__ import annotations

from runner.importer import terms
from runner.importer.term_text import number_text
from runner.importer.terms import Term

_RANDOM = frozenset("rand random std::rand lrand48".split())
_MOST_RANDOM = 2147483647
_Interval = tuple[float, float]  # the least and the largest value; both are integers for an integer


def fill_text(content: Term, place: Term) -> str:
    """The fill of an array whose element `place` is `content`; empty if the YAML has none for it."""
    known = terms.value(terms.numbers(content))
    if known is not None:
        return "zeros" if known == 0 else "ones" if known == 1 else number_text(known)
    if any(t[0] == "call" and t[1] in _RANDOM for t in terms.leaves(content)):
        interval = _interval(content)
        if interval is None or interval[0] == interval[1]:
            return ""
        low, high = interval
        return f"{{range: [{low}, {high + 1 if isinstance(high, int) else high}]}}"
    return "index" if content[0] == "axis" and place == content else ""


def _interval(term: Term) -> _Interval | None:
    """The interval of a term of `rand()`; `None` if it is unknown."""
    known = terms.value(terms.numbers(term))
    if known is not None:
        return known, known
    match term:
        case ("call", function) if function in _RANDOM:
            return 0, _MOST_RANDOM
        case ("cast", kind, inner):
            found = _interval(inner)
            return (float(found[0]), float(found[1])) if found and terms.is_real_type(kind) else found
        case ("%" | "&", inner, limit):
            most = terms.value(terms.numbers(limit))
            if isinstance(most, int) and most > 0 and _interval(inner):
                return 0, most - (term[0] == "%")
        case (("+" | "-" | "*" | "/" | "//") as operator, left, right):
            return _combined(operator, _interval(left), _interval(right))
    return None


def _combined(operator: str, left: _Interval | None, right: _Interval | None) -> _Interval | None:
    if left is None or right is None:
        return None
    if operator in ("/", "//") and right[0] <= 0 <= right[1]:
        return None
    ends = [terms.calculated(operator, x, y) for x in left for y in right]
    known = [e for e in ends if e is not None]
    return (min(known), max(known)) if len(known) == len(ends) else None
