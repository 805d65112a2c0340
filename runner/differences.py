"""What has changed between then and now, in words: rows of the one and of the other do not belong in one table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runner.errors import UsageError

LONGEST = 40  # characters of a value that is told
MOST = 3  # differences that are told


def between(what: str, then: Any, now: Any) -> list[str]:
    """The differences of two values, each as one phrase; of mappings, key by key."""
    return list(_between(what, then, now))


def _between(what: str, then: Any, now: Any) -> Iterator[str]:
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        for name in dict.fromkeys((*then, *now)):
            yield from _between(f"{what}.{name}" if what else name, then.get(name), now.get(name))
    elif then != now:
        texts = [_text(then), _text(now)]
        short = all(len(t) <= LONGEST for t in texts)
        yield f"{what} was {texts[0]} and is {texts[1]} now" if short else f"{what} has changed"


def of_files(then: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The files whose contents differ, each as one phrase."""
    changed = [name for name in dict.fromkeys((*then, *now)) if then.get(name) != now.get(name)]
    return [f"{name} has changed (sources/ has it as it was)" for name in changed]


def refusal(differences: Sequence[str]) -> UsageError:
    """What to tell of a sweep that cannot be gone on with."""
    found = list(dict.fromkeys(differences))
    told = ", ".join([*found[:MOST], *([f"and {len(found) - MOST} more"] if len(found) > MOST else [])])
    return UsageError(
        f"the sweep is left as it is, since rows of then and of now must not be mixed: {told}; bring that back as it "
        f"was, or start a new sweep"
    )


def _text(value: Any) -> str:
    return "not set" if value is None else str(value)
