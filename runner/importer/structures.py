"""Structures of the source that a kernel's arguments have, as the key `structs` of its YAML."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import tree_sitter

from runner.device.syntax import descendants, text_of
from runner.importer.read_term import read
from runner.importer.terms import Term
from runner.kernel.arrays import DTYPES
from runner.kernel.from_yaml import BLANK

MOST_MEMBERS, DEEPEST = 64, 4  # of structures that are written out
POINTER = "pointer"
_ALIGNED = re.compile(r"(?:__align__|alignas)\s*\(\s*(\d+)\s*\)")
_WITHOUT_DATA = frozenset(
    "function_definition access_specifier comment friend_declaration alias_declaration type_definition "
    "template_declaration static_assert_declaration using_declaration declaration ;".split()
)


@dataclass(frozen=True)
class Member:
    """A member of a structure."""

    name: str
    type: str  # a dtype, the name of a structure, or `pointer`
    length: int = 1  # of an array in the structure
    target: str = ""  # what a pointer points to, as a dtype
    role: str = "inout"  # of what a pointer points to

    @property
    def text(self) -> str:
        """Its type in the YAML."""
        return self.type if self.length == 1 else f"[{self.type}, {self.length}]"


@dataclass(frozen=True)
class Structure:
    """A structure of numbers, vectors, pointers and other structures."""

    name: str
    members: tuple[Member, ...]
    alignment: int | None = None

    @property
    def line(self) -> str:
        """Its line under `structs`."""
        listed = [f"{m.name}: {m.text}" for m in self.members]
        listed += [f"__align__: {self.alignment}"] if self.alignment else []
        return f"  {self.name}: {{{', '.join(listed)}}}"


Structures = Mapping[str, Structure]


def read_structures(
    kinds: Iterable[str],
    nodes: Mapping[str, tree_sitter.Node],
    dtype: Callable[[str], str | None],
    constant: Callable[[Term], float | None],
) -> dict[str, Structure]:
    """The structures of some types, and those inside them first. Types that are none of this kind are left out.

    Args:
        kinds: Names of types, without `const`.
        nodes: The structures of the source, by name.
        dtype: The dtype of a C++ type; `None` if it has none.
        constant: The number that an expression is; `None` if it is none.
    """
    reader = _Reader(nodes, dtype, constant)
    for kind in kinds:
        reader.add(kind)
    return reader.found


@dataclass
class _Reader:
    """Reads structures; `read_structures` describes what it is given."""

    nodes: Mapping[str, tree_sitter.Node]
    dtype: Callable[[str], str | None]
    constant: Callable[[Term], float | None]
    found: dict[str, Structure] = field(default_factory=dict)

    def add(self, kind: str, depth: int = 0) -> bool:
        """Add a structure after those inside it. Returns whether it is one of this kind."""
        node = self.nodes.get(kind)
        if kind in self.found or node is None or depth > DEEPEST:
            return kind in self.found
        members = [
            self._member(declaration, declarator, depth)
            for declaration in _declarations(node)
            for declarator in declaration.children_by_field_name("declarator")
        ]
        known = tuple(member for member in members if member is not None)
        if not 0 < len(members) == len(known) <= MOST_MEMBERS:
            return False
        aligned = _ALIGNED.search(text_of(node).partition("{")[0])
        self.found[kind] = Structure(kind, known, int(aligned[1]) if aligned else None)
        return True

    def _member(self, declaration: tree_sitter.Node, declarator: tree_sitter.Node, depth: int) -> Member | None:
        """A member; `None` for one that the YAML cannot say."""
        words = text_of(declaration.child_by_field_name("type")).split()
        kind = " ".join(word for word in words if word not in ("const", "struct"))
        name, pointers, lengths = _declared(declarator)
        sizes = [self.constant(read(length)) for length in lengths]
        known = self.dtype(kind) or (kind if self.add(kind, depth + 1) else None)
        if not name or pointers > 1 or not all(isinstance(n, int) and n > 0 for n in sizes):
            return None
        length = math.prod(int(n) for n in sizes if n is not None)
        if pointers:
            is_read = "const" in text_of(declaration).partition("*")[0].split()
            return Member(name, POINTER, length, known or BLANK, "in" if is_read else "inout")
        return Member(name, known, length) if known else None


def _declarations(node: tree_sitter.Node) -> list[tree_sitter.Node]:
    """The declarations of members that hold data; empty if the structure has a form that the YAML lacks."""
    body = node.child_by_field_name("body")
    if body is None or any(c.type == "base_class_clause" for c in node.children):
        return []
    fields = []
    for child in body.named_children:
        text = text_of(child)
        if "virtual" in text.split() or (child.type not in _WITHOUT_DATA and child.type != "field_declaration"):
            return []
        if child.type == "field_declaration" and not {"static", "constexpr"} & set(text.split()):
            if any(c.type == "bitfield_clause" for c in child.children):
                return []
            declarators = child.children_by_field_name("declarator")
            if not declarators:
                return []  # an anonymous structure or union
            if not any(n.type == "function_declarator" for d in declarators for n in descendants(d)):
                fields.append(child)
    return fields


def _declared(declarator: tree_sitter.Node) -> tuple[str, int, list[tree_sitter.Node]]:
    """The name of a member, how many `*` it has, and the lengths of its axes."""
    pointers, lengths = 0, []
    node: tree_sitter.Node | None = declarator
    while node is not None and node.type != "field_identifier":
        if node.type == "pointer_declarator":
            pointers += 1
        elif node.type == "array_declarator" and (size := node.child_by_field_name("size")) is not None:
            lengths.append(size)
        else:
            return "", 0, []
        node = node.child_by_field_name("declarator")
    return text_of(node), pointers, lengths


def parts(dtype: str, structures: Structures) -> Iterator[tuple[str, str]]:
    """The parts of an element for which a reference has an expression each: `.mass`, and their dtypes.

    An element of a plain type is its own part, with an empty name.
    """
    structure = structures.get(dtype)
    if structure is None:
        yield "", dtype
        return
    for member in structure.members:
        for inner, kind in parts(member.type, structures) if member.length == 1 else [("", "")]:
            yield f".{member.name}{inner}", kind


def numbers(dtype: str, structures: Structures) -> Iterator[tuple[str, bool]]:
    """The numbers of an element that a reference can name: `.mass`, `.position.x`; and whether each is real."""
    for name, kind in parts(dtype, structures):
        known = DTYPES.get(kind)
        if known is not None and known.letters:
            yield from ((f"{name}.{letter}", is_real(kind)) for letter in known.letters)
        elif known is not None and not known.is_complex:
            yield name, is_real(kind)


def is_real(kind: str) -> bool:
    """Whether a dtype's numbers are real."""
    return not kind.startswith(("int", "uint", "bool"))
