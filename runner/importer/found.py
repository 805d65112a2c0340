"""What the parser finds out about a kernel: its arguments, their roles, the macros that are missing, shared memory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import tree_sitter

from runner.device import Source, cache
from runner.device.excerpt import needed, reached
from runner.device.syntax import IDENTIFIERS, File, Kernel, Parameter, What, below, parse, text_of

# Names that CUDA or C declares.
_KNOWN = re.compile(
    r"(threadIdx|blockIdx|blockDim|gridDim|warpSize|std|cuda|cg|cooperative_groups|nvcuda|NULL|nullptr|true|false|void|"
    r"bool|signed|unsigned|half2?|\w+_t|(u?(char|short|int|long|longlong)|float|double)[1-4]?|"
    r"INFINITY|NAN|HUGE_VALF?|EOF|__\w+|(FLT|DBL|S?CHAR|UCHAR|U?SHRT|U?INT\d*|U?LL?ONG|SIZE|M|CUDART|CUDA|CUB)_\w+|CUDART_\w+)"
)


@dataclass(frozen=True)
class Shared:
    """An array in dynamic shared memory."""

    type: str
    name: str


@dataclass(frozen=True)
class Constant:
    """A `__constant__` array that the kernel reads."""

    type: str
    name: str
    shape: tuple[str, ...]  # as written


@dataclass(frozen=True)
class Found:
    """A kernel, and what its text shows."""

    kernel: Kernel
    source: Source
    includers: tuple[str, ...]  # files nearby that include the kernel's file
    roles: dict[str, str]  # of each pointer: in, out or inout
    macros: tuple[str, ...]  # names that nothing declares
    shared: tuple[Shared, ...]
    constants: tuple[Constant, ...]
    aliases: dict[str, str]  # types that the files name otherwise
    dimensions: int  # of a block: 1, 2 or 3
    launches: tuple[str, ...]  # how the file launches it, as written


def find(source: Source, kernel: Kernel) -> Found:
    """Look at a kernel of a source."""
    files = dict(reached(source))
    taken = needed(source, files)
    nodes = [item.node for items in taken.values() for item in items if item.what is not What.USING]
    body = [node for top in nodes for node in below(top)]
    declared = {name for file in files.values() for item in file.items for name in item.names}
    own = {name for items in taken.values() for item in items for name in item.own}
    own |= {text_of(n) for n in body if n.type == "field_identifier"}  # of a class, in its own functions
    axes = {text_of(n)[-1] for n in body if n.type == "field_expression" and re.match("threadIdx", text_of(n))}
    return Found(
        kernel=kernel,
        source=source,
        includers=tuple(_includers(source.path)),
        roles={p.name: _role(p, kernel.node) for p in kernel.parameters if p.pointers},
        macros=tuple(
            dict.fromkeys(n for n in _undeclared(body) if n not in declared | own and not _KNOWN.fullmatch(n))
        ),
        shared=tuple(dict.fromkeys(_shared(body))),
        constants=tuple(dict.fromkeys(_constants(body))),
        aliases=dict(_aliases(files.values())),
        dimensions=3 if "z" in axes else 2 if "y" in axes else 1,
        launches=tuple(dict.fromkeys(_launches(source, kernel))),
    )


def folders_nearby(source: Source) -> Iterator[Path]:
    """Folders around a kernel's file, within its repository, with headers that it includes and needs."""
    files = dict(reached(source))
    words = {w for items in needed(source, files).values() for i in items for w in i.mentions} | {"operator"}
    wanted = {i.path for file in files.values() for i in file.items if i.what is What.INCLUDE and i.path}
    beside = source.path.resolve().parent
    ours = next((n for n, up in enumerate((beside, *beside.parents)) if (up / ".git").exists()), 2)
    found: dict[Path, None] = {}
    for name in sorted(wanted):
        ways = (
            path for up in (beside, *beside.parents)[: ours + 1] for path in (up / name, *sorted(up.glob(f"*/{name}")))
        )
        path = None if cache.find(name, beside, source.folders) else next((p for p in ways if p.is_file()), None)
        if path and words & {n for i in parse(cache.read(path)).items if i.what is not What.HOST for n in i.names}:
            found[path.parents[name.count("/")]] = None
    yield from found


def _includers(path: Path) -> Iterator[str]:
    """Sources beside a file, or one folder up, that include it."""
    for folder in filter(Path.is_dir, (path.parent, path.parent.parent)):
        for other in sorted(p for p in folder.iterdir() if p.suffix in (".cu", ".c", ".cpp", ".cc") and p != path):
            names = (found["name"] for found in cache.INCLUDE.finditer(cache.read(other)) if found["open"] == '"')
            if any((folder / name).resolve() == path.resolve() for name in names):
                yield os.path.relpath(other, path.parent)


