"""Sentences on a search: its course, and which parameters mattered."""

from __future__ import annotations

from runner.display.text import count, listed, one_line
from runner.kernel.metrics import TIME
from runner.record.run import Run
from runner.record.searched import Importance, Searched

MATTERED = 0.05  # a parameter mattered if its interval is above this share of the variance, hardly if below
NAMED = 4  # most parameters in a sentence


def sentences(run: Run) -> list[str]:
    """Describe which parameters mattered, one sentence per objective; empty for a rehearsal."""
    found = run.search
    return [] if found is None or found.rehearsal else [said(one) for one in found.importance]


def section(run: Run) -> list[str]:
    """The sentences above the page's figures; empty if the run is not a search."""
    found = run.search
    if found is None:
        return []
    if found.rehearsal:
        return [about(found), "Times of the CPU device are neither ranked nor drawn."]
    return [about(found), *(said(one) for one in found.importance if not one.shares)]


def about(search: Searched) -> str:
    """Describe how many cases were measured, how they were chosen, and why the search ended."""
    share = "" if search.legal is None else f" of {search.legal:,} legal combinations"
    how = [
        f"{name} {one_line(str(search.settings[name]), 30)}" for name in ("sampler", "seed") if name in search.settings
    ]
    failed = sum(not case.results for case in search.cases)
    without = [name for name in search.objectives if name != TIME]
    lacks = (
        f" or {'has' if failed == 1 else 'have'} no value of {one_line(' or '.join(without), 90)}" if without else ""
    )
    some = f" {count(failed, 'case')} failed{lacks}." if failed else ""
    why = f"the search ended because {search.ended}." if search.ended else "the search has not ended."
    return f"{count(len(search.cases), 'case')}{share}; {', '.join(how)}{'; ' * bool(how)}{why}{some}"


def said(one: Importance) -> str:
    """Describe which parameters mattered for an objective."""
    objective = one_line(one.objective, 40)
    if not one.shares:
        why = f": a model of half of them explains {100 * one.explained:.0f} % of the variance of the others"
        first = f"Which parameters mattered for {objective} is unknown after {count(one.cases, 'measured case')}"
        return f"{first}{why if one.explained > 0 else ''}."
    names = list(one.shares)
    much = [n for n in names if one.shares[n][1] > MATTERED]
    little = [n for n in names if one.shares[n][2] < MATTERED]
    unsure = [n for n in names if n not in much and n not in little]
    shown = [(n, *(f"{100 * share:.0f}" for share in one.shares[n])) for n in much[:NAMED]]
    parts = [f"{n} {middle} % ({low} to {high} %)" for n, middle, low, high in shown]
    first = (
        f"What mattered for {objective} in this search (share of the variance, 95 % interval): " + ", ".join(parts)
        if parts
        else f"No parameter certainly mattered for {objective} in this search"
    )
    rest = [f"{len(much) - NAMED} more"] if len(much) > NAMED else []
    rest += [f"hardly (below {100 * MATTERED:.0f} %): {_some(little)}"] if little else []
    rest += [f"undecided: {_some(unsure)}"] if unsure else []
    return f"{'; '.join([first, *rest])}."


def _some(names: list[str]) -> str:
    return listed(names if len(names) <= NAMED else [*names[:NAMED], f"{len(names) - NAMED} more"])
