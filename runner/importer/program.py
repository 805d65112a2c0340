"""The files of a program, indexed once: macros, constants, functions, and who calls whom."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import tree_sitter

from runner.device.syntax import IDENTIFIERS, File, descendants, parse, text_of
from runner.importer import terms
from runner.importer.read_term import arguments_of, read
from runner.importer.terms import UNKNOWN, Term

_BRANCHES = frozenset("if_statement for_statement while_statement do_statement switch_statement".split())
_MAKING = frozenset(("init_declarator", "assignment_expression", "function_declarator"))  # `dim3 grid(n)` is the last
_ALIASES = frozenset(("type_definition", "alias_declaration", "preproc_def"))
_STRUCTURES = frozenset(("struct_specifier", "class_specifier"))
LONGEST_MACRO = 400  # characters
Macro = tuple[tuple[str, ...] | None, Term, str]  # parameters, body, and file and line


@dataclass(frozen=True)
class Call:
    """A call of a function, or a launch of a kernel."""

    name: str  # without namespaces and template arguments
    node: tree_sitter.Node = field(repr=False, compare=False)

    @cached_property
    def arguments(self) -> tuple[Term, ...]:
        """The arguments."""
        return tuple(map(read, arguments_of(self.node)))

    @cached_property
    def launch(self) -> tree_sitter.Node | None:
        """What stands between `<<<` and `>>>`."""
        return next((c for c in self.node.children if c.type == "kernel_call_syntax"), None)


@dataclass(frozen=True)
class Definition:
    """A value that a statement gives a name."""

    begin: int
    end: int
    value: Term
    around: tuple[tuple[int, int], ...]  # bytes of the branches and loops around it
    line: int


@dataclass(frozen=True)
class ElementStore:
    """An assignment to an element of an array."""

    target: Term
    value: Term
    begin: int
    loops: tuple[str, ...]  # variables of the loops around it


@dataclass(frozen=True)
class Function:
    """A function that has a body."""

    name: str
    parameters: tuple[tuple[str, Term], ...]  # names, and default arguments
    node: tree_sitter.Node = field(repr=False, compare=False)
    path: Path

    @property
    def where(self) -> str:
        """The file and the line."""
        return f"{self.path.name}:{self.node.start_point[0] + 1}"

    @cached_property
    def head(self) -> str:
        """The text before the body."""
        body = self.node.child_by_field_name("body")
        return text_of(self.node)[: (body.start_byte if body else 0) - self.node.start_byte]

    @cached_property
    def is_of_host(self) -> bool:
        """Whether only the host runs it."""
        return not re.search("__global__|__device__", self.head)

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """The calls in the body, launches too."""
        return tuple(Call(_called(n), n) for n in descendants(self.node) if n.type == "call_expression")

    @cached_property
    def making(self) -> tuple[tree_sitter.Node, ...]:
        """The nodes that give a name a value, in order."""
        return tuple(n for n in descendants(self.node) if n.type in _MAKING)

    @cached_property
    def definitions(self) -> Mapping[str, Sequence[Definition]]:
        """The values that statements give names, in order."""
        found: dict[str, list[Definition]] = {}
        for key, given, node in _assigned(self.node):
            if key not in found or terms.name(key) not in terms.leaves(given):  # not `j = j * 2`, in a loop
                around = tuple((n.start_byte, n.end_byte) for n in _around(node, self.node))
                entry = Definition(node.start_byte, node.end_byte, given, around, node.start_point[0] + 1)
                found.setdefault(key, []).append(entry)
        return found

    @cached_property
    def stores(self) -> tuple[ElementStore, ...]:
        """The assignments to elements of arrays."""
        found = []
        for node in self.making:
            target = node.child_by_field_name("left")
            is_plain = text_of(node.child_by_field_name("operator")) == "="
            if is_plain and target is not None and target.type == "subscript_expression":
                loops = tuple(_declared(d) for n in _around(node, self.node) for d in _initializers(n))
                value = read(node.child_by_field_name("right"))
                found.append(ElementStore(read(target), value, node.start_byte, loops))
        return tuple(found)

    @cached_property
    def locals(self) -> frozenset[str]:
        """The names that the function declares."""
        declared = (n for n in descendants(self.node) if n.type in ("declaration", "parameter_declaration"))
        heads = (text_of(d).split("=")[0] for n in declared for d in n.children_by_field_name("declarator"))
        return frozenset(word for head in heads for word in re.findall(r"\w+", head))

    @cached_property
    def is_one_return(self) -> bool:
        """Whether the body is one `return`."""
        body = self.node.child_by_field_name("body")
        return [n.type for n in body.named_children if n.type != "comment"] == ["return_statement"] if body else False


class Program:
    """The parsed files of a program."""

    def __init__(self, files: Mapping[Path, File]) -> None:
        self.macros: dict[str, Macro] = {}
        self.globals: dict[str, tuple[Term, str]] = {}
        self.functions: dict[str, list[Function]] = {}
        self.callers: dict[str, list[tuple[Function, Call]]] = {}
        self.launches: dict[str, list[tuple[Function, Call]]] = {}
        self.aliases: list[tree_sitter.Node] = []  # nodes of type aliases and macros
        self.structures: dict[str, tree_sitter.Node] = {}  # by their tags, and by the names that a `typedef` gives them
        for path, file in files.items():
            for item in file.items:
                self._constant(item.node, f"{path.name}:{item.node.start_point[0] + 1}")
            for node in descendants(file.root):
                if node.type in _ALIASES:
                    self.aliases.append(node)
                if node.type in _STRUCTURES and node.child_by_field_name("body") is not None:
                    self._structure(node)
                if node.type == "function_definition" and node.child_by_field_name("body") is not None:
                    self._function(node, path)

    def only(self, name: str) -> Function | None:
        """The function of a name, unless it is overloaded or not in the files."""
        found = self.functions.get(name.rpartition("::")[2], ())
        return found[0] if len(found) == 1 else None

    def _constant(self, node: tree_sitter.Node, where: str) -> None:
        if node.type in ("preproc_def", "preproc_function_def"):
            listed = node.child_by_field_name("parameters")
            names = tuple(text_of(c) for c in listed.named_children) if listed else None
            body = macro_body(text_of(node.child_by_field_name("value")))
            name = text_of(node.child_by_field_name("name"))
            known = self.macros.get(name, (None, UNKNOWN, ""))[1]
            # Of several in an #if, the first with a number counts: `#define BLOCK_SIZE RD_WG_SIZE` has none.
            if known == UNKNOWN or (known[0] == "name" and terms.value(terms.numbers(body)) is not None):
                self.macros[name] = (names, body, where)
        elif node.type == "declaration":
            for declarator in node.children_by_field_name("declarator"):
                if declarator.type == "init_declarator":
                    held = read(declarator.child_by_field_name("value"))
                    self.globals.setdefault(_declared(declarator), (held, where))

    def _structure(self, node: tree_sitter.Node) -> None:
        around = node.parent
        names = [node.child_by_field_name("name")]
        if around is not None and around.type == "type_definition":
            names += around.children_by_field_name("declarator")
        if around is None or around.type != "template_declaration":
            for name in names:
                if name is not None and name.type == "type_identifier":
                    self.structures.setdefault(text_of(name), node)

    def _function(self, node: tree_sitter.Node, path: Path) -> None:
        declarator = node.child_by_field_name("declarator")
        while declarator is not None and declarator.type != "function_declarator":
            declarator = _below(declarator)
        if declarator is None:
            return
        listed = declarator.child_by_field_name("parameters")
        parameters = []
        for each in listed.named_children if listed else ():
            inner = each.child_by_field_name("declarator")
            words = [text_of(n) for n in descendants(inner) if n.type in IDENTIFIERS] if inner else []
            parameters.append((words[0] if words else "", read(each.child_by_field_name("default_value"))))
        name = text_of(declarator.child_by_field_name("declarator")).rpartition("::")[2]
        function = Function(name, tuple(parameters), node, path)
        self.functions.setdefault(name, []).append(function)
        for call in function.calls:
            index = self.launches if call.launch is not None else self.callers
            index.setdefault(call.name, []).append((function, call))


def returned(function: Function) -> Term:
    """What a function returns, if it has one `return`."""
    found = [n for n in descendants(function.node) if n.type == "return_statement"]
    return read(found[0].named_children[0]) if len(found) == 1 and found[0].named_children else UNKNOWN


def macro_body(text: str) -> Term:
    """The term of a macro's body; only an expression has one."""
    body = re.sub(r"/\*.*?\*/|//.*", "", text).strip().replace("\\\n", " ")
    if not body or len(body) > LONGEST_MACRO or ";" in body or "{" in body:
        return UNKNOWN
    root = parse(f"int value = {body};").root
    declared = next((n for n in root.named_children if n.type == "declaration"), None)
    inner = declared.child_by_field_name("declarator") if declared is not None and not root.has_error else None
    return read(inner.child_by_field_name("value")) if inner is not None else UNKNOWN


