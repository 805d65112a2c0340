"""Read untrusted YAML within limits. It is separate from `limited` because YAML is slow to import."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from runner.files.limited import MAX_DIGITS, MAX_LEVELS, TooMuch

MAX_YAML_NODES = 100_000  # values; an alias counts as all values that it refers to
MAX_YAML_CHARACTERS = 2**20  # characters

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C loader is ten times as fast
_NUMBER = re.compile(r"[-+]?(0x[0-9a-fA-F_]*|[0-9_:.]+)")


def load_yaml(text: str) -> Any:
    """Read a YAML document as plain values.

    Raises:
        TooMuch: The text exceeds a limit.
        yaml.YAMLError: The text is malformed.
    """
    check_yaml(text)
    return yaml.load(text, Loader=LOADER)  # noqa: S506  (a safe one)


def check_yaml(text: str, most: int = MAX_YAML_NODES) -> None:
    """Check a YAML text against the limits, in time linear in its length even if aliases multiply its values.

    It may have at most `most` values. A malformed text is checked up to its first error; a loader refuses it.

    Raises:
        TooMuch: The text exceeds a limit.
    """
    if len(text) > MAX_YAML_CHARACTERS:
        raise TooMuch(f"has more than {MAX_YAML_CHARACTERS:,} characters")
    for loader in (LOADER, yaml.SafeLoader):  # the C parser refuses some texts that the Python parser accepts
        with contextlib.suppress(yaml.YAMLError):
            _count(yaml.parse(text, Loader=loader), most)
            break


@dataclass
class _Open:
    """A collection whose end was not reached yet."""

    anchor: str | None
    before: int  # number of nodes before it
    height: int = 0  # of its content so far


def _count(events: Iterator[Any], most: int) -> None:
    count, above = 0, [_Open(None, 0)]
    sizes: dict[str | None, tuple[int, int]] = {}  # by anchor: nodes and height
    for event in events:
        if isinstance(event, yaml.CollectionStartEvent):
            above.append(_Open(event.anchor, count))
            count += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            ended = above.pop()
            sizes[ended.anchor] = count - ended.before, ended.height + 1
            above[-1].height = max(above[-1].height, ended.height + 1)
        elif isinstance(event, yaml.NodeEvent):
            nodes, height = _leaf(event, sizes, above)
            count += nodes
            above[-1].height = max(above[-1].height, height)
        if count > most:
            raise TooMuch(f"has more than {most:,} values (an alias counts as all values that it refers to)")
        if len(above) - 1 + above[-1].height > MAX_LEVELS:
            raise TooMuch(f"is nested more than {MAX_LEVELS} levels deep")


def _leaf(event: Any, sizes: dict[str | None, tuple[int, int]], above: Sequence[_Open]) -> tuple[int, int]:
    """The number of nodes and the height of a scalar, or of the value that an alias refers to."""
    if isinstance(event, yaml.AliasEvent):
        if any(collection.anchor == event.anchor for collection in above):
            raise TooMuch(f"contains *{event.anchor}, which refers to a value that contains it")
        return sizes.get(event.anchor, (1, 0))
    may_be_number = event.implicit[0] or event.tag
    if may_be_number and len(event.value) > MAX_DIGITS and _NUMBER.fullmatch(event.value):
        raise TooMuch(f"contains a number with {len(event.value):,} characters; at most {MAX_DIGITS:,} are read")
    sizes[event.anchor] = 1, 0
    return 1, 0
