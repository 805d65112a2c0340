"""The parameters of a YAML that is written, and the names that it gives them."""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from runner.columns import RESERVED
from runner.importer.term_text import number_text
from runner.kernel.declaration import VOCABULARY
from runner.kernel.expression import FUNCTIONS

LONGEST_NAME = 30  # characters, and one `_` or two
SPECIAL = frozenset("block dtype cache fill mask compile_options grid".split())  # with a meaning of their own
_PART = re.compile("(block|grid)_[xyz]")


@dataclass
class Parameter:
    """A parameter of the YAML: its default, the allowed values if they are known, and a comment."""

    default: Any
    allowed: Sequence[Any] = ()
    note: str = ""

    def line(self, name: str) -> str:
        """The line under `parameters`."""
        is_number = isinstance(self.default, int | float) and not isinstance(self.default, bool)
        value = number_text(self.default) if is_number else str(self.default)
        if self.allowed:
            value = f"{{default: {value}, allowed: [{', '.join(map(str, self.allowed))}]}}"
        return f"  {name}: {value}{f'  # {self.note}' if self.note else ''}"


def yaml_name(name: str, taken: Iterable[str] = ()) -> str:
    """The YAML's name for a name of the source: the one place that knows the rule."""
    plain = re.sub(r"\W+", "_", name).lstrip("_0123456789")[:LONGEST_NAME] or "value"
    lower = plain.lower()
    is_word = keyword.iskeyword(plain) or plain in FUNCTIONS or (lower != plain and lower in VOCABULARY)
    if is_word or lower in RESERVED or _PART.fullmatch(lower):
        plain += "_"
    others = {each.lower() for each in taken}
    while plain.lower() in others:  # names that differ only by case are refused
        plain += "_"
    return plain


def argument_name(position: int, name: str) -> str:
    """The YAML's name for an argument of the kernel."""
    name = name or f"argument{position}"
    return name + "_" * (keyword.iskeyword(name) and name != "in")  # a keyword cannot be used in an expression


@dataclass
class Parameters:
    """The parameters, in the order in which they are added."""

    arrays: Collection[str]  # names that no parameter may have
    by_name: dict[str, Parameter] = field(default_factory=dict)

    def add(self, name: str, default: Any, allowed: Sequence[Any] = (), note: str = "") -> str:
        """Add a parameter unless it exists; returns its name in the YAML."""
        plain = yaml_name(name, self.arrays)
        if plain not in self.by_name:
            plain = yaml_name(name, (*self.arrays, *self.by_name))
        self.by_name.setdefault(plain, Parameter(default, allowed, note))
        return plain

    def add_constant(self, name: str, default: Any, note: str) -> str:
        """Add a constant of the program; another one of this name, and a word of the YAML, gets a name of its own."""
        new = Parameter(default, (), note)
        others = (other for other, held in self.by_name.items() if held != new)
        plain = yaml_name(name, (*self.arrays, *SPECIAL, *others))
        self.by_name.setdefault(plain, new)
        return plain
