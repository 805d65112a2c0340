"""Find a kernel's argument roles, undeclared macros, shared memory and launches in its parsed source."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import tree_sitter

from runner.device import Source, cache
from runner.device.excerpt import needed_items
from runner.device.syntax import IDENTIFIERS, File, ItemKind, Kernel, Parameter, descendants, parse, text_of
from runner.importer.program import Program

# Names that CUDA, C or C++ declares.
_KNOWN = re.compile(
    r"(threadIdx|blockIdx|blockDim|gridDim|warpSize|std|cuda|cg|cooperative_groups|nvcuda|NULL|nullptr|true|false|void|throw|const|_|"
    r"bool|signed|unsigned|half2?|dim3|\w+_t|(u?(char|short|int|long|longlong)|float|double)[1-4]?|"
    r"typedef|typename|using|INFINITY|NAN|HUGE_VALF?|EOF|__\w+|C10_WARP_SIZE|(FLT|DBL|S?CHAR|UCHAR|U?SHRT|U?INT\d*|U?LL?ONG|SIZE|M|CUDART|CUDA|CUB)_\w+|CUDART_\w+)"
)
_NAMING_ONLY = frozenset(
    "qualified_identifier template_function attribute attribute_specifier attribute_declaration preproc_def "
    "preproc_params preproc_defined preproc_ifdef preproc_elifdef".split()
)
_NAMING_TYPES = frozenset(
    "type_parameter_declaration optional_type_parameter_declaration variadic_type_parameter_declaration "
    "alias_declaration".split()
)
_STORING = re.compile(r"(__)?st\w*")  # __stcs, store128, and
_LOADING = re.compile(r"(__)?(ld|load)\w*")
DEEPEST_DECLARATOR = 50  # levels of `*`, `[]` and brackets around a declared name
MOST_LAUNCHES = 4  # that a YAML quotes
_ELEMENT = frozenset(("subscript_expression", "field_expression", "parenthesized_expression"))
_MOVING = frozenset(("binary_expression", "cast_expression", "parenthesized_expression"))


@dataclass(frozen=True)
class Array:
    """An array that the kernel's source declares."""

    type: str
    name: str
    shape: tuple[str, ...] = ()  # as written


@dataclass(frozen=True)
class Facts:
    """A kernel and the facts found in its source."""

    kernel: Kernel
    source: Source
    includers: tuple[str, ...]  # files nearby that include the kernel's file
    roles: dict[str, str]  # of each pointer: in, out or inout
    macros: tuple[str, ...]  # undeclared names
    shared: tuple[Array, ...]  # in dynamic shared memory
    constants: tuple[Array, ...]  # `__constant__` arrays that the kernel reads
    dimensions: int  # of a block: 1, 2 or 3
    grid: int  # axes of the grid that the kernel reads: 1, 2 or 3
    types: Mapping[str, str]  # underlying types of its type aliases, where the files determine them
    launches: tuple[str, ...]  # launches in the files, as written
    words: frozenset[str]  # names that the kernel and what it needs mention
    writes_globals: bool  # whether it needs a `__device__` variable, which it may write


def find_facts(source: Source, kernel: Kernel, program: Program, files: Mapping[Path, File]) -> Facts:
    """Analyse a kernel of a source and of the files that it includes, which `program` indexes."""
    needed = needed_items(source, files)
    items = [item for path, file in files.items() for item in file.items if item in needed[path]]  # in the files' order
    body = [node for item in items if item.kind is not ItemKind.USING for node in descendants(item.node)]
    declared = {name for file in files.values() for item in file.items for name in item.names}
    declared |= {name for item in items for name in item.own} | set(_unlisted_names(body))
    fields = [text_of(n) for n in body if n.type == "field_expression"]
    constants = tuple(dict.fromkeys(_constants(body)))
    defined = {text_of(n.child_by_field_name("name")) for n in program.aliases if n.type == "preproc_def"}
    unknown = (
        (name, node)
        for node in _undeclared(body)
        if not _KNOWN.fullmatch(name := text_of(node)) and name not in declared
    )
    macros = (name for name, node in unknown if _is_compiled(node, defined) is not False)
    shared = (Array(kind, name) for _, kind, name in _arrays(body, "extern", "__shared__"))
    types = [*(p.type for p in kernel.parameters), *(c.type for c in constants)]
    return Facts(
        kernel=kernel,
        source=source,
        includers=tuple(includers(source.path)),
        roles={p.name: _role(p, kernel.node) for p in kernel.parameters if p.pointers},
        macros=tuple(dict.fromkeys(macros)),
        shared=tuple(dict.fromkeys(shared)),
        constants=constants,
        dimensions=_axes(fields, "threadIdx"),
        grid=_axes(fields, "blockIdx"),
        types=resolve_types(types, program.aliases),
        launches=tuple(dict.fromkeys(_launches(program, kernel)))[:MOST_LAUNCHES],
        words=frozenset(word for item in items for word in item.free_names),
        writes_globals=any(
            item.node.type == "declaration" and "__device__" in text_of(item.node).split() for item in items
        ),
    )


