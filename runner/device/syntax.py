"""The declarations of a CUDA file, by tree-sitter, an error-tolerant parser that needs no headers.

Macros are not expanded, and all branches of an `#if` are parsed. So the result is approximate: the compiler decides.
"""

from __future__ import annotations

import enum
import functools
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import tree_sitter
import tree_sitter_cuda

from runner.errors import UsageError

WORD = re.compile(r"[A-Za-z_]\w*")

# Qualifiers that the grammar lacks; they are blanked before parsing.
_ATTRIBUTE = re.compile(rb"__align__\s*\([^()]*(?:\([^()]*\)[^()]*)*\)|__(?:maxnreg|cluster_dims)__\s*\([^()]*\)")
_MARKS = re.compile(rb"\b__grid_constant__\b")
_INSTANCE = re.compile(rb"\btemplate\s+(?P<qualifier>__global__|__(?:host__\s+__)?device__)")
# A macro call without a semicolon, alone on its lines, which would derail the parser. The macro is one of the file, or
# its name is in capitals.
_CALL = (
    rb"^[ \t]*(?:[A-Z][A-Z0-9_]{2,}%s)[ \t]*(?P<arguments>\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))"
    rb"(?=[ \t]*(?://[^\n]*)?\n\s*(?:[A-Za-z_#}/]|\Z))"
)
_FUNCTION_MACRO = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)\(", re.MULTILINE)
_NO_NAME = re.compile(
    rb"\"[^\"\n]*\"|(?:\.|->)\s*[A-Za-z_]\w*|"
    rb"\b(?:void|bool|char|short|int|long|float|double|(?:un)?signed|const|struct|class|typename|auto|sizeof|template|"
    rb"u?int(?:\d+|ptr)_t|s?size_t|ptrdiff_t)\b"
)

_PASTED = re.compile(r"\w+(?:\s*##\s*\w+)+")
# In the body of a macro: a launch, or an explicit instantiation.
_HOST_BODY = re.compile(r"<<<|\btemplate\s+(?!<)\w")

_MACROS = ("preproc_def", "preproc_function_def")
_CONTAINERS = frozenset(
    "translation_unit namespace_definition declaration_list preproc_if preproc_ifdef preproc_else preproc_elif "
    "preproc_elifdef".split()
)
_CLASSES = frozenset(("struct_specifier", "class_specifier", "union_specifier", "enum_specifier"))
IDENTIFIERS = frozenset(("identifier", "type_identifier", "namespace_identifier"))
_LOCAL = frozenset(("declaration", "parameter_declaration", "optional_parameter_declaration", "for_range_loop"))
_DIRECTIVES = frozenset(("preproc_call", "comment", ";", "access_specifier"))
_DEVICE = frozenset(("__global__", "__device__"))
_VARIABLE = frozenset(("__device__", "__constant__", "__managed__", "__shared__", "const", "constexpr"))


class ItemKind(enum.Enum):
    """The kind of an item, which decides whether a kernel may need it."""

    DEVICE = "device"  # a function that a kernel may call, or a kernel
    HOST = "host"  # a function or a variable of the host
    NAMED = "named"  # a type, a constant, an alias, a macro
    LOOSE = "loose"  # a macro call or a syntax error, which may declare any of its names
    ASSERTION = "assertion"
    USING = "using"  # `using namespace`
    INSTANCE = "instance"  # an explicit instantiation
    INCLUDE = "include"


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel."""

    name: str
    type: str  # with `const`, without `*`, `&` and `__restrict__`
    pointers: int  # number of `*`, `&` and `[]`


@dataclass(frozen=True)
class Item:
    """A declaration at file or namespace scope; `begin` and `end` are bytes."""

    kind: ItemKind
    names: frozenset[str]  # names that it declares
    begin: int
    end: int
    path: str = ""  # of an #include, as written within its quotes
    quoted: bool = False
    conditional: bool = False  # whether it is within an #if that is not an include guard
    is_macro: bool = False
    node: tree_sitter.Node = field(repr=False, compare=False, kw_only=True)

    def __hash__(self) -> int:
        return hash((self.begin, self.end))  # sets of a thousand items are made for each of a thousand kernels

    @functools.cached_property
    def free_names(self) -> frozenset[str]:
        """The names that it uses without declaring them as a local variable or template parameter.

        Includes all words in the bodies of macros.
        """
        used, own, in_macros = self._names
        return frozenset((used - own) | in_macros)

    @property
    def own(self) -> frozenset[str]:
        """The names of its variables and of its template's parameters."""
        return frozenset(self._names[1])

    @functools.cached_property
    def _names(self) -> tuple[set[str], set[str], set[str]]:
        """The names in it: used ones, its own variables and template parameters, and words in macro bodies."""
        used: set[str] = set()
        own: set[str] = set()
        in_macros: set[str] = set()
        for node in descendants(self.node):
            if node.type in IDENTIFIERS:
                used.add(text_of(node))
            elif node.type == "preproc_arg":
                in_macros |= set(WORD.findall(text_of(node)))
            elif node.type == "operator_name":
                used.add("operator")
            elif node.type in _LOCAL and node != _declaration(self.node):
                own |= {n for d in node.children_by_field_name("declarator") for n in _names_of_declarator(d)}
            elif node.type in ("type_parameter_declaration", "variadic_type_parameter_declaration"):
                own |= {text_of(c) for c in node.named_children[:1]}
        return used, own, in_macros

    @functools.cached_property
    def includes(self) -> tuple[str, ...]:
        """The files that are included within it."""
        return tuple(_path_of(n)[0] for n in descendants(self.node) if n.type == "preproc_include")


@dataclass(frozen=True)
class Kernel:
    """A `__global__` function."""

    name: str  # with its namespaces
    template: tuple[str, ...]  # template parameters as written; empty for a plain function
    parameters: tuple[Parameter, ...]
    line: int
    has_body: bool
    is_clear: bool  # whether the text gives the number of its parameters: no macro and no pack stands for several
    node: tree_sitter.Node = field(repr=False, compare=False, kw_only=True)

    def __str__(self) -> str:
        """The readable name, such as `reduce6<class T, unsigned int blockSize>`."""
        return f"{self.name}<{', '.join(self.template)}>" if self.template else self.name


@dataclass(frozen=True)
class File:
    """A parsed text."""

    content: bytes
    items: tuple[Item, ...]
    kernels: tuple[Kernel, ...]
    is_sound: bool  # whether the parser found the end of each item
    makes_names: bool  # whether a macro with `##` may declare device functions
    macros: dict[str, str]  # the bodies of its macros
    root: tree_sitter.Node = field(repr=False, compare=False)

    def place(self, byte: int) -> int:
        """The place in the text of a byte of `content`."""
        return len(self.content[:byte].decode(errors="replace"))


_LANGUAGE = tree_sitter.Language(tree_sitter_cuda.language())
LARGE = 100_000  # bytes of a text that might take long
MOST_S = 5.0  # of the processor, by a thread; a megabyte of C++ takes a fraction of a second, one of plain numbers many
_CHUNK = 1 << 16


@functools.lru_cache(maxsize=64)
def parse(text: str, others: frozenset[tuple[str, str]] = frozenset()) -> File:
    """Parse a text; `others` are macros of other files with their bodies. The result is cached.

    Raises UsageError for a large text that is so little like C++ that the parser would take too long.
    """
    content = text.encode(errors="surrogateescape")
    own_macros = sorted(set(_FUNCTION_MACRO.findall(content)))
    call = re.compile(_CALL % b"".join(b"|" + name for name in own_macros), re.MULTILINE)
    readable = _MARKS.sub(blank, _ATTRIBUTE.sub(blank, content))
    readable = _INSTANCE.sub(lambda m: m.group().replace(m["qualifier"], blank(m["qualifier"])), readable)
    root = _tree(call.sub(_as_statement, readable)).root_node
    macros = _macros(root, dict(others))
    marks = {_following(content, m.end()): m.start() for m in _ATTRIBUTE.finditer(content)}
    found = _items(root, macros, conditional=False)
    items = tuple(replace(i, begin=marks[i.begin]) if i.begin in marks else i for i in found)
    is_sound = root.type != "ERROR" and all(
        item.node.type != "ERROR" or not item.names for item in items
    )  # a superfluous brace does no harm
    pasting = (i for i in items if i.is_macro and b"##" in (i.node.text or b""))
    makes_names = macros.device > _DEVICE and any(not i.names & macros.host for i in pasting)
    return File(content, items, tuple(_kernels(root, (), macros.kernel)), is_sound, makes_names, _bodies(root), root)


def _tree(text: bytes) -> tree_sitter.Tree:
    parser = tree_sitter.Parser(_LANGUAGE)  # sources are parsed in several threads, which cannot share one
    deadline = time.thread_time() + MOST_S

    def read(offset: int, _: object) -> bytes:
        return text[offset : offset + _CHUNK] if time.thread_time() < deadline else b""

    if len(text) > LARGE:
        parser.parse(read)  # ends early at the deadline
        if time.thread_time() >= deadline:
            raise UsageError(f"a text of {len(text):,} bytes that is not CUDA C++: parsing it takes too long")
    return parser.parse(text)


def qualifiers(bodies: Mapping[str, str]) -> dict[str, str]:
    """The macros that qualify functions of the device, each with the qualifier that it expands to."""
    kernel = _users(bodies, frozenset(("__global__",)))
    names = _users(bodies, _DEVICE) - _DEVICE
    return {name: "__global__" if name in kernel else "__device__" for name in names}


def _following(content: bytes, offset: int) -> int:
    """The offset of the first byte that is no white space."""
    return len(content) - len(content[offset:].lstrip())


def device_functions(file: File) -> Iterator[tree_sitter.Node]:
    """The function definitions for the device alone, including members of classes."""
    for node in descendants(file.root):
        if node.type == "function_definition" and (body := node.child_by_field_name("body")):
            head = _words(node, body.start_byte)
            if head & _DEVICE and "__host__" not in head:
                yield node


def host_members(items: Iterable[Item]) -> Iterator[tuple[int, int]]:
    """The ranges of the members of classes that only the host can call, which may call what the host alone has."""
    for item in items:
        for node in descendants(item.node):
            body = node.child_by_field_name("body") if node.type == "function_definition" else None
            if body and node.parent and node.parent.type == "field_declaration_list":
                words = _words(node, body.start_byte)
                if "__host__" in words and "__device__" not in words:
                    yield node.start_byte, node.end_byte


def blank(text: bytes | re.Match[bytes]) -> bytes:
    """Replace everything but line ends by blanks."""
    return re.sub(rb"[^\n]", b" ", text if isinstance(text, bytes) else text.group())


def _as_statement(match: re.Match[bytes]) -> bytes:
    """Turn `CALL(a, b)` into `CALL+a+ b;`, each name at its offset, unless it is part of a declaration or macro."""
    before = match.string[: match.start()]
    last = before.rstrip().rpartition(b"\n")[2].strip()
    begins = last[-1:] in b";{})/" or last.startswith(b"#") or b"//" in last
    if not begins or before.endswith(b"\\\n"):
        return match.group()
    words = _NO_NAME.sub(blank, b"(" + match["arguments"][1:-1])
    summed = re.sub(rb"\W+(?=\w)", lambda gap: re.sub(rb"[ ]", b"+", blank(gap), count=1), words)
    return match.group()[: -len(words) - 1] + re.sub(rb"\W+\Z", blank, summed) + b";"


def descendants(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """The node and its descendants, in preorder."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def text_of(node: tree_sitter.Node | None) -> str:
    """The node's text; empty for `None`."""
    return (node.text or b"").decode(errors="replace") if node else ""


def _words(node: tree_sitter.Node, end: int | None = None) -> set[str]:
    text = node.text or b""
    return set(WORD.findall(text[: None if end is None else end - node.start_byte].decode(errors="replace")))


class _Macros(NamedTuple):
    """The macros that qualify declarations or launch kernels."""

    device: frozenset[str]  # that expand to `__device__` or `__global__`, and these keywords themselves
    kernel: frozenset[str]  # that expand to `__global__`, and the keyword itself
    host: frozenset[str]  # that launch kernels or instantiate templates of the host, and declare no kernels
    pasted: dict[str, tuple[tuple[str, ...], tuple[str, ...]]]  # parameters, and names that they are pasted into


def _bodies(root: tree_sitter.Node) -> dict[str, str]:
    """The bodies of macros, by name."""
    macros = (n for n in descendants(root) if n.type in _MACROS)
    return {text_of(n.child_by_field_name("name")): text_of(n.child_by_field_name("value")) for n in macros}


def _users(bodies: Mapping[str, str], names: frozenset[str]) -> frozenset[str]:
    """These names, and the macros whose bodies have one of them, directly or by other macros."""
    words = {name: set(WORD.findall(body)) for name, body in bodies.items()}
    while users := {name for name in words if name not in names and words[name] & names}:
        names |= users
    return names


def _macros(root: tree_sitter.Node, others: Mapping[str, str]) -> _Macros:
    bodies = {**others, **_bodies(root)}
    device = _users(bodies, _DEVICE)
    launching = frozenset(name for name, body in bodies.items() if _HOST_BODY.search(body))
    kernel, host = _users(bodies, frozenset(("__global__",))), _users(bodies, launching) - device
    pasted = {text_of(n.child_by_field_name("name")): _pasted(n) for n in descendants(root) if n.type == _MACROS[1]}
    return _Macros(device, kernel, host, pasted)


def _pasted(macro: tree_sitter.Node) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The parameters of a macro, and the names in its body that `##` makes, such as `Atomic##NAME##Impl`."""
    parameters = tuple(WORD.findall(text_of(macro.child_by_field_name("parameters"))))
    return parameters, tuple(_PASTED.findall(text_of(macro.child_by_field_name("value"))))


def _made(words: list[str], macros: _Macros) -> set[str]:
    """The names that the call of a macro makes by pasting; `words` are its name and its arguments."""
    parameters, names = macros.pasted.get(words[0], ((), ())) if words else ((), ())
    given = dict(zip(parameters, words[1:], strict=False))
    return {"".join(given.get(part, part) for part in re.split(r"\s*##\s*", name)) for name in names}


def _items(node: tree_sitter.Node, macros: _Macros, *, conditional: bool) -> Iterator[Item]:
    for child in node.named_children:
        if _is_container(child):
            inside = conditional or (child.type.startswith("preproc") and not _is_guard(child))
            yield from _items(child, macros, conditional=inside)
        elif child.type == "preproc_include":
            path, quoted = _path_of(child)
            begin, end = child.start_byte, child.start_byte + len((child.text or b"").rstrip())
            yield Item(ItemKind.INCLUDE, frozenset(), begin, end, path, quoted, conditional, node=child)
        elif child.type not in _DIRECTIVES and node.type in (*_CONTAINERS, "linkage_specification", "ERROR"):
            if any(node.child_by_field_name(field) == child for field in ("name", "condition", "value")):
                continue  # a part of the container itself
            # Where the parser has lost its way, a declaration may be a part of a body.
            lost = node.type == "ERROR"
            kind, names = (ItemKind.LOOSE, frozenset(_words(child))) if lost else _declared(child, macros)
            after = child.next_sibling
            end = after.end_byte if after and after.type == ";" else child.end_byte  # of a class
            is_macro = child.type in _MACROS
            yield Item(kind, names, child.start_byte, end, conditional=conditional, is_macro=is_macro, node=child)


def _is_container(node: tree_sitter.Node) -> bool:
    body = node.child_by_field_name("body") if node.type == "linkage_specification" else None
    return node.type in _CONTAINERS or (body is not None and body.type == "declaration_list")


def _is_guard(node: tree_sitter.Node) -> bool:
    """Whether an #ifndef guards a header against a second inclusion."""
    if node.type != "preproc_ifdef" or not node.children or node.children[0].type != "#ifndef":
        return False
    inside = [c for c in node.named_children if c.type != "comment"]
    defined = inside[1].child_by_field_name("name") if len(inside) > 1 and inside[1].type == "preproc_def" else None
    return defined is not None and text_of(defined) == text_of(inside[0])


def _path_of(include: tree_sitter.Node) -> tuple[str, bool]:
    """The included file's name, and whether it is in quotes; an empty name for a computed include."""
    path = include.child_by_field_name("path")
    text = text_of(path)
    if path is not None and path.type in ("string_literal", "system_lib_string"):
        return text[1:-1], path.type == "string_literal"
    return "", False


def _declared(node: tree_sitter.Node, macros: _Macros) -> tuple[ItemKind, frozenset[str]]:
    inner = _declaration(node)
    names = frozenset(_declared_names(inner))
    if inner.type in _MACROS:
        return ItemKind.NAMED, names
    if inner.type == "static_assert_declaration":
        return ItemKind.ASSERTION, frozenset()
    if inner.type == "using_declaration" and any(c.type == "namespace" for c in inner.children):
        return ItemKind.USING, frozenset()
    if inner.type == "template_instantiation":
        return ItemKind.INSTANCE, frozenset()
    head = _head(node, inner)
    if inner.type == "function_definition" or _is_prototype(inner):
        if head & macros.device:
            return ItemKind.DEVICE, names
        return (ItemKind.NAMED if head & {"constexpr", "consteval"} else ItemKind.HOST), names
    if inner.type == "declaration":
        return (ItemKind.NAMED if not names or head & (_VARIABLE | macros.device) else ItemKind.HOST), names
    if inner.type == "expression_statement" and set(WORD.findall(text_of(inner))[:1]) & macros.host:
        return ItemKind.HOST, frozenset()
    if inner.type in ("expression_statement", "ERROR") or not names:
        return ItemKind.LOOSE, frozenset(_words(node) | _made(WORD.findall(text_of(inner)), macros))
    return ItemKind.NAMED, names


def _declaration(node: tree_sitter.Node) -> tree_sitter.Node:
    """The declaration within a template or behind `extern "C"`."""
    while node.type in ("template_declaration", "linkage_specification"):
        inner = node.child_by_field_name("body") or (node.named_children[-1] if node.named_children else None)
        if inner is None or inner.type in ("declaration_list", "template_parameter_list"):
            break
        node = inner
    return node


def _is_prototype(node: tree_sitter.Node) -> bool:
    return node.type == "declaration" and any(
        _function_declarator(d) is not None for d in node.children_by_field_name("declarator")
    )


def _function_declarator(node: tree_sitter.Node | None) -> tree_sitter.Node | None:
    while node is not None and node.type in ("pointer_declarator", "reference_declarator"):
        node = node.child_by_field_name("declarator") or (node.named_children[-1] if node.named_children else None)
    return node if node is not None and node.type == "function_declarator" else None


def _declared_names(node: tree_sitter.Node) -> Iterator[str]:
    """The names that a declaration declares; of a qualified one (`Vector::sum`) all parts."""
    if node.type in ("using_declaration", "preproc_def", "preproc_function_def", "alias_declaration"):
        name = node.child_by_field_name("name") or (node.named_children[-1] if node.named_children else None)
        yield from WORD.findall(text_of(name))[-1:]
    elif node.type in _CLASSES or node.type in ("namespace_alias_definition", "concept_definition"):
        name = node.child_by_field_name("name")
        yield from _identifiers(name) if name else ()
        if node.type == "enum_specifier":
            yield from (text_of(n.child_by_field_name("name")) for n in descendants(node) if n.type == "enumerator")
    else:
        for declarator in node.children_by_field_name("declarator"):
            yield from _names_of_declarator(declarator)
        kind = node.child_by_field_name("type")
        if kind is not None and kind.type in _CLASSES and kind.child_by_field_name("body"):
            yield from _declared_names(kind)


def _identifiers(node: tree_sitter.Node) -> Iterator[str]:
    """The identifiers in a name, without those of template arguments: of `Vector<T>::sum` the first and the last."""
    if node.type in IDENTIFIERS:
        yield text_of(node)
    elif node.type != "template_argument_list":
        for child in node.named_children:
            yield from _identifiers(child)


def _names_of_declarator(node: tree_sitter.Node) -> Iterator[str]:
    while node.type not in IDENTIFIERS:
        if node.type in ("qualified_identifier", "template_function", "template_type", "structured_binding_declarator"):
            yield from _identifiers(node)
            return
        if node.type == "operator_name":
            yield "operator"
            return
        inner = node.child_by_field_name("declarator")
        if inner is None:
            inner = next((c for c in node.named_children if c.type in IDENTIFIERS or "declarator" in c.type), None)
        if inner is None:
            yield from WORD.findall(text_of(node))[:1]
            return
        node = inner
    yield text_of(node)


def _kernels(node: tree_sitter.Node, scope: tuple[str, ...], marks: frozenset[str]) -> Iterator[Kernel]:
    for child in node.named_children:
        if child.type == "namespace_definition":
            name = WORD.findall(text_of(child.child_by_field_name("name")))
            yield from _kernels(child, (*scope, *name), marks)
        elif _is_container(child):
            yield from _kernels(child, scope, marks)
        elif kernel := _kernel(child, scope, marks):
            yield kernel


def _kernel(node: tree_sitter.Node, scope: tuple[str, ...], marks: frozenset[str]) -> Kernel | None:
    inner = _declaration(node)
    has_body = inner.type == "function_definition" and inner.child_by_field_name("body") is not None
    if not (inner.type == "function_definition" or _is_prototype(inner)) or not _head(node, inner) & marks:
        return None
    declarator = _function_declarator(inner.child_by_field_name("declarator"))
    name = declarator.child_by_field_name("declarator") if declarator else None
    if declarator is None or name is None or name.type != "identifier":
        return None  # an explicit specialization, which has its template's name
    template = node.child_by_field_name("parameters") if node.type == "template_declaration" else None
    template_parameters = tuple(text_of(c) for c in template.named_children if c.type != "comment") if template else ()
    declared = declarator.child_by_field_name("parameters")
    listed = [c for c in declared.named_children if c.type != "comment"] if declared else []
    if [text_of(c) for c in listed] == ["void"]:
        listed = []
    parameters = tuple(_parameter(c) for c in listed if c.type in _LOCAL)
    is_clear = len(parameters) == len(listed) and all(p.name for p in parameters) and not declarator.has_error
    line, full_name = name.start_point[0] + 1, "::".join((*scope, text_of(name)))
    return Kernel(full_name, template_parameters, parameters, line, has_body, is_clear, node=node)


def _head(node: tree_sitter.Node, inner: tree_sitter.Node) -> set[str]:
    """The words of a declaration before its body, if it is a function with one."""
    body = inner.child_by_field_name("body") if inner.type == "function_definition" else None
    return _words(node, body.start_byte if body else None)


def _parameter(node: tree_sitter.Node) -> Parameter:
    declarator, pointers, name = node.child_by_field_name("declarator"), 0, ""
    end = declarator.start_byte if declarator else node.end_byte
    kind = (node.text or b"")[: end - node.start_byte].decode(errors="replace")
    while declarator is not None:
        pointers += declarator.type in ("pointer_declarator", "reference_declarator", "array_declarator")
        if declarator.type in IDENTIFIERS:
            name = text_of(declarator)
            break
        declarator = declarator.child_by_field_name("declarator") or next(
            (c for c in declarator.named_children if c.type in IDENTIFIERS or c.type.endswith("declarator")), None
        )
    words = [w for w in kind.split() if w not in ("__restrict__", "__restrict", "__grid_constant__")]
    return Parameter(name, " ".join(words), pointers)
