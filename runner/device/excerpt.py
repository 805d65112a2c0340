"""The part of a source that a kernel needs. The rest, such as `main`, is blanked, and line numbers stay.

A declaration is needed if a needed one mentions its name. This may keep more than necessary, but never a function or a
variable of the host.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.device import Source, cache, unqualified
from runner.device.syntax import WORD, File, Item, What, parse

_HOST_ONLY = frozenset((What.HOST, What.INSTANCE))
# C++ headers that also declare global names; the others without `.h` declare names in namespace std only.
_OF_C = frozenset(
    "cassert cctype cerrno cfenv cfloat cinttypes climits cmath cstdarg cstddef cstdint cstdio cstdlib cstring "
    "ctime".split()
)


@dataclass(frozen=True)
class Excerpt:
    """The needed part of a kernel's files."""

    texts: Mapping[Path, str]  # the kernel's file and the included ones, by their resolved paths
    headers: frozenset[str]  # missing headers, whose #include was blanked
    host: frozenset[str]  # omitted functions and variables of the host


def excerpt(source: Source, has: Callable[[str], bool]) -> Excerpt | None:
    """Extract what a kernel needs; `None` if only a preprocessor could tell.

    Args:
        source: The kernel and its options.
        has: Whether a header of a name can be included.
    """
    files = dict(reached(source))
    items = [item for file in files.values() for item in file.items]
    if any(item.what is What.INCLUDE and not item.path for item in items):
        return None  # a macro names what is included
    declared = _names(item for item in items if item.what not in _HOST_ONLY)
    if not declared.issuperset(map(unqualified, source.functions)):
        return None
    taken = needed(source, files)
    words = {w for kept in taken.values() for i in kept if i.what is not What.USING for w in i.mentions}
    halves = b"#include <cuda_bf16.h>" if any("half" in w or "bfloat16" in w for w in words) else b""
    texts, lacking = {}, set()
    for path, file in files.items():
        lost = {i: b"" for i in file.items if i.what is not What.INCLUDE and i not in taken[path] and not i.is_macro}
        for item in file.items:
            if item.what is What.INCLUDE and not _find(item.path, path, source, quoted=item.quoted):
                if not has(item.path):
                    lacking.add(item.path)
                    lost[item] = halves if item.path.startswith("cublas") else b""  # which includes the half types
                elif item.path.isidentifier() and item.path not in _OF_C and "std" not in words:
                    lost[item] = b""
        texts[path] = _without(file, lost)
    host = {name for item in items if item.what is What.HOST for name in item.names}
    return Excerpt(texts, frozenset(lacking), frozenset(host - _names(i for kept in taken.values() for i in kept)))


def reached(source: Source) -> Iterator[tuple[Path, File]]:
    """The kernel's file and the files that it includes, except system headers, parsed, each once."""
    own = source.path.resolve()
    yield own, parse(source.text)
    for path in cache.includes(source.text, source.folders):
        if path != own:
            yield path, parse(cache.read(path))


def explained(source: Source, function: str, reason: str) -> str:
    """Why a function cannot be launched, with the available kernels; `reason` is the compiler's message."""
    declared = [k for _, file in reached(source) for k in file.kernels]
    kernels = [k for k in declared if k.has_body]
    names = f"its kernels are {', '.join(dict.fromkeys(map(str, kernels)))}" if kernels else "it has no other"
    name = re.split(r"[<(]", function)[0].strip().removeprefix("::")
    named = [k for k in kernels if k.name == name]
    if not named:
        return f"has no __global__ function '{function}'; {names}"
    if named[0].template and "<" not in function:
        return f"'{name}' is a template; name its arguments, too: {', '.join(map(str, named))}"
    types = (", ".join(p.type + "*" * p.pointers for p in k.parameters) for k in declared if k.name == name)
    if len(overloads := dict.fromkeys(f"{name}({listed})" for listed in types)) > 1:  # one may be declared alone
        return f"which '{name}'? Name one by its parameters, too: {', '.join(overloads)}"
    if re.search("not declared|undeclared|undefined", reason) and not named[0].template:
        return f"an #if leaves the function '{function}' out"
    return f"'{function}' cannot be launched: {reason}; {names}"