def _called(call: tree_sitter.Node) -> str:
    function = call.child_by_field_name("function")
    if function is not None and function.type == "qualified_identifier":
        function = function.child_by_field_name("name") or function
    if function is not None and function.type == "template_function":
        function = function.child_by_field_name("name")
    return text_of(function).rpartition("::")[2]


def _below(declarator: tree_sitter.Node) -> tree_sitter.Node | None:
    """The declarator within `*`, `&`, `[]` or brackets."""
    kinds = (c for c in declarator.named_children if c.type in IDENTIFIERS or c.type.endswith("declarator"))
    return declarator.child_by_field_name("declarator") or next(kinds, None)


def _declared(declarator: tree_sitter.Node) -> str:
    """The name that a declarator declares, or that an assignment changes."""
    inner = declarator.child_by_field_name("left") or declarator.child_by_field_name("declarator")
    while inner is not None and inner.type not in IDENTIFIERS:
        inner = _below(inner)
    return text_of(inner)


def _around(node: tree_sitter.Node, function: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """The branches and loops around a node; a loop is not around its own first value."""
    inner, parent = node, node.parent
    while parent is not None and parent.id != function.id:
        if parent.type in _BRANCHES and parent.child_by_field_name("initializer") != inner:
            yield parent
        inner, parent = parent, parent.parent


def _initializers(loop: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    first = loop.child_by_field_name("initializer")
    kinds = ("init_declarator", "assignment_expression")
    return (n for n in descendants(first) if n.type in kinds) if first is not None else iter(())


def _assigned(function: tree_sitter.Node) -> Iterator[tuple[str, Term, tree_sitter.Node]]:
    """Each name to which a function gives a value: declarations, assignments, members as `name.member`."""
    for node in descendants(function):
        if node.type == "init_declarator":
            held = node.child_by_field_name("value")
            new = held.child_by_field_name("declarator") if held is not None and held.type == "new_expression" else None
            length = ("new", read(new.child_by_field_name("length"))) if new is not None else read(held)
            yield _declared(node), length, node
        elif node.type == "assignment_expression" and text_of(node.child_by_field_name("operator")) == "=":
            target = node.child_by_field_name("left")
            if target is not None and target.type in ("identifier", "field_expression"):
                yield text_of(target).replace("->", "."), read(node.child_by_field_name("right")), node
        elif node.parent is not None and node.parent.type == "declaration":
            if node.type == "array_declarator":
                yield _declared(node), ("new", read(node.child_by_field_name("size"))), node
            elif node.type == "function_declarator":  # `dim3 grid(n)` is parsed as one
                listed = node.child_by_field_name("parameters")
                words = [text_of(c) for c in listed.named_children] if listed else []
                if words and all(re.fullmatch(r"[\w\s*]{1,99}", w) for w in words):
                    yield _declared(node), ("list", *map(macro_body, words)), node
