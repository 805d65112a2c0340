"""Parameters whose default is an expression over other parameters, such as a block of `bm * bn // (tm * tn)` threads.

Each case computes such a value, unless it is given. So a value that follows others still does at another size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from runner.errors import UsageError
from runner.kernel.declaration import Canonical, Kind, Parameter, canonical, variables

WHOLE = (Kind.INTEGER, Kind.SIZE, Kind.BLOCK, Kind.MASK)  # kinds whose values are integers


def settle(parameters: Sequence[Parameter], given: Mapping[str, Canonical]) -> tuple[dict[str, Canonical], str]:
    """Give each parameter a value: the given one, else its default, which may be computed from the others.

    Args:
        parameters: Those of a kernel.
        given: Canonical values by name.

    Returns:
        The canonical values by name, in the order of `parameters`; and why a computed one is not an integer although
        its kind demands one (it is rounded down), or "".

    Raises:
        UsageError: An expression cannot be evaluated, gives a value that its parameter cannot have, or needs itself.
    """
    found: dict[str, Canonical] = {}
    reason, known = "", dict[str, Canonical]()
    waiting = list(parameters)
    while waiting:
        p = next((p for p in waiting if p.name in given or p.needs <= known.keys()), None)
        if p is None:
            raise UsageError(_circle(waiting))
        if p.name in given or not p.computed:
            found[p.name] = given.get(p.name, p.default)
        else:
            found[p.name], why = _computed(p, known)
            reason = reason or why
        known.update(variables(p.name, p.kind, found[p.name]))
        waiting.remove(p)
    return {p.name: found[p.name] for p in parameters}, reason


def independent(parameters: Sequence[Parameter], values: Mapping[str, Canonical]) -> dict[str, Canonical]:
    """The values of a case that do not follow from its other values. With other ones, the rest is computed again."""
    if not any(p.computed for p in parameters):
        return dict(values)
    following = set()
    for p in (p for p in parameters if p.computed):
        others = {name: value for name, value in values.items() if name != p.name}
        with suppress(UsageError):  # its expression may have no value here
            if settle(parameters, others)[0][p.name] == values[p.name]:
                following.add(p.name)
    return {name: value for name, value in values.items() if name not in following}


def affected(parameters: Iterable[Parameter], names: Iterable[str], given: Iterable[str] = ()) -> frozenset[str]:
    """The names, and those of the parameters that are computed from them and not `given`, with their parts."""
    found, fixed = frozenset(names), frozenset(given)
    computed = [p for p in parameters if p.computed and p.name not in fixed]
    while more := {n for p in computed if p.needs & found for n in variables(p.name, p.kind, p.default)} - found:
        found |= more
    return found


def _computed(p: Parameter, known: Mapping[str, Canonical]) -> tuple[Canonical, str]:
    """The value of a parameter, and why it is not an integer although its kind demands one, or ""."""
    parts, reason = [], ""
    for e in p.computed:
        value = e(known)
        if isinstance(value, float) and (value.is_integer() or p.kind in WHOLE):
            if not value.is_integer():
                reason = reason or f"{p.name} = {e.full} gives {value:g}, which is not an integer"
            value = int(value // 1)
        parts.append(str(value).lower() if isinstance(value, bool) else str(value))
    try:
        return canonical(p.name, p.kind, "x".join(parts)), reason
    except UsageError as error:
        raise UsageError(f"{p.computed[0].shown} gives {error}") from None


def _circle(waiting: Sequence[Parameter]) -> str:
    """The sentence on parameters that need each other."""
    owner = {name: p for p in waiting for name in variables(p.name, p.kind, p.default)}
    path = [waiting[0]]
    while path[-1] not in path[:-1]:
        path.append(next(owner[name] for name in sorted(path[-1].needs) if name in owner))
    circle = path[path.index(path[-1]) :]
    chain = " -> ".join(p.name for p in circle)
    return f"{circle[0].computed[0].shown}: '{circle[0].name}' is computed from itself: {chain}"