def _axes(fields: list[str], name: str) -> int:
    return 3 if f"{name}.z" in fields else 2 if f"{name}.y" in fields else 1


def _unlisted_names(body: list[tree_sitter.Node]) -> Iterator[str]:
    """Names that are declared where the parser sees no declaration.

    They are members of classes, parameters of templates, variables such as `warp` of `tile<32> warp = x`, which parses
    as comparisons, and lower-case names that are passed to a macro, which may declare them: `LOAD(src0, 1)`, or
    `LOOP(i, n) {}`, which parses as the definition of a function.
    """
    for node in body:  # `parent` takes as long as the tree is deep, so it is asked for few nodes
        if node.type == "field_identifier":
            yield text_of(node)
        elif node.type == "assignment_expression" and (parent := node.parent) and parent.type == "binary_expression":
            yield text_of(node.child_by_field_name("left"))
        elif node.type == "call_expression" and text_of(node.child_by_field_name("function")).isupper():
            given = node.child_by_field_name("arguments")
            named = given.named_children if given is not None else []
            yield from (text_of(n) for n in named if n.type == "identifier" and text_of(n).islower())
        elif node.type in _NAMING_TYPES:  # of a template, or within a function
            yield from (text_of(n) for n in node.children if n.type in ("type_identifier", "identifier"))
        elif node.type == "template_parameter_list":
            for each in node.named_children:
                yield from (text_of(n) for n in descendants(each) if n.type == "identifier")
        elif node.type == "enumerator":
            yield text_of(node.child_by_field_name("name"))
        elif node.type == "function_declarator" and text_of(node.child_by_field_name("declarator")).isupper():
            given = node.child_by_field_name("parameters")
            inner = descendants(given) if given is not None else ()
            yield from (text_of(n) for n in inner if n.type in IDENTIFIERS or n.type == "type_identifier")


def _role(p: Parameter, kernel: tree_sitter.Node) -> str:
    """Guess a pointer's role: `in` if its elements are only read, `out` if only assigned, else `inout`."""
    if "const" in p.type.split():
        return "in"
    names, count = {p.name}, 0
    while len(names) > count:  # follow pointers derived from it: `T* row = p + i * n`
        count = len(names)
        for n in descendants(kernel):
            if n.type == "init_declarator" and _is_pointer_to(n.child_by_field_name("value"), names):
                names |= set(re.findall(r"\w+", text_of(n.child_by_field_name("declarator")))[-1:])
    uses = {_use(n) for n in descendants(kernel) if n.type in IDENTIFIERS and text_of(n) in names and not _declares(n)}
    uses.discard("moved")
    return "in" if uses == {"read"} else "out" if uses == {"assigned"} else "inout"


def _is_pointer_to(value: tree_sitter.Node | None, names: set[str]) -> bool:
    """Whether an expression is one of these pointers, possibly offset or cast."""
    while value is not None and value.type not in IDENTIFIERS:
        field = {"binary_expression": "left", "cast_expression": "value"}.get(value.type)
        value = value.child_by_field_name(field) if field else None
    return value is not None and text_of(value) in names


def _declares(node: tree_sitter.Node) -> bool:
    parent, levels = node.parent, 0
    while parent is not None and parent.type.endswith("declarator") and parent.type != "init_declarator":
        parent, levels = parent.parent, levels + 1
        if levels > DEEPEST_DECLARATOR:
            return True
    return parent is not None and (parent.type == "parameter_declaration" or node.parent != parent)


