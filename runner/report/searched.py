"""Sentences on a search: its course, and which parameters mattered."""

from __future__ import annotations

from runner.display.text import count, limited, listed, one_line
from runner.kernel.metrics import TIME
from runner.record.run import Run
from runner.record.searched import Importance, Searched

MIN_SHARE = 0.05  # a parameter mattered if its interval is above this share of the variance, hardly if below
MAX_NAMES = 4  # parameters in a sentence


def sentences(run: Run) -> list[str]:
    """Describe which parameters mattered, one sentence per objective; empty for a rehearsal."""
    return [] if run.search is None or run.search.rehearsal else list(map(importance_sentence, run.search.importance))


def section(run: Run) -> list[str]:
    """The sentences above the page's figures; empty if the run is not a search."""
    search = run.search
    if search is None:
        return []
    if search.rehearsal:
        return [course_sentence(search), "Times of the CPU device are neither ranked nor drawn."]
    return [
        course_sentence(search),
        *(importance_sentence(objective) for objective in search.importance if not objective.shares),
    ]


def course_sentence(search: Searched) -> str:
    """Describe how many cases were measured, how they were chosen, and why the search ended."""
    share = "" if search.legal is None else f" of {search.legal:,} legal combinations"
    settings = search.settings
    choice = [f"{name} {one_line(str(settings[name]), 30)}" for name in ("sampler", "seed") if name in settings]
    failed = sum(not case.results for case in search.cases)
    metrics = one_line(" or ".join(name for name in search.objectives if name != TIME), 90)
    lacks = f" or {'has' if failed == 1 else 'have'} no value of {metrics}" if metrics else ""
    failures = f" {count(failed, 'case')} failed{lacks}." if failed else ""
    end = f"the search ended because {search.ended}." if search.ended else "the search has not ended."
    return f"{count(len(search.cases), 'case')}{share}; {', '.join(choice)}{'; ' * bool(choice)}{end}{failures}"


def importance_sentence(importance: Importance) -> str:
    """Describe which parameters mattered for an objective."""
    objective, shares = one_line(importance.objective, 40), importance.shares
    if not shares:
        share = f"{100 * importance.explained:.0f} % of the variance of the other half"
        why = f": a model fitted to half of them explains only {share}"
        first = f"Which parameters mattered for {objective} is unknown after {count(importance.cases, 'measured case')}"
        return f"{first}{why if importance.explained > 0 else ''}."
    much = [name for name, (_, low, _) in shares.items() if low > MIN_SHARE]
    little = [name for name, (_, _, high) in shares.items() if high < MIN_SHARE]
    unsure = [name for name in shares if name not in much and name not in little]
    percents = [(name, *(f"{100 * share:.0f}" for share in shares[name])) for name in much[:MAX_NAMES]]
    parts = [f"{name} {middle} % ({low} to {high} %)" for name, middle, low, high in percents]
    first = (
        f"What mattered for {objective} in this search (share of the variance, 95 % interval): " + ", ".join(parts)
        if parts
        else f"No parameter certainly mattered for {objective} in this search"
    )
    rest = limited(much, MAX_NAMES)[MAX_NAMES:]
    rest += [f"hardly (below {100 * MIN_SHARE:.0f} %): {listed(limited(little, MAX_NAMES))}"] if little else []
    rest += [f"undecided: {listed(limited(unsure, MAX_NAMES))}"] if unsure else []
    return f"{'; '.join([first, *rest])}."