def _role(p: Parameter, kernel: tree_sitter.Node) -> str:
    """What the uses of a pointer show: `in` if elements are only read, `out` if they are only assigned to."""
    if "const" in p.type.split():
        return "in"
    uses = {_use(n) for n in below(kernel) if n.type in IDENTIFIERS and text_of(n) == p.name and not _declares(n)}
    uses.discard("moved")
    return "in" if uses == {"read"} else "out" if uses == {"assigned"} else "inout"


def _declares(node: tree_sitter.Node) -> bool:
    parent = node.parent
    while parent is not None and parent.type.endswith("declarator") and parent.type != "init_declarator":
        parent = parent.parent
    return parent is not None and parent.type == "parameter_declaration"


def _use(node: tree_sitter.Node) -> str:
    """What becomes of a pointer here: its element is read or assigned to, it is moved, or something else."""
    parent = node.parent
    if parent is not None and parent.type == "assignment_expression" and parent.child_by_field_name("left") == node:
        return "moved"  # p += n
    element = node
    while parent is not None and parent.type in (
        "subscript_expression",
        "field_expression",
        "parenthesized_expression",
    ):
        if parent.child_by_field_name("argument") not in (element, None):
            break  # it is in an index
        element, parent = parent, parent.parent
    if parent is None or element == node:
        is_star = parent is not None and text_of(parent).startswith("*") and parent.parent is not None
        if not (parent is not None and is_star and parent.type == "pointer_expression"):
            return "other"
        element, parent = parent, parent.parent
    if parent is not None and parent.type == "argument_list" and parent.parent is not None:
        element, parent = parent.parent, parent.parent.parent  # FLOAT4(out[i]) = ...
    if parent is not None and parent.type == "assignment_expression" and parent.child_by_field_name("left") == element:
        return "assigned" if text_of(parent.child_by_field_name("operator")) == "=" else "other"
    if parent is None or parent.type == "update_expression":
        return "other"
    return "other" if parent.type == "pointer_expression" and text_of(parent).startswith("&") else "read"


def _aliases(files: Iterable[File]) -> Iterator[tuple[str, str]]:
    """What `typedef`, `using` and `#define` call types."""
    for file in files:
        for item in file.items:
            if item.node.type == "type_definition":
                name, kind = item.node.child_by_field_name("declarator"), item.node.child_by_field_name("type")
            elif item.node.type == "alias_declaration":
                name, kind = item.node.child_by_field_name("name"), item.node.child_by_field_name("type")
            elif item.node.type == "preproc_def":
                name, kind = item.node.child_by_field_name("name"), item.node.child_by_field_name("value")
            else:
                continue
            yield text_of(name), " ".join(text_of(kind).split())


def _undeclared(body: list[tree_sitter.Node]) -> Iterator[str]:
    """Names in expressions that are no calls, and types in capitals."""
    inside = {n for node in body if node.type in ("preproc_def", "preproc_function_def") for n in below(node)}
    for node in body:
        parent = node.parent
        if node in inside:
            continue  # the parameters of a macro
        if node.type == "type_identifier" and text_of(node).isupper():
            yield text_of(node)
        elif node.type == "identifier" and parent is not None and not _declares(node):
            is_call = parent.type == "call_expression" and parent.child_by_field_name("function") == node
            if not is_call and parent.type not in (
                "qualified_identifier",
                "template_function",
                "preproc_def",
                "preproc_defined",
            ):
                yield text_of(node)


def _shared(body: list[tree_sitter.Node]) -> Iterator[Shared]:
    for node in body:
        words = text_of(node).split() if node.type == "declaration" else []
        if "extern" in words and "__shared__" in words:
            for declarator in node.children_by_field_name("declarator"):
                name = next((text_of(n) for n in below(declarator) if n.type in IDENTIFIERS), "")
                yield Shared(text_of(node.child_by_field_name("type")), name)


def _constants(body: list[tree_sitter.Node]) -> Iterator[Constant]:
    for node in body:
        if node.type == "declaration" and "__constant__" in text_of(node).split():
            for declarator in node.children_by_field_name("declarator"):
                name = next((text_of(n) for n in below(declarator) if n.type in IDENTIFIERS), "")
                sizes = (n.child_by_field_name("size") for n in below(declarator) if n.type == "array_declarator")
                shape = tuple(text_of(s) for s in sizes if s is not None)[::-1]
                if declarator.type != "init_declarator":  # the source gives it a value
                    yield Constant(text_of(node.child_by_field_name("type")), name, shape)


def _launches(source: Source, kernel: Kernel) -> Iterator[str]:
    plain = kernel.name.rpartition("::")[2]
    for _, file in reached(source):
        for node in below(file.root):
            if node.type == "call_expression" and any(c.type == "kernel_call_syntax" for c in node.children):
                called = text_of(node.child_by_field_name("function"))
                if re.match(rf"(.*::)?{plain}\b", called):
                    shape = next(text_of(c) for c in node.children if c.type == "kernel_call_syntax")
                    yield " ".join(f"{called}{shape}{text_of(node.child_by_field_name('arguments'))}".split())