def _use(node: tree_sitter.Node) -> str:
    """Classify one use of a pointer: `read` or `assigned` (its element), `moved` (the pointer itself), or `other`."""
    parent = node.parent
    if parent is not None and parent.type == "assignment_expression" and parent.child_by_field_name("left") == node:
        return "moved"  # p += n
    element = node
    while parent is not None and parent.type in _ELEMENT:
        if parent.child_by_field_name("argument") not in (element, None):
            break  # it is in an index
        element, parent = parent, parent.parent
    if parent is None or element == node:
        element = _whole_pointer(node)
        parent = element.parent
        if parent is not None and (parent.type == "init_declarator" or _is_equality_comparison(parent)):
            return "moved"  # T* row = p + i * n, p != nullptr
        if parent is None or parent.type != "pointer_expression" or text_of(parent).startswith("&"):
            return _use_in_call(element)
        element, parent = parent, parent.parent
    if parent is not None and parent.type == "argument_list" and parent.parent is not None:
        element, parent = parent.parent, parent.parent.parent  # FLOAT4(out[i]) = ...
    if parent is not None and parent.type == "assignment_expression" and parent.child_by_field_name("left") == element:
        return "assigned" if text_of(parent.child_by_field_name("operator")) == "=" else "other"
    if parent is None or parent.type == "update_expression":
        return "other"
    return _use_in_call(parent) if parent.type == "pointer_expression" and text_of(parent).startswith("&") else "read"


def _whole_pointer(node: tree_sitter.Node) -> tree_sitter.Node:
    """The largest expression that is this pointer, offset or cast: `(float4*)(p + i)`."""
    while (parent := node.parent) is not None and parent.type in _MOVING:
        if parent.type == "binary_expression" and text_of(parent.child_by_field_name("operator")) not in "+-":
            break
        if parent.type == "binary_expression" and parent.child_by_field_name("left") != node:
            break  # it is in an index
        node = parent
    return node


def _is_equality_comparison(node: tree_sitter.Node) -> bool:
    return node.type == "binary_expression" and text_of(node.child_by_field_name("operator")) in ("==", "!=")


def _use_in_call(pointer: tree_sitter.Node) -> str:
    """How a function uses a pointer, guessed from the function's name."""
    arguments = pointer.parent
    call = arguments.parent if arguments is not None and arguments.type == "argument_list" else None
    name = text_of(call.child_by_field_name("function")) if call is not None else ""
    if _LOADING.fullmatch(name):
        return "read"
    is_first = arguments is not None and arguments.named_children[:1] == [pointer]
    return "assigned" if _STORING.fullmatch(name) and is_first else "other"


def _undeclared(body: list[tree_sitter.Node]) -> Iterator[tree_sitter.Node]:
    """Names in expressions, except called functions, and type names in capitals."""
    inside = {n for node in body if node.type in ("preproc_def", "preproc_function_def") for n in descendants(node)}
    for node in body:
        if node.type not in ("type_identifier", "identifier") or node in inside:
            continue  # the parameters of a macro
        if node.type == "type_identifier" and text_of(node).isupper():
            yield node
        elif node.type == "identifier" and (parent := node.parent) is not None and not _declares(node):
            is_call = parent.type == "call_expression" and parent.child_by_field_name("function") == node
            if not is_call and parent.type not in _NAMING_ONLY:
                yield node


def _arrays(body: list[tree_sitter.Node], *words: str) -> Iterator[tuple[tree_sitter.Node, str, str]]:
    """Declarator, type and name of each array that is declared with these words."""
    for node in body:
        if node.type == "declaration" and set(words) <= set(text_of(node).split()):
            for declarator in node.children_by_field_name("declarator"):
                name = next((text_of(n) for n in descendants(declarator) if n.type in IDENTIFIERS), "")
                yield declarator, text_of(node.child_by_field_name("type")), name


def _constants(body: list[tree_sitter.Node]) -> Iterator[Array]:
    for declarator, kind, name in _arrays(body, "__constant__"):
        sizes = (n.child_by_field_name("size") for n in descendants(declarator) if n.type == "array_declarator")
        if declarator.type != "init_declarator":  # the source gives it a value
            yield Array(kind, name, tuple(text_of(s) for s in sizes if s is not None)[::-1])


def _launches(program: Program, kernel: Kernel) -> Iterator[str]:
    """Each launch in the files, with the definitions of the names between `<<<` and `>>>`."""
    for function, call in program.launches.get(kernel.name.rpartition("::")[2], ()):
        node, shape = call.node, text_of(call.launch)
        given = text_of(node.child_by_field_name("arguments"))
        before = [n for n in function.making if n.end_byte < node.start_byte]
        launch = f"{text_of(node.child_by_field_name('function'))}{shape}{given}{_where(before, shape)}"
        yield " ".join(launch.split())


def _where(before: list[tree_sitter.Node], shape: str) -> str:
    """The definitions of the names in the launch's shape, and of the names that they use, in the launching function."""
    names, definitions = set(re.findall(r"\w+", shape)), dict[str, str]()
    for node in reversed(before):
        name = (re.findall(r"\w+", text_of(node.children[0])) or [""])[-1]
        if name in names and name not in definitions:
            definitions[name] = re.sub(r"//.*", "", text_of(node))
            names |= set(re.findall(r"\w+", text_of(node.children[-1])))
    return f", where {'; '.join(reversed(definitions.values()))}" if definitions else ""