def unnamed(source: Source) -> str:
    """The first function whose name the files lack, and which no macro can create; empty if all are found."""
    files = [file for _, file in reached(source)]
    if any(file.makes_names for file in files):
        return ""
    words = ((f, re.compile(rb"\b%s\b" % re.escape(unqualified(f).encode()))) for f in source.functions)
    return next((f for f, word in words if not any(word.search(file.content) for file in files)), "")


def system_headers(source: Source, texts: Mapping[Path, str]) -> list[str]:
    """The unconditional `#include <...>` headers in order; `texts` replace the contents of some files."""
    files = [parse(texts[path]) if path in texts else file for path, file in reached(source)]
    found = (i for file in files for i in file.items if i.what is What.INCLUDE and not i.conditional)
    own = (i.path for i in found if i.path and not i.quoted)
    return list(dict.fromkeys(p for p in own if not _find(p, source.path, source, quoted=False)))


def _find(name: str, includer: Path, source: Source, *, quoted: bool = True) -> Path | None:
    return cache.find(name, includer.parent, source.folders, quoted=quoted)


def _names(items: Iterable[Item]) -> set[str]:
    return {name for item in items for name in item.names}


def needed(source: Source, files: Mapping[Path, File]) -> dict[Path, set[Item]]:
    """The needed items of each file, by its resolved path."""
    fresh = set(WORD.findall(" ".join(source.functions))) | set(source.constants)
    fresh |= {word for _, value in source.macros for word in WORD.findall(value)} | {"operator"}
    taken: dict[Path, set[Item]] = {path: set() for path in files}
    declaring: dict[str, list[tuple[Path, Item]]] = {}
    for path, file in files.items():
        for item in file.items:
            if _is_free(item, file):
                taken[path].add(item)
                fresh |= _mentioned(item, path, source, files)
            elif item.what not in _HOST_ONLY:
                for name in item.names:
                    declaring.setdefault(name, []).append((path, item))
    while fresh:
        found = {entry for name in fresh for entry in declaring.pop(name, ())}
        found = {(path, item) for path, item in found if item not in taken[path]}
        for path, item in found:
            taken[path].add(item)
        fresh = {word for path, item in found for word in _mentioned(item, path, source, files)}
    left_out = {i for path, file in files.items() for i in file.items if i not in taken[path]}
    missing = _names(left_out) - _names(i for items in taken.values() for i in items)
    for path, file in files.items():
        taken[path] |= {i for i in file.items if i.what is What.ASSERTION and not i.mentions & missing}
    return taken


def _mentioned(item: Item, path: Path, source: Source, files: Mapping[Path, File]) -> set[str]:
    """The names that an item mentions, with all names of a file included within it, such as a table."""
    inside = [found for name in item.includes if (found := _find(name, path, source))]
    return set(item.mentions) | {w for i in inside for w in WORD.findall(files[i].content.decode(errors="replace"))}


def _is_free(item: Item, file: File) -> bool:
    """Whether an item is always kept, as are all items of a file that the parser could not divide."""
    return item.what is What.USING or not (file.is_sound or item.what in (*_HOST_ONLY, What.INCLUDE))


def _without(file: File, lost: Mapping[Item, bytes]) -> str:
    """The text with some items replaced, and padded with blanks."""
    edits = [(i.begin, i.end, new + re.sub(rb"[^\n]", b" ", file.content[i.begin : i.end])) for i, new in lost.items()]
    aliases = _names(i for i in file.items if i.node.type == "namespace_alias_definition")
    for item in file.items:
        # The namespace may be defined in a missing header or in an omitted part, so it is declared.
        name = re.match(rb"using\s+namespace\s+(?:::)?([\w:]+)", file.content[item.begin : item.end])
        if item.what is What.USING and name and name[1].decode() not in aliases:
            edits.append((item.begin, item.begin, b"namespace %s {} " % name[1]))
    content = bytearray(file.content)
    for begin, end, text in sorted(edits, reverse=True):
        content[begin:end] = text
    return content.decode(errors="surrogateescape")
