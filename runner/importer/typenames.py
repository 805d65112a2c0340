"""The types that a file's own type names stand for."""

from __future__ import annotations

import re
from collections.abc import Iterable

import tree_sitter

from runner.device.syntax import File, below, text_of

_CONDITION = re.compile(r"#\s*(?:el)?if(n?)def\s+(\w+)|#\s*(?:el)?if\s+(!?)\s*defined\s*\(?\s*(\w+)\s*\)?")
# By kind of declaration: the fields of the name and of what it stands for.
_NAMING = {
    "type_definition": ("declarator", "type"),
    "alias_declaration": ("name", "type"),
    "preproc_def": ("name", "value"),
}


def plain_type(kind: str) -> str:
    """A parameter's type without qualifiers."""
    return " ".join(word for word in kind.split() if word not in ("const", "volatile", "struct"))


def resolved(kinds: Iterable[str], files: list[File]) -> dict[str, str]:
    """What the names among some types stand for, by `typedef`, `using` or `#define`, through all of these."""
    nodes = [node for file in files for node in below(file.root) if node.type in _NAMING]
    defined = {text_of(n.child_by_field_name("name")) for n in nodes if n.type == "preproc_def"}
    found = {}
    for name in map(plain_type, kinds):
        kind, seen = name, set[str]()
        while kind not in seen:
            seen.add(kind)
            kind = _type(kind, nodes, defined) or kind
        if kind != name:
            found[name] = kind
    return found


def _type(name: str, nodes: list[tree_sitter.Node], defined: set[str]) -> str:
    """The type behind one name; empty if it is not defined, or only under an undecidable condition."""
    found = ""
    for node in nodes:
        fields = _NAMING[node.type]
        if text_of(node.child_by_field_name(fields[0])) == name:
            holds = _holds(node, defined)
            if holds is None:
                return ""
            found = plain_type(text_of(node.child_by_field_name(fields[1]))) if holds else found
    return found


def _holds(node: tree_sitter.Node, defined: set[str]) -> bool | None:
    """Whether every `#if` around a node takes it; `None` if one is more than `defined(NAME)`."""
    below_it, parent = node, node.parent
    while parent is not None:
        if parent.type in ("preproc_if", "preproc_elif", "preproc_ifdef"):
            head = text_of(parent).split("\n", 1)[0]
            asked = _CONDITION.fullmatch(head.strip())
            if not asked:
                return None
            own = {text_of(n.child_by_field_name("name")) for n in below(parent) if n.type == "preproc_def"}  # a guard
            takes = ((asked[2] or asked[4]) in (defined - own)) != bool(asked[1] or asked[3])
            if takes == (parent.child_by_field_name("alternative") == below_it):
                return False
        below_it, parent = parent, parent.parent
    return True