def folders_nearby(source: Source, files: Mapping[Path, File]) -> Iterator[Path]:
    """Find include folders near a kernel's file, within its repository, that hold headers the kernel needs."""
    parent = source.path.resolve().parent
    named = {i.path for file in files.values() for i in file.items if i.kind is ItemKind.INCLUDE and i.path}
    includes = {name for name in named if not cache.find(name, parent, source.folders)}
    if not includes:
        return
    found = [(name, path) for name in sorted(includes) if (path := _nearby(name, parent))]
    if not found:
        return
    words = {w for items in needed_items(source, files).values() for i in items for w in i.free_names} | {"operator"}
    folders: dict[Path, None] = {}
    for name, path in found:
        if words & {n for i in parse(cache.read(path)).items if i.kind is not ItemKind.HOST for n in i.names}:
            folders[path.parents[name.count("/")]] = None
    yield from folders


@functools.lru_cache(maxsize=256)  # a file with a thousand kernels asks a thousand times
def _nearby(name: str, parent: Path) -> Path | None:
    """The first file of a name in the folders around one, within its repository."""
    ancestors = (parent, *parent.parents)
    depth = next((n for n, folder in enumerate(ancestors) if (folder / ".git").exists()), 2)
    paths = (path for up in ancestors[: depth + 1] for path in (up / name, *sorted(up.glob(f"*/{name}"))))
    return next((p for p in paths if p.is_file()), None)


def includers(path: Path) -> Iterator[str]:
    """Find sources in a file's folder, or one folder up, that include it."""
    for folder in filter(Path.is_dir, (path.parent, path.parent.parent)):
        for other in sorted(
            p for p in folder.iterdir() if p.suffix in (".cu", ".c", ".cpp", ".cc") and p != path and p.is_file()
        ):
            names = (match["name"] for match in cache.INCLUDE.finditer(cache.read(other)) if match["open"] == '"')
            if any((folder / name).resolve() == path.resolve() for name in names):
                yield os.path.relpath(other, path.parent)


_CONDITION = re.compile(r"#\s*(?:el)?if(n?)def\s+(\w+)|#\s*(?:el)?if\s+(!?)\s*defined\s*\(?\s*(\w+)\s*\)?")
# By kind of declaration: the fields of the alias and of the type.
_NAMING = {
    "type_definition": ("declarator", "type"), "alias_declaration": ("name", "type"), "preproc_def": ("name", "value"),
}  # fmt: skip


def plain_type(kind: str) -> str:
    """Remove `const`, `volatile` and `struct` from a type."""
    return " ".join(word for word in kind.split() if word not in ("const", "volatile", "struct"))


def resolve_types(kinds: Iterable[str], nodes: list[tree_sitter.Node]) -> dict[str, str]:
    """The underlying types of type aliases, through `typedef`, `using` and `#define`. Other types are left out."""
    defined = {text_of(n.child_by_field_name("name")) for n in nodes if n.type == "preproc_def"}
    types = {}
    for name in map(plain_type, kinds):
        kind, seen = name, set[str]()
        while kind not in seen:
            seen.add(kind)
            kind = _type(kind, nodes, defined) or kind
        if kind != name:
            types[name] = kind
    return types


def _type(name: str, nodes: list[tree_sitter.Node], defined: set[str]) -> str:
    """The type that one alias names; empty if it is undefined, or if an `#if` around it cannot be decided."""
    kind = ""
    for node in nodes:
        alias, field = _NAMING[node.type]
        if text_of(node.child_by_field_name(alias)) == name:
            compiled = _is_compiled(node, defined)
            if compiled is None:
                return ""
            kind = plain_type(text_of(node.child_by_field_name(field))) if compiled else kind
    return kind


def _is_compiled(node: tree_sitter.Node, defined: set[str]) -> bool | None:
    """Whether every `#if` around a node is true for it; `None` if one tests more than `defined(NAME)`."""
    below_it, parent = node, node.parent
    while parent is not None:
        if parent.type in ("preproc_if", "preproc_elif", "preproc_ifdef"):
            condition = _CONDITION.fullmatch(text_of(parent).split("\n", 1)[0].strip())
            if not condition:
                return None
            own = {
                text_of(n.child_by_field_name("name")) for n in descendants(parent) if n.type == "preproc_def"
            }  # a guard
            holds = ((condition[2] or condition[4]) in (defined - own)) != bool(condition[1] or condition[3])
            if holds == (parent.child_by_field_name("alternative") == below_it):
                return False
        below_it, parent = parent, parent.parent
    return True
